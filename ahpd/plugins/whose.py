"""Whose code something runs: who would be called when its time comes.

Nothing is asked that could be code of somebody's: a class is that of `type`, attributes are read
from an instance's own `__dict__`, and what raises all the same is nobody's.

- It is a plugin's whose function, coroutine, or object of a class of its own would be called; or a
  method of the host that plugin was handed.
- What is between is looked through where it calls on behalf of somebody else: what Twisted and the
  standard library wrap, and the one protocol, factory or function that an object or a closure of a
  library holds.
- Code of ahpd, or of another plugin that runs on, ends the look, whatever it leads to; but for
  `ahpd.client`, whose connections are made by plugins.
- What only refers to a plugin's code proves nothing: a collection counts where it is Twisted's or
  the standard library's, and all of those it would call are that plugin's.
"""

import sys
from collections.abc import Callable, Collection, Container, Iterable, Iterator
from contextlib import suppress
from functools import partial
from threading import Thread, Timer
from types import (
    AsyncGeneratorType,
    BuiltinFunctionType,
    CellType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    MethodType,
)
from typing import Any, Final

import attrs
from twisted.internet.base import DelayedCall
from twisted.internet.defer import Deferred
from twisted.internet.task import LoopingCall

from ahpd import bounded
from ahpd.plugins.belongings import OURS, is_in

#: What wrappers call what they wrap: of protocols and factories, of sites and their resources, of
#: the processes whose output is awaited, of answers of HTTP, of services that connect again, of
#: tasks, of observers.
_WRAPPED: Final = (
    "protocol",
    "wrappedProtocol",
    "_wrappedProtocol",
    "_protocol",
    "proto",
    "factory",
    "wrappedFactory",
    "_wrappedFactory",
    "_protocolFactory",
    "connector",
    "_onConnection",
    "site",
    "resource",
    "_parser",
    "response",
    "_bodyProtocol",
    "_finishedRequest",
    "__automat_core__",
    "deferred",
    "_iterator",
    "_observer",
)
#: The same of what holds several.
_WRAPPED_MANY: Final = ("children", "_tasks", "_watchpoints", "callbacks")
#: What of ahpd a plugin makes for itself, and what leads there to whom it tells what it hears.
_CLIENT: Final = ("ahpd.client", "ahpd.transports.websocket_client")
_TELLS: Final = ("_handler", "_owner", "_audience")
_TELLS_MANY: Final = ("_on_action", "_on_notification", "_on_violation", "_on_snapshot")
#: How many wrappers are looked through.
_DEPTH: Final = 24
#: What is not a library's in the sense of above.
_PLAIN: Final = sys.stdlib_module_names | {"twisted"}
#: What something runs that is not a plugin's that goes, and not only wrapped.
_OTHERS: Final = object()

_MRO: Final = type.__dict__["__mro__"].__get__
_MODULE: Final = type.__dict__["__module__"].__get__
_NAME: Final = type.__dict__["__name__"].__get__


@attrs.frozen
class Code:
    """Some code of a plugin: its module, and the function or the class."""

    module: str
    name: str


@attrs.frozen(eq=False)
class Whose:
    """Tells whether something runs code of `modules`, which are a plugin's that goes.

    `stands(module)` tells whether a module is another plugin's, which runs on. `handed` is what
    the plugin was handed of the host.
    """

    modules: Container[str]
    stands: Callable[[str], bool] = lambda module: False
    handed: Collection[object] = ()
    main: str = ""
    """The module that what is handed is said to be of."""

    def __call__(self, thing: object) -> Code | None:
        """The code of `modules` that `thing` runs."""
        found = _Look(self).at(thing, _DEPTH)
        return found if type(found) is Code else None

    def runs(self, frame: FrameType | None) -> tuple[Code, FrameType] | None:
        """The code of `modules` that a thread whose innermost frame this is was begun for."""
        frames = []
        while frame is not None:
            frames.append(frame)
            frame = frame.f_back
        for one in reversed(frames):
            module = _named(one.f_globals)
            if module in self.modules:
                return Code(module, one.f_code.co_name), one
            if self.is_others(module):
                return None
        return None

    def is_others(self, module: str) -> bool:
        """Whether a module is ahpd's, or that of a plugin that runs on."""
        ours = module.partition(".")[0] == OURS and not _is_client(module)
        return ours or self.stands(module)


