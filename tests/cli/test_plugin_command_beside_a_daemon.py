"""`ahpd plugin` where a daemon runs: it is asked over AHP, and the file is the daemon's to write."""

import json
import os
import stat
import sys
from pathlib import Path

import pytest

from ahpd.daemon import record
from ahpd.daemon.process import start_mark
from ahpd.daemon.record import Launch, Record

TOKEN = "a-token-of-the-daemons-own"
HOST = Path(__file__).with_name("answering_host.py")


class Daemon:
    """A process that answers, and its record in the state directory of a command."""

    def __init__(self, command, folder):
        self.command = command
        self.notes, self.answers = folder / "notes", folder / "answers"
        self.process = None

    def answer(self, **answers):
        """Run, with these results (or errors) by the last part of a method."""
        said = {f"x-ahpd/plugins/{name}": answer for name, answer in answers.items()}
        self.answers.write_text(json.dumps(said))
        arguments = [sys.executable, HOST, self.notes, self.answers, TOKEN]
        self.process = self.command.serve(program=arguments)
        url, pid = self.process.line(), self.process.popen.pid
        self.command.config.mkdir(parents=True, exist_ok=True)
        token = self.command.config / "token"
        token.write_text(TOKEN)
        token.chmod(0o600)
        self.command.state.mkdir(parents=True)
        record.write(
            self.command.state,
            Record(
                pid=pid, start_time=start_mark(pid), started="now", url=url, version="1", log="",
                launch=Launch(flags={}, config_file=None, directory=str(self.command.work)),
            ),
        )  # fmt: skip

    @property
    def asked(self):
        return [tuple(json.loads(line)) for line in self.notes.read_text().splitlines()]


@pytest.fixture
def daemon(command, tmp_path):
    made = Daemon(command, tmp_path)
    yield made
    (command.state / "daemon.json").unlink(missing_ok=True)


def on_root(**params):
    return {"channel": "ahp-root://", **params}


@pytest.mark.parametrize(
    ("arguments", "method", "params", "words"),
    [
        (("install", "acme>=1"), "install", {"source": "acme>=1"}, "installed it\n"),
        (("remove", "it"), "remove", {"id": "it", "keep": False}, "removed it\n"),
        (("remove", "it", "--keep"), "remove", {"id": "it", "keep": True}, "removed it\n"),
        (("update", "it"), "update", {"id": "it"}, "it is the newest it can be\n"),
        (("enable", "it"), "enable", {"id": "it"}, "enabled it\n"),
        (("disable", "it"), "disable", {"id": "it"}, "disabled it\n"),
        (("apply",), "apply", {}, "applied\n"),
        (("reload", "it"), "reload", {"id": "it"}, "reloaded it\n"),
    ],
)
def test_the_daemon_does_the_work(command, daemon, arguments, method, params, words):
    daemon.answer(**{method: {"result": {"id": "it"}}})
    before = command.write("plugins: [./it]\n").read_text()
    said = command.run("plugin", *arguments, status=0)
    assert (said.stdout, said.stderr) == (words, "")
    asked = [one for one in daemon.asked if one[0] != "subscribe"]
    assert asked == [(f"x-ahpd/plugins/{method}", on_root(**params))]
    assert (command.config / "config.yaml").read_text() == before
    assert not (command.config / "plugin-root").exists()


def test_each_plugin_of_what_was_installed_is_said(command, daemon):
    daemon.answer(install={"result": {"id": "one", "ids": ["one", "two"]}})
    said = command.run("plugin", "install", "acme-pair", status=0)
    assert said.stdout == "installed one and two\n"


def test_a_relative_path_is_meant_from_where_the_command_runs(command, daemon):
    daemon.answer(install={"result": {"id": "it"}})
    (command.work / "it").mkdir()
    (command.work / "it" / "pyproject.toml").write_text("")
    command.run("plugin", "install", "./it", status=0)
    assert daemon.asked == [
        ("x-ahpd/plugins/install", on_root(source=str(command.work / "it"))),
    ]


def test_options_are_sent_as_what_was_typed_means(command, daemon):
    daemon.answer(options={"result": {"id": "it"}})
    command.write("plugins: [./it]\n")
    command.run("plugin", "config", "./it", "retries", "3", status=0)
    command.run("plugin", "config", "./it", "model", "fast", status=0)
    command.run("plugin", "config", "./it", "model", "--unset", status=0)
    assert [params for _, params in daemon.asked] == [
        on_root(id="./it", key="retries", value=3),
        on_root(id="./it", key="model", value="fast"),
        on_root(id="./it", key="model"),
    ]


def test_a_restart_that_is_needed_and_what_went_wrong_are_said(command, daemon):
    answer = {"id": "it", "restart": True, "problems": ["plugin it skipped: no"]}
    daemon.answer(enable={"result": answer})
    said = command.run("plugin", "enable", "it", status=1)
    assert said.stderr == (
        "ahpd: plugin it skipped: no\nit waits for the daemon's next start: ahpd restart\n"
    )
    assert command.answer("plugin", "enable", "it", status=1) == answer


def test_what_of_a_plugin_was_left_out_is_said_and_is_no_failure(command, daemon):
    daemon.answer(reload={"result": {"id": "it", "leftOut": ["plugin it: the tool x is left out"]}})
    said = command.run("plugin", "reload", "it", status=0)
    assert said.stdout == "reloaded it\n"
    assert said.stderr == "ahpd: warning: plugin it: the tool x is left out\n"


