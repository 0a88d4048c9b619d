"""What an unloaded plugin's code left in the reactor, and whom that code may not be taken for."""

import os
import re
import socket
import sys
import textwrap
import types
from functools import partial

import pytest
from pytest_twisted import ensureDeferred
from twisted.application.internet import ClientService
from twisted.internet import reactor
from twisted.internet.abstract import FileDescriptor
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.endpoints import TCP4ClientEndpoint
from twisted.internet.protocol import DatagramProtocol, Factory, ProcessProtocol, Protocol
from twisted.internet.task import Clock, LoopingCall, TaskStopped, cooperate, deferLater
from twisted.logger import globalLogPublisher
from twisted.web.client import Agent, HTTPConnectionPool
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from ahpd.plugins import left_behind
from ahpd.plugins.whose import Whose

NAME = "left_here"


def end_left_behind(reactor, modules=(NAME,), *, stands=(), handed=(), said=None):
    """What `modules` left is ended, while those that stand run on."""
    of = Whose(frozenset(modules), frozenset(stands).__contains__, handed, NAME)
    return left_behind.end_left_behind(reactor, of, said)


def without_names(lines):
    """The lines without what the code is called."""
    return [re.sub(r" \(\w+\)(?=,|$)", "", line) for line in lines]


@pytest.fixture
def code():
    """Runs code as a module's of that name; what it holds then."""

    def run(text, **given):
        module = types.ModuleType(NAME)
        vars(module).update(given)
        exec(compile(textwrap.dedent(text), "left_here.py", "exec"), vars(module))
        return module

    return run


@pytest.fixture
def clock():
    return Clock()


def running(clock):
    return [call for call in clock.getDelayedCalls() if call.active()]


TIMERS = {
    "a function": "clock.callLater(5, later)",
    "a lambda": "clock.callLater(5, lambda: None)",
    "a bound method": "clock.callLater(5, Beat().strike)",
    "a partial": "clock.callLater(5, partial(later, 1))",
    "a function among the arguments": "clock.callLater(5, map, later, [])",
    "a keyword": "clock.callLater(5, dict, call=later)",
    "a loop": "repeated(later).start(5, now=False)",
    "a loop of a method": "repeated(Beat().strike).start(5, now=False)",
    "a wait of a coroutine": "Deferred.fromCoroutine(waits())",
    "a wait within a wait": "Deferred.fromCoroutine(outer())",
    "a put off call": "deferLater(clock, 5, later)",
    "a bound on a wait": "Deferred().addCallback(later).addTimeout(5, clock)",
    "a bound on what a coroutine awaits": "Deferred.fromCoroutine(bounded())",
}
CODE = """
class Beat:
    def strike(self): pass

def later(*given): pass

async def waits():
    await deferLater(clock, 5)

async def outer():
    await waits()

async def bounded():
    await Deferred().addTimeout(5, clock)

def repeated(call):
    loop = LoopingCall(call)
    loop.clock = clock
    return loop
"""
GIVEN = {
    "deferLater": deferLater,
    "Deferred": Deferred,
    "LoopingCall": LoopingCall,
    "partial": partial,
}


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
@ensureDeferred
async def test_a_timer_of_its_code_is_cancelled_and_said(code, clock, timer):
    code(f"{CODE}\nheld = {timer}\n", clock=clock, **GIVEN)
    assert len(running(clock)) == 1
    assert without_names(await end_left_behind(clock)) == [f"it left a timer of {NAME} running"]
    assert running(clock) == []


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
@ensureDeferred
async def test_the_same_timer_of_anybody_else_goes_on(code, clock, timer):
    code(f"{CODE}\nheld = {timer}\n", clock=clock, **GIVEN)
    assert await end_left_behind(clock, {"left", "left_here.more"}) == []
    assert await end_left_behind(clock, ()) == []
    assert len(running(clock)) == 1


@ensureDeferred
async def test_what_the_host_waits_with_for_its_code_goes_on(code, clock):
    """A bound of ahpd's on a plugin's call is ahpd's, whatever it leads to."""
    from ahpd.bounded import bounded

    never = code("async def never(): await Deferred()", Deferred=Deferred).never
    waiting = bounded(never, 5, clock)
    waiting.addErrback(lambda failure: None)
    host = types.ModuleType("ahpd.somewhere")
    lines = "async def wait(call):\n    await Deferred.fromCoroutine(call()).addTimeout(5, clock)\n"
    vars(host).update(Deferred=Deferred, clock=clock)
    exec(lines, vars(host))
    waits = Deferred.fromCoroutine(host.wait(never))
    waits.addErrback(lambda failure: None)
    assert without_names(await end_left_behind(clock)) == []
    assert len(running(clock)) == 2
    clock.advance(5)


