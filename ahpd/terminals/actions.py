"""What a client may do on a terminal's channel (AHP.txt, the `terminal/*` table).

Each action is said to everybody as it was sent, also where it moves nothing; what it
does to the program follows it (`Terminal.applied`).
"""

from collections.abc import Callable

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IActionHandler, Refusal, RpcError
from ahpd.protocol import Action
from ahpd.protocol.actions import belongs_on
from ahpd.protocol.uris import ChannelKind
from ahpd.terminals.claims import checked_claim
from ahpd.terminals.creation import size_fault, title_fault
from ahpd.terminals.terminal import Terminal


@implementer(IActionHandler)
class TerminalActions:
    """The handler of every terminal's channel. `find` knows the open ones by their URI."""

    def __init__(self, store: ChannelStore, find: Callable[[str], Terminal | None]) -> None:
        self._store = store
        self._find = find

    def handle(self, channel: str, action: Action, origin: Origin) -> None:
        """See `IActionHandler.handle`. Raises nothing but `Refusal`."""
        kind = action["type"]
        if not belongs_on(kind, ChannelKind.TERMINAL):
            raise Refusal(f"{kind} is no action of a terminal's channel: {channel}")
        terminal = self._find(channel)
        if terminal is None:
            if self._store.is_open(channel):
                raise Refusal(f"Terminal {channel} is gone; what it printed is all that is kept")
            raise Refusal(f"No terminal at {channel}")
        if kind == "terminal/resized":
            for member in ("cols", "rows"):
                fault = size_fault(action[member], f"action.{member}")
                if fault is not None:
                    raise Refusal(fault)
        elif kind == "terminal/claimed":
            try:
                checked_claim(action["claim"], "action.claim")
            except RpcError as error:
                raise Refusal(error.message) from None
        elif kind == "terminal/titleChanged":
            fault = title_fault(action["title"], "action.title")
            if fault is not None:
                raise Refusal(fault)
        elif kind == "terminal/cleared":
            terminal.flush()  # what it printed before is said before, and cleared with the rest
        self._store.dispatch(channel, action, origin)