class _Look:
    """One look; what was looked at already is not again."""

    def __init__(self, whose: Whose) -> None:
        self._whose = whose
        self._seen: dict[int, object] = {}

    def at(self, thing: Any, left: int) -> Any:
        """The `Code` of the plugin that `thing` runs, `_OTHERS`, or None for neither."""
        if thing is None or left == 0 or id(thing) in self._seen:
            return None
        self._seen[id(thing)] = thing
        try:
            return self._at(thing, left)
        except Exception:
            return None

    def _at(self, thing: Any, left: int) -> Any:
        if (own := self._own(thing)) is not None:
            return own
        module = module_of(thing)
        if self._whose.is_others(module):
            return _OTHERS
        plain = _is_plain(module)
        for step in _called(thing, plain):
            if type(step) is _All:
                found = self._all(step.members, left - 1)
            else:
                found = self.at(step, left - 1)
            if found is not None:
                return found
        return None

    def _own(self, thing: Any) -> Code | None:
        if type(thing) is MethodType:
            # What its class inherits from a library is called for its sake.
            on = thing.__self__
            if any(on is one for one in self._whose.handed):
                return Code(self._whose.main, _name_of(thing))
            module = module_of(on)
        else:
            module = module_of(thing)
        return Code(module, _name_of(thing)) if module in self._whose.modules else None

    def _all(self, members: Iterable[Any], left: int) -> Any:
        """Whose several are that would all be called."""
        first: Any = None
        for one in members:
            found = self.at(one, left)
            if found is _OTHERS or (found is None and not _is_plain(module_of(one))):
                return _OTHERS
            first = first or found
        return first


@attrs.frozen(eq=False)
class _All:
    members: Collection[Any]


def module_of(thing: Any) -> str:
    """The module whose code `thing` is: of a function its own, else that of its class."""
    kind = type(thing)
    if kind is FunctionType:
        return _named(thing.__globals__)
    if (frame := _frame_of(thing)) is not None:
        return _named(frame.f_globals)
    name = _MODULE(thing if _is_a(thing, type) else kind)
    return name if type(name) is str else ""


def _named(space: dict[str, Any]) -> str:
    name = dict.get(space, "__name__")
    return name if type(name) is str else ""


def _name_of(thing: Any) -> str:
    kind = type(thing)
    if kind is MethodType:
        return _name_of(thing.__func__)
    if kind is FunctionType:
        return str(thing.__name__).strip("<>")
    if (frame := _frame_of(thing)) is not None:
        return str(frame.f_code.co_name)
    return str(_NAME(thing if _is_a(thing, type) else kind))


def _frame_of(thing: Any) -> FrameType | None:
    frame: FrameType | None = None
    if type(thing) is CoroutineType:
        frame = thing.cr_frame
    elif type(thing) is GeneratorType:
        frame = thing.gi_frame
    elif type(thing) is AsyncGeneratorType:
        frame = thing.ag_frame
    return frame


def _is_a(thing: Any, kind: type) -> bool:
    return kind in _MRO(type(thing))


def _is_client(module: str) -> bool:
    return any(is_in(module, one) for one in _CLIENT)


def _is_plain(module: str) -> bool:
    return module.partition(".")[0] in _PLAIN


def words_for(call: Any) -> str:
    """What would be called first, as `time.sleep`: of a call that somebody put off."""
    with suppress(Exception):
        for one in _called(call, plain=True):
            module = one.__module__ if type(one) is BuiltinFunctionType else module_of(one)
            name = one.__name__ if type(one) is BuiltinFunctionType else _name_of(one)
            return f"{module}.{name}"
    return "a call"


# -- who is called ---------------------------------------------------------------------


