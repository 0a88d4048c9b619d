"""One `x-` channel of rows: records that clients list, each with an id.

The state is `{rows, operations?}`. What moves it is said as `<scheme>/added {row}`,
`<scheme>/changed {row}`, `<scheme>/removed {id}`, `<scheme>/operations {operations}`, and what a
domain says of one row of its own (`viewData {id, ...}`). A reader is told of the rows it may
read and of no others; `?owner=me` narrows the listing to the reader's own. Source: PLUGINS.txt,
"What a client sees", "x-ahpd/invokeOperation".
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Literal

from twisted.logger import Logger

from ahpd.extensions.listings import OWN, Listing, Readable, everyone, own_rows
from ahpd.extensions.versions import Shown, Versions
from ahpd.interfaces import Caller, Channel, Description, IChannelHandle
from ahpd.protocol import State
from ahpd.protocol.characters import whole_json
from ahpd.protocol.errors import invalid_params, resource_not_found
from ahpd.wire.codec import decode, encode

log = Logger()


class Rows:
    """The rows of one channel, in the order they came.

    `key` is the field of a row that is its id. `readable(reader, row)` looks at the reader and at
    the row's `owner`. `shown(row, caller)` is the row as that caller's person and language are
    shown it; None shows every row as it is. `own` says what `?owner=me` does: the rows whose
    `owner` is the reader, none at all, or a refusal. `authorize`, `joined` and `left` are the
    channel's (`Channel`).
    """

    def __init__(
        self,
        scheme: str,
        *,
        title: str,
        description: str = "",
        grant: str,
        key: str = "id",
        readable: Readable = everyone,
        shown: Shown | None = None,
        own: Literal["owner", "none", "refused"] = "owner",
        authorize: Callable[[str, Caller], Any] | None = None,
        joined: Callable[[str], object] | None = None,
        left: Callable[[str], object] | None = None,
    ) -> None:
        self.scheme = scheme
        self.uri = f"{scheme}://"
        self.key = key
        self.readable = readable
        self._own = own
        self._versions = None if shown is None else Versions(shown)
        self._listings: dict[str, Listing] = {}
        self._handle: IChannelHandle | None = None
        self._held: dict[str, State] = {}
        self._said: dict[str, State] = {}
        """Each row as it was last sent, with what it offered then."""
        self._ran: dict[str, State] = {}
        self._operations: list[State] = []
        self._status: dict[str, State] = {}
        self._offered: Callable[[State], Collection[str]] | None = None
        described = Description(title=title, description=description)
        self.channel = Channel(
            grant=grant,
            snapshot=self._snapshot,
            authorize=authorize,
            joined=joined,
            left=left,
            describe=lambda: described,
        )

    def attach(self, handle: IChannelHandle) -> None:
        """Speak on `handle` from now on. Until then rows are held and nothing is said."""
        self._handle = handle
        self._listings = {}
        self._list(self.uri, self.readable)

    def detach(self) -> None:
        """Say nothing from now on; the rows are held as before."""
        self._handle = None
        self._listings = {}

    # -- the rows -----------------------------------------------------------------

    @property
    def rows(self) -> Sequence[State]:
        """Every row as it is sent, in the order they came. To read."""
        return [self._whole(row) for row in self._held.values()]

    def get(self, identifier: str) -> State | None:
        """One row as it is sent; None where there is none."""
        row = self._held.get(identifier)
        return None if row is None else self._whole(row)

    def put(self, row: State) -> None:
        """Hold `row` in place of the one with its id, and say so where it is another one.

        Whoever could read it and cannot now is told that it was removed. Raises `ValueError`
        for a row that is no JSON object with an id.
        """
        kept = _copied(row)
        identifier = kept.get(self.key) if isinstance(kept, dict) else None
        if not isinstance(identifier, str) or not identifier:
            raise ValueError(f"{self.scheme}: a row needs its {self.key}, as text")
        self._held[identifier] = kept
        self.moved(identifier)

    def remove(self, identifier: str) -> None:
        """Take a row away and say so; one that is not there is no error."""
        held = self._held.pop(identifier, None)
        if held is None:
            return
        self._ran.pop(identifier, None)
        self._said.pop(identifier, None)
        for listing in self._told():
            listing.removed(identifier, held)

    def say(self, name: str, fields: State, identifier: str, row: State | None = None) -> None:
        """Say `<scheme>/<name> {id, **fields}` to whoever reads the row; nothing without one.

        `row` is what the row is from now on, where that is what is said: it is not sent again.
        """
        held = self._held.get(identifier)
        if held is not None:
            if row is not None:
                self._held[identifier] = _copied(row)
                self._said[identifier] = self._whole(self._held[identifier])
            for listing in self._told():
                listing.of_row(name, {"id": identifier, **fields}, held)

    def moved(self, identifier: str) -> None:
        """A row, or what it offers, may be otherwise now: say it where it is."""
        held = self._held.get(identifier)
        if held is None:
            return
        before, now = self._said.get(identifier), self._whole(held)
        if now == before:
            return
        self._said[identifier] = now
        for listing in self._told():
            if before is None:
                listing.added(now)
            else:
                listing.changed(identifier, before, now)

    def _whole(self, row: State) -> State:
        """A row with what the host adds: what was last done to it, and what it offers."""
        ran = self._ran.get(row[self.key])
        if ran is not None:
            row = {**row, "operation": ran}
        if self._offered is None:
            return row
        try:
            return {**row, "operations": list(self._offered(row))}
        except Exception:
            log.failure("what a row of {scheme} offers is not known", scheme=self.scheme)
            return {**row, "operations": []}

    # -- the operations -------------------------------------------------------------

    @property
    def operations(self) -> Sequence[State]:
        """The operations as the state lists them, each with its status where it ran."""
        return [{**one, **self._status.get(one["id"], {})} for one in self._operations]

    def set_operations(self, operations: Sequence[State]) -> None:
        """List these operations, and say so where they are others than before."""
        before = self.operations
        self._operations = _copied(list(operations))
        listed = {one["id"] for one in self._operations}
        self._status = {name: held for name, held in self._status.items() if name in listed}
        self._say_operations(before)

    def offer(self, offered: Callable[[State], Collection[str]]) -> None:
        """Have every row carry `operations`: the ids `offered(row)` answers when it is sent."""
        self._offered = offered

    def list_status(self, operation: str, status: State) -> None:
        """An operation on the list is `{status, error?}` now."""
        before = self.operations
        self._status[operation] = status
        self._say_operations(before)

    def row_status(self, identifier: str, ran: State) -> None:
        """What runs on a row, or ran last, is `{id, status, error?}` now."""
        if identifier in self._held:
            self._ran[identifier] = ran
            self.moved(identifier)

    def _say_operations(self, before: Sequence[State]) -> None:
        now = self.operations
        if now != before:
            for listing in self._told():
                listing.of_all("operations", {"operations": now})

    # -- the channel -------------------------------------------------------------------

    def shown(self, row: State, caller: Caller) -> State:
        """A row as `caller` is shown it."""
        if self._versions is None:
            return row
        self._versions.met(caller)
        return self._versions.of(row, caller)

    def _snapshot(self, uri: str, caller: Caller) -> State:
        """The state a subscribe answers."""
        if uri == self.uri:
            reads = self.readable
        elif uri != self.uri + OWN:
            raise resource_not_found(uri)
        elif self._own == "refused":
            raise invalid_params(f"params.channel: {self.uri} takes no {OWN}: the host owns it all")
        else:
            # From now on it is said there too, whoever watches it: a client may come back.
            reads = own_rows(self.readable) if self._own == "owner" else _nobody
            self._list(uri, reads)
        if self._versions is not None:
            self._versions.met(caller)
        rows = [row for row in self.rows if reads(caller.reader, row)]
        state: State = {"rows": [self.shown(row, caller) for row in rows]}
        if self._operations or self._offered is not None:
            state["operations"] = self.operations
        return state

    def _list(self, uri: str, reads: Readable) -> None:
        if self._handle is not None and uri not in self._listings:
            self._listings[uri] = Listing(uri, self.scheme, reads, self._handle, self._versions)

    def _told(self) -> Sequence[Listing]:
        return tuple(self._listings.values())


def _nobody(reader: Any, row: State) -> bool:
    return False


def _copied(value: Any) -> Any:
    """JSON of its own: what is held here moves by what is put here alone.

    One row is no reason for nobody to read any: what cannot be sent of a text is written out.
    """
    try:
        return decode(encode(value))
    except UnicodeEncodeError:
        return decode(encode(whole_json(value)))
