"""Encoded snapshots of one channel, kept until the channel moves."""

from typing import Final

from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind
from ahpd.protocol.views import chat_view
from ahpd.wire.codec import Encoded, Shared, encode_in_parts, encoded

#: How many differently shaped snapshots of one state are kept: clients differ in `view.turns`.
_KEPT_VIEWS: Final = 4


class SnapshotCache:
    """The encodings of a state that somebody asked for, by the view they asked for."""

    __slots__ = ("_by_view",)

    def __init__(self) -> None:
        self._by_view: dict[int | None, Encoded | Shared] | None = None

    def clear(self) -> None:
        """The state moved: forget what it looked like."""
        self._by_view = None

    def encoded(self, kind: ChannelKind, state: State, turns: int | None) -> Encoded | Shared:
        """`state` as JSON bytes, encoded at the first request after a move."""
        if self._by_view is None:
            self._by_view = {}
        known = self._by_view.get(turns)
        if known is None:
            shown = chat_view(state, turns) if kind is ChannelKind.CHAT else state
            known = encoded(encode_in_parts(shown))
            if len(self._by_view) >= _KEPT_VIEWS:
                self._by_view.pop(next(iter(self._by_view)))
            self._by_view[turns] = known
        return known
