"""The plugin of docs/plugins.md: taken from the page, installed, and each thing of it used."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from pytest_twisted import ensureDeferred

from ahpd.protocol.uris import ROOT
from ahpd.testing import RecordingPluginHost
from ahpd.testing.daemon import PATIENCE, Daemon
from ahpd.testing.plugin_daemon import CallerChat, ask, install_plugin, tool_caller
from ahpd.views.kinds import KINDS

PAGE = Path(__file__).parent.parent.parent / "docs" / "plugins.md"
_EXAMPLE = re.compile(r"<!-- example: (\S+) -->\n```\w+\n(.*?)```", re.DOTALL)
_MODULE, _MANIFEST = "ahpd_tally/plugin.py", "ahpd_tally/plugin.yaml"
URI = "x-tally://"


@pytest.fixture(scope="module")
def examples():
    found = dict(_EXAMPLE.findall(PAGE.read_text()))
    assert set(found) == {_MODULE, _MANIFEST, "pyproject.toml", "config.yaml", "test_tally.py"}
    return found


@pytest.fixture(scope="module")
def source(examples, tmp_path_factory):
    """The page's files, as its reader writes them."""
    folder = tmp_path_factory.mktemp("tally") / "ahpd-tally"
    (folder / "ahpd_tally").mkdir(parents=True)
    (folder / "ahpd_tally" / "__init__.py").touch()
    for name, text in examples.items():
        (folder / name).write_text(text)
    return folder


def page_module(name, folder):
    """The plugin of one module that the page has under `name`, imported from a folder."""
    shown = re.search(
        rf"<!-- view example: {name} -->\n```python\n(.*?)```", PAGE.read_text(), re.DOTALL
    )
    file = folder / name
    file.write_text(shown[1])
    (folder / "plugin.yaml").write_text(f"id: {file.stem}\nmain: ./{name}\n")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@ensureDeferred
async def test_the_view_on_the_page_is_shown_and_its_button_works(tmp_path):
    host = RecordingPluginHost(page_module("shelf.py", tmp_path), "shelf")
    await host.apply()
    await host.listening()
    assert not host.problems
    assert host.view["dataModel"] == {"count": 2, "things": [{"name": "milk"}, {"name": "bread"}]}
    event = host.view["components"]["take"]["action"]["event"]
    assert event["context"] == {"name": {"path": "name"}}
    await host.call(event["name"], {"name": "milk"})
    assert host.view["dataModel"] == {"count": 1, "things": [{"name": "bread"}]}


EXAMPLES = ("webhook", "notes", "canvas", "heartbeat")


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_examples_readme_installs_it_from_where_it_is(name):
    repository = PAGE.parent.parent
    text = (repository / "plugins" / name / "README.md").read_text()
    (source,) = re.findall(r"^\$ ahpd plugin install (\S+)", text, re.MULTILINE)
    assert (repository / source / "pyproject.toml").is_file()
    for script in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        compile(script, f"{name}/README.md", "exec")


def fields_on_the_page():
    """What the page's table says of each kind: its fields, those that must be there, what is below."""
    _, _, table = PAGE.read_text().partition("| `component` | ")
    for row in table.partition("\n\n")[0].splitlines()[2:]:
        kinds, fields, child, children = (cell.strip() for cell in row.strip("|").split("|"))
        # Words in brackets say what a field may be.
        named = re.sub(r"\([^()]*(\([^()]*\)[^()]*)*\)", "", fields).replace("`child`", "")
        for kind in re.findall(r"`(\w+)`", kinds):
            must = set(re.findall(r"\*\*`(\w+)`\*\*", named))
            yield (
                kind,
                (set(re.findall(r"`(\w+)`", named)), must, child == "yes", children == "yes"),
            )


def test_the_table_of_components_is_what_is_checked():
    checked = {}
    for name, kind in KINDS.items():
        must = {*kind.required, *(["action"] if kind.action else [])}
        must |= {"value"} if name == "KeyValue" else set()
        fields = {*kind.properties, *must}
        checked[name] = (fields, must, kind.child, kind.children)
    assert dict(fields_on_the_page()) == checked


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


