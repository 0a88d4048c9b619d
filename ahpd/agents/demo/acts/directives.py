"""What the directives of a message do that need nobody but the demo agent itself."""

from __future__ import annotations

import os

from .turn import Failed, as_input, text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from .turn import Turn

#: How many words are streamed at a person's pace; the rest of a long answer comes at once.
PACED_WORDS = 200

DEMO_FAILURE = "demoFailure"

#: The exit code of `/crash`.
CRASH_CODE = 70


def say(turn: Turn, text: str) -> None:
    """`/say TEXT`: a markdown part."""
    turn.markdown(text)


def think(turn: Turn, text: str) -> None:
    """`/think TEXT`: a reasoning part."""
    turn.think(text)


def stream(turn: Turn, count: int, size: int) -> None:
    """`/stream N [BYTES]`: N deltas, each its number made up to BYTES bytes with dots."""
    turn.stream(turn.open("markdown"), (str(n)[-size:].ljust(size, ".") for n in range(count)))


def sleep(turn: Turn, milliseconds: int) -> None:
    """`/sleep MS`: nothing, for a while."""
    turn.rest(milliseconds / 1000)


def tool(turn: Turn, name: str, text: str) -> None:
    """`/tool NAME TEXT`: a tool that runs without asking and answers TEXT."""
    given = as_input(text=text)
    call, shown = turn.begin_call(name, given)
    turn.run_call(call, shown, given)
    turn.rest()
    turn.end_call(call, shown, text_block(text))


def usage(turn: Turn, given: int, made: int) -> None:
    """`/usage IN OUT`: tokens in and out."""
    turn.say("chat/usage", usage={"inputTokens": given, "outputTokens": made, "model": turn.model})


def fail(turn: Turn, text: str) -> None:
    """`/fail [TEXT]`: the turn ends in an error."""
    raise Failed(DEMO_FAILURE, text or "The demo agent was told to fail")


def retry(turn: Turn, times: int) -> None:
    """`/retry N`: the turn fails N times, and each time it can be resumed from here."""
    if turn.attempt <= times:
        raise Failed(
            DEMO_FAILURE, f"Try {turn.attempt} failed; try {times + 1} works", resumable=True
        )
    turn.markdown(f"It worked on try {turn.attempt}.")


def crash(turn: Turn) -> None:
    """`/crash`: this process dies."""
    os._exit(CRASH_CODE)


def background(turn: Turn, name: str, seconds: int) -> None:
    """`/background NAME SECONDS`: something that runs on when the turn is over."""
    turn.say("demo/background", id=turn.new_id(), label=name, seconds=seconds)
    turn.markdown(f"{name} runs in the background for {seconds} s.")


def hello(turn: Turn, name: str) -> None:
    """`/hello [NAME]`: a greeting, as from a prompt file."""
    turn.markdown(f"Hello, {name or 'you'}! I am the demo agent. Say /help to see what I can do.")


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
    told = {0: "nothing", 1: "one word"}.get(count, f"{count} words")
    turn.think(thought.format(count=told))
    part = turn.open("markdown")
    said = f"You said: {text}" if count else "You said nothing."
    for number, word in enumerate(words(said)):
        if number < PACED_WORDS:
            turn.signals.rest_for_a_word(turn.workers)
        else:
            turn.rest()
        turn.append(part, word)


def words(text: str) -> Iterator[str]:
    """`text` cut before each word, its spaces and line breaks kept."""
    start = 0
    for at in range(1, len(text)):
        if text[at - 1].isspace() and not text[at].isspace():
            yield text[start:at]
            start = at
    yield text[start:]
