"""The channel `x-notes` and its commands: each client is told of the notes its reader may see."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import (
    Caller,
    Channel,
    Description,
    IChannelHandle,
    IPluginHost,
    Method,
    Reader,
    RpcError,
)
from ahpd.protocol import State
from ahpd.protocol.errors import NOT_FOUND, invalid_params, permission_denied
from ahpd_notes.notebook import Note, Notebook, checked

SCHEME: Final = "x-notes"
URI: Final = "x-notes://"
LIST: Final = "notes:list"
PUT: Final = "notes:put"
DELETE: Final = "notes:delete"


class NotesChannel:
    """Serves the notebook to clients."""

    def __init__(self, host: IPluginHost, notebook: Notebook) -> None:
        self._notebook = notebook
        self._handle: IChannelHandle = host.register_channel(
            SCHEME,
            Channel(
                grant=LIST,
                snapshot=self._snapshot,
                authorize=self._has_one,
                describe=lambda: Description(
                    title="Notes", description="The notes a reader may see."
                ),
            ),
        )
        host.register_method(
            "x-notes/put",
            Method(
                grant=PUT,
                handle=self._put,
                authorize=self._owns,
                describe=lambda: Description(title="Put a note", description="Saves one note."),
            ),
        )
        host.register_method(
            "x-notes/remove",
            Method(
                grant=DELETE,
                handle=self._remove,
                authorize=self._owns,
                describe=lambda: Description(title="Remove a note"),
            ),
        )
        # The operations a grant may name, which people are offered when they give somebody some.
        host.register_grants("notes", "Notes", ["list", "put", "delete"])

    # -- what clients read --------------------------------------------------------------------

    async def _snapshot(self, uri: str, caller: Caller) -> State:
        if uri != URI:
            raise RpcError(NOT_FOUND, f"{uri} is none: the notes are at {URI}")
        notes = (await self._notebook.all()).values()
        return {"notes": [note.shown() for note in notes if note.visible_to(caller.reader)]}

    def moved(self, before: Note | None, now: Note | None) -> None:
        """Tell whoever may see a note what became of it.

        Some saw it before and do not now: for them it is removed, as if it were gone.
        """

        def sees(note: Note | None, reader: Reader | None) -> bool:
            return note is not None and note.visible_to(reader)

        if now is not None:
            self._handle.publish(
                URI,
                {"type": "x-notes/changed", "note": now.shown()},
                visible=lambda reader, client: sees(now, reader),
            )
        if before is not None:
            self._handle.publish(
                URI,
                {"type": "x-notes/removed", "id": before.id},
                visible=lambda reader, client: sees(before, reader) and not sees(now, reader),
            )

    # -- who may do what ------------------------------------------------------------------------

    async def _has_one(self, uri: str, caller: Caller) -> bool:
        """Lets somebody without the grant watch their own."""
        notes = (await self._notebook.all()).values()
        return any(_is_own(note, caller) for note in notes)

    async def _owns(self, params: Mapping[str, Any], caller: Caller) -> bool:
        note = (await self._notebook.all()).get(str(params.get("id")))
        return note is not None and _is_own(note, caller)

    # -- what clients do --------------------------------------------------------------------------

    async def _put(self, params: Mapping[str, Any], caller: Caller) -> State:
        async with self._notebook.writing:
            await self._notebook.put(await self._wanted(params, caller))
        return {"id": params["id"]}

    async def _wanted(self, params: Mapping[str, Any], caller: Caller) -> Note:
        """The note a put asks for. Raises `RpcError`."""
        identifier, text, private = checked(params)
        held = (await self._notebook.all()).get(identifier)
        if held is not None and not held.visible_to(caller.reader):
            raise permission_denied(f"The id {identifier} is taken by a note of somebody else's.")
        owner = caller.owner if held is None else held.owner
        if private is None:
            private = held is not None and held.private
        if private and owner is None:
            raise invalid_params("A private note is somebody's, and this host knows no users.")
        if private and held is not None and not held.private and not _is_own(held, caller):
            raise permission_denied("Only its owner makes a note private.")
        return Note(id=identifier, text=text, owner=owner, private=private)

    async def _remove(self, params: Mapping[str, Any], caller: Caller) -> State:
        identifier = str(params.get("id"))
        async with self._notebook.writing:
            held = (await self._notebook.all()).get(identifier)
            # A note somebody may not see is, to them, one that is not there.
            if held is None or not held.visible_to(caller.reader):
                raise RpcError(NOT_FOUND, f"There is no note {identifier[:100]}.")
            await self._notebook.remove(held.id)
        return {}


def _is_own(note: Note, caller: Caller) -> bool:
    return note.owner is not None and note.owner == caller.owner
