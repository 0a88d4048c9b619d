"""Real shells over the socket, used as people use them: keys, jobs, sizes."""

import re

import pytest
import pytest_twisted

from ahpd.testing.processes import fields_of

from .sitting import MARKED, PROMPT, SHELLS, at_home, commands, drawn

every_shell = pytest.mark.parametrize("shell", SHELLS)
marked_shells = pytest.mark.parametrize("shell", MARKED)

UP, ERASE, INTERRUPT, STOP, END = "\x1b[A", "\x7f", "\x03", "\x1a", "\x04"


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_line_is_brought_back_from_the_history_and_changed(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    await it.run("echo the first")
    await it.run("echo the second")
    it.type(UP)
    await it.shows("second")
    it.type(UP)
    await it.shows("first")
    it.type("ly\r")
    (command,) = commands(await it.prompt(after=1))
    assert (command.line, command.words) == ("echo the firstly", "the firstly\n")


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_name_is_completed_with_tab(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    (it.daemon.home / "a-long-name-of-a-file.text").write_text("what is in it\n")
    it.type("cat a-lon\t")
    await it.shows("a-long-name-of-a-file.text")
    it.type("\r")
    (command,) = commands(await it.prompt(after=1))
    assert command.line.strip() == "cat a-long-name-of-a-file.text"
    assert command.words == "what is in it\n"


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_line_given_up_is_no_command(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    it.type("nonsense")
    await it.shows("nonsense")
    it.type(INTERRUPT)
    await it.until(lambda: PROMPT in drawn(it.text()).rpartition("nonsense")[2], "another prompt")
    it.mark = len(it.actions)
    assert await it.ask("echo it") == "it\n"
    assert [command.line for command in commands(it.actions)] in (["echo it"], [])


@every_shell
@pytest_twisted.ensureDeferred
async def test_jobs_are_stopped_go_on_behind_and_come_to_the_front(make_daemon, shell):
    marked = shell in MARKED
    it = await at_home(make_daemon, shell)
    script = it.daemon.home / "job"
    script.write_text('#!/bin/sh\necho ready\nread word\necho "<$word>"\nexit 4\n')
    script.chmod(0o700)
    it.type("./job\r")
    await it.shows("ready\n")
    it.type(STOP)
    said = await it.prompt(after=1 if marked else 0)
    if marked:
        (command,) = commands(said)
        # 128 and the number of the signal, but in fish.
        assert (command.line, command.code) == ("./job", 0 if shell == "fish" else 148)
    assert re.search(r"(?i)(stopped|suspended).*job", await it.ask("jobs"))
    it.type("bg\r")
    # It reads in the background, and is stopped for that.
    await it.prompt(after=1 if marked else 0)
    await it.daemon.until(lambda: stopped(it, "./job"), "the job, stopped again")
    it.mark = len(it.actions)
    it.type("fg\r")
    await it.shows("job")
    it.type("the word\r")
    await it.shows("<the word>\n")
    said = await it.prompt(after=1 if marked else 0)
    if marked:
        (command,) = commands(said)
        assert command.line == "fg"
        asked = "echo $status" if shell == "fish" else "echo $?"
        assert await it.ask(asked) == f"{command.code}\n"
        assert shell == "fish" or command.code == 4
    assert "job control" not in it.all_text()
    assert await it.ask("jobs") in ("", "jobs: There are no jobs\n")


def stopped(it, words):
    """Whether a process of this command line is stopped by a signal."""
    mine = [one for one in it.daemon.children() if words.encode() in it.daemon.command_line(one)]
    return [one for one in mine if fields_of(one)[:1] == ["T"]]


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_job_behind_is_the_shells_own_and_goes_on(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    note = it.daemon.home / "note"
    await it.ask(f"sh -c 'until test -e go; do sleep 0.05; done; echo went > {note.name}' &")
    await it.ask("touch go")
    await it.daemon.until(lambda: note.exists() and note.read_text() == "went\n", "the job's end")
    assert "job control" not in it.all_text()


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_quit_ends_what_runs_and_not_the_shell(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    it.type("sh -c 'ulimit -c 0; echo re\"\"ady; exec sleep 1000'\r")
    await it.shows("ready\n")
    it.type("\x1c")
    await it.prompt(after=1 if shell in MARKED else 0)
    assert await it.ask("echo back") == "back\n"


# -- sizes ----------------------------------------------------------------------------------


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_terminal_has_the_size_its_client_says(make_daemon, shell):
    it = await at_home(make_daemon, shell, cols=133, rows=41)
    assert await it.ask("stty size; tput cols; tput lines") == "41 133\n133\n41\n"
    it.resize(77, 19)
    assert await it.ask("stty size") == "19 77\n"
    assert (it.state["cols"], it.state["rows"]) == (77, 19)


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_shell_follows_at_its_prompt(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    it.resize(101, 31)
    await it.client.ping()
    await it.run("true")
    assert await it.ask("echo $COLUMNS $LINES") == "101 31\n"


@pytest.mark.parametrize("shell", ["bash", "sh"])
@pytest_twisted.ensureDeferred
async def test_a_program_is_told_of_a_new_size_while_it_runs(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    script = it.daemon.home / "watch"
    script.write_text("trap 'stty size; exit 0' WINCH\necho ready\nwhile :; do sleep 0.05; done\n")
    it.type("sh watch\r")
    await it.shows("ready\n")
    it.resize(111, 33)
    await it.shows("33 111\n")


@pytest.mark.parametrize("shell", ["bash", "zsh"])
@pytest_twisted.ensureDeferred
async def test_a_trap_of_the_shells_own_hears_of_a_new_size(make_daemon, shell):
    it = await at_home(make_daemon, shell, "trap 'echo \"now $(stty size)\"' WINCH\n")
    it.resize(90, 22)
    await it.client.ping()
    it.type("\r")
    await it.shows("now 22 90\n")