SERVERS = {
    "its factory": "class F(Factory): pass\nserver = F()",
    "a factory of its protocol": "class P(Protocol): pass\nserver = Factory.forProtocol(P)",
    "a site of its resource": "class R(Resource): pass\nserver = Site(R())",
    "a site with its resource below": (
        "class R(Resource): pass\nabove = Resource()\nabove.putChild(b'a', R())\nserver = Site(above)"
    ),
}
SERVES = {"Factory": Factory, "Protocol": Protocol, "Resource": Resource, "Site": Site}


@pytest.mark.parametrize("server", SERVERS.values(), ids=SERVERS)
@ensureDeferred
async def test_a_listener_is_stopped_and_its_port_is_free_at_once(code, server):
    port = reactor.listenTCP(0, code(server, **SERVES).server, interface="127.0.0.1")
    number = port.getHost().port
    try:
        assert await end_left_behind(reactor, {"another"}) == []
        lines = without_names(await end_left_behind(reactor))
        assert lines == [f"it left a listener of {NAME} at {number}"]
        again = reactor.listenTCP(number, Factory(), interface="127.0.0.1")
        await again.stopListening()
    finally:
        await maybeDeferred(port.stopListening)


@ensureDeferred
async def test_listeners_on_paths_and_for_datagrams_are_too(code, tmp_path):
    module = code(
        "class F(Factory): pass\nclass D(DatagramProtocol): pass",
        Factory=Factory,
        DatagramProtocol=DatagramProtocol,
    )
    reactor.listenUNIX(str(tmp_path / "s"), module.F())
    udp = reactor.listenUDP(0, module.D(), interface="127.0.0.1")
    number = udp.getHost().port
    lines = without_names(await end_left_behind(reactor))
    assert sorted(lines) == [
        f"it left a listener of {NAME} at {number}",
        f"it left a listener of {NAME} at {os.fsencode(tmp_path / 's')!r}",
    ]
    assert not (tmp_path / "s").exists()


@ensureDeferred
async def test_connections_it_accepted_and_made_are_closed(code):
    up, gone = Deferred(), Deferred()
    module = code(
        """
        class P(Protocol):
            def connectionMade(self): up.callback(None)
            def connectionLost(self, reason): gone.callback(None)
        """,
        Protocol=Protocol,
        up=up,
        gone=gone,
    )
    port = reactor.listenTCP(0, Factory.forProtocol(module.P), interface="127.0.0.1")
    with socket.create_connection(("127.0.0.1", port.getHost().port)) as other:
        await up
        lines = without_names(await end_left_behind(reactor))
        assert f"it left a connection of {NAME} open" in lines
        await gone
        other.settimeout(10)
        with pytest.raises(ConnectionResetError):
            other.recv(1)


@ensureDeferred
async def test_a_process_is_killed(code):
    up, gone = Deferred(), Deferred()
    module = code(
        """
        class P(ProcessProtocol):
            def connectionMade(self): up.callback(None)
            def processEnded(self, reason): gone.callback(reason.value.signal)
        """,
        ProcessProtocol=ProcessProtocol,
        up=up,
        gone=gone,
    )
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    process = reactor.spawnProcess(module.P(), sys.executable, sleeps, env=dict(os.environ))
    await up
    pid = process.pid
    lines = without_names(await end_left_behind(reactor))
    assert f"it left process {pid} of {NAME} running" in lines
    assert await gone == 9


@ensureDeferred
async def test_what_cannot_be_ended_is_said_and_the_rest_is_ended(code, clock, monkeypatch):
    code("clock.callLater(1, lambda: 1)\nclock.callLater(2, lambda: 2)", clock=clock)
    first = clock.getDelayedCalls()[0]

    def broken():
        raise RuntimeError("no")

    monkeypatch.setattr(first, "cancel", broken)
    assert without_names(await end_left_behind(clock)) == [
        f"it left a timer of {NAME} running, which could not be ended (RuntimeError: no)",
        f"it left a timer of {NAME} running",
    ]
    assert [call for call in clock.getDelayedCalls() if call is not first] == []


@pytest.mark.logs_failures
@ensureDeferred
async def test_what_is_never_down_holds_nobody_up_and_is_taken_out(code, monkeypatch):
    monkeypatch.setattr(left_behind, "END_BOUND", 0.2)
    module = code(
        """
        class Says(DatagramProtocol):
            def stopProtocol(self): self.transport.write(b"bye")
        class Serial(FileDescriptor):
            def loseConnection(self): return Deferred()
        """,
        DatagramProtocol=DatagramProtocol,
        FileDescriptor=FileDescriptor,
        Deferred=Deferred,
    )
    udp = reactor.listenUDP(0, module.Says(), interface="127.0.0.1")
    number = udp.getHost().port
    ours, theirs = socket.socketpair()
    with ours, theirs:
        serial = module.Serial(reactor)
        serial.fileno = ours.fileno
        serial.startReading()
        lines = await end_left_behind(reactor)
        assert sorted(lines) == [
            f"it left a connection of {NAME} open (Serial), which is not down 0.2 s after it was "
            "ended",
            f"it left a listener of {NAME} at {number} (Says), which is not down 0.2 s after it "
            "was ended",
        ]
        assert not {serial, udp} & {*reactor.getReaders()}
        assert await end_left_behind(reactor) == []


