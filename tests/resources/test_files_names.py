"""Which file a URI names, and names that are no text."""

# The system's own calls are what is spoken of here.
# ruff: noqa: PTH118, PTH208

import os
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.interfaces import RpcError
from ahpd.protocol.file_uris import file_uri, named_path
from ahpd.resources.files.names import listed, meant, on_disk

#: Any name there can be on a disk.
NAMES = st.one_of(
    st.binary(min_size=1, max_size=60),
    st.text("a.é\uef80\uefc3\uefff\ufffd", min_size=1, max_size=10).map(str.encode),
    st.text(st.sampled_from("é€\uef9f"), min_size=1, max_size=6).map(
        lambda text: text.encode()[:-1]
    ),
).filter(lambda raw: b"\0" not in raw and b"/" not in raw and raw not in (b".", b".."))


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b", "/a/b"),
        ("file:/a", "/a"),
        ("FILE://LOCALHOST/a", "/a"),
        ("file:///", "/"),
        ("file:////a//b/", "/a/b"),
        ("file:///a/./b/../c", "/a/c"),
        ("file:///a/%2e%2E/c", "/c"),
        ("file:///../../etc", "/etc"),
        ("file:///a%2Fb", "/a/b"),
        ("file:///a%20b%3Fc%23d", "/a b?c#d"),
        ("file:///a b", "/a b"),
        ("file:///a\nb\tc", "/a\nb\tc"),
        ("file:///é", "/é"),
        ("file:///%C3%A9", "/é"),
        ("file:///%E9", "/\udce9"),
        ("file:///100%", "/100%"),
        ("file:///c:/x", "/c:/x"),
        ("file:///C%3A%5Cx", "/C:\\x"),
        ("file:///C:\\x", "/C:\\x"),
        ("file:///~/x", "/~/x"),
    ],
)
def test_a_uri_names_the_path_it_spells(uri, path):
    assert named_path(uri) == path


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("file://host/etc/passwd", "another machine, 'host'"),
        ("file://localhost:80/x", "another machine"),
        ("file://user@localhost/x", "another machine"),
        ("file://[::1]/x", "another machine"),
        ("file://..%2f/x", "another machine"),
        ("file://c:/x", "another machine"),
        ("file:foo", "no absolute path"),
        ("file:", "no absolute path"),
        ("file://", "no absolute path"),
        ("file:c:\\x", "no absolute path"),
        ("file:///a%00b", "a NUL"),
        ("file:///a\0b", "a NUL"),
        ("file:///a?b", "a query"),
        ("file:///a#b", "a fragment"),
        ("file:///\ud800", "half a surrogate pair"),
        ("https:///a", "no file: URI"),
        ("/etc/passwd", "no file: URI"),
        ("", "no file: URI"),
    ],
)
def test_what_names_no_file_of_this_machine_is_refused_in_words(uri, words, files, refused):
    with refused(-32602, words):
        named_path(uri)
    for command in (
        lambda: files.read_uri(uri),
        lambda: files.resolve_uri(uri),
        lambda: files.write_uri(uri, "x"),
        lambda: files.done(files.provider.list(uri)),
        lambda: files.done(files.provider.delete(uri, True)),
        lambda: files.done(files.provider.mkdir(uri)),
        lambda: files.done(files.provider.move(uri, files.uri("a"), False)),
        lambda: files.done(files.provider.copy(files.uri(), uri, False)),
    ):
        with refused(-32602, words):
            command()
    assert files.names() == []


@given(st.text())
def test_any_text_names_a_path_or_is_refused(text):
    for uri in (text, "file:" + text, "file://" + text, "file:///" + text):
        try:
            path = named_path(uri)
        except RpcError as error:
            told = error.to_wire()
        else:
            told = None
            assert path.startswith("/")
            assert os.path.normpath(path) == path
        assert told is None or (told["code"] == -32602 and told["message"].encode())


@given(NAMES)
def test_every_name_is_listed_as_text_and_comes_back(raw):
    name = os.fsdecode(raw)
    text = listed(name)
    assert text.encode().decode() == text
    assert os.fsencode(meant(text)) == raw


@given(st.lists(NAMES, unique=True, min_size=2, max_size=5))
def test_no_two_names_are_listed_alike(raws):
    assert len({listed(os.fsdecode(raw)) for raw in raws}) == len(raws)


@given(NAMES)
def test_a_name_that_is_text_is_listed_as_it_is(raw):
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return
    if not any("\uef80" <= each <= "\uefff" for each in text):
        assert listed(os.fsdecode(raw)) == text


