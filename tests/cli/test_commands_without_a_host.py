"""The commands that only look, and what is said of a wrong command line."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ahpd

LIGHT = [("--version",), ("status",), ("stop",), ("config",), ("completion", "bash"), ("--help",)]


def test_the_version(command):
    assert command.run("--version", status=0).stdout == f"ahpd {ahpd.__version__}\n"
    assert command.answer("--version") == {"version": ahpd.__version__}


@pytest.mark.parametrize("arguments", LIGHT, ids=" ".join)
def test_what_only_looks_does_not_import_twisted(command, arguments):
    done = command.run(*arguments, program=(sys.executable, "-X", "importtime", "-P", "-m", "ahpd"))
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "ahpd.cli.main" in imported
    assert not [name for name in imported if name.split(".")[0] in ("twisted", "autobahn")]


def test_help_names_every_command_and_the_exit_statuses(command):
    text = command.run("--help", status=0).stdout
    assert command.run("-h", status=0).stdout == text
    for name in (
        "start", "stop", "restart", "status", "config", "completion", "sessions", "demo",
    ):  # fmt: skip
        assert f"\n  {name} " in text
    assert "exit status" in text
    assert "..." not in text.partition("Commands:")[2]


def test_without_a_daemon_status_says_so(command):
    done = command.run("status", status=1)
    assert done.stdout == "no daemon is running\n"
    assert command.answer("status", status=1) == {"running": False}


@pytest.mark.parametrize("name", ["stop", "restart"])
def test_without_a_daemon_there_is_none_to_stop(command, name):
    done = command.run(name, status=1)
    assert (done.stdout, done.stderr) == ("", "ahpd: no daemon is running\n")
    assert command.answer(name, status=1) == {"error": "no daemon is running"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--prot", "1"), "--port"),
        (("nonsense",), "nonsense"),
        (("status", "--port", "1"), "--port"),
        (("--port", "1", "status"), "status takes no flags for the host"),
        (("completion", "tcsh"), "tcsh"),
        (("--port",), "--port"),
        (("--port", "x"), '--port: found "x", allowed: a whole number from 0 to 65535'),
        (("start", "--paths", "/no/such"), '--paths: found "/no/such"'),
        (("--config-file", "gone.yaml"), "gone.yaml: found no such file"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(command, arguments, words):
    done = command.run(*arguments, status=2)
    assert done.stdout == ""
    assert done.stderr.startswith("ahpd: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert words in command.answer(*arguments, status=2)["error"]


def test_json_is_taken_before_the_commands_name_too(command):
    done = command.run("--json", "status", status=1)
    assert json.loads(done.stdout) == {"running": False}


# -- config -----------------------------------------------------------------------


def test_config_says_where_the_file_is_and_who_said_what(command):
    path = command.write("port: 1234\ndeltaWindowMs: 5\nprot: 1\n")
    shown = command.answer("config", "--port", "4321")
    assert shown["file"] == str(path)
    assert shown["found"] is True
    assert shown["stateDirectory"] == str(command.state)
    assert shown["values"]["port"] == {"value": 4321, "source": "flag"}
    assert shown["values"]["deltaWindowMs"] == {"value": 5, "source": "file"}
    assert shown["values"]["host"] == {"value": "127.0.0.1", "source": "default"}
    assert shown["values"]["paths"] == {"value": [str(command.work)], "source": "default"}
    (warning,) = shown["warnings"]
    assert "did you mean 'port'?" in warning
    text = command.run("config", "--port", "4321", status=0).stdout
    assert f"configuration  {path}\n" in text
    assert "4321  [flag]" in text
    assert "5  [file]" in text


def test_config_hides_the_secret_and_makes_nothing(command):
    command.write("connectionToken: very-secret\n")
    for done in (command.run("config", status=0), command.run("config", "--json", status=0)):
        assert "very-secret" not in done.stdout + done.stderr
        assert "<set>" in done.stdout
    command.write("")
    shown = command.answer("config")["values"]
    assert shown["connectionToken"]["value"] is None
    assert shown["connectionTokenFile"]["value"] == str(command.config / "token")
    assert not (command.config / "token").exists()
    assert not command.state.exists()


def test_config_says_what_is_wrong(command):
    path = command.write("port: x\n")
    words = f'{path}:1: port: found "x", allowed: a whole number from 0 to 65535'
    assert command.run("config", status=2).stderr == f"ahpd: {words}\n"
    assert command.answer("config", status=2) == {"error": words}


# -- completion -------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_completion_script_is_one_its_shell_reads(command, shell):
    script = command.run("completion", shell, status=0).stdout
    assert "_AHPD_COMPLETE" in script
    assert command.answer("completion", shell)["script"] + "\n" == script
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not on this machine")
    subprocess.run([found, "-n"], input=script, text=True, check=True)


def test_the_script_is_answered_with_commands_and_flags(command):
    def complete(words, index):
        return command.run(
            _AHPD_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(index)
        ).stdout.split()

    assert "plain,restart" in complete("ahpd re", 1)
    assert "plain,demo" in complete("ahpd d", 1)
    assert {"plain,--port", "plain,--paths", "plain,--path"} <= set(complete("ahpd start --p", 2))
    assert complete("ahpd completion z", 2) == ["plain,zsh"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux's")
@pytest.mark.parametrize(
    "arguments",
    [("status",), ("status", "--json"), ("--json", "--port", "x"), ("config",), ("demo", "--once")],
    ids=" ".join,
)
def test_an_answer_that_cannot_be_written_is_one_line(command, arguments):
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*command.program, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=command.environ,
            cwd=command.work,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode in (1, 2)
    (line,) = done.stderr.splitlines()
    assert line.startswith("ahpd: ")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere it cannot be removed")
@pytest.mark.parametrize("program", [("-m", "ahpd"), ("-m", "twisted", "ahpd")], ids=" ".join)
def test_a_working_directory_that_is_gone_is_one_line(command, tmp_path, program):
    gone = tmp_path / "gone"
    gone.mkdir()
    # The interpreter is started there and the directory taken away under it.
    script = (
        "import os, runpy, sys; os.rmdir(os.getcwd());"
        "sys.argv = sys.argv[1:]; runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", script, *program[1:], "--port", "0"],
        capture_output=True,
        env=command.environ,
        cwd=gone,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith(
        "ahpd: the directory this was started in cannot be used: "
    )


def test_where_the_directory_is_gone_the_daemon_is_found_all_the_same(command, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    script = "import os; os.rmdir(os.getcwd()); from ahpd.cli.main import main; main(['status'])"
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        capture_output=True,
        env=command.environ,
        cwd=gone,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("no daemon is running\n", "")


def test_what_is_missing_is_said_on_one_line(command):
    (line,) = command.run("completion", status=2).stderr.splitlines()
    assert "bash, zsh, fish" in line
