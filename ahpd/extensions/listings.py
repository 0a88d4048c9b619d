"""What the readers of a channel of rows are told, on each URI it is listed under.

A row reaches those who may read it. One that moves to another owner is removed for whoever
could read it and cannot now, added for whoever can and could not, and changed for the rest.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.extensions.versions import Versions
from ahpd.interfaces import Reader
from ahpd.protocol import State

log = Logger()

#: What a subscribe adds to a channel's URI to be told of its own rows alone.
OWN: Final = "?owner=me"

#: Whether a reader may read a row. It looks at the reader and at the row's `owner` alone: a row
#: whose owner stays is taken to be readable to whom it was.
Readable = Callable[[Reader | None, State], bool]
_Test = Callable[[Reader | None], bool]


def everyone(reader: Reader | None, row: State) -> bool:
    """The rows are for whoever may open the channel."""
    return True


def own_rows(readable: Readable) -> Readable:
    """A reader's own rows, of those that are readable: none for nobody in particular."""

    def reads(reader: Reader | None, row: State) -> bool:
        return reader is not None and row.get("owner") == reader.principal and readable(reader, row)

    return reads


@attrs.define(eq=False, repr=False)
class Listing:
    """One URI that rows are listed under."""

    uri: str
    scheme: str
    reads: Readable
    handle: Any
    """The channel's `IChannelHandle`."""
    versions: Versions | None
    """The rows as different callers are shown them; None where they are one for everybody."""

    def added(self, row: State) -> None:
        """A row came."""
        self._say_row("added", row, self._readers(row))

    def removed(self, identifier: str, row: State) -> None:
        """A row went."""
        self._say("removed", {"id": identifier}, self._readers(row))

    def changed(self, identifier: str, before: State, now: State) -> None:
        """A row is another one now."""
        if self.reads is everyone or before.get("owner") == now.get("owner"):
            self._say_row("changed", now, self._readers(now))
            return
        could, can = self._reader_of(before), self._reader_of(now)
        lost = _telling(lambda reader: could(reader) and not can(reader))
        self._say("removed", {"id": identifier}, lost)
        self._say_row("changed", now, _telling(lambda reader: could(reader) and can(reader)))
        self._say_row("added", now, _telling(lambda reader: can(reader) and not could(reader)))

    def of_row(self, name: str, fields: Mapping[str, Any], row: State) -> None:
        """Say something of one row to whoever reads it."""
        self._say(name, fields, self._readers(row))

    def of_all(self, name: str, fields: Mapping[str, Any]) -> None:
        """Say something of the whole list."""
        self._say(name, fields, None)

    # -- to whom --------------------------------------------------------------------

    def _reader_of(self, row: State) -> _Test:
        return lambda reader: self.reads(reader, row)

    def _readers(self, row: State) -> "_Visible | None":
        return None if self.reads is everyone else _telling(self._reader_of(row))

    def _say_row(self, name: str, row: State, visible: "_Visible | None") -> None:
        if self.versions is None:
            self._say(name, {"row": row}, visible)
            return
        for version, shown_to in self.versions.each(row):
            self._publish(name, {"row": version}, {"visible": visible, "shown_to": shown_to})

    def _say(self, name: str, fields: Mapping[str, Any], visible: "_Visible | None") -> None:
        self._publish(name, fields, {} if visible is None else {"visible": visible})

    def _publish(self, name: str, fields: Mapping[str, Any], narrowed: Mapping[str, Any]) -> None:
        try:
            self.handle.publish(self.uri, {"type": f"{self.scheme}/{name}", **fields}, **narrowed)
        except RuntimeError:  # it is not served (any more): who is served it later reads it whole
            log.debug("{uri} is not served: {name} is not said", uri=self.uri, name=name)


_Visible = Callable[[Reader | None, str], bool]


def _telling(test: _Test) -> _Visible:
    return lambda reader, client: test(reader)
