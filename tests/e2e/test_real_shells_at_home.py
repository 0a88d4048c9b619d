"""Real shells with what people have in their files, and what is left of a sitting."""

import time

import pytest
import pytest_twisted

from .sitting import (
    MARKED,
    SHELLS,
    Sitting,
    at_home,
    commands,
    drawn,
    furnish,
    house,
    program,
    sits,
)

every_shell = pytest.mark.parametrize("shell", SHELLS)
marked_shells = pytest.mark.parametrize("shell", MARKED)


# -- what programs see of the terminal ------------------------------------------------------


@every_shell
@pytest_twisted.ensureDeferred
async def test_the_environment_is_the_persons_and_the_terminals(make_daemon, shell):
    it = await at_home(
        make_daemon,
        shell,
        cols=123,
        rows=45,
        preset={
            "AHPD_LOG_LEVEL": "debug",
            "MINE": "kept",
            "TERM": "screen",
            "COLUMNS": "1",
            "TERM_PROGRAM": "another",
            "VSCODE_INJECTION": "1",
        },
    )
    lines = (await it.ask("env")).splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert (seen["TERM"], seen["COLUMNS"], seen["LINES"]) == ("xterm-256color", "123", "45")
    assert (seen["MINE"], seen["HOME"]) == ("kept", str(it.daemon.home))
    assert seen["SHELL"] == program(shell)
    assert not [line for line in lines if "ahpd_" in line.lower() or "__ahpd" in line]
    assert {"ZDOTDIR", "TERM_PROGRAM", "VSCODE_INJECTION"}.isdisjoint(seen)
    assert seen.get("SHLVL", "1") == "1"
    assert it.daemon.token not in str(lines)


# -- what is in the files ---------------------------------------------------------------------

OWN_PROMPTS = {
    "bash": """
promptly() { local code=$?; times=$((times + 1)); PS1="[$code] $times \\w go> "; }
PROMPT_COMMAND=promptly
""",
    "zsh": """
setopt prompt_subst
precmd() { local code=$?; PS1="[$code] $((++times)) %~ go> " }
""",
    "fish": """
function fish_prompt
    set -l code $status
    set -g times (math 0$times + 1)
    echo -n "[$code] $times "(prompt_pwd)" go> "
end
""",
}


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_prompt_of_their_own_shows_the_status_and_is_theirs(make_daemon, shell):
    it = await at_home(make_daemon, shell, OWN_PROMPTS[shell])
    for number, (line, code) in enumerate({"sh -c 'exit 5'": 5, "true": 0, "false": 1}.items(), 2):
        it.type(line + "\r")
        (command,) = commands(await it.prompt(text=f"[{code}] {number} ~ go> ", after=1))
        assert (command.line, command.words, command.code) == (line, "", code)
    assert "133;" not in it.all_text()
    assert "ahpd" not in it.all_text()


RCS = {
    ("bash", "unset variables are errors"): "set -u\n",
    ("zsh", "unset variables are errors"): "setopt no_unset\n",
    ("bash", "prints"): "echo 'welcome home'; printf 'no end of line'\n",
    ("zsh", "prints"): "echo 'welcome home'; printf 'no end of line'\n",
    ("fish", "prints"): "echo 'welcome home'; printf 'no end of line'\n",
    ("bash", "is broken"): "if then fi (((\n",
    ("zsh", "is broken"): "if then fi (((\n",
    ("fish", "is broken"): "if; end end )\n",
    ("bash", "fails"): "no-such-program-here\nfalse\n",
    ("zsh", "fails"): "no-such-program-here\nfalse\n",
    ("fish", "fails"): "no-such-program-here\nfalse\n",
    ("bash", "returns"): "return 3\n",
    ("zsh", "returns"): "return 3\n",
    ("fish", "returns"): "exit 3\n",  # no more than the end of that file
    ("bash", "is interactive alone"): "case $- in *i*) ;; *) exit 9;; esac\n",
    ("zsh", "changes the folder"): "mkdir -p ~/sub; cd ~/sub\n",
    ("bash", "changes the folder"): "mkdir -p ~/sub; cd ~/sub\n",
    ("fish", "changes the folder"): "mkdir -p ~/sub; cd ~/sub\n",
    ("bash", "has vi keys"): "set -o vi\n",
    ("zsh", "has vi keys"): "bindkey -v\n",
    ("fish", "has vi keys"): "fish_vi_key_bindings\n",
}


@pytest.mark.parametrize(("shell", "file"), RCS, ids=[" whose file ".join(key) for key in RCS])
@pytest_twisted.ensureDeferred
async def test_commands_are_told_apart_whatever_their_files_do(make_daemon, shell, file):
    it = await at_home(make_daemon, shell, RCS[shell, file])
    (command,) = await it.run("echo one")
    assert (command.line, command.words, command.code) == ("echo one", "one\n", 0)
    (command,) = await it.run("sh -c 'exit 7'")
    assert command.code == 7
    if file == "prints":
        assert "welcome home" in it.all_text()
    if file == "changes the folder":
        assert it.state["cwd"].endswith("/home/sub")


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_file_that_ends_the_shell_ends_the_terminal(make_daemon, shell):
    text = "kill -9 $fish_pid\n" if shell == "fish" else "echo bye; exit 4\n"
    daemon = await house(make_daemon, shell, text)
    it = await sits(daemon, shell)
    await it.until(lambda: it.state["lifecycle"]["status"] == "exited", "the end")
    assert it.state["lifecycle"] == (
        {"status": "exited"} if shell == "fish" else {"status": "exited", "exitCode": 4}
    )
    assert shell == "fish" or "bye" in str(it.state["content"])


