"""Icons: files, marks, what is fetched and what is sent as it is; what is left out costs a line."""

import base64
import os

import pytest
import pytest_twisted
from twisted.internet.task import Clock

from ahpd.plugins.icons import MARKS, Fetched, IconUnread, resolve, shown
from ahpd.threads import in_thread

SVG = b'<svg xmlns="http://www.w3.org/2000/svg"/>'
PNG = b"\x89PNG..."

THE_MARKS = [
    "anthropic", "cline", "copilot", "cursor", "gemini", "github", "jira", "linear", "openai",
    "openai-compatible", "opencode", "openrouter", "qwen", "resend", "whatsapp",
]  # fmt: skip


def data(kind, body):
    return f"data:{kind};base64,{base64.b64encode(body).decode()}"


@pytest.fixture
def package(tmp_path):
    folder = tmp_path / "package"
    (folder / "art").mkdir(parents=True)
    (folder / "icon.svg").write_bytes(SVG)
    (folder / "art" / "icon.PNG").write_bytes(PNG)
    return folder


class Server:
    """Answers what a test put there, and keeps what it was asked."""

    def __init__(self, **answers):
        self.answers = answers
        self.asked = []

    async def __call__(self, url, limit, timeout):  # noqa: ASYNC109
        self.asked.append((url, limit, timeout))
        answer = self.answers[url.rpartition("/")[2].partition("?")[0]]
        if isinstance(answer, Exception):
            raise answer
        return answer


async def resolved(icons, folder=None, fetch=None, **options):
    before = repr(icons)
    made = await resolve(icons, folder, fetch=fetch, run_blocking=in_thread(Clock()), **options)
    assert repr(icons) == before
    return made


@pytest_twisted.ensureDeferred
async def test_a_file_of_the_package_is_sent_with_its_picture(package):
    icons, lines = await resolved(
        [
            {"src": "./icon.svg"},
            {"src": "art/icon.PNG", "theme": "dark", "sizes": ["48x48"]},
            {"src": "./art/../icon.svg", "sizes": ["16x16"]},
            {"src": "icon.svg", "contentType": "image/x-own"},
        ],
        package,
    )
    assert icons == [
        {"src": data("image/svg+xml", SVG), "contentType": "image/svg+xml", "sizes": ["any"]},
        {
            "src": data("image/png", PNG),
            "contentType": "image/png",
            "theme": "dark",
            "sizes": ["48x48"],
        },
        {"src": data("image/svg+xml", SVG), "contentType": "image/svg+xml", "sizes": ["16x16"]},
        {"src": data("image/x-own", SVG), "contentType": "image/x-own"},
    ]
    assert lines == []


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.svg", "svg+xml"), ("a.png", "png"), ("a.jpg", "jpeg"), ("a.jpeg", "jpeg"), ("a.webp", "webp")],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_the_type_is_told_by_the_ending(package, name, kind):
    (package / name).write_bytes(b"x")
    icons, lines = await resolved([{"src": name}], package)
    assert icons[0]["contentType"] == f"image/{kind}"
    assert lines == []


