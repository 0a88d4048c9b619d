"""What every shell that marks its commands says of them, whatever is in the person's files."""

import os
import re
import signal
import stat
import subprocess

import pytest

from ahpd.terminals.marks import CommandFinished, CwdChanged, PromptStarted
from ahpd.terminals.shells import (
    default_shell,
    integration_folder,
    launch_of,
)

from .sitting import PATIENCE, Sitting, commands, program

SHELLS = ("bash", "zsh", "fish")
#: Where each of them looks for what a person set up.
FILES = {"bash": ".bashrc", "zsh": ".zshrc", "fish": ".config/fish/config.fish"}


@pytest.fixture(params=SHELLS)
def shell(request):
    program(request.param)
    return request.param


def set_up(home, shell, text="", prompt="> "):
    """Give the person files of their own."""
    file = home / FILES[shell]
    file.parent.mkdir(parents=True, exist_ok=True)
    own = {
        "bash": f"PS1='{prompt}'\n",
        "zsh": f"PS1='{prompt}'\nunsetopt prompt_sp\n",
        "fish": f"set -g fish_greeting\nfunction fish_prompt; printf '{prompt}'; end\n"
        "function fish_title; end\n",
    }
    file.write_text(own[shell] + text)


def shown(output):
    """The words of an output, without what is not drawn."""
    return re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\(B|[=>])|\r", "", output)


# -- what is said of commands ---------------------------------------------------------------


