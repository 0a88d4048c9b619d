"""Which turn of each conversation is its newest, so that a fork is made there and nowhere else.

`session/fork` copies the whole of a conversation. The host names turns by the points it was
told (`ITurnOutput.ended_at`), old ones too, and after a restart nothing in memory says which
of them is the last, so each conversation has a small file that does.
"""

import hashlib
import os
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

from twisted.logger import Logger

log = Logger()

#: How many conversations are remembered without looking; the rest are in their files.
_REMEMBERED: Final = 4096


class NewestPoints:
    """The newest point of each conversation, kept in `folder`, or in memory where it is None."""

    def __init__(self, folder: Path | None, run_blocking: Callable[..., Awaitable[Any]]) -> None:
        self._folder = None if folder is None else folder / "newest-turns"
        self._run_blocking = run_blocking
        self._known: OrderedDict[str, str] = OrderedDict()

    async def keep(self, conversation: str, point: str) -> None:
        """`point` is the newest from now on. A disk that does not take it is logged."""
        self._remember(conversation, point)
        if self._folder is not None:
            try:
                await self._run_blocking(_write, self._folder, _name(conversation), point)
            except OSError as failed:
                log.warn(
                    "the newest turn of {conversation} is not on disk: {error}",
                    conversation=conversation,
                    error=str(failed),
                )

    async def of(self, conversation: str) -> str | None:
        """The newest point; None where none is known."""
        if conversation not in self._known and self._folder is not None:
            found = await self._run_blocking(_read, self._folder / _name(conversation))
            if found is not None:
                self._remember(conversation, found)
        return self._known.get(conversation)

    async def forget(self, conversation: str) -> None:
        """The conversation is gone."""
        self._known.pop(conversation, None)
        if self._folder is not None:
            path = self._folder / _name(conversation)
            await self._run_blocking(_remove, path)

    def _remember(self, conversation: str, point: str) -> None:
        self._known[conversation] = point
        self._known.move_to_end(conversation)
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)


def _name(conversation: str) -> str:
    return hashlib.sha256(conversation.encode()).hexdigest()


def _write(folder: Path, name: str, point: str) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = folder / f".{name}"
    unfinished.write_text(point)
    os.replace(unfinished, folder / name)  # noqa: PTH105 - one call that replaces whole


def _read(path: Path) -> str | None:
    try:
        return path.read_text() or None
    except OSError:
        return None


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as failed:
        log.warn("{path} stays: {error}", path=str(path), error=str(failed))
