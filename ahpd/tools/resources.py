"""`ahp_resource` and `ahp_resource_edit`: what this host and its clients serve by URI.

A client's resources are under `vscode-agent-client:` and are the client's to give. This
machine's files are asked about as an agent's own reads are, so of them these tools reach what
is in the session's folders alone, links that lead out of them left out. Reading and changing
are two tools because what a tool does is said of the whole of it; changing is advanced.
Sources: AHP.txt, "Server-to-client commands"; PLUGINS.txt, "A resource scheme".
"""

import base64
import codecs
import json
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from ahpd.interfaces import HostTool, IResources, RpcError, ToolCallContext, ToolEffects
from ahpd.protocol import State
from ahpd.protocol.errors import NOT_FOUND
from ahpd.protocol.file_uris import file_uri, named_path
from ahpd.protocol.uris import ROOT, scheme
from ahpd.tools import naming
from ahpd.tools.ports import SessionReading

RESOURCE: Final = "ahp_resource"
EDIT: Final = "ahp_resource_edit"

#: The most of a resource one call reads, in bytes.
MOST_BYTES: Final = 128 * 1024
#: The most entries of a directory one call tells.
MOST_ENTRIES: Final = 1000
#: How a part of a resource is asked for.
_RANGE: Final = "ahpd.range"

_URI: Final[State] = {
    "type": "string",
    "description": (
        "The resource's URI: `file:///path` in one of the session's folders, or "
        "`vscode-agent-client://<client>/<scheme>/<authority or ->/<path>`."
    ),
}
_READING: Final[State] = {
    "name": RESOURCE,
    "title": "Read a Resource",
    "description": (
        "Reads a resource by its URI, also one that a connected client alone has and this machine "
        "has no copy of: files of a plugin, text in an editor that is not saved. `action` is "
        "`read` (where it is left out), `list` for the entries of a directory, or `resolve` for "
        "what the resource is."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "uri": _URI,
            "action": {
                "type": "string",
                "enum": ["read", "list", "resolve"],
                "description": "What to do with it; `read` where it is left out.",
            },
            "offset": {
                "type": "integer",
                "minimum": 0,
                "description": "The first byte to read; 0 where it is left out.",
            },
        },
        "required": ["uri"],
    },
    "annotations": {"title": "Read a Resource", "readOnlyHint": True},
}
_EDITING: Final[State] = {
    "name": EDIT,
    "title": "Change a Resource",
    "description": (
        "Changes a resource by its URI, also one that a connected client alone has: writes it, "
        "makes a directory, moves, copies or deletes it."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "uri": _URI,
            "action": {
                "type": "string",
                "enum": ["write", "mkdir", "move", "copy", "delete"],
                "description": "What to do with it.",
            },
            "data": {"type": "string", "description": "What to write: text, which `write` needs."},
            "mode": {
                "type": "string",
                "enum": ["truncate", "append"],
                "description": "Whether `write` replaces what is there, or adds to it.",
            },
            "createOnly": {
                "type": "boolean",
                "description": "True to have `write` fail where something is there.",
            },
            "destination": {
                "type": "string",
                "description": "Where to, a URI, which `move` and `copy` need.",
            },
            "recursive": {
                "type": "boolean",
                "description": "True to have `delete` take a directory with all that is in it.",
            },
        },
        "required": ["uri", "action"],
    },
    "annotations": {
        "title": "Change a Resource", "readOnlyHint": False, "destructiveHint": True
    },
}  # fmt: skip


