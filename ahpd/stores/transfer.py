"""Sessions as JSON lines: how they move from one host to another.

Every line is an object whose `record` says what it is:

- `header`, the first: `format` and `version` of this, and `attachments`, the folder that
  attachments were kept in, for what is kept names them by path;
- `session`: the row of a session. What belongs to it follows;
- `channel`: its `session`, its `kind` and its `head`. Its turns and entries follow;
- `turn` and `entry`: one each of a `channel`, in order;
- `terminal`: what is kept of one that chats of a `session` name, see
  `ahpd.stores.carried_terminals`. There was none in version 1;
- `file`: a piece of an attachment of a `session`, see `ahpd.stores.carried`. One that came to
  another session, from which a chat moved here, says in `shared` where it is kept;
- `end`, the last: how many `sessions` there were. Without it an export is not whole.

Heads, turns, entries and states are the JSON values they are, so that the lines can be read. What a
host keeps under an empty id is of no session, and stays where it is.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Final

import attrs

from ahpd.interfaces.stores import (
    ChannelRecord,
    ISessionStore,
    PutChannel,
    PutSession,
    SessionRow,
    Write,
)
from ahpd.protocol.check import check
from ahpd.protocol.shapes.sessions import SessionSummary
from ahpd.protocol.uris import session_id
from ahpd.stores.carried import Arriving, FolderOf, mover, pieces
from ahpd.stores.carried_terminals import terminal_writes, terminals_of
from ahpd.stores.records import flag_of, lines_in, record_of, text_of
from ahpd.wire.codec import Encoded, decode, encode

FORMAT: Final = "ahpd-sessions"
VERSION: Final = 2
#: The versions that are read.
_READ: Final[Sequence[int]] = (1, VERSION)

#: The name of an attachment in the folder of another session.
_SHARED: Final = re.compile(r"[A-Za-z0-9_%-]+/[A-Za-z0-9_%-]+")

#: The folder beside those of the sessions where files of an import wait.
_ASIDE: Final = ".import"


class TransferError(Exception):
    """What was read is no such export, or may not be imported; words for a person."""


@attrs.frozen(kw_only=True)
class Place:
    """Where the attachments of a host are."""

    root: Path
    folder_of: FolderOf
    """The folder under `root` of the session with an id."""
    shared_of: Callable[[str], Iterable[str]] = lambda session: ()
    """What the session with an id refers to in the folders of others, `FOLDER/PLACE` each."""
    share: Callable[[Mapping[str, Iterable[str]]], None] = lambda shared: None
    """From now on the sessions with these ids refer to these, and to nothing else."""


# -- export ------------------------------------------------------------------------------


def export_lines(
    store: ISessionStore,
    place: Place,
    wanted: Iterable[SessionRow],
    progress: Callable[[int], None] = lambda done: None,
) -> Iterator[bytes]:
    """The lines of an export, each with its newline. `progress` is told how many sessions are done.

    Raises `StoreFailure`, `OSError` and, for what the store holds and is no JSON,
    `TransferError`.
    """
    done = 0
    rows = (row for row in wanted if row.id)
    yield _line("header", format=FORMAT, version=VERSION, attachments=str(place.root))
    for row in rows:
        yield _line(
            "session",
            id=row.id,
            uri=row.uri,
            provider=row.provider,
            createdAt=row.created_at,
            modifiedAt=row.modified_at,
            announced=row.announced,
            summary=_json(row.summary, f"the summary of {row.uri}"),
        )
        for channel in store.read(row.id):
            yield from _channel_lines(row.id, channel)
        for terminal, chats, state in terminals_of(store, row.id):
            held = _json(state, f"the state of {terminal}")
            yield _line("terminal", session=row.id, chats=chats, terminal=terminal, state=held)
        for piece in pieces(place.folder_of(row.id)):
            yield _line("file", session=row.id, **piece)
        for name in sorted(place.shared_of(row.id)):
            for piece in pieces(place.root / name):
                yield _line("file", session=row.id, shared=name, **piece)
        done += 1
        progress(done)
    yield _line("end", sessions=done)


def _channel_lines(session: str, kept: ChannelRecord) -> Iterator[bytes]:
    name = kept.channel
    head = _json(kept.head, f"the head of {name}")
    yield _line("channel", session=session, channel=name, kind=kept.kind, head=head)
    for turn in kept.turns:
        yield _line("turn", channel=name, turn=_json(turn, f"a turn of {name}"))
    for entry in kept.entries:
        yield _line("entry", channel=name, entry=_json(entry, f"an entry of {name}"))


def _json(data: bytes, what: str) -> Any:
    """What the store holds, as a part of a line."""
    try:
        value = decode(data)
    except ValueError as error:
        raise TransferError(f"{what} is no JSON: {error}") from None
    # As it is, but for bytes on several lines.
    return value if b"\n" in data or b"\r" in data else Encoded(data)


def _line(record: str, **fields: Any) -> bytes:
    return encode({"record": record, **fields}) + b"\n"


# -- import ------------------------------------------------------------------------------


@attrs.define
class Imported:
    """What an import did."""

    sessions: int = 0
    skipped: int = 0


def import_lines(
    store: ISessionStore,
    place: Place,
    lines: IO[bytes],
    *,
    skip_existing: bool = False,
    progress: Callable[[int], None] = lambda done: None,
) -> Imported:
    """Read an export into a store that is open: all of it or nothing.

    A session that the store holds is refused, or with `skip_existing` left as it is. Raises
    `TransferError`, which names the line, `StoreFailure` and `OSError`.
    """
    arriving = Arriving(place.root / _ASIDE, place.folder_of)
    arriving.clear()
    reader = _Reader(store, place, arriving, skip_existing, progress)
    try:
        store.apply(reader.writes(lines))
    except BaseException:
        arriving.take_back()
        reader.share_nothing()
        raise
    finally:
        arriving.clear()
    return reader.done


class _Reader:
    """One import: from lines to the writes they ask for."""

    def __init__(
        self,
        store: ISessionStore,
        place: Place,
        arriving: Arriving,
        skip_existing: bool,
        progress: Callable[[int], None],
    ) -> None:
        self.done = Imported()
        self._store = store
        self._place = place
        self._arriving = arriving
        self._skip_existing = skip_existing
        self._progress = progress
        rows = store.sessions()
        self._held = {row.id for row in rows}
        self._ordinal = max((row.ordinal for row in rows), default=0)
        self._taken: set[str] = set()
        self._skipped: set[str] = set()
        self._shared: dict[str, set[str]] = {}
        """What each session refers to in the folders of others."""
        self._channels: dict[str, bool] = {}
        """The channels there were; False for those of a session that is skipped."""
        self._pending: PutChannel | None = None
        self._turns: list[bytes] = []
        self._entries: list[bytes] = []
        self._moved: Callable[[Any], Any] = lambda value: value

    def writes(self, lines: IO[bytes]) -> Iterator[Write]:
        """The writes; the files are in their places behind the last one."""
        number, ended = 0, False
        for number, data in enumerate(lines_in(lines), 1):
            try:
                if ended:
                    raise ValueError("there is more behind the end")
                record = record_of(data)
                kind = text_of(record, "record")
                if number == 1:
                    self._header(kind, record)
                elif kind == "end":
                    ended = True
                    yield from self._end(record)
                else:
                    yield from self._take(kind, record)
            except ValueError as error:
                raise TransferError(f"line {number}: {error}") from None
        if number == 0:
            raise TransferError("line 1: there is nothing, expected the header of an export")
        if not ended:
            raise TransferError(f"line {number}: it ends here, before the end of the export")
        self._arriving.place()
        self._place.share(self._shared)

    def share_nothing(self) -> None:
        """Nothing was imported: no session that was to be refers to anything."""
        if self._shared:
            self._place.share(dict.fromkeys(self._shared, ()))

    def _header(self, kind: str, record: Mapping[str, Any]) -> None:
        if kind != "header" or record.get("format") != FORMAT:
            raise ValueError("it is no header of an export of sessions")
        version = record.get("version")
        if type(version) is not int or version not in _READ:
            known = f"{_READ[0]} to {_READ[-1]}"
            raise ValueError(f"version is {version!r}, expected {known}; use a newer ahpd")
        self._moved = mover(Path(text_of(record, "attachments")), self._place.root)

    def _take(self, kind: str, record: Mapping[str, Any]) -> Iterator[Write]:
        match kind:
            case "session":
                yield from self._flush()
                yield from self._session(record)
            case "channel":
                yield from self._flush()
                self._channel(record)
            case "turn":
                self._behind(record, "turn", self._turns)
            case "entry":
                self._behind(record, "entry", self._entries)
            case "terminal":
                yield from self._flush()
                yield from self._terminal(record)
            case "file":
                self._file(record)
            case _:
                raise ValueError(f"record is {kind!r}, which this version does not know")

    def _session(self, record: Mapping[str, Any]) -> Iterator[Write]:
        identifier, uri = text_of(record, "id"), text_of(record, "uri")
        if not identifier or session_id(uri) != identifier:
            raise ValueError(f"id is {identifier!r}, which is not the one in {uri}")
        if identifier in self._taken or identifier in self._skipped:
            raise ValueError(f"the session {identifier} is there twice")
        if identifier in self._held:
            if not self._skip_existing:
                raise ValueError(
                    f"the session {identifier} is held already; leave such out with --skip-existing"
                )
            self._skipped.add(identifier)
            self.done.skipped += 1
            return
        announced = flag_of(record, "announced")
        self._taken.add(identifier)
        self._ordinal += 1
        yield PutSession(
            row=SessionRow(
                id=identifier,
                uri=uri,
                provider=text_of(record, "provider"),
                created_at=text_of(record, "createdAt"),
                modified_at=text_of(record, "modifiedAt"),
                ordinal=self._ordinal,
                announced=announced,
                summary=self._summary(record, uri),
            )
        )
        self.done.sessions += 1
        self._progress(self.done.sessions)

    def _summary(self, record: Mapping[str, Any], uri: str) -> bytes:
        """A row is shown to clients as it is, so it is checked before it is taken."""
        if "summary" in record:
            check(record["summary"], SessionSummary, "summary")
            if record["summary"]["resource"] != uri:
                raise ValueError(f"summary.resource is not {uri}")
        return self._value(record, "summary")

    def _owner(self, record: Mapping[str, Any]) -> tuple[str, bool]:
        """The session a line is of, and whether it is imported."""
        session = text_of(record, "session")
        if session not in self._taken and session not in self._skipped:
            raise ValueError(f"the session {session} is not there before it")
        return session, session in self._taken

    def _channel(self, record: Mapping[str, Any]) -> None:
        session, wanted = self._owner(record)
        channel = text_of(record, "channel")
        if channel in self._channels:
            raise ValueError(f"the channel {channel} is there twice")
        self._channels[channel] = wanted
        if not wanted:
            return
        owner = self._store.session_of(channel)
        if owner:  # what the host keeps of no session may go to one
            raise ValueError(f"the channel {channel} is held already, by the session {owner}")
        self._pending = PutChannel(
            session=session,
            channel=channel,
            kind=text_of(record, "kind"),
            head=self._value(record, "head"),
        )

    def _behind(self, record: Mapping[str, Any], name: str, kept: list[bytes]) -> None:
        channel = text_of(record, "channel")
        if self._channels.get(channel) is False:
            return
        if self._pending is None or self._pending.channel != channel:
            raise ValueError(f"the {name} does not follow its channel {channel}")
        if name == "turn" and self._entries:
            raise ValueError("a turn is behind an entry")
        kept.append(self._value(record, name))

    def _terminal(self, record: Mapping[str, Any]) -> Iterator[Write]:
        _, wanted = self._owner(record)
        if wanted:
            yield from terminal_writes(
                self._store, record, lambda chat: self._channels.get(chat, False)
            )

    def _file(self, record: Mapping[str, Any]) -> None:
        session, wanted = self._owner(record)
        more = flag_of(record, "more")
        path, data = text_of(record, "path"), text_of(record, "data")
        shared = text_of(record, "shared") if "shared" in record else ""
        if "shared" in record and not _SHARED.fullmatch(shared):
            raise ValueError(f"shared is {shared!r}, expected the names of two folders")
        if wanted:
            self._arriving.add(session, path, data, more, shared)
            if shared:
                self._shared.setdefault(session, set()).add(shared)

    def _flush(self) -> Iterator[Write]:
        pending, self._pending = self._pending, None
        if pending is not None:
            yield attrs.evolve(pending, turns=self._turns, entries=self._entries)
            self._turns, self._entries = [], []
        if self._arriving.is_between:
            raise ValueError("the file before it is not whole")

    def _end(self, record: Mapping[str, Any]) -> Iterator[Write]:
        yield from self._flush()
        found = len(self._taken) + len(self._skipped)
        if record.get("sessions") != found:
            raise ValueError(
                f"there were {found} sessions before it, not {record.get('sessions')!r}"
            )

    def _value(self, record: Mapping[str, Any], name: str) -> bytes:
        if name not in record:
            raise ValueError(f"{name} is missing")
        try:
            return encode(self._moved(record[name]))
        except RecursionError:
            raise ValueError(f"{name} is nested too deeply") from None