def test_a_command_is_said_with_its_line_its_output_and_its_code(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        ((line, output, code),) = it.run("echo one")
        assert (line, shown(output), code) == ("echo one", "one\n", 0)
        ((line, output, code),) = it.run("sh -c 'echo two; exit 7'")
        assert (line, shown(output), code) == ("sh -c 'echo two; exit 7'", "two\n", 7)


def test_nothing_of_the_marks_is_shown(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.run("echo one")
        assert b"\x1b]133;" in it.raw
        for words in ("133;", "633;", "file://", "__ahpd"):
            assert words not in it.all_text()


@pytest.mark.parametrize(
    "line",
    [
        r"echo 'a;b' \; 'c\\d' \\; # \x3b",
        "echo 'é ✓ 日本' \"$HOME\"",
        "printf '%s\\n' 100%",
        "true && false || true",
    ],
)
def test_a_line_is_said_as_it_was_typed(shell, tmp_path, line):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        assert [said[0] for said in it.run(line)] == [line]


def test_a_command_of_several_lines_is_one(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        typed = ["echo 'a", "b'"]
        it.type("\r".join(typed) + "\r")
        ((line, output, code),) = commands(it.prompt())
        assert (line, code) == ("\n".join(typed), 0)
        assert shown(output) == "a\nb\n"


def test_an_empty_line_is_no_command(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        assert it.run("") == []
        it.run("   ")  # fish takes it for one
        assert [said[0] for said in it.run("true")] == ["true"]


def test_a_line_given_up_is_no_command(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.rest()
        it.type("nonsense")
        it.rest()
        it.type("\x03")
        it.rest()
        it.type("echo this\r")
        it.until(lambda new: any(isinstance(event, CommandFinished) for event in new))
        assert [said[0] for said in commands(it.new())] == ["echo this"]


def test_a_command_that_is_interrupted_says_so(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.type("sh -c 'echo ready; exec sleep 60'\r")
        it.prints("ready")
        it.type("\x03")
        ((_, _, code),) = commands(it.prompt())
        assert code == 130


def test_a_command_that_is_stopped_is_over_and_goes_on_as_another(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.type("sh -c 'echo ready; read word; echo \"<$word>\"'\r")
        it.prints("ready")
        it.type("\x1a")
        ((_, _, code),) = commands(it.prompt())
        assert code == (0 if shell == "fish" else 148)
        it.type("fg\r")
        it.prints("read word")
        it.type("done\r")
        ((line, output, code),) = commands(it.prompt())
        assert (line, code) == ("fg", 0)
        assert "<done>" in output


@pytest.mark.parametrize(
    "name", ["plain", "with spaces", "é%20✓", "q'uo\"te", "semi;colon", "back\\slash", "new\nline"]
)
def test_the_folder_is_said_at_the_prompt(shell, tmp_path, name):
    set_up(tmp_path, shell)
    folder = tmp_path / name
    folder.mkdir()
    (tmp_path / "link").symlink_to(folder)
    with Sitting(shell, tmp_path) as it:
        assert CwdChanged(str(tmp_path)) in it.prompt()
        it.type("cd -P link\r" if shell != "fish" else "cd (realpath link | string collect)\r")
        assert CwdChanged(str(folder)) in it.prompt()
        it.type("true\r")
        assert not [event for event in it.prompt() if isinstance(event, CwdChanged)]


# -- what it leaves alone -------------------------------------------------------------------


def test_the_environment_of_what_is_run_has_nothing_of_it(shell, tmp_path):
    set_up(tmp_path, shell)
    before = {"HOME", "PATH", "TERM", "LANG", "SHELL", "PWD", "SHLVL", "_", "OLDPWD", "LINES",
              "COLUMNS", "USER", "LOGNAME", "XDG_RUNTIME_DIR"}  # fmt: skip
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.run("true")
        ((_, output, _),) = it.run("env")
        names = {line.partition("=")[0] for line in shown(output).splitlines() if "=" in line}
        assert "HOME" in names
        assert names <= before
        assert "ahpd" not in output.lower()


def test_the_persons_own_files_are_read(shell, tmp_path):
    set_up(tmp_path, shell, "alias greet='echo hello there'\nFROM=x\n" if shell != "fish" else
           "alias greet='echo hello there'\n")  # fmt: skip
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        assert shown(it.run("greet")[0][1]) == "hello there\n"


@pytest.mark.parametrize("inner", ["itself", "sh"])
def test_a_shell_in_the_shell_marks_nothing_and_its_end_is_the_commands(shell, tmp_path, inner):
    set_up(tmp_path, shell)
    inner = shell if inner == "itself" else inner
    with Sitting(shell, tmp_path, env={"ENV": "/dev/null", "PS1": "in> "}) as it:
        it.prompt()
        it.type(f"{inner}\r")
        it.prints("> ")
        it.plainly("echo in''side", "inside")
        it.type("exit 3\r")
        it.prompt()
        assert [(line, code) for line, _, code in commands(it.events[: it.mark])] == [(inner, 3)]
        assert it.raw.count(b"\x1b]133;A") == 2
        assert [said[0] for said in it.run("echo back")] == ["echo back"]


def test_after_exec_it_is_a_plain_shell(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.type(f"exec {shell}\r")
        it.prints("> ")
        raw = len(it.raw)
        it.plainly("echo it wo''rks", "it works")
        it.plainly("echo $(env | grep -ci ahp''d) of i''t", "0 of it")
        assert b"]133;" not in it.raw[raw:]


def test_marks_of_somebody_else_are_not_doubled(shell, tmp_path):
    theirs = {
        "bash": r"""
theirs() { printf '\e]133;D;%s\a\e]133;A\a' $?; }
PROMPT_COMMAND=theirs
PS0='\e]133;C\a'
""",
        "zsh": r"""
theirs() { printf '\e]133;D;%s\a\e]133;A\a' $?; }
precmd_functions+=(theirs)
theirs_too() { printf '\e]133;C\a'; }
preexec_functions+=(theirs_too)
""",
        "fish": r"""
function theirs --on-event fish_prompt; printf '\e]133;A\a'; end
function theirs_too --on-event fish_preexec; printf '\e]133;C\a'; end
function theirs_three --on-event fish_postexec; printf '\e]133;D;%s\a' $status; end
""",
    }
    set_up(tmp_path, shell, theirs[shell])
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        ((_, output, code),) = it.run("echo one; sh -c 'exit 4'")
        assert (shown(output), code) == ("one\n", 4)
        it.run("true")
        assert it.raw.count(b"]133;C") == 2
        assert it.raw.count(b"]133;A") == 3


def test_output_without_an_end_of_line_is_the_commands(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        ((_, output, _),) = it.run("printf abc")
        assert shown(output) == "abc"


def test_a_very_long_line_runs_and_is_said_or_read_back(shell, tmp_path):
    set_up(tmp_path, shell)
    line = "true " + "x" * 3000
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        ((said, _, code),) = it.run(line)
        assert (said, code) == (line, 0)


def test_the_history_is_of_what_was_typed_and_where_it_always_is(shell, tmp_path):
    set_up(tmp_path, shell, "HISTSIZE=100\nSAVEHIST=100\n" if shell == "zsh" else "")
    with Sitting(shell, tmp_path) as it:
        it.prompt()
        it.run("echo one")
        it.run("echo two")
        if shell == "zsh":
            assert shown(it.run('echo "<$HISTFILE>"')[0][1]) == "<>\n"
        ((_, output, _),) = it.run("history")
        assert "ahpd" not in output
        assert "echo one" in output
    assert not list(integration_folder().rglob("*hist*"))
    assert not list(integration_folder().rglob("*.zcompdump*"))


# -- how it is started ----------------------------------------------------------------------


def test_a_line_is_the_shells_and_words_are_run_as_they_are(tmp_path):
    assert launch_of("/bin/zsh", "echo $X; ls", {}) == (["/bin/zsh", "-c", "echo $X; ls"], {})
    assert launch_of("/usr/bin/fish", "ls", {}, pty=False).argv == ["/usr/bin/fish", "-c", "ls"]
    words = ["grep", "-r", "a b;c$(d)", ""]
    assert launch_of("/bin/bash", tuple(words), {}, scripts=tmp_path) == (words, {})


@pytest.mark.parametrize("name", ["sh", "dash", "ksh", "tcsh", "nu", "python3", "bashful"])
def test_any_other_shell_is_started_plain(name, tmp_path):
    path = f"/usr/bin/{name}"
    assert launch_of(path, None, {}, scripts=tmp_path) == ([path], {})


@pytest.mark.parametrize("name", ["bash", "zsh", "fish", "sh"])
def test_without_scripts_or_a_terminal_none_is_told_to_mark(name, tmp_path):
    assert launch_of(f"/bin/{name}", None, {"ZDOTDIR": "/z"}) == ([f"/bin/{name}"], {})
    launch = launch_of(f"/bin/{name}", None, {"ZDOTDIR": "/z"}, pty=False, scripts=tmp_path)
    assert launch.env == {}
    assert launch.argv == ["/bin/sh" if name == "fish" else f"/bin/{name}", "-i"]


@pytest.mark.parametrize("name", ["bash-5.2", "zsh-5.9", "bash5", "fish3.6"])
def test_a_shell_with_its_version_in_its_name_is_one_too(name, tmp_path):
    assert launch_of(f"/opt/{name}", None, {}, scripts=tmp_path) != ([f"/opt/{name}"], {})


def test_zsh_is_told_where_the_persons_files_are(tmp_path):
    launch = launch_of("/bin/zsh", None, {"ZDOTDIR": "/theirs"}, scripts=tmp_path)
    assert launch.argv == ["/bin/zsh"]
    assert launch.env == {"ZDOTDIR": str(tmp_path / "zsh"), "ORIGINAL_ZDOTDIR": "/theirs"}
    assert launch_of("/bin/zsh", None, {}, scripts=tmp_path).env["ORIGINAL_ZDOTDIR"] is None


@pytest.mark.parametrize("shell_name", SHELLS)
def test_scripts_may_be_in_a_folder_of_any_name(shell_name, tmp_path):
    odd = tmp_path / "it's a \\ folder; $HOME é"
    odd.mkdir()
    for source in integration_folder().rglob("*"):
        target = odd / source.relative_to(integration_folder())
        if source.is_dir():
            target.mkdir()
        else:
            target.write_bytes(source.read_bytes())
    home = tmp_path / "home"
    home.mkdir()
    set_up(home, shell_name)
    with Sitting(shell_name, home, scripts=odd) as it:
        it.prompt()
        assert [said[0] for said in it.run("echo one")] == ["echo one"]


def test_the_own_shell_is_a_program_or_sh(tmp_path):
    real = tmp_path / "mysh"
    real.write_text("#!/bin/sh\n")
    assert default_shell({"SHELL": str(real)}) == "/bin/sh"  # not to be run yet
    real.chmod(stat.S_IRWXU)
    assert default_shell({"SHELL": str(real)}) == str(real)
    for wrong in ("", "bash", "mysh", str(tmp_path), str(tmp_path / "none"), "/bin/\0x"):
        assert default_shell({"SHELL": wrong}) == "/bin/sh"
    assert default_shell({}) == "/bin/sh"


@pytest.mark.parametrize("name", ["nologin", "false"])
def test_an_account_without_a_shell_gets_one(name, tmp_path):
    real = tmp_path / name
    real.write_text("#!/bin/sh\n")
    real.chmod(stat.S_IRWXU)
    assert default_shell({"SHELL": str(real)}) == "/bin/sh"


def test_the_scripts_are_files_that_can_be_read():
    folder = integration_folder()
    found = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert found == {"bash.sh", "fish.fish", "zsh/.zshenv"}
    assert all(os.access(folder / name, os.R_OK) for name in found)


@pytest.mark.parametrize("name", ["sh", "dash", "bash", "zsh", "fish"])
def test_a_shell_on_pipes_runs_line_by_line_and_outlives_an_interrupt(name, tmp_path):
    launch = launch_of(program(name), None, {}, pty=False)
    with subprocess.Popen(
        launch.argv,
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"], "PS1": "go> "},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    ) as process:
        try:
            process.stdin.write(b"sh -c 'echo re\"\"ady; exec sleep 60'\n")
            process.stdin.flush()
            seen = b""
            while b"ready" not in seen:
                seen += process.stdout.read1(4096)
            os.killpg(process.pid, signal.SIGINT)
            out, _ = process.communicate(b"echo still here; exit 5\n", timeout=PATIENCE)
            assert b"still here" in out
            assert process.returncode == 5
        finally:
            process.kill()


def test_a_prompt_is_said_before_anything_is_typed(shell, tmp_path):
    set_up(tmp_path, shell)
    with Sitting(shell, tmp_path) as it:
        before = it.prompt()
        assert commands(before) == []
        assert not [event for event in before if isinstance(event, PromptStarted)]
