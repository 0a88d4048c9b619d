"""The icons of plugins, adapters and engines as clients are sent them, and how long they stand."""

import base64
import sys
import textwrap

import pytest
from twisted.internet.defer import Deferred

from ahpd.plugins.icons import MARKS, Fetched, IconUnread
from ahpd.testing.installed_engines import install_distribution

ADAPTERS = "x-ahpd-adapters://"
ENGINES = "x-ahpd-engines://"
AGENTS = "x-ahpd-agents://"
URL = "https://example.com/icon.png"

OFFERS = """
    from ahpd.interfaces import Adapter, IEngine, Template
    from zope.interface import implementer

    ICONS = {icons!r}

    @implementer(IEngine)
    class Engine:
        name = "motor"
        title = "Motor"
        description = "Makes none."
        host_only = key_variables = ()
        icons = ICONS

        def schema(self):
            return {{"type": "object", "properties": {{"command": {{"type": "string"}}}}}}

        def templates(self):
            return [Template(id="one", name="One", icon={template!r}, config={{"command": "one"}})]

        def open(self, record, ports):
            raise ValueError("none")

        async def check(self, record, ports):
            return ()

    def apply(host, options):
        host.register_engine(Engine())
        host.register_adapter(
            Adapter(name="mail", title="Mail", schema={{}}, icons=ICONS, open=lambda c, v: None)
        )
"""


def offers(icons=(), template=None):
    return OFFERS.format(icons=list(icons), template=template)


def drawn(body, kind="image/svg+xml"):
    return f"data:{kind};base64,{base64.b64encode(body.encode()).decode()}"


def mark(name):
    return drawn((MARKS / f"{name}.svg").read_text())


class Server:
    """In place of what fetches: `answer` is what comes, once a test has it come."""

    def __init__(self):
        self.asked = []
        self.waiting = []

    async def __call__(self, url, limit, timeout):  # noqa: ASYNC109
        self.asked.append(url)
        self.waiting.append(Deferred())
        return await self.waiting[-1]

    def answer(self, body):
        answer = body if isinstance(body, Exception) else Fetched("image/png", body.encode())
        waiting, self.waiting = self.waiting, []
        for one in waiting:
            (one.errback if isinstance(answer, Exception) else one.callback)(answer)


@pytest.fixture
def server(monkeypatch):
    made = Server()
    monkeypatch.setattr("ahpd.plugins.icon_fetch.icon_fetch", lambda reactor: made)
    return made


@pytest.fixture
def lines(log_lines):
    return lambda: [line for line in log_lines() if "left out" in line]


def listed(hosted, channel):
    late = hosted.host.connect(f"late-{len(hosted.host.clients)}", foreign=True)
    hosted.host.run(late.subscribe(channel))
    return late.state(channel)["rows"]


def sources(row):
    return [icon["src"] for icon in row.get("icons", [])]


def adapter(hosted):
    (row,) = listed(hosted, ADAPTERS)
    return sources(row)


def engine(hosted, name="motor"):
    (row,) = [row for row in listed(hosted, ENGINES) if row["name"] == name]
    return sources(row)


def template(hosted):
    (row,) = [row for row in listed(hosted, ENGINES) if row["name"] == "motor"]
    return sources(row["templates"][0])


def test_icons_of_adapters_and_engines_are_sent_as_pictures(hosted, lines):
    icons = [{"src": "./art/a.svg"}, {"src": "mark:openai"}, {"src": "data:image/png;base64,QQ"}]
    hosted.start(
        hosted.write("acme", offers(icons, "./one.svg"), {"art/a.svg": "<a/>", "one.svg": "<b/>"})
    )
    found = [drawn("<a/>"), mark("openai"), mark("openai-dark"), "data:image/png;base64,QQ"]
    assert adapter(hosted) == engine(hosted) == found
    assert template(hosted) == [drawn("<b/>")]
    assert lines() == []


def test_a_bad_icon_of_an_adapter_or_an_engine_costs_itself_and_a_line(hosted, lines, tmp_path):
    (tmp_path / "secret.svg").write_text("<secret/>")
    icons = [
        {"src": "./none.svg"},
        {"src": "../secret.svg"},
        {"src": "mark:nobody"},
        {"src": "http://example.com/a.svg"},
        {"src": "large.png"},
        {"src": "a.svg"},
    ]
    files = {"a.svg": "<a/>", "large.png": "x" * 101}
    hosted.start(hosted.write("acme", offers(icons, "mark:nobody"), files), icon_limit_bytes=100)
    assert adapter(hosted) == engine(hosted) == [drawn("<a/>")]
    assert template(hosted) == []
    for whose in ("adapter mail", "engine motor"):
        theirs = [line for line in lines() if line.startswith(f"plugin acme: {whose}: the icon ")]
        assert len(theirs) == 5
    assert [line for line in lines() if "template" in line] == [
        "plugin acme: template motor one: the icon mark:nobody is left out: "
        "this host ships no such mark"
    ]


def test_an_icon_of_an_engine_that_has_not_the_shape_costs_itself(hosted, lines):
    icons = [5, {"theme": "dark"}, {"src": "a.svg", "sizes": "any"}, {"src": "\ud800"}]
    code = offers([], 5).replace("icons = ICONS", f"icons = {[*icons, {'src': 'a.svg'}]!r}")
    hosted.start(hosted.write("acme", code, {"a.svg": "<a/>"}))
    assert engine(hosted) == [drawn("<a/>")]
    assert len(lines()) == 5
    assert all(line.startswith("plugin acme: ") for line in lines())


