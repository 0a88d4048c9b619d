"""What tests of several packages share: a host's sessions on a store that checks itself."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, settings
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import formatEvent, globalLogPublisher
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import ClientRecord, ISubscriber, Refusal
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import check_strict
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.sessions.service import SessionsService
from ahpd.stores.memory import MemorySessionStore
from ahpd.terminals.service import TerminalsService
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.differences import first_difference
from ahpd.testing.planted import logged_leak
from ahpd.wire.codec import decode, encode

# How long an example takes is the machine's matter: a test that is timed fails where others run.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@implementer(ISubscriber)
class Watcher:
    """Keeps what it is told, decoded: envelopes as `said`, notifications as `told`."""

    def __init__(self):
        self.said = []
        self.told = []
        self.behind = False

    def deliver(self, envelope):
        self.said.append(decode(envelope.body))

    def notify(self, channel, method, frame):
        self.told.append((method, decode(frame.payload)["params"]))

    def lagging(self):
        return self.behind


class CheckedStore(ChannelStore):
    """A store that folds what it says into states of its own, and compares at the end."""

    def __init__(self):
        super().__init__()
        self.watcher = Watcher()
        self._folded = {}
        self._asleep = {}

    def open(self, channel, kind, state, observer=None, journal=None, watched=None):
        super().open(channel, kind, state, observer, journal, watched)
        asleep = self._asleep.pop(channel, None)
        if asleep is not None:  # clients may hold it as it was
            difference = first_difference(asleep, plain(state))
            assert difference is None, f"{channel} woke otherwise: {difference}"
        self._folded[channel] = [kind, plain(state), len(self.watcher.said)]
        self.subscribe(channel, self.watcher)

    def close(self, channel):
        self._check(channel)
        self._folded.pop(channel, None)
        self._asleep.pop(channel, None)
        self.unsubscribe(channel, self.watcher)
        super().close(channel)

    def release(self, channel):
        if self.is_open(channel):
            self._check(channel)
            self._folded.pop(channel)
            self._asleep[channel] = plain(self.state(channel))
            self.unsubscribe(channel, self.watcher)
        super().release(channel)

    def watchers(self, channel):
        """Those a test subscribed: this store's own reading keeps no session awake."""
        return tuple(each for each in super().watchers(channel) if each is not self.watcher)

    def amend(self, channel, fields):
        super().amend(channel, fields)
        kept = {k: v for k, v in fields.items() if v is not None}
        state = self._folded[channel][1]
        for key in fields:
            state.pop(key, None)
        state.update(kept)

    def check(self):
        for channel in list(self._folded):
            self._check(channel)
        numbers = [envelope["serverSeq"] for envelope in self.watcher.said]
        assert numbers == sorted(set(numbers))

    def _check(self, channel):
        if channel not in self._folded:
            return
        kind, state, since = self._folded[channel]
        for envelope in self.watcher.said[since:]:
            if envelope["channel"] == channel and "rejectionReason" not in envelope:
                action = envelope["action"]
                if "origin" not in envelope:
                    check_strict(action, ACTIONS[action["type"]].shape, action["type"])
                state = REDUCERS[kind](state, action)
        # What was amended is laid over: no action carries it.
        amended = {k: v for k, v in self.state(channel).items() if k in ("title", "activity")}
        folded = {**plain(state), **amended}
        if "activity" not in amended:
            folded.pop("activity", None)
        difference = first_difference(folded, plain(self.state(channel)))
        assert difference is None, f"{channel}: {difference}"


