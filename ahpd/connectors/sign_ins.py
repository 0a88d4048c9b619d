"""Sign-ins that were started and not finished: whose they are, and for how long.

Source: PLUGINS.txt, "x-ahpd-connectors" ("A pasted-code sign-in", "A device-code sign-in").
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.connectors.rules import identity
from ahpd.interfaces import Adapter, Caller, Owned
from ahpd.protocol.errors import RpcError, invalid_params

#: The most that one caller may have started; the oldest goes first.
MOST: Final = 10


@attrs.define(eq=False, repr=False)
class Pending:
    """One sign-in that was started. Nothing of it but its adapter may be shown."""

    state: str = attrs.field(repr=False)
    """What names it to the client that started it."""
    starter: str = attrs.field(repr=False)
    caller: Caller = attrs.field(repr=False)
    """Who started it, for what is asked again."""
    owned: Owned = attrs.field(repr=False)
    params: Mapping[str, Any] = attrs.field(repr=False)
    """The put's own params."""
    dropped: Callable[[str], None] = attrs.field(repr=False, default=lambda words: None)
    """Called with why, once it is held no more."""
    timer: IDelayedCall | None = attrs.field(repr=False, default=None)

    @property
    def adapter(self) -> Adapter:
        """The adapter it signs in to."""
        adapter: Adapter = self.owned.value
        return adapter


class SignIns:
    """The pending ones of one host, by their states, the oldest first."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._held: dict[str, Pending] = {}

    def add(self, pending: Pending, seconds: float) -> None:
        """Hold one for so long; its starter's oldest goes where it has too many."""
        theirs = [one for one in self._held.values() if one.starter == pending.starter]
        for one in theirs[: max(0, len(theirs) - MOST + 1)]:
            self.drop(one, "another sign-in took its place")
        self._held[pending.state] = pending
        pending.timer = self._clock.callLater(seconds, self.drop, pending, "it has expired")

    def find(self, state: Any, caller: Caller) -> Pending:
        """The one that `caller` started under `state`. Raises `RpcError` -32602 for any other:
        one nobody made, one that is over, and one that somebody else started are told alike."""
        pending = self._held.get(state) if isinstance(state, str) else None
        if pending is None or pending.starter != identity(caller):
            raise unknown_state()
        return pending

    def drop(self, pending: Pending, words: str = "it is over") -> None:
        """Hold it no more; one that is not held is no error."""
        if self._held.get(pending.state) is not pending:
            return
        del self._held[pending.state]
        if pending.timer is not None and pending.timer.active():
            pending.timer.cancel()
        pending.dropped(words)

    def use(self, adapters: Mapping[str, Owned]) -> None:
        """These are the adapters: what signs in to another one is over."""
        for pending in tuple(self._held.values()):
            if adapters.get(pending.adapter.name) != pending.owned:
                self.drop(pending, "its adapter is gone")

    def stop(self) -> None:
        """The host is going: none is held."""
        for pending in tuple(self._held.values()):
            self.drop(pending, "the host is going")

    def __len__(self) -> int:
        return len(self._held)


def unknown_state() -> RpcError:
    """-32602 for a state that is none of the caller's."""
    return invalid_params(
        "params.state names no sign-in that you started and that is not over: start another"
    )
