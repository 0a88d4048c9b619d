"""Somebody sits in a real shell of a real daemon, over its socket, as a client does.

The daemon's home is that person's. It holds what they set up for their shell and nothing else.
"""

import re
import shutil
from pathlib import Path

import attrs
import pytest

from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd.testing.processes import fields_of

from .terminal_kit import opens, text_of

#: The shells that mark their commands, and all of them.
MARKED = ("bash", "zsh", "fish")
SHELLS = (*MARKED, "sh")

#: What is drawn where somebody may type. No line that is typed here has it in it.
PROMPT = "go> "

#: Where each looks for what a person set up, from their home. `sh` is told where.
FILES = {
    "bash": ".bashrc",
    "zsh": ".zshrc",
    "fish": "config/fish/config.fish",
    "sh": ".shrc",
}
PLAIN = {
    "bash": f"PS1='{PROMPT}'\n",
    "zsh": f"PS1='{PROMPT}'\n",
    "fish": "set -g fish_greeting\n",
    "sh": f"PS1='{PROMPT}'\n",
}

#: What is not drawn: moves, colours, titles, charsets.
_UNDRAWN = re.compile(
    r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[()][A-Z0-9]|[=>])|\r"
)


def program(name):
    """The path of a program on this machine; skips the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


def drawn(text):
    """The words of an output, without what is not drawn."""
    return _UNDRAWN.sub("", text)


@attrs.frozen
class Command:
    """A command that is over, as its actions said it; `fields` are those of its end."""

    line: str
    output: str
    code: int | None
    fields: dict

    @property
    def words(self):
        """What it printed, without what is not drawn."""
        return drawn(self.output)


class Sitting:
    """A client in one terminal, which it watches.

    `actions` are all that were said on its channel since, `mark` how many of them the test is
    through with.
    """

    def __init__(self, daemon, client, shell):
        self.daemon = daemon
        self.client = client
        self.shell = shell
        self.uri = None
        self.actions = []
        self.mark = 0
        client.on_action(self._said)

    async def open(self, **params):
        """Open the terminal, which is wide enough for the lines that are typed here."""
        self.uri = await opens(self.client, **{"cols": 200, "rows": 24, **params})
        # What was printed before it was watched is in the snapshot.
        shown = text_of(self.client, self.uri)
        self.actions[:0] = [{"type": "terminal/data", "data": shown}] if shown else []
        return self

    def _said(self, envelope):
        if envelope.channel == self.uri and envelope.rejection is None:
            self.actions.append(envelope.action)

    # -- what is there ----------------------------------------------------------------

    @property
    def state(self):
        return self.client.plain_state(self.uri)

    def new(self, kind=None):
        """The actions since `mark`, or those of one kind."""
        new = self.actions[self.mark :]
        return new if kind is None else [each for each in new if each["type"] == f"terminal/{kind}"]

    def kinds(self):
        """What was said since `mark`, but for data and input."""
        kinds = [each["type"].removeprefix("terminal/") for each in self.new()]
        return [kind for kind in kinds if kind not in ("data", "input")]

    def text(self):
        """What was printed since `mark`."""
        return "".join(each["data"] for each in self.new("data"))

    def all_text(self):
        """All that was printed."""
        return "".join(each["data"] for each in self.actions if each["type"] == "terminal/data")

    # -- waiting ------------------------------------------------------------------------

    async def until(self, done, what, seconds=PATIENCE):
        """Wait until `done()`; what that answered."""
        try:
            return await self.client.wait_for(done, seconds, what)
        except TimeoutError as error:
            # Whether it is the shell that waits, or we.
            there = [
                (pid, fields_of(pid)[:1], self.daemon.command_line(pid))
                for pid in self.daemon.children()
            ]
            raise AssertionError(f"{error}\nsaid since: {self.new()}\n{there}") from error

    async def shows(self, words):
        """Wait until `words` were drawn since `mark`."""
        await self.until(lambda: words in drawn(self.text()), f"{words!r} on the screen")

    async def prints(self, text):
        """Wait until `text`, sequences and all, was printed since `mark`."""
        await self.until(lambda: text in self.text(), f"{text!r} in the output")

    async def executes(self, words=""):
        """Wait until a command runs that printed `words`."""

        def running():
            new = self.new()
            began = [n for n, each in enumerate(new) if each["type"] == "terminal/commandExecuted"]
            texts = [each.get("data", "") for each in new[began[-1] :]] if began else []
            return began and words in drawn("".join(texts))

        await self.until(running, f"a command that prints {words!r}")

    async def prompt(self, text=PROMPT, after=0):
        """Wait for a prompt, behind `after` ends of commands, and be through with all before it;
        what that was."""

        def drawn_again():
            new = self.new()
            ends = [n for n, each in enumerate(new) if each["type"] == "terminal/commandFinished"]
            if len(ends) < after:
                return False
            behind = new[ends[-1] :] if ends else new
            words = drawn("".join(x["data"] for x in behind if x["type"] == "terminal/data"))
            return text in words

        await self.until(drawn_again, "a prompt")
        said = self.new()
        self.mark = len(self.actions)
        return said

    async def ended(self):
        """Wait for the end of the shell; how its state says it."""
        await self.until(lambda: self.new("exited"), "the end of the shell")
        return self.state["lifecycle"]

    # -- what is done -------------------------------------------------------------------

    def type(self, keys):
        self.client.dispatch(self.uri, {"type": "terminal/input", "data": keys})

    def resize(self, cols, rows):
        self.client.dispatch(self.uri, {"type": "terminal/resized", "cols": cols, "rows": rows})

    async def run(self, line):
        """Type a line to a shell that marks its commands, and wait for its prompt; the commands
        that were told apart meanwhile."""
        self.type(line + "\r")
        return commands(await self.prompt(after=1))

    async def ask(self, line):
        """Type a line to any shell, and wait for its prompt; what was drawn in between, the line
        itself left out."""
        self.type(line + "\r")
        said = await self.prompt(after=1 if self.shell in MARKED else 0)
        if self.shell in MARKED:
            return "".join(command.words for command in commands(said))
        words = drawn("".join(each["data"] for each in said if each["type"] == "terminal/data"))
        return words.partition("\n")[2].removesuffix(PROMPT)


def commands(actions):
    """The commands in `actions`, which are told in order."""
    found, running, printed = [], None, []
    for action in actions:
        kind = action["type"].removeprefix("terminal/")
        if kind == "commandExecuted":
            assert running is None, f"a command in a command: {actions}"
            running, printed = action, []
        elif kind == "commandFinished":
            assert running is not None, f"the end of no command: {actions}"
            assert running["commandId"] == action["commandId"]
            code = action.get("exitCode")
            found.append(Command(running["commandLine"], "".join(printed), code, action))
            running = None
        elif kind == "data" and running is not None:
            printed.append(action["data"])
    assert running is None, f"a command without an end: {actions}"
    return found


def furnish(daemon, name, text="", plain=True):
    """Write what the person set up for a shell, behind a prompt where `plain`."""
    file = daemon.home / FILES[name]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text((PLAIN[name] if plain else "") + text)
    if name == "fish":
        # It makes completions of all manuals where there is no such folder, for a minute or more.
        (daemon.home / "data/fish/generated_completions").mkdir(parents=True)
        # Where one is found whatever is in the other file.
        prompt = file.parent / "functions" / "fish_prompt.fish"
        prompt.parent.mkdir()
        prompt.write_text(f"function fish_prompt; printf '{PROMPT}'; end\n")


async def house(make_daemon, name, text="", *, plain=True, pushed=False, settings=None, **preset):
    """A daemon whose shell is this one: its own, or `pushed` as `defaultShell` by a client.

    `text` is what the person set up for that shell, `preset` more of the daemon's environment.
    """
    path = program(name)
    environment = {"LANG": "C.UTF-8", "SHELL": "/bin/false" if pushed else path, **preset}
    # A plain sh looks for nothing by itself.
    environment["ENV"] = "$HOME/" + FILES["sh"]
    daemon = make_daemon(preset=environment, settings=settings)
    furnish(daemon, name, text, plain)
    await daemon.start()
    return daemon


async def sits(daemon, name, *, client="ann", pushed=False, **params):
    """Somebody connects, pushes a shell where told to, and opens a terminal."""
    probe = await daemon.connect(client, ROOT)
    if pushed:
        config = {"defaultShell": program(name)}
        await probe.perform(ROOT, {"type": "root/configChanged", "config": config})
    return await Sitting(daemon, probe, name).open(**params)


async def at_home(make_daemon, name, text="", *, plain=True, pushed=False, preset=None, **params):
    """Somebody at the prompt of their shell."""
    daemon = await house(make_daemon, name, text, plain=plain, pushed=pushed, **(preset or {}))
    it = await sits(daemon, name, pushed=pushed, **params)
    await it.prompt()
    return it


def folder_of(uri):
    """The path of a `file:` URI."""
    return Path(path_of(uri))
