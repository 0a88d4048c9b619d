"""Making room: the front of a conversation becomes a summary, its end stays as it was said.

What is compacted is what the model is sent, not the conversation: every turn is still in the
transcript (CHATS.txt, "Compacted context, and a rewind").
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State

#: How many characters a token has, about.
_CHARACTERS: Final = 4
#: What a message costs beside its text, and what a picture does, in tokens.
_MESSAGE: Final = 4
_PICTURE: Final = 1000
#: The share of the room that stays as it was said, and the least a summary must stand for.
_KEPT: Final = 0.25
_LEAST: Final = 0.1
#: How much of one tool's result a summary is made from, in characters.
_LONGEST_RESULT: Final = 4000

INSTRUCTIONS: Final = (
    "You are given the beginning of a conversation between a person and an assistant that "
    "works in the person's project. Write what the assistant must know to go on with it: what "
    "the person wants, what was decided and why, what was found and where (files, names, "
    "numbers), what was changed, what failed, and what is still to be done. Write plain text, "
    "only what was said, and no greeting."
)


def estimate(messages: Sequence[Mapping[str, Any]]) -> int:
    """About how many tokens messages are."""
    return sum(_size(message) for message in messages)


def _size(message: Mapping[str, Any]) -> int:
    length, pictures = 0, 0
    content = message.get("content")
    if isinstance(content, str):
        length += len(content)
    elif content:
        for part in content:
            if part["type"] == "text":
                length += len(part["text"])
            else:
                pictures += 1
    for call in message.get("tool_calls") or ():
        length += len(call["function"]["name"]) + len(call["function"]["arguments"])
    return length // _CHARACTERS + _MESSAGE + pictures * _PICTURE


def threshold(context: int | None, tokens: int | None, share: float, unknown: int) -> int:
    """The size at which a conversation is compacted, in tokens.

    `tokens` where that is lower than `share` of the context, or of `unknown` without one.
    """
    most = int((context or unknown) * share)
    return max(1, most if tokens is None else min(tokens, most))


def kept_of(messages: Sequence[Mapping[str, Any]], room: int) -> int | None:
    """How many messages at the end stay, for a conversation that is to fit `room` tokens.

    None where there is nothing before them worth a summary. What stays does not begin with
    a tool's result, whose call would be gone.
    """
    most = int(room * _KEPT)
    kept, size = 0, 0
    for at in range(len(messages) - 1, -1, -1):
        size += _size(messages[at])
        if size > most:
            break
        if messages[at]["role"] != "tool":
            kept = len(messages) - at
    newest = messages[-1] if messages else None
    if kept == 0 and newest is not None and newest["role"] == "user" and len(messages) > 1:
        kept = 1  # what was asked just now stays, however long
    front = messages[: len(messages) - kept]
    if len(front) < 2 or estimate(front) < room * _LEAST:
        return None
    return kept


def transcript(messages: Sequence[Mapping[str, Any]], most: int) -> str:
    """The messages as text for a summary, `most` characters of them; the middle is left out."""
    lines: list[str] = []
    for message in messages:
        content = message.get("content")
        text = content if isinstance(content, str) else _texts(content)
        if message["role"] == "tool":
            lines.append(f"[result] {_shortened(text, _LONGEST_RESULT)}")
            continue
        if text:
            lines.append(f"[{message['role']}] {text}")
        lines += [
            f"[call] {call['function']['name']} {_shortened(call['function']['arguments'], 1000)}"
            for call in message.get("tool_calls") or ()
        ]
    return _shortened("\n\n".join(lines), most)


def _texts(content: Any) -> str:
    return "\n".join(
        part["text"] if part["type"] == "text" else "(a picture)" for part in content or ()
    )


def _shortened(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    half = max(0, most // 2 - 20)
    return f"{text[:half]}\n(… left out …)\n{text[len(text) - half :]}"


def summary_request(messages: Sequence[Mapping[str, Any]], room: int) -> list[State]:
    """The messages that ask for a summary, for a model with `room` tokens for them."""
    said = transcript(messages, max(2000, int(room * _CHARACTERS * 0.6)))
    return [
        {"role": "system", "content": INSTRUCTIONS},
        {"role": "user", "content": f"The conversation:\n\n{said}"},
    ]


def without_summary(messages: Sequence[Mapping[str, Any]]) -> str:
    """What stands for messages that could not be summarized: what the person said in them."""
    said = [
        _shortened(text, 1000)
        for message in messages
        if message["role"] == "user"
        for text in [
            message["content"]
            if isinstance(message["content"], str)
            else _texts(message["content"])
        ]
    ]
    return "It could not be summarized. What the person said in it:\n\n" + "\n\n".join(said[-20:])
