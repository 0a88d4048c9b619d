"""What becomes of a message's attachments, decided once for every backend.

Source: CHATS.txt, "Attachments". Bytes are written to a file before the message is said,
and the message carries the file from then on. A backend is handed pictures as pictures,
short text as text and the rest by its path.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger
from zope.interface import implementer

from ahpd.attachments import contents
from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.leaving import Leaving
from ahpd.attachments.references import pinned, pointer
from ahpd.interfaces import IAttachments, IClientResources, RpcError
from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri, path_of, shown
from ahpd.protocol.uris import scheme
from ahpd.threads import InThread

log = Logger()

FETCH_LIMIT: Final = 32 * contents.MIB
_MOST_REMEMBERED: Final = 256


#: What two writes have in common that write the same: session, label, type and digest.
_Same = tuple[str, str, str, bytes]


class _Lately:
    """The files of the last writes, so that a message sent again is not written again."""

    def __init__(self) -> None:
        self._paths: OrderedDict[_Same, str] = OrderedDict()
        self._uses: dict[str, int] = {}

    def find(self, same: _Same) -> str | None:
        """The file the same was written to."""
        return self._paths.get(same)

    def used(self, same: _Same, path: str) -> None:
        """A message is about to carry this file."""
        if self._paths.get(same) != path:
            self._uses.pop(self._paths.pop(same, ""), None)
        self._paths[same] = path
        self._paths.move_to_end(same)
        self._uses[path] = self._uses.get(path, 0) + 1
        if len(self._paths) > _MOST_REMEMBERED:
            _, oldest = self._paths.popitem(last=False)
            del self._uses[oldest]

    def dropped(self, path: str) -> bool:
        """A message that carried it was not said; whether it was the only one to carry it."""
        uses = self._uses.get(path, 0)
        if uses > 1:
            self._uses[path] = uses - 1
        return uses == 1


@implementer(IAttachments)
class Attachments:
    """The attachments of every session of a host.

    `find_chat` answers the state of a chat that is open here (schema: ChatState), by any
    URI it goes by; `resources` reads what a client alone has, and None reads nothing;
    `fetch_limit` is the largest size, in bytes, a client may hint at and be asked for,
    0 for any. `sessions` answers the ids of all sessions there are.
    """

    def __init__(
        self,
        files: AttachmentFiles,
        in_thread: InThread,
        find_chat: Callable[[str], State | None],
        resources: IClientResources | None = None,
        fetch_limit: int = FETCH_LIMIT,
        sessions: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.folder = str(files.root)
        self._files = files
        self._in_thread = in_thread
        self._find_chat = find_chat
        self._resources = resources
        self._fetch_limit = fetch_limit
        self._lately = _Lately()
        self._leaving = Leaving(files, in_thread, sessions)

    # -- before a message is said -------------------------------------------------

    def prepare(
        self, session: str, message: State, client_id: str | None
    ) -> State | Awaitable[State]:
        """See `IAttachments.prepare`."""
        sent: Sequence[Mapping[str, Any]] = message.get("attachments") or ()
        if not sent:
            return message
        kept = [self._pinned(one) for one in sent]
        if any(_to_be_looked_at(one) for one in kept):
            return self._written(session, message, kept, client_id)
        return (
            message
            if all(a is b for a, b in zip(kept, sent, strict=True))
            else {**message, "attachments": kept}
        )

    def _pinned(self, attachment: Mapping[str, Any]) -> Mapping[str, Any]:
        if attachment["type"] != "chat":
            return attachment
        return pinned(attachment, self._find_chat(attachment["resource"]))

    async def _written(
        self,
        session: str,
        message: State,
        attachments: Sequence[Mapping[str, Any]],
        client_id: str | None,
    ) -> State:
        written = []
        for one in attachments:
            made = one
            if _to_be_looked_at(one):
                try:
                    made = await self._kept(session, one, client_id)
                except RpcError as error:  # its client has no such resource, or has gone
                    log.info(
                        "{uri} was not read through its client: {why}",
                        uri=one["uri"][:200],
                        why=error.message,
                    )
                except Exception as error:
                    _left(session, one, error)
            written.append(made)
        return {**message, "attachments": written}

    async def _kept(
        self, session: str, attachment: Mapping[str, Any], client_id: str | None
    ) -> Mapping[str, Any]:
        """The attachment with its bytes in a file of the session's. Raises what went wrong."""
        if attachment["type"] == "embeddedResource":
            kind = attachment["contentType"]
            return await self._write(session, attachment, kind, attachment["data"], "base64")
        path = path_of(attachment["uri"])
        if path is not None:
            found = await self._in_thread(lambda: self._look(session, path))
            if found == _OWN:
                kind = contents.tagged_type(attachment) or attachment.get("contentType") or ""
                return _tagged(attachment, kind)
            if found == _THERE:
                return attachment
        if client_id is None or self._resources is None or self._is_too_large(attachment):
            return attachment
        answer = await self._resources.read(client_id, attachment["uri"])
        data, encoding = answer.get("data"), answer.get("encoding")
        if not isinstance(data, str) or encoding not in ("base64", "utf-8"):
            raise ValueError("its client answered no resource")
        told = answer.get("contentType")
        kind = told if isinstance(told, str) and told else attachment.get("contentType") or ""
        return await self._write(session, attachment, kind, data, encoding)

    def _look(self, session: str, path: str) -> str:
        """What of ours or of anybody's is at `path`. Blocks."""
        if self._files.owns(path, session):
            return _OWN
        return _THERE if os.path.exists(path) else _NOWHERE  # noqa: PTH110 - this one never raises

    def _is_too_large(self, attachment: Mapping[str, Any]) -> bool:
        hint = attachment.get("sizeHint")
        return bool(self._fetch_limit) and hint is not None and hint > self._fetch_limit

    async def _write(
        self, session: str, attachment: Mapping[str, Any], kind: str, data: str, encoding: str
    ) -> State:
        """Write the bytes, unless this session was sent them just now: then it has the file."""
        label = attachment["label"]

        def write() -> tuple[_Same, str, int]:
            raw = contents.decoded(data, encoding)
            same = (session, label, kind, hashlib.sha256(raw).digest())
            held = self._lately.find(same)
            if held is not None and self._files.owns(held, session):
                return same, held, len(raw)
            path = self._files.write(session, label, contents.media_type(kind), raw)
            return same, str(path), len(raw)

        same, path, size = await self._in_thread(write)
        self._lately.used(same, path)
        return contents.snapshot(attachment, file_uri(path), kind, size)

    async def discard(self, before: State, after: State) -> None:
        """See `IAttachments.discard`."""
        sent: Sequence[State] = before.get("attachments") or ()
        made: Sequence[State] = after.get("attachments") or ()
        for was, now in zip(sent, made, strict=True):
            path = None if now.get("uri") == was.get("uri") else path_of(now.get("uri", ""))
            if path is None or not self._lately.dropped(path):
                continue
            try:
                await self._in_thread(partial(self._files.take_back, path))
            except OSError as error:
                log.warn("{path} could not be removed: {why}", path=shown(path), why=error.strerror)

    # -- for a backend ------------------------------------------------------------

    async def for_backend(self, message: Mapping[str, Any]) -> list[State]:
        """See `IAttachments.for_backend`."""
        taken: list[State] = []
        for one in message.get("attachments") or ():
            match one["type"]:
                case "chat":
                    taken.append(pointer(one, self._find_chat(one["resource"])))
                case "resource" if path_of(one["uri"]) is not None:
                    taken.append(await self._in_thread(partial(self._from_file, one)))
                case "embeddedResource":
                    taken.append(await self._in_thread(partial(_from_message, one)))
                case _:
                    taken.append(dict(one))
        return taken

    def _from_file(self, attachment: Mapping[str, Any]) -> State:
        """A file's attachment: what is in it where it is the message's own, its path else."""
        path = path_of(attachment["uri"])
        assert path is not None
        kind = contents.tagged_type(attachment)
        if kind is not None and self._files.owns(path):
            most = contents.LARGEST_IMAGE if contents.is_image(kind) else contents.LONGEST_TEXT
            try:
                if Path(path).stat().st_size <= most:
                    read = _as_read(attachment, Path(path).read_bytes(), kind, shown(path))
                    if read is not None:
                        return read
            except OSError as error:
                log.warn("{path} could not be read: {why}", path=shown(path), why=error.strerror)
        return contents.by_path(attachment, shown(path))

    # -- the end --------------------------------------------------------------------

    def refer(self, session: str, chats: Iterable[State]) -> None:
        """See `IAttachments.refer`."""
        self._leaving.refer(session, chats)

    async def settle(self, session: str, chats: Iterable[State]) -> None:
        """See `IAttachments.settle`."""
        await self._leaving.settle(session, chats)

    async def forget(self, session: str) -> None:
        """See `IAttachments.forget`."""
        await self._leaving.forget(session)

    async def sweep(self) -> None:
        """See `IAttachments.sweep`."""
        await self._leaving.sweep()


