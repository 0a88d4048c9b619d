"""Turns that ask for what a backend may not have: models, attachments, the host's tools."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred

from ahpd.interfaces import HostTool, IAgent, ToolAnswer, ToolCallContext, ToolFailure
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import expect
from ahpd.testing.agent_contract.talking import (
    Running,
    Watched,
    check_goes_on,
    judge,
    open_chat,
    request,
)
from ahpd.testing.agents import RecordedHost, RecordedOutput

#: The tool of the host's that `AgentContract.host_tool` has called.
LOOK_UP: Final = {
    "name": "look_up",
    "title": "Look up",
    "description": "Looks something up.",
    "inputSchema": {"type": "object", "properties": {"what": {"type": "string"}}},
}
_PICTURE: Final = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def _attachments() -> list[dict[str, Any]]:
    text = base64.b64encode("so wäre es".encode()).decode()
    return [
        {"type": "simple", "label": "note", "modelRepresentation": "A note."},
        {"type": "simple", "label": "nothing"},
        {"type": "resource", "label": "this", "uri": Path(__file__).as_uri()},
        {
            "type": "resource",
            "label": "missing",
            "uri": "file:///no/such/file",
            "contentType": "a/b",
        },
        {"type": "resource", "label": "far", "uri": "https://example.invalid/page"},
        {"type": "embeddedResource", "label": "t", "data": text, "contentType": "text/plain"},
        {"type": "embeddedResource", "label": "p", "data": _PICTURE, "contentType": "image/png"},
    ]


async def check_requests(agent: IAgent, contract: AgentContract) -> None:
    """An unknown model and any attachment are lived with, or refused in words; the chat goes on."""
    chat = await open_chat(agent, contract, "requests")
    for model in agent.info()["models"][:1]:
        output = RecordedOutput("known-model")
        turn = request("known-model", contract.answered, model={"id": model["id"]})
        await contract.within("a turn with a model it lists", chat.run(turn, output))
    asked: list[tuple[str, dict[str, Any]]] = [
        ("a model it does not list", {"model": {"id": "no such model"}}),
        ("a model of no name", {"model": {"id": "", "config": {"no": "such"}}}),
        ("several attachments", {"attachments": _attachments()}),
    ]
    asked += [
        (f"the attachment {each['label']}", {"attachments": [each]}) for each in _attachments()
    ]
    for number, (what, fields) in enumerate(asked):
        output = RecordedOutput(f"request-{number}")
        turn = request(output.turn_id, contract.answered, contract, **fields)
        await contract.tried(f"a turn with {what}", chat.run(turn, output))
        judge(contract, output)
    await check_goes_on(chat, contract, "after-requests")
    await contract.within("close()", chat.close())
    full = await open_chat(
        agent,
        contract,
        "full",
        preamble="What was said elsewhere.",
        instructions="Use look_up to look things up.",
        server_tools=[LOOK_UP],
        managed_settings={"permissions": {"deny": ["shell"]}},
    )
    await check_goes_on(full, contract, "full")
    await contract.within("close()", full.close())


class _Tool:
    """The host's tool as a check has it: `ran` is how it was called."""

    def __init__(self) -> None:
        self.ran: list[ToolCallContext] = []
        self.fails = False
        self.gate: Deferred[None] | None = None
        self.called: Deferred[None] = Deferred()

    async def run(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        self.ran.append(context)
        if not self.called.called:
            self.called.callback(None)
        if self.gate is not None:
            await self.gate
        if self.fails:
            raise ToolFailure("It is not to be found.")
        return "It was found."


async def check_host_tool(agent: IAgent, contract: AgentContract) -> None:
    """A tool of the host's is run once for a call that was said, and the call ends as it did."""
    text = contract.host_tool
    if text is None:
        return
    host, tool = RecordedHost(), _Tool()
    host.tools["look_up"] = HostTool(definition=LOOK_UP, run=tool.run)
    chat = await open_chat(agent, contract, "host-tool", host, server_tools=[LOOK_UP])
    for number, fails in enumerate((False, True)):
        tool.fails = fails
        output = Watched(f"host-tool-{number}")
        output.confirm(ToolAnswer(approved=True))
        await contract.within(
            "a turn that calls a tool of the host's",
            Running(chat, contract, output.turn_id, text, output).run,
        )
        expect(
            len(tool.ran) == number + 1,
            f"a turn that should call the host's tool once called it {len(tool.ran) - number} times",
        )
        _check_call(output, tool.ran[-1].tool_call_id, fails)
        judge(contract, output)
    tool.gate, tool.called = Deferred(), Deferred()
    output = Watched("host-tool-stopped")
    output.confirm(ToolAnswer(approved=True))
    running = Running(chat, contract, output.turn_id, text, output)
    await contract.within("the call of a tool of the host's", tool.called)
    await running.stopped("a turn whose tool of the host's runs")
    await check_goes_on(chat, contract, "after-host-tool")
    await contract.within("close()", chat.close())


def _check_call(output: RecordedOutput, call: str, fails: bool) -> None:
    said = [one for one in output.actions if one.get("toolCallId") == call]
    expect(bool(said), f"the host's tool was run for the call {call}, which was not said")
    ends = [one for one in said if one["type"] == "chat/toolCallComplete"]
    expect(bool(ends), f"the call {call} of the host's tool has no end")
    success = ends[-1]["result"]["success"]
    words = "failed" if fails else "went well"
    expect(success is not fails, f"the host's tool {words} and the call {call} says otherwise")
