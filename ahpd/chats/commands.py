"""The `!` command: a message that is a line for the host's shell, whatever runs the chat.

It is run at once, with another turn running or none, and ahead of what admits a question;
the backend is never told of it, not in a prompt and not in the turns it is handed. Its turn
is a turn like any other for the chat's clients, and says nothing of what is read. Sources:
AHP.txt, `initialize`, `chat/turnStarted` and `chat/isReadChanged`; CHATS.txt, Turns.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, Protocol

from twisted.internet.defer import Deferred

from ahpd.channels.envelope import Origin
from ahpd.chats.command_turn import CommandTurn, Running
from ahpd.chats.happenings import begun
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.turn import Turn
from ahpd.interfaces import StoreFailure
from ahpd.protocol import Action

#: What a message begins with that is a command (schema: InitializeResult.terminalCommandPrefix).
PREFIX: Final = "!"

#: Who sends no commands: an agent's shell is asked about, and what it says to another chat is
#: words for the agent there.
_SAY_WORDS: Final = frozenset({"agent", "tool"})


def command_in(text: str) -> str | None:
    """The line a message of this text has the host run; None for one to the agent.

    The prefix is its first character. Alone, or with nothing but blanks behind it, it is
    no command.
    """
    return text[len(PREFIX) :].strip() or None if text.startswith(PREFIX) else None


class Commanded(Running, Protocol):
    """The chat commands are run in."""

    def begin_turn(
        self,
        action: Action,
        origin: Origin | None = None,
        elsewhere: Callable[[], None] | None = None,
    ) -> Turn:
        """Say a turn's start and make it the one clients see."""

    def holds_turn(self, turn_id: str) -> bool:
        """Whether a turn of this id is the chat's."""

    def reject(self, turn: Turn, failure: TurnFailure) -> None:
        """Say that a turn failed, refused before anybody was handed it."""


class LocalCommands:
    """The commands of one chat that run; several may, each in front of the one before it."""

    __slots__ = ("_chat", "_running", "_waiting", "_world")

    def __init__(self, world: Surroundings, chat: Commanded) -> None:
        self._world = world
        self._chat = chat
        self._running: list[CommandTurn] | None = None
        self._waiting: list[Deferred[None]] | None = None

    @property
    def running(self) -> bool:
        """Whether one runs, or is about to be gone."""
        return bool(self._running)

    def took(self, action: Action, origin: Origin | None = None) -> bool:
        """Say the start of a turn whose message is a command, and run it once that was said.

        False for any other message, for an agent's or a tool's, and for all of them on a host
        without terminals: nothing was said. That a turn is a command is on disk before its start is, so that one that is
        read back after a crash is never taken for one the backend saw.
        """
        chat = self._chat
        message = action["message"]
        if self._world.terminals is None or command_in(message["text"]) is None:
            return False
        if message["origin"]["kind"] in _SAY_WORDS:
            return False
        with suppress(StoreFailure):  # it holds all the same, and goes with the next thing kept
            chat.kept.command_begins(action["turnId"])
        stop = partial(self._stop, action["turnId"])
        turn = chat.begin_turn(action, origin, elsewhere=stop)
        turn.command = True
        if turn.said or turn.over:
            self._begin(turn)
        else:  # inside of a delivery: its start is said behind it
            self._world.store.behind(lambda: self._begin(turn))
        return True

    def _begin(self, turn: Turn) -> None:
        chat, owner = self._chat, self._chat.owner
        if turn.over:
            if not chat.holds_turn(turn.turn_id):  # its start could not be kept
                with suppress(StoreFailure):
                    chat.kept.command_undone(turn.turn_id)
            return
        going = owner.turn_refused(False) if owner.closing else None
        if going is not None:
            chat.reject(turn, going)
            owner.turn_unhanded(going)
            return
        command = command_in(turn.request.text)
        assert command is not None, "no other message is started here"
        begun(self._world, chat, turn)
        owner.command_admitted(chat.uri, command)
        owner.turn_handed()
        if not turn.over:  # stopped by somebody who was just told that the session is ready
            self._run(CommandTurn(self._world, chat, turn, command))

    def _run(self, command: CommandTurn) -> None:
        running = self._running = self._running or []
        running.append(command)
        what = f"command {command.turn_id} of {self._chat.uri}"
        self._world.tasks.spawn(what, self._work(command))

    async def _work(self, command: CommandTurn) -> None:
        try:
            await command.run()
        finally:
            (self._running or []).remove(command)
            if not self._running:
                self._running = None
                waiting, self._waiting = self._waiting or [], None
                for waiter in waiting:
                    waiter.callback(None)

    def _stop(self, turn_id: str) -> None:
        for command in tuple(self._running or ()):
            if command.turn_id == turn_id:
                command.stop()

    def stopping(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """What says of all that runs now that it was stopped, and what kills it (`halting`).

        The first is for right in front of the stop. What was printed by now is said by then,
        so whoever calls this looks at the chat after it.
        """
        running = tuple(command for command in self._running or () if not command.is_over)
        for command in running:
            command.flush()

        def tell() -> None:
            for command in running:
                command.say_stopped()

        return tell, self.halting()

    def say_stopped(self) -> None:
        """Say of all that runs that it was stopped; see `stopping`. It is killed behind this."""
        self.stopping()[0]()

    def halting(self) -> Callable[[], None]:
        """What kills all that runs now: not one that somebody starts while a stop is being said.

        Nothing more is said of what it kills, which goes with all it started.
        """
        running = tuple(self._running or ())

        def kill() -> None:
            for command in running:
                command.stop()

        return kill

    def halt(self) -> None:
        """Kill what runs; see `halting`."""
        self.halting()()

    async def settled(self) -> None:
        """Return when none runs and the terminals of those that were stopped are gone."""
        while self._running:
            waiter: Deferred[None] = Deferred()
            self._waiting = [*(self._waiting or ()), waiter]
            await waiter
