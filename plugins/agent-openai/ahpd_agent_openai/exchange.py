"""One request to a model and its answer: tried again where that is safe, and in those bounds.

A request is repeated only while nothing of its answer was said. What an endpoint will not
have in a request is left out of every later one to that model (`Dispensed`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from ahpd.interfaces import ITurnOutput
from ahpd_agent_openai import failures
from ahpd_agent_openai.body import Body
from ahpd_agent_openai.client import EndpointClient, of_connection
from ahpd_agent_openai.completion import BadStream, Completion, CompletionReader
from ahpd_agent_openai.failures import EndpointFailure
from ahpd_agent_openai.speaking import Speaker
from ahpd_agent_openai.targets import Target
from ahpd_agent_openai.waiting import Interrupted, Interruption, pause

#: The first wait before a request is repeated, in seconds; each next one is twice as long.
FIRST_WAIT: Final = 1.0
_LONGEST_BACKOFF: Final = 30.0
#: The longest an endpoint may ask to be left alone and be waited for, in seconds.
LONGEST_WAIT: Final = 120.0

#: What a person is told of what a model does without.
_NOTICES: Final = {
    "tools": "The model takes no tools, so it answers without them.",
    "images": "The model takes no pictures, so it was not shown them.",
}

#: What each endpoint and model does without, by (base URL, model).
Dispensed = dict[tuple[str, str], set[str]]

#: The body of a request, without what it is given.
MakeRequest = Callable[[frozenset[str]], Mapping[str, Any]]


class Exchange:
    """The requests of one turn. `partial` is what was read of an answer that broke off."""

    def __init__(
        self,
        reactor: Any,
        client: EndpointClient,
        dispensed: Dispensed,
        retries: int,
        interruption: Interruption,
        output: ITurnOutput,
    ) -> None:
        self.partial: Completion | None = None
        self._reactor = reactor
        self._client = client
        self._dispensed = dispensed
        self._retries = retries
        self._interruption = interruption
        self._output = output

    async def ask(
        self, target: Target, key: str | None, make: MakeRequest, speaker: Speaker | None
    ) -> Completion:
        """The answer, said by `speaker` while it comes; None says nothing of it.

        Raises `EndpointFailure`, and `Interrupted`.
        """
        without = self._dispensed.setdefault((target.base_url, target.model), set())
        tries = 0
        while True:
            self.partial = None
            if speaker is not None:
                speaker.new_request()
            try:
                return await self._once(target, key, make(frozenset(without)), speaker)
            except EndpointFailure as failure:
                if speaker is not None and speaker.said:
                    raise
                if failure.without is not None and failure.without not in without:
                    without.add(failure.without)
                    if speaker is not None and failure.without in _NOTICES:
                        speaker.notice(_NOTICES[failure.without])
                    continue
                if not failure.retry or tries >= self._retries:
                    raise
                await self._wait(failure, tries)
                tries += 1

    async def _wait(self, failure: EndpointFailure, tries: int) -> None:
        seconds = failure.after
        if seconds is None:
            seconds = min(FIRST_WAIT * 2**tries, _LONGEST_BACKOFF)
        if seconds > LONGEST_WAIT:
            raise EndpointFailure(
                f"{failure.message} It asks to be left alone for {_spoken(seconds)}.",
                failure.error_type,
                status=failure.status,
            )
        self._activity(f"Waiting {_spoken(seconds)} to ask again: {failure.message}")
        try:
            await self._interruption.of(pause(self._reactor, seconds))
        finally:
            self._activity(None)

    def _activity(self, words: str | None) -> None:
        action: dict[str, Any] = {"type": "chat/activityChanged"}
        if words is not None:
            action["activity"] = words
        self._output.emit(action)

    # -- one try --------------------------------------------------------------------------

    async def _once(
        self,
        target: Target,
        key: str | None,
        request: Mapping[str, Any],
        speaker: Speaker | None,
    ) -> Completion:
        body = await self._interruption.of(self._client.stream(target, key, request))
        reader = CompletionReader()
        try:
            await self._read(body, reader, target, speaker)
        except BadStream as bad:
            self.partial = reader.completion()
            raise EndpointFailure(
                f"{target.where} is not understood: {bad}. Check that baseUrl ends where "
                "/chat/completions begins.",
                failures.PROTOCOL,
            ) from None
        except (EndpointFailure, Interrupted):
            self.partial = reader.completion()
            raise
        finally:
            if reader.done:
                body.leave()
            else:
                body.drop()
        return self._judged(reader, target, key)

    async def _read(
        self, body: Body, reader: CompletionReader, target: Target, speaker: Speaker | None
    ) -> None:
        wait = self._interruption.of
        drained = self._output.drained
        while not reader.done and reader.error is None:
            try:
                data = await wait(body.read())
            except (EndpointFailure, Interrupted):
                raise
            except Exception as error:  # the connection broke, in one of Twisted's many words
                if reader.is_whole:
                    break
                raise of_connection(error, target.where) from None
            if data is None:
                break
            pieces = reader.feed(data)
            if pieces and speaker is not None:
                speaker.say(pieces)
                await wait(drained())
        if reader.error is None:
            pieces = reader.finish()
            if speaker is not None:
                speaker.say(pieces)

    def _judged(self, reader: CompletionReader, target: Target, key: str | None) -> Completion:
        """The answer, once it is known to be one. Raises `EndpointFailure`."""
        completion = reader.completion()
        failure: EndpointFailure | None = None
        if reader.error is not None:
            failure = failures.of_error_object(
                target.where,
                reader.error,
                model=target.model,
                key_hint=target.key_hint,
                secrets=target.secrets(key),
            )
        elif not reader.is_whole:
            failure = EndpointFailure(
                f"{target.where} broke off in the middle of its answer", failures.CUT, retry=True
            )
        elif completion.finish == "error":
            failure = EndpointFailure(
                f"{target.where} failed in the middle of its answer", failures.SERVER, retry=True
            )
        elif completion.finish == "content_filter":
            failure = EndpointFailure(
                f"{target.where} held the answer back: its content filter found fault with it",
                failures.FILTERED,
                resumable=False,
            )
        if failure is not None:
            self.partial = completion
            raise failure
        return completion


def _spoken(seconds: float) -> str:
    whole = max(1, round(seconds))
    if whole < 120:
        return f"{whole} second" + ("s" if whole != 1 else "")
    return f"{round(whole / 60)} minutes"
