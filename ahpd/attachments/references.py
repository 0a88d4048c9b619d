"""A chat that is attached to a message, as a model is told of it.

A backend cannot read another chat, so what it is handed is a pointer: the label, the
chat's link, the tool that reads it, and the end of what was said there (CHATS.txt,
"Attachments").
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State

#: How many characters of the transcript's end are told.
EXCERPT: Final = 1000
#: The tool that reads a chat by its link.
TOOL: Final = "get_session_context"

#: Messages that are part of a conversation; the rest is a host's or a tool's notice.
_NOT_SAID: Final = frozenset({"systemNotification", "tool"})


def pinned(attachment: Mapping[str, Any], chat: State | None) -> Mapping[str, Any]:
    """The attachment with the turn it is read up to: a chat's last finished one.

    Itself where it names one, and where the chat is not here or finished none so far.
    """
    if attachment.get("endTurn") is not None or chat is None or not chat["turns"]:
        return attachment
    return {**attachment, "endTurn": chat["turns"][-1]["id"]}


def pointer(attachment: Mapping[str, Any], chat: State | None) -> State:
    """A chat's attachment as a backend takes it (schema: SimpleMessageAttachment).

    `chat` is its state, None where it is not open here: then there is nothing to excerpt.
    Raises `AgentFailure` of type `sendFailed` for a pin on the running turn or on one the
    chat does not hold.
    """
    label = attachment["label"]
    lines = [f"The message refers to another chat: {label}"]
    if chat is not None:
        turns = _up_to(attachment, chat)
        link = chat["resource"]
        lines += [f"Its link: {link}", f"Call the tool {TOOL} with this link to read the chat."]
        said = excerpt(turns)
        if said:
            lines += ["", "The end of its transcript:", said]
    made: State = {
        key: attachment[key]
        for key in ("label", "range", "displayKind", "_meta")
        if key in attachment
    }
    return {**made, "type": "simple", "modelRepresentation": "\n".join(lines)}


def _up_to(attachment: Mapping[str, Any], chat: State) -> Sequence[State]:
    turns: Sequence[State] = chat["turns"]
    end = attachment.get("endTurn")
    if end is None:
        return turns
    at = next((index for index, turn in enumerate(turns) if turn["id"] == end), None)
    if at is not None:
        return turns[: at + 1]
    if (chat.get("activeTurn") or {}).get("id") == end:
        words = f"Turn {end} of the attached chat is still running; attach a finished one"
    else:
        words = f"The attached chat has no turn {end}"
    raise AgentFailure(f"{words}: {attachment['resource']}", "sendFailed")


def excerpt(turns: Sequence[State]) -> str:
    """The last `EXCERPT` characters of what a person said and the agent answered."""
    pieces: list[str] = []
    length = 0
    for line in _backwards(turns):
        pieces.append(line)
        length += len(line) + 2
        if length > EXCERPT + 2:
            break
    return "\n\n".join(reversed(pieces))[-EXCERPT:]


def _backwards(turns: Sequence[State]) -> Iterator[str]:
    """What was said, the newest first. A message's attachments are not looked into."""
    for turn in reversed(turns):
        answer = "".join(
            str(part["content"]) for part in turn["responseParts"] if part["kind"] == "markdown"
        ).strip()
        if answer:
            yield f"Agent: {answer}"
        message = turn["message"]
        text = message["text"].strip()
        if text and message["origin"]["kind"] not in _NOT_SAID:
            yield f"Person: {text}"
