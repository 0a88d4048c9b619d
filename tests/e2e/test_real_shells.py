"""Real shells over the socket: their prompts, colours, commands, folders and ends."""

import signal
import subprocess

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT

from .sitting import MARKED, SHELLS, Sitting, at_home, commands, drawn, folder_of, program

every_shell = pytest.mark.parametrize("shell", SHELLS)
marked_shells = pytest.mark.parametrize("shell", MARKED)

#: What gives an exit code of its own in every shell.
CODES = {"true": 0, "false": 1, "sh -c 'exit 7'": 7, "no-such-program-here": 127}


def shell_of(it):
    """The process of the shell somebody sits in."""
    path = program(it.shell).encode()
    (pid,) = [one for one in it.daemon.children() if it.daemon.command_line(one).startswith(path)]
    return pid


def listed_in_colours(folder, environment):
    """What a terminal shows of `ls`."""
    listed = subprocess.run(
        ["ls", "--color=always", "-1", str(folder)],
        env={**environment, "TERM": "xterm-256color"},
        capture_output=True,
        check=True,
        text=True,
    )
    return listed.stdout.replace("\n", "\r\n")


@pytest.mark.parametrize("pushed", [False, True], ids=["of the host", "pushed"])
@every_shell
@pytest_twisted.ensureDeferred
async def test_a_shell_answers_at_its_prompt_and_ends_with_its_code(make_daemon, shell, pushed):
    it = await at_home(make_daemon, shell, pushed=pushed)
    assert it.state["title"] == shell
    assert await it.ask("echo $((6*7))" if shell != "fish" else "math '6*7'") == "42\n"
    assert await it.ask("pwd") == f"{it.daemon.home}\n"
    assert folder_of(it.state["cwd"]) == it.daemon.home
    pid = shell_of(it)
    it.type("exit 7\r")
    assert await it.ended() == {"status": "exited", "exitCode": 7}
    assert it.new("exited") == [{"type": "terminal/exited", "exitCode": 7}]
    assert it.actions[-1]["type"] == "terminal/exited"
    assert not it.daemon.command_line(pid)


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_shell_ends_at_the_end_of_its_input(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    await it.ask("sh -c 'exit 3'")
    it.type("\x04")
    how = await it.ended()
    # fish takes an end for no command's.
    assert how == {"status": "exited", "exitCode": how["exitCode"]}
    assert how["exitCode"] in ((0, 3) if shell == "fish" else (3,))


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_shell_that_is_killed_has_no_code(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    it.daemon.send_signal_to(shell_of(it), signal.SIGKILL)
    assert await it.ended() == {"status": "exited"}
    it.type("echo nobody reads this\r")
    await it.client.ping()
    assert it.actions[-1] == {"type": "terminal/input", "data": "echo nobody reads this\r"}


@every_shell
@pytest_twisted.ensureDeferred
async def test_colours_come_through_byte_for_byte(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    folder = it.daemon.home / "coloured"
    (folder / "folder").mkdir(parents=True)
    (folder / "link").symlink_to("folder")
    (folder / "script").touch(0o755)
    listed = listed_in_colours(folder, it.daemon.environment())
    assert "\x1b[01;34mfolder" in listed
    it.type("command ls --color -1 coloured\r")
    await it.prints(listed)
    await it.prompt()
    escaped = r"\033[1;38;2;1;20;255mx\033[0m\033]8;;http://h/\033\\y\033]8;;\033\\\007\n"
    (it.daemon.home / "coloured" / "print").write_text(f"printf '{escaped}'\n")
    it.type("sh coloured/print\r")
    await it.prints("\x1b[1;38;2;1;20;255mx\x1b[0m\x1b]8;;http://h/\x1b\\y\x1b]8;;\x1b\\\x07\r\n")


@marked_shells
@pytest_twisted.ensureDeferred
async def test_commands_are_told_apart_without_being_asked_to(make_daemon, shell):
    rc = "alias greet='echo hello there'\n"
    it = await at_home(make_daemon, shell, rc)
    kinds = [each["type"].removeprefix("terminal/") for each in it.actions]
    assert "commandExecuted" not in kinds
    assert it.state["supportsCommandDetection"]
    typed = {
        r"""printf '%s\n' 'a;b' "c  d" \; '\x3b'""": "a;b\nc  d\n;\n\\x3b\n",
        "echo 'é ✓ 日本 👩‍💻'": "é ✓ 日本 👩‍💻\n",
        "greet": "hello there\n",
        "echo one; echo two | cat && true": "one\ntwo\n",
        "printf '%s' open": "open",
    }
    for line, printed in typed.items():
        ((command),) = await it.run(line)
        assert (command.line, command.words, command.code) == (line, printed, 0)
        assert isinstance(command.fields["durationMs"], int)
    for line, code in CODES.items():
        ((command),) = await it.run(line)
        assert (command.line, command.code) == (line, code)
    it.type("echo 'first\r")
    it.type("second'\r")
    (command,) = commands(await it.prompt(after=1))
    assert (command.line, command.words) == ("echo 'first\nsecond'", "first\nsecond\n")
    told = [each["type"] for each in it.actions]
    assert told.count("terminal/commandDetectionAvailable") <= 1
    ids = [each["commandId"] for each in it.actions if each["type"] == "terminal/commandExecuted"]
    assert len(ids) == len(set(ids)) == len(typed) + len(CODES) + 1


@marked_shells
@pytest_twisted.ensureDeferred
async def test_the_state_holds_each_command_as_it_was_told(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    for line in ("echo one", "false", "echo $((40+2))" if shell != "fish" else "math 40+2"):
        await it.run(line)
    held = [part for part in it.state["content"] if part["type"] == "command"]
    told = commands(it.actions)
    assert [(p["commandLine"], p["output"], p["exitCode"]) for p in held] == [
        (c.line, c.output, c.code) for c in told
    ]
    assert [p["durationMs"] for p in held] == [c.fields["durationMs"] for c in told]
    assert all(part["isComplete"] for part in held)
    printed = "".join(part.get("output", part.get("value")) for part in it.state["content"])
    assert printed == it.all_text()
    late = await it.daemon.connect("late", ROOT)
    await late.subscribe(it.uri)
    assert late.plain_state(it.uri) == it.state
    it.type("cat\r")
    await it.executes()
    it.type("typed\r")
    await it.shows("typed\ntyped\n")
    await late.subscribe(it.uri)
    await it.client.ping()
    assert late.plain_state(it.uri) == it.state
    running = late.plain_state(it.uri)["content"][-1]
    assert (running["commandLine"], running["isComplete"]) == ("cat", False)
    assert drawn(running["output"]) == "typed\ntyped\n"
    it.type("\x04")
    await it.prompt(after=1)


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_command_that_is_interrupted_says_so_and_the_shell_goes_on(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    it.type("sh -c 'echo re\"\"ady; exec sleep 1000'\r")
    await it.shows("ready\n")
    it.type("\x03")
    said = await it.prompt(after=1 if shell in MARKED else 0)
    if shell in MARKED:
        (command,) = commands(said)
        assert command.code == 130
    else:
        assert await it.ask("echo $?") == "130\n"
    assert await it.ask("echo back") == "back\n"


@marked_shells
@pytest_twisted.ensureDeferred
async def test_the_folder_is_told_wherever_somebody_goes(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    folders = [it.daemon.home / name for name in ("plain", "with two  spaces", "ü-日本-👍", "100%")]
    for folder in folders:
        folder.mkdir()
        (command,) = await it.run(f"cd '{folder}'")
        assert command.code == 0
        await it.until(lambda f=folder: folder_of(it.state["cwd"]) == f, f"{folder} as the folder")
    told = [each["cwd"] for each in it.actions if each["type"] == "terminal/cwdChanged"]
    assert [folder_of(uri) for uri in told] == folders
    assert all(uri.isascii() for uri in told)
    await it.run("cd /no/such/folder")
    await it.run("true")
    assert folder_of(it.state["cwd"]) == folders[-1]


@pytest_twisted.ensureDeferred
async def test_a_plain_sh_marks_nothing_and_works_all_the_same(make_daemon):
    it = await at_home(make_daemon, "sh")
    folder = it.daemon.home / "folder"
    folder.mkdir()
    assert await it.ask("cd folder; pwd; false; echo $?") == f"{folder}\n1\n"
    state = it.state
    assert not state["supportsCommandDetection"]
    assert [part["type"] for part in state["content"]] == ["unclassified"]
    assert folder_of(state["cwd"]) == it.daemon.home
    assert it.kinds() == []


@pytest_twisted.ensureDeferred
async def test_a_shell_pushed_later_is_that_of_the_terminals_opened_since(make_daemon):
    paths = {program("zsh"): "zsh", program("bash"): "bash"}
    it = await at_home(make_daemon, "sh")
    for path, name in paths.items():
        push = {"type": "root/configChanged", "config": {"defaultShell": path}}
        await it.client.perform(ROOT, push)
        other = await Sitting(it.daemon, it.client, name).open()
        await other.until(lambda o=other: o.state["supportsCommandDetection"], "marks")
        assert other.state["title"] == name
    assert await it.ask("echo still here") == "still here\n"
