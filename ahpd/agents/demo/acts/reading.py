"""How a message is read: which directives it holds, and what is wrong with them.

Each line of a message that begins with `/` is a directive; all of them are read before
the first is run. Any other text is answered with a word on how it will be answered and
then the answer, word by word.
"""

from __future__ import annotations

import json

from . import asking, directives
from .turn import Failed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .turn import Turn

MAX_DELTAS = 10_000_000
MAX_DELTA_BYTES = 1024 * 1024
MAX_SLEEP_MS = 3_600_000
MAX_RETRIES = 10
MAX_BACKGROUND_SECONDS = 3600

INVALID_DIRECTIVE = "invalidDirective"


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


def _name(directive: str, what: str, name: str) -> str:
    if len(name) > 64 or not name.replace("_", "").replace("-", "").replace(".", "").isalnum():
        raise Failed(
            INVALID_DIRECTIVE,
            f"{directive}: {what} must be at most 64 letters, digits, '_', '-' and '.', "
            f"not {name[:80]!r}",
        )
    return name


def _named(directive: str, given: str) -> tuple[str, str]:
    name, _, text = given.partition(" ")
    if not text.strip():
        raise Failed(
            INVALID_DIRECTIVE, f"{directive} takes a name and a text: {directive} NAME TEXT"
        )
    return _name(directive, "NAME", name), text


def _parse_stream(given: str) -> tuple[int, int]:
    arguments = given.split()
    if len(arguments) not in (1, 2):
        raise Failed(INVALID_DIRECTIVE, "/stream takes one or two numbers: /stream N [BYTES]")
    count = _number("/stream", "N", arguments[0], MAX_DELTAS)
    size = _number("/stream", "BYTES", [*arguments, "16"][1], MAX_DELTA_BYTES, 1)
    return count, size


def _parse_usage(given: str) -> tuple[int, int]:
    arguments = given.split()
    if len(arguments) != 2:
        raise Failed(INVALID_DIRECTIVE, "/usage takes two numbers: /usage IN OUT")
    most = 10**9
    return (
        _number("/usage", "IN", arguments[0], most),
        _number("/usage", "OUT", arguments[1], most),
    )


def _parse_ask(given: str) -> tuple[str, list[str]]:
    text, *choices = (piece.strip() for piece in given.split("|"))
    _text("/ask TEXT [| CHOICE]...", text)
    choices = list(dict.fromkeys(filter(None, choices)))
    return text, choices or ["Yes", "No"]


def _parse_call(directive: str, given: str) -> tuple[str, str]:
    name, _, text = given.strip().partition(" ")
    if not name:
        words = f"{directive} takes a tool and its input: {directive} TOOL [JSON]"
        raise Failed(INVALID_DIRECTIVE, words)
    text = text.strip() or "{}"
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise Failed(INVALID_DIRECTIVE, f"{directive}: JSON must be an object, not {text[:80]!r}")
    return name, text


def _parse_background(given: str) -> tuple[str, int]:
    arguments = given.split()
    if len(arguments) != 2:
        raise Failed(
            INVALID_DIRECTIVE,
            "/background takes a name and a number: /background NAME SECONDS",
        )
    seconds = _number("/background", "SECONDS", arguments[1], MAX_BACKGROUND_SECONDS)
    return _name("/background", "NAME", arguments[0]), seconds


def _nothing(directive: str, given: str) -> tuple[()]:
    if given.strip():
        raise Failed(INVALID_DIRECTIVE, f"{directive} takes nothing, not {given.strip()[:80]!r}")
    return ()


def _task(turn: Turn, name: str, text: str) -> None:
    asking.task(turn, lambda worker: run_steps(worker, steps(worker.text)), name, text)


def _help(turn: Turn) -> None:
    """`/help`: what each directive does."""
    lines = ["Each line that begins with one of these does something:", ""]
    for _, run in DIRECTIVES.values():
        form, _, does = (run.__doc__ or "").partition(": ")
        if run is _task:
            form, _, does = (asking.task.__doc__ or "").partition(": ")
        lines.append(f"- {form}: {does}")
    turn.markdown("\n".join([*lines, "", "Any other text is said back."]))


#: Each directive: what reads its arguments, and what runs it.
DIRECTIVES: dict[str, tuple[Callable[[str], tuple[Any, ...]], Callable[..., None]]] = {
    "/say": (lambda given: (_text("/say TEXT", given),), directives.say),
    "/think": (lambda given: (_text("/think TEXT", given),), directives.think),
    "/stream": (_parse_stream, directives.stream),
    "/sleep": (
        lambda given: (_number("/sleep", "MS", given.strip(), MAX_SLEEP_MS),),
        directives.sleep,
    ),
    "/tool": (lambda given: _named("/tool", given), directives.tool),
    "/confirm": (lambda given: _named("/confirm", given), asking.confirm),
    "/ask": (_parse_ask, asking.ask),
    "/client": (lambda given: _parse_call("/client", given), asking.client),
    "/host": (lambda given: _parse_call("/host", given), asking.host),
    "/task": (lambda given: _named("/task", given), _task),
    "/background": (_parse_background, directives.background),
    "/usage": (_parse_usage, directives.usage),
    "/fail": (lambda given: (given.strip(),), directives.fail),
    "/retry": (
        lambda given: (_number("/retry", "N", given.strip(), MAX_RETRIES, 1),),
        directives.retry,
    ),
    "/crash": (lambda given: _nothing("/crash", given), directives.crash),
    "/hello": (lambda given: (given.strip(),), directives.hello),
    "/help": (lambda given: _nothing("/help", given), _help),
}


def steps(text: str) -> list[tuple[Callable[..., None], tuple[Any, ...]]]:
    """What a message asks for, in order. Raises `Failed` for a directive that is wrong."""
    found: list[tuple[Callable[..., None], tuple[Any, ...]]] = []
    prose: list[str] = []

    def end_prose() -> None:
        if any(line.strip() for line in prose):
            found.append((directives.answer, ("\n".join(prose).strip(),)))
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
    return found or [(directives.answer, ("",))]


def run_steps(turn: Turn, found: list[tuple[Callable[..., None], tuple[Any, ...]]]) -> None:
    """Run them in order."""
    for run, arguments in found:
        turn.rest()
        run(turn, *arguments)
