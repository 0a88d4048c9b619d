"""Which variables a program in a terminal sees."""

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st

from ahpd.processes.environment import child_environment
from ahpd.processes.guard import MARK_NAME
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminal_environment import terminal_environment


def seen(host, added=None, cols=80, rows=24, pty=True):
    additions = terminal_environment(
        host, added or {}, cwd="/home/me", cols=cols, rows=rows, pty=pty
    )
    return child_environment(host, additions)


OWN = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24", "PWD": "/home/me"}


def test_the_terminals_own_variables_win():
    added = {"TERM": "vt100", "COLUMNS": "1", "LINES": None, "MORE": "1"}
    assert seen({"TERM": "screen", "LINES": "9"}, added) == {**OWN, "MORE": "1"}


def test_pipes_are_a_dumb_terminal():
    assert seen({}, pty=False)["TERM"] == "dumb"


@pytest.mark.parametrize(
    "name",
    [
        "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM", "TERMINFO",
        "VSCODE_IPC_HOOK_CLI", "VSCODE_INJECTION", "TMUX", "TMUX_PANE", "STY", "NVIM",
        "INSIDE_EMACS", "KITTY_WINDOW_ID", "SHLVL", "GPG_TTY", "AHPD_CONNECTION_TOKEN",
    ],
)  # fmt: skip
def test_what_the_host_was_started_in_is_not_said(name):
    assert seen({name: "x", "PATH": "/bin"}) == {**OWN, "PATH": "/bin"}


@pytest.mark.parametrize("name", ["TERMINFO_DIRS", "DISPLAY", "EDITOR", "LANG", "SSH_AUTH_SOCK"])
def test_what_a_person_set_up_is(name):
    assert seen({name: "x"}) == {**OWN, name: "x"}


def test_an_editors_helpers_go_with_what_they_need():
    host = {"GIT_ASKPASS": "/code/askpass.sh", "BROWSER": "/code/browser.sh"}
    assert seen(host) == {**OWN, **host}
    needed = {"VSCODE_GIT_ASKPASS_NODE": "/code/node", "VSCODE_IPC_HOOK_CLI": "/run/x.sock"}
    assert seen({**host, **needed}) == OWN


def test_what_a_caller_adds_stays_whatever_its_name():
    added = {"TERM_PROGRAM": "mine", "VSCODE_NONCE": "n", "PWD": "/elsewhere"}
    assert seen({"TERM_PROGRAM": "theirs"}, added) == {**OWN, **added}


NAMES = st.sampled_from(
    ["TERM", "COLUMNS", "LINES", "PWD", "TERM_PROGRAM", "VSCODE_X", "PATH", "BROWSER", "TMUX"]
)


@given(
    st.dictionaries(NAMES, st.text("ab")),
    st.dictionaries(NAMES, st.none() | st.text("ab")),
    st.integers(),
    st.integers(),
)
def test_the_callers_word_is_the_last_but_for_the_terminals_own(host, added, cols, rows):
    result = seen(host, added, cols, rows)
    assert result["TERM"] == "xterm-256color"
    assert 1 <= int(result["COLUMNS"]) <= 65535
    assert 1 <= int(result["LINES"]) <= 65535
    for name, value in added.items():
        if name not in ("TERM", "COLUMNS", "LINES"):
            assert result.get(name) == value


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_real_program_sees_nothing_of_the_hosts_own(reactor, start_in, tmp_path, pty):
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    host = {"AHPD_CONNECTION_TOKEN": "s3cret", "COPY": "s3cret", "VSCODE_PID": "1", "PATH": PATH}
    supervisor = ProcessSupervisor(reactor, host, secrets=["s3cret"])
    screen = start_in(supervisor, ["env"], cwd=str(link), env={"MORE": "1"}, pty=pty)
    await screen.end()
    await supervisor.stopService()
    lines = dict(line.split("=", 1) for line in screen.output.decode().splitlines())
    assert "s3cret" not in screen.output.decode()
    assert set(lines) == {*OWN, "MORE", "PATH", MARK_NAME}
    assert lines["PWD"] == str(link)


PATH = "/usr/local/bin:/usr/bin:/bin"
