"""A host to throw things at, and what must hold of it afterwards.

`Rig` is a whole host with something in it and a well-behaved client beside the rude
ones. After every step it is held to: no failure in the log, every frame in shape, an
answer to whatever is owed one; at the end also to its states being what it said, to
serving a newcomer, and to nothing being left behind.
"""

import contextlib
import itertools

from twisted.logger import LogLevel, formatEvent, globalLogPublisher
from zope.interface import implementer

from ahpd.interfaces import AgentFailure, IMessageHandler, IPeerFactory
from ahpd.protocol.errors import INTERNAL_ERROR
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import Gate
from ahpd.testing.frames import FrameChecker
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.transports.memory import pair
from ahpd.wire.codec import Frame, decode, encode

from .fence import FENCE, Watches, fenced_files
from .names import EXTRA, GONE, HEALTHY, HOMES, ONE, RUDE_WATCH, SHELL, TOOL, TWO
from .oracle import SILENCE, expected_answer

MESSAGE = {"text": "hello", "origin": {"kind": "user"}}
STARTED = "2026-01-01T00:00:00.000Z"
CONFIG = {
    "type": "object",
    "properties": {
        "approvals": {"type": "string", "title": "Approvals", "enum": ["ask", "never"]},
        "a": {
            "type": "array",
            "title": "A",
            "items": {"type": "number", "title": "One"},
            "sessionMutable": True,
        },
    },
}


#: What programs in terminals print, piece by piece: text, and the marks a shell is made to say.
PRINTED = [
    b"\x1b]133;A\x07$ \x1b]133;B\x07",
    b"ls\r\n\x1b]133;C\x07",
    b"one\r\n" * 40,
    b"\xe2\x82",
    b"\xac \xff\xfe\x00",
    b"\x1b]133;D;0\x07\x1b]7;file:///fuzz\x07",
    b"\x1b]133;D\x1b\\\x1b]7;nowhere\x07\x1b]7;file:///%ff\x07",
    b"\x1b]633;E;rm -rf /\x07\x1b]633;C\x07so\x1b]633;D;-1\x07",
    b"\x1b]133;",
    b"\x1b]133;C\x07" * 30,
    b"x" * 30_000,
    b"\x1b[?1049h\x1b[2J" + b"\x1b]0;a title\x07",
]

#: What a rude client answers the host with: every other time what is right, by method,
RIGHT = {
    "createResourceWatch": {"channel": RUDE_WATCH},
    "resourceRead": {"data": "x", "encoding": "utf-8"},
    "resourceList": {"entries": []},
    "resourceResolve": {"uri": "mem:/a", "type": "file"},
}
#: else one of these after another.
ANSWERS = [
    {"error": {"code": -32601, "message": "Method not found"}},
    {"result": None},
    {"error": {"code": 17, "message": "", "data": [1]}},
    {"result": {"entries": [{"name": "../x", "type": 7}]}},
    {"result": {"channel": 3}},
    {"error": {"code": "x"}},
    {"result": []},
    {"result": {}},
]


class LogWatch:
    """Keeps what a host logs of its own failing: errors, stacks, events nobody could format."""

    def __init__(self):
        self.faults = []

    def __call__(self, event):
        words = formatEvent(event)
        broken = "Unable to format event" in words or "Traceback (most recent" in words
        failure = event.get("log_failure")
        if failure is not None:
            words += "\n" + failure.getTraceback()
        if failure is not None or broken or event.get("log_level", LogLevel.info) >= LogLevel.error:
            self.faults.append(words)

    def __enter__(self):
        globalLogPublisher.addObserver(self)
        return self

    def __exit__(self, *_):
        globalLogPublisher.removeObserver(self)

    def check(self):
        assert not self.faults, "\n".join(self.faults)


def is_anothers(words):
    """Whether -32603 is what is due: somebody called it off, or a client is not there."""
    theirs = ("No connection for authority:", "The client ", "The client's answer")
    return "cancelled" in words or words.startswith(theirs)


