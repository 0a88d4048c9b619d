"""JSON-RPC 2.0 both ways over the lines of one program (ACP's transport).

One message a line. What cannot be read costs itself alone: a line that is no message is
logged and dropped, one that is too long fails the request it may answer, an answer to
nothing is ignored. The connection is over when the program is.

Source: agentclientprotocol.com, "Transports" and "Cancellation"; JSON-RPC 2.0.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, Protocol

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.interfaces import AgentFailure, TurnOver
from ahpd.wire.jsonrpc import (
    Malformed,
    Message,
    MessageId,
    Notification,
    Request,
    Response,
    parse,
)
from ahpd.wire.lines import LineTooLong
from ahpd_agent_acp.heads import read_head

log = Logger()

INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
#: ACP's own: sign in first.
AUTH_REQUIRED: Final = -32000
#: ACP's own: there is no such file or session.
RESOURCE_NOT_FOUND: Final = -32002
#: The other side took its request back.
REQUEST_CANCELLED: Final = -32800

CANCEL: Final = "$/cancel_request"

#: How many requests of the program's may be on the way at once; more are refused.
MAX_ASKED: Final = 256

#: The bytes from which on a line is read in a thread.
LARGE: Final = 1024 * 1024

#: How many lines that cannot be read are logged one by one; the rest are counted.
_LOGGED: Final = 10


class RequestError(Exception):
    """A JSON-RPC error: raised to answer a request with it, and for one that was answered.

    `message` goes to the other side, so it holds no trace and no secret.
    """

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def to_wire(self) -> dict[str, Any]:
        """The error object of a response."""
        error: dict[str, Any] = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return error

    @classmethod
    def from_wire(cls, error: Mapping[str, Any]) -> "RequestError":
        """What the other side answered, whatever shape it has."""
        code, message, data = error.get("code"), error.get("message"), error.get("data")
        return cls(
            code if isinstance(code, int) and not isinstance(code, bool) else INTERNAL_ERROR,
            _worded(message if isinstance(message, str) else "", data) or "an error without words",
            data,
        )


def _worded(message: str, data: Any) -> str:
    """An error in words. Many agents say `Internal error` and leave what it was to the data.

    Of that the first line: a stack may follow.
    """
    found = data
    if isinstance(data, Mapping):
        found = data.get("details") or data.get("message") or data.get("error")
    if not isinstance(found, str) or not found.strip() or found in message:
        return message
    line = found.strip().splitlines()[0]
    return f"{message}: {line}" if message else line


class Lines(Protocol):
    """What a connection needs of a program (`ahpd.agents.process.AgentProcess`)."""

    async def lines(self) -> list[bytes]:
        """The next lines; raises `AgentFailure` once there are no more."""

    def send(self, value: Any) -> None:
        """Write one JSON value; raises `AgentFailure` where the program takes nothing."""


class IncomingCalls(Protocol):
    """Who answers what the program asks, and hears what it says."""

    async def asked(self, method: str, params: dict[str, Any]) -> Any:
        """Answer a request. Raises `RequestError`; cancelled where the program took it back."""

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Hear a notification. What raises is logged."""

    async def room(self) -> None:
        """Wait until more may be read."""