@pytest.fixture
def tally(reactor, source, examples, tmp_path):
    """A daemon whose configuration is the page's, and an agent that calls tools."""
    settings = yaml.safe_load(examples["config.yaml"])
    settings["plugins"].append(tool_caller(tmp_path / "caller"))
    site = install_plugin(source, tmp_path / "site")
    return Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings=settings,
        preset={"PYTHONPATH": str(site)},
    )


async def counts(client):
    """What a subscriber of the channel reads."""
    answer = await client.call("subscribe", {"channel": URI})
    return answer["snapshot"]["state"]["counts"]


def told(client):
    """The actions a client was told on the channel."""
    return [
        message["params"]["action"]
        for sender, message in client.frames
        if sender == "host"
        and message.get("method") == "action"
        and message["params"]["channel"] == URI
    ]


async def total(daemon):
    answer = await ask(daemon, "GET", "/plugins/tally/")
    assert answer.status == 200
    return answer.body.decode()


def test_the_test_on_the_page_passes(source, tmp_path):
    site = install_plugin(source, tmp_path / "site")
    (tmp_path / "test_tally.py").write_text((source / "test_tally.py").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_tally.py"],
        cwd=tmp_path,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


@ensureDeferred
async def test_each_thing_it_registers_is_served(tally):
    async with tally as daemon:
        ann = await daemon.connect("ann", ROOT)
        assert await counts(ann) == {}
        assert await total(daemon) == "0 in all\n"
        chat = await CallerChat.begin(ann)
        # It hears what people say, and tells whoever watches.
        await chat.say("hello")
        await ann.wait_for(lambda: len(told(ann)) == 1, PATIENCE, "the first count")
        assert told(ann)[0] == {"type": "x-tally/counted", "session": chat.session, "count": 1}
        # The option of the page's configuration is in what the tool says.
        result = await chat.call("tally_count")
        assert result["success"], result
        await ann.wait_for(lambda: len(told(ann)) == 2, PATIENCE, "the second count")
        words = result["content"][0]["text"]
        assert re.fullmatch(r"This session has [12] words?\.", words), words
        assert await counts(ann) == {chat.session: 2}
        assert await total(daemon) == "2 in all\n"
        # Its command, which answers once the counts are where a person can read and edit them.
        assert await ann.call("x-tally/reset", {"session": chat.session}) == {"count": 0}
        assert told(ann)[-1]["count"] == 0
        kept = (daemon.config / "tallies" / "all.md").read_text()
        assert yaml.safe_load(kept.split("---")[1])["counts"] == {chat.session: 0}
        # What is said of everything it serves.
        meta = ann.plain_state(ROOT)["_meta"]
        (channel,) = [one for one in meta["ahpd.channels"] if one["scheme"] == "x-tally"]
        assert (channel["title"], channel["grant"]) == ("Tally", "tally:read")
        (method,) = [one for one in meta["ahpd.methods"] if one["method"] == "x-tally/reset"]
        assert method["grant"] == "tally:reset"
        assert "reset" in meta["ahpd.grants"]["tally"]["operations"]


@ensureDeferred
async def test_it_goes_as_it_came(tally):
    async with tally as daemon:
        ann = await daemon.connect("ann", ROOT)
        chat = await CallerChat.begin(ann)
        await chat.say("hello")
        await ann.call("x-ahpd/plugins/disable", {"id": "tally"})
        assert (await ask(daemon, "GET", "/plugins/tally/")).status == 404
        assert not (await chat.call("tally_count"))["success"]
        await daemon.logged("counted 1")


@ensureDeferred
async def test_a_source_tree_runs_where_it_is_and_runs_again_as_it_was_saved(
    reactor, source, tmp_path
):
    tree = tmp_path / "ahpd-tally"
    (tree / "ahpd_tally").mkdir(parents=True)
    for file in ("pyproject.toml", "ahpd_tally/__init__.py", _MODULE, _MANIFEST):
        (tree / file).write_text((source / file).read_text())
    daemon = Daemon(reactor, tmp_path / "daemon", "--port", "0", "--plugin", str(tree))
    async with daemon:
        assert await total(daemon) == "0 in all\n"
        saved = tree / _MODULE
        saved.write_text(saved.read_text().replace("in all", "altogether"))
        ann = await daemon.connect("ann", ROOT)
        assert await ann.call("x-ahpd/plugins/reload", {"id": "tally"}) == {"id": "tally"}
        assert await total(daemon) == "0 altogether\n"
