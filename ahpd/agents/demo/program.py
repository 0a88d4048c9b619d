"""The demo agent's own program: reads turns, writes what they do.

It runs by its path in a bare interpreter (`python -I -S program.py`), so that a chat's
first turn waits some 30 ms for it and not for this package and its dependencies: it
imports the standard library alone, and little of that. What it speaks is written down
in `ahpd/agents/demo/__init__.py`.

Each line of a message that begins with `/` is a directive; all of them are read before
the first is run. Any other text is answered with a word on how it will be answered and
then the answer, word by word.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

#: Bytes gathered before they are written: `/stream` is not to cost a system call a delta.
WRITE_SIZE = 16 * 1024

MAX_DELTAS = 10_000_000
MAX_DELTA_BYTES = 1024 * 1024
MAX_SLEEP_MS = 3_600_000

#: How many words are streamed at a person's pace; the rest of a long answer comes at once.
PACED_WORDS = 200

INVALID_DIRECTIVE = "invalidDirective"
DEMO_FAILURE = "demoFailure"

#: The exit code of `/crash`.
CRASH_CODE = 70


class Stopped(Exception):
    """The host asked for the running turn to stop."""


class Failed(Exception):
    """The turn ends in an error: a word for machines and words for people."""

    def __init__(self, error_type: str, message: str) -> None:
        super().__init__(message)
        self.error_type = error_type
        self.message = message


class Host:
    """The other side of the pipes."""

    def __init__(self) -> None:
        self._rest = b""
        self._commands: list[dict[str, Any]] = []
        self._out = bytearray()

    def next_run(self) -> dict[str, Any]:
        """The next turn to run; waits for it. Raises `EOFError` when the host is done."""
        while True:
            while self._commands:
                command = self._commands.pop(0)
                if command["type"] == "run":
                    return command
            self._read()

    def stopped(self, turn_id: str, seconds: float) -> bool:
        """Whether a stop of `turn_id` came, waiting for it up to `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            ready, _, _ = select.select([0], [], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                return False
            self._read()
            if any(c["type"] == "stop" and c["turnId"] == turn_id for c in self._commands):
                return True

    def _read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            raise EOFError
        *lines, self._rest = (self._rest + data).split(b"\n")
        self._commands += [json.loads(line) for line in lines]

    def put(self, line: bytes) -> None:
        """Gather one line, and write what is gathered once it is enough."""
        self._out += line
        if len(self._out) >= WRITE_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered; waits for the host to take it."""
        out = memoryview(bytes(self._out))
        self._out.clear()
        while out:
            out = out[os.write(1, out) :]


class Turn:
    """One turn: what it may say, and whether it should stop."""

    def __init__(self, host: Host, request: dict[str, Any], pace: float) -> None:
        self.id: str = request["turnId"]
        self.text: str = request["text"]
        self.model: str = request["model"]
        self.level: str | None = request["thinkingLevel"]
        self.pace = pace
        self._host = host
        self._parts = 0

    def say(self, kind: str, **fields: Any) -> None:
        """One line, on its way before this returns."""
        self._host.put(json_line({"type": kind, "turnId": self.id, **fields}))
        self._host.flush()

    def rest(self, seconds: float = 0.0) -> None:
        """Look for a stop, waiting for it up to `seconds`. Raises `Stopped`."""
        if self._host.stopped(self.id, seconds):
            raise Stopped

    def new_id(self) -> str:
        """An id for a part or a tool call, unique within the chat as the turn's is."""
        self._parts += 1
        return f"{self.id}:{self._parts}"

    def open(self, kind: str) -> str:
        """Open a part and return its id."""
        part = self.new_id()
        self.say("chat/responsePart", part={"kind": kind, "id": part, "content": ""})
        return part

    def stream(self, part: str, pieces: Iterator[str]) -> None:
        """Append `pieces` to a markdown part as fast as the host takes them."""
        head = json_line({"type": "chat/delta", "turnId": self.id, "partId": part})
        head = head[:-2] + b',"content":"'
        put = self._host.put
        for number, piece in enumerate(pieces):
            put(b'%b%b"}\n' % (head, piece.encode()))  # plain digits and dots: nothing to escape
            if not number % 64:
                self.rest()
        self._host.flush()


def json_line(value: dict[str, Any]) -> bytes:
    """One value as a line."""
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n"
    )


# -- directives -------------------------------------------------------------------


def say(turn: Turn, text: str) -> None:
    """`/say TEXT`: a markdown part."""
    turn.say("chat/delta", partId=turn.open("markdown"), content=text)


def think(turn: Turn, text: str) -> None:
    """`/think TEXT`: a reasoning part."""
    turn.say("chat/reasoning", partId=turn.open("reasoning"), content=text)


def stream(turn: Turn, count: int, size: int) -> None:
    """`/stream N [BYTES]`: N deltas, each its number made up to BYTES bytes with dots."""
    turn.stream(turn.open("markdown"), (str(n)[-size:].ljust(size, ".") for n in range(count)))


def sleep(turn: Turn, milliseconds: int) -> None:
    """`/sleep MS`: nothing, for a while."""
    turn.rest(milliseconds / 1000)


def tool(turn: Turn, name: str, text: str) -> None:
    """`/tool NAME TEXT`: a tool that runs without asking and answers TEXT."""
    call = turn.new_id()
    shown = name.replace("_", " ").replace("-", " ").strip().capitalize() or name
    turn.say("chat/toolCallStart", toolCallId=call, toolName=name, displayName=shown)
    given = json.dumps({"text": text}, ensure_ascii=False)
    for start in range(0, len(given), 16):
        turn.say("chat/toolCallDelta", toolCallId=call, content=given[start : start + 16])
    turn.say(
        "chat/toolCallReady",
        toolCallId=call,
        invocationMessage=f"Running {shown}",
        toolInput=given,
        confirmed="not-needed",
    )
    turn.rest()
    content = [{"type": "text", "text": text}]
    result = {"success": True, "pastTenseMessage": f"Ran {shown}", "content": content}
    turn.say("chat/toolCallComplete", toolCallId=call, result=result)


def usage(turn: Turn, given: int, made: int) -> None:
    """`/usage IN OUT`: tokens in and out."""
    turn.say("chat/usage", usage={"inputTokens": given, "outputTokens": made, "model": turn.model})


def fail(turn: Turn, text: str) -> None:
    """`/fail [TEXT]`: the turn ends in an error."""
    raise Failed(DEMO_FAILURE, text or "The demo agent was told to fail")


def crash(turn: Turn) -> None:
    """`/crash`: this process dies."""
    os._exit(CRASH_CODE)


_THOUGHTS = (
    "I was told {count}, and I will say what I was told.",
    " Nothing has to be looked up for that.",
    " The same message always gets the same answer.",
)
_DEPTH = {None: 1, "low": 1, "medium": 2, "high": 3}


def answer(turn: Turn, text: str) -> None:
    """Any other text: a short thought, then what was said, word by word."""
    count = len(text.split())
    thought = "".join(_THOUGHTS[: _DEPTH.get(turn.level, 1)])
    part = turn.open("reasoning")
    told = {0: "nothing", 1: "one word"}.get(count, f"{count} words")
    turn.say("chat/reasoning", partId=part, content=thought.format(count=told))
    part = turn.open("markdown")
    said = f"You said: {text}" if count else "You said nothing."
    for number, word in enumerate(words(said)):
        turn.rest(turn.pace if number < PACED_WORDS else 0.0)
        turn.say("chat/delta", partId=part, content=word)


def words(text: str) -> Iterator[str]:
    """`text` cut before each word, its spaces and line breaks kept."""
    start = 0
    for at in range(1, len(text)):
        if text[at - 1].isspace() and not text[at].isspace():
            yield text[start:at]
            start = at
    yield text[start:]


# -- reading a message --------------------------------------------------------------


def _number(directive: str, what: str, given: str, most: int, least: int = 0) -> int:
    if not (
        given.isascii() and given.isdigit() and len(given) < 12 and least <= int(given) <= most
    ):
        raise Failed(
            INVALID_DIRECTIVE,
            f"{directive}: {what} must be a whole number from {least} to {most}, not {given[:80]!r}",
        )
    return int(given)


def _text(form: str, given: str) -> str:
    if not given.strip():
        raise Failed(INVALID_DIRECTIVE, f"{form.split(maxsplit=1)[0]} takes a text: {form}")
    return given


def _parse_stream(given: str) -> tuple[int, int]:
    arguments = given.split()
    if len(arguments) not in (1, 2):
        raise Failed(INVALID_DIRECTIVE, "/stream takes one or two numbers: /stream N [BYTES]")
    count = _number("/stream", "N", arguments[0], MAX_DELTAS)
    size = _number("/stream", "BYTES", [*arguments, "16"][1], MAX_DELTA_BYTES, 1)
    return count, size


def _parse_sleep(given: str) -> tuple[int]:
    return (_number("/sleep", "MS", given.strip(), MAX_SLEEP_MS),)


def _parse_tool(given: str) -> tuple[str, str]:
    name, _, text = given.partition(" ")
    if not text.strip():
        raise Failed(INVALID_DIRECTIVE, "/tool takes a name and a text: /tool NAME TEXT")
    if len(name) > 64 or not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise Failed(
            INVALID_DIRECTIVE,
            f"/tool: NAME must be at most 64 letters, digits, '_', '-' and '.', not {name[:80]!r}",
        )
    return name, text


def _parse_usage(given: str) -> tuple[int, int]:
    arguments = given.split()
    if len(arguments) != 2:
        raise Failed(INVALID_DIRECTIVE, "/usage takes two numbers: /usage IN OUT")
    most = 10**9
    return (
        _number("/usage", "IN", arguments[0], most),
        _number("/usage", "OUT", arguments[1], most),
    )


def _parse_crash(given: str) -> tuple[()]:
    if given.strip():
        raise Failed(INVALID_DIRECTIVE, f"/crash takes nothing, not {given.strip()[:80]!r}")
    return ()


#: Each directive: what reads its arguments, and what runs it.
DIRECTIVES: dict[str, tuple[Callable[[str], tuple[Any, ...]], Callable[..., None]]] = {
    "/say": (lambda given: (_text("/say TEXT", given),), say),
    "/think": (lambda given: (_text("/think TEXT", given),), think),
    "/stream": (_parse_stream, stream),
    "/sleep": (_parse_sleep, sleep),
    "/tool": (_parse_tool, tool),
    "/usage": (_parse_usage, usage),
    "/fail": (lambda given: (given.strip(),), fail),
    "/crash": (_parse_crash, crash),
}


def steps(text: str) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """What a message asks for, in order. Raises `Failed` for a directive that is wrong."""
    found: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    prose: list[str] = []

    def end_prose() -> None:
        if any(line.strip() for line in prose):
            found.append((answer, ("\n".join(prose).strip(),)))
        prose.clear()

    for line in text.splitlines():
        if not line.startswith("/"):
            prose.append(line)
            continue
        end_prose()
        name, _, given = line.partition(" ")
        if name not in DIRECTIVES:
            allowed = ", ".join(DIRECTIVES)
            raise Failed(
                INVALID_DIRECTIVE,
                f"{name[:80]} is no directive of the demo agent; it knows {allowed}",
            )
        parse, run = DIRECTIVES[name]
        found.append((run, parse(given)))
    end_prose()
    return found or [(answer, ("",))]


def run_turn(host: Host, request: dict[str, Any], pace: float) -> None:
    """Run one turn and say its end."""
    turn = Turn(host, request, pace)
    stopped = False
    try:
        for run, arguments in steps(turn.text):
            turn.rest()
            run(turn, *arguments)
    except Stopped:
        stopped = True
    except Failed as failed:
        turn.say("demo/failed", errorType=failed.error_type, message=failed.message)
        return
    turn.say("demo/end", stopped=stopped)


def main() -> None:
    """Run turns until the host closes the input. The one argument is the pace in milliseconds."""
    pace = float(sys.argv[1]) / 1000 if len(sys.argv) > 1 else 0.0
    host = Host()
    try:
        while True:
            run_turn(host, host.next_run(), pace)
    except (EOFError, BrokenPipeError, KeyboardInterrupt):
        pass


if __name__ == "__main__":
    main()
