"""The real daemon, killed at any moment: what it told its clients is there when it is back.

Several clients talk in several chats at once, as fast as they can; the process is killed
by SIGKILL at a random moment and started again on the same directory. What each client
was told by then is the promise, and what a new client reads is held against it. What
was sent and not answered may be there or not, once.
"""

import contextlib
import os
import random

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater

from ahpd.client import ActionRefused, ConnectionGone, RpcError
from ahpd.protocol.status import IS_ARCHIVED
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd.testing.differences import first_difference

CLIENTS = ("ann", "bob", "cid")
ENDS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")
GONE = (ConnectionGone, AssertionError, TimeoutError)


def pause(daemon, seconds):
    return deferLater(daemon.reactor, seconds, lambda: None)


class Ledger:
    """What was sent and what was told, over all lives of one daemon."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0
        self.sessions = {}
        """By URI: whether a client was told that it is there."""
        self.sent_values = {}
        """By (channel, field): every value sent, oldest first."""
        self.told_turns = {}
        """By chat: the turns clients saw end, by id, as they saw them end."""
        self.started = {}
        """By chat: the ids of the turns whose start was answered."""
        self.queued = {}
        """By chat: the texts of queued messages that were answered, by id."""
        self.withdrawn = set()
        self.replaced = {}
        """By chat: the turns whose place another start took while they ran: in no history."""
        self.ran = {}
        """By chat: the texts of every turn that clients saw start."""

    def number(self):
        self.count += 1
        return self.count

    def sent(self, channel, field, value):
        self.sent_values.setdefault((channel, field), []).append(value)

    def allowed(self, channel, field, told):
        """The values a field may read back as: the told one and all sent after it."""
        sent = self.sent_values.get((channel, field), [])
        if told in sent:
            last = len(sent) - 1 - sent[::-1].index(told)
            return sent[last:]
        return [told, *sent]


def user(text):
    return {"text": text, "origin": {"kind": "user"}}


class Talker:
    """One client that does whatever comes to its mind until its connection is gone."""

    def __init__(self, ledger, probe, chats):
        self.ledger = ledger
        self.probe = probe
        self.chats = chats

    async def talk(self):
        ledger = self.ledger
        acts = [self.turn] * 5 + [self.queue] * 3 + [self.draft, self.title, self.flag] * 2
        acts += [self.stop, self.unqueue, self.chat, self.mark, self.wait, self.wait]
        with contextlib.suppress(*GONE):
            while True:
                with contextlib.suppress(ActionRefused, RpcError):
                    await ledger.random.choice(acts)(*ledger.random.choice(self.chats))

    async def turn(self, session, chat):
        number = self.ledger.number()
        turn_id = f"turn-{number}"
        text = self.ledger.random.choice(
            [
                f"/say the words of {number}",
                f"/stream 40 30\n/say the words of {number}",
                f"/say the words of {number}\n/stream 3000 20\n/sleep 50",
                f"/fail the words of {number}",
            ]
        )
        action = {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": user(text),
        }
        await self.probe.perform(chat, action)
        self.ledger.started.setdefault(chat, set()).add(turn_id)
        if self.ledger.random.random() < 0.7:
            await self.probe.wait_for(lambda: "activeTurn" not in self.probe.state(chat))

    async def queue(self, session, chat):
        number = self.ledger.number()
        identifier, text = f"queued-{number}", f"/say queued {number}"
        action = {
            "type": "chat/pendingMessageSet",
            "kind": "queued",
            "id": identifier,
            "message": user(text),
        }
        await self.probe.perform(chat, action)
        self.ledger.queued.setdefault(chat, {})[identifier] = text

    async def unqueue(self, session, chat):
        waiting = self.probe.plain_state(chat).get("queuedMessages") or []
        if waiting:
            identifier = self.ledger.random.choice(waiting)["id"]
            self.ledger.withdrawn.add(identifier)
            action = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": identifier}
            await self.probe.perform(chat, action)

    async def stop(self, session, chat):
        running = self.probe.plain_state(chat).get("activeTurn")
        if running is not None:
            action = {"type": "chat/turnCancelled", "turnId": running["id"], "duration": 5}
            await self.probe.perform(chat, action)

    async def draft(self, session, chat):
        draft = user(f"draft {self.ledger.number()}")
        self.ledger.sent(chat, "draft", draft)
        await self.probe.perform(chat, {"type": "chat/draftChanged", "draft": draft})

    async def title(self, session, chat):
        title = f"title {self.ledger.number()}"
        self.ledger.sent(session, "title", title)
        await self.probe.perform(session, {"type": "session/titleChanged", "title": title})

    async def flag(self, session, chat):
        archived = self.ledger.random.random() < 0.3
        self.ledger.sent(session, "archived", archived)
        action = {"type": "session/isArchivedChanged", "isArchived": archived}
        await self.probe.perform(session, action)
        if archived:
            self.ledger.sent(session, "archived", False)
            await self.probe.perform(session, {**action, "isArchived": False})

    async def mark(self, session, chat):
        number = self.ledger.number()
        mark = {
            "id": f"mark-{number}",
            "turnId": "none",
            "resource": "file:///f",
            "entries": [],
        }
        channel = session + "/annotations"
        if channel not in self.probe.subscriptions:
            await self.probe.subscribe(channel)
        await self.probe.perform(channel, {"type": "annotations/set", "annotation": mark})

    async def chat(self, session, chat):
        if sum(1 for one, _ in self.chats if one == session) < 4:
            made = f"ahp-chat:/extra-{self.ledger.number()}"
            await self.probe.request("createChat", channel=session, chat=made)
            await self.probe.subscribe(made)
            self.chats.append((session, made))

    async def wait(self, session, chat):
        await deferLater(self.probe._clock, self.ledger.random.random() / 20, lambda: None)


async def opened(ledger, probe):
    """A session is there whose creation was answered: its URI."""
    session = f"ahp-session:/crash-{ledger.number()}"
    await probe.request("createSession", channel=session, provider="demo")
    ledger.sessions[session] = False
    return session


async def watch(probe, sessions):
    """Subscribe to everything of these sessions; (session, chat) of each chat."""
    found = []
    for session in sessions:
        await probe.subscribe(session)
        for row in probe.plain_state(session)["chats"]:
            await probe.subscribe(row["resource"])
            found.append((session, row["resource"]))
    return found


def answer(turn):
    parts = [part for part in turn["responseParts"] if part["kind"] == "markdown"]
    return "".join(part["content"] for part in parts)


class Judge:
    """Holds what a new client reads against what the old ones were told."""

    def __init__(self, ledger, told, read):
        self.ledger = ledger
        self.told = told
        self.read = read

    def chat(self, uri):
        told, now = self.told[uri], self.read.plain_state(uri)
        ids = [turn["id"] for turn in now["turns"]]
        assert len(ids) == len(set(ids)), f"{uri}: a turn is there twice: {ids}"
        assert "activeTurn" not in now, f"{uri}: a turn of the last life runs"
        assert ids[: len(told["turns"])] == [turn["id"] for turn in told["turns"]], uri
        for was, there in zip(told["turns"], now["turns"], strict=False):
            difference = first_difference(was, there)
            assert difference is None, f"{uri}, turn {was['id']}: {difference}"
        running = told.get("activeTurn")
        if running is not None:
            self.interrupted(uri, running, now)
        missing = self.ledger.started.get(uri, set()) - set(ids)
        missing -= self.ledger.replaced.get(uri, set())
        assert not missing, f"{uri}: turns that were answered are gone: {missing}"
        self.queue(uri, now)
        allowed = self.ledger.allowed(uri, "draft", told.get("draft"))
        assert now.get("draft") in allowed, f"{uri}: the draft is {now.get('draft')}"

    def interrupted(self, uri, running, now):
        [turn] = [turn for turn in now["turns"] if turn["id"] == running["id"]]
        assert turn["message"] == running["message"]
        was, there = answer(running), answer(turn)
        assert was.startswith(there) or there.startswith(was), f"{uri}: another answer"
        if turn["state"] == "error" and turn["responseParts"][-1]["kind"] == "error":
            error = turn["responseParts"][-1]
            if error["error"]["errorType"] == "executionInterrupted":
                assert error["resumable"] is True

    def queue(self, uri, now):
        waiting = [message["id"] for message in now.get("queuedMessages") or []]
        assert len(waiting) == len(set(waiting)), f"{uri}: queued twice: {waiting}"
        texts = [turn["message"]["text"] for turn in now["turns"]]
        run = [text for text in texts if text.startswith("/say queued")]
        assert len(run) == len(set(run)), f"{uri}: a queued message ran twice"
        for identifier, text in self.ledger.queued.get(uri, {}).items():
            there = (identifier in waiting) + (text in run)
            assert there <= 1, f"{uri}: {identifier} waits and ran"
            gone = identifier in self.ledger.withdrawn or text in self.ledger.ran.get(uri, set())
            assert there or gone, f"{uri}: queued message {identifier} is gone"

    def session(self, uri):
        told, now = self.told[uri], self.read.plain_state(uri)
        assert now["title"] in self.titles(uri, told), f"{uri}: the title is {now['title']!r}"
        archived = bool(now["status"] & IS_ARCHIVED)
        was = bool(told["status"] & IS_ARCHIVED)
        assert archived in self.ledger.allowed(uri, "archived", was), f"{uri}: archived"
        there = {row["resource"] for row in now["chats"]}
        assert {row["resource"] for row in told["chats"]} <= there, f"{uri}: a chat is gone"
        assert now["activeClients"] == []
        assert not now.get("inputNeeded")

    def titles(self, uri, told):
        # A title made of the first message is the host's, and comes where none was told.
        allowed = self.ledger.allowed(uri, "title", told["title"])
        return [self.read.plain_state(uri)["title"]] if told["title"] == "" else allowed

    def marks(self, uri):
        marks = {mark["id"] for mark in self.read.plain_state(uri)["annotations"]}
        assert {mark["id"] for mark in self.told[uri]["annotations"]} <= marks, uri


def newest(probes, channel):
    """What the clients were told of a channel, by the one that was told most."""
    held = [probe for probe in probes if channel in probe.subscriptions]
    return max(held, key=lambda probe: probe.last_seen_seq).plain_state(channel)


async def one_life(daemon, ledger, number):
    """Start it, look whether all promised is there, talk, and kill it."""
    await daemon.start()
    probes = [await daemon.connect(f"{name}-{number}", ROOT) for name in CLIENTS]
    listed = (await probes[0].request("listSessions"))["items"]
    found = [row["resource"] for row in listed]
    assert len(found) == len(set(found)), "a session is listed twice"
    lost = {uri for uri, announced in ledger.sessions.items() if announced} - set(found)
    assert not lost, f"sessions that clients were told of are gone: {lost}"
    for uri in ledger.sessions:
        await probes[0].request("createSession", channel=uri, provider="demo")
    session = await opened(ledger, probes[0])
    sessions = list(dict.fromkeys([session, *list(ledger.sessions)[-3:]]))
    chats = [await watch(probe, sessions) for probe in probes]
    talking = [
        Deferred.fromCoroutine(Talker(ledger, probe, list(own)).talk())
        for probe, own in zip(probes, chats, strict=True)
    ]
    await pause(daemon, ledger.random.uniform(0.05, 2.0))
    await daemon.kill()
    await DeferredList(talking, consumeErrors=True)
    for probe in probes:
        for method, params in probe.notifications:
            if method == "root/sessionAdded":
                ledger.sessions[params["summary"]["resource"]] = True
    return probes


async def judged(daemon, ledger, probes, number):
    """Read everything anew, and hold it against what was told."""
    await daemon.start()
    read = await daemon.connect(f"reader-{number}", ROOT)
    channels = {channel for probe in probes for channel in probe.subscriptions} - {ROOT}
    told = {channel: newest(probes, channel) for channel in channels}
    for channel in sorted(channels):
        await read.subscribe(channel)
    judge = Judge(ledger, told, read)
    for probe in probes:
        for chat in probe.subscriptions:
            follow_turns(ledger, chat, probe.envelopes(chat))
    for channel in channels:
        if channel.startswith("ahp-chat:"):
            judge.chat(channel)
        elif channel.endswith("/annotations"):
            judge.marks(channel)
        else:
            judge.session(channel)
    await resumed(read, open_chats(read, channels))
    await daemon.check()
    await daemon.kill()


def open_chats(read, channels):
    """The chats of sessions nobody archived."""
    found = []
    for channel in channels:
        if channel.startswith("ahp-session:") and not channel.endswith("/annotations"):
            state = read.plain_state(channel)
            if not state["status"] & IS_ARCHIVED:
                found += [row["resource"] for row in state["chats"] if row["resource"] in channels]
    return found


async def resumed(read, chats):
    """A turn that was cut off runs again and ends."""
    for chat in chats:
        turns = read.plain_state(chat)["turns"]
        if not turns or turns[-1]["state"] != "error":
            continue
        parts = turns[-1]["responseParts"]
        if not parts or parts[-1].get("resumable") is not True:
            continue
        await read.perform(chat, {"type": "chat/turnResume", "turnId": turns[-1]["id"]})
        await read.wait_for(
            lambda chat=chat: "activeTurn" not in read.state(chat), PATIENCE, "the resumed turn"
        )
        return


def follow_turns(ledger, chat, envelopes):
    """Note which turns a client saw start, and which of them another start replaced."""
    running = None
    for envelope in envelopes:
        if envelope.rejection is not None:
            continue
        kind = envelope.action["type"]
        if kind == "chat/turnStarted":
            if running is not None:
                ledger.replaced.setdefault(chat, set()).add(running)
            running = envelope.action["turnId"]
            ledger.ran.setdefault(chat, set()).add(envelope.action["message"]["text"])
        elif kind in ENDS and envelope.action["turnId"] == running:
            running = None


async def lives(make_daemon, count, seed):
    ledger = Ledger(seed)
    daemon = make_daemon("--port", "0", settings={"deltaWindowMs": 20})
    for number in range(count):
        probes = await one_life(daemon, ledger, number)
        await judged(daemon, ledger, probes, number)


@pytest_twisted.ensureDeferred
async def test_what_clients_were_told_survives_a_kill_at_any_moment(make_daemon):
    await lives(make_daemon, 5, seed=random.randrange(2**32))


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_what_clients_were_told_survives_fifty_kills(make_daemon):
    seed = int(os.environ.get("AHPD_CRASH_SEED", random.randrange(2**32)))
    print(f"AHPD_CRASH_SEED={seed}")
    await lives(make_daemon, 50, seed)
