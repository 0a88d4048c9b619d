"""Plugins as a person has them: installed, listed, changed and removed while a daemon runs."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from ahpd.testing.processes import processes, read
from tests.cli.test_twistd_plugin import FOUND, TWISTD
from tests.plugins.wheel_making import make_wheel

ROUTE = """
from ahpd.interfaces import text_response

VERSION = {version!r}

def apply(host, options):
    async def page(request):
        return text_response(200, f"{{VERSION}} {{options.get('word', 'hello')}}")

    host.register_route(page)
    host.say(f"{{host.id}} {{VERSION}} is at /plugins/{{host.id}}/")
"""
SCHEMA = "optionsSchema: {type: object, properties: {word: {type: string, maxLength: 9}}}\n"


def wheel(folder, version, name="ahpd-hook", plugin="hook", code=ROUTE):
    module = name.replace("-", "_")
    return make_wheel(
        folder,
        name,
        version,
        requires=["ahpd>=0.1"],
        points=[plugin],
        files={
            f"{module}/__init__.py": code.format(version=version),
            f"{module}/plugin.yaml": f"title: Hook\n{SCHEMA}",
        },
    )


def standalone(command, plugin, code):
    folder = command.work / plugin
    folder.mkdir()
    (folder / "plugin.yaml").write_text(f"id: {plugin}\nmain: ./main.py\n{SCHEMA}")
    (folder / "main.py").write_text(code)
    return folder


def page(url, path="/plugins/hook/", port=None):
    """The status and the text of a page on a daemon's port."""
    where = url.partition("://")[2].partition("/")[0] if port is None else f"127.0.0.1:{port}"
    connection = http.client.HTTPConnection(where, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode().rstrip()
    finally:
        connection.close()


@pytest.fixture
def wheels(command, tmp_path):
    """A folder that is all pip knows of, for the daemon and for commands."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    command.environ |= {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(folder),
        "PIP_NO_CACHE_DIR": "1",
    }
    return folder


def listening(command, *arguments):
    return command.answer("start", "--port", "0", *arguments)["url"]


def listed(command):
    return {row["id"]: row["state"] for row in command.answer("plugin", "list")}


def test_the_life_of_a_plugin_beside_a_daemon_that_runs(command, wheels):
    wheel(wheels, "1.0")
    url = listening(command)
    assert page(url)[0] == 404
    assert command.answer("plugin", "install", "ahpd-hook==1.0")["id"] == "hook"
    assert page(url) == (200, "1.0 hello")
    assert listed(command) == {"hook": "ready"}
    assert command.answer("plugin", "config", "hook", "word", "ahoy")["id"] == "hook"
    assert page(url) == (200, "1.0 ahoy")
    said = command.run("plugin", "config", "hook", "word", "far too long a word", status=2)
    assert "word" in said.stderr
    assert page(url) == (200, "1.0 ahoy")
    command.answer("plugin", "disable", "hook")
    assert page(url)[0] == 404
    assert listed(command) == {"hook": "disabled"}
    command.answer("plugin", "enable", "hook")
    assert page(url) == (200, "1.0 ahoy")
    wheel(wheels, "1.1")
    (moved,) = command.answer("plugin", "update", "hook")
    assert (moved["from"], moved["to"]) == ("1.0", "1.1")
    assert page(url) == (200, "1.1 ahoy")
    assert command.answer("plugin", "update", "hook") == [{"id": "hook"}]
    assert command.answer("plugin", "reload", "hook")["id"] == "hook"
    assert command.answer("plugin", "apply") == {}
    assert command.answer("plugin", "remove", "hook")["id"] == "hook"
    assert page(url)[0] == 404
    assert listed(command) == {}
    assert not list((command.config / "plugin-root").rglob("ahpd_hook"))
    assert command.run("plugin", "remove", "hook", status=2).stderr.count("\n") == 1


def test_what_pip_refuses_is_said_in_its_words_and_changes_nothing(command, wheels):
    url = listening(command)
    said = command.run("plugin", "install", "ahpd-nothing-such", status=1)
    assert "ahpd-nothing-such" in said.stderr
    assert said.stderr.count("\n") == 1
    command.run("plugin", "install", "-r", status=2)
    make_wheel(wheels, "no-plugin")
    said = command.run("plugin", "install", "no-plugin", status=None)
    assert said.returncode != 0
    assert "no-plugin" in said.stderr
    assert listed(command) == {}
    assert page(url)[0] == 404


def test_a_reload_runs_what_is_on_disk_and_apply_what_the_file_says(command):
    folder = standalone(command, "hook", ROUTE.format(version="one"))
    url = listening(command)
    command.write(f"plugins: [{folder}]\n")
    assert command.answer("plugin", "apply") == {}
    assert page(url) == (200, "one hello")
    (folder / "main.py").write_text(ROUTE.format(version="two"))
    assert page(url) == (200, "one hello")
    command.answer("plugin", "reload", "hook")
    assert page(url) == (200, "two hello")
    (folder / "main.py").write_text("raise RuntimeError('broken')\n")
    said = command.run("plugin", "reload", "hook", status=1)
    assert said.stdout == "hook is not reloaded\n"
    assert "RuntimeError: broken (main.py:1)" in said.stderr
    assert page(url)[0] == 404


def test_a_request_that_a_route_is_at_ends_when_its_plugin_goes(command):
    folder = standalone(
        command,
        "hook",
        "from twisted.internet.defer import Deferred\n"
        "def apply(host, options):\n"
        "    async def page(request):\n"
        "        host.log('asked')\n"
        "        await Deferred()\n"
        "    host.register_route(page)\n",
    )
    command.write(f"plugins: [{folder}]\n")
    url = listening(command)
    answers = []
    asking = threading.Thread(target=lambda: answers.append(page(url)))
    asking.start()
    log = command.state / "daemon.log"
    until = time.monotonic() + 30
    while "hook: asked" not in log.read_text():
        assert time.monotonic() < until, "it was not asked"
        time.sleep(0.05)
    command.answer("plugin", "disable", "hook")
    asking.join(30)
    assert [status for status, _ in answers] == [503]


# -- what an author is told ---------------------------------------------------------------------

TOOL = """
from ahpd.interfaces import HostTool

async def run(arguments, at):
    return "ran"

def apply(host, options):
    definition = {{"name": "{name}", "title": "T", "description": "T.", "inputSchema": {{"type": "object"}}}}
    host.register_tool(HostTool(definition=definition, run=run))
"""


LEAVES = """
import os
from twisted.internet.protocol import Factory, ProcessProtocol, Protocol

class Echo(Protocol):
    def connectionMade(self):
        self.transport.write(b"here")

class Sleeps(ProcessProtocol):
    pass

def apply(host, options):
    host.reactor.listenTCP({port}, Factory.forProtocol(Echo), interface="127.0.0.1")
    host.reactor.spawnProcess(Sleeps(), "sleep", ["sleep", "{seconds}"], env=dict(os.environ))
    host.reactor.callLater(3600, Sleeps)
"""


@pytest.fixture
def free_port():
    """A port on loopback that nobody listens on."""
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]


def until(condition, seconds=30):
    """Wait for something another process does."""
    last = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < last, "it never came about"
        time.sleep(0.02)


def sleeping(seconds):
    """The processes that sleep for so long."""
    return [pid for pid in processes() if read(pid, "cmdline") == f"sleep\0{seconds}\0".encode()]


def test_what_a_plugin_never_closes_goes_with_it_and_its_next_copy_has_the_port(command, free_port):
    seconds = 86400 + free_port
    folder = standalone(command, "leaves", LEAVES.format(port=free_port, seconds=seconds))
    command.write(f"plugins: [{folder}]\n")
    listening(command)
    for _ in range(3):
        (first,) = sleeping(seconds)
        with socket.create_connection(("127.0.0.1", free_port), timeout=30) as held:
            assert held.recv(4) == b"here"
            assert command.answer("plugin", "reload", "leaves") == {"id": "leaves"}
            with pytest.raises(ConnectionResetError):
                held.recv(1)
        until(lambda gone=first: gone not in sleeping(seconds))
    log = (command.state / "daemon.log").read_text()
    for left in (
        f"plugin leaves: it left a listener of _ahpd_plugin_leaves.main at {free_port}",
        "plugin leaves: it left a connection of _ahpd_plugin_leaves.main open",
        f"plugin leaves: it left process {first} of _ahpd_plugin_leaves.main running",
        "plugin leaves: it left a timer of _ahpd_plugin_leaves.main running",
    ):
        assert left in log
    command.answer("plugin", "disable", "leaves")
    until(lambda: not sleeping(seconds))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", free_port), timeout=30)


BLOCKS = """
import time
from pathlib import Path
from ahpd.interfaces import text_response

def apply(host, options):
    async def page(request):
        while "it has held up this host" not in Path({log!r}).read_text():
            time.sleep(0.05)
        return text_response(200, "done")

    host.register_route(page)
"""


def test_a_plugin_that_blocks_the_daemon_is_named_in_its_log(command):
    log = command.state / "daemon.log"
    folder = standalone(command, "hook", BLOCKS.format(log=str(log)))
    command.write(f"plugins: [{folder}]\n")
    url = listening(command)
    assert page(url) == (200, "done")
    (line,) = [line for line in log.read_text().splitlines() if "has held up" in line]
    assert " warn plugin hook: it has held up this host, and everybody on it, for at least " in line
    assert " at main.py:9: " in line or " at main.py:8: " in line
    until(lambda: "plugin hook: it held up this host for at least " in log.read_text())


THREADS = """
import threading
import time
from twisted.internet.threads import deferToThread

def works():
    while True:
        time.sleep(0.5)

def apply(host, options):
    {begins}
"""


@pytest.mark.parametrize(
    ("begins", "said"),
    [
        ("deferToThread(works)", "the stop does not wait for"),
        ("threading.Thread(target=works).start()", "leaving all the same"),
    ],
)
def test_a_plugin_whose_work_in_a_thread_never_ends_holds_no_stop(command, begins, said):
    folder = standalone(command, "works", THREADS.format(begins=begins))
    command.write(f"plugins: [{folder}]\n")
    listening(command)
    command.run("stop", status=0)
    lines = (command.state / "daemon.log").read_text().splitlines()
    (line,) = [line for line in lines if said in line]
    assert f" at works in {folder / 'main.py'}:" in line
    assert any(line.endswith(" info stopped") for line in lines[-2:])
    assert not (command.state / "daemon.json").exists()


def test_what_is_wrong_is_said_with_its_place_wherever_a_person_looks(command):
    folder = standalone(command, "hook", TOOL.format(name="hook_ran"))
    command.write(f"plugins: [{folder}]\n")
    listening(command)
    (folder / "main.py").write_text("def apply(host, options):\n    return options['unti']\n")
    said = command.run("plugin", "reload", "hook", status=1)
    why = "its apply failed: KeyError: 'unti' (main.py:2)"
    assert said.stderr == f"ahpd: plugin hook skipped: {why}\n"
    line = command.run("plugin", "list", status=0).stdout
    assert line.endswith(f"(hook): not loaded: {why}\n")
    (row,) = command.answer("plugin", "list")
    assert (row["state"], row["loaded"], row["problem"]) == ("ready", False, why)
    log = (command.state / "daemon.log").read_text()
    assert log.count(why) == 1
    command.run("stop", status=0)
    assert command.run("plugin", "list", status=0).stdout.endswith("(hook)\n")


BREAKS = """
import asyncio
import json

def apply(host, options):
    async def sleeps(event, context):
        await asyncio.sleep(1)

    def reads(event, context):
        json.loads("x")

    async def keeps(event, context):
        await host.records("things").put({"id": "no id"})

    def ticks():
        raise KeyError("tick")

    for listener in (sleeps, reads, keeps):
        host.on("listening", listener)
    host.reactor.callLater(0, ticks)
"""


def test_what_a_plugin_does_wrong_later_is_at_its_own_line_in_the_log(command):
    folder = standalone(command, "hook", BREAKS)
    command.write(f"plugins: [{folder}]\n")
    listening(command)
    log = command.state / "daemon.log"
    until(lambda: log.read_text().count(" of the plugin hook)") == 4)
    for words in (
        "no running event loop (in sleeps, main.py:7 of the plugin hook)",
        "(char 0) (in reads, main.py:10 of the plugin hook)",
        "(in keeps, main.py:13 of the plugin hook)",
        "KeyError: 'tick' (in ticks, main.py:16 of the plugin hook)",
    ):
        assert words in log.read_text()


def test_a_manifest_that_cannot_be_read_takes_nothing_down(command):
    folder = standalone(command, "hook", ROUTE.format(version="one"))
    command.write(f"plugins: [{folder}]\n")
    url = listening(command)
    (folder / "plugin.yaml").write_text("id: hook\nmain: ./main.py\ntilte: Hook\n")
    said = command.run("plugin", "reload", "hook", status=1)
    assert said.stderr.startswith("ahpd: plugin hook: it runs on as it was: ")
    assert "plugin.yaml:3: tilte is an unknown key (did you mean title?)" in said.stderr
    assert page(url) == (200, "one hello")


def test_a_tool_whose_name_is_taken_is_said_and_the_rest_stays(command):
    folder = standalone(command, "hook", TOOL.format(name="hook_ran"))
    command.write(f"plugins: [{folder}]\n")
    listening(command)
    (folder / "main.py").write_text(TOOL.format(name="list_sessions"))
    said = command.run("plugin", "reload", "hook", status=0)
    assert said.stdout == "reloaded hook\n"
    assert said.stderr.startswith("ahpd: warning: plugin hook: the tool list_sessions is left out")


def test_a_daemon_in_the_foreground_is_asked_too(command):
    folder = standalone(command, "hook", ROUTE.format(version="one"))
    host = command.serve("--port", "0", "--plugin", str(folder))
    url = host.url()
    assert page(url) == (200, "one hello")
    (folder / "main.py").write_text(ROUTE.format(version="two"))
    assert command.answer("plugin", "reload", "hook") == {"id": "hook"}
    assert page(url) == (200, "two hello")
    # What it was started with is what is listed.
    assert [(row["id"], row["loaded"]) for row in command.answer("plugin", "list")] == [
        ("hook", True)
    ]
    assert command.answer("plugin", "config", "hook") == {}
    assert host.end()[0] == 0
    assert list(command.state.glob("foreground-*.json")) == []
    assert command.run("plugin", "reload", "hook", status=1).stderr.startswith(
        "ahpd: no daemon runs"
    )


def test_each_of_several_in_the_foreground_is_found_as_long_as_it_runs(command):
    one, other = (
        standalone(command, name, ROUTE.format(version=name)) for name in ("one", "other")
    )
    command.write(f"plugins: [{one}]\n")
    first = command.serve("--port", "0")
    url = first.url()
    elsewhere = command.work / "other.yaml"
    elsewhere.write_text(f"plugins: [{other}]\n")
    elsewhere.chmod(0o600)
    second = command.serve("--port", "0", "--config-file", str(elsewhere), "--sessions", "memory")
    second.url()
    assert listed(command) == {"one": "ready"}
    assert command.answer("plugin", "reload", "one") == {"id": "one"}
    (command.state / "foreground-1.json").write_bytes(b"\xff{")  # somebody's leftover
    assert second.end()[0] == 0
    (one / "main.py").write_text(ROUTE.format(version="new"))
    assert command.answer("plugin", "reload", "one") == {"id": "one"}
    assert page(url, "/plugins/one/") == (200, "new hello")
    assert first.end()[0] == 0
    third = command.serve("--port", "0")
    third.url()
    assert [path.name for path in command.state.glob("foreground-*.json")] == [
        f"foreground-{third.popen.pid}.json"
    ]
    assert third.end()[0] == 0


@pytest.mark.parametrize(
    "how", [["--nodaemon"], ["--logfile=host.log"]], ids=["at hand", "put behind"]
)
def test_a_daemon_of_twistd_is_asked_too(command, how):
    if not FOUND:
        pytest.skip("twistd is not beside this interpreter")
    folder = standalone(command, "hook", ROUTE.format(version="one"))
    command.write("connectionToken: of-the-file\n")
    program = (FOUND, "--pidfile=", *how, "ahpd")
    host = command.serve("--port", "0", "--plugin", f"./{folder.name}", program=program)
    until(lambda: list(command.state.glob("foreground-*.json")))
    (record,) = command.state.glob("foreground-*.json")
    held = json.loads(record.read_text())
    try:
        assert page(held["url"]) == (200, "one hello")
        (folder / "main.py").write_text(ROUTE.format(version="two"))
        assert command.answer("plugin", "reload", "hook") == {"id": "hook"}
        assert page(held["url"]) == (200, "two hello")
        assert [row["id"] for row in command.answer("plugin", "list")] == ["hook"]
    finally:
        os.kill(held["pid"], signal.SIGTERM)
    until(lambda: not record.exists())
    assert host.end()[0] == 0


# -- what is printed at a start ------------------------------------------------------------------

BAD = "def apply(host, options): raise ValueError('no key')\n"


@pytest.fixture
def two(command):
    """One plugin that loads and one that does not."""
    good = standalone(command, "hook", ROUTE.format(version="1.0"))
    bad = standalone(command, "bad", BAD)
    command.write(f"plugins: [{good}, {bad}]\n")
    return "skipped: plugin bad skipped: its apply failed: ValueError: no key"


def test_a_start_prints_what_was_skipped_and_what_plugins_say(command, two):
    said = command.run("start", "--port", "0", status=0)
    skipped, hook, *rest = said.stderr.splitlines()
    assert skipped.startswith(two)
    assert hook == "hook 1.0 is at /plugins/hook/"
    assert not [line for line in rest if "skipped" in line]
    assert "skipped" not in said.stdout
    assert "no key" in (command.state / "daemon.log").read_text()


def test_the_foreground_prints_it_too(command, two):
    host = command.serve("--port", "0")
    url = host.url()
    assert host.line() == "hook 1.0 is at /plugins/hook/"
    assert page(url) == (200, "1.0 hello")
    status, _, errors = host.end()
    assert status == 0
    # The log is what a foreground shows, and it is said once.
    assert errors.count(two.removeprefix("skipped: ")) == 1


def test_twistd_prints_it_too(command, two):
    if not FOUND:
        pytest.skip("twistd is not beside this interpreter")
    host = command.serve("ahpd", "--port", "0", program=TWISTD)
    lines = [host.line()]
    while not lines[-1].startswith("listening on "):
        lines.append(host.line())
    url = lines[-1].rpartition(" ")[2]
    assert page(url) == (200, "1.0 hello")
    status, out, errors = host.end()
    assert status == 0
    assert two in errors
    assert [line for line in (*lines, *out.splitlines()) if "hook 1.0 is at /plugins/" in line]


def test_over_stdio_what_was_skipped_goes_to_standard_error(command, two):
    host = command.serve("--stdio")
    status, out, errors = host.end(None)
    assert (status, out) == (0, "")
    assert two.removeprefix("skipped: ") in errors


# -- what does not answer ------------------------------------------------------------------------

SPEAKS = """
def apply(host, options):
    host.on("listening", lambda event, context: host.say(f"a mirror of {event['port']}"))
"""
DEAF = """
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from zope.interface import implementer
from ahpd.interfaces import Adapter, IVault, TunnelKind

@implementer(IVault)
class Vault:
    def get(self, name):
        return Deferred()

    def set(self, name, value):
        return Deferred()

    def delete(self, name):
        return Deferred()

    def list(self):
        return Deferred()

async def hangs(*_):
    await Deferred()

def apply(host, options):
    form = {"type": "object", "properties": {"port": {"type": "integer"}}}
    host.register_vault(Vault(), replace=True)
    host.register_adapter(Adapter(name="deaf", title="Deaf", schema=form, open=hangs))
    host.register_tunnel_kind(
        TunnelKind(name="deaf", title="Deaf", schema=form, create=hangs, remove=hangs)
    )

    async def listening(event, context):
        await deferLater(host.reactor, 4, host.say, "said too late")
        await Deferred()

    host.on("listening", listening)
"""


@pytest.fixture
def deaf(command):
    """A configuration of which all that a plugin may be asked for does not answer."""
    speaks, deaf = standalone(command, "speaks", SPEAKS), standalone(command, "deaf", DEAF)
    command.write(
        f"plugins: [{speaks}, {deaf}]\n"
        "agents:\n"
        "  - {id: keyed, engine: acp, config: {command: sh, env: {K: {$secret: 'host:key'}}}}\n"
    )
    for folder, record in (
        ("connectors", {"id": "c", "adapter": "deaf", "owner": "host", "config": {}}),
        ("tunnels", {"id": "t", "kind": "deaf", "purpose": "person", "enabled": True}),
    ):
        (command.config / folder).mkdir()
        (command.config / folder / f"{record['id']}.json").write_text(json.dumps(record))


def test_what_does_not_answer_holds_up_no_start(command, deaf):
    said = command.run("start", "--port", "0", status=0)
    port = said.stdout.rpartition(":")[2].strip()
    assert f"a mirror of {port}\n" in said.stderr
    assert "skipped" not in said.stderr
    assert "said too late" not in said.stderr
    assert command.answer("status")["running"] is True
    assert command.answer("plugin", "disable", "speaks") == {"id": "speaks"}
    log = command.state / "daemon.log"
    late = "the vault of the plugin deaf did not answer within 10 s"
    until(lambda: late in log.read_text())
    text = log.read_text()
    assert text.index("listening on") < text.index("said too late") < text.index(late)
    assert text.index("plugin speaks is unloaded") < text.index(late)


def test_what_does_not_answer_holds_up_no_start_in_the_foreground(command, deaf):
    host = command.serve("--port", "0")
    port = host.url().rpartition(":")[2]
    assert host.line() == f"a mirror of {port}"


def test_whoever_starts_a_daemon_is_told_which_plugin_it_loads(command):
    hook = standalone(command, "hook", ROUTE.format(version="1.0"))
    command.write(f"plugins: [{hook}]\n")
    command.state.mkdir(parents=True)
    handed = {"flags": {"port": "0"}, "configFile": None, "directory": str(command.work)}
    child = command.serve(
        program=(sys.executable, "-P", "-m", "ahpd.cli.child"), stdin=subprocess.PIPE
    )
    child.popen.stdin.write(json.dumps(handed).encode())
    child.popen.stdin.close()
    child.popen.stdin = None
    said = [json.loads(child.line()) for _ in range(4)]
    at = ["importing the plugin hook", "loading the plugin hook", "starting"]
    assert said[:3] == [{"at": words} for words in at]
    assert said[3]["listening"].startswith("ws://127.0.0.1:")
    assert child.end()[0] == 0


def test_two_agents_of_one_name_refuse_the_start(command):
    code = (
        "from ahpd.testing.agents import ScriptedAgent\n"
        "def apply(host, options): host.register_agent(ScriptedAgent('acme'))\n"
    )
    command.write(
        f"plugins: [{standalone(command, 'one', code)}, {standalone(command, 'two', code)}]\n"
    )
    words = "ahpd: the plugins one and two both register the agent acme: turn one of them off"
    for arguments in (("--port", "0"), ("start", "--port", "0")):
        said = command.run(*arguments, status=1)
        last = said.stderr.splitlines()[-1]
        assert last.replace("the daemon did not start: ", "") == words
    assert command.answer("status", status=None)["running"] is False


@pytest.mark.parametrize("does", ["sys.exit(4)", "raise KeyboardInterrupt", "apply(host, options)"])
def test_a_plugin_that_leaves_or_exhausts_the_stack_ends_no_daemon(command, does):
    bad = standalone(command, "bad", f"import sys\ndef apply(host, options): {does}\n")
    command.write(f"plugins: [{bad}]\n")
    said = command.run("start", "--port", "0", status=0)
    assert said.stderr.startswith("skipped: plugin bad skipped: its apply failed: ")
    assert "Error" not in said.stderr.partition("\n")[2]
    problems = command.answer("plugin", "apply", status=1)["problems"]
    assert problems[0].startswith("plugin bad skipped: ")


def test_flags_name_plugins_options_and_none(command, two):
    bad = command.work / "bad"
    said = command.run("start", "--port", "0", "--no-plugins", status=0)
    assert "skipped" not in said.stderr
    assert "hook" not in said.stderr
    command.run("stop", status=0)
    arguments = ("--no-plugins", "--plugin", "./hook", "--plugin-option", "hook.word=aye")
    url = listening(command, *arguments)
    assert page(url) == (200, "1.0 aye")
    assert page(url, "/plugins/bad/")[0] == 404
    assert bad.exists()
    said = command.run("plugin", "disable", "nobody", status=2)
    assert "there is no plugin nobody" in said.stderr


def test_what_a_flag_names_runs_on_though_the_file_has_it_off_and_that_is_said(command, two):
    url = listening(command, "--plugin", "./hook")
    for verb, done in (("disable", "disabled hook\n"), ("remove", "removed hook\n")):
        said = command.run("plugin", verb, "hook", status=0)
        assert said.stdout == done
        assert "hook runs on: this daemon was started with a --plugin that names it" in said.stderr
        assert page(url)[0] == 200
    assert "hook" not in (command.config / "config.yaml").read_text()


def test_routes_are_on_their_own_listener_and_nowhere_else(command, two, taken_port):
    import socket

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    text = (command.config / "config.yaml").read_text()
    command.write(f"{text}routes: {{port: {port}}}\n")
    said = command.run("start", "--port", "0", status=0)
    url = command.answer("status")["url"]
    assert f"routes on http://127.0.0.1:{port}/plugins/" in said.stderr.splitlines()
    assert page(url)[0] == 404
    assert page(url, "/plugins")[0] == 404
    assert page(url, port=port) == (200, "1.0 hello")
    assert page(url, "/health", port=port)[0] == 404
    command.answer("plugin", "disable", "hook")
    assert page(url, port=port)[0] == 404


def test_a_taken_port_of_the_routes_is_said_of_their_setting(command, taken_port):
    command.write(f"routes: {{port: {taken_port}}}\n")
    said = command.run("start", "--port", "0", status=1)
    words = f"cannot listen on 127.0.0.1:{taken_port}: the port is in use; choose another for "
    assert f"{words}routes.port in the configuration" in said.stderr


def test_a_secret_that_an_option_names_is_in_no_log(command):
    code = "def apply(host, options):\n    host.log(f'key {options[\"word\"]}')\n    raise ValueError(options['word'])\n"
    leaks = standalone(command, "leaks", code)
    (leaks / "plugin.yaml").write_text("id: leaks\nmain: ./main.py\n")
    command.write(f"plugins: [{{source: {leaks}, options: {{word: {{fromEnv: LEAKS_WORD}}}}}}]\n")
    said = command.run("start", "--port", "0", status=0, LEAKS_WORD="hunter2-hunter2")
    assert "ValueError: <set>" in said.stderr
    assert "hunter2" not in said.stdout + said.stderr
    assert "hunter2" not in (command.state / "daemon.log").read_text()