@implementer(IMessageHandler, IPeerFactory)
class RudeEnd:
    """A connection's client end that sends bytes and judges what comes back."""

    def __init__(self):
        self.checker = FrameChecker(foreign=True)
        self.faults = []
        self.received = []
        self.lost = None
        self.link = None
        self._connection = None
        self._answers = itertools.cycle([each for odd in ANSWERS for each in (None, odd)])

    def accept(self, connection):
        self._connection = connection
        return self

    @property
    def connected(self):
        return self.lost is None and not self.link.ended

    def send(self, data):
        with contextlib.suppress(ValueError):
            self.checker.client_sent(decode(data))
        self._connection.send(Frame(data))

    def message_received(self, data):
        message = decode(data)
        self.received.append(message)
        try:
            self.checker.host_sent(message)
        except AssertionError as fault:
            self.faults.append(f"{fault}: {data[:600]!r}")
        error = message.get("error", {})
        words = message.get("params", {}).get("rejectionReason") or error.get("message", "")
        if words.endswith("the host's log says why"):
            self.faults.append(words)
        if error.get("code") == INTERNAL_ERROR and not is_anothers(words):
            self.faults.append(words)
        if "method" in message and "id" in message and self.link is not None and self.connected:
            right = {"result": RIGHT.get(message["method"], {})}
            answer = next(self._answers) or right
            self.send(encode({"jsonrpc": "2.0", "id": message["id"], **answer}))

    def connection_lost(self, reason):
        self.lost = reason

    def answers(self):
        return [message for message in self.received if "method" not in message]


