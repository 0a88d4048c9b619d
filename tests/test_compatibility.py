"""docs/compatibility.md: a row for everything the protocol declares, with a test that is there."""

import ast
import re
from pathlib import Path

import pytest
from twisted.internet.task import Clock

from ahpd.app import make_host
from ahpd.config.settings import Settings
from ahpd.interfaces import EVENTS, IPluginHost
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.errors import RpcError
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS
from ahpd.protocol.uris import ROOT as ROOT_CHANNEL
from ahpd.testing.host import MemoryHost
from ahpd.testing.served_files import serve_files
from ahpd.testing.terminals import ScriptedTerminals

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "compatibility.md"
STATES = {"done", "partly", "not yet", "refused"}
ROW = re.compile(r"\| `?([^`|]+?)`? \| ([^|]*) \| ([^|]*) \| (`[^`|]+`(?:, `[^`|]+`)*) \|")
#: Sections with a row for each behaviour, which has no name of the protocol's.
BEHAVIOURS = {"Chats", "Agents", "Behaviour", "Plugins"}
#: A request of the reference window's own.
WINDOW_METHOD = re.compile(r"vscode/\w+")
HEAD = ("| Behaviour |", "|---|")


def sections():
    """{heading: {name: (state, notes, tests)}}"""
    found, heading = {}, ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("#"):
            heading = line.lstrip("#").strip()
        elif line.startswith("| `") or (
            heading in BEHAVIOURS and line.startswith("|") and not line.startswith(HEAD)
        ):
            match = ROW.fullmatch(line)
            assert match, f"a row that is no row: {line}"
            name, state, notes, tests = match.groups()
            rows = found.setdefault(heading, {})
            assert name not in rows, f"{name} has two rows under {heading}"
            rows[name] = (state, notes.strip(), tests.strip("`").split("`, `"))
    return found


SECTIONS = sections()
ROWS = [(heading, name, *row) for heading, rows in SECTIONS.items() for name, row in rows.items()]


