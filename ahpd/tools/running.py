"""The calls that run: each is let go of when its session or its tool is, whatever that does."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from ahpd.protocol import State
from ahpd.protocol.uris import session_id
from ahpd.tools.answers import failed


class Call:
    """One call of a tool. `work` answers its result, and fails where it was cancelled."""

    def __init__(self, tool: str, work: Coroutine[Any, Any, State]) -> None:
        self.tool = tool
        self._work = Deferred.fromCoroutine(work)
        self._answer: Deferred[State] = Deferred(lambda _: self._work.cancel())
        self._work.addCallbacks(self._answered, self._failed)

    async def answer(self) -> State:
        """What it came to. To cancel this cancels the tool."""
        return await self._answer

    def give_up(self, words: str) -> None:
        """Answer `words` as a failure now, and cancel the tool."""
        self._answered(failed(words))
        self._work.cancel()

    def _answered(self, result: State) -> None:
        if not self._answer.called:
            self._answer.callback(result)

    def _failed(self, failure: Failure) -> None:
        if not self._answer.called:
            self._answer.errback(failure)


class Calls:
    """The calls that run, by the session they are of."""

    def __init__(self) -> None:
        self._running: dict[str, set[Call]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._running.values()))

    async def run(self, session: str, tool: str, work: Coroutine[Any, Any, State]) -> State:
        """What `work` comes to, or a failure in words where the session or the tool goes first."""
        identifier = session_id(session)
        call = Call(tool, work)
        calls = self._running.setdefault(identifier, set())
        calls.add(call)
        try:
            return await call.answer()
        finally:
            calls.discard(call)
            if not calls and self._running.get(identifier) is calls:
                del self._running[identifier]

    def give_up(self, session: str, words: str) -> None:
        """Let go of every call of a session; each answers `words`."""
        for call in tuple(self._running.pop(session_id(session), ())):
            call.give_up(words)

    def give_up_tool(self, tool: str, words: str) -> None:
        """Let go of every call of a tool; each answers `words`."""
        for calls in tuple(self._running.values()):
            for call in tuple(calls):
                if call.tool == tool:
                    call.give_up(words)

    def give_up_all(self, words: str) -> None:
        """Let go of every call there is."""
        running, self._running = self._running, {}
        for calls in running.values():
            for call in tuple(calls):
                call.give_up(words)
