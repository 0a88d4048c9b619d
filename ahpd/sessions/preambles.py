"""Text that plugins put before the first turn of each chat that a person or a tool opens.

Each is asked as a chat is about to be opened, plain or a side chat; what they answer is joined,
in the order of the plugins, and told to the chat's model ahead of its first message. Nobody is
shown it. Source: PLUGINS.txt, "A new chat's preamble".
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.bounded import Overdue, bounded, words_of
from ahpd.calling import awaited
from ahpd.interfaces import Owned, PreambleAsk
from ahpd.protocol.json_values import checked_text
from ahpd.protocol.read_only import read_only
from ahpd.protocol.text import plain
from ahpd.sessions.chat_creation import ChatCreation, Planned

log = Logger()

#: How long a chat that is opened waits for one of them, in seconds.
LONGEST: Final = 10.0


class Preambles:
    """The ones that are contributed now, each an `Owned` of a `Preamble`."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._held: Sequence[Owned] = ()

    def __len__(self) -> int:
        return len(self._held)

    def contributed(self, items: Sequence[Owned]) -> None:
        """All there are from now on, in the order of the plugins."""
        self._held = tuple(items)

    async def asked(self, planned: Planned) -> str | None:
        """What they all say of a chat that is planned; None for nothing. Never raises.

        They are asked together, so that a slow one costs its own time alone.
        """
        session, state = planned.session, planned.state
        if state is None:
            return None
        ask = PreambleAsk(
            session=session.uri,
            chat=state["resource"],
            origin=None
            if planned.params.get("source") is None
            else read_only(plain(planned.made.origin)),
            chats=read_only(plain(list(session.state["chats"]))),
        )
        asking = [Deferred.fromCoroutine(self._one(owned, ask)) for owned in self._held]
        told = [await each for each in asking]
        return "\n\n".join(filter(None, told)) or None

    async def _one(self, owned: Owned, ask: PreambleAsk) -> str | None:
        words: str
        try:
            answer = await awaited(bounded(lambda: owned.value(ask), LONGEST, self._clock))
            if answer is None:
                return None
            if isinstance(answer, str):
                return checked_text(answer, "its answer")
            words = f"it answered {type(answer).__name__}, and a text or None is expected"
        except Overdue:
            words = f"no answer in {LONGEST:g} s"
        except Exception as failed:
            words = words_of(failed)
        log.error(
            "the plugin {plugin} has no preamble for {chat}: {words}",
            plugin=owned.plugin,
            chat=ask.chat,
            words=words,
        )
        return None


class ChatOpening:
    """`createChat` of a person: what plugins put ahead of its first message is asked for first."""

    def __init__(self, creation: ChatCreation, preambles: Preambles) -> None:
        self._creation = creation
        self._preambles = preambles

    def open(self, params: Mapping[str, Any]) -> Awaitable[None] | None:
        """See `ChatCreation.create`; to be awaited where anybody is asked."""
        planned = self._creation.plan(params)
        if planned.is_new and len(self._preambles):
            return self._opened(planned)
        self._creation.make(planned)
        return None

    async def _opened(self, planned: Planned) -> None:
        self._creation.make(planned, await self._preambles.asked(planned))