def _called(thing: Any, plain: bool) -> Iterator[Any]:
    """Whom something calls on behalf of somebody else, the first first."""
    kind = type(thing)
    if kind is MethodType:
        yield from (thing.__func__, thing.__self__)
    elif kind is FunctionType:
        yield from _closed_over(thing.__closure__ or (), plain)
    elif kind is CoroutineType:
        yield thing.cr_await
    elif kind is GeneratorType:
        yield thing.gi_yieldfrom
    elif _is_a(thing, partial):
        yield from _call(*(partial.__dict__[name].__get__(thing) for name in _PARTIAL))
    elif _is_a(thing, DelayedCall):
        held = _vars(thing)
        yield from _call(held.get("func"), held.get("args"), held.get("kw"))
    elif _is_a(thing, LoopingCall):
        held = _vars(thing)
        yield from _call(held.get("f"), held.get("a"), held.get("kw"))
    elif _is_a(thing, Timer):
        held = _vars(thing)
        yield from _call(held.get("function"), held.get("args"), held.get("kwargs"))
    elif _is_a(thing, Thread):
        held = _vars(thing)
        yield from _call(held.get("_target"), held.get("_args"), held.get("_kwargs"))
    elif _is_a(thing, Deferred):
        yield from _waiting(thing)
    else:
        yield from _wrapped(thing, plain)


def _wrapped(thing: Any, plain: bool) -> Iterator[Any]:
    held = _vars(thing)
    yield from (held[name] for name in _WRAPPED if name in held)
    many: tuple[str, ...] = _WRAPPED_MANY if plain else ()
    if _is_client(module_of(thing)):
        yield from (held[name] for name in _TELLS if name in held)
        many = _TELLS_MANY
    yield from (_members(held[name]) for name in many if name in held)


_PARTIAL: Final = ("func", "args", "keywords")


def _vars(thing: Any) -> dict[str, Any]:
    """What an instance holds; nothing where that is no plain mapping."""
    held: Any = None
    try:
        held = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return {}
    return held if type(held) is dict else {}


def _call(function: Any, args: Any, keywords: Any) -> Iterator[Any]:
    """What is called, and where that only calls what it is given, what it is given."""
    yield function
    if not _is_plain(module_of(_function_of(function))):
        return
    if type(args) in (tuple, list):
        yield from args
    if type(keywords) is dict:
        yield from keywords.values()


def _function_of(function: Any) -> Any:
    return function.__func__ if type(function) is MethodType else function


def _members(held: Any) -> _All:
    if type(held) is dict:
        return _All(list(held.values()))
    return _All(list(held) if type(held) in (list, tuple) else [])


def _closed_over(cells: Iterable[CellType], plain: bool) -> Iterator[Any]:
    """What a closure holds that it may call: of a library's no object, which it may only know."""
    for cell in cells:
        try:
            held = cell.cell_contents
        except ValueError:  # a name that is not bound yet
            continue
        if plain or type(held) in _CALLABLE or _is_a(held, partial):
            yield held


_CALLABLE: Final = (FunctionType, MethodType, CoroutineType, GeneratorType)


def _waiting(deferred: "Deferred[Any]") -> Iterator[Any]:
    """Who waits for it, up to the first that is ahpd's: what comes behind is for that one's sake.

    But for what `ahpd.bounded` left behind when its time was over, which still runs.
    """
    for function, args, keywords in _callbacks(deferred):
        call = (function, *(args or ()), *(keywords or {}).values())
        for one in call:
            if type(one) is CoroutineType and one.cr_code is _AWAITED and _is_left(call):
                yield one.cr_await
                break
        else:
            yield from call


_AWAITED: Final = bounded._awaited.__code__


def _is_left(call: Iterable[Any]) -> bool:
    """Whether nobody waits any more for what a coroutine of `ahpd.bounded` awaits.

    Cancelling has given it another Deferred, which leads to the one that was waited for.
    """
    for one in call:
        ending = _vars(one).get("deferred")
        if ending is not None and _is_a(ending, Deferred):
            return all(
                module_of(function) != bounded.__name__ for function, _, _ in _callbacks(ending)
            )
    return False


def _callbacks(deferred: "Deferred[Any]") -> Iterator[tuple[Any, Any, Any]]:
    held = _vars(deferred)
    # What they are called from Twisted 25.5 on, and before.
    calls = held.get("_callbacks", held.get("callbacks", ()))
    for (function, args, keywords), _ in list(calls):
        yield function, args, keywords
