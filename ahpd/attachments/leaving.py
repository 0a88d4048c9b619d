"""What goes of attachments when a session does, and what stays for a chat that moved on.

A session's files go with it. Those that a chat named when it moved to another session stay
while a session has a chat that names them (`ahpd.attachments.shared`), and go with the last.
The order is that of a crash at any moment: a file is known to be named before the move is
kept, and is forgotten to be named before it goes; what a crash left is swept at the start.
"""

from collections.abc import Callable, Iterable
from functools import partial

from twisted.logger import Logger

from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.names import folder_name
from ahpd.attachments.shared import SharedFiles
from ahpd.interfaces import StoreFailure
from ahpd.protocol import State
from ahpd.protocol.uris import session_id
from ahpd.threads import InThread

log = Logger()


class Leaving:
    """See `IAttachments` for its methods. `sessions` answers the ids of all there are."""

    def __init__(
        self, files: AttachmentFiles, in_thread: InThread, sessions: Callable[[], Iterable[str]]
    ) -> None:
        self._files = files
        self._in_thread = in_thread
        self._sessions = sessions
        self._shared = SharedFiles(files.root)

    def refer(self, session: str, chats: Iterable[State]) -> None:
        """See `IAttachments.refer`."""
        folder = folder_name(session_id(session))
        named = self._shared.names(chats, folder)
        if named:
            try:
                self._shared.put({folder: self._shared.of(folder) | named})
            except OSError as error:
                raise StoreFailure(f"{self._shared.path}: {error.strerror}") from None

    async def settle(self, session: str, chats: Iterable[State]) -> None:
        """See `IAttachments.settle`."""
        folder = folder_name(session_id(session))
        held = self._shared.of(folder)
        if held:
            named = self._shared.names(chats, folder) & held
            await self._let_go(session, folder, held, named)

    async def forget(self, session: str) -> None:
        """See `IAttachments.forget`."""
        folder = folder_name(session_id(session))
        await self._let_go(session, folder, self._shared.of(folder))
        if self._shared.damaged:
            return
        others = self._shared.of_others(folder)
        keep = {name.partition("/")[2] for name in others if name.startswith(f"{folder}/")}
        await self._take_away(session, lambda: self._files.remove(session, keep))

    async def _let_go(
        self, session: str, folder: str, held: frozenset[str], named: frozenset[str] = frozenset()
    ) -> None:
        """The session refers to `named` alone of what it referred to."""
        if held == named:
            return
        try:
            self._shared.put({folder: named})
        except OSError as error:
            _not_removed(session, error)
            return
        known = self._known()
        others = self._shared.of_others(folder)
        gone = [name for name in held - named - others if name.partition("/")[0] not in known]
        await self._take_away(session, lambda: self._files.take_away(gone))

    async def _take_away(self, session: str, work: Callable[[], None]) -> None:
        try:
            await self._in_thread(work)
        except OSError as error:
            _not_removed(session, error)

    def _known(self) -> set[str]:
        """The folders of the sessions there are."""
        return {folder_name(identifier) for identifier in self._sessions()}

    async def sweep(self) -> None:
        """See `IAttachments.sweep`.

        Where there is no session at all, which is so when the store was put aside, what is
        there is left alone, now and later.
        """
        try:
            found = await self._in_thread(self._files.folders)
            known, left = self._known(), self._shared.left
            orphans = [name for name in found if name not in known and name not in left]
            if self._shared.damaged or not orphans:
                return
            if not known:
                log.warn(
                    "{root} has attachments of {count} sessions and there is no session; they stay",
                    root=str(self._files.root),
                    count=len(orphans),
                )
                self._shared.leave(orphans)
                return
            gone = [folder for folder in self._shared.sessions if folder not in known]
            self._shared.put(dict.fromkeys(gone, ()))
            shared = self._shared.of_others("")
            swept = 0
            for orphan in orphans:
                keep = {name.partition("/")[2] for name in shared if name.startswith(f"{orphan}/")}
                swept += await self._in_thread(partial(self._files.sweep, orphan, keep))
        except OSError as error:
            log.warn(
                "attachments left behind stay: {path}: {why}",
                path=str(error.filename or self._files.root),
                why=error.strerror or str(error),
            )
        else:
            if swept:
                log.info("removed the attachments of {count} sessions that are gone", count=swept)


def _not_removed(session: str, error: OSError) -> None:
    log.warn(
        "the attachments of {session} could not be removed: {why}",
        session=session,
        why=error.strerror or str(error),
    )
