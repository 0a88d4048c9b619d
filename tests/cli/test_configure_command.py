"""`ahpd configure`, at a terminal and without one."""

import json
import os
import pty
import select
import signal
import stat
import sys
import time
from pathlib import Path

import pytest
import yaml

from ahpd.testing.installed_engines import install_distribution

MODULE = "ahpd_fake_engines_of_configure"
SOURCE = (Path(__file__).parent.parent / "records" / "fake_engine.py").read_text()
#: An engine of the name `openai`, whatever else is installed on this machine.
OPENAI = f"""
from {MODULE} import FakeEngine


class OpenAI(FakeEngine):
    name = "openai"

    def schema(self):
        return {{
            "type": "object",
            "properties": {{
                "baseUrl": {{"type": "string"}},
                "apiKey": {{"type": "string", "writeOnly": True}},
                "apiKeyEnv": {{"type": "string"}},
            }},
            "additionalProperties": False,
        }}

    def templates(self):
        return ()
"""
KEY = "sk-typed-by-hand"
SECONDS = 30.0

#: Runs the command so that it sees the engines of one folder alone.
HIDING = """
import importlib.metadata as metadata, os, runpy, sys
folder = os.environ["ONLY_ENGINES_OF"]
real = metadata.entry_points
def entry_points(**given):
    found = real(**given)
    if given.get("group") != "ahpd.engines":
        return found
    return [p for p in found if os.path.dirname(str(p.dist._path)) == folder]
metadata.entry_points = entry_points
sys.argv[0] = "ahpd"
runpy.run_module("ahpd", run_name="__main__")
"""


class Terminal:
    """The command at a terminal: what it showed, and what it is told."""

    def __init__(self, command, *arguments):
        pid, self.fd = pty.fork()
        if pid == 0:
            os.chdir(command.work)
            os.execve(
                command.program[0],
                [*command.program, *arguments],
                {**command.environ, "TERM": "dumb"},
            )
        self.pid, self.shown, self._read = pid, "", 0
        self.pressing = False

    def expect(self, words):
        """Wait until it shows `words` behind what was waited for before."""
        until = time.monotonic() + SECONDS
        while words not in self.shown[self._read :]:
            if not self._more(until):
                pytest.fail(f"no {words!r} in {self.shown[self._read :]!r}")
        self._read = self.shown.index(words, self._read) + len(words)
        return self

    def say(self, *lines):
        os.write(self.fd, "".join(f"{line}\n" for line in lines).encode())
        return self

    def answer(self, *dialogue):
        for words, line in dialogue:
            self.expect(words).say(line)
        return self

    def interrupt(self):
        """Press Ctrl-C, and again each second: it may come between a prompt and the wait for an
        answer, where no program hears of it before the next key."""
        os.write(self.fd, b"\x03")
        self.pressing = True
        return self

    def end(self):
        """The exit status; all it showed is in `shown`."""
        until = time.monotonic() + SECONDS
        while self._more(until):
            pass
        _, status = os.waitpid(self.pid, 0)
        self.pid = None
        assert "Traceback" not in self.shown
        return os.waitstatus_to_exitcode(status)

    def _more(self, until):
        while not select.select([self.fd], [], [], 1.0)[0]:
            assert time.monotonic() < until, f"it says nothing more behind {self.shown!r}"
            if self.pressing:
                os.write(self.fd, b"\x03")
        try:
            data = os.read(self.fd, 4096)
        except OSError:  # the terminal's other end is closed
            data = b""
        self.shown += data.decode().replace("\r\n", "\n")
        return bool(data)

    def close(self):
        if self.pid is not None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


