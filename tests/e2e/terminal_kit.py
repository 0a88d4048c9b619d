"""Clients in terminals of a real daemon, and families of processes that want to stay."""

import itertools
import shlex
import sys

import attrs

from ahpd.testing.daemon import PATIENCE
from ahpd.testing.processes import fields_of

_numbers = itertools.count(1)

#: Starts a family and writes down who belongs to it: `NAME PID START`, a line each, the last
#: of them `all`. Then it waits, and leaves a zombie it never reaps.
FAMILY = """
import os, signal, sys, time

def start():
    with open("/proc/self/stat") as stat:
        return stat.read().rpartition(")")[2].split()[19]

def born(name):
    with open(sys.argv[1], "a") as note:
        note.write(f"{name} {os.getpid()} {start()}\\n")

def forever():
    while True:
        time.sleep(1000)

def child(name, *ignored, session=False, orphan=False, stopped=False):
    pid = os.fork()
    if pid:
        if orphan:
            os.waitpid(pid, 0)
        return
    if session:
        os.setsid()
    if orphan and os.fork():
        os._exit(0)
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)
    born(name)
    if stopped:
        os.kill(os.getpid(), signal.SIGSTOP)
    forever()

everything = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM, signal.SIGQUIT)
born("launcher")
child("child")
child("deaf", *everything)
child("session", session=True)
child("daemon", *everything, session=True, orphan=True)
child("orphan", orphan=True)
child("stopped", stopped=True)
child("stopped-daemon", *everything, session=True, orphan=True, stopped=True)
if not os.fork():
    os._exit(0)
while True:
    with open(sys.argv[1]) as note:
        if len(note.readlines()) == 8:
            break
    time.sleep(0.01)
born("all")
forever()
"""


@attrs.frozen
class Member:
    """A process, known by its number and when it was started."""

    name: str
    pid: int
    start: str

    @property
    def there(self):
        """Whether it runs; a zombie of somebody's does not."""
        fields = fields_of(self.pid)
        return bool(fields) and fields[19] == self.start


class Families:
    """Families that are started with a line for a shell, each with a note of its own."""

    def __init__(self, folder):
        self._script = folder / "family.py"
        self._script.write_text(FAMILY)
        self._folder = folder
        self.notes = []

    def line(self, before=""):
        """What starts one in a shell."""
        note = self._folder / f"family-{len(self.notes)}"
        self.notes.append(note)
        words = [sys.executable, "-I", "-S", str(self._script), str(note)]
        return before + shlex.join(words)

    def members(self, note):
        lines = note.read_text().splitlines() if note.exists() else []
        return [Member(name, int(pid), start) for name, pid, start in map(str.split, lines)]

    async def grown(self, daemon):
        """Wait until everybody of the newest family is there; who they are."""
        note = self.notes[-1]
        await daemon.until(
            lambda: any(member.name == "all" for member in self.members(note)), "a family"
        )
        members = self.members(note)
        assert all(member.there for member in members)
        return members


async def gone(daemon, members):
    """Wait until nobody of a family is left, and none of the daemon's own children unreaped."""
    await daemon.until(
        lambda: not [member for member in members if member.there],
        f"the end of {', '.join(member.name for member in members)}",
    )


def zombies_of(pid):
    """The children of a process that ended and that it did not reap."""
    from pathlib import Path

    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            fields = stat.rpartition(")")[2].split()
            if fields[0] == "Z" and int(fields[1]) == pid:
                found.append(int(entry.name))
    return found


async def opens(client, uri=None, watch=True, **params):
    """Open a terminal for a client, which watches it; its URI."""
    uri = uri or f"ahp-terminal:/e2e-{next(_numbers)}"
    claim = {"kind": "client", "clientId": client.client_id}
    await client.call("createTerminal", {"channel": uri, "claim": claim, **params})
    if watch:
        await client.subscribe(uri)
    return uri


def types(client, uri, text):
    client.dispatch(uri, {"type": "terminal/input", "data": text})


def text_of(client, uri):
    content = client.plain_state(uri)["content"]
    return "".join(part.get("output", part.get("value")) for part in content)


async def prints(client, uri, words):
    """Wait until what the terminal holds has these words in it."""
    await client.wait_for(lambda: words in text_of(client, uri), PATIENCE, f"{words!r} in {uri}")


async def disposes(client, uri):
    if uri in client.subscriptions:
        client.unsubscribe(uri)
    await client.call("disposeTerminal", {"channel": uri})


async def ended(client, uri):
    def lifecycle():
        held = client.state(uri)["lifecycle"]
        return held if held["status"] == "exited" else None

    return await client.wait_for(lifecycle, PATIENCE, f"the end of {uri}")
