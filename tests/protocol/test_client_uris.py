"""What a client alone has, as everybody else names it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ahpd.protocol.client_uris import ClientUri, is_client_uri, unwrapped, wrapped

SPELLED = [
    ("file:///work/a.ts", "vscode-agent-client://editor/file/-/work/a.ts"),
    ("file://server/share/a", "vscode-agent-client://editor/file/server/share/a"),
    ("file:////server/a", "vscode-agent-client://editor/file/-//server/a"),
    ("mem:/a/b%2Fc?x=1#y", "vscode-agent-client://editor/mem/-/a/b%2Fc?x=1#y"),
    ("virtual://host/a//b/", "vscode-agent-client://editor/virtual/host/a//b/"),
    ("virtual://wsl%2Bubuntu/x", "vscode-agent-client://editor/virtual/wsl%2Bubuntu/x"),
    ("virtual://host", "vscode-agent-client://editor/virtual/host"),
    ("virtual://host?q", "vscode-agent-client://editor/virtual/host?q"),
    ("virtual://-/x", "vscode-agent-client://editor/virtual/%2D/x"),
    ("virtual://%2D/x", "vscode-agent-client://editor/virtual/%252D/x"),
    ("untitled:Untitled-1", "vscode-agent-client://editor/untitled!/-/Untitled-1"),
    ("data:text/plain,a?b#c", "vscode-agent-client://editor/data!/-/text/plain,a?b#c"),
    ("odd:", "vscode-agent-client://editor/odd!/-/"),
    ("file:///", "vscode-agent-client://editor/file/-/"),
    ("file:///a/../b", "vscode-agent-client://editor/file/-/a/../b"),
    ("file:///a%20b/ü", "vscode-agent-client://editor/file/-/a%20b/ü"),
    (
        "vscode-agent-client://other/file/-/x",
        "vscode-agent-client://editor/vscode-agent-client/other/file/-/x",
    ),
]


@pytest.mark.parametrize(("uri", "spelled"), SPELLED)
def test_only_the_wrapping_is_put_on_and_taken_off(uri, spelled):
    assert wrapped("editor", uri) == spelled
    assert unwrapped(spelled) == ClientUri("editor", uri)


@pytest.mark.parametrize(
    ("client_id", "authority"),
    [("a b", "a%20b"), ("a/b?c#d", "a%2Fb%3Fc%23d"), ("me@x:1", "me%40x%3A1"), ("ü", "%C3%BC")],
)
def test_a_clients_id_may_be_anything(client_id, authority):
    name = wrapped(client_id, "file:///x")
    assert name == f"vscode-agent-client://{authority}/file/-/x"
    assert unwrapped(name) == ClientUri(client_id, "file:///x")


def test_an_authority_that_was_not_encoded_is_understood():
    assert unwrapped("vscode-agent-client://me@x:1/file/-/x").client_id == "me@x:1"
    assert unwrapped("VSCode-Agent-Client://me/file/-/x") == ClientUri("me", "file:///x")


@pytest.mark.parametrize(
    ("spelled", "uri"),
    [
        ("vscode-agent-client://c/file//x", "file:///x"),
        ("vscode-agent-client://c/file/-", "file:///"),
        ("vscode-agent-client://c/mem/-?q", "mem:/?q"),
        ("vscode-agent-client://c/mem/-//x", "mem:////x"),
    ],
)
def test_an_empty_authority_is_spelled_as_vs_code_spells_it(spelled, uri):
    assert unwrapped(spelled).uri == uri


@pytest.mark.parametrize(
    "uri",
    [
        "file:///x",
        "vscode-agent-client:",
        "vscode-agent-client:/c/file/-/x",
        "vscode-agent-client://",
        "vscode-agent-client:///file/-/x",
        "vscode-agent-client://c",
        "vscode-agent-client://c/",
        "vscode-agent-client://c/file",
        "vscode-agent-client://c/1file/-/x",
        "vscode-agent-client://c//-/x",
        "vscode-agent-client://c?/file/-/x",
        "vscode-agent-client://%FF/file/-/x",
    ],
)
def test_what_names_no_resource_of_a_client_is_refused_in_words(uri):
    with pytest.raises(ValueError, match="expected vscode-agent-client://<clientId>/"):
        unwrapped(uri)


@pytest.mark.parametrize("uri", ["", "x", "/a/b", "1:/x", "-", ":x"])
def test_what_is_no_uri_is_not_wrapped(uri):
    with pytest.raises(ValueError, match="is no URI"):
        wrapped("c", uri)


def test_the_scheme_is_known_whatever_follows_it():
    assert is_client_uri("VSCODE-agent-client:nonsense")
    assert not is_client_uri("vscode-agent-client")
    assert not is_client_uri("vscode-agent-clients://c/file/-/x")


schemes = st.from_regex(r"[A-Za-z][A-Za-z0-9+.-]{0,8}", fullmatch=True)
authorities = st.text(st.characters(exclude_characters="/?#"), min_size=1) | st.sampled_from(
    ["-", "--", "%2D", "%2d", "%252D", "%25252d", "%2D%2D"]
)
paths = st.text(max_size=30)


@st.composite
def uris(draw):
    """URIs in the one spelling VS Code has for each."""
    kind = draw(schemes)
    path = draw(paths)
    match draw(st.sampled_from(["authority", "rooted", "opaque"])):
        case "authority":
            return f"{kind}://{draw(authorities)}/{path}"
        case "rooted":
            slashes = "//" if kind.lower() == "file" or path.startswith("/") else ""
            return f"{kind}:{slashes}/{path}"
        case _:
            return f"{kind}:{path.lstrip('/')}"


@given(st.text(min_size=1), uris())
@example("\ud800", "file:///\ud800")
def test_what_was_wrapped_comes_out_as_it_went_in(client_id, uri):
    assert unwrapped(wrapped(client_id, uri)) == ClientUri(client_id, uri)


@given(st.text(min_size=1), st.text(min_size=1), uris())
def test_wrapping_nests_and_one_layer_comes_off_at_a_time(one, two, uri):
    inner = wrapped(one, uri)
    assert unwrapped(wrapped(two, inner)) == ClientUri(two, inner)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    for candidate in (text, f"vscode-agent-client:{text}", f"vscode-agent-client://c/{text}"):
        try:
            found = unwrapped(candidate)
        except ValueError:
            continue
        assert unwrapped(wrapped(found.client_id, found.uri)) == found
