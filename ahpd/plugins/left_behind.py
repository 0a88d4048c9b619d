"""What the code of an unloaded plugin left running: its timers, sockets and processes are ended.

A plugin closes what it opened. What one forgot would run on in code that nobody can see any more,
and hold the port its next copy wants. So whoever lets go of a plugin's modules hands their names
here, and whatever the reactor holds for them is stopped, a line said for each.

Whose a timer is says the code it runs: what Twisted and the standard library wrap around it is
looked through, and what is ahpd's own ends the look, whatever it leads to. So nothing of the host,
of another plugin or of a library is touched. A thread cannot be ended, and is said.
"""

import contextlib
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import partial
from types import CellType, CoroutineType, FunctionType, GeneratorType, MethodType
from typing import Any, Final

from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import (
    IListeningPort,
    IReactorFDSet,
    IReactorProcess,
    IReactorTime,
    ITransport,
)
from twisted.internet.process import Process, reapProcessHandlers

from ahpd.plugins.belongings import OURS

#: What Twisted's wrappers call what they wrap: of protocols and factories, of sites and their
#: resources, of calls that are repeated, of the processes whose output is awaited.
_WRAPPED: Final = (
    "protocol",
    "factory",
    "wrappedProtocol",
    "wrappedFactory",
    "_wrappedProtocol",
    "_wrappedFactory",
    "connector",
    "site",
    "resource",
    "children",
    "f",
    "proto",
    "deferred",
)
#: What something had come to before it was ended.
_GONE: Final = object()
#: How many wrappers are looked through.
_DEPTH: Final = 8


async def end_left_behind(reactor: Any, modules: Collection[str]) -> list[str]:
    """End what `reactor` holds for code of `modules`; a line for each, without the plugin's name.

    A listener's port is free when this returns. It never raises: what cannot be ended is said too.
    """
    if not modules:
        return []
    of = partial(_whose, modules=frozenset(modules))
    # All is found first: to end a socket takes a timer, which leads to its protocol.
    finds = (_sockets, _processes, _timers, _threads)
    left = [one for find in finds for one in find(reactor, of)]
    lines = [await _ended(what, end) for what, end in left]
    return [line for line in lines if line]


async def _ended(what: str, end: Callable[[], object]) -> str:
    """End something; the line that says it, empty where another's end was its own."""
    try:
        if await maybeDeferred(end) is _GONE:
            return ""
    except Exception as error:
        what = f"{what}, which could not be ended ({type(error).__name__}: {error})"
    return f"it left {what}"


# -- what there is ---------------------------------------------------------------------

#: The module whose code something runs; None for none of those that are looked for.
_Of = Callable[[Any], str | None]
#: What is left, in words, and what ends it.
_Left = Iterator[tuple[str, Callable[[], object]]]


def _sockets(reactor: Any, of: _Of) -> _Left:
    if not IReactorFDSet.providedBy(reactor):
        return
    for held in dict.fromkeys([*reactor.getReaders(), *reactor.getWriters()]):
        if (module := of(held)) is None:
            continue
        if IListeningPort.providedBy(held):
            yield f"a listener of {module} at {_address(held)}", held.stopListening
        elif ITransport.providedBy(held):
            abort = getattr(held, "abortConnection", held.loseConnection)
            yield f"a connection of {module} open", abort
        else:
            yield f"a descriptor of {module} open", partial(_take_out, reactor, held)


def _address(port: Any) -> str:
    address = port.getHost()
    return str(getattr(address, "port", None) or getattr(address, "name", address))


def _take_out(reactor: Any, descriptor: Any) -> None:
    reactor.removeReader(descriptor)
    reactor.removeWriter(descriptor)


def _processes(reactor: Any, of: _Of) -> _Left:
    if IReactorProcess.providedBy(reactor):
        for process in tuple(reapProcessHandlers.values()):
            if isinstance(process, Process) and (module := of(process)) is not None:
                yield f"process {process.pid} of {module} running", partial(_kill, process)


def _kill(process: Process) -> None:
    with contextlib.suppress(Exception):  # it has ended, and is not reaped yet
        process.signalProcess("KILL")


def _timers(reactor: Any, of: _Of) -> _Left:
    if IReactorTime.providedBy(reactor):
        for call in reactor.getDelayedCalls():
            if (module := of(call)) is not None:
                yield f"a timer of {module} running", partial(_cancel, call)


def _cancel(call: Any) -> object:
    if not call.active():  # a factory whose listener stops cancels its own
        return _GONE
    return call.cancel()


def _threads(reactor: Any, of: _Of) -> _Left:
    for thread in threading.enumerate():
        module = of(thread) or of(getattr(thread, "_target", None))
        if module is not None:
            yield f"a thread of {module} running, which nothing can end", _nothing


def _nothing() -> None:
    """There is nothing to do."""


# -- whose it is -----------------------------------------------------------------------


def _whose(thing: Any, modules: frozenset[str]) -> str | None:
    """The first of `modules` whose code `thing` runs."""
    seen: set[int] = set()
    looked: list[Any] = [thing]
    for _ in range(_DEPTH):
        inside: list[Any] = []
        for one in looked:
            if one is None or id(one) in seen:
                continue
            seen.add(id(one))
            module = _module_of(one)
            if module in modules:
                return module
            if not _is_ours(module):
                inside += _wrapped(one)
        looked = inside
    return None


def _module_of(thing: Any) -> str:
    """The module whose code `thing` is: of a function its own, else that of its class."""
    match thing:
        case FunctionType():
            name = thing.__globals__.get("__name__")
        case CoroutineType():
            name = None if thing.cr_frame is None else thing.cr_frame.f_globals.get("__name__")
        case GeneratorType():
            name = None if thing.gi_frame is None else thing.gi_frame.f_globals.get("__name__")
        case MethodType() | partial() | type():
            name = getattr(thing, "__module__", None)
        case _:
            name = type(thing).__module__
    return name if isinstance(name, str) else ""


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == OURS


def _wrapped(thing: Any) -> Iterable[Any]:
    """What something calls on behalf of somebody else."""
    match thing:
        case DelayedCall():
            return (thing.func, *(thing.args or ()), *(thing.kw or {}).values())
        case partial():
            return (thing.func, *thing.args, *thing.keywords.values())
        case MethodType():
            return (thing.__func__, thing.__self__)
        case FunctionType():
            return (_content(cell) for cell in thing.__closure__ or ())
        case CoroutineType():
            return (thing.cr_await,)
        case Deferred():
            return _waiting(thing)
        case tuple() | list():
            return thing
        case Mapping():
            return thing.values()
        case _:
            held = getattr(thing, "__dict__", {})
            return [held[name] for name in _WRAPPED if name in held]


def _waiting(deferred: "Deferred[Any]") -> Iterator[Any]:
    """Who waits for it, up to the first that is ahpd's: what comes behind is for that one's sake."""
    held: Any = deferred
    calls = getattr(held, "_callbacks", None)  # what they are called from Twisted 25.5 on
    for (function, args, keywords), _ in held.callbacks if calls is None else calls:
        parts = (function, *(args or ()), *(keywords or {}).values())
        if any(_is_ours(_module_of(part)) for part in parts):
            return
        yield from parts


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that is not bound yet
        return None
