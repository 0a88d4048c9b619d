"""(m) Plugins: what loading them costs, a reload under traffic, and many rows on a channel.

`load` has a host load fifty installed plugins and build itself over them, against importing the same
modules with nothing around them (`load_plugins.py`). The plugins are as large as those under
plugins/ (`plugin_set.py`): each imports attrs, `ahpd.interfaces`, json and `twisted.web.resource`,
declares three values and a page, and registers a tool, a command, a channel, a route and a
closer. Both processes have imported what a host has of its own, so that the ratio is of the
plugins alone. Rounds go in turns; the CPU is what is compared.

`reload` streams fifty deltas a second in each of twenty sessions to two clients and has one plugin
reloaded twenty times meanwhile. Every delta is stamped with when it was due: that each client was
told of each, once and in order, is checked. Importing is done where everything else waits, so a
reload stops the streams for that long; the longest stop is what is printed.

`idle` starts hosts that nobody talks to and looks at the CPU they use. `rows` puts ten thousand
rows on an `x-` channel: what a subscribe and one change cost, alone and with a hundred
subscribers who are each asked for (`visible`).
"""

import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import plugin_set
from host import Client, Host, home, listening
from processes import HERE, cpu_seconds, program
from report import Bound, Figure, NotMeasured, ratio_of_rounds

