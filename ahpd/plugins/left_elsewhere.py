"""What a plugin leaves in other places than the reactor's timers and descriptors.

Tasks of Twisted's cooperator, observers of the log, what is to be called when the reactor stops,
and what loops of asyncio run in threads of their own.
"""

import sys
from collections.abc import Iterator
from functools import partial
from types import MethodType
from typing import Any, Final

from twisted.internet import task
from twisted.logger import globalLogPublisher

from ahpd.plugins.left import Left
from ahpd.plugins.whose import Whose


def _tasks(reactor: Any, of: Whose) -> Iterator[Left]:
    cooperator: Any = getattr(task, "_theCooperator", None)
    for one in tuple(getattr(cooperator, "_tasks", ())):
        if (code := of(one)) is not None:
            yield Left(one, f"a task of {code.module} running ({code.name})", one.stop)


def _observers(reactor: Any, of: Whose) -> Iterator[Left]:
    held: Any = globalLogPublisher
    for one in tuple(getattr(held, "_observers", ())):
        if (code := of(one)) is not None:
            what = f"an observer of the log of {code.module} ({code.name})"
            yield Left(one, what, partial(globalLogPublisher.removeObserver, one))


def _triggers(reactor: Any, of: Whose) -> Iterator[Left]:
    for event, phases in tuple(getattr(reactor, "_eventTriggers", {}).items()):
        for phase in ("before", "during", "after"):
            for call in tuple(getattr(phases, phase, ())):
                if (code := of(partial(call[0], *call[1], **call[2]))) is not None:
                    what = f"a call of {code.module} at the reactor's {event} ({code.name})"
                    handle = (event, (phase, *call))
                    yield Left(call, what, partial(reactor.removeSystemEventTrigger, handle))


FINDS: Final = (_tasks, _observers, _triggers)


def coroutines(target: Any) -> list[Any]:
    """What a loop of asyncio runs, where `target` is its method, as that of a thread is."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or type(target) is not MethodType:
        return []
    loop = target.__self__
    if not issubclass(type(loop), asyncio.AbstractEventLoop):
        return []
    try:
        return [one.get_coro() for one in asyncio.all_tasks(loop)]
    except Exception:  # they change in its thread
        return []