@pytest.fixture
def site(command, tmp_path):
    """The command, seeing the engines of one folder alone."""
    folder = tmp_path / "site"
    install_distribution(folder, "fake-dist", {"fake": f"{MODULE}:FakeEngine"}, {MODULE: SOURCE})
    root = str(Path(__file__).parent.parent.parent)
    paths = [str(folder), root, command.environ.get("PYTHONPATH")]
    command.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    command.environ["ONLY_ENGINES_OF"] = str(folder)
    command.program = (sys.executable, "-P", "-c", HIDING)
    command.site = folder
    command.file = command.config / "config.yaml"
    return command


@pytest.fixture
def at_terminal(site):
    made = []

    def start(*arguments):
        made.append(Terminal(site, "configure", *arguments))
        return made[-1]

    yield start
    for each in made:
        each.close()


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


# -- at a terminal --------------------------------------------------------------------


def test_a_first_configuration_is_asked_for_shown_and_written(site, at_terminal):
    install_distribution(
        site.site, "openai-dist", {"openai": "fake_openai_engine:OpenAI"},
        {"fake_openai_engine": OPENAI},
    )  # fmt: skip
    terminal = at_terminal()
    terminal.expect(f"This writes {site.file}.")
    terminal.answer(("Add Shell Agent (", "y"))
    terminal.expect("Not on this machine").expect("nowhere  npm i -g nowhere")
    terminal.expect("hosted  Needs no program.").expect("other ")
    terminal.answer(
        ("Add which", "hosted nothing-here"),
        ("nothing-here is none of hosted, other", "hosted other"),
        ("Base URL (nothing for none): ", "ftp://x"),
        ("such as http://127.0.0.1:11434/v1", "http://127.0.0.1:11434/v1?key=1"),
        ("with no ? or #", "http://127.0.0.1:11434/v1/"),
        ("Model: ", ""),
        ("such as qwen3", "qwen3"),
        ("Call the agent [local]: ", "shell"),
        ("there is an agent called shell already", ""),
        ("Key (none, variable, file) [none]: ", "file"),
        ("Key (not shown): ", KEY),
    )
    terminal.expect("More kinds of agents").expect("acp  pip install ahpd-agent-acp")
    terminal.answer(
        ("Folder sessions work in [where ahpd is started]: ", "nowhere"),
        ("is no folder with an absolute path", str(site.work)),
        ("Offer the demo agent too? [y/N]: ", "y"),
        ("Write it? [Y/n]: ", ""),
    )
    assert terminal.end() == 0
    assert KEY not in terminal.shown
    assert "        apiKey: <set>\n" in terminal.shown
    assert terminal.shown.endswith(f"wrote {site.file}\nnext: ahpd doctor, then ahpd start\n")
    assert yaml.safe_load(site.file.read_text()) == {
        "paths": [str(site.work)],
        "demo": True,
        "agents": [
            # The key that is empty in the template is left to the environment.
            {
                "id": "shell",
                "engine": "fake",
                "name": "Shell Agent",
                "config": {"command": "sh", "env": {"MODE": "quiet"}},
            },
            {"id": "hosted", "engine": "fake", "name": "Hosted"},
            {
                "id": "local",
                "engine": "openai",
                "name": "local",
                "model": "qwen3",
                "config": {"baseUrl": "http://127.0.0.1:11434/v1", "apiKey": KEY},
            },
        ],
    }
    assert (mode(site.file), mode(site.config)) == (0o600, 0o700)
    assert [path.name for path in site.config.iterdir()] == ["config.yaml"]
    assert site.run("doctor", "--port", "0", status=0).stdout.endswith("Nothing is wrong.\n")


MINE = """\
# mine
port: 0  # any
agents:
  # the first
  - id: one
    engine: fake
    config: {apiKey: sk-that-was-there-before}  # do not show

# what comes later
futureKey: 1
"""


