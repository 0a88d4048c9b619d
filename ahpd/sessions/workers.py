"""Worker chats: the conversations an agent's tool calls spawn (CHATS.txt, "Subagents").

A worker is a chat of its session that people watch. It runs on the backend of the chat
whose call spawned it: its turn is told by that backend (`IWorkerOutput`), and a stop of it
goes there. Its origin names the call, and the call's content names the chat.
"""

import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Final, cast

import attrs
from zope.interface import implementer

from ahpd.chats.admission import interrupted
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.parts import call_in
from ahpd.chats.turn import Turn
from ahpd.interfaces import (
    AgentFailure,
    IDelegatingChat,
    InputAnswer,
    IWorkerOutput,
    Permission,
    StoreFailure,
    ToolAnswer,
    TurnOver,
)
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain
from ahpd.protocol.uris import opaque_chat, session_of_chat, worker_chat
from ahpd.sessions.creation import new_chat_state
from ahpd.sessions.movable import is_worker
from ahpd.sessions.session import Session

#: Which URIs are made of a conversation's root chat and one of its calls.
_NAMESPACE: Final = uuid.UUID("6f4c1f0e-3b0a-5d57-9a57-9d9c9d0f6b1e")

#: What tells a client which chat it draws under a call, and the kind of call that has one.
CHAT_KEY: Final = "subagentChatUri"
_KIND: Final = ("toolKind", "subagent")
#: What is said of a call before it has content; the rest says its content.
_STAMPED: Final = frozenset({"chat/toolCallStart", "chat/toolCallDelta", "chat/toolCallReady"})
#: What may let a call run.
_LETS_RUN: Final = frozenset({"chat/toolCallReady", "chat/toolCallConfirmed"})


@attrs.frozen(eq=False, repr=False)
class _Running:
    """A worker whose turn runs, and the turn whose call spawned it."""

    worker: Chat
    turn: Turn
    parent: str
    parent_turn: str