def test_each_is_said_with_what_it_runs(code, clock):
    held = code(
        f"{CODE}\nclock.callLater(1, later)\nclock.callLater(2, Beat().strike)\n"
        "clock.callLater(3, lambda: 0)\nheld = Deferred.fromCoroutine(outer())",
        clock=clock,
        **GIVEN,
    ).held
    held.addErrback(lambda failure: None)
    lines = []
    Deferred.fromCoroutine(end_left_behind(clock)).addCallback(lines.extend)
    assert sorted(lines) == [
        f"it left a timer of {NAME} running ({name})"
        for name in ("lambda", "later", "outer", "strike")
    ]


class Waits(Protocol):
    """Takes what comes."""


@ensureDeferred
async def test_a_service_that_connects_again_does_not(code):
    up = Deferred()
    module = code(
        """
        class P(Protocol):
            def connectionMade(self):
                if not up.called: up.callback(None)
        class F(Factory):
            protocol = P
        """,
        Protocol=Protocol,
        Factory=Factory,
        up=up,
    )
    port = reactor.listenTCP(0, Factory.forProtocol(Waits), interface="127.0.0.1")
    try:
        to = TCP4ClientEndpoint(reactor, "127.0.0.1", port.getHost().port)
        ClientService(to, module.F()).startService()
        await up
        lines = without_names(await end_left_behind(reactor))
        assert sorted(lines) == [
            f"it left a connection of {NAME} open",
            f"it left a timer of {NAME} running",
        ]
        assert await end_left_behind(reactor) == []
    finally:
        await port.stopListening()


@ensureDeferred
async def test_an_answer_whose_body_is_delivered_to_it_is_closed(code):
    asked, begun = Deferred(), Deferred()

    class Endless(Resource):
        isLeaf = True

        def render_GET(self, request):
            request.notifyFinish().addErrback(lambda failure: None)
            request.write(b"begun")
            return NOT_DONE_YET

    module = code(
        "class Body(Protocol):\n    def dataReceived(self, data): begun.callback(data)",
        Protocol=Protocol,
        begun=begun,
    )
    pool = HTTPConnectionPool(reactor, persistent=False)
    port = reactor.listenTCP(0, Site(Endless()), interface="127.0.0.1")
    try:
        url = f"http://127.0.0.1:{port.getHost().port}/".encode()
        Agent(reactor, pool=pool).request(b"GET", url).chainDeferred(asked)
        (await asked).deliverBody(module.Body())
        assert await begun == b"begun"
        assert await end_left_behind(reactor) == [f"it left a connection of {NAME} open (Body)"]
        assert await end_left_behind(reactor) == []
    finally:
        await port.stopListening()


@ensureDeferred
async def test_tasks_observers_and_calls_at_the_stop_go(code):
    module = code(
        """
        def steps():
            while True: yield None
        def hears(event): heard.append(event)
        def at_stop(what): pass
        """,
        heard=[],
    )
    task = cooperate(module.steps())
    ended = task.whenDone()
    ended.addErrback(lambda failure: None)
    globalLogPublisher.addObserver(module.hears)
    reactor.addSystemEventTrigger("before", "shutdown", module.at_stop, 1)
    assert await end_left_behind(reactor, {"another"}) == []
    lines = await end_left_behind(reactor)
    assert sorted(lines) == [
        f"it left a call of {NAME} at the reactor's shutdown (at_stop)",
        f"it left a task of {NAME} running (steps)",
        f"it left an observer of the log of {NAME} (hears)",
    ]
    assert await end_left_behind(reactor) == []
    with pytest.raises(TaskStopped):
        task.pause()


@ensureDeferred
async def test_that_something_cannot_be_looked_at_costs_nothing_else(code, monkeypatch):
    held = code("clock.callLater(60, print, later := lambda: 0)", clock=reactor)

    def broken():
        raise RuntimeError("no")

    monkeypatch.setattr(reactor, "getReaders", broken)
    assert await end_left_behind(reactor) == [f"it left a timer of {NAME} running (lambda)"]
    assert held


@ensureDeferred
async def test_what_does_not_even_say_what_it_is_is_taken_out(code):
    module = code(
        """
        class Odd(FileDescriptor):
            @property
            def __provides__(self): raise RuntimeError("no")
            def __getattr__(self, name): raise RuntimeError(name)
        """,
        FileDescriptor=FileDescriptor,
    )
    ours, theirs = socket.socketpair()
    with ours, theirs:
        odd = module.Odd(reactor)
        odd.fileno = ours.fileno
        odd.startReading()
        (line,) = await end_left_behind(reactor)
        assert line == f"it left a descriptor of {NAME} open (Odd)"
        assert not [one for one in reactor.getReaders() if one is odd]
