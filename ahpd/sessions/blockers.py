"""What a session waits on people for: the host's own mirror of its chats.

After each action of a chat that may move one, an entry is raised for every question and
call of the running turn that waits, said again where what it shows moved, and taken down
once it no longer stands. Entries share what the chat's state holds: a call and a request
are replaced there where they change, never changed.

Sources: AHP.txt, "Being asked"; session-channel.txt, "Aggregated input requests"; schema:
SessionInputRequest.
"""

from collections.abc import Callable, Collection
from typing import Final

from ahpd.chats.parts import call_in, is_open, open_question_in
from ahpd.protocol import Action, State

#: Said of one call.
_OF_A_CALL: Final = frozenset(
    {
        "chat/toolCallStart",
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "chat/toolCallResultConfirmed",
        "chat/toolCallContentChanged",
        "chat/toolCallAuthRequired",
        "chat/toolCallAuthResolved",
    }
)
#: Said of one question; one that is asked names it inside its request.
_OF_A_QUESTION: Final = frozenset({"chat/inputAnswerChanged", "chat/inputCompleted"})
#: What begins or ends a turn, and with it everything asked in one.
_OF_A_TURN: Final = frozenset(
    {
        "chat/turnStarted",
        "chat/turnResume",
        "chat/turnComplete",
        "chat/turnCancelled",
        "chat/error",
        "chat/truncated",
    }
)
#: Parts that may be asked in.
_ASKING: Final = frozenset({"toolCall", "inputRequest"})

_CONFIRMATION: Final = frozenset({"pending-confirmation", "pending-result-confirmation"})
_CALL_KINDS: Final = ("toolConfirmation", "toolClientExecution", "toolAuthentication")


class Blockers:
    """The entries of one session, as they were last said.

    `say` says an action on the session's channel. `state` is the session's (schema:
    SessionState), for the entries it has already.
    """

    __slots__ = ("_entries", "_say")

    def __init__(self, say: Callable[[Action], None], state: State) -> None:
        self._say = say
        self._entries: dict[str, dict[str, State]] = {}
        for entry in state.get("inputNeeded") or ():
            self._entries.setdefault(entry["chat"], {})[entry["id"]] = entry

    def moved(self, chat: str, state: State, action: Action, clients: Collection[str]) -> None:
        """`action` was applied on `chat`, whose state is `state` now.

        `clients` are the ids of the session's active clients.
        """
        kind = action["type"]
        turn = state.get("activeTurn")
        if kind in _OF_A_CALL:
            call_id = action["toolCallId"]
            call = call_in(turn, call_id)
            found = None if turn is None else call_entry(chat, turn["id"], call, clients)
            turn_id = action["turnId"] if turn is None else turn["id"]
            for other in _CALL_KINDS:
                self._keep(chat, f"{other}:{chat}:{turn_id}:{call_id}", found)
        elif kind in _OF_A_QUESTION:
            self._refresh_question(chat, turn, action["requestId"])
        elif kind == "chat/inputRequested":
            self._refresh_question(chat, turn, action["request"]["id"])
        elif kind in _OF_A_TURN or (
            kind == "chat/responsePart" and action["part"].get("kind") in _ASKING
        ):
            self._refresh(chat, turn, clients)

    def joined(self, chat: str, state: State, clients: Collection[str]) -> None:
        """A chat of this state moved in: what it waits for is the session's from now on."""
        self._refresh(chat, state.get("activeTurn"), clients)

    def drop(self, chat: str) -> None:
        """The chat is gone from the session: nothing of it is waited for any more."""
        for identifier in tuple(self._entries.get(chat, ())):
            self._keep(chat, identifier, None)

    def _refresh_question(self, chat: str, turn: State | None, request_id: str) -> None:
        entry = question_entry(chat, open_question_in(turn, request_id))
        self._keep(chat, question_id(chat, request_id), entry)

    def _refresh(self, chat: str, turn: State | None, clients: Collection[str]) -> None:
        found = {entry["id"]: entry for entry in entries_of(chat, turn, clients)}
        for identifier in tuple(self._entries.get(chat, ())):
            if identifier not in found:
                self._keep(chat, identifier, None)
        for identifier, entry in found.items():
            self._keep(chat, identifier, entry)

    def _keep(self, chat: str, identifier: str, found: State | None) -> None:
        """Hold the entry of this id as `found`, which may be another one's, and say what moved."""
        held = self._entries.get(chat)
        before = None if held is None else held.get(identifier)
        if found is not None and found["id"] != identifier:
            found = None
        if before == found:
            return
        if found is not None:
            self._entries.setdefault(chat, {})[identifier] = found
            self._say({"type": "session/inputNeededSet", "request": found})
            return
        if held is not None:
            del held[identifier]
            if not held:
                del self._entries[chat]
        self._say({"type": "session/inputNeededRemoved", "id": identifier})


def entries_of(chat: str, turn: State | None, clients: Collection[str]) -> list[State]:
    """Everything the running turn of `chat` waits on a person or a client for, in its order.

    Of parts with one id the newest counts, as it does to the reducers.
    """
    if turn is None:
        return []
    found: dict[str, State] = {}
    calls: set[str] = set()
    for part in reversed(turn["responseParts"]):
        kind = part["kind"]
        entry = None
        if kind == "toolCall" and part["toolCall"]["toolCallId"] not in calls:
            calls.add(part["toolCall"]["toolCallId"])
            entry = call_entry(chat, turn["id"], part["toolCall"], clients)
        elif kind == "inputRequest":
            entry = question_entry(chat, part)
        if entry is not None:
            found.setdefault(entry["id"], entry)
    return list(reversed(found.values()))


def question_id(chat: str, request_id: str) -> str:
    """The id of the entry of a question."""
    return f"chatInput:{chat}:{request_id}"


def question_entry(chat: str, part: State | None) -> State | None:
    """The entry of a question's part (schema: SessionChatInputRequest); None once it is closed."""
    if part is None or not is_open(part):
        return None
    request = part["request"]
    return {
        "id": question_id(chat, request["id"]),
        "chat": chat,
        "kind": "chatInput",
        "request": request,
    }


def call_entry(
    chat: str, turn_id: str, call: State | None, clients: Collection[str]
) -> State | None:
    """The entry of a call that waits for somebody; None for one that does not."""
    if call is None:
        return None
    status = call["status"]
    client: str | None = None
    if status in _CONFIRMATION:
        if (call.get("_meta") or {}).get("autoApproveBySetting"):
            return None
        kind = "toolConfirmation"
    elif status == "auth-required":
        kind = "toolAuthentication"
    else:
        contributor = call.get("contributor") or {}
        client = contributor.get("clientId")
        if status != "running" or contributor.get("kind") != "client" or client not in clients:
            return None
        kind = "toolClientExecution"
    entry: State = {
        "id": f"{kind}:{chat}:{turn_id}:{call['toolCallId']}",
        "chat": chat,
        "kind": kind,
        "turnId": turn_id,
        "toolCall": call,
    }
    if client is not None:
        entry["clientId"] = client
    return entry