#: What is at a path: a file of the session's own, somebody's file or folder, nothing.
_OWN: Final = "own"
_THERE: Final = "there"
_NOWHERE: Final = "nowhere"


def _to_be_looked_at(attachment: Mapping[str, Any]) -> bool:
    """Whether there may be bytes to write: inline ones, or a resource this host has no copy of."""
    if attachment["type"] == "embeddedResource":
        return True
    if attachment["type"] != "resource" or attachment.get("displayKind") == "directory":
        return False
    uri = attachment["uri"]
    # What is on a channel of this host's own is no client's to be asked for.
    return bool(scheme(uri)) and not scheme(uri).startswith("ahp-") and not uri.endswith("/")


def _tagged(attachment: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    if contents.tagged_type(attachment) is not None:
        return attachment
    meta = attachment.get("_meta") or {}
    tag = {"isSnapshot": True, "contentType": kind}
    return {**attachment, "_meta": {**meta, contents.SNAPSHOT: tag}}


def _from_message(attachment: Mapping[str, Any]) -> State:
    """Bytes that stayed in their message, because they could not be written."""
    kind = attachment["contentType"]
    try:
        read = _as_read(attachment, contents.decoded(attachment["data"]), kind, None)
    except ValueError:
        read = None
    return dict(attachment) if read is None else read


def _as_read(
    attachment: Mapping[str, Any], data: bytes, kind: str, path: str | None
) -> State | None:
    """The picture or the text a model is handed of `data`; None for neither."""
    if contents.is_image(kind):
        if len(data) <= contents.LARGEST_IMAGE:
            return contents.image(attachment, data, kind, path)
    elif len(data) <= contents.LONGEST_TEXT and contents.may_be_text(kind, data):
        try:
            return contents.inline(attachment, data.decode(), path)
        except UnicodeDecodeError:
            return None
    return None


def _left(session: str, attachment: Mapping[str, Any], error: Exception) -> None:
    known = isinstance(error, OSError | ValueError)
    log.warn(
        "an attachment of {session} stays as it was sent, {label}: {why}",
        session=session,
        label=repr(attachment["label"][:100]),
        why=str(error) if known else f"{type(error).__name__}: {error}",
    )
