"""Who is sent an action on an `x-` channel, asked at the send and again at a replay."""

from collections.abc import Callable
from inspect import iscoroutine

import attrs
from twisted.logger import Logger

from ahpd.calling import called
from ahpd.extensions.callers import Callers
from ahpd.extensions.collecting import Collector
from ahpd.interfaces import Caller, ISubscriber, Reader

log = Logger()


@attrs.define(eq=False, repr=False)
class Complaints:
    """What went wrong in the filters of one scheme: said once, however many actions follow."""

    scheme: str
    made: bool = False

    def failed(self) -> None:
        """A filter raised: called where that is being handled."""
        if not self.made:
            self.made = True
            log.failure(
                "{scheme}: who an action is visible to could not be told, so it was sent to nobody "
                "that was asked about; further failures are not logged",
                scheme=self.scheme,
            )


@attrs.frozen(eq=False, repr=False)
class Narrowed:
    """The subscribers an action is for (`Audience`). What is None narrows nothing."""

    callers: Callers
    complaints: Complaints
    visible: Callable[[Reader | None, str], bool] | None
    to: str | None
    shown_to: Callable[[Caller], bool] | None = None

    def reaches(self, subscriber: ISubscriber) -> bool:
        """Whether `subscriber` is sent it. Whoever is no client, or cannot be told, is not."""
        asked = subscriber.connection if isinstance(subscriber, Collector) else subscriber
        try:
            caller = self.callers.watching(asked)
            if caller is None or (self.to is not None and caller.client != self.to):
                return False
            if self.shown_to is not None and not called(self.shown_to, caller):
                return False
            if self.visible is None:
                return True
            return called(_yes, called(self.visible, caller.reader, caller.client)) is True
        except Exception:
            self.complaints.failed()
            return False


def _yes(answer: object) -> bool:
    """A filter's answer. One that has to be awaited is none: it would let everybody in."""
    if iscoroutine(answer):
        answer.close()
    if hasattr(answer, "__await__"):
        raise TypeError("visible() must answer at once, and answered something to await")
    return bool(answer)
