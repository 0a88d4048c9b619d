"""The programs tests drive are installed ahead of them, where that can be done."""

import os
from types import SimpleNamespace

import pytest

from . import programs


@pytest.fixture
def machine(monkeypatch):
    """A machine of its own: what is on its PATH, what was run there, and how each ended."""

    here = SimpleNamespace(has={"apt-get", "bash", "sh"}, ran=[], fails=[])

    def run(command):
        here.ran.append(" ".join(command))
        if any(words in here.ran[-1] for words in here.fails):
            here.fails = [words for words in here.fails if words not in here.ran[-1]]
            return False
        if "install" in command:
            here.has |= {"zsh", "fish", "vim", "less"}
        return True

    monkeypatch.setattr(programs, "run", run)
    monkeypatch.setattr(
        programs.shutil, "which", lambda name: f"/usr/bin/{name}" if name in here.has else None
    )
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return here


def test_nothing_is_done_where_nothing_is_missing(machine, capsys):
    machine.has |= set(programs.PACKAGES)
    programs.main()
    assert machine.ran == []
    assert capsys.readouterr() == ("", "")


def test_what_is_missing_is_installed_and_nothing_else(machine, capsys):
    programs.main()
    (command,) = machine.ran
    assert command.endswith("install --no-install-recommends fish less vim zsh")
    assert "DEBIAN_FRONTEND=noninteractive" in command
    assert capsys.readouterr().err == ""


def test_a_list_that_is_old_is_fetched_and_it_is_tried_again(machine):
    machine.fails = ["install"]
    programs.main()
    assert [command.split()[6] for command in machine.ran] == ["install", "update", "install"]


def test_what_stays_missing_is_named_once(machine, capsys):
    machine.fails = ["install", "update"]
    programs.main()
    err = capsys.readouterr().err
    assert [line.partition(" ")[0] for line in err.splitlines()] == ["zsh", "fish", "vim", "less"]
    assert "skipped" in err


def test_without_apt_get_it_says_what_is_skipped(machine, capsys):
    machine.has.remove("apt-get")
    programs.main()
    assert machine.ran == []
    assert "fish is not installed" in capsys.readouterr().err


def test_another_user_installs_with_sudo_where_it_asks_for_no_password(
    machine, monkeypatch, capsys
):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    programs.main()
    assert machine.ran == []
    machine.has.add("sudo")
    machine.fails = ["sudo -n true"]
    programs.main()
    assert machine.ran == ["/usr/bin/sudo -n true"]
    programs.main()
    assert machine.ran[-1].startswith("/usr/bin/sudo -n env DEBIAN_FRONTEND")


def test_a_command_that_cannot_be_run_or_fails_is_a_failure(capsys):
    assert programs.run(["true"])
    assert not programs.run(["sh", "-c", "echo the reason; exit 3"])
    assert "the reason" in capsys.readouterr().err
    assert not programs.run(["/no/such/program"])
    assert "/no/such/program" in capsys.readouterr().err