def functions(path):
    tree = ast.parse(path.read_text())
    return {
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.mark.parametrize(
    ("heading", "declared"),
    [
        ("Commands", set(COMMANDS)),
        ("Client notifications", {n for n, s in NOTIFICATIONS.items() if s.direction == "client"}),
        ("Server notifications", {n for n, s in NOTIFICATIONS.items() if s.direction == "server"}),
        ("Server-to-client commands", {n for n, s in COMMANDS.items() if s.direction == "both"}),
    ],
)
def test_there_is_a_row_for_everything_declared(heading, declared):
    assert set(SECTIONS[heading]) == declared


def test_there_is_a_row_for_every_action():
    rows = {name for heading, rows in SECTIONS.items() if heading.startswith("`") for name in rows}
    extensions = {name for name, spec in ACTIONS.items() if spec.extension}
    assert rows == set(ACTIONS) - extensions
    assert set(SECTIONS["Beyond the protocol"]) == extensions


def test_there_is_a_row_for_everything_plugins_register_call_and_hear():
    names = set(IPluginHost.names(all=True))
    registered = {name for name in names if name.startswith("register_")}
    assert set(SECTIONS["Plugins: registrations"]) == registered
    assert set(SECTIONS["Plugins: host calls"]) == names - registered
    assert set(SECTIONS["Plugins: events"]) == set(EVENTS)


def test_there_is_a_row_for_everything_served_under_a_name_of_the_hosts_own(tmp_path):
    settings = Settings(listens=False, config_directory=tmp_path)
    extensions = make_host(settings, Clock()).beside.extensions
    described = extensions.described()
    channels = {entry["scheme"] for entry in described["ahpd.channels"]}
    assert set(SECTIONS["Plugins: channels"]) == channels
    assert set(SECTIONS["Plugins: commands"]) == set(extensions.commands)


@pytest.mark.parametrize(
    ("heading", "name", "state", "notes", "tests"), ROWS, ids=[f"{row[0]}-{row[1]}" for row in ROWS]
)
def test_a_row_has_a_state_and_tests_that_are_there(heading, name, state, notes, tests):
    assert state in STATES
    assert notes or state in {"done", "not yet"}, "partly and refused say what and why"
    for test in tests:
        path, _, function = test.partition("::")
        assert (ROOT / path).is_file(), f"{path} is not there"
        assert function in functions(ROOT / path), f"{path} has no {function}"


NOT_SERVED = [name for name, row in SECTIONS["Commands"].items() if row[0] == "not yet"]


@pytest.mark.parametrize("method", NOT_SERVED)
def test_a_command_that_is_not_served_yet_says_so(method):
    host = MemoryHost()
    client = host.connect("client")
    with pytest.raises(RpcError) as refused:
        host.run(client.call(method, {"channel": COMMANDS[method].channel or "ahp-session:/x"}))
    assert refused.value.code == -32601
    assert method in refused.value.message
    host.stop()


def test_what_a_row_calls_served_is_served():
    host = MemoryHost(terminals=ScriptedTerminals())
    client = host.connect("client")
    codes = {}
    for method in sorted(set(COMMANDS) - set(NOT_SERVED)):
        codes[method] = host.run(code_of(client.call(method, {})))
    assert -32601 not in codes.values()
    host.stop()


async def code_of(call):
    try:
        await call
    except RpcError as refused:
        return refused.code
    return None


def own_code():
    """Every node of the host's own code outside the protocol's declarations."""
    for path in sorted((ROOT / "ahpd").rglob("*.py")):
        if path.relative_to(ROOT).parts[1] not in {"protocol", "testing", "client", "cli"}:
            yield from ast.walk(ast.parse(path.read_text()))


def spoken():
    """Every string the host's own code holds."""
    for node in own_code():
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_a_notification_that_is_not_sent_yet_is_sent_nowhere():
    unsent = {name for name, row in SECTIONS["Server notifications"].items() if row[0] == "not yet"}
    assert unsent.isdisjoint(spoken())


def said_actions():
    """The type of every action that the host's own code makes."""
    for node in own_code():
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and key.value == "type":
                    yield getattr(value, "value", None)


def test_an_action_that_is_not_said_yet_is_said_nowhere():
    waiting = {
        name for rows in SECTIONS.values() for name, row in rows.items() if row[0] == "not yet"
    }
    said = {one for one in said_actions() if isinstance(one, str)}
    assert waiting.isdisjoint(said)
    assert {"canvas/stateChanged", "chat/delta"} <= said


ASKED = [name for name, row in SECTIONS["Server-to-client commands"].items() if row[0] == "done"]


@pytest.mark.parametrize("method", ASKED)
def test_a_client_is_asked_for_what_its_row_calls_served(method):
    host = MemoryHost()
    asker, editor = host.connect("asker"), host.connect("editor")
    files = serve_files(editor, {"mem:/a": "x"})
    wrapped = "vscode-agent-client://editor/mem/-/a"
    ends = {"uri": wrapped, "source": wrapped, "destination": wrapped}
    params = {**ends, "data": "", "encoding": "utf-8", "channel": ROOT_CHANNEL}
    named = {key for key in params if key in COMMANDS[method].params.__annotations__}
    asked = asker.call(method, {key: params[key] for key in named})
    if method == "createResourceWatch":  # a client is, once somebody subscribes
        host.run(asker.subscribe(host.run(asked)["channel"]))
    else:
        host.run(code_of(asked))  # what the client makes of it is its own
    assert files.asked[0][0] == method
    assert "mem:/a" in files.asked[0][1].values()
    host.stop()


def test_there_is_a_row_for_every_request_of_a_windows_own():
    rows = SECTIONS["Served outside the protocol"]
    spelled = {words for words in spoken() if WINDOW_METHOD.fullmatch(words)}
    assert spelled == {name for name in rows if WINDOW_METHOD.fullmatch(name)}
