"""What a host makes, or imports, later than at its start: the shorter is the start.

What is put off is fetched once the host listens, a module at each step, so that nobody waits for
it, and a program upgraded on disk under a running host is not read half old, half new.
"""

from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Final

from zope.interface import implementer

from ahpd.interfaces.permissions import IJudge, Question, Verdict
from ahpd.protocol.readiness import get_ready

#: What is imported when it is first used: no start needs it.
_PUT_OFF: Final = (
    "ahpd.permissions",
    "ahpd.app.plugin_loading",
    "ahpd.plugins.commands",
    "ahpd.plugins.icon_fetch",
    "ahpd.plugins.options",
    "ahpd.plugins.ports",
)


def prepared() -> Iterator[None]:
    """Fetch what was put off, and prepare the shapes; a little at each step."""
    yield from get_ready()
    for name in _PUT_OFF:
        import_module(name)
        yield


@implementer(IJudge)
class JudgeAtNeed:
    """The judge that `make` answers, made when there is something to judge."""

    def __init__(self, make: Callable[[], IJudge]) -> None:
        self._make = make

    @cached_property
    def _judge(self) -> IJudge:
        return self._make()

    def judge(self, question: Question) -> Verdict:
        """See `IJudge.judge`."""
        return self._judge.judge(question)
