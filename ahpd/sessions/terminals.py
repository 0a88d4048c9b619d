"""What becomes of the terminals of sessions: kept, taken away, gone with their session.

A command's terminal is an open channel, and a row in the root's list, for as long as its
command runs and for as long after that as somebody watches it. What is kept of it answers
every later subscribe (AHP.txt, `terminal/exited`), so that neither the list nor the memory
of a host grows with the commands that were ever run on it.
"""

from collections.abc import Awaitable, Callable
from typing import Final

from twisted.internet.defer import succeed
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
from ahpd.protocol import State
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
        state = terminal.state()
        if state["lifecycle"]["status"] != "exited":
            state["lifecycle"] = {"status": "exited"}
        try:
            self._apply(PutTerminal(chat=chat, terminal=terminal.uri, state=encode(state)))
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

    def let_go(self, chat: str, terminal: IHostTerminal) -> Awaitable[None]:
        """See `TerminalsLeft.let_go`."""
        self._watched[terminal.uri] = (chat, terminal)
        gone = self._look_after(terminal)
        self._watch()
        return gone

    def _look_after(self, terminal: IHostTerminal) -> Awaitable[None]:
        claim = self._claim(terminal)
        if claim is None or claim["kind"] == "client":
            # It is gone, or a client took it over and it is the client's to end.
            del self._watched[terminal.uri]
        elif not self._channels.watchers(terminal.uri):
            return self._dispose(terminal)
        return succeed(None)

    def _claim(self, terminal: IHostTerminal) -> State | None:
        """Whose it is (schema: TerminalClaim); None of one that is gone. To read, never to change.

        It is read off the channel: the terminal's own answer is a copy of all it printed.
        """
        if self._terminals is None or self._terminals.find(terminal.uri) is None:
            return None
        state = self._channels.find(terminal.uri)
        claim: State | None = None if state is None else state["claim"]
        return claim

    def _dispose(self, terminal: IHostTerminal) -> Awaitable[None]:
        del self._watched[terminal.uri]
        return finished(self._tasks.spawn(f"taking away {terminal.uri}", _disposed(terminal)))

    def _watch(self) -> None:
        if self._watched and self._due is None and not self._over:
            self._due = self._clock.callLater(EVERY, self._look)

    def _look(self) -> None:
        self._due = None
        for _, terminal in tuple(self._watched.values()):
            self._look_after(terminal)
        self._watch()

    # -- what they went with ------------------------------------------------------------

    def chat_moved(self, chat: str, session: str) -> None:
        """See `TerminalsLeft.chat_moved`. Said of those somebody watches: the others are gone."""
        for owner, terminal in tuple(self._watched.values()):
            claim = self._claim(terminal) if owner == chat else None
            if claim is not None and claim["kind"] == "session":
                self._channels.dispatch(
                    terminal.uri,
                    {"type": "terminal/claimed", "claim": {**claim, "session": session}},
                )

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
