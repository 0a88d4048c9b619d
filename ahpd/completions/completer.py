"""`completions`: what the word under the cursor may become (AHP.txt, `completions`)."""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.completions.chats import chats
from ahpd.completions.commands import commands
from ahpd.completions.files import Folder, files
from ahpd.completions.tokens import Word, length, word_at
from ahpd.interfaces import IWorkspaceFiles
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.file_uris import path_of
from ahpd.threads import InThread

_MOST_PREPARED: Final = 16


@attrs.frozen(kw_only=True)
class Place:
    """Where a message is typed: a chat of a session."""

    session: State
    """The session's state (schema: SessionState)."""
    chat: str
    """The chat's URI, as the session's rows name it."""
    state_of: Callable[[str], State | None]
    """The state of a chat that is held here (schema: ChatState)."""
    agent_wide: Callable[[], Sequence[Mapping[str, Any]]]
    """What the session's agent offers every session (schema: Customization)."""


class Completer:
    """Answers for every chat of a host. A host with no `workspace` offers no file."""

    def __init__(self, workspace: IWorkspaceFiles | None, in_thread: InThread) -> None:
        self._workspace = workspace
        self._in_thread = in_thread
        self._prepared: OrderedDict[str, tuple[Sequence[str], Folder]] = OrderedDict()

    async def items(self, text: str, offset: float, place: Place) -> list[State]:
        """The items (schema: CompletionItem), the best first.

        Raises `RpcError` -32602 for an offset that is no place in the text.
        """
        word = word_at(text, _checked(text, offset))
        if word is None:
            return []
        if word.trigger == "/":
            return commands(word, place.session, place.agent_wide())
        found = chats(word, place.session, place.chat, place.state_of)
        if not word.names_a_chat:
            found += await self._files(word, place.session)
        return found

    async def _files(self, word: Word, session: State) -> list[State]:
        if self._workspace is None:
            return []
        directories = [path_of(uri) for uri in session.get("workingDirectories") or ()]
        paths = [path.rstrip("/") or "/" for path in directories if path is not None]
        folders = [await self._folder(path) for path in dict.fromkeys(paths)]
        ranked: list[State] = await self._in_thread(lambda: files(word, folders))
        return ranked

    async def _folder(self, path: str) -> Folder:
        """The folder's listing, made ready to be matched once for all who ask of it."""
        assert self._workspace is not None
        listed = await self._workspace.files(path)
        prepared = self._prepared.get(path)
        if prepared is not None and prepared[0] is listed:
            return prepared[1]
        folder: Folder = await self._in_thread(lambda: Folder.of(path, listed))
        self._prepared[path] = listed, folder
        self._prepared.move_to_end(path)
        while len(self._prepared) > _MOST_PREPARED:
            self._prepared.popitem(last=False)
        return folder


def _checked(text: str, offset: float) -> int:
    end = length(text)
    if offset != int(offset) or not 0 <= offset <= end:
        raise invalid_params(
            f"params.offset: found {offset!r}, allowed: a whole number from 0 to {end}, "
            "the text's length in UTF-16 code units"
        )
    return int(offset)
