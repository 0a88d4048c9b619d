"""One turn of an ACP agent, said as AHP: every `session/update` in, chat actions out.

Text streams into the part that is open, in constant time; a call, a question or text of
another kind closes it. What cannot be read costs itself alone, and what is of no known kind
is counted. Source: agentclientprotocol.com, "Prompt Turn"; AHP.txt, "Turns" and "Tool calls".
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import ITurnOutput, ToolAnswer
from ahpd.protocol import State
from ahpd_agent_acp.call import Call, ShownTerminal, no_terminals
from ahpd_agent_acp.calls import Calls
from ahpd_agent_acp.content import markdown_of, object_in, part_of, text_in
from ahpd_agent_acp.news import SessionNews, tell
from ahpd_agent_acp.plans import TITLE, TOOL, ShownPlan, plan_of
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.usage import context_of, used_of

log = Logger()

_CHUNKS: Final = {"agent_message_chunk": "markdown", "agent_thought_chunk": "reasoning"}
_DELTAS: Final = {"markdown": "chat/delta", "reasoning": "chat/reasoning"}
_CALLS: Final = frozenset({"tool_call", "tool_call_update"})
_PLANS: Final = frozenset({"plan", "plan_update"})
#: Known, and nothing to say: a person's own words come back, and a plan that is taken away stays
#: in the transcript.
_SILENT: Final = frozenset({"user_message_chunk", "plan_removed"})

#: Kinds that are counted one by one; more are counted together.
_MOST_KINDS: Final = 50
_OTHERS: Final = "(others)"


class TurnUpdates:
    """What one turn of an agent says, from its first update to its end.

    `names` are the tools the agent was offered; `terminals` shows those it opened through
    this host; `news` hears what is said of the session. Paths the agent names are relative
    to `directory`. `first` is the number of the first part, for a turn that is run again.
    """

    def __init__(
        self,
        output: ITurnOutput,
        *,
        names: ToolNames | None = None,
        terminals: ShownTerminal = no_terminals,
        news: SessionNews | None = None,
        directory: str = "/",
        first: int = 1,
    ) -> None:
        self.output = output
        self.turn_id: str = output.turn_id
        #: Whether the turn is over: what an agent says of it from then on is ignored.
        self.is_over = False
        #: How the agent ended it (ACP: StopReason); None before.
        self.stop_reason: str | None = None
        #: What was of no known kind, or could not be read, by its kind.
        self.ignored: Counter[str] = Counter()
        self._names = ToolNames() if names is None else names
        self._news = news
        self._next = first
        self._open: tuple[str, str, str | None] | None = None
        self._plan: ShownPlan | None = None
        self._usage: State = {}
        self._calls = Calls(
            output, self.new_id, self._close_part, self._names, terminals, directory
        )

    # -- what the agent says -----------------------------------------------------------------

    def update(self, update: Mapping[str, Any]) -> None:
        """One `session/update`: its `update` object."""
        kind = text_in(update, "sessionUpdate") or "(none)"
        part = _CHUNKS.get(kind)
        if part is not None:  # nearly all of them are
            if not self.is_over:
                self._chunk(part, update)
            return
        if tell(update, self._news) or self.is_over:
            return
        if kind in _CALLS:
            if not self._calls.update(update):
                self._ignore(kind)
        elif kind in _PLANS:
            self._show_plan(update)
        elif kind == "usage_update":
            self._use(context_of(update))
        elif kind == "notice":
            self._notice(update)
        elif kind not in _SILENT:
            self._ignore(kind)

    def finished(self, stop_reason: str | None, usage: Any = None) -> None:
        """The agent ended the turn: how, and what it used (ACP: PromptResponse).

        A call that is not over is left to the host, which calls it off.
        """
        if self.is_over:
            return
        if isinstance(usage, Mapping):
            self._use(used_of(usage))
        self.stop_reason = stop_reason
        self.over()

    def over(self) -> None:
        """Nothing more is said in this turn; again is no error."""
        self._close_part()
        self.is_over = True

    def _ignore(self, kind: str) -> None:
        kind = kind[:100]
        if kind not in self.ignored:
            if len(self.ignored) >= _MOST_KINDS:
                kind = _OTHERS
            else:
                log.debug("an update of the kind {kind} says nothing here", kind=kind)
        self.ignored[kind] += 1

    # -- text ------------------------------------------------------------------------------------

    def _chunk(self, part: str, update: Mapping[str, Any]) -> None:
        block = object_in(update, "content")
        text = markdown_of(block)
        if text:
            self._append(part, text, text_in(update, "messageId"))
            return
        shown = part_of(block) if part == "markdown" else None
        if shown is not None:
            self._part(shown)

    def _append(self, part: str, text: str, message: str | None) -> None:
        """Add text to the open part, or open one where that is another part or another message."""
        if self._open is not None:
            kind, identifier, of = self._open
            if kind == part and (message is None or of is None or message == of):
                self._say(_DELTAS[part], partId=identifier, content=text)
                return
        identifier = self.new_id()
        self._part({"kind": part, "id": identifier, "content": text})
        self._open = part, identifier, message

    def _part(self, part: State) -> None:
        self._close_part()
        self._say("chat/responsePart", part=part)

    def _close_part(self) -> None:
        self._open = None

    def _notice(self, update: Mapping[str, Any]) -> None:
        words = [text_in(update, key) for key in ("title", "description")]
        content = ": ".join(word for word in words if word)
        if content:
            self._part({"kind": "systemNotification", "content": content})
        else:
            self._ignore("notice")

    # -- the rest of what a turn shows ------------------------------------------------------------

    def _show_plan(self, update: Mapping[str, Any]) -> None:
        plan = plan_of(update)
        if plan is None or plan == self._plan:
            return
        self._plan = plan
        self._close_part()
        call = {"toolCallId": self.new_id()}
        self._say("chat/toolCallStart", toolName=TOOL, displayName=TITLE, **call)
        self._say(
            "chat/toolCallReady", invocationMessage=plan.words, confirmed="not-needed", **call
        )
        self._say("chat/toolCallComplete", result=plan.result(), **call)

    def _use(self, used: State) -> None:
        """Say what the turn used by now, with what was said of it before."""
        meta = {**self._usage.get("_meta", {}), **used.get("_meta", {})}
        usage = {**self._usage, **used, **({"_meta": meta} if meta else {})}
        if usage != self._usage:
            self._usage = usage
            self._say("chat/usage", usage=usage)

    def _say(self, kind: str, **fields: Any) -> None:
        self.output.emit({"type": kind, "turnId": self.turn_id, **fields})

    def new_id(self) -> str:
        """An id for a part, a call or a question of this turn: `<turn>:<n>`."""
        number, self._next = self._next, self._next + 1
        return f"{self.turn_id}:{number}"

    # -- what the agent asks in the turn -----------------------------------------------------------

    def ask(
        self, tool_call: Mapping[str, Any], options: Sequence[Mapping[str, Any]]
    ) -> Call | None:
        """Ask whether a call may run; see `Calls.ask`. `answered` says what was decided."""
        return self._calls.ask(tool_call, options)

    def answered(self, call: Call, answer: ToolAnswer | None) -> None:
        """See `Calls.answered`."""
        self._calls.answered(call, answer)

    def question(self, request: State) -> str:
        """Put a question (schema: ChatInputRequest, but for its id); its id."""
        self._close_part()
        identifier = self.new_id()
        self.output.emit({"type": "chat/inputRequested", "request": {"id": identifier, **request}})
        return identifier

    def close_question(self, identifier: str, response: str) -> None:
        """A question was answered elsewhere, or is asked no more."""
        self.output.emit(
            {"type": "chat/inputCompleted", "requestId": identifier, "response": response}
        )

    # -- calls that clients run -----------------------------------------------------------------

    def claim_client_call(
        self, client_id: str, name: str, arguments: Mapping[str, Any]
    ) -> str | None:
        """The id of the reported call that a request through the tools' endpoint is of.

        None where no reported call matches. `name` is as the client announced it. Its client
        has been asked to run it when this returns: await `output.client_result` of the id.
        """
        return self._calls.clients.claim(client_id, name, arguments)

    def hold_client_call(self, client_id: str, name: str, arguments: Mapping[str, Any]) -> str:
        """Begin a row of its own for a request that no reported call matched; its id.

        A report that comes later and matches is this row's.
        """
        tool = self._names.of_client(client_id, name)
        return self._calls.clients.hold(tool, arguments)