@pytest.mark.parametrize(("outer", "inner"), [("bash", "zsh"), ("bash", "fish"), ("zsh", "bash")])
@pytest_twisted.ensureDeferred
async def test_a_file_that_becomes_another_shell_leaves_one_that_works(make_daemon, outer, inner):
    path = program(inner)
    daemon = await house(make_daemon, outer, f"exec {path}\n", plain=False)
    furnish(daemon, inner)
    it = await sits(daemon, outer)
    await it.prompt()
    it.shell = "sh"  # it marks nothing
    asked = await it.ask("env | grep -c -i -e ahp''d_ -e zdotd''ir; echo \"<$HOME>\"")
    assert asked.startswith(f"0\n<{daemon.home}>\n")
    assert "__ahpd" not in it.all_text()
    it.type("exit 6\r")
    assert await it.ended() == {"status": "exited", "exitCode": 6}


@pytest.mark.parametrize(
    ("shell", "inner"),
    [
        *((shell, "sh") for shell in MARKED),
        ("bash", "bash --norc"),
        ("zsh", "zsh -f"),
        ("fish", "bash --norc"),
        ("bash", "env -i TERM=xterm sh"),
        ("bash", "script -eqc sh /dev/null"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_shell_in_the_shell_is_one_command(make_daemon, shell, inner):
    program(inner.split()[0])
    it = await at_home(make_daemon, shell)
    it.type(inner + "\r")
    await it.executes()
    it.type("PS1='in''ner> '\r")
    await it.shows("inner> ")
    it.type("echo i''n; exit 3\r")
    (command,) = commands(await it.prompt(after=1))
    assert (command.line, command.code) == (inner, 3)
    assert "in\n" in command.words
    (command,) = await it.run("echo back")
    assert (command.line, command.words) == ("echo back", "back\n")


# -- what is left -----------------------------------------------------------------------------

HISTORIES = {
    "bash": (".bash_history", ""),
    "zsh": (".zsh_history", "HISTFILE=~/.zsh_history\nHISTSIZE=100\nSAVEHIST=100\n"),
    "fish": ("data/fish/fish_history", ""),
}


@marked_shells
@pytest_twisted.ensureDeferred
async def test_the_history_is_in_the_persons_own_file_and_comes_back(make_daemon, shell):
    name, text = HISTORIES[shell]
    it = await at_home(make_daemon, shell, text)
    await it.run("echo remember me")
    it.type("exit\r")
    await it.ended()
    history = it.daemon.home / name
    await it.daemon.until(
        lambda: history.exists() and "echo remember me" in history.read_text(), "the history"
    )
    assert "ahpd" not in history.read_text()
    # fish counts seconds, and shows a sitting nothing of those that came after its start.
    await it.daemon.until(lambda: time.time() > history.stat().st_mtime + 2, "another second")
    again = await Sitting(it.daemon, it.client, shell).open()
    await again.prompt()
    again.type("\x1b[A")
    await again.shows("exit")
    again.type("\x1b[A")
    await again.shows("remember me")
    again.type("\r")
    (command,) = commands(await again.prompt(after=1))
    assert command.words == "remember me\n"


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_sitting_leaves_nothing_in_the_home_that_is_not_the_shells(make_daemon, shell):
    it = await at_home(make_daemon, shell)
    before = {path.name for path in it.daemon.home.iterdir()}
    await it.run("echo one")
    it.type("exit\r")
    await it.ended()
    left = {path.name for path in it.daemon.home.iterdir()} - before
    assert left <= {".bash_history", ".zsh_history", "data", "cache", "config"}


@marked_shells
@pytest_twisted.ensureDeferred
async def test_a_home_that_nobody_may_write_to_is_one_to_sit_in(make_daemon, shell):
    """Not even the superuser makes a file there."""
    daemon = make_daemon(preset={"SHELL": program(shell), "LANG": "C.UTF-8", "HOME": "/proc/sys"})
    for folder in ("config", "data"):  # fish's, in no home
        (daemon.home / folder).mkdir(exist_ok=True)
        (daemon.home / folder / "fish").write_text("a file where a folder has to be\n")
    await daemon.start()
    it = await sits(daemon, shell, cwd=daemon.work.as_uri())
    await it.until(lambda: it.state["supportsCommandDetection"], "marks")
    await it.until(lambda: drawn(it.text()).rstrip().endswith(("#", ">", "$", "%")), "a prompt")
    it.type("echo o''ne\r")
    await it.until(lambda: it.new("commandFinished"), "a command's end")
    (command,) = commands(it.actions)
    assert (command.line, command.words, command.code) == ("echo o''ne", "one\n", 0)
    it.type("exit 5\r")
    assert await it.ended() == {"status": "exited", "exitCode": 5}
