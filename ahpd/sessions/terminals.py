"""What becomes of the terminals of sessions: kept, taken away, gone with their session.

A command's terminal is an open channel, and a row in the root's list, for as long as its
command runs and for as long after that as somebody watches it. What is kept of it answers
every later subscribe (AHP.txt, `terminal/exited`), so that neither the list nor the memory
of a host grows with the commands that were ever run on it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.channels.store import ChannelStore
from ahpd.chats.tasks import Tasks, finished
from ahpd.interfaces import (
    IHostTerminal,
    IHostTerminals,
    PutTerminal,
    ShareTerminals,
    StoreFailure,
    Write,
)
from ahpd.wire.codec import encode

log = Logger()

#: How often the terminals somebody watched on are looked at, in seconds.
EVERY: Final = 15.0


class SessionTerminals:
    """See `ahpd.chats.owner.TerminalsLeft`. `apply` writes to the store, raising `StoreFailure`."""

    def __init__(
        self,
        terminals: IHostTerminals | None,
        channels: ChannelStore,
        tasks: Tasks,
        clock: IReactorTime,
        apply: Callable[[Write], None],
    ) -> None:
        self._terminals = terminals
        self._channels = channels
        self._tasks = tasks
        self._clock = clock
        self._apply = apply
        self._watched: dict[str, tuple[str, IHostTerminal]] = {}
        self._due: IDelayedCall | None = None
        self._over = False

    # -- a command's, once it is over -------------------------------------------------

    def keep(self, chat: str, terminal: IHostTerminal) -> bool:
        """See `TerminalsLeft.keep`."""
        state = encode(terminal.state())
        try:
            self._apply(PutTerminal(chat=chat, terminal=terminal.uri, state=state))
        except StoreFailure as failure:
            log.error("{terminal} is not kept: {words}", terminal=terminal.uri, words=str(failure))
            return False
        return True

    def share(self, source: str, chat: str) -> None:
        """See `TerminalsLeft.share`. Where it cannot be kept it is logged."""
        try:
            self._apply(ShareTerminals(source=source, chat=chat))
        except StoreFailure as failure:
            log.error(
                "the terminals {chat} names go with {source}: {words}",
                chat=chat,
                source=source,
                words=str(failure),
            )

    def let_go(self, chat: str, terminal: IHostTerminal) -> None:
        """See `TerminalsLeft.let_go`."""
        self._watched[terminal.uri] = (chat, terminal)
        self._look_after(terminal)
        self._watch()

    def _look_after(self, terminal: IHostTerminal) -> None:
        if self._is_gone(terminal):
            del self._watched[terminal.uri]
        elif terminal.state()["claim"]["kind"] == "client":
            del self._watched[terminal.uri]  # a client took it over: it is the client's to end
        elif not self._channels.watchers(terminal.uri):
            self._dispose(terminal)

    def _is_gone(self, terminal: IHostTerminal) -> bool:
        return self._terminals is None or self._terminals.find(terminal.uri) is None

    def _dispose(self, terminal: IHostTerminal) -> None:
        del self._watched[terminal.uri]
        self._tasks.spawn(f"taking away {terminal.uri}", _disposed(terminal))

    def _watch(self) -> None:
        if self._watched and self._due is None and not self._over:
            self._due = self._clock.callLater(EVERY, self._look)

    def _look(self) -> None:
        self._due = None
        for _, terminal in tuple(self._watched.values()):
            self._look_after(terminal)
        self._watch()

    # -- what they went with ------------------------------------------------------------

    def chat_gone(self, chat: str) -> None:
        """See `TerminalsLeft.chat_gone`."""
        for owner, terminal in tuple(self._watched.values()):
            if owner == chat:
                self._dispose(terminal)

    def session_gone(self, session: str) -> Awaitable[None]:
        """See `TerminalsLeft.session_gone`."""
        return finished(
            self._tasks.spawn(f"closing the terminals of {session}", self._gone(session))
        )

    async def _gone(self, session: str) -> None:
        if self._terminals is not None:
            await self._terminals.session_gone(session)

    def stop(self) -> None:
        """Look no more: the host is going, and its terminals with it."""
        self._over = True
        if self._due is not None:
            self._due.cancel()
            self._due = None


async def _disposed(terminal: IHostTerminal) -> None:
    await terminal.dispose()