class Connection:
    """One program's messages. `what` is its name in a sentence; `calls` hears what it asks.

    A `LARGE` line is read in a thread by `run_blocking`, where that is given: a line of 60 MB
    made of small values takes more than a second to read and to check, and holds everybody
    else for a third of that. Its place among the others is kept.
    """

    def __init__(
        self,
        program: Lines,
        what: str,
        calls: IncomingCalls,
        run_blocking: Callable[..., Awaitable[Any]] | None = None,
    ) -> None:
        self._program = program
        self._what = what
        self._calls = calls
        self._run_blocking = run_blocking
        self._last_id = 0
        self._pending: dict[MessageId, tuple[str, Deferred[Any]]] = {}
        self._asked: dict[MessageId, Deferred[Any]] = {}
        self._failure: AgentFailure | None = None
        self._unread = 0

    # -- to the program ---------------------------------------------------------------

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Ask, and wait for the answer. An id is never used again.

        Raises `RequestError` for an error it answered, and `AgentFailure` where it will
        answer no more. Cancelled, it takes the request back; a late answer is ignored.
        """
        if self._failure is not None:
            raise self._failure
        self._last_id += 1
        identifier = self._last_id
        answer: Deferred[Any] = Deferred(lambda _: self._take_back(identifier))
        self._pending[identifier] = (method, answer)
        try:
            self._send({"id": identifier, "method": method, "params": params})
        except AgentFailure:
            self._pending.pop(identifier, None)
            raise
        return await answer

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Say something that wants no answer. Nothing where it is over."""
        if self._failure is None:
            try:
                self._send({"method": method, "params": params})
            except AgentFailure as failure:
                self.over(failure)

    def _send(self, message: Mapping[str, Any]) -> None:
        self._program.send({"jsonrpc": "2.0", **message})

    def _take_back(self, identifier: int) -> None:
        if self._pending.pop(identifier, None) is not None:
            self.notify(CANCEL, {"requestId": identifier})

    # -- from the program -------------------------------------------------------------

    async def run(self) -> AgentFailure:
        """Read until it will say no more; returns why. Never raises."""
        try:
            while True:
                for line in await self._program.lines():
                    if self._run_blocking is None or len(line) < LARGE:
                        self._take(parse(line))
                    else:
                        self._take(await self._run_blocking(parse, line))
                await self._calls.room()
        except AgentFailure as failure:
            self.over(failure)
        except Exception:
            log.failure("reading what {what} says failed", what=self._what)
            self.over(AgentFailure(f"what {self._what} said could not be followed"))
        assert self._failure is not None
        return self._failure

    def over(self, failure: AgentFailure) -> None:
        """It answers no more: whoever waits for it fails, and what it asked is dropped."""
        if self._failure is not None:
            return
        self._failure = failure
        pending, self._pending = self._pending, {}
        for _, answer in pending.values():
            answer.errback(failure)
        for asked in tuple(self._asked.values()):
            asked.cancel()
        if self._unread > _LOGGED:
            log.warn("{what} wrote {n} lines that are no message", what=self._what, n=self._unread)

    def _take(self, message: Message) -> None:
        if isinstance(message, Request):
            self._answer(message)
        elif isinstance(message, Notification):
            self._hear(message)
        elif isinstance(message, Response):
            self._answered(message)
        else:
            self._unreadable(message)

    def _answered(self, response: Response) -> None:
        if not isinstance(response.id, (int, float, str)) or response.id not in self._pending:
            log.debug("{what} answered a request nobody waits for", what=self._what)
            return
        _, answer = self._pending.pop(response.id)
        if response.error is not None:
            answer.errback(RequestError.from_wire(response.error))
        else:
            answer.callback(response.result)

    def _hear(self, message: Notification) -> None:
        if message.method == CANCEL:
            asked = self._asked.get(_id(message.params.get("requestId")))
            if asked is not None:
                asked.cancel()
            return
        try:
            self._calls.told(message.method, message.params)
        except Exception:
            log.failure(
                "{method} of {what} could not be followed", method=message.method, what=self._what
            )

    def _answer(self, message: Request) -> None:
        if message.id in self._asked:
            words = f"the id {message.id} is one of a request that is still on the way"
            self._reply(message.id, error=RequestError(INVALID_REQUEST, words))
            return
        if len(self._asked) >= MAX_ASKED:
            words = f"{MAX_ASKED} requests are on the way already"
            self._reply(message.id, error=RequestError(INTERNAL_ERROR, words))
            return
        answering = Deferred.fromCoroutine(self._calls.asked(message.method, message.params))
        self._asked[message.id] = answering
        answering.addBoth(self._settled, message)

    def _settled(self, outcome: Any, message: Request) -> None:
        self._asked.pop(message.id, None)
        if not isinstance(outcome, Failure):
            self._reply(message.id, result=outcome)
        elif isinstance(outcome.value, RequestError):
            self._reply(message.id, error=outcome.value)
        elif outcome.check(CancelledError, TurnOver):
            self._reply(message.id, error=RequestError(REQUEST_CANCELLED, "Request cancelled"))
        elif isinstance(outcome.value, AgentFailure):
            self._reply(message.id, error=RequestError(INTERNAL_ERROR, outcome.value.message))
        else:
            log.failure(
                "answering {method} of {what} failed",
                outcome,
                method=message.method,
                what=self._what,
            )
            self._reply(message.id, error=RequestError(INTERNAL_ERROR, "Internal error"))

    def _reply(
        self, identifier: MessageId | None, result: Any = None, error: RequestError | None = None
    ) -> None:
        if self._failure is not None:
            return
        answer = {"result": result} if error is None else {"error": error.to_wire()}
        try:
            self._send({"id": identifier, **answer})
        except AgentFailure as failure:
            self.over(failure)

    # -- what cannot be read ----------------------------------------------------------

    def _unreadable(self, message: Malformed) -> None:
        self._unread += 1
        if self._unread <= _LOGGED:
            log.warn(
                "{what} wrote a line that is no message: {words}",
                what=self._what,
                words=message.error.message,
            )
        if message.id is None:
            return
        if message.id in self._pending:
            self._fail_pending(message.id, message.error.message)
        else:
            self._reply(message.id, error=RequestError(INVALID_REQUEST, message.error.message))

    def too_long(self, line: LineTooLong) -> None:
        """A line was dropped for its length: it costs what it may have been, and no more."""
        words = f"{self._what} wrote a line of more than {line.limit} bytes, which was dropped"
        head = read_head(line.head)
        log.warn("{words} ({about})", words=words, about=head.about)
        if head.method is not None:
            if head.id is not None:
                self._reply(head.id, error=RequestError(INVALID_REQUEST, "the line is too long"))
        elif head.id is not None:
            self._fail_pending(head.id, words)
        else:  # an answer, and its id was not read: it may be anybody's
            for identifier in tuple(self._pending):
                self._fail_pending(identifier, words)

    def _fail_pending(self, identifier: MessageId, words: str) -> None:
        pending = self._pending.pop(identifier, None)
        if pending is not None:
            pending[1].errback(RequestError(INTERNAL_ERROR, words))


def _id(value: Any) -> Any:
    return value if isinstance(value, (str, int, float)) else None
