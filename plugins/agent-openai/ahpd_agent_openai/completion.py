"""One answer of a model, read without I/O: bytes of the response in, what it says out.

Endpoints call themselves compatible and differ in what they send. What is borne here, and
who needs it: no `[DONE]`, usage in the last chunk, in one of its own or in each (vLLM,
OpenRouter, llama.cpp); a JSON body in place of a stream; an `error` in a chunk, as an event
or as the body (Ollama, OpenRouter, llama.cpp); reasoning as `reasoning` or
`reasoning_content`; tool calls without an index, with the same index for each, without an
id, with the arguments in one piece or as an object (Ollama, LM Studio, Gemini).
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.wire.codec import decode, encode
from ahpd_agent_openai.calls import CallDrafts, FinishedCall
from ahpd_agent_openai.sse import Event, EventReader, EventTooLong

#: The longest answer taken, in characters of text, reasoning and arguments, and the longest
#: body that is no stream, in bytes.
LONGEST: Final = 32 * 1024 * 1024

_SPACE: Final = b" \t\r\n\xef\xbb\xbf"


@attrs.frozen
class Said:
    """A piece of the answer: `kind` is `text` or `reasoning`."""

    kind: str
    text: str


@attrs.frozen
class CallSaid:
    """A tool call began, where `began`, or its input grew by `piece`. `number` counts from 0."""

    number: int
    name: str
    began: bool
    piece: str = ""


Piece = Said | CallSaid


@attrs.frozen(kw_only=True)
class Usage:
    """What a request cost, in tokens."""

    input: int
    output: int
    cached: int = 0


@attrs.frozen(kw_only=True)
class Completion:
    """A whole answer."""

    text: str
    reasoning: str = ""
    reasoning_field: str | None = None
    """The field the reasoning came in; a model that goes on after a tool call is sent it back."""
    calls: tuple[FinishedCall, ...] = ()
    finish: str | None = None
    """Why it ended, in the endpoint's word; None where it ended without saying."""
    usage: Usage | None = None
    model: str | None = None


class BadStream(Exception):
    """The endpoint sent what is no answer; the words say what."""