class SessionsHost:
    """The sessions of a host on a clock, with what a test asks of them in short words.

    `kept` is where they are kept, memory where none is given; `programs` starts the programs
    of terminals, None for a host without any; `options` are more of `SessionsService`. What is
    done behind what clients see has a clock of its own, `upkeep`, which stands still until a
    test moves it.
    """

    def __init__(self, window=0, agents=None, kept=None, programs=None, **options):
        self.clock = Clock()
        self.upkeep = Clock()
        self.agent = ScriptedAgent()
        self.agents = agents if agents is not None else {"scripted": self.agent}
        if kept is None:
            kept = MemorySessionStore()
            kept.open()
        self.kept = kept
        self.programs = programs
        self._options = {"delta_window_ms": window, **options}
        self._ids = itertools.count(1)
        self._build()
        self._turns = itertools.count(1)
        self._seqs = itertools.count(1)

    def _build(self):
        self.store = CheckedStore()
        schema = {"type": "object", "properties": {}}
        self.root = {
            "agents": [],
            "activeSessions": 0,
            "config": {"schema": schema, "values": {}},
        }
        self.store.open(ROOT, ChannelKind.ROOT, self.root)
        ground = {
            "now": lambda: START + timedelta(seconds=self.clock.seconds()),
            "ids": lambda: f"id-{next(self._ids)}",
        }
        self.terminals = None
        if self.programs is not None:
            self.terminals = TerminalsService(
                self.store,
                self.programs,
                self.clock,
                listed=self._terminals_changed,
                kept=self.kept.terminal,
                environment={"SHELL": "/bin/sh", "HOME": "/"},
                **ground,
            )
        self.service = SessionsService(
            self.store,
            self.agents,
            self.clock,
            kept=self.kept,
            upkeep=self.upkeep,
            terminals=self.terminals,
            **ground,
            **self._options,
        )

    def _terminals_changed(self, infos):
        self.store.dispatch(ROOT, {"type": "root/terminalsChanged", "terminals": infos})

    def crash(self):
        """End as a process that is killed does, and begin again on what was kept."""
        self.store.check()
        self.store = None
        for clock in (self.clock, self.upkeep):
            for call in tuple(clock.getDelayedCalls()):
                call.cancel()
        self._build()

    def restart(self):
        """End in order, and begin again on what was kept."""
        self.wait(self.service.drain())
        self.crash()

    def pass_time(self, seconds):
        """Let time pass, behind what clients see too."""
        self.clock.advance(seconds)
        self.upkeep.advance(seconds)

    # -- asking ------------------------------------------------------------------

    def session(self, uri="ahp-session:/s1", **params):
        self.service.create({"channel": uri, **params}, "client-1")
        return uri

    def chat(self, session="ahp-session:/s1"):
        """The URI of a session's default chat."""
        return self.state(session)["defaultChat"]

    def dispatch(self, channel, action_type, /, client="client-1", **fields):
        """A client's action; the words of its refusal, or None."""
        handler = (
            self.service.chat_actions
            if channel.startswith("ahp-chat:")
            else self.service.session_actions
        )
        origin = {"clientId": client, "clientSeq": next(self._seqs)}
        try:
            assert handler.handle(channel, {"type": action_type, **fields}, origin) is None
        except Refusal as refusal:
            return refusal.reason
        return None

    def turn(self, chat, text="hello", turn_id=None, **fields):
        """A client starts a turn; its id, or its refusal."""
        turn_id = turn_id or f"turn-{next(self._turns)}"
        refused = self.dispatch(
            chat,
            "chat/turnStarted",
            turnId=turn_id,
            startedAt=self.now(),
            message={"text": text, "origin": {"kind": "user"}},
            **fields,
        )
        return turn_id if refused is None else refused

    def queue(self, chat, identifier, text="queued", kind="queued"):
        message = {"text": text, "origin": {"kind": "user"}}
        return self.dispatch(
            chat, "chat/pendingMessageSet", kind=kind, id=identifier, message=message
        )

    def stop(self, chat, turn_id):
        return self.dispatch(chat, "chat/turnCancelled", turnId=turn_id, duration=1)

    def now(self):
        moment = START + timedelta(seconds=self.clock.seconds())
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def wait(self, coroutine):
        """The result of something that is done by now."""
        results = []
        Deferred.fromCoroutine(coroutine).addBoth(results.append)
        assert results, "not done yet"
        if hasattr(results[0], "raiseException"):
            results[0].raiseException()
        return results[0]

    # -- reading -----------------------------------------------------------------

    def state(self, channel):
        """A channel's state; a session that is asleep is woken for it."""
        if not self.store.is_open(channel) and self.service.channels.resolve(channel) == channel:
            self.service.channels.ready(channel)
        return plain(self.store.state(channel))

    def said(self, channel=None):
        return [
            envelope["action"]
            for envelope in self.store.watcher.said
            if channel in (None, envelope["channel"])
        ]

    def kinds(self, channel=None):
        return [action["type"] for action in self.said(channel)]

    def listing(self, params):
        """What `listSessions` answers, as its client reads it."""
        return decode(encode(self.service.listing(params)))

    def told(self, method=None):
        return [params for name, params in self.store.watcher.told if method in (None, name)]

    def forget(self):
        """Begin anew with what was said and told, for a test's own reading."""
        self.store.check()
        self.store.watcher.said.clear()
        self.store.watcher.told.clear()
        for channel, folded in self.store._folded.items():
            folded[1], folded[2] = plain(self.store.state(channel)), 0

    def turns(self, chat):
        return self.state(chat)["turns"]

    def text(self, turn):
        return "".join(
            part["content"] for part in turn["responseParts"] if part["kind"] == "markdown"
        )


class Caller:
    """A caller with the things these commands read."""

    derives_chats = False
    locale = None
    shown_row = None

    def __init__(self, client_id="client-1"):
        self.record = ClientRecord(client_id=client_id, version="1.0.0")

    def sees(self, channel):
        return True


@pytest.fixture(autouse=True)
def nothing_fails_in_the_log(request):
    """A failure the host logs fails the test, unless it is marked `logs_failures`."""
    failures = []

    def note(event):
        if "log_failure" in event:
            failures.append(formatEvent(event) + "\n" + event["log_failure"].getTraceback())

    globalLogPublisher.addObserver(note)
    yield
    globalLogPublisher.removeObserver(note)
    if request.node.get_closest_marker("logs_failures") is None:
        assert not failures, "\n".join(failures)


@pytest.fixture(autouse=True)
def nothing_planted_is_logged(request):
    """A planted secret in the log, at any level, fails the test: but for one that leaks to see it."""
    said = []

    def note(event):
        found = logged_leak(event)
        if found is not None:
            said.append(found)

    globalLogPublisher.addObserver(note)
    yield said
    globalLogPublisher.removeObserver(note)
    if request.node.get_closest_marker("leaks") is None:
        assert not said, f"the log holds a planted secret: ...{said[0]}..."


@pytest.fixture
def sessions_host():
    """Makes `SessionsHost`s; what each said is folded and compared when the test is over."""
    made = []

    def make(**options):
        host = SessionsHost(**options)
        made.append(host)
        return host

    yield make
    for host in made:
        host.store.check()
    made.clear()  # who ran the test may hold this function for long


@pytest.fixture
def caller():
    """Makes callers by their client id."""
    return Caller


@pytest.fixture
def log_lines():
    """Answers the lines the host has logged so far in this test."""
    lines = []

    def note(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(note)
    yield lambda: list(lines)
    globalLogPublisher.removeObserver(note)
