"""Files of this machine as the tools reach them: held where they were looked at, then used.

Reading is done here, because a part of a large file is read and the rest is not. Writing is
the host's own (`IResources`): whole or not at all, with the file's mode, owner and names
kept, and refused where somebody else wrote in between. What it writes to is named through
the descriptor of the folder that was looked at, where the system has names for those, so
that the check and the use are of one folder.
"""

import base64
import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred

from ahpd.interfaces import IResources
from ahpd.protocol.errors import ALREADY_EXISTS, CONFLICT, NOT_FOUND, RpcError
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.uris import ROOT
from ahpd_agent_openai.tools.paths import Found, Workspace
from ahpd_agent_openai.tools.tree.walking import open_file, open_folder, open_in
from ahpd_agent_openai.tools.values import CallContext, ToolProblem
from ahpd_agent_openai.tools.work import to_its_end

#: The largest file that is edited, or compared with what it is replaced by, in bytes.
LARGEST_EDITED: Final = 8 * 1024 * 1024

#: Where this system names a process's descriptors; None where it does not.
DESCRIPTORS: Final = "/proc/self/fd" if sys.platform == "linux" else None


class Changed(Exception):
    """Somebody else wrote to the file since it was read."""


def words_for(error: OSError, found: Found) -> str:
    """What the model is told of an error of the system's."""
    if isinstance(error, FileNotFoundError):
        return f"there is no {found.shown}"
    if isinstance(error, IsADirectoryError):
        return f"{found.shown} is a folder"
    if isinstance(error, PermissionError):
        return f"{found.shown}: permission denied"
    if isinstance(error, NotADirectoryError):
        return f"{found.shown} cannot be reached: what is on the way to it is no folder"
    return f"{found.shown}: {error.strerror or error}"


def as_approved(workspace: Workspace, given: str, call: CallContext) -> Found:
    """What a path means now. Raises `ToolProblem` where that is not what was decided about."""
    found = workspace.find(given)
    if call.described is not None and call.described.target != found.real:
        raise ToolProblem(
            f"{found.shown} leads elsewhere than when it was asked about, and was not touched"
        )
    return found


@attrs.define(eq=False)
class Held:
    """A file's place: its folder, held by a descriptor, and its name in it."""

    found: Found
    folder: int
    name: str
    made: list[tuple[str, str]] = attrs.field(factory=list)
    """Folders that were made for it, as (parent, name)."""

    @property
    def uri(self) -> str:
        """The URI by which the host reaches it."""
        parent = os.path.dirname(self.found.real)  # noqa: PTH120 - text, nothing is looked at
        if DESCRIPTORS is not None:
            parent = f"{DESCRIPTORS}/{self.folder}"
        return file_uri(f"{parent.rstrip('/')}/{self.name}")

    def read(self, most: int) -> bytes | None:
        """What is in it; None where nothing is there, or more than `most` bytes. Raises `OSError`."""
        try:
            file = open_in(self.folder, self.name)
        except FileNotFoundError:
            return None
        with os.fdopen(file, "rb") as stream:
            data = stream.read(most + 1)
        return data if len(data) <= most else None

    def let_go(self, *, unmake: bool) -> None:
        """Close the folder. `unmake` removes the folders that were made and are still empty."""
        os.close(self.folder)
        if unmake:
            for parent, name in reversed(self.made):
                with contextlib.suppress(OSError):
                    above = open_folder(parent)
                    try:
                        os.rmdir(name, dir_fd=above)
                    finally:
                        os.close(above)


def hold(found: Found, *, make: bool) -> Held:
    """Hold a file's place; with `make` the folders it needs are made. Raises `ToolProblem`."""
    parent, _, name = found.real.rpartition("/")
    if not name:
        raise ToolProblem(f"{found.shown} is a folder")
    made: list[tuple[str, str]] = []
    try:
        folder = open_folder(parent, made if make else None)
    except OSError as error:
        raise ToolProblem(words_for(error, found)) from None
    return Held(found, folder, name, made)


def open_to_read(found: Found) -> int:
    """A descriptor to read a file. Raises `ToolProblem`."""
    try:
        return open_file(found.real)
    except OSError as error:
        raise ToolProblem(words_for(error, found)) from None


@attrs.frozen
class Files:
    """Writes files through the host."""

    resources: IResources
    run_blocking: Callable[..., Awaitable[Any]]

    async def write(
        self, found: Found, change: Callable[[bytes | None, bool], bytes], *, make: bool
    ) -> None:
        """Have a file hold what `change` makes of it; with `make` its folders are made.

        `change(old, is_there)` is called in a thread with the bytes there are, None where
        nothing is there or it is larger than `LARGEST_EDITED`; it may be called again where
        others write to the file meanwhile, and what it raises comes out of here. Raises
        `ToolProblem`. Cancelled, it is over when the write is done or was not begun.
        """
        await to_its_end(Deferred.fromCoroutine(self._write(found, change, make)))

    async def _write(
        self, found: Found, change: Callable[[bytes | None, bool], bytes], make: bool
    ) -> None:
        held: Held = await self.run_blocking(lambda: hold(found, make=make))
        try:
            await self._change(held, change)
        except Exception:
            await self.run_blocking(lambda: held.let_go(unmake=True))
            raise
        await self.run_blocking(lambda: held.let_go(unmake=False))

    async def _change(self, held: Held, change: Callable[[bytes | None, bool], bytes]) -> None:
        for _ in range(_ATTEMPTS):
            try:
                await self._try(held, change)
            except Changed:
                continue
            return
        raise ToolProblem(f"{held.found.shown} is being changed by others, over and over")

    async def _try(self, held: Held, change: Callable[[bytes | None, bool], bytes]) -> None:
        etag = await self._etag(held)

        def changed() -> bytes:
            try:
                old = held.read(LARGEST_EDITED) if etag is not None else None
            except OSError as error:
                raise ToolProblem(words_for(error, held.found)) from None
            return change(old, etag is not None)

        data = await self.run_blocking(changed)
        params = {
            "channel": ROOT,
            "uri": held.uri,
            "data": base64.b64encode(data).decode("ascii"),
            "encoding": "base64",
            **({"createOnly": True} if etag is None else {"ifMatch": etag}),
        }
        try:
            await self.resources.ask("resourceWrite", params)
        except RpcError as error:
            if error.code in (CONFLICT, ALREADY_EXISTS):
                raise Changed from None
            raise ToolProblem(_told(error, held)) from None

    async def _etag(self, held: Held) -> str | None:
        """The version of the file that is there; None where nothing is. Raises `ToolProblem`."""
        asked = {"channel": ROOT, "uri": held.uri, "followSymlinks": False}
        try:
            there = await self.resources.ask("resourceResolve", asked)
        except RpcError as error:
            if error.code == NOT_FOUND:
                return None
            raise ToolProblem(_told(error, held)) from None
        if there["type"] == "symlink":
            raise ToolProblem(
                f"{held.found.shown} became a symbolic link since it was looked at,"
                " and was not written"
            )
        if there["type"] == "directory":
            raise ToolProblem(f"{held.found.shown} is a folder")
        etag: str | None = there.get("etag")
        if etag is None:
            raise ToolProblem(f"{held.found.shown} is no regular file")
        return etag


def _told(error: RpcError, held: Held) -> str:
    """The host's words, with the path the model knows for the URI that was asked."""
    return f"{held.found.shown} was not written: " + error.message.replace(
        held.uri, held.found.shown
    )


#: How often a file that others change is begun again with.
_ATTEMPTS: Final = 5