def test_what_somebody_wrote_stays_and_is_kept_beside(site, at_terminal):
    site.write(MINE)
    site.file.chmod(0o644)
    terminal = at_terminal()
    terminal.expect("It already names one.")
    terminal.answer(
        ("Add Shell Agent (", "n"),
        ("Add which", "hosted"),
        ("Folder sessions work in", ""),
        ("Offer the demo agent too? [y/N]: ", ""),
    )
    terminal.expect("+  - id: hosted").answer(("Write it?", "y"))
    assert terminal.end() == 0
    assert "sk-that-was-there-before" not in terminal.shown
    assert "unknown key 'futureKey'" in terminal.shown
    added = "  - id: hosted\n    engine: fake\n    name: Hosted\n"
    assert site.file.read_text() == MINE.replace("\n# what", added + "\n# what", 1)
    backup = site.file.with_name("config.yaml.bak")
    assert backup.read_text() == MINE
    assert (mode(site.file), mode(backup)) == (0o600, 0o600)


@pytest.mark.parametrize("at", ["Add Shell Agent", "Add which", "Folder", "Offer the", "Write it?"])
def test_ctrl_c_changes_nothing_wherever_it_comes(site, at_terminal, at):
    site.write(MINE)
    terminal = at_terminal()
    dialogue = [
        ("Add Shell Agent", "y"),
        ("Add which", "none"),
        ("Folder", ""),
        ("Offer the", "n"),
        ("Write it?", "y"),
    ]
    for words, line in dialogue:
        terminal.expect(words)
        if words == at:
            terminal.interrupt()
            break
        terminal.say(line)
    assert terminal.end() == 130
    assert terminal.shown.endswith("\nnothing was changed\n")
    assert site.file.read_text() == MINE
    assert [path.name for path in site.config.iterdir()] == ["config.yaml"]


def test_an_answer_of_no_writes_nothing(site, at_terminal):
    terminal = at_terminal("--add", "hosted")
    terminal.expect("id: hosted").answer(("Write it? [Y/n]: ", "n"))
    assert terminal.end() == 1
    assert "nothing was written" in terminal.shown
    assert not site.file.exists()


def test_nothing_to_change_is_said(site, at_terminal):
    terminal = at_terminal()
    terminal.answer(
        ("Add Shell Agent", "maybe"),
        ("y for yes or n for no", "n"),
        ("Add which", "nowhere"),
        ("nowhere is not here; ahpd configure --add nowhere adds it all the same", ""),
        ("Folder", ""),
    )
    assert terminal.end() == 0
    assert "nothing to change" in terminal.shown
    assert not site.config.exists()


def test_an_endpoint_without_a_url_is_none(site, at_terminal):
    install_distribution(
        site.site, "openai-dist", {"openai": "fake_openai_engine:OpenAI"},
        {"fake_openai_engine": OPENAI},
    )  # fmt: skip
    terminal = at_terminal()
    terminal.answer(
        ("Add Shell Agent", "n"), ("Add which", "other"), ("Base URL", ""), ("Folder", "")
    )
    assert terminal.end() == 0
    assert "nothing to change" in terminal.shown


def test_folders_and_the_demo_are_set_where_they_stand(site, at_terminal):
    text = "paths: [~/work, /]  # two\nagents: [{id: a, engine: fake}]\ndemo: true\n"
    site.write(text)
    terminal = at_terminal()
    terminal.answer(
        ("Add Shell Agent", "n"),
        ("Add which", ""),
        (f"Folder sessions work in [{site.work}]: ", "/usr"),
        ("Offer the demo agent too? [Y/n]: ", "n"),
        ("Write it?", ""),
    )
    assert terminal.end() == 0
    assert site.file.read_text() == text.replace("[~/work, /]", '["/usr", "~/work", "/"]').replace(
        "demo: true", "demo: false"
    )


def test_a_file_that_moved_meanwhile_is_left_as_it_is(site, at_terminal):
    site.write(MINE)
    terminal = at_terminal("--add", "hosted").expect("Write it?")
    site.write("port: 1\n")
    terminal.say("y")
    assert terminal.end() == 1
    assert "was changed meanwhile; nothing was written" in terminal.shown
    assert site.file.read_text() == "port: 1\n"


