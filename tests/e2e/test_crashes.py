"""The real daemon, killed at any moment: what it told its clients is there when it is back.

Several clients talk in several chats at once, as fast as they can; the process is killed
by SIGKILL at a random moment and started again on the same directory. What each client
was told by then is the promise, and what a new client reads is held against it
(`promises.py`). What was sent and not answered may be there or not, once.

`AHPD_CRASH_SEED` repeats what a run decided, `AHPD_CRASH_LIVES` how many lives it is.
"""

import math
import os
import random
import re
import signal
import sys

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater

from ahpd.client import ActionRefused, RpcError
from ahpd.protocol.status import ACTIVITY_MASK, ERROR, IDLE
from ahpd.protocol.uris import ROOT

from .ledger import Ledger
from .promises import Judge
from .talkers import Talker

CLIENTS = ("ann", "bob", "cid")
MOVES = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}

#: What the clients of a long run do: each was answered with a yes at least once.
EVERYTHING = {
    *("createSession", "disposeSession", "createChat", "disposeChat", "moveChat"),
    *("chat/turnStarted", "chat/turnCancelled", "chat/turnResume", "chat/truncated"),
    *("chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"),
    *("chat/toolCallConfirmed", "chat/inputAnswerChanged", "chat/inputCompleted"),
    *("chat/draftChanged", "chat/isReadChanged", "chat/isArchivedChanged", "chat/configChanged"),
    *("session/titleChanged", "session/isReadChanged", "session/isArchivedChanged"),
    *("session/configChanged", "annotations/set", "annotations/updated", "annotations/removed"),
    "annotations/entrySet",
}

#: The same daemon, that compacts its store all the time.
HURRIED = (
    "import ahpd.journal.upkeep as upkeep, ahpd.stores.sqlite as sqlite\n"
    "import ahpd.stores.maintenance as maintenance\n"
    "upkeep.EVERY, sqlite.COMPACT_AFTER, maintenance.SPARE_PAGES = 0.05, 4096, 0\n"
    "from ahpd.cli.main import main\n"
    "main()\n"
)


def marks_of(session):
    return session + "/annotations"