class ResourceTools:
    """The two tools over `resources`; `sessions` knows the folders a session works in."""

    def __init__(self, resources: IResources, sessions: SessionReading) -> None:
        self._resources = resources
        self._sessions = sessions

    def tools(self) -> Sequence[HostTool]:
        """Both."""
        return (
            HostTool(
                definition=_READING, run=self.look, effects=ToolEffects(reads=True, network=True)
            ),
            HostTool(
                definition=_EDITING,
                run=self.change,
                effects=ToolEffects(writes=True, network=True, destructive=True),
                advanced=True,
            ),
        )

    async def look(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str | State:
        """See `RESOURCE`."""
        uri, action = arguments["uri"], arguments.get("action", "read")
        await self._check_reached(RESOURCE, context, uri)
        if action == "list":
            entries = (await self._ask("resourceList", uri=uri))["entries"]
            lines = [f"{each['name']}\t{each['type']}" for each in entries[:MOST_ENTRIES]]
            if len(entries) > MOST_ENTRIES:
                lines.append(f"… {len(entries) - MOST_ENTRIES} entries were left out")
            return "\n".join(lines) or "The directory is empty."
        if action == "resolve":
            return json.dumps(await self._ask("resourceResolve", uri=uri), ensure_ascii=False)
        offset = int(arguments.get("offset", 0))
        asked = {"offset": offset, "length": MOST_BYTES + 1}
        read = await self._ask("resourceRead", uri=uri, _meta={_RANGE: asked})
        return _read(uri, read, offset)

    async def change(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        """See `EDIT`."""
        uri, action = arguments["uri"], arguments["action"]
        await self._check_reached(EDIT, context, uri)
        if action in ("move", "copy"):
            destination = _needed(arguments, "destination")
            await self._check_reached(EDIT, context, destination)
            method = "resourceMove" if action == "move" else "resourceCopy"
            await self._ask(method, source=uri, destination=destination, failIfExists=True)
            return f"{'Moved' if action == 'move' else 'Copied'} {uri} to {destination}."
        if action == "write":
            more = {key: arguments[key] for key in ("mode", "createOnly") if key in arguments}
            data = _needed(arguments, "data")
            await self._ask("resourceWrite", uri=uri, data=data, encoding="utf-8", **more)
            return f"Wrote {uri}."
        if action == "mkdir":
            await self._ask("resourceMkdir", uri=uri)
            return f"Made {uri}."
        recursive = bool(arguments.get("recursive"))
        await self._ask("resourceDelete", uri=uri, recursive=recursive)
        return f"Deleted {uri}."

    async def _ask(self, method: str, **params: Any) -> Any:
        return await self._resources.ask(method, {"channel": ROOT, **params})

    # -- which files ----------------------------------------------------------------------

    async def _check_reached(self, tool: str, context: ToolCallContext, uri: str) -> None:
        """Raise `ToolFailure` for a file outside of the session's folders, by name or by link."""
        if scheme(uri) != "file":
            return
        folders = [
            named_path(folder)
            for folder in self._sessions.folders(context.session)
            if scheme(folder) == "file"
        ]
        path = named_path(uri)
        if not _is_in(path, folders):
            raise naming.invalid(tool, f"{uri} is in no folder of this session.")
        real = await self._real(path)
        if not _is_in(real, folders) and not _is_in(real, [await self._real(f) for f in folders]):
            raise naming.invalid(tool, f"{uri} leads out of the folders of this session.")

    async def _real(self, path: str) -> str:
        """Where a path leads; of one that is not there, where the first folder above it does."""
        asked = PurePosixPath(path)
        for each in (asked, *asked.parents):
            try:
                found = await self._ask("resourceResolve", uri=file_uri(str(each)))
            except RpcError as error:
                if error.code != NOT_FOUND:
                    raise
                continue
            return str(PurePosixPath(named_path(found["uri"])) / asked.relative_to(each))
        return path


def _is_in(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def _needed(arguments: Mapping[str, Any], field: str) -> str:
    value: str | None = arguments.get(field)
    if value is None:
        raise naming.invalid(EDIT, f"{field} is missing")
    return value


def _read(uri: str, read: State, offset: int) -> str | State:
    """What was read from byte `offset` on: as text where it is text, cut where there is more than
    one call reads. A client that knows no ranges answers the whole, which is cut the same way."""
    data: str = read["data"]
    raw = base64.b64decode(data) if read["encoding"] == "base64" else data.encode()
    kept = raw[:MOST_BYTES]
    text, length = _text(kept, begins=offset == 0, ends=len(kept) == len(raw))
    if text is not None:
        more = f"\n… there is more: read on at offset {offset + length}."
        return text if len(kept) == len(raw) else text + more
    if len(kept) < len(raw):
        raise naming.invalid(RESOURCE, f"{uri} is no text, and more than {MOST_BYTES} bytes.")
    kind = read.get("contentType") or "application/octet-stream"
    content = [
        {"type": "embeddedResource", "data": base64.b64encode(raw).decode(), "contentType": kind}
    ]
    return {"success": True, "pastTenseMessage": f"Read {uri}", "content": content}


def _text(raw: bytes, begins: bool, ends: bool) -> tuple[str | None, int]:
    """The text in a part of a resource, None where it is none, and how many bytes it reaches.

    A character that is cut at an end of the part which is not the resource's own is left out.
    """
    start = 0
    while not begins and start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        text = decoder.decode(raw[start:], final=ends)
    except UnicodeDecodeError:
        return None, 0
    if "\0" in text:
        return None, 0
    return text, len(raw) - len(decoder.getstate()[0])
