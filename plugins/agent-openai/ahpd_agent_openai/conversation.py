"""A conversation as it is kept: records in the order they were written, and what they come to.

Records are JSON objects with a kind `k`:

- `head`: `v`, `id`, `at`, `title`, `directories`; the first.
- `turn`: `turn`, `at`, `message` (schema: Message), `content`, what the model was told of it.
- `again`: `turn`: it was run again after it failed.
- `assistant`: `text`, `calls` of `{id, name, arguments}`, `reasoning` and the `field` it came
  in, `partial` where it was cut short.
- `tool`: `id` of the call, `text` for the model, `call` as clients saw it (schema:
  ToolCallState, completed or cancelled).
- `user`: `content`, and `steering`, the message's id, where a person said it.
- `summary`: `text` that stands for everything but the last `keep` messages before it.
- `end`: `turn`, `at`, `state` (schema: TurnState), `ms`.
- `cut`: `point`, the turn after which everything written before no longer counts.

A turn is a place to cut at as soon as it began, so a crash takes no point away.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State

VERSION: Final = 1

#: What stands for the result of a call that has none: its turn was stopped, or broke.
NO_RESULT: Final = "The call was interrupted and has no result."

SUMMARY_HEAD: Final = "Summary of the conversation so far, which stands for what was said before:"


class Conversation:
    """The records that count, and the messages a model is sent for them."""

    def __init__(self, records: Iterable[State] = ()) -> None:
        self.records: list[State] = []
        self.messages: list[State] = []
        self._first: dict[str, int] = {}
        for record in records:
            self.add(record)

    @property
    def id(self) -> str:
        """Its id; empty while it has no head."""
        return str(self.records[0]["id"]) if self.records else ""

    def add(self, record: State) -> None:
        """Take one record more."""
        if record.get("k") == "cut":
            self._rebuild(self.through(record.get("point")))
            return
        if record.get("k") == "turn":
            self._first.setdefault(record["turn"], len(self.records))
        self.records.append(record)
        self._apply(record)

    def through(self, point: str | None) -> list[State]:
        """The records up to the end of the turn `point`; all for None, and for one it lacks."""
        if point is None or point not in self._first:
            return list(self.records)
        for at in range(self._first[point] + 1, len(self.records)):
            record = self.records[at]
            if record["k"] == "turn" and record["turn"] != point:
                return self.records[:at]
        return list(self.records)

    def has(self, point: str) -> bool:
        """Whether a turn of that name is in it."""
        return point in self._first

    def runs_of(self, turn: str) -> int:
        """How often the turn was begun."""
        return sum(
            record["k"] in ("turn", "again") and record["turn"] == turn for record in self.records
        )

    def _rebuild(self, records: Sequence[State]) -> None:
        self.records, self.messages, self._first = [], [], {}
        for record in records:
            self.add(record)

    def _apply(self, record: State) -> None:
        kind = record["k"]
        if kind in ("turn", "user"):
            self.messages.append({"role": "user", "content": record["content"]})
        elif kind == "assistant":
            self.messages.append(_assistant(record))
        elif kind == "tool":
            self.messages.append(
                {"role": "tool", "tool_call_id": record["id"], "content": record["text"]}
            )
        elif kind == "summary":
            keep = record["keep"]
            kept = self.messages[-keep:] if keep else []
            said = {"role": "user", "content": f"{SUMMARY_HEAD}\n\n{record['text']}"}
            self.messages = [said, *kept]


def _assistant(record: State) -> State:
    message: State = {"role": "assistant", "content": record["text"] or None}
    if record.get("calls"):
        message["tool_calls"] = [
            {
                "id": call["id"],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"] or "{}"},
            }
            for call in record["calls"]
        ]
    elif not record["text"]:
        message["content"] = ""
    if record.get("field") and record.get("reasoning"):
        message[record["field"]] = record["reasoning"]
    return message


def request_messages(system: str, messages: Sequence[State], *, images: bool = True) -> list[State]:
    """The messages of a request: every call with one result, users' words in one piece.

    Reasoning goes back to a model in the turn it was thought in, between its tool calls, and
    never later. Templates of some models refuse two messages of a user in a row.
    """
    sent: list[State] = [{"role": "system", "content": system}] if system else []
    last_user = max(
        (at for at, message in enumerate(messages) if message["role"] == "user"), default=-1
    )
    for at, message in enumerate(messages):
        made = message
        role = message["role"]
        if role == "tool" and not _asked(sent, message["tool_call_id"]):
            continue
        if role != "tool":
            _fill(sent)
        if role == "user":
            made = {"role": "user", "content": _content(message["content"], images)}
            if sent and sent[-1]["role"] == "user":
                sent[-1] = {"role": "user", "content": _joined(sent[-1], made)}
                continue
        elif role == "assistant" and (at < last_user or not message.get("tool_calls")):
            made = {
                key: value
                for key, value in message.items()
                if key not in ("reasoning", "reasoning_content")
            }
            if not made["content"] and not made.get("tool_calls"):
                continue  # it said nothing, and some endpoints refuse an empty message
        sent.append(made)
    _fill(sent)
    return sent


def _asked(sent: Sequence[State], call: str) -> bool:
    """Whether a result's call is in the message it follows; a summary may have cut it off."""
    for message in reversed(sent):
        if message["role"] == "assistant":
            return any(one["id"] == call for one in message.get("tool_calls") or ())
        if message["role"] != "tool" or message["tool_call_id"] == call:
            return False
    return False


def _fill(sent: list[State]) -> None:
    """Give the calls of the last assistant's message the results they lack."""
    answered: set[str] = set()
    for message in reversed(sent):
        if message["role"] == "tool":
            answered.add(message["tool_call_id"])
            continue
        sent += [
            {"role": "tool", "tool_call_id": call["id"], "content": NO_RESULT}
            for call in message.get("tool_calls") or ()
            if call["id"] not in answered
        ]
        return


def _content(content: Any, images: bool) -> Any:
    if isinstance(content, str) or images:
        return content
    kept = [
        part
        if part["type"] == "text"
        else {"type": "text", "text": "(A picture was attached, which this model cannot see.)"}
        for part in content
    ]
    return "\n\n".join(part["text"] for part in kept)


def _joined(before: Mapping[str, Any], after: Mapping[str, Any]) -> Any:
    one, other = before["content"], after["content"]
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}\n\n{other}"
    return [*_parts(one), *_parts(other)]


def _parts(content: Any) -> list[State]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def from_history(turns: Sequence[Mapping[str, Any]]) -> list[State]:
    """Records for turns this engine did not run itself: what was said in them, and no more."""
    records: list[State] = []
    for turn in turns:
        message = dict(turn["message"])
        records.append(
            {
                "k": "turn",
                "turn": turn["id"],
                "at": turn.get("startedAt", ""),
                "message": message,
                "content": message["text"],
            }
        )
        said = [
            str(part["content"]) for part in turn["responseParts"] if part["kind"] == "markdown"
        ]
        text = "\n\n".join(piece for piece in said if piece)
        if text:
            records.append({"k": "assistant", "text": text, "calls": []})
        records.append(
            {
                "k": "end",
                "turn": turn["id"],
                "at": turn.get("startedAt", ""),
                "state": turn.get("state", "complete"),
                "ms": turn.get("duration", 0),
            }
        )
    return records
