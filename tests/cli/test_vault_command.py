"""`ahpd vault`: secrets go in by standard input or a prompt, and never come out."""

import json
import os
import pty
import select
import stat
import subprocess
import time

import pytest


def put(command, value, *arguments):
    """`ahpd vault set` with `value` on its standard input."""
    done = subprocess.run(
        [*command.program, "vault", "set", *arguments],
        env=command.environ, cwd=command.work, input=value, capture_output=True, check=False,
        timeout=60,
    )  # fmt: skip
    assert b"Traceback" not in done.stdout + done.stderr
    return done


def held(command):
    return json.loads((command.config / "vault.json").read_text())


def test_a_secret_is_kept_listed_and_forgotten(command):
    assert command.run("vault", "list", status=0).stdout == "the vault is empty\n"
    assert (
        put(command, b"planted-secret-0123456789\n", "host:stripe").stdout == b"kept host:stripe\n"
    )
    assert put(command, "été\r\n".encode(), "team:a/b", "--json").stdout == (
        b'{"name": "team:a/b"}\n'
    )
    assert held(command) == {"host:stripe": "planted-secret-0123456789", "team:a/b": "été"}
    assert stat.S_IMODE((command.config / "vault.json").stat().st_mode) == 0o600
    assert command.answer("vault", "list") == ["host:stripe", "team:a/b"]
    assert command.run("vault", "list", status=0).stdout == "host:stripe\nteam:a/b\n"
    assert command.run("vault", "delete", "host:stripe", status=0).stdout == "forgot host:stripe\n"
    assert held(command) == {"team:a/b": "été"}
    assert command.run("vault", "delete", "host:stripe", status=1).stderr == (
        "ahpd: the vault holds no host:stripe\n"
    )


def test_lines_within_a_secret_stay(command):
    put(command, b"-----BEGIN\nabc\n-----END\n\n", "host:key")
    assert held(command) == {"host:key": "-----BEGIN\nabc\n-----END\n"}


@pytest.mark.parametrize(
    "name", ["stripe", "host:", "team:x", "user:/x", "", "planted-secret-012345678901"]
)
def test_a_name_that_is_none_is_refused_with_the_forms_and_not_repeated(command, name):
    done = put(command, b"x", name)
    assert done.returncode == 2
    assert b"host:<name>, team:<team>/<name> or user:<id>/<name>" in done.stderr
    assert not name.startswith("sk-") or name.encode() not in done.stderr
    assert not (command.config / "vault.json").exists()
    assert command.run("vault", "delete", name, status=2).stdout == ""


@pytest.mark.parametrize(
    ("value", "words"), [(b"", "is empty"), (b"\n", "is empty"), (b"\xff", "no UTF-8")]
)
def test_what_cannot_be_a_secret_is_refused(command, value, words):
    done = put(command, value, "host:x")
    assert done.returncode == 2
    assert words in done.stderr.decode()


def test_no_value_is_taken_from_the_command_line(command):
    done = command.run("vault", "set", "host:x", "planted-secret-hunter2", status=2)
    assert "planted-secret-hunter2" not in done.stdout
    assert not (command.config / "vault.json").exists()


def test_a_file_that_others_can_read_is_refused(command):
    put(command, b"x", "host:x")
    (command.config / "vault.json").chmod(0o644)
    assert "vault.json" in command.run("vault", "list", status=1).stderr


def test_at_a_terminal_the_value_is_asked_for_and_not_shown(command):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*command.program, "vault", "set", "host:typed"],
        env=command.environ, cwd=command.work, stdin=theirs, stdout=theirs, stderr=theirs,
        start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    seen, sent, until = b"", False, time.monotonic() + 30
    while time.monotonic() < until:
        if select.select([ours], [], [], 0.1)[0]:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        if not sent and b"Value of host:typed:" in seen:
            os.write(ours, b"typed-secret\n")
            sent = True
    process.wait(30)
    os.close(ours)
    assert process.returncode == 0
    assert b"typed-secret" not in seen
    assert held(command) == {"host:typed": "typed-secret"}