# -- without one ----------------------------------------------------------------------


def test_without_a_terminal_it_says_what_to_do(site):
    for arguments in ((), ("--add", "hosted")):
        done = site.run("configure", *arguments, status=2)
        assert done.stderr == (
            "ahpd: there is no terminal to ask at; name what to add: ahpd configure --add ID --yes\n"
        )
    assert "name an agent" in site.run("configure", "--yes", status=2).stderr
    assert "takes no flags for the host" in site.run("--port", "1", "configure", status=2).stderr
    assert not site.config.exists()


def test_what_is_named_is_added_without_a_question(site):
    answer = site.answer(
        "configure", "--add", "shell", "--add", "hosted", "--add", "hosted", "--yes"
    )
    assert answer == {
        "written": True,
        "file": str(site.file),
        "backup": None,
        "added": ["shell", "hosted"],
    }
    answer = site.answer("configure", "--add", "nowhere", "--yes")
    assert answer["backup"] == f"{site.file}.bak"
    ids = [row["id"] for row in yaml.safe_load(site.file.read_text())["agents"]]
    assert ids == ["shell", "hosted", "nowhere"]


def test_a_program_that_is_not_here_is_said_and_its_agent_added(site):
    done = site.run("configure", "--add", "nowhere", "--yes", status=0)
    assert "no-such-program-at-all is not on PATH; to install it: npm i -g nowhere\n" in done.stderr
    assert site.file.exists()


def test_an_agent_that_is_there_or_unknown_is_refused(site):
    site.write("agents: [{id: shell, engine: demo}]\n")
    done = site.run("configure", "--add", "shell", "--yes", status=1)
    assert "there is an agent called shell already" in done.stderr
    done = site.run("configure", "--add", "codex", "--yes", status=1)
    assert done.stderr == (
        "ahpd: no installed engine knows an agent called codex; they know nowhere, hosted; more "
        "come with pip install ahpd-agent-acp or pip install ahpd-agent-openai\n"
    )


def test_json_stays_json_and_a_link_stays_a_link(site):
    real = site.home / "dotfiles" / "ahpd.json"
    real.parent.mkdir()
    real.write_text('{"port": 1}')
    site.config.mkdir(parents=True)
    link = site.config / "config.json"
    link.symlink_to(real)
    site.run("configure", "--add", "hosted", "--yes", status=0)
    assert link.is_symlink()
    assert [row["id"] for row in json.loads(real.read_text())["agents"]] == ["hosted"]
    assert (real.parent / "ahpd.json.bak").read_text() == '{"port": 1}'


def test_a_file_that_is_wrong_is_not_written_over(site):
    site.write("port: many\n")
    assert "port: found" in site.run("configure", "--add", "hosted", "--yes", status=2).stderr
    site.write("{port: 1}\n")
    done = site.run("configure", "--add", "hosted", "--yes", status=2)
    by_hand = done.stderr.split("add this by hand:\n")[1]
    assert yaml.safe_load(by_hand)["agents"][0]["id"] == "hosted"
    assert site.file.read_text() == "{port: 1}\n"


def test_a_file_that_its_owner_keeps_from_writing_is_left_as_it_is(site):
    site.write("port: 1\n")
    site.file.chmod(0o400)
    done = site.run("configure", "--add", "hosted", "--yes", status=1)
    assert done.stderr.endswith(f"ahpd: {site.file} is marked read-only; nothing was written\n")
    assert site.file.read_text() == "port: 1\n"
    assert [path.name for path in site.config.iterdir()] == ["config.yaml"]


def test_the_engines_defaults_count_when_a_record_is_checked(site):
    site.write("engines: {fake: {level: loud}}\n")
    done = site.run("configure", "--add", "hosted", "--yes", status=1)
    assert done.stderr == (
        "ahpd: the agent hosted would not open: config.level must be one of low, high\n"
    )