class Workers:
    """The workers of a host. `add` holds a new chat of a session and says its row."""

    def __init__(self, world: Surroundings, add: Callable[[Session, State], Chat]) -> None:
        self._world = world
        self._add = add
        self._running: dict[str, _Running] = {}

    # -- opening ----------------------------------------------------------------------

    def open(
        self,
        session: Session,
        parent: str,
        parent_turn: str,
        call_id: str,
        message: Mapping[str, Any],
        title: str,
    ) -> IWorkerOutput:
        """See `ChatOwner.open_worker`."""
        held = session.chats.get(parent)
        if held is None or held.closed:
            raise TurnOver
        uri = uri_of(session, parent, call_id)
        worker = session.chats.get(uri)
        if worker is None:
            if self._world.store.is_open(uri):
                raise AgentFailure(f"A chat that is no worker is called so already: {uri}")
            try:
                worker = self._add(session, self._state(held, uri, call_id, title))
            except StoreFailure as failed:
                raise AgentFailure(f"A worker cannot be opened: {failed}") from None
        else:
            self._finish(uri)
        self._begin(worker, parent, parent_turn, message)
        self._link(held, call_id, worker)
        return WorkerOutput(worker, self._running[uri].turn, self._done)

    def _state(self, parent: Chat, uri: str, call_id: str, title: str) -> State:
        directories = parent.state.get("workingDirectories")
        state = new_chat_state(self._world, uri, title.strip(), directories, read=True)
        state["origin"] = {"kind": "tool", "chat": parent.uri, "toolCallId": call_id}
        state["interactivity"] = "read-only"
        return state

    def _begin(
        self, worker: Chat, parent: str, parent_turn: str, message: Mapping[str, Any]
    ) -> None:
        action: Action = {
            "type": "chat/turnStarted",
            "turnId": self._world.ids(),
            "startedAt": self._world.stamp(),
            "message": {"origin": {"kind": "agent"}, **message},
        }
        turn = worker.begin_turn(action, elsewhere=partial(self._stopped, worker))
        self._running[worker.uri] = _Running(worker, turn, parent, parent_turn)

    def _link(self, parent: Chat, call_id: str, worker: Chat) -> None:
        """Have the call that spawned a worker name it, once the call runs."""
        active = parent.state.get("activeTurn")
        call = call_in(active, call_id)
        if active is None or call is None or call["status"] != "running":
            return
        content = _with_link(call.get("content") or (), worker)
        if content is not None:
            parent.say(
                {
                    "type": "chat/toolCallContentChanged",
                    "turnId": active["id"],
                    "toolCallId": call_id,
                    "content": plain(content),
                }
            )

    # -- what is said of a call that has one --------------------------------------------

    def linked(self, session: Session, chat: str, action: Action) -> Action:
        """What is said for a backend's action about a call: naming the chat it spawned.

        A start, a piece of input and a question of a call of the kind that spawns a worker
        name it beforehand (AHP.txt, `chat/toolCallStart`).
        """
        if action["type"] in _STAMPED:
            meta = action.get("_meta")
            key, kind = _KIND
            if not isinstance(meta, dict) or meta.get(key) != kind:
                return action
            uri = uri_of(session, chat, action["toolCallId"])
            return {**action, "_meta": {**meta, CHAT_KEY: uri}}
        worker = self._worker_of(session, chat, action["toolCallId"])
        if worker is None:
            return action
        holder = action if "content" in action else action.get("result") or {}
        content = _with_link(holder.get("content") or (), worker)
        if content is None:
            return action
        if holder is action:
            return {**action, "content": content}
        return {**action, "result": {**holder, "content": content}}

    def moved(self, session: Session, chat: Chat, action: Action) -> None:
        """`action` was applied on `chat`: what follows from it for the workers of its calls.

        A call that runs from now on names its worker. A turn that failed takes its workers
        along but for those its backend says run on behind it; nobody would end them.
        """
        kind = action["type"]
        if kind == "chat/error" and self._running:
            behind = {work.get("chat") for work in chat.state.get("backgroundWork") or ()}
            self.over(chat.uri, action["turnId"], but=behind)
        elif kind in _LETS_RUN:
            worker = self._worker_of(session, chat.uri, action["toolCallId"])
            if worker is not None:
                self._link(chat, action["toolCallId"], worker)

    def _worker_of(self, session: Session, chat: str, call_id: str) -> Chat | None:
        if len(session.chats) < 2:
            return None
        return session.chats.get(uri_of(session, chat, call_id))

    # -- ends -----------------------------------------------------------------------------

    def busy(self, chat: str) -> bool:
        """Whether a worker a call of `chat` spawned runs."""
        return any(running.parent == chat for running in self._running.values())

    def over(
        self, chat: str, turn_id: str | None = None, but: Collection[str] = frozenset()
    ) -> None:
        """The backend of `chat` let go of a turn, or of everything: its workers end with it.

        All `but` the worker chats of these URIs.
        """
        for uri, running in list(self._running.items()):
            of_turn = turn_id is None or turn_id == running.parent_turn
            if running.parent != chat or not of_turn or uri in but:
                continue
            if self._running.pop(uri, None) is None:
                continue
            worker = running.worker
            if worker.owner.closing:
                worker.fail(running.turn, interrupted(resumable=False))
            else:
                worker.cancel()
            running.turn.output.let_go()
            self.over(uri)

    def _stopped(self, worker: Chat) -> None:
        """Somebody stopped a worker: tell the backend that runs it."""
        running = self._running.pop(worker.uri, None)
        if running is None:
            return  # it ended with what spawned it
        session = cast("Session", worker.owner)
        conversation = root_of(session, worker.uri).conversation
        backend = conversation.backend
        if backend is not None and conversation.agent.abilities.workers:
            call_id = worker.state["origin"]["toolCallId"]
            self._world.tasks.spawn(
                f"stopping worker {worker.uri}",
                _stop(cast("IDelegatingChat", backend), call_id),
            )
        running.turn.output.let_go()
        self.over(worker.uri)

    def _finish(self, uri: str) -> None:
        """A worker gets another turn: the one it had, if it still runs, is complete."""
        running = self._running.get(uri)
        if running is not None:
            running.worker.complete(running.turn)
            self._done(uri, running.turn)

    def _done(self, uri: str, turn: Turn) -> None:
        """The worker's own end was said. What its calls spawned may run on."""
        running = self._running.get(uri)
        if running is not None and running.turn is turn:
            del self._running[uri]
        turn.output.let_go()


