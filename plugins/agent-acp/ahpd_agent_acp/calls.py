"""The tool calls of one turn: from what an agent reports to what is said, each step once.

A call moves when the agent moves it. One it still holds is pending, and nothing is said
about who approves it until it starts. Once a question is standing, that is the call's
readiness: what the agent reports meanwhile is kept, and said once it was answered.
Source: PLUGINS.txt, "What the server may ask the host for".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import ITurnOutput, Permission, ToolAnswer
from ahpd.protocol import State
from ahpd_agent_acp.call import Call, ShownTerminal, Stage
from ahpd_agent_acp.client_calls import ClientCalls
from ahpd_agent_acp.content import text_in
from ahpd_agent_acp.permissions import SWITCH_MODE, offered, permission_of
from ahpd_agent_acp.tool_names import ToolNames

_ENDED: Final = frozenset({"completed", "failed"})


class Calls:
    """What is known of a turn's calls, by the agent's ids.

    `new_id` makes ids for calls of this side's own. `before_start` is called ahead of a call
    that begins: what was being written is over then.
    """

    def __init__(
        self,
        output: ITurnOutput,
        new_id: Callable[[], str],
        before_start: Callable[[], None],
        names: ToolNames,
        terminals: ShownTerminal,
        directory: str,
    ) -> None:
        self._output = output
        self._new_id = new_id
        self._before_start = before_start
        self._names = names
        self._terminals = terminals
        self._directory = directory
        self._calls: dict[str, Call] = {}
        #: The calls that clients run.
        self.clients = ClientCalls(self, new_id)

    # -- what the agent reports -----------------------------------------------------------

    def update(self, update: Mapping[str, Any]) -> bool:
        """A `tool_call` or a `tool_call_update`; False for one that names no call."""
        identifier = text_in(update, "toolCallId")
        if identifier is None:
            return False
        call = self._found(identifier, update)
        if call.stage is not Stage.OVER:
            self._advance(call, text_in(update, "status"))
        return True

    def _found(self, identifier: str, update: Mapping[str, Any], again: bool = False) -> Call:
        """The call an update is about, with what it says kept; begun where it is new.

        With `again` one that is over is begun anew, under an id of its own.
        """
        call = self._calls.get(identifier)
        if call is None:
            call = self.clients.reported(self._names.of(update), update.get("rawInput"))
            if call is not None:  # it came through the endpoint before it was reported
                self._calls[identifier] = call
        if call is not None and not (again and call.stage is Stage.OVER):
            if call.stage is not Stage.OVER:
                call.take(update)
            return call
        if call is None:
            begun = Call(identifier, self._names.of(update))
        else:
            begun = call.again(self._new_id())
        begun.take(update)
        self._calls[identifier] = begun
        self.clients.begun(begun)
        self.start(begun)
        return begun

    def _advance(self, call: Call, status: Any) -> None:
        """Say what follows from the call's fields and from its status, where that moved on."""
        if call.stage is Stage.ASKING:
            if status in _ENDED:
                call.held = status
            elif call.asked_input() != call.said_input:
                self._ask(call)
        elif call.stage is Stage.REFUSED:
            if status in _ENDED:
                self._complete(call, status == "completed")
        elif call.tool.client is not None and self.clients.holds(call, status):
            return
        elif status in _ENDED:
            self._complete(call, status == "completed")
        elif call.stage is Stage.RUNNING:
            self._refresh(call)
        elif status == "in_progress":
            self.ready(call)
        elif call.stage is Stage.STREAMING and call.words != call.said_title:
            call.said_title = call.words
            self.say("chat/toolCallDelta", call, invocationMessage=call.words)

    # -- what is said -----------------------------------------------------------------------

    def say(
        self, kind: str, call: Call, permission: Permission | None = None, **fields: Any
    ) -> None:
        """Say one step of a call."""
        self._output.emit(
            {"type": kind, "turnId": self._output.turn_id, "toolCallId": call.id, **fields},
            permission,
        )

    def start(self, call: Call) -> None:
        """Begin a call."""
        self._before_start()
        call.said_title = call.words
        fields: State = {
            "toolName": call.tool.name,
            "displayName": call.tool.display or call.words,
        }
        if call.tool.client is not None:
            fields["contributor"] = {"kind": "client", "clientId": call.tool.client}
        self.say("chat/toolCallStart", call, **fields, **self._meta(call))

    def _meta(self, call: Call) -> State:
        """What a client draws the call by, where it was not said yet."""
        kind = call.tool_kind
        if kind == call.said_kind or kind is None:
            return {}
        call.said_kind = kind
        return {"_meta": {"toolKind": kind}}

    def _readied(self, call: Call, tool_input: str | None) -> State:
        """What every `chat/toolCallReady` says."""
        call.said_title, call.said_input = call.words, tool_input
        call.unsay_content()
        fields: State = {"invocationMessage": call.words, **self._meta(call)}
        if tool_input is not None:
            fields["toolInput"] = tool_input
        return fields

    def ready(self, call: Call) -> None:
        """The call runs, and nobody is asked."""
        self._run(call)
        self._show_content(call)

    def _run(self, call: Call) -> None:
        call.stage = Stage.RUNNING
        fields = self._readied(call, call.input())
        self.say("chat/toolCallReady", call, confirmed=call.confirmed or "not-needed", **fields)

    def _refresh(self, call: Call) -> None:
        """Say what moved of a call that runs.

        A client takes the call's words and input with its readiness alone, which takes its
        content away again. Of one that a person allowed only an input is said that they had
        not seen, and that they allowed it.
        """
        now = call.input()
        late = now is not None and call.said_input is None
        moved = call.words != call.said_title or now != call.said_input
        if late or (moved and call.confirmed is None):
            self._run(call)
        self._show_content(call)

    def _show_content(self, call: Call) -> None:
        content = call.converted(self._directory, self._terminals)
        if content is not None:
            self.say("chat/toolCallContentChanged", call, content=content)

    def _complete(self, call: Call, success: bool) -> None:
        if call.stage in (Stage.STREAMING, Stage.WITHDRAWN):
            self._run(call)
        call.stage = Stage.OVER
        result = call.result(self._directory, self._terminals, success)
        self.say("chat/toolCallComplete", call, result=result)

    # -- whether it may run -------------------------------------------------------------------

    def ask(self, update: Mapping[str, Any], options: Sequence[Mapping[str, Any]]) -> Call | None:
        """Ask about the call a permission is for (ACP: ToolCallUpdate); None where it names none.

        A person may pick of the agent's `options` (ACP: PermissionOption) for a mode switch;
        for any other the host puts its own. A call that was not reported begins here.
        """
        identifier = text_in(update, "toolCallId")
        if identifier is None:
            return None
        call = self._found(identifier, update, again=True)
        call.read_shown_input()
        self._ask(call, offered(options) if call.kind == SWITCH_MODE else ())
        return call

    def _ask(self, call: Call, options: Sequence[State] = ()) -> None:
        call.stage = Stage.ASKING
        fields = self._readied(call, call.asked_input())
        if options:
            fields["options"] = list(options)
        self.say(
            "chat/toolCallReady",
            call,
            permission_of(call, self._directory),
            confirmationTitle=call.words,
            **fields,
        )

    def answered(self, call: Call, answer: ToolAnswer | None) -> None:
        """What was decided; None where nobody is asked any more.

        A refusal by the host's own rules was said to nobody: the call ends as the agent says.
        """
        if call.stage is not Stage.ASKING:
            return
        held, call.held = call.held, None
        if answer is None:
            call.stage, call.confirmed = Stage.WITHDRAWN, None
        elif not answer.approved and answer.decision_source == "host_policy":
            call.stage = Stage.REFUSED
        elif answer.approved:
            call.stage, call.confirmed = Stage.RUNNING, answer.decided_by
            call.allowed = call.diffs
        else:
            call.stage = Stage.OVER
            return
        if held is not None:
            self._advance(call, held)
        elif call.stage is Stage.RUNNING:
            self._show_content(call)