class Rig:
    """The host, its sessions, the client that behaves, and the ends that do not."""

    def __init__(self, **settings):
        assert FENCE.stands, "what is thrown here may delete any file of this machine"
        FENCE.enter()
        self.log = LogWatch()
        self.log.__enter__()
        settings.setdefault("replay_bytes", 0)
        self.programs = ScriptedTerminals()
        self.watches = Watches()
        files = {"file": fenced_files(self.watches)}
        self.host = MemoryHost(terminals=self.programs, resources=files, **settings)
        self.host.agent.schema = CONFIG
        self.host.agent.always = self._script
        self.ends = []
        self._gates = []
        self._printed = itertools.cycle(PRINTED)
        self._changes = itertools.cycle(["added", "updated", "deleted"])
        self._names = itertools.count(1)
        self.healthy = self.host.connect("healthy", ROOT, foreign=True)
        self._furnish()

    def _furnish(self):
        """A session with a turn behind it and one that runs, with queue, marks and a chat more."""
        for session in (ONE, TWO, GONE, HEALTHY):
            self._ask("createSession", channel=session)
        self._ask("createChat", channel=ONE, chat=EXTRA)
        self._ask("disposeSession", channel=GONE)
        client = {"kind": "client", "clientId": "healthy"}
        session = {"kind": "session", "session": ONE, "chat": EXTRA}
        self._ask("createTerminal", channel=SHELL, claim=client)
        self._ask("createTerminal", channel=TOOL, claim=session)
        assert {SHELL, TOOL} <= set(HOMES["terminal"])
        self.one, self.two = (self.host.store.state(s)["defaultChat"] for s in (ONE, TWO))
        assert {self.one, self.two, EXTRA} <= set(HOMES["chat"]), (self.one, self.two)
        self._watch_all()
        for chat, turn, text in ((self.one, "t-done", "hello"), (self.two, "t-run", "tool wait")):
            self._say(
                chat,
                type="chat/turnStarted",
                turnId=turn,
                startedAt=STARTED,
                message={**MESSAGE, "text": text},
            )
        self._say(self.two, type="chat/pendingMessageSet", kind="queued", id="q-1", message=MESSAGE)
        mark = {
            "id": "a-1",
            "resource": "file:///x",
            "turnId": "t-done",
            "resolved": False,
            "entries": [{"id": "e-1", "text": "hm"}],
        }
        self.host.run(self.healthy.subscribe(f"{ONE}/annotations"))
        self._say(f"{ONE}/annotations", type="annotations/set", annotation=mark)
        self.step()

    def _ask(self, method, **params):
        return self.host.run(self.healthy.request(method, **params))

    def _say(self, channel, **action):
        self.healthy.dispatch(channel, action)
        self.host.settle()

    async def _script(self, turn):
        """A turn by the words of its message; one that is told to wait does until it is stopped."""
        text = turn.request.text
        part = turn.markdown("so ")
        if "tool" in text:
            turn.tool("look", "seen")
        if "slow" in text:
            gate = Gate()
            self._gates.append(gate)
            await gate.passed()
        if "wait" in text:
            await turn.forever()
        if "fail" in text:
            raise AgentFailure("it failed")
        turn.delta(part, "far")

    # -- the rude ones ---------------------------------------------------------

    def open(self, introduced=True, client_id=None):
        """A new connection; introduced under a name of its own, or under none."""
        end = RudeEnd()
        end.link = pair(self.host.clock, self.host.host.peers, end, "rude").link
        self.ends.append(end)
        if introduced:
            name = client_id or f"fuzz-{next(self._names)}"
            end.send(
                b'{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"channel":'
                b'"ahp-root://","protocolVersions":["1.0.0"],"clientId":"%s",'
                b'"initialSubscriptions":["ahp-root://","%s","%s"]}}'
                % (name.encode(), ONE.encode(), self.two.encode())
            )
            self.host.settle()
            assert "result" in end.answers()[-1], end.received
        return end

    def throw(self, end, data):
        """Send one frame, and see it answered as JSON-RPC has it and nobody harmed."""
        before = len(end.answers())
        wanted = expected_answer(data)
        end.send(data)
        self.step()
        if end.lost is not None:
            return
        got = end.answers()[before:]
        if wanted is SILENCE:
            assert not got, f"{data[:300]!r} wants no answer and got {got}"
            return
        if wanted[0] == "answer" and not got:
            self.host.advance(15)  # what it stops has its grace
            self.step()
            got = end.answers()[before:]
        assert len(got) == 1, f"{data[:300]!r} wants {wanted} and got {got}"
        answer = got[0]
        assert answer["id"] == wanted[1], f"{data[:300]!r}: {wanted}, {answer}"
        assert type(answer["id"]) is type(wanted[1]), f"{data[:300]!r}: {wanted}, {answer}"
        if wanted[0] == "error":
            assert answer["error"]["code"] == wanted[2], f"{data[:300]!r}: {wanted}, {answer}"

    def cut(self, end):
        end.link.cut()
        self.step()

    def let_agents_go_on(self):
        while self._gates:
            self._gates.pop().open()
        self.step()

    def let_programs_go_on(self):
        """Each prints something more, and one of three ends. Files change meanwhile."""
        self.watches.change(next(self._changes))
        for number, program in enumerate(self.programs.running):
            program.prints(next(self._printed))
            if number % 3 == 2:
                program.exits(*((None, "SIGHUP") if program.pid % 2 else (program.pid % 3,)))
        self.step()

    # -- what holds ------------------------------------------------------------

    def step(self):
        """Let happen what is due, and see that nothing went wrong."""
        self.host.settle()
        self._let_go()
        self.log.check()
        self.healthy.check()
        for end in self.ends:
            assert not end.faults, "\n".join(end.faults)

    def _let_go(self):
        # A client that is told a channel is gone holds it no longer.
        for channel in list(self.healthy.subscriptions):
            if not self.host.store.is_open(channel):
                self.healthy.unsubscribe(channel)

    def _watch_all(self):
        for channel in list(self.host.store._channels):
            if channel not in self.healthy.subscriptions:
                self.host.run(self.healthy.subscribe(channel))

    def finish(self):
        """All that must hold at the end; afterwards the host is down."""
        try:
            self._finish()
        finally:
            self.log.__exit__()
            FENCE.leave()

    def _finish(self):
        self.step()
        self.host.check()
        # Said to nobody so far may still be said wrongly: everything is read once.
        self._watch_all()
        self.host.check()
        self._serve_a_newcomer()
        self.let_agents_go_on()
        self.let_programs_go_on()
        self.host.advance(60)
        self.step()
        for end in self.ends:
            if end.connected:
                left = end.checker.unanswered()
                assert not left, f"never answered: {left}"
        for end in self.ends:
            end.link.cut()
        self.step()
        peers = self.host.host.peers.peers
        assert len(peers) == 2, f"connections left: {[peer.name for peer in peers]}"
        watching = {
            w for watchers in self.host.store._watchers.by_channel.values() for w in watchers
        }
        assert watching <= set(peers), "a connection that is gone is still told things"
        self._let_go()
        self.host.stop()
        self.log.check()

    def _serve_a_newcomer(self):
        late = self.host.connect("newcomer", ROOT, foreign=True)
        session = "ahp-session:/of-the-newcomer"
        self.host.run(late.request("createSession", channel=session))
        self.host.run(late.subscribe(session))
        chat = late.state(session)["defaultChat"]
        self.host.run(late.subscribe(chat))
        late.dispatch(
            chat,
            {"type": "chat/turnStarted", "turnId": "t", "startedAt": STARTED, "message": MESSAGE},
        )
        self.host.settle()
        late.check()
        turn = late.plain_state(chat)["turns"][0]
        assert (turn["state"], turn["responseParts"][0]["content"]) == ("complete", "so far")
