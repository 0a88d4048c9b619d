"""`ahpd sessions export` and `import`, as a person runs them."""

import json
import os
import stat
import subprocess

import pytest

from ahpd.interfaces.stores import PutSession
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, everything


@pytest.fixture
def data(command):
    return command.home / ".local" / "share" / "ahpd"


def make(folder, *names):
    store = SqliteSessionStore(folder)
    store.open()
    for number, name in enumerate(names):
        store.apply([PutSession(row=a_row(name, number)), a_chat(name, f"chat:/{name}")])
        store.append([(f"chat:/{name}", b'{"type":"x"}')])
        place = folder / "attachments" / name / "1"
        place.mkdir(parents=True)
        (place / "note.txt").write_text(f"for {name}")
    held = everything(store)
    store.close()
    return held


def held(folder):
    store = SqliteSessionStore(folder)
    store.open()
    found = everything(store)
    store.close()
    return found


def test_sessions_go_out_of_one_host_and_into_another(command, data):
    expected = make(data, "a", "b")
    done = command.run("sessions", "export", "out.jsonl", status=0)
    assert (done.stdout, done.stderr) == ("", "exported 2 sessions\n")
    out = command.work / "out.jsonl"
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    assert json.loads(out.read_text().splitlines()[0])["record"] == "header"
    done = command.run("sessions", "import", "out.jsonl", "--data-directory", "other", status=0)
    assert (done.stdout, done.stderr) == ("", "imported 2 sessions\n")
    other = command.work / "other"
    assert [row.id for row, _ in held(other)] == [row.id for row, _ in expected]
    assert [channels for _, channels in held(other)] == [channels for _, channels in expected]
    assert (other / "attachments" / "b" / "1" / "note.txt").read_text() == "for b"
    assert {path.name for path in command.work.iterdir()} == {"out.jsonl", "other"}


def test_standard_output_and_input(command, data):
    make(data, "a", "b")
    out = command.run("sessions", "export", status=0)
    assert out.stderr == "exported 2 sessions\n"
    assert command.run("sessions", "export", "-", status=0).stdout == out.stdout
    done = subprocess.run(
        [*command.program, "--data-directory", "other", "sessions", "import", "-"],
        env=command.environ,
        cwd=command.work,
        input=out.stdout,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "imported 2 sessions\n")
    assert [row.id for row, _ in held(command.work / "other")] == ["a", "b"]


def test_sessions_that_are_named(command, data):
    make(data, "a", "b", "c")
    done = command.run(
        "sessions", "export", "out", "--session", "c", "--session", "ahp-session:/a", status=0
    )
    assert done.stderr == "exported 2 sessions\n"
    command.run("sessions", "import", "out", "--data-directory", "other", status=0)
    assert [row.id for row, _ in held(command.work / "other")] == ["a", "c"]
    done = command.run("sessions", "export", "out", "--session", "nobody", status=1)
    assert done.stderr == "ahpd: there is no session nobody\n"


def test_the_data_directory_of_the_configuration_is_meant(command):
    make(command.work / "kept", "a")
    command.write(f"dataDirectory: {command.work / 'kept'}\n")
    assert command.run("sessions", "export", "x", status=0).stderr == "exported 1 session\n"
    command.write("sessions: memory\n")
    for arguments in (("export", "x"), ("import", "x")):
        done = command.run("sessions", *arguments, status=1)
        assert "config.yaml: sessions: sessions are kept in memory" in done.stderr


def test_where_there_is_nothing_to_export_nothing_is_made(command, data):
    done = command.run("sessions", "export", "out", status=1)
    assert done.stderr == f"ahpd: {data}/sessions.sqlite: there are no sessions to export\n"
    assert not data.exists()
    assert list(command.work.iterdir()) == []


def test_a_host_that_runs_is_named(command, data):
    make(data, "a")
    command.run("sessions", "export", "out", status=0)
    store = SqliteSessionStore(data)
    store.open()
    for arguments in (("export", "other"), ("import", "out")):
        done = command.run("sessions", *arguments, status=1)
        assert f"in use by another ahpd (process {os.getpid()}); stop it" in done.stderr
        assert done.stderr.count("\n") == 1
    store.close()
    assert not (command.work / "other").exists()


def test_what_is_there_already(command, data):
    expected = make(data, "a")
    command.run("sessions", "export", "out", status=0)
    done = command.run("sessions", "import", "out", status=1)
    assert done.stderr.startswith("ahpd: out: line 2: the session a is held already")
    done = command.run("sessions", "import", "out", "--skip-existing", status=0)
    assert done.stderr == "imported 0 sessions, left 1 as they were\n"
    assert held(data) == expected


def test_programs_are_answered_in_json(command, data):
    make(data, "a", "b")
    done = command.run("sessions", "export", "out", "--json", status=0)
    assert json.loads(done.stdout) == {"exported": 2}
    plain = command.run("sessions", "export", "--json", status=0).stdout
    assert plain == (command.work / "out").read_text()
    done = command.run("--json", "sessions", "import", "out", "--skip-existing", status=0)
    assert json.loads(done.stdout) == {"imported": 0, "skipped": 2}
    done = command.run("sessions", "import", "out", "--json", status=1)
    assert "out: line 2: the session a" in json.loads(done.stdout)["error"]


def test_what_is_no_export_is_refused_by_its_line(command, data):
    (command.work / "bad").write_text('{"record":"header"}\n')
    done = command.run("sessions", "import", "bad", status=1)
    assert done.stderr == "ahpd: bad: line 1: it is no header of an export of sessions\n"
    assert held(data) == []
    done = command.run("sessions", "import", "gone", status=1)
    assert done.stderr == "ahpd: gone: No such file or directory\n"


def test_an_export_that_fails_leaves_the_file_that_was_there(command, data):
    make(data, "a")
    store = SqliteSessionStore(data)
    store.open()
    store.apply([a_chat("a", "chat:/bad", head=b"no json")])
    store.close()
    out = command.work / "out"
    out.write_text("the last one")
    done = command.run("sessions", "export", "out", status=1)
    assert "the head of chat:/bad is no JSON" in done.stderr
    assert out.read_text() == "the last one"
    assert list(command.work.iterdir()) == [out]
    done = command.run("sessions", "export", "no/such/place", status=1)
    assert done.stderr == "ahpd: no/such/place: No such file or directory\n"


def test_progress_is_said_of_many(command, data):
    make(data, *(f"s{number}" for number in range(230)))
    done = command.run("sessions", "export", "out", status=0)
    assert done.stderr.splitlines() == [
        "exported 100 of 230 ...",
        "exported 200 of 230 ...",
        "exported 230 sessions",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Missing command"),
        (("import",), "Missing argument 'FILE'"),
        (("remove",), "remove"),
        (("export", "--port", "1"), "--port"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(command, arguments, words):
    done = command.run("sessions", *arguments, status=2)
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_is_one_of_the_commands(command):
    assert "\n  sessions " in command.run("--help", status=0).stdout
    assert "export" in command.run("sessions", "--help", status=0).stdout