class CompletionReader:
    """Reads one response. `error` is the error object it sent, None while it sent none."""

    def __init__(self) -> None:
        self.error: Any = None
        self.done = False
        self._events: EventReader | None = None
        self._body: bytearray | None = None
        self._head = b""
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._field: str | None = None
        self._calls = CallDrafts()
        self._finish: str | None = None
        self._usage: Usage | None = None
        self._model: str | None = None
        self._length = 0
        self._chunks = 0

    def feed(self, data: bytes) -> list[Piece]:
        """What `data` says. Raises `BadStream`."""
        if self._events is None and self._body is None:
            data = self._sniffed(data)
            if self._events is None and self._body is None:
                return []
        if self._body is not None:
            self._body += data
            if len(self._body) > LONGEST:
                raise BadStream(f"its answer is longer than {LONGEST} bytes")
            return []
        assert self._events is not None
        pieces: list[Piece] = []
        try:
            for event in self._events.feed(data):
                self._hear(event, pieces)
        except EventTooLong as error:
            raise BadStream(f"it sent {error}") from None
        return pieces

    def finish(self) -> list[Piece]:
        """The response is over: what was still held of it. Raises `BadStream`."""
        pieces: list[Piece] = []
        if self._body is not None:
            try:
                value = decode(bytes(self._body).strip(_SPACE))
            except ValueError:
                raise BadStream("it answered with what is no JSON") from None
            self._hear_chunk(value, pieces)
        elif self._events is not None:
            for event in self._events.finish():
                self._hear(event, pieces)
        if self._chunks == 0 and self.error is None:
            raise BadStream("its answer holds nothing of a chat completion")
        return pieces

    @property
    def is_whole(self) -> bool:
        """Whether the answer said that it ended, so that what was read is all of it."""
        return self.done or self._finish is not None or self._body is not None

    def completion(self) -> Completion:
        """What was read."""
        return Completion(
            text="".join(self._text),
            reasoning="".join(self._reasoning),
            reasoning_field=self._field,
            calls=self._calls.finished(),
            finish=self._finish,
            usage=self._usage,
            model=self._model,
        )

    # -- what kind of answer --------------------------------------------------------------

    def _sniffed(self, data: bytes) -> bytes:
        """`data` and what came before it, once its first character says which kind it is."""
        data = self._head + data
        begins = data.lstrip(_SPACE)
        if not begins:
            if len(data) > LONGEST:
                raise BadStream("it sent nothing but blanks")
            self._head = data
            return b""
        if begins[:1] in (b"{", b"["):
            self._body = bytearray()
        else:
            self._events = EventReader()
        self._head = b""
        return data

    # -- chunks ---------------------------------------------------------------------------

    def _hear(self, event: Event, pieces: list[Piece]) -> None:
        if self.done or self.error is not None:
            return
        data = event.data.strip()
        if data == b"[DONE]":
            self.done = True
            return
        if not data:
            return
        try:
            value = decode(data)
        except ValueError:
            if event.kind == "error":
                self.error = data.decode(errors="replace")
                return
            raise BadStream("it sent an event that is no JSON") from None
        if event.kind == "error":
            self.error = value
            return
        self._hear_chunk(value, pieces)

    def _hear_chunk(self, value: Any, pieces: list[Piece]) -> None:
        if isinstance(value, list) and value:
            value = value[0]
        if type(value) is not dict:
            raise BadStream("it sent a chunk that is no object")
        usage = value.get("usage")
        if usage is not None:
            self._usage = _usage(usage) or self._usage
        choices = value.get("choices")
        choice = _first(choices) if choices else None
        if choice is not None:
            self._chunks += 1
            if self._model is None and type(value.get("model")) is str:
                self._model = value["model"]
            self._hear_choice(choice, pieces)
        if value.get("error") is not None or value.get("object") == "error":
            self.error = value
        elif not isinstance(choices, list):
            if "detail" in value and self._chunks == 0:
                self.error = value
            elif usage is not None:
                self._chunks += 1

    def _hear_choice(self, choice: Mapping[str, Any], pieces: list[Piece]) -> None:
        delta = choice.get("delta") or choice.get("message")
        if type(delta) is dict:
            for field in ("reasoning_content", "reasoning"):
                reasoning = delta.get(field)
                if reasoning and type(reasoning) is str:
                    self._field = field
                    self._say("reasoning", reasoning, self._reasoning, pieces)
                    break
            text = _text(delta.get("content")) or _text(delta.get("refusal"))
            if text:
                self._say("text", text, self._text, pieces)
            calls = delta.get("tool_calls")
            if type(calls) is list:
                for call in calls:
                    self._hear_call(call, pieces)
            elif type(delta.get("function_call")) is dict:  # what came before tool calls
                self._hear_call({"index": 0, "function": delta["function_call"]}, pieces)
        elif type(choice.get("text")) is str and choice["text"]:
            self._say("text", choice["text"], self._text, pieces)
        finish = choice.get("finish_reason")
        if type(finish) is str and finish:
            self._finish = finish

    def _say(self, kind: str, text: str, held: list[str], pieces: list[Piece]) -> None:
        held.append(text)
        self._count(len(text))
        pieces.append(Said(kind, text))

    def _hear_call(self, fragment: Any, pieces: list[Piece]) -> None:
        if type(fragment) is not dict:
            return
        function = fragment.get("function")
        if type(function) is not dict:
            function = fragment  # one server puts name and arguments beside the index
        name = function.get("name")
        arguments = function.get("arguments")
        if arguments is not None and type(arguments) is not str:
            arguments = encode(arguments).decode()
        index, identifier = fragment.get("index"), fragment.get("id")
        draft, began = self._calls.take(
            index if type(index) is int else None,
            identifier if type(identifier) is str else "",
            name if type(name) is str else "",
            arguments or "",
        )
        self._count(len(arguments or ""))
        if draft is None or not draft.name:
            return
        piece = draft.raw() if began else arguments or ""
        if began or piece:
            pieces.append(CallSaid(draft.number, draft.name, began, piece))

    def _count(self, length: int) -> None:
        self._length += length
        if self._length > LONGEST:
            raise BadStream(f"its answer is longer than {LONGEST} characters")


def _first(choices: Any) -> Mapping[str, Any] | None:
    """The first choice; those beside it were never asked for."""
    if type(choices) is not list:
        return None
    for choice in choices:
        if type(choice) is dict and choice.get("index") in (0, None):
            return choice
    return None


def _text(content: Any) -> str:
    """The text of a content, which may be a list of parts."""
    if type(content) is str:
        return content
    if type(content) is list:
        return "".join(
            part["text"] for part in content if type(part) is dict and type(part.get("text")) is str
        )
    return ""


def _usage(value: Any) -> Usage | None:
    if type(value) is not dict:
        return None
    spent = [_tokens(value.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    if spent == [0, 0]:
        return None
    details = value.get("prompt_tokens_details")
    cached = _tokens(details.get("cached_tokens")) if type(details) is dict else 0
    return Usage(input=spent[0], output=spent[1], cached=cached)


def _tokens(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 1e12:
        return 0
    return int(value)