NAME = "plugins"
TITLE = "(m) plugins: loading, a reload under traffic, idle hosts, many rows"
COUNT = 50
LOAD_BOUND = Bound(1.5)
SESSIONS, RATE, RELOADS = 20, 50, 20
IDLE_BOUND = Bound(1.0)
ROWS, READERS = 10_000, 100


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part for each of the above."""
    return [
        partial(_load, 3 if quick else 7),
        partial(_reload, 5 if quick else RELOADS),
        partial(_idle, 5.0 if quick else 20.0),
        partial(_rows, 3 if quick else 9),
    ]


# -- loading ------------------------------------------------------------------------------


def _load(rounds: int) -> list[Figure]:
    """Host against bare imports, round by round."""
    ours, theirs, alone = [], [], []
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder:
        site = Path(folder) / "site"
        plugin_set.install(site, COUNT)
        time.sleep(2.5)  # a manifest that changed within two seconds is read again each time
        one_load("host", site)  # compiles, and reads the disk
        for _ in range(rounds):
            theirs.append(one_load("bare", site)["cpu"])
            ours.append(one_load("host", site)["cpu"])
            alone.append(one_load("none", site)["cpu"])
    value, ratios = ratio_of_rounds(ours, theirs)
    raw = {
        "ms": statistics.median(ours) * 1000,
        "bare ms": statistics.median(theirs) * 1000,
        "a host without any ms": statistics.median(alone) * 1000,
    }
    return [Figure(NAME, f"load {COUNT}: host / bare", value, "x", LOAD_BOUND, ratios, raw)]


def one_load(mode: str, site: Path) -> dict[str, Any]:
    """What `load_plugins.py` says. Raises `NotMeasured` where a plugin was not loaded."""
    command = [sys.executable, str(HERE / "load_plugins.py"), mode, str(COUNT), str(site)]
    with home() as env, program(command, env) as loading:
        said: dict[str, Any] = json.loads(loading.line(60))
    if said["problems"]:
        raise NotMeasured(f"the plugins were not loaded: {said['problems'][:3]}")
    return said


# -- a reload under traffic ---------------------------------------------------------------


class Listener(threading.Thread):
    """One client, which reads what its chats stream and holds each delta to the one before."""

    def __init__(self, host: Host, deltas: int) -> None:
        super().__init__(daemon=True)
        self.client = Client(host.address)
        self.deltas = deltas
        self.due: dict[str, list[int]] = {}
        self.late: list[float] = []
        self.wrong = ""

    def watch(self, chat: str) -> None:
        """Be told what this chat streams."""
        self.client.request("subscribe", {"channel": chat})
        self.due[chat] = []

    def run(self) -> None:
        """Read until every chat had its deltas."""
        try:
            self._read()
        except Exception as error:
            self.wrong = self.wrong or repr(error)

    def _read(self) -> None:
        step, seen, missing = 1_000_000_000 // RATE, 0, self.deltas * len(self.due)
        while missing:
            message = msgspec.json.decode(self.client.message())
            if message.get("method") != "action":
                continue
            params = message["params"]
            if params["serverSeq"] <= seen:
                raise NotMeasured(f"{params['serverSeq']} came behind {seen}")
            seen = params["serverSeq"]
            if params["action"]["type"] != "chat/delta":
                continue
            due = int(params["action"]["content"].split("@")[1].split("/")[0])
            held = self.due[params["channel"]]
            if held and due != held[-1] + step:
                raise NotMeasured(f"a delta that was due at {held[-1] + step} did not come: {due}")
            held.append(due)
            self.late.append((time.monotonic_ns() - due) / 1e6)
            missing -= 1


def _reload(reloads: int) -> list[Figure]:
    """Twenty sessions that stream to two clients, while a plugin is reloaded."""
    seconds = reloads * 0.6 + 1.0
    quiet = streamed(0, seconds)
    busy = streamed(reloads, seconds)
    pauses = [one["pause"] for one in busy["reloads"]]
    raw = {
        "deltas": busy["deltas"],
        "median pause ms": statistics.median(pauses),
        "a reload ms": statistics.median(one["took"] for one in busy["reloads"]),
        "longest pause without ms": quiet["pause"],
        "latest delta ms": busy["latest"],
        "latest without ms": quiet["latest"],
    }
    return [
        Figure(
            NAME,
            f"{reloads} reloads: longest pause of the reactor",
            max(pauses),
            "ms",
            rounds=pauses,
            raw=raw,
            note="no delta was missing, twice or out of order",
        )
    ]


def streamed(reloads: int, seconds: float) -> dict[str, Any]:
    """What was seen while the sessions streamed. Raises `NotMeasured` for a delta that is wrong."""
    deltas = int(seconds * RATE)
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder, home() as env:
        plugin_set.install(Path(folder), 2)
        (Path(env["XDG_CONFIG_HOME"]) / "ahpd").mkdir(mode=0o700)
        command = [sys.executable, str(HERE / "plugged_host.py"), folder, "2"]
        with program(command, env, cwd=Path(env["HOME"])) as running:
            host = Host(running, listening(running))
            listeners = [Listener(host, deltas) for _ in range(2)]
            chats = [listeners[0].client.new_chat("bench") for _ in range(SESSIONS)]
            for listener in listeners:
                for chat in chats:
                    listener.watch(chat)
            starter = Client(host.address)
            for listener in listeners:
                listener.start()
            for chat in chats:
                starter.start_turn(chat, f"paced {RATE} {deltas}")
            time.sleep(0.5)
            asked(host, "pause")
            rows = []
            for _ in range(reloads):
                rows.append(asked(host, "reload"))
                time.sleep(0.4)
            for listener in listeners:
                listener.join(seconds + 60)
            pause = asked(host, "pause")["pause"]
    for listener in listeners:
        if listener.wrong or listener.is_alive():
            raise NotMeasured(listener.wrong or "the streams did not come to their end")
    return {
        "reloads": rows,
        "pause": pause,
        "deltas": sum(len(due) for one in listeners for due in one.due.values()),
        "latest": max(max(one.late) for one in listeners),
    }


def asked(host: Host, word: str) -> dict[str, Any]:
    """What the host answers to a word on its standard input."""
    host.program.say(word)
    said: dict[str, Any] = json.loads(host.program.line(60))
    if "error" in said:
        raise NotMeasured(f"{word}: {said['error']}")
    return said


# -- idle ---------------------------------------------------------------------------------


def _idle(seconds: float) -> list[Figure]:
    """The CPU of hosts nobody talks to, and which calls wait in one without plugins."""
    figures = []
    for count, watched in ((0, 0), (8, 8)):
        used, timers = idled(count, watched, seconds)
        figures.append(
            Figure(
                NAME,
                f"idle with {count} plugins, {watched} collections watched",
                used / seconds * 100,
                "%",
                IDLE_BOUND,
                raw={"timers": ", ".join(timers) or "none"},
            )
        )
    return figures


def idled(count: int, watched: int, seconds: float) -> tuple[float, list[str]]:
    """CPU seconds a host used while nobody talked to it, and the calls that waited in it."""
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder, home() as env:
        plugin_set.install(Path(folder), count, collections=watched > 0)
        (Path(env["XDG_CONFIG_HOME"]) / "ahpd").mkdir(mode=0o700)
        command = [sys.executable, str(HERE / "plugged_host.py"), folder, str(count), "still"]
        with program(command, env, cwd=Path(env["HOME"])) as running:
            host = Host(running, listening(running))
            time.sleep(2.0)
            before = cpu_seconds(host.pid)
            time.sleep(seconds)
            used = cpu_seconds(host.pid) - before
            return used, asked(host, "timers")["timers"]


# -- rows ---------------------------------------------------------------------------------


def _rows(rounds: int) -> list[Figure]:
    """Ten thousand rows on a channel, in this process."""
    from many_rows import measured

    figures = []
    for name, values in measured(ROWS, READERS, rounds).items():
        figures.append(Figure(NAME, name, statistics.median(values), "ms", rounds=values))
    return figures
