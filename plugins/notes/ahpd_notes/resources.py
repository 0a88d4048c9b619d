"""The scheme `notes:`: `notes:/` is the folder of them all, `notes:/shopping.md` is one.

Whoever reads a resource is not named to its provider, so the scheme serves the notes everybody may
see; private ones are not there. What this class does not provide clients are told is not served.
"""

import base64
import binascii
import hashlib
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import attrs
from twisted.internet.defer import succeed
from zope.interface import implementer

from ahpd.interfaces import (
    Changed,
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IResourceWatcher,
    IWatchedResources,
    IWritableResources,
    RpcError,
    Wanted,
    WatchRequest,
)
from ahpd.protocol import State
from ahpd.protocol.errors import (
    ALREADY_EXISTS,
    CONFLICT,
    NOT_FOUND,
    invalid_params,
    permission_denied,
)
from ahpd.protocol.globs import WatchFilter
from ahpd_notes.notebook import Note, Notebook

_KIND: Final = "text/markdown"
_ENDING: Final = ".md"
_ROOT: Final = "notes:/"


@implementer(IResourceWatcher)
class _Watcher:
    """One watch of the notes."""

    def __init__(self, only: str | None, filtered: WatchFilter, changed: Changed) -> None:
        self._only = only
        self._filtered = filtered
        self._changed = changed
        self.released = False

    def moved(self, before: Note | None, now: Note | None) -> None:
        """A note moved: told as whoever sees the shared ones saw it."""
        was = before is not None and before.is_shared
        is_there = now is not None and now.is_shared
        note = now or before
        if self.released or note is None or not (was or is_there):
            return
        name = f"{note.id}{_ENDING}"
        # Globs are relative to the root of the watch, which is the note itself where one is named.
        path = name if self._only is None else ""
        if self._only not in (None, note.id) or not self._filtered.reports(path):
            return
        kind = ("updated" if was else "added") if is_there else "deleted"
        self._changed([{"uri": f"{_ROOT}{name}", "type": kind}])

    def release(self) -> Awaitable[None]:
        """See `IResourceWatcher.release`."""
        self.released = True
        return succeed(None)