@pytest.mark.parametrize(
    ("src", "words"),
    [
        ("icon.gif", "it says no contentType and ends in none of .svg, .png, .jpg, .jpeg, .webp"),
        ("none.svg", "its file cannot be read: No such file or directory"),
        ("../outside.svg", "it is outside the package"),
        ("art/../../outside.svg", "it is outside the package"),
        ("/etc/passwd.svg", "its file cannot be read: No such file or directory"),
        ("linked.svg", "it is outside the package"),
        ("folder/outside.svg", "it is outside the package"),
        ("pipe.svg", "it is no file"),
        ("art.svg", "it is no file"),
        ("large.svg", "it is larger than 1000 bytes"),
        ("loop.svg", "its file cannot be read: "),
        ("a\0.svg", "its file cannot be read: its name is none"),
        ("file:///etc/icon.svg", "a file of the package, https:, data: or mark: is read"),
        ("http://example.com/icon.svg", "a file of the package, https:, data: or mark: is read"),
        ("https://example.com/icon.svg", "this host fetches none"),
        ("data:nothing", "it is no data: URI"),
        ("data:image/png;base64,a*b", "what it holds is not base64"),
        ("mark:unknown", "this host ships no such mark"),
        ("mark:../icons", "a mark's name is small letters, digits and dashes"),
        ("mark:GitHub", "a mark's name is small letters, digits and dashes"),
        ("mark:", "a mark's name is small letters, digits and dashes"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_one_that_is_left_out_costs_itself_and_a_line(package, tmp_path, src, words):
    (tmp_path / "outside.svg").write_bytes(SVG)
    (package / "linked.svg").symlink_to(tmp_path / "outside.svg")
    (package / "folder").symlink_to(tmp_path)
    (package / "loop.svg").symlink_to("loop.svg")
    (package / "art.svg").mkdir()
    (package / "large.svg").write_bytes(b"x" * 1001)
    os.mkfifo(package / "pipe.svg")
    icons, lines = await resolved([{"src": src}, {"src": "icon.svg"}], package, limit=1000)
    assert [icon["src"] for icon in icons] == [data("image/svg+xml", SVG)]
    (line,) = lines
    assert line.startswith("the icon ")
    assert words in line
    assert line.isprintable()


@pytest_twisted.ensureDeferred
async def test_without_a_package_there_is_no_file():
    icons, lines = await resolved([{"src": "icon.svg"}], None)
    assert icons == []
    assert lines == ["the icon icon.svg is left out: there is no package its file could be in"]


@pytest_twisted.ensureDeferred
async def test_a_link_inside_the_package_is_followed(package):
    (package / "again.svg").symlink_to("icon.svg")
    icons, lines = await resolved([{"src": "again.svg"}], package)
    assert icons[0]["src"] == data("image/svg+xml", SVG)
    assert lines == []


# -- limits ------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_the_limit_is_met_and_not_passed(package):
    picture = b"x" * 300
    (package / "a.png").write_bytes(picture)
    fetch = Server(a=Fetched("image/png", picture))
    sources = [
        "a.png",
        "https://example.com/a",
        data("image/png", picture),
        "data:image/png," + "%41" * 300,
    ]
    icons = [{"src": src} for src in sources]
    made, lines = await resolved(icons, package, fetch, limit=300)
    assert (len(made), lines) == (4, [])
    made, lines = await resolved(icons, package, fetch, limit=299)
    assert made == []
    assert [line.rpartition(": ")[2] for line in lines] == ["it is larger than 299 bytes"] * 4
    made, lines = await resolved(icons, package, fetch, limit=0)
    assert (len(made), lines) == (4, [])


# -- data: ---------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_data_uri_is_sent_as_it_is():
    png, svg = data("image/png", PNG), "data:image/svg+xml;utf8,%3Csvg/%3E"
    icons, lines = await resolved(
        [
            {"src": png},
            {"src": svg},
            {"src": svg, "sizes": ["16x16"], "theme": "light"},
            {"src": png, "contentType": "image/svg+xml"},
            {"src": "data:image/png;base64,QQ"},
        ]
    )
    assert icons == [
        {"src": png},
        {"src": svg, "sizes": ["any"]},
        {"src": svg, "sizes": ["16x16"], "theme": "light"},
        {"src": png, "contentType": "image/svg+xml", "sizes": ["any"]},
        {"src": "data:image/png;base64,QQ"},
    ]
    assert lines == []


# -- https: ----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_what_is_fetched_is_asked_for_once_and_sent_with_its_picture():
    url = "https://example.com/icon"
    fetch = Server(icon=Fetched("IMAGE/SVG+XML", SVG))
    icons, lines = await resolved(
        [{"src": url}, {"src": url, "theme": "dark", "contentType": "image/own"}],
        fetch=fetch,
        limit=7000,
        timeout=3,
    )
    assert icons == [
        {"src": data("image/svg+xml", SVG), "contentType": "image/svg+xml", "sizes": ["any"]},
        {"src": data("image/own", SVG), "contentType": "image/own", "theme": "dark"},
    ]
    assert lines == []
    assert fetch.asked == [(url, 7000, 3)]


@pytest_twisted.ensureDeferred
async def test_an_answer_that_is_no_image_is_left_out_unless_the_manifest_says_what_it_is():
    fetch = Server(
        a=Fetched("text/plain", SVG), b=Fetched("", SVG), c=IconUnread("its server is gone")
    )
    icons, lines = await resolved(
        [
            {
                "src": "https://user:planted-secret-hunter2@example.com/a?token=planted-secret-hunter2"
            },
            {"src": "https://example.com/b"},
            {"src": "https://example.com/c"},
            {"src": "https://example.com/a", "contentType": "image/svg+xml"},
        ],
        fetch=fetch,
    )
    assert [icon["contentType"] for icon in icons] == ["image/svg+xml"]
    assert lines == [
        "the icon https://example.com/a is left out: its server answered what is no image",
        "the icon https://example.com/b is left out: its server answered what is no image",
        "the icon https://example.com/c is left out: its server is gone",
    ]


# -- marks -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", THE_MARKS)
@pytest_twisted.ensureDeferred
async def test_the_marks_the_host_ships_are_drawn_in_both_themes(name):
    icons, lines = await resolved([{"src": f"mark:{name}"}])
    assert lines == []
    light, dark = icons
    assert light == {
        "src": data("image/svg+xml", (MARKS / f"{name}.svg").read_bytes()),
        "contentType": "image/svg+xml",
        "sizes": ["any"],
    }
    assert dark == {
        "src": data("image/svg+xml", (MARKS / f"{name}-dark.svg").read_bytes()),
        "contentType": "image/svg+xml",
        "sizes": ["any"],
        "theme": "dark",
    }
    assert light["src"] != dark["src"]


def test_the_marks_are_fifteen_small_drawings_of_their_own():
    files = {file.name for file in MARKS.iterdir()}
    assert files == {f"{name}{theme}.svg" for name in THE_MARKS for theme in ("", "-dark")}
    texts = {file.read_text() for file in MARKS.iterdir()}
    assert len(texts) == len(files)
    assert all(text.startswith("<svg ") and len(text) < 2000 for text in texts)
    assert not any("<script" in text or "href" in text for text in texts)


@pytest_twisted.ensureDeferred
async def test_a_mark_without_a_dark_one_is_one_icon(tmp_path):
    (tmp_path / "own.svg").write_bytes(SVG)
    icons, lines = await resolved([{"src": "mark:own", "sizes": ["8x8"]}], marks=tmp_path)
    assert icons == [
        {"src": data("image/svg+xml", SVG), "contentType": "image/svg+xml", "sizes": ["8x8"]}
    ]
    assert lines == []


@pytest.mark.parametrize(
    ("src", "words"),
    [
        ("data:image/png;base64," + "A" * 1000, "data:image/png;base64"),
        ("data:" + "x" * 1000, "data:" + "x" * 80),
        ("https://u:p@example.com:99999/a?token=x#y", "https://example.com/a"),
        ("https://[broken/a?token=x", "https:..."),
        ("a" * 100, "a" * 80 + "..."),
        ("a\nb\x1b", "a?b?"),
        ("\ud800", "?"),
    ],
)
def test_a_source_is_shown_without_what_it_carries(src, words):
    assert shown(src) == words