@implementer(IWorkerOutput)
class WorkerOutput:
    """The output of a worker's turn, which its backend ends itself. `done` is told it did."""

    __slots__ = ("_chat", "_done", "_output", "_turn", "chat", "turn_id")

    def __init__(self, chat: Chat, turn: Turn, done: Callable[[str, Turn], None]) -> None:
        self.chat = chat.uri
        self.turn_id = turn.turn_id
        self._chat = chat
        self._turn = turn
        self._output = turn.output
        self._done = done

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """See `ITurnOutput.emit`."""
        self._output.emit(action, permission)

    async def drained(self) -> None:
        """See `ITurnOutput.drained`."""
        await self._output.drained()

    async def confirmed(self, tool_call_id: str) -> ToolAnswer:
        """See `ITurnOutput.confirmed`."""
        return await self._output.confirmed(tool_call_id)

    async def result_confirmed(self, tool_call_id: str) -> ToolAnswer:
        """See `ITurnOutput.result_confirmed`."""
        return await self._output.result_confirmed(tool_call_id)

    async def client_result(self, tool_call_id: str) -> Mapping[str, Any]:
        """See `ITurnOutput.client_result`."""
        return await self._output.client_result(tool_call_id)

    async def answered(self, request_id: str) -> InputAnswer:
        """See `ITurnOutput.answered`."""
        return await self._output.answered(request_id)

    def ended_at(self, point: str) -> None:
        """See `ITurnOutput.ended_at`: a worker's conversation is no point to go on from."""

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> IWorkerOutput:
        """See `ITurnOutput.worker`."""
        return self._output.worker(tool_call_id, message, title)

    def complete(self) -> None:
        """See `IWorkerOutput.complete`."""
        self._chat.complete(self._turn)
        self._done(self.chat, self._turn)

    def fail(self, message: str, error_type: str = "agentError") -> None:
        """See `IWorkerOutput.fail`."""
        self._chat.fail(self._turn, TurnFailure(error_type, message))
        self._done(self.chat, self._turn)


def uri_of(session: Session, chat: str, call_id: str) -> str:
    """The URI of the worker a call of `chat` spawns, whether there is one so far or not.

    In a session whose default chat names the session the worker's does too; in any other it
    is made of the conversation's root chat and the call, and says nothing.
    """
    if session_of_chat(session.default_chat) is not None:
        return worker_chat(session.uri, call_id)
    root = root_of(session, chat).uri if chat in session.chats else chat
    return opaque_chat(str(uuid.uuid5(_NAMESPACE, f"{root}\n{call_id}")))


def root_of(session: Session, chat: str) -> Chat:
    """The chat on whose backend `chat`, a worker or not, runs."""
    held = session.chats[chat]
    while is_worker(held.state):
        above = session.chats.get(held.state["origin"]["chat"])
        if above is None:
            break
        held = above
    return held


def _with_link(content: Any, worker: Chat) -> list[State] | None:
    """A call's content with the worker it spawned named in it; None where it is."""
    for block in content:
        if block.get("type") == "subagent" and block.get("resource") == worker.uri:
            return None
    link = {"type": "subagent", "resource": worker.uri, "title": worker.state["title"]}
    return [*content, link]


async def _stop(backend: IDelegatingChat, call_id: str) -> None:
    await backend.stop_worker(call_id)
