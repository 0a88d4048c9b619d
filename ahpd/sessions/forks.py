"""Chats made out of others: forks, which copy a conversation, and side chats, which are told one.

Sources: CHATS.txt, "A chat made out of another"; AHP.txt, `createChat`; schema:
ForkChatSource, SideChatSource, ChatOrigin.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.chats.chat import Chat
from ahpd.chats.kept import Point, facts_of
from ahpd.interfaces import ConversationPoint, IAgent
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, invalid_params
from ahpd.protocol.text import plain

FORK: Final = "fork"
SIDE_CHAT: Final = "sideChat"
_KINDS: Final = (FORK, SIDE_CHAT)

#: What a fork's title begins with, once however often a fork is forked.
PREFIX: Final = "Forked: "

#: The most characters of one turn's answer a side chat is told; of a longer one, the end.
LONGEST_PREAMBLE: Final = 200_000


@attrs.frozen(kw_only=True)
class Made:
    """What a chat made out of another begins with."""

    origin: State
    """Schema: ChatOrigin."""
    turns: Sequence[State] = ()
    """Schema: Turn, the new chat's own copies."""
    title: str = ""
    """The title it takes where none was given; "" leaves that to its first message."""
    directories: Sequence[str] | None = None
    """The folders it takes from its source; None where the source chose none of its own."""
    config: Mapping[str, Any] | None = None
    """The configuration values it takes from its source, which had set them for itself."""
    provider: str | None = None
    """The agent it is on, where that is another than its session's."""
    facts: Mapping[str, Any] = attrs.field(factory=dict)
    """What is kept with it and shown to nobody."""


def checked_kind(source: Mapping[str, Any]) -> str:
    """The kind of a source, which decides what the rest of it means; -32602 for another."""
    kind = source.get("kind")
    if kind not in _KINDS:
        raise invalid_params(f"source.kind: found {kind!r}, expected one of {', '.join(_KINDS)}")
    assert isinstance(kind, str)
    return kind


def check_offered(agent: IAgent, kind: str) -> None:
    """Raises -32602 where the agent does not make chats of this kind out of others."""
    capabilities: State = agent.info().get("capabilities") or {}
    several: State = capabilities.get("multipleChats") or {}
    if not several.get(kind):
        raise invalid_params(
            f"source.kind: {kind!r} is not offered by agent {agent.provider!r} "
            f"(capabilities.multipleChats.{kind})"
        )


def fork_of(chat: Chat, turn_id: str, source_title: str) -> Made:
    """A fork of `chat`, which is shown as `source_title`, through one turn of its history.

    Its backend forks the conversation at that turn where it named the point, and begins
    one of its own with the turns otherwise; at a `!` command's, which it never saw, that is
    the turn before it. Raises `RpcError` -32602 for a turn the chat does not hold, and for
    the one that runs.
    """
    state = chat.state
    turns = state["turns"]
    place = _place_of(turns, turn_id)
    if place is None:
        if _is_active(state, turn_id):
            raise invalid_params(
                f"source.turnId: turn {turn_id!r} of {chat.uri} is still running; "
                "a fork is made of a turn that has ended"
            )
        raise _unknown_turn(chat, turn_id)
    copied: list[State] = plain(turns[: place + 1])
    points = _points_of(chat, copied)
    # A fork nobody talked in so far is still only the conversation it will be copied from.
    whole = chat.kept.resumed() or chat.kept.forked()
    seen = chat.kept.newest_seen(copied)
    point = None if seen is None else chat.kept.point_of(seen)
    forked = None
    if whole is not None and point is not None:
        forked = ConversationPoint(conversation=whole.conversation, point=point)
    return Made(
        origin={"kind": FORK, "chat": chat.uri, "turnId": turn_id},
        turns=copied,
        title=forked_title(source_title),
        directories=state.get("workingDirectories"),
        config=plain(state.get("config")),
        facts=facts_of(points=points, fork=forked),
    )


def forked_title(source_title: str) -> str:
    """The title of a fork that was given none; "" for a source that has none."""
    if not source_title or source_title.startswith(PREFIX):
        return source_title
    return PREFIX + source_title


def side_chat_of(chat: Chat, source: Mapping[str, Any]) -> Made:
    """A side chat about one turn of `chat`, running or ended, as it is at this moment.

    Raises `RpcError` -32602 for a turn the chat does not hold.
    """
    state, turn_id = chat.state, source["turnId"]
    if _is_active(state, turn_id):
        turn = state["activeTurn"]
    else:
        place = _place_of(state["turns"], turn_id)
        if place is None:
            raise _unknown_turn(chat, turn_id)
        turn = state["turns"][place]
    origin: State = {"kind": SIDE_CHAT, "chat": chat.uri, "turnId": turn_id}
    selection: State = source.get("selection") or {}
    if selection.get("text"):
        origin["selection"] = plain(selection)
    return Made(
        origin=origin,
        facts=facts_of(
            preamble=preamble_of(
                plain(turn), selection.get("text") or "", chat.kept.is_command(turn_id)
            )
        ),
    )


def preamble_of(turn: State, selected: str, command: bool = False) -> str:
    """What the first prompt of a side chat is told: one turn, and what was picked out of it.

    `command` says that the turn is a `!` command's: what it printed is its answer.
    """
    said = "\n\n".join(_printed_in(turn) if command else _answered_in(turn))
    if len(said) > LONGEST_PREAMBLE:
        said = "…" + said[-LONGEST_PREAMBLE:]
    asked = "The person had run a command" if command else "The person had asked"
    answer = "It printed" if command else "The answer was"
    nothing = "It had printed nothing so far." if command else "Nothing had been answered so far."
    pieces = [
        "This conversation began beside another one, about one of its turns.",
        f"{asked}:\n{turn['message']['text']}",
        f"{answer}:\n{said}" if said else nothing,
    ]
    if selected:
        pieces.append(f"The person picked this out of it:\n{selected}")
    return "\n\n".join(pieces)


def _answered_in(turn: State) -> Iterator[str]:
    for part in turn["responseParts"]:
        if part.get("kind") == "markdown" and part.get("content"):
            yield part["content"]


def _printed_in(turn: State) -> Iterator[str]:
    for block in _blocks_of(turn):
        if block.get("type") == "text":
            yield block["text"]


def _blocks_of(turn: State) -> Iterator[State]:
    """What the calls of a turn hold (schema: ToolResultContent)."""
    for part in turn["responseParts"]:
        yield from (part.get("toolCall") or {}).get("content") or ()


def _place_of(turns: Sequence[State], turn_id: str) -> int | None:
    """Where a turn is, looked for from the newest back."""
    for place in range(len(turns) - 1, -1, -1):
        if turns[place]["id"] == turn_id:
            return place
    return None


def _is_active(state: State, turn_id: str) -> bool:
    active = state.get("activeTurn")
    return active is not None and active["id"] == turn_id


def names_terminals(turns: Sequence[State]) -> bool:
    """Whether a call of one of these turns (schema: Turn) names a terminal."""
    return any(block.get("type") == "terminal" for turn in turns for block in _blocks_of(turn))


def _points_of(chat: Chat, turns: Sequence[State]) -> dict[str, Point]:
    """What is known of the copied turns: where they ended, or that they are commands."""
    points = chat.kept.points
    return {turn["id"]: points[turn["id"]] for turn in turns if turn["id"] in points}


def _unknown_turn(chat: Chat, turn_id: str) -> RpcError:
    return invalid_params(f"source.turnId: {chat.uri} holds no turn {turn_id!r}")
