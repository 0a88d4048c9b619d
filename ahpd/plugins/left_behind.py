"""What the code of an unloaded plugin left running: its timers, sockets and processes are ended.

A plugin closes what it opened. What one forgot would run on in code that nobody can see any more,
and hold the port its next copy wants. So whoever lets go of a plugin's modules asks here, and
whatever is held for them is stopped, a line said for each. A thread cannot be ended, and is said.

Whose something is, `ahpd.plugins.whose` says: nothing of the host, of another plugin or of a
library is touched.
"""

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final
from weakref import WeakKeyDictionary

from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import (
    IListeningPort,
    IReactorFDSet,
    IReactorProcess,
    IReactorTime,
    ITransport,
)
from twisted.internet.process import Process, reapProcessHandlers
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ahpd.bounded import Overdue, bounded, words_of
from ahpd.plugins import left_elsewhere
from ahpd.plugins.left import Left
from ahpd.plugins.whose import Code, Whose

log = Logger()

#: Seconds all that is ended at once may take to be down.
END_BOUND: Final = 3.0
#: How often what an end has begun anew is looked for: whoever loses a connection makes another.
_ROUNDS: Final = 4
#: What something had come to before it was ended.
_GONE: Final = object()
#: The threads that were said, each with the call it was in then.
Said = WeakKeyDictionary[threading.Thread, int]


async def end_left_behind(reactor: Any, of: Whose, said: Said | None = None) -> list[str]:
    """End what runs code that `of` knows; a line for each, without the plugin's name.

    A listener's port is free when this returns. It never raises: what cannot be ended is said too.
    A thread that was `said` is not again.
    """
    lines: list[str] = []
    known: dict[int, Left] = {}
    for _ in range(_ROUNDS):
        before = len(known)
        # All is found first: to end a socket takes a timer, which leads to its protocol.
        for found in [_found(find, reactor, of) for find in _FINDS]:
            left = {id(one.thing): one for one in found if id(one.thing) not in known}
            known |= left
            ended = [(one.what, _ended(reactor, one)) for one in left.values()]
            lines += [
                f"it left {what}{how}" for what, end in ended if (how := await end) is not None
            ]
        if len(known) == before or not IReactorFDSet.providedBy(reactor):
            break
        clock: Any = reactor
        await deferLater(clock, 0)
    said = WeakKeyDictionary() if said is None else said
    return lines + [f"it left {line}" for line in _threads(of, said)]


def _found(find: Callable[[Any, Whose], Iterator[Left]], reactor: Any, of: Whose) -> list[Left]:
    left: list[Left] = []
    try:
        left.extend(find(reactor, of))
    except Exception as error:
        log.warn("not all a plugin left can be found: {why}", why=words_of(error))
    return left


def _ended(reactor: Any, left: Left) -> "Deferred[str | None]":
    """End something: words of how that went, None where another's end was its own."""
    timed = IReactorTime.providedBy(reactor)
    ending = bounded(left.end, END_BOUND, reactor) if timed else maybeDeferred(left.end)

    def failed(failure: Any) -> str:
        with contextlib.suppress(Exception):
            left.force()
        if failure.check(Overdue):
            return f", which is not down {END_BOUND:g} s after it was ended"
        return f", which could not be ended ({words_of(failure.value)})"

    return ending.addCallbacks(lambda result: None if result is _GONE else "", failed)


# -- what there is ---------------------------------------------------------------------


def _sockets(reactor: Any, of: Whose) -> Iterator[Left]:
    if not IReactorFDSet.providedBy(reactor):
        return
    held = {id(one): one for one in (*reactor.getReaders(), *reactor.getWriters())}
    for one in held.values():
        if (code := of(one)) is None:
            continue
        take_out = partial(_take_out, reactor, one)
        try:
            yield _socket(one, code, take_out)
        except Exception:  # it is the plugin's own code that says what it is
            yield Left(one, f"a descriptor of {code.module} open ({code.name})", take_out)


def _socket(one: Any, code: Code, take_out: Callable[[], object]) -> Left:
    if IListeningPort.providedBy(one):
        what = f"a listener of {code.module} at {_address(one)} ({code.name})"
        return Left(one, what, one.stopListening, take_out)
    if ITransport.providedBy(one):
        abort = getattr(one, "abortConnection", None) or one.loseConnection
        return Left(one, f"a connection of {code.module} open ({code.name})", abort, take_out)
    return Left(one, f"a descriptor of {code.module} open ({code.name})", take_out)


def _address(port: Any) -> str:
    with contextlib.suppress(Exception):
        address = port.getHost()
        return str(getattr(address, "port", None) or getattr(address, "name", address))
    return "an address nobody knows"


def _take_out(reactor: Any, descriptor: Any) -> None:
    reactor.removeReader(descriptor)
    reactor.removeWriter(descriptor)


def _processes(reactor: Any, of: Whose) -> Iterator[Left]:
    if not IReactorProcess.providedBy(reactor):
        return
    for process in tuple(reapProcessHandlers.values()):
        if issubclass(type(process), Process) and (code := of(process)) is not None:
            what = f"process {process.pid} of {code.module} running ({code.name})"
            yield Left(process, what, partial(_kill, process))


def _kill(process: Any) -> None:
    with contextlib.suppress(Exception):  # it has ended, and is not reaped yet
        process.signalProcess("KILL")


def _timers(reactor: Any, of: Whose) -> Iterator[Left]:
    if IReactorTime.providedBy(reactor):
        for call in reactor.getDelayedCalls():
            if (code := of(call)) is not None:
                what = f"a timer of {code.module} running ({code.name})"
                yield Left(call, what, partial(_cancel, call))


def _cancel(call: Any) -> object:
    if not call.active():  # a factory whose listener stops cancels its own
        return _GONE
    return call.cancel()


def _thread_timers(reactor: Any, of: Whose) -> Iterator[Left]:
    threads: list[Any] = threading.enumerate()
    for thread in threads:
        waits = type(thread) is threading.Timer and not thread.finished.is_set()
        if waits and (code := of(thread)) is not None:
            what = f"a timer of {code.module} running ({code.name})"
            yield Left(thread, what, thread.cancel)


_FINDS: Final = (
    _sockets,
    _processes,
    *left_elsewhere.FINDS,
    _timers,
    _thread_timers,
)


def _threads(of: Whose, said: Said) -> Iterator[str]:
    """A line for each thread that runs its code, where there was none for that yet."""
    frames = sys._current_frames()
    for thread in threading.enumerate():
        try:
            found = _run_by(thread, frames.get(thread.ident or 0), of)
            if found is None or said.get(thread) == found[1]:
                continue
            said[thread] = found[1]
        except Exception as error:  # a class of a plugin's own may compare as it likes
            log.debug("a thread cannot be looked at: {why}", why=words_of(error))
            continue
        name = f"({found[0].name})"
        yield f"a thread of {found[0].module} running, which nothing can end {name}"


def _run_by(thread: threading.Thread, frame: Any, of: Whose) -> tuple[Code, int] | None:
    """The code a thread runs, and what tells that call from a later one of the same thread."""
    if thread is threading.current_thread():
        return None
    if (running := of.runs(frame)) is not None:
        return running[0], id(running[1])
    if type(thread) is threading.Timer and thread.finished.is_set():
        return None  # it is about to end
    target = object.__getattribute__(thread, "__dict__").get("_target")
    code = of(thread) or next(filter(None, map(of, left_elsewhere.coroutines(target))), None)
    return None if code is None else (code, 0)
