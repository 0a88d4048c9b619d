"""One turn, or one worker's turn within it: what it says, and what it asks of the host."""

from __future__ import annotations

import json

from .pipes import Signals, json_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .pipes import Host


class Failed(Exception):
    """The turn ends in an error: a word for machines and words for people."""

    def __init__(self, error_type: str, message: str, resumable: bool = False) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.message = message
        self.resumable = resumable


class Turn:
    """A turn the host asked for. `request` is the host's line.

    `attempt` counts how often it was begun; `ids` is the number of its first part.
    """

    def __init__(self, host: Host, request: dict[str, Any]) -> None:
        self.id: str = request["turnId"]
        self.text: str = request["text"]
        self.model: str = request["model"]
        self.level: str | None = request["thinkingLevel"]
        self.attempt: int = request.get("attempt", 1)
        self.ids: int = request.get("ids", 1)
        self.tools: list[dict[str, Any]] = request.get("tools", [])
        self.signals = Signals(host, self.id, request.get("pace", 0) / 1000)
        self.workers: tuple[str, ...] = ()
        """The calls whose workers this is, the outermost first; none for the turn itself."""
        self.answered: list[str] = []
        self._host = host
        self._of = self.id
        self._head: dict[str, Any] = {"turnId": self.id}

    def for_worker(self, call: str, text: str) -> Turn:
        """The turn of the worker that `call` spawned, prompted with `text`."""
        worker = Turn.__new__(Turn)
        worker.__dict__.update(self.__dict__)
        worker.text = text
        worker.ids = 1
        worker.workers = (*self.workers, call)
        worker.answered = []
        worker._of = call
        worker._head = {"turnId": self.id, "worker": call}
        return worker

    # -- saying -------------------------------------------------------------------

    def say(self, kind: str, **fields: Any) -> None:
        """One line, on its way before this returns."""
        self._host.put(json_line({"type": kind, **self._head, **fields}))
        self._host.flush()

    def new_id(self) -> str:
        """An id for a part, a call or a question, unique within the chat as the turn's is."""
        number, self.ids = self.ids, self.ids + 1
        return f"{self._of}:{number}"

    def open(self, kind: str) -> str:
        """Open a part and return its id."""
        part = self.new_id()
        self.say("chat/responsePart", part={"kind": kind, "id": part, "content": ""})
        return part

    def append(self, part: str, text: str) -> None:
        """Append to a markdown part."""
        self.answered.append(text)
        self.say("chat/delta", partId=part, content=text)

    def markdown(self, text: str) -> None:
        """A whole markdown part."""
        self.append(self.open("markdown"), text)

    def think(self, text: str) -> None:
        """A whole part of thinking."""
        self.say("chat/reasoning", partId=self.open("reasoning"), content=text)

    def stream(self, part: str, pieces: Iterator[str]) -> None:
        """Append `pieces` to a markdown part as fast as the host takes them."""
        head = json_line({"type": "chat/delta", **self._head, "partId": part})
        head = head[:-2] + b',"content":"'
        put = self._host.put
        for number, piece in enumerate(pieces):
            put(b'%b%b"}\n' % (head, piece.encode()))  # plain digits and dots: nothing to escape
            if not number % 64:
                self.rest()
        self._host.flush()

    # -- tool calls ---------------------------------------------------------------

    def begin_call(self, name: str, given: str, **fields: Any) -> tuple[str, str]:
        """A call whose input streams in; its id, and its name as people see it."""
        call = self.new_id()
        shown = name.replace("_", " ").replace("-", " ").strip().capitalize() or name
        shown = fields.pop("displayName", shown)
        self.say("chat/toolCallStart", toolCallId=call, toolName=name, displayName=shown, **fields)
        for start in range(0, len(given), 16):
            self.say("chat/toolCallDelta", toolCallId=call, content=given[start : start + 16])
        return call, shown

    def run_call(self, call: str, shown: str, given: str) -> None:
        """Its input is whole and it runs."""
        self.say(
            "chat/toolCallReady",
            toolCallId=call,
            invocationMessage=f"Running {shown}",
            toolInput=given,
            confirmed="not-needed",
        )

    def end_call(self, call: str, shown: str, *content: dict[str, Any]) -> None:
        """It did what it should."""
        result = {"success": True, "pastTenseMessage": f"Ran {shown}", "content": list(content)}
        self.say("chat/toolCallComplete", toolCallId=call, result=result)

    def fail_call(self, call: str, shown: str, error: str, *content: dict[str, Any]) -> None:
        """It did not."""
        result = {
            "success": False,
            "pastTenseMessage": f"Tried {shown}",
            "content": list(content),
            "error": {"message": error},
        }
        self.say("chat/toolCallComplete", toolCallId=call, result=result)

    # -- listening ----------------------------------------------------------------

    def rest(self, seconds: float = 0.0) -> None:
        """Do nothing for `seconds`. Raises `Stopped` and `WorkerStopped`."""
        self.signals.rest(seconds, self.workers)

    def wait_for(self, what: str, of: str = "", **fields: Any) -> Any:
        """Ask the host for `what` (see `ahpd/agents/demo/__init__.py`) and wait for it."""
        number = self.signals.next_question()
        self.say("demo/wait", id=number, what=what, of=of, **fields)
        return self.signals.answer(number, self.workers)


def text_block(text: str) -> dict[str, Any]:
    """A text of a tool's result."""
    return {"type": "text", "text": text}


def as_input(**fields: Any) -> str:
    """A tool's input."""
    return json.dumps(fields, ensure_ascii=False)