class Lives:
    """The lives of one daemon, one after the other."""

    def __init__(self, daemon, ledger, longest=2.0):
        self.daemon = daemon
        self.ledger = ledger
        self.random = ledger.random
        self.longest = longest
        self.told = {}
        self.teller = {}
        self.said = []
        self.killed = 0.0
        self.drained = False

    async def pause(self, seconds):
        await deferLater(self.daemon.reactor, seconds, lambda: None)

    # -- one life ---------------------------------------------------------------------

    async def live(self, end):
        """Start, see that all that was promised is there, talk, and end by `end()`."""
        if self.ledger.lives and self.random.random() < 0.4:
            await self.killed_early()
        await self.daemon.start()
        self.ledger.lives += 1
        await self.judge()
        probes = [
            await self.daemon.connect(f"{name}-{self.ledger.lives}", ROOT) for name in CLIENTS
        ]
        await probes[0].perform(ROOT, MOVES)
        self.ledger.open.clear()
        self.ledger.texts.clear()
        self.ledger.watch(probes[0], self.daemon.reactor.seconds)
        talking = await self.talk(probes)
        await self.pause(self.random.uniform(0.05, self.longest))
        await end()
        for went_well, result in await DeferredList(talking, consumeErrors=True):
            if not went_well:
                result.raiseException()
        self.read_log()
        self.remember(probes)
        if self.killed == math.inf:
            running = [uri for uri, state in self.told.items() if "activeTurn" in state]
            assert not running, f"nobody was told that their turns ended: {running}"
        self.daemon.clients.clear()

    def read_log(self):
        """Nothing a daemon says of such a life is a failure of its own."""
        lines = self.daemon.log.splitlines()
        failures = [line for line in lines if line.split(" ")[1:2] in (["error"], ["critical"])]
        assert not failures, failures
        said = (line.partition(" ")[2] for line in lines)
        self.ledger.log.update(re.sub(r"\S*\d\S*", "..", line) for line in said)

    async def killed_early(self):
        """A life that is over while it reads back what the one before had left."""
        self.daemon.spawn()
        await self.pause(self.random.uniform(0.05, 0.5))
        await self.daemon.kill()
        self.ledger.checked["kills at the start"] += 1

    async def talk(self, probes):
        """Have the clients talk, all in the same few sessions; their Deferreds."""
        there = sorted(self.ledger.sessions)
        chosen = self.random.sample(there, min(3, len(there)))
        talkers = [Talker(self.ledger, probe, [], self.daemon.reactor) for probe in probes]
        while len(chosen) < 2:
            await talkers[0].make_session(None, None)
            chosen = talkers[0].sessions
        for talker in talkers:
            for session in chosen:
                await talker.subscribe(session)
                await talker.chats_of(session)
            talker.sessions = list(chosen)
        return [Deferred.fromCoroutine(talker.talk()) for talker in talkers]

    def remember(self, probes):
        """Take what the clients hold as what was told, by the one that was told most."""
        self.told, self.teller = dict(self.ledger.settled), {}
        self.said = max(probes, key=lambda probe: probe.last_seen_seq).envelopes()
        for channel in {channel for probe in probes for channel in probe.subscriptions} - {ROOT}:
            held = [probe for probe in probes if channel in probe.subscriptions]
            newest = max(held, key=lambda probe: probe.last_seen_seq)
            self.told[channel] = newest.plain_state(channel)
            self.teller[channel] = (newest.client_id, newest.last_seen_seq, len(held))
        for probe in probes:
            for method, params in probe.notifications:
                if method == "root/sessionAdded":
                    session = params["summary"]["resource"]
                    if session not in self.ledger.gone:
                        self.ledger.sessions[session] = True
                elif method == "root/sessionRemoved":
                    self.ledger.sessions.pop(params["session"], None)
                    self.ledger.gone.add(params["session"])
            for envelope in probe.envelopes():
                if envelope.type == "session/chatRemoved" and envelope.rejection is None:
                    chat = envelope.action["chat"]
                    ending = {sent.kind for sent in self.ledger.open if sent.channel == chat}
                    if "disposeChat" in ending and "moveChat" not in ending:
                        self.ledger.gone.add(chat)
        for uri, state in self.told.items():
            for row in state.get("chats", ()):
                self.ledger.owners[row["resource"]] = uri

    def may_be_gone(self, channel):
        """Whether a channel may be gone: it was disposed of, or its session or chat was."""
        ending = {sent.channel for sent in self.ledger.open if sent.kind.startswith("dispose")}
        ending |= self.ledger.gone
        owner = channel.removesuffix("/annotations")
        session = self.ledger.owners.get(channel, owner)
        moving = any(s.kind == "moveChat" and s.channel == channel for s in self.ledger.open)
        origin = (self.told.get(channel) or {}).get("origin") or {}
        spawned = origin.get("kind") == "tool" and self.may_be_gone(origin["chat"])
        return owner in ending or session in ending or moving or spawned

    # -- what is there after it -------------------------------------------------------

    async def judge(self):
        """Hold what a new client reads against what the clients of the last life were told."""
        read = await self.daemon.connect(f"reader-{self.ledger.lives}", ROOT)
        rows = await self.listed(read)
        await self.nothing_came_back(read)
        judge = Judge(self.ledger, self.told, read, self.killed, self.drained)
        for channel in sorted(self.told):
            if channel.removesuffix("/annotations") in self.ledger.gone:
                continue
            if await self.subscribed(read, channel):
                try:
                    judge.judge(channel)
                except AssertionError as error:
                    raise AssertionError(f"{error}\n{self.circumstances(channel)}") from error
        await self.whole(read, rows)
        await self.resumed(read)
        await self.daemon.check()
        read.close()
        await read.closed
        self.told = {}

    def circumstances(self, channel):
        """What of a channel was told, and to whom, for the words of a failure."""
        told = self.told[channel]
        lines = [
            f"seed {self.ledger.seed}, life {self.ledger.lives}, told by {self.teller.get(channel)}"
        ]
        lines.append(f"sent and not answered: {self.ledger.open}")
        if "turns" in told:
            lines += [f"told turn {turn['id']}: {turn['state']}" for turn in told["turns"]]
            lines.append(f"told running: {told.get('activeTurn')}"[:400])
            lines.append(
                f"told waiting: {told.get('queuedMessages')} {told.get('steeringMessage')}"
            )
        lines += [f"{said}"[:300] for said in self.said if said.channel == channel][-12:]
        return "\n".join(lines)

    async def subscribed(self, read, channel):
        try:
            await read.subscribe(channel)
        except RpcError as error:
            if not self.may_be_gone(channel):
                raise AssertionError(f"{channel}: {error}") from error
            return False
        return True

    async def listed(self, read):
        """The rows of all sessions; those clients were told of are among them, each once."""
        rows = {row["resource"]: row for row in (await read.request("listSessions"))["items"]}
        found = [row["resource"] for row in (await read.request("listSessions"))["items"]]
        assert len(found) == len(set(found)), f"a session is listed twice: {found}"
        may_be_gone = {s.channel for s in self.ledger.open if s.kind == "disposeSession"}
        announced = {uri for uri, told in self.ledger.sessions.items() if told}
        lost = announced - set(found) - may_be_gone
        assert not lost, f"sessions that clients were told of are gone: {lost}"
        for uri in may_be_gone - set(found):
            if uri in self.ledger.sessions:
                del self.ledger.sessions[uri]
                self.ledger.gone.add(uri)
        for uri in found:
            self.ledger.sessions[uri] = True
        self.ledger.checked["listed sessions"] += len(found)
        return rows

    async def nothing_came_back(self, read):
        """What was disposed of, and was said to be, is not there again."""
        for uri in sorted(self.ledger.gone):
            try:
                await read.subscribe(uri)
            except RpcError:
                self.ledger.checked["disposed of"] += 1
            else:
                raise AssertionError(f"{uri} is there again: {read.plain_state(uri)}")

    async def whole(self, read, rows):
        """Every session has all its chats, every chat one session; a row says what is there."""
        owners = {}
        self.ledger.settled = {}
        for session in sorted(self.ledger.sessions):
            await read.subscribe(session)
            state = read.plain_state(session)
            assert state["defaultChat"] in [row["resource"] for row in state["chats"]], session
            for row in state["chats"]:
                chat = row["resource"]
                assert chat not in owners, f"{chat} is in {owners[chat]} and in {session}"
                owners[chat] = self.ledger.owners[chat] = session
                await read.subscribe(chat)
                held = read.plain_state(chat)
                for field in ("title", "status", "modifiedAt"):
                    assert row[field] == held[field], f"{session}, {chat}: the row's {field}"
            if session in rows:
                self.row(session, rows[session], state)
            await read.subscribe(marks_of(session))
        for channel in read.subscriptions:
            if channel != ROOT:
                self.ledger.settled[channel] = read.plain_state(channel)
        chats = {channel for channel in self.told if channel.startswith("ahp-chat:")}
        lost = chats - set(owners) - self.ledger.gone
        lost = {chat for chat in lost if not self.may_be_gone(chat)}
        assert not lost, f"chats are in no session: {lost}"

    def row(self, session, row, state):
        """A session's row has its own title and flags, and says what its chats do."""
        assert row["title"] == state["title"], f"{session}: the row's title"
        flags = ~ACTIVITY_MASK
        assert row["status"] & flags == state["status"] & flags, f"{session}: the row's flags"
        failed = any(chat["status"] & ACTIVITY_MASK == ERROR for chat in state["chats"])
        does = ERROR if failed else IDLE
        assert row["status"] & ACTIVITY_MASK == does, f"{session}: the row's activity"

    async def resumed(self, read):
        """A turn that was cut off runs again and ends; it asks nobody that is gone."""
        for chat, state in sorted(self.ledger.settled.items()):
            turns = state.get("turns") or []
            if not turns or turns[-1]["state"] != "error":
                continue
            last = turns[-1]["responseParts"][-1]
            asks = turns[-1]["message"]["text"].startswith(("/confirm", "/ask", "/stream"))
            if last.get("resumable") is not True or asks:
                continue
            turn = turns[-1]["id"]
            try:
                await read.perform(chat, {"type": "chat/turnResume", "turnId": turn})
            except ActionRefused:
                continue  # somebody archived it
            ended = lambda chat=chat: "activeTurn" not in read.state(chat)  # noqa: E731
            await read.wait_for(ended, 30.0, "the end of a turn that was resumed")
            self.ledger.checked["resumed turns"] += 1
            # Its end marks it and its session, and what waits behind it runs: not settled.
            session = self.ledger.owners[chat]
            for channel in list(self.ledger.settled):
                if session in (
                    channel.removesuffix("/annotations"),
                    self.ledger.owners.get(channel),
                ):
                    del self.ledger.settled[channel]
            return

    # -- how a life ends --------------------------------------------------------------

    async def is_killed(self):
        """At once."""
        self.drained, self.killed = False, self.daemon.reactor.seconds()
        await self.daemon.kill()

    async def is_killed_while_it_goes(self):
        """It was asked to go, and is killed over it, unless it is gone already."""
        self.drained, self.killed = True, self.daemon.reactor.seconds()
        self.daemon.signal()
        await self.pause(self.random.uniform(0, 0.1))
        self.daemon.signal(signal.SIGKILL)
        status = await self.daemon.ended()
        assert status in (0, -signal.SIGKILL), status
        await self.daemon.judge(status)

    async def goes(self):
        """In order."""
        self.drained, self.killed = True, math.inf
        self.daemon.signal()
        await self.daemon.ended()
        await self.daemon.judge()


