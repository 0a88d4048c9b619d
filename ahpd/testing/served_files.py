"""A client's own files, served to the host that asks for them.

`serve_files` answers the ten `resource*` requests a host may ask of a client, and the
subscriptions to the watches it asked for (AHP.txt, "Server-to-client commands"):

    client = host.connect("editor", ROOT)
    files = serve_files(client, {"mem:/notes/a.txt": "hello"})
    ...                                     # the host asks, and is answered
    files.refuse("mem:/notes/a.txt", permission_denied("No."))
    files.change("updated", "mem:/notes/a.txt")   # said to every watch over it
    files.asked                             # [("resourceRead", {...}), ...]
"""

import base64
from collections.abc import Mapping
from itertools import count
from typing import Any

import attrs

from ahpd.client.client import Client
from ahpd.protocol import State
from ahpd.protocol.errors import ALREADY_EXISTS, CONFLICT, NOT_FOUND, RpcError, resource_not_found


@attrs.define(eq=False)
class ServedWatch:
    """A watch the host asked for."""

    channel: str
    state: State
    """Schema: ResourceWatchState."""
    subscribed: bool = False


class ServedFiles:
    """Files by the URI the client knows them under. A folder is there while something is in it.

    `files` may be changed at any time; nothing is said of that but by `change`. `asked` is
    every request of the host's, in order. `watches` are those it asked for, by channel.
    """

    def __init__(self, client: Client, files: Mapping[str, str | bytes]) -> None:
        self.files = {uri: _bytes(data) for uri, data in files.items()}
        self.folders: set[str] = set()
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.watches: dict[str, ServedWatch] = {}
        self._client = client
        self._refused: dict[str, RpcError] = {}
        self._numbers = count(1)
        for method, handler in {
            "resourceRead": self._read,
            "resourceWrite": self._write,
            "resourceList": self._list,
            "resourceResolve": self._resolve,
            "resourceDelete": self._delete,
            "resourceMkdir": self._mkdir,
            "resourceMove": self._move,
            "resourceCopy": self._copy,
            "resourceRequest": lambda params: {},
            "createResourceWatch": self._watch,
            "subscribe": self._subscribe,
        }.items():
            client.serve(method, self._handler(method, handler))
        client.on_notification(self._notified)

    def refuse(self, uri: str, error: RpcError) -> None:
        """Answer every request about `uri` with `error` from now on."""
        self._refused[uri] = error

    def change(self, kind: str, *uris: str) -> None:
        """Say one batch of changes, `added`, `updated` or `deleted`, to each subscribed watch.

        A watch is told of what is under its root, its globs left out of account.
        """
        for watch in tuple(self.watches.values()):
            changes = [
                {"uri": uri, "type": kind} for uri in uris if _is_under(uri, watch.state["root"])
            ]
            if watch.subscribed and changes:
                action = {"type": "resourceWatch/changed", "changes": {"items": changes}}
                self._client.say(watch.channel, action)

    def methods(self) -> list[str]:
        """The methods of `asked`."""
        return [method for method, _ in self.asked]

    def _handler(self, method: str, answer: Any) -> Any:
        def asked(params: dict[str, Any]) -> Any:
            self.asked.append((method, params))
            for key in ("uri", "source", "destination"):
                if params.get(key) in self._refused:
                    raise self._refused[params[key]]
            return answer(params)

        return asked

    # -- files ------------------------------------------------------------------------

    def _found(self, uri: str) -> bytes:
        if uri not in self.files:
            raise RpcError(NOT_FOUND, f"Resource not found: {uri}")
        return self.files[uri]

    def _below(self, uri: str) -> list[str]:
        """The files and folders under a folder, at any depth."""
        prefix = uri.rstrip("/") + "/"
        return sorted(name for name in {*self.files, *self.folders} if name.startswith(prefix))

    def _is_folder(self, uri: str) -> bool:
        return uri.rstrip("/") in self.folders or bool(self._below(uri))

    def _read(self, params: dict[str, Any]) -> State:
        data = self._found(params["uri"])
        if params.get("encoding") != "base64":
            try:
                return {"data": data.decode(), "encoding": "utf-8"}
            except UnicodeDecodeError:
                pass
        return {"data": base64.b64encode(data).decode(), "encoding": "base64"}

    def _list(self, params: dict[str, Any]) -> State:
        uri = params["uri"].rstrip("/")
        if not self._is_folder(uri):
            raise RpcError(NOT_FOUND, f"Resource not found: {uri}")
        names = sorted({name[len(uri) + 1 :].partition("/")[0] for name in self._below(uri)})
        kinds = {name: "file" if f"{uri}/{name}" in self.files else "directory" for name in names}
        return {"entries": [{"name": name, "type": kind} for name, kind in kinds.items()]}

    def _resolve(self, params: dict[str, Any]) -> State:
        uri = params["uri"]
        if uri not in self.files and self._is_folder(uri):
            return {"uri": uri, "type": "directory"}
        data = self._found(uri)
        return {"uri": uri, "type": "file", "size": len(data), "etag": _etag(data)}

    def _write(self, params: dict[str, Any]) -> State:
        uri, held = params["uri"], self.files.get(params["uri"])
        if params.get("createOnly") and held is not None:
            raise RpcError(ALREADY_EXISTS, f"Resource already exists: {uri}")
        if "ifMatch" in params and params["ifMatch"] != _etag(held or b""):
            raise RpcError(CONFLICT, f"Resource has changed: {uri}")
        data = params["data"]
        new = base64.b64decode(data) if params["encoding"] == "base64" else data.encode()
        held = held or b""
        match params.get("mode", "truncate"):
            case "append":
                new = held + new
            case "insert":
                at = params.get("position", 0)
                new = held[:at] + new + held[at:]
        self.files[uri] = new
        return {}

    def _delete(self, params: dict[str, Any]) -> State:
        uri = params["uri"]
        if uri not in self.files and not self._is_folder(uri):
            raise RpcError(NOT_FOUND, f"Resource not found: {uri}")
        below = self._below(uri)
        if below and not params.get("recursive"):
            raise RpcError(CONFLICT, f"Directory is not empty: {uri}")
        for name in (uri, *below):
            self.files.pop(name, None)
            self.folders.discard(name)
        return {}

    def _mkdir(self, params: dict[str, Any]) -> State:
        self.folders.add(params["uri"].rstrip("/"))
        return {}

    def _copy(self, params: dict[str, Any]) -> State:
        data, destination = self._found(params["source"]), params["destination"]
        if params.get("failIfExists") and destination in self.files:
            raise RpcError(ALREADY_EXISTS, f"Resource already exists: {destination}")
        self.files[destination] = data
        return {}

    def _move(self, params: dict[str, Any]) -> State:
        self._copy(params)
        del self.files[params["source"]]
        return {}

    # -- watches ----------------------------------------------------------------------

    def _watch(self, params: dict[str, Any]) -> State:
        channel = f"ahp-resource-watch:/{self._client.client_id}-{next(self._numbers)}"
        state: State = {"root": params["uri"], "recursive": params.get("recursive", False)}
        state |= {key: params[key] for key in ("includes", "excludes") if key in params}
        self.watches[channel] = ServedWatch(channel, state)
        self._client.closed.addCallback(lambda _: self.watches.pop(channel, None))
        return {"channel": channel}

    def _subscribe(self, params: dict[str, Any]) -> State:
        watch = self.watches.get(params["channel"])
        if watch is None:
            raise resource_not_found(params["channel"])
        watch.subscribed = True
        return {"snapshot": {"resource": watch.channel, "state": watch.state, "fromSeq": 0}}

    def _notified(self, method: str, params: dict[str, Any]) -> None:
        """An unsubscribe lets go of the watch, as the end of the connection does (schema)."""
        if method == "unsubscribe":
            self.watches.pop(params["channel"], None)


def serve_files(client: Client, files: Mapping[str, str | bytes]) -> ServedFiles:
    """Have `client` serve these files to its host; what it serves, and was asked."""
    return ServedFiles(client, files)


def _bytes(data: str | bytes) -> bytes:
    return data.encode() if isinstance(data, str) else data


def _etag(data: bytes) -> str:
    return f"{len(data)}-{sum(data)}"


def _is_under(uri: str, root: str) -> bool:
    return uri == root or uri.startswith(root.rstrip("/") + "/")