@pytest.fixture
def strange(tmp_path):
    """Files whose names are no UTF-8, or look as if they stood for such."""
    raws = [b"caf\xe9", b"\xff\xfe", "\uefe9".encode(), b"a\xed\xa0\x80", "fine é".encode()]
    for number, raw in enumerate(raws):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + raw)).write_text(str(number))
    return raws


def test_what_is_listed_can_be_opened_by_its_name(files, strange):
    entries = files.list()
    assert len(entries) == len(strange)
    read = {files.read_uri(f"{files.uri()}/{quote(each['name'])}")["data"] for each in entries}
    assert read == {str(number) for number in range(len(strange))}


def test_a_resolve_answers_a_uri_that_opens_it(files, strange):
    for number, raw in enumerate(strange):
        for uri in (
            file_uri(os.path.join(files.root, os.fsdecode(raw))),
            f"{files.uri()}/{quote(listed(os.fsdecode(raw)))}",
        ):
            for follow in (True, False):
                answer = files.resolve_uri(uri, follow)
                assert answer["uri"].isascii()
                assert files.read_uri(answer["uri"])["data"] == str(number)


def test_what_is_there_under_the_very_characters_comes_first(files, tmp_path):
    (tmp_path / "\uefe9").write_text("characters")
    assert files.read("\uefe9")["data"] == "characters"
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9")).write_text("byte")
    assert files.read("\uefe9")["data"] == "characters"
    assert files.read(os.fsdecode(b"\xe9"))["data"] == "byte"
    (tmp_path / "\uefe9").unlink()
    assert files.read("\uefe9")["data"] == "byte"


def test_a_listed_name_is_written_moved_and_deleted(files, tmp_path):
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xe9"))
    folder.mkdir()
    (folder / "x").write_text("old")
    files.write("\uefe9/x", "new")
    files.write("\uefe9/\uef80", "a name of its own")
    assert (folder / "x").read_text() == "new"
    assert (folder / "\uef80").read_text() == "a name of its own"
    files.move("\uefe9", "plain")
    assert sorted(os.listdir(tmp_path)) == ["plain"]
    files.delete("plain", recursive=True)
    assert files.names() == []


def test_only_what_may_be_escaped_is_looked_for(monkeypatch):
    monkeypatch.setattr(os.path, "lexists", None)
    assert on_disk("/a/é/\ufffd") == "/a/é/\ufffd"


TOO_DEEP = "/".join(["d" * 200] * 25)


@pytest.mark.parametrize("name", ["n" * 256, "é" * 200, TOO_DEEP])
def test_a_name_that_is_too_long_is_refused_in_words(name, files, refused):
    for command in (
        lambda: files.read(name),
        lambda: files.list(name),
        lambda: files.resolve(name, follow=False),
        lambda: files.write(name, "x"),
        lambda: files.mkdir(name),
        lambda: files.delete(name),
        lambda: files.copy("", name),
        lambda: files.move(name, "x"),
    ):
        with refused(-32602, "Name too long", files.uri(name)):
            command()
    # A canonical name is looked for step by step, and ends at the first that is not there.
    with refused(-32008 if name == TOO_DEEP else -32602, files.uri(name)):
        files.resolve(name)
    assert files.names() == []


def test_the_longest_name_there_can_be_is_served(files):
    name = "n" * 255
    files.write(name, "one")
    files.write(name, "two")
    files.copy(name, "m" * 255)
    files.move(name, "o" * 255)
    assert files.read("o" * 255)["data"] == files.read("m" * 255)["data"] == "two"


def test_dot_segments_go_by_the_text_not_through_links(files, tmp_path):
    outside = tmp_path / "outside"
    (outside / "inner").mkdir(parents=True)
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "link").symlink_to(outside / "inner")
    (tmp_path / "tree" / "f").write_text("in the tree")
    (outside / "f").write_text("outside")
    uri = f"{files.uri('tree')}/link/../f"
    assert files.read_uri(uri)["data"] == "in the tree"
    files.write_uri(uri, "written")
    files.write_uri(f"{files.uri('tree')}/link/%2E%2E/g", "new")
    assert (outside / "f").read_text() == "outside"
    assert files.names("tree") == ["f", "g", "link"]


def test_a_windows_path_is_a_name_like_any_other(files, tmp_path):
    files.write_uri(f"{files.uri()}/C%3A%5Cx", "1")
    files.mkdir("c:")
    files.write("c:/x", "2")
    assert files.names() == ["C:\\x", "c:", "c:/x"]
