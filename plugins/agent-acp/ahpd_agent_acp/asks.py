"""What an ACP agent asks of its client, answered through this host's ports.

Only what is there is advertised: an agent is never told this host can do something it
cannot. Files and terminals are the session's; a question is the running turn's, and is
answered at once where there is none. Source: PLUGINS.txt, "What the server may ask the host
for".
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from twisted.internet.defer import CancelledError, succeed

from ahpd.interfaces import IHostTerminals, InputAnswer, IResources
from ahpd.protocol import State
from ahpd_agent_acp.asks_files import read_text_file, reads_missing_as_empty, write_text_file
from ahpd_agent_acp.asks_terminals import AgentTerminals
from ahpd_agent_acp.connection import METHOD_NOT_FOUND, RequestError
from ahpd_agent_acp.content import object_in, objects_in, text_in
from ahpd_agent_acp.elicitation import META, content_of, questions_of
from ahpd_agent_acp.params import invalid, shown, text_param
from ahpd_agent_acp.permissions import CANCELLED, SWITCH_MODE, outcome
from ahpd_agent_acp.standing import Standing
from ahpd_agent_acp.updates import TurnUpdates

#: Says that a page it had a person open is done with (a notification).
ELICITATION_COMPLETE: Final = "elicitation/complete"

_Answer = Callable[[Mapping[str, Any], TurnUpdates | None], Awaitable[Any]]


class ClientRequests:
    """Answers one session's agent.

    `session` and `chat` are whose its terminals are; `directory` is the session's folder, a
    path. `session_id` is the agent's own id of the session, to be set once it has one: what
    names another is refused. A port that is None is not advertised.
    """

    def __init__(
        self,
        *,
        resources: IResources | None,
        terminals: IHostTerminals | None,
        ids: Callable[[], str],
        session: str,
        chat: str,
        directory: str | None,
        session_id: str | None = None,
    ) -> None:
        self.session_id = session_id
        self._missing_is_empty = False
        self._session = session
        self._chat = chat
        self._standing = Standing()
        #: Pages a person was sent to, by the agent's id: their turn, and their question.
        self._pages: dict[str, tuple[TurnUpdates, str]] = {}
        self._terminals = None if terminals is None else AgentTerminals(terminals, ids, directory)
        self._resources = resources
        self._methods: dict[str, _Answer] = {
            "session/request_permission": self._permission,
            "elicitation/create": self._elicitation,
            **self._of_files(),
            **self._of_terminals(),
        }

    def _of_files(self) -> dict[str, _Answer]:
        resources = self._resources
        if resources is None:
            return {}
        return {
            "fs/read_text_file": lambda params, _: read_text_file(
                resources, params, self._missing_is_empty
            ),
            "fs/write_text_file": lambda params, _: write_text_file(resources, params),
        }

    def _of_terminals(self) -> dict[str, _Answer]:
        held = self._terminals
        if held is None:
            return {}
        return {
            "terminal/create": lambda params, turn: held.create(params, self._claim(turn)),
            "terminal/output": lambda params, _: held.output(params),
            "terminal/wait_for_exit": lambda params, _: held.wait_for_exit(params),
            "terminal/kill": lambda params, _: held.kill(params),
            "terminal/release": lambda params, _: held.release(params),
        }

    def capabilities(self) -> State:
        """What of it is there (ACP: ClientCapabilities)."""
        files = self._resources is not None
        return {
            "fs": {"readTextFile": files, "writeTextFile": files},
            "terminal": self._terminals is not None,
            "elicitation": {"form": {}, "url": {}},
        }

    def met(self, agent: str) -> None:
        """The name the agent gave itself in the handshake: one or two are answered their way."""
        self._missing_is_empty = reads_missing_as_empty(agent)

    # -- what the agent asks ---------------------------------------------------------------

    async def answer(self, method: str, params: Mapping[str, Any], turn: TurnUpdates | None) -> Any:
        """Answer a request; `turn` is the one that runs. Raises `RequestError`.

        -32601 for what is not served, -32602 for params that cannot be acted on.
        """
        answer = self._methods.get(method)
        if answer is None:
            raise RequestError(METHOD_NOT_FOUND, f"Method not found: {method[:100]}")
        self._check_session(method, params)
        running = None if turn is None or turn.is_over else turn
        return await answer(params, running)

    def _check_session(self, method: str, params: Mapping[str, Any]) -> None:
        named = params.get("sessionId")
        if named is None and method == "elicitation/create" and "requestId" in params:
            return  # asked about a request rather than in a session
        if not isinstance(named, str) or (self.session_id is not None and named != self.session_id):
            raise invalid(f"params.sessionId: {shown(named)} is not this session")

    def told(self, method: str, params: Mapping[str, Any]) -> bool:
        """Hear a notification; False for one that is not about what was asked here."""
        if method != ELICITATION_COMPLETE:
            return False
        page = self._pages.pop(text_in(params, "elicitationId") or "", None)
        if page is not None:
            turn, question = page
            turn.close_question(question, "accept")
            self._standing.give(question, InputAnswer(response="accept", answers={}))
        return True

    def turn_over(self, turn: TurnUpdates | None = None) -> None:
        """The turn is over, or is being stopped: nobody answers its questions any more.

        A permission is answered `cancelled` and an elicitation `cancel`, now and, with `turn`,
        for whatever it still asks.
        """
        if turn is not None:
            turn.over()
        self._standing.turn_over()
        self._pages.clear()

    def close(self) -> Awaitable[None]:
        """The session is over: its questions are answered and its terminals released.

        Done when this is called but for the programs, which are gone when it returns.
        """
        self.turn_over()
        return succeed(None) if self._terminals is None else self._terminals.close()

    # -- terminals ------------------------------------------------------------------------

    def _claim(self, turn: TurnUpdates | None) -> State:
        """Whose a terminal is (schema: TerminalClaim)."""
        claim = {"kind": "session", "session": self._session, "chat": self._chat}
        return claim if turn is None else {**claim, "turnId": turn.turn_id}

    def shown_terminal(self, terminal_id: str, final: bool) -> State | None:
        """How a call shows a terminal (`ahpd_agent_acp.call.ShownTerminal`)."""
        return None if self._terminals is None else self._terminals.shown(terminal_id, final)

    # -- permissions ----------------------------------------------------------------------

    async def _permission(self, params: Mapping[str, Any], turn: TurnUpdates | None) -> State:
        """`session/request_permission`: what was decided, for this once."""
        options = objects_in(params, "options")
        tool_call = params.get("toolCall")
        if not isinstance(tool_call, Mapping):
            raise invalid("params.toolCall: expected an object")
        text_param(tool_call, "toolCallId", "params.toolCall")
        if turn is None:
            return CANCELLED
        call = turn.ask(tool_call, options)
        assert call is not None, "it names a call"
        try:
            answer = await self._standing.answer(object(), turn.output.confirmed(call.id))
        except CancelledError:
            turn.answered(call, None)
            raise
        turn.answered(call, answer)
        if answer is None:
            return CANCELLED
        return outcome(answer, options, call.kind == SWITCH_MODE)

    # -- questions ------------------------------------------------------------------------

    async def _elicitation(self, params: Mapping[str, Any], turn: TurnUpdates | None) -> State:
        """`elicitation/create`: what a person filled in, or that they did not."""
        schema = object_in(params, "requestedSchema")
        mode = text_in(params, "mode") or "form"
        request: State = {"_meta": dict(META)}
        message = text_in(params, "message")
        if message is not None:
            request["message"] = message
        if mode == "form":
            questions = questions_of(schema)
            if questions:
                request["questions"] = questions
        elif mode == "url":
            request["url"] = text_param(params, "url")
            text_param(params, "elicitationId")
        else:
            raise invalid(f"params.mode: found {shown(mode)}, expected form or url")
        if turn is None:
            return {"action": "cancel"}
        return await self._ask(turn, request, params)

    async def _ask(self, turn: TurnUpdates, request: State, params: Mapping[str, Any]) -> State:
        question = turn.question(request)
        page = text_in(params, "elicitationId") if "url" in request else None
        if page is not None:
            self._pages[page] = turn, question
        try:
            answer = await self._standing.answer(question, turn.output.answered(question))
        except CancelledError:
            turn.close_question(question, "cancel")
            raise
        finally:
            if page is not None:
                self._pages.pop(page, None)
        if answer is None:
            turn.close_question(question, "cancel")
            return {"action": "cancel"}
        if answer.response != "accept" or page is not None:
            return {"action": answer.response}
        content = content_of(object_in(params, "requestedSchema"), answer.answers)
        return {"action": "accept", "content": content}
