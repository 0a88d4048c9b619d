"""A fake endpoint on 127.0.0.1, for tests of agents that ask one.

It answers what a test queued, in the manner of one of the servers people run, and keeps what
it was asked. Answers are written in the pieces the test names, so a cut anywhere can be made.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.web.http_headers import Headers
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from ahpd.wire.codec import decode, encode


def chunk(delta: Mapping[str, Any] | None = None, finish: str | None = None, **more: Any) -> Any:
    """One chunk of a streamed completion; `more` stands beside its choices."""
    choice: dict[str, Any] = {"index": 0, "delta": dict(delta or {}), "finish_reason": finish}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "fake",
        "choices": [choice],
        **more,
    }


def usage_chunk(prompt: int, completion: int) -> Any:
    """The chunk that says what an answer cost, with no choice in it."""
    return {
        **chunk(),
        "choices": [],
        "usage": {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "total_tokens": prompt + completion,
        },
    }


def call_delta(
    name: str,
    arguments: Any,
    *,
    index: int | None = 0,
    id: str | None = "call_1",  # noqa: A002
) -> Any:
    """A delta that holds one tool call in one piece."""
    call: dict[str, Any] = {"type": "function", "function": {"name": name, "arguments": arguments}}
    if index is not None:
        call["index"] = index
    if id is not None:
        call["id"] = id
    return {"tool_calls": [call]}


def sse(*values: Any, done: bool = True, newline: bytes = b"\n") -> bytes:
    """Values as server-sent events, `[DONE]` behind them."""
    lines = [b"data: " + (value if isinstance(value, bytes) else encode(value)) for value in values]
    if done:
        lines.append(b"data: [DONE]")
    return b"".join(line + newline * 2 for line in lines)


@attrs.define(kw_only=True, eq=False)
class Answer:
    """One answer. `end` is how it ends: `close`, `break` (the connection is lost), `hang`."""

    body: bytes | Sequence[bytes] = b""
    status: int = 200
    headers: Mapping[str, str] = attrs.field(factory=lambda: {"Content-Type": "text/event-stream"})
    end: str = "close"
    endless: bytes | None = None
    """Written over and over until the client goes."""
    wait: "Deferred[None] | None" = None
    """The body is written once this fires."""


def says(*words: str, usage: tuple[int, int] | None = None, finish: str = "stop") -> Answer:
    """An ordinary answer in words."""
    values = [chunk({"role": "assistant", "content": ""})]
    values += [chunk({"content": word}) for word in words]
    values.append(chunk({}, finish))
    if usage is not None:
        values.append(usage_chunk(*usage))
    return Answer(body=sse(*values))


def calls(name: str, arguments: Any, *, id: str = "call_1", text: str = "") -> Answer:  # noqa: A002
    """An answer that calls one tool, its arguments in two pieces."""
    raw = arguments if isinstance(arguments, str) else encode(arguments).decode()
    half = len(raw) // 2
    values = [chunk({"role": "assistant", "content": text or None})]
    values.append(chunk(call_delta(name, raw[:half], id=id)))
    values.append(chunk({"tool_calls": [{"index": 0, "function": {"arguments": raw[half:]}}]}))
    values.append(chunk({}, "tool_calls"))
    return Answer(body=sse(*values))


def refuses(status: int, message: str, code: str | None = None, **headers: str) -> Answer:
    """An answer with an error object."""
    error = {"error": {"message": message, "type": "error", "code": code}}
    return Answer(
        status=status,
        body=encode(error),
        headers={
            "Content-Type": "application/json",
            **{name.replace("_", "-"): value for name, value in headers.items()},
        },
    )


@attrs.frozen
class Asked:
    """One request, as it arrived."""

    path: str
    headers: Headers
    body: Any

    @property
    def authorization(self) -> str | None:
        """What it was authorized with."""
        return self.headers.getRawHeaders("authorization", [None])[0]


#: Answers a request whose turn is not queued: by what it asked.
Always = Callable[[Asked], Answer]


def _default(asked: Asked) -> Answer:
    return says("Hello", " there")


class FakeEndpoint:
    """The endpoint. `answers` are given in order, then `always`; `asked` is what came."""

    def __init__(self, reactor: Any, always: Always = _default) -> None:
        self.answers: list[Answer] = []
        self.asked: list[Asked] = []
        self.models: Answer = self.listing({"id": "fake"})
        self.always = always
        self.written = 0
        """Bytes of `endless` that were written."""
        self._reactor = reactor
        self._port: Any = None
        self._open: set[Any] = set()

    def listing(self, *models: Mapping[str, Any]) -> Answer:
        """An answer to `GET /models`."""
        return Answer(
            body=encode({"object": "list", "data": list(models)}),
            headers={"Content-Type": "application/json"},
        )

    @property
    def url(self) -> str:
        """Its `baseUrl`."""
        return f"http://127.0.0.1:{self._port.getHost().port}/v1"

    @property
    def completions(self) -> list[Any]:
        """The bodies of the chat completions that were asked for."""
        return [asked.body for asked in self.asked if asked.path.endswith("/chat/completions")]

    def start(self) -> None:
        """Listen on a port of its own."""
        # A site keeps the time of its log up to date: on a clock of its own, so that none of
        # its timers is among those a test counts.
        site = Site(_Everything(self), reactor=Clock())
        self._port = self._reactor.listenTCP(0, site, interface="127.0.0.1")

    async def stop(self) -> None:
        """Stop listening, and drop what is open."""
        await self._port.stopListening()
        for request in list(self._open):
            request.channel.transport.abortConnection()

    # -- answering ------------------------------------------------------------------------

    def answer(self, request: Any) -> Any:
        """Answer one request."""
        data = request.content.read()
        asked = Asked(request.path.decode(), request.requestHeaders, decode(data) if data else None)
        self.asked.append(asked)
        if asked.path.endswith("/models"):
            answer = self.models
        elif self.answers:
            answer = self.answers.pop(0)
        else:
            answer = self.always(asked)
        self._open.add(request)
        request.notifyFinish().addBoth(lambda _: self._open.discard(request))
        if answer.wait is not None:
            answer.wait.addCallback(lambda _: self._write(request, answer))
        else:
            self._write(request, answer)
        return NOT_DONE_YET

    def _write(self, request: Any, answer: Answer) -> None:
        if request not in self._open:
            return
        request.setResponseCode(answer.status)
        for name, value in answer.headers.items():
            request.setHeader(name, value)
        pieces = [answer.body] if isinstance(answer.body, bytes) else list(answer.body)
        self._write_next(request, answer, pieces)

    def _write_next(self, request: Any, answer: Answer, pieces: list[bytes]) -> None:
        """Each piece in a turn of the reactor of its own, so that it is a read of its own."""
        if request not in self._open:
            return
        if pieces:
            request.write(pieces.pop(0))
            if pieces:
                self._reactor.callLater(0, self._write_next, request, answer, pieces)
                return
        if answer.endless is not None:
            request.registerProducer(_Endless(self, request, answer.endless), False)
        elif answer.end == "close":
            request.finish()
        elif answer.end == "break":
            self._reactor.callLater(0.02, self._break, request)

    def _break(self, request: Any) -> None:
        if request in self._open:
            request.channel.transport.abortConnection()


class _Endless:
    """A pull producer: writes whenever the transport has room."""

    def __init__(self, endpoint: FakeEndpoint, request: Any, data: bytes) -> None:
        self._endpoint = endpoint
        self._request = request
        self._data = data

    def resumeProducing(self) -> None:
        """Write once more."""
        self._request.write(self._data)
        self._endpoint.written += len(self._data)

    def stopProducing(self) -> None:
        """The client went."""


class _Everything(Resource):
    """Every path of the endpoint."""

    isLeaf = True

    def __init__(self, endpoint: FakeEndpoint) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._endpoint = endpoint

    def render(self, request: Any) -> Any:
        return self._endpoint.answer(request)