async def lives(daemon, count, ends=("is_killed",), longest=2.0):
    ledger = Ledger(int(os.environ.get("AHPD_CRASH_SEED", random.randrange(2**32))))
    all_lives = Lives(daemon, ledger, longest)
    try:
        for _ in range(count):
            await all_lives.live(getattr(all_lives, ledger.random.choice(ends)))
        await daemon.start()
        await all_lives.judge()
    finally:
        report(ledger)
    return ledger


def report(ledger):
    print(f"AHPD_CRASH_SEED={ledger.seed}: {ledger.lives} lives")
    print(f"answered {sum(ledger.answered.values())}: {dict(ledger.answered)}")
    print(f"refused {sum(ledger.refused.values())}: {dict(ledger.refused)}")
    print(f"checked {sum(ledger.checked.values())}: {dict(ledger.checked)}")
    print(f"reasons: {ledger.reasons}")
    print(f"logged: {dict(ledger.log)}")


@pytest_twisted.ensureDeferred
async def test_what_clients_were_told_survives_a_kill_at_any_moment(make_daemon):
    daemon = make_daemon("--port", "0", settings={"deltaWindowMs": 20})
    await lives(daemon, 5, longest=1.2)


@pytest_twisted.ensureDeferred
async def test_a_daemon_that_is_asked_to_go_loses_nothing_at_all(make_daemon):
    daemon = make_daemon("--port", "0", settings={"deltaWindowMs": 20})
    await lives(daemon, 2, ["goes"], longest=1.2)


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_what_clients_were_told_survives_fifty_kills(make_daemon):
    program = (sys.executable, "-P", "-c", HURRIED)
    daemon = make_daemon("--port", "0", program=program, settings={"deltaWindowMs": 20})
    ends = ["is_killed", "is_killed", "is_killed", "is_killed_while_it_goes", "goes"]
    ledger = await lives(daemon, int(os.environ.get("AHPD_CRASH_LIVES", "62")), ends)
    assert ledger.answered.keys() >= EVERYTHING, EVERYTHING - ledger.answered.keys()