def test_apply_says_who_waits_for_the_next_start(command, daemon):
    daemon.answer(apply={"result": {"restart": True, "waiting": ["one", "two"]}})
    said = command.run("plugin", "apply", status=0)
    assert said.stderr == "one, two waits for the daemon's next start: ahpd restart\n"


def test_a_name_that_is_nowhere_is_refused_and_a_package_needs_a_restart(command, daemon):
    daemon.answer(reload={"result": {"id": "helpers", "restart": True}})
    said = command.run("plugin", "reload", "helpers", status=2)
    assert (said.stdout, said.stderr) == ("", "ahpd: there is no plugin helpers\n")
    said = command.run("plugin", "reload", "attrs", status=0)
    assert said.stdout.startswith("attrs is no plugin of the list: ")
    assert said.stdout.endswith("ahpd restart\n")


def test_a_plugin_that_the_daemon_could_not_load_is_said_with_status_1(command, daemon):
    answer = {"id": "it", "problems": ["plugin it skipped: no"]}
    daemon.answer(install={"result": answer}, options={"result": answer})
    (command.work / "it").mkdir()
    (command.work / "it" / "plugin.yaml").write_text("id: it\nmain: it.py\n")
    (command.work / "it" / "it.py").write_text("")
    command.write("plugins: [./it]\n")
    for arguments in (("install", "it"), ("config", "it", "key", "3")):
        said = command.run("plugin", *arguments, status=1)
        assert said.stderr == "ahpd: plugin it skipped: no\n"


def test_what_is_not_uninstalled_is_said(command, daemon):
    words = "acme stays installed: it is in the environment of ahpd"
    daemon.answer(remove={"result": {"id": "it", "kept": words}})
    assert command.run("plugin", "remove", "it", status=0).stderr == f"{words}\n"


def test_where_in_a_request_something_is_wrong_is_not_said(command, daemon):
    words = {"code": -32602, "message": "params.id: there is no plugin it"}
    daemon.answer(disable={"error": words})
    assert (
        command.run("plugin", "disable", "it", status=2).stderr == "ahpd: there is no plugin it\n"
    )


def test_a_move_is_said_with_its_versions(command, daemon):
    daemon.answer(update={"result": {"id": "it", "from": "1.0", "to": "1.1"}})
    said = command.run("plugin", "update", "it", "it", status=0)
    assert said.stdout == "it moved from 1.0 to 1.1\n" * 2
    assert len(daemon.asked) == 2


def test_new_code_under_the_same_version_is_said_and_whether_it_could_be_loaded(command, daemon):
    answer = {"id": "it", "from": "1.0", "to": "1.0", "problems": ["plugin it skipped: no"]}
    daemon.answer(update={"result": answer})
    said = command.run("plugin", "update", "it", status=1)
    assert said.stdout == "it 1.0 is installed anew, with other code\n"
    assert said.stderr == "ahpd: plugin it skipped: no\n"


def test_an_update_that_is_refused_is_a_line_beside_those_of_the_others(command, daemon):
    daemon.answer(update={"error": {"code": -32603, "message": "the folder is gone"}})
    said = command.run("plugin", "update", "one", "two", status=1)
    assert said.stdout == (
        "one is not updated: the folder is gone\ntwo is not updated: the folder is gone\n"
    )
    assert command.answer("plugin", "update", "one", "two", status=1) == [
        {"id": "one", "error": "the folder is gone"},
        {"id": "two", "error": "the folder is gone"},
    ]


@pytest.mark.parametrize(("code", "status"), [(-32602, 2), (-32603, 1), (-32601, 1)])
def test_a_refusal_is_the_daemons_own_words(command, daemon, code, status):
    daemon.answer(reload={"error": {"code": code, "message": "there is no plugin it"}})
    said = command.run("plugin", "reload", "it", status=status)
    assert said.stderr == "ahpd: there is no plugin it\n"


def test_a_daemon_that_does_not_answer_is_named(command, daemon):
    daemon.answer()
    held = record.read(command.state)
    record.write(
        command.state,
        Record(
            pid=os.getpid(), start_time=start_mark(os.getpid()), started="", version="", log="",
            url="ws://127.0.0.1:1", launch=held.launch,
        ),
    )  # fmt: skip
    said = command.run("plugin", "apply", status=1)
    assert said.stderr.startswith(
        f"ahpd: the daemon (pid {os.getpid()}, ws://127.0.0.1:1) cannot be asked: "
    )
    assert TOKEN not in said.stderr


def test_a_daemon_of_another_configuration_file_is_not_asked(command, daemon):
    daemon.answer(disable={"result": {"id": "notes"}})
    folder = command.work / "notes"
    folder.mkdir()
    (folder / "plugin.yaml").write_text("id: notes\nmain: ./main.py\n")
    (folder / "main.py").write_text("")
    other = command.work / "other.yaml"
    other.write_text("plugins:\n  - ./notes\n")
    other.chmod(0o600)
    command.run("plugin", "disable", "notes", "--config-file", "other.yaml", status=0)
    assert other.read_text() == "plugins:\n  - source: ./notes\n    enabled: false\n"
    assert not daemon.notes.exists()
    assert stat.S_IMODE(other.stat().st_mode) == 0o600