@implementer(
    IResourceProvider, IListedResources, IResolvedResources, IWritableResources, IWatchedResources
)
class NotesResources:
    """Serves the shared notes of a notebook as files."""

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._watchers: list[_Watcher] = []
        notebook.on_move(self._moved)

    # -- reading ------------------------------------------------------------------------------

    async def read(self, uri: str, wanted: Wanted) -> State:
        """See `IResourceProvider.read`."""
        note = await self._note(uri)
        data = note.text.encode()[wanted.offset :]
        if wanted.length is not None:
            data = data[: wanted.length]
        answer: State = {"contentType": _KIND}
        if wanted.encoding != "base64":
            try:
                return {**answer, "data": data.decode(), "encoding": "utf-8"}
            except UnicodeDecodeError:
                pass  # a range that begins or ends within a character has no other way to be told
        return {**answer, "data": base64.b64encode(data).decode(), "encoding": "base64"}

    async def list(self, uri: str) -> Sequence[State]:
        """See `IListedResources.list`."""
        if _id_in(uri) is not None:
            raise RpcError(NOT_FOUND, f"{uri} is no folder.")
        notes = (await self._notebook.all()).values()
        return [{"name": f"{one.id}{_ENDING}", "type": "file"} for one in notes if one.is_shared]

    async def resolve(self, uri: str, follow_symlinks: bool) -> State:
        """See `IResolvedResources.resolve`."""
        if _id_in(uri) is None:
            return {"uri": _ROOT, "type": "directory"}
        note = await self._note(uri)
        return {
            "uri": f"{_ROOT}{note.id}{_ENDING}",
            "type": "file",
            "size": len(note.text.encode()),
            "contentType": _KIND,
            "etag": _etag(note),
        }

    async def _note(self, uri: str) -> Note:
        identifier = _id_in(uri)
        note = None if identifier is None else (await self._notebook.all()).get(identifier)
        if note is None or not note.is_shared:
            raise RpcError(NOT_FOUND, f"There is no note at {uri[:200]}.")
        return note

    # -- writing ------------------------------------------------------------------------------

    async def write(self, params: Mapping[str, Any]) -> None:
        """See `IWritableResources.write`."""
        async with self._notebook.writing:
            identifier, held = await self._place(params["uri"])
            if held is not None and params.get("createOnly"):
                raise RpcError(ALREADY_EXISTS, f"{params['uri']} is there already.")
            expected = params.get("ifMatch")
            if expected is not None and (held is None or _etag(held) != expected):
                raise RpcError(CONFLICT, f"{params['uri']} is not as it was.")
            there = b"" if held is None else held.text.encode()
            try:
                text = _written(there, _bytes(params), params).decode()
            except UnicodeDecodeError:
                raise invalid_params("params.data: a note is text in UTF-8") from None
            await self._keep(identifier, held, text)

    async def delete(self, uri: str, recursive: bool) -> None:
        """See `IWritableResources.delete`."""
        if _id_in(uri) is None:
            raise permission_denied("The folder of the notes stays.")
        async with self._notebook.writing:
            await self._notebook.remove((await self._note(uri)).id)

    async def mkdir(self, uri: str) -> None:
        """See `IWritableResources.mkdir`: there is one folder, and it is there."""
        if urlsplit(uri).path.strip("/"):
            raise permission_denied("Notes are in one folder.")

    async def move(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.move`."""
        async with self._notebook.writing:
            note = await self._note(source)
            if await self._copied(note, destination, fail_if_exists) != note.id:
                await self._notebook.remove(note.id)

    async def copy(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.copy`."""
        async with self._notebook.writing:
            await self._copied(await self._note(source), destination, fail_if_exists)

    async def _copied(self, note: Note, destination: str, fail_if_exists: bool) -> str:
        identifier, held = await self._place(destination)
        if held is not None and fail_if_exists:
            raise RpcError(ALREADY_EXISTS, f"{destination} is there already.")
        await self._keep(identifier, held, note.text)
        return identifier

    async def _place(self, uri: str) -> tuple[str, Note | None]:
        """Where something is to be written, and what is there. Raises `RpcError`."""
        identifier = _id_in(uri)
        if identifier is None:
            raise permission_denied(f"{_ROOT} is the folder of the notes.")
        held = (await self._notebook.all()).get(identifier)
        if held is not None and not held.is_shared:
            raise permission_denied(f"{uri[:200]} is taken.")
        return identifier, held

    async def _keep(self, identifier: str, held: Note | None, text: str) -> None:
        fresh = Note(id=identifier, text=text)
        await self._notebook.put(fresh if held is None else attrs.evolve(held, text=text))

    # -- watching -----------------------------------------------------------------------------

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IWatchedResources.watch`."""
        only = _id_in(request.root)
        try:
            filtered = WatchFilter(request.includes, request.excludes)
        except ValueError as wrong:
            raise invalid_params(str(wrong)) from None
        await self._notebook.all()  # what is there by now is no change
        watcher = _Watcher(only, filtered, changed)
        self._watchers.append(watcher)
        return watcher

    def _moved(self, before: Note | None, now: Note | None) -> None:
        self._watchers = [watcher for watcher in self._watchers if not watcher.released]
        for watcher in self._watchers:
            watcher.moved(before, now)


def _id_in(uri: str) -> str | None:
    """The id of the note a URI names; None for the folder. Raises `RpcError` for neither."""
    parts = urlsplit(uri)
    name = unquote(parts.path).removeprefix("/")
    if parts.netloc or parts.query or parts.fragment or "/" in name:
        raise RpcError(NOT_FOUND, f"{uri[:200]} is no note: one is {_ROOT}<id>{_ENDING}")
    if not name:
        return None
    identifier = name.removesuffix(_ENDING)
    if identifier == name or not identifier:
        raise RpcError(NOT_FOUND, f"{uri[:200]} is no note: one is {_ROOT}<id>{_ENDING}")
    return identifier


def _etag(note: Note) -> str:
    return hashlib.sha256(note.text.encode()).hexdigest()[:16]


def _bytes(params: Mapping[str, Any]) -> bytes:
    if params["encoding"] != "base64":
        data: str = params["data"]
        try:
            return data.encode()
        except UnicodeEncodeError:
            raise invalid_params("params.data holds half a character") from None
    try:
        return base64.b64decode(params["data"], validate=True)
    except (ValueError, binascii.Error):
        raise invalid_params("params.data is no base64") from None


def _written(there: bytes, data: bytes, params: Mapping[str, Any]) -> bytes:
    """What a write makes of what is there (schema: ResourceWriteMode)."""
    mode, at = params.get("mode") or "truncate", params.get("position") or 0
    if isinstance(at, bool) or at % 1 != 0 or at < 0:
        raise invalid_params("params.position is a whole number of bytes, 0 or more")
    place = int(at)
    if mode == "append":
        place = max(len(there) - place, 0)
    elif place > len(there):
        raise invalid_params(f"params.position is past the end, which is at {len(there)}")
    if mode == "truncate":
        return there[:place] + data
    return there[:place] + data + there[place:]