@pytest_twisted.ensureDeferred
async def test_a_kill_while_the_store_is_compacted_harms_nothing(make_daemon, talk):
    program = (sys.executable, "-P", "-c", HURRIED)
    daemon = make_daemon("--port", "0", program=program)
    await daemon.start()
    file = daemon.home / "data" / "ahpd" / "sessions.sqlite"
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say kept")
    told = ann.probe.plain_state(ann.chat)
    largest = 0
    for number in range(3):
        gone = await talk(await daemon.connect(f"bob-{number}", ROOT))
        await gone.say("/stream 2000 1500")
        await daemon.until(lambda: file.stat().st_size > 2_000_000, "the long answer on disk")
        await gone.probe.request("disposeSession", channel=gone.session)
        await deferLater(daemon.reactor, random.uniform(0, 0.15), lambda: None)
        largest = max(largest, file.stat().st_size)
        await daemon.kill()
        await daemon.start()
        read = await daemon.connect(f"cid-{number}", ROOT)
        await read.subscribe(ann.chat)
        assert read.plain_state(ann.chat) == told
        assert [row["resource"] for row in (await read.request("listSessions"))["items"]] == [
            ann.session
        ]
    # What was begun and cut off is done by whoever comes after.
    await talk(await daemon.connect("dan", ROOT))
    await daemon.until(lambda: file.stat().st_size < largest / 2, "the room given back")


@pytest_twisted.ensureDeferred
async def test_a_client_that_was_there_before_the_kill_goes_on_in_the_next_life(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    await ann.say("/say before")
    running = await ann.begin("/say so far\n/sleep 3600000")
    await bob.grown(6)
    await daemon.kill()
    await daemon.start()
    assert "put in order what the last run had left unfinished; sessions: 1" in daemon.log
    # Who was here is not kept, so each begins anew.
    await daemon.attach(ann.probe)
    with pytest.raises(RpcError, match="client not found"):
        await ann.probe.reconnect()
    ann.probe.abort()
    probes = [await daemon.connect(name, ROOT) for name in ("ann", "bob")]
    ann, bob = [await ann.with_client(probe) for probe in probes]
    for one in (ann, bob):
        assert [turn["state"] for turn in one.probe.state(ann.chat)["turns"]] == [
            "complete",
            "error",
        ]
    await bob.probe.perform(bob.chat, {"type": "chat/turnResume", "turnId": running})
    stop = {"type": "chat/turnCancelled", "turnId": running, "duration": 1}
    await ann.probe.perform(ann.chat, stop)
    assert (await bob.finished(running))["state"] == "cancelled"
    assert (await ann.say("/say on"))["state"] == "complete"
    await bob.probe.ping()
    turns = [one.probe.plain_state(ann.chat)["turns"] for one in (ann, bob)]
    assert turns[0] == turns[1]
