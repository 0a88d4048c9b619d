"""The engine `asking`: its agents ask what their prompt lists, and write down what came of it.

It says what no shipped engine does: a call that asks to leave its sandbox, one a managed rule of
its backend asks about, Allow All among a session's settings. It is installed for a test by its
text, so nothing of the tests is imported here.
"""

import json
from pathlib import Path

from twisted.internet.defer import Deferred, gatherResults
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, IAgent, IAgentChat, IEngine, Permission
from ahpd.protocol.file_uris import path_of


@implementer(IAgentChat)
class Asking:
    """One chat. A turn's message is a list of calls: `id`, `tool`, and a `Permission`'s fields."""

    def __init__(self, start):
        self._folder = Path(path_of(start.working_directories[0]))
        self._did("start", dict(start.managed_settings), dict(start.mcp_servers))

    def _did(self, *what):
        with (self._folder / "deeds.jsonl").open("a", encoding="utf-8") as out:
            out.write(json.dumps(what) + "\n")

    async def run(self, turn, output):
        asked = [self._one(call, output) for call in json.loads(turn.text)]
        await gatherResults([Deferred.fromCoroutine(one) for one in asked], consumeErrors=True)

    async def _one(self, call, output):
        name, tool = call.pop("id"), call.pop("tool", "Do")
        options = call.pop("options", None)
        about = {"toolCallId": name}
        output.emit({"type": "chat/toolCallStart", **about, "toolName": tool, "displayName": tool})
        ready = {"type": "chat/toolCallReady", **about, "invocationMessage": f"Do {name}"}
        ready["confirmationTitle"] = f"Do {name}?"
        if options is not None:
            ready["options"] = options
        output.emit(ready, Permission(**call))
        answer = await output.confirmed(name)
        self._did("ran" if answer.approved else "refused", name, answer.option)
        if answer.approved:
            result = {"success": True, "pastTenseMessage": f"Did {name}"}
            output.emit({"type": "chat/toolCallComplete", **about, "result": result})

    async def stop(self, turn_id):
        """What it waits for ends with the turn."""

    async def close(self):
        """It holds nothing."""


@implementer(IAgent)
class AskingAgent:
    """The agent of a record."""

    abilities = AgentAbilities(reopens=True)

    def __init__(self, provider):
        self.provider = provider

    def info(self):
        return {
            "provider": self.provider,
            "displayName": "Asking",
            "description": "Asks what it is told to.",
            "models": [],
        }

    def config_schema(self, working_directory, values):
        key = {
            "type": "string",
            "title": "Approvals",
            "enum": ["default", "autoApprove"],
            "default": "default",
            "sessionMutable": True,
        }
        return {"type": "object", "properties": {"autoApprove": key}}

    async def open_chat(self, start):
        return Asking(start)


@implementer(IEngine)
class AskingEngine:
    """See the module."""

    name = "asking"
    title = "Asking"
    description = "Asks what it is told to."
    host_only = ()
    key_variables = ()

    def schema(self):
        return {"type": "object", "additionalProperties": False, "properties": {}}

    def templates(self):
        return ()

    def open(self, record, ports):
        return AskingAgent(record.id)

    async def check(self, record, ports):
        return ()