def test_an_engine_that_fails_to_say_its_icons_costs_the_icons(hosted):
    code = offers().replace("icons = ICONS", "icons = property(lambda self: 1 / 0)")
    hosted.start(hosted.write("acme", code, {"a.svg": "<a/>"}, icons=[{"src": "a.svg"}]))
    assert hosted.row("acme")["loaded"]
    assert engine(hosted) == [drawn("<a/>")]


def test_an_icon_that_is_fetched_joins_when_it_came(hosted, server):
    icons = [{"src": URL}, {"src": "a.svg"}]
    entry = hosted.write("acme", offers(icons, URL), {"a.svg": "<a/>"}, icons=icons)
    hosted.start(entry)
    watch = hosted.host.connect("watch", ADAPTERS, ENGINES, AGENTS, foreign=True)
    params = {"id": "one", "engine": "motor", "owner": "host", "name": "One"}
    row = hosted.call("x-ahpd/agents/put", **params, config={"command": "one"})
    assert "icons" not in row
    here = [drawn("<a/>")]
    assert adapter(hosted) == engine(hosted) == sources(hosted.row("acme")) == here
    assert template(hosted) == []
    assert server.asked == [URL]
    server.answer("x")
    there = drawn("x", "image/png")
    assert adapter(hosted) == engine(hosted) == sources(hosted.row("acme")) == [there, *here]
    assert template(hosted) == [there]
    assert server.asked == [URL]
    for channel, found in (
        (ADAPTERS, [there, *here]),
        (ENGINES, [there, *here]),
        (AGENTS, [there]),
    ):
        last = watch.envelopes(channel)[-1].action
        assert last["type"] == f"{channel.removesuffix('://')}/changed"
        assert sources(last["row"]) == found


def test_an_icon_that_cannot_be_fetched_costs_itself(hosted, server, lines):
    hosted.start(hosted.write("acme", offers(), icons=[{"src": URL}, {"src": "mark:jira"}]))
    server.answer(IconUnread("its server is gone"))
    assert sources(hosted.row("acme")) == [mark("jira"), mark("jira-dark")]
    assert lines() == [f"plugin acme: the icon {URL} is left out: its server is gone"]


# -- how long they stand ---------------------------------------------------------------------


def test_a_reload_forgets_the_icons_that_nothing_names_any_more(hosted):
    icons = [{"src": "a.svg"}]
    files = {"a.svg": "<a/>"}
    hosted.start(hosted.write("acme", offers(icons, "a.svg"), files, icons=icons))
    before = [drawn("<a/>")]
    assert adapter(hosted) == engine(hosted) == template(hosted) == before
    assert sources(hosted.row("acme")) == before
    hosted.write("acme", offers())
    hosted.ask("reload", id="acme")
    assert "icons" not in hosted.row("acme")
    assert adapter(hosted) == engine(hosted) == template(hosted) == []


def test_a_reload_reads_the_files_anew(hosted):
    icons = [{"src": "a.svg"}]
    hosted.start(hosted.write("acme", offers(icons), {"a.svg": "<a/>"}, icons=icons))
    hosted.write("acme", offers(icons), {"a.svg": "<b/>"}, icons=icons)
    hosted.ask("reload", id="acme")
    assert adapter(hosted) == engine(hosted) == sources(hosted.row("acme")) == [drawn("<b/>")]


def test_a_plugin_that_is_switched_off_shows_no_icon(hosted, server):
    icons = [{"src": "mark:github"}, {"src": URL}]
    hosted.start(hosted.write("acme", offers(icons), icons=icons))
    assert sources(hosted.row("acme")) != []
    hosted.ask("disable", id="acme")
    assert "icons" not in hosted.row("acme")
    server.answer("late")
    assert "icons" not in hosted.row("acme")
    hosted.ask("enable", id="acme")
    assert len(adapter(hosted)) == len(sources(hosted.row("acme"))) == 2


def test_what_an_earlier_load_fetches_is_not_shown_of_a_later_one(hosted, server):
    icons = [{"src": URL}]
    hosted.start(hosted.write("acme", offers(icons), icons=icons))
    hosted.write("acme", offers())
    hosted.ask("reload", id="acme")
    server.answer("late")
    assert "icons" not in hosted.row("acme")
    assert adapter(hosted) == engine(hosted) == []


# -- engines that no plugin registers ------------------------------------------------------


def test_icons_of_an_engine_that_is_installed_are_read_when_somebody_looks(
    hosted, tmp_path, monkeypatch, lines
):
    site, icons = tmp_path / "site", [{"src": "art/a.svg"}, {"src": "../x.svg"}]
    for name, text in {"__init__.py": "", "art/a.svg": "<a/>", "../x.svg": "<x/>"}.items():
        (site / "motors" / name).parent.mkdir(parents=True, exist_ok=True)
        (site / "motors" / name).write_text(text)
    (site / "motors" / "engine.py").write_text(textwrap.dedent(offers(icons, "mark:jira")))
    install_distribution(site, "motors-dist", {"motor": "motors.engine:Engine"}, {})
    monkeypatch.syspath_prepend(str(site))
    hosted.start()
    assert "motors" not in sys.modules
    assert engine(hosted) == [drawn("<a/>")]
    assert template(hosted) == [mark("jira"), mark("jira-dark")]
    (line,) = lines()
    assert line.startswith("engine motor: the icon ../x.svg is left out: ")
    for name in ("motors", "motors.engine"):
        monkeypatch.delitem(sys.modules, name)
