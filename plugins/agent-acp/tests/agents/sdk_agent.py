"""An agent on the ACP SDK for Python, which checks every message this host sends it.

A prompt's first word is what it does: `slow` streams until it is cancelled, `ask` asks for a
permission, `read PATH` and `write PATH` ask for a file, `sets` says what it is set to.
Anything else is said back.
"""

import asyncio
import uuid
from typing import Any

from acp import (
    PROTOCOL_VERSION,
    Agent,
    InitializeResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    RequestError,
    SetSessionModeResponse,
    run_agent,
    text_block,
    update_agent_message,
    update_user_message,
)
from acp.schema import (
    AgentCapabilities,
    ForkSessionResponse,
    McpCapabilities,
    PermissionOption,
    SessionCapabilities,
    SessionForkCapabilities,
    SessionMode,
    SessionModeState,
    ToolCallUpdate,
)

#: What the ids of its conversations begin with. It has every one there could be.
MINE = "kept-"


class SdkAgent(Agent):
    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.mode = "ask"
        self.calls = 0
        self.forks = 0
        self.servers: Any = None

    def on_connect(self, conn: Any) -> None:
        self.conn = conn

    async def initialize(self, protocol_version: int, **kwargs: Any) -> InitializeResponse:
        can = AgentCapabilities(
            load_session=True,
            mcp_capabilities=McpCapabilities(http=True),
            session_capabilities=SessionCapabilities(fork=SessionForkCapabilities()),
        )
        return InitializeResponse(protocol_version=PROTOCOL_VERSION, agent_capabilities=can)

    def modes(self) -> SessionModeState:
        modes = [SessionMode(id=name, name=name.title()) for name in ("ask", "code")]
        return SessionModeState(current_mode_id=self.mode, available_modes=modes)

    async def new_session(
        self, cwd: str, mcp_servers: Any = None, **kwargs: Any
    ) -> NewSessionResponse:
        self.servers = mcp_servers
        return NewSessionResponse(session_id=f"{MINE}{uuid.uuid4()}", modes=self.modes())

    async def load_session(self, cwd: str, session_id: str, **kwargs: Any) -> LoadSessionResponse:
        if not session_id.startswith(MINE):
            raise RequestError.resource_not_found(session_id)
        await self.conn.session_update(session_id, update_user_message(text_block("asked")))
        await self.say(session_id, "answered")
        return LoadSessionResponse(modes=self.modes())

    async def fork_session(self, cwd: str, session_id: str, **kwargs: Any) -> ForkSessionResponse:
        self.forks += 1
        return ForkSessionResponse(session_id=f"{session_id}-{self.forks}", modes=self.modes())

    async def set_session_mode(self, session_id: str, mode_id: str, **kwargs: Any) -> Any:
        self.mode = mode_id
        return SetSessionModeResponse()

    async def say(self, session_id: str, words: str) -> None:
        await self.conn.session_update(session_id, update_agent_message(text_block(words)))

    async def prompt(self, session_id: str, prompt: list[Any], **kwargs: Any) -> PromptResponse:
        text = "".join(getattr(block, "text", "") for block in prompt)
        word, _, rest = text.partition(" ")
        self.cancelled.clear()
        if word == "slow":
            while not self.cancelled.is_set():
                await self.say(session_id, "tick ")
                await asyncio.sleep(0.01)
            return PromptResponse(stop_reason="cancelled")
        if word == "ask":
            await self.say(session_id, await self.ask(session_id))
        elif word == "read":
            read = await self.conn.read_text_file(session_id=session_id, path=rest)
            await self.say(session_id, read.content)
        elif word == "write":
            await self.conn.write_text_file(session_id=session_id, path=rest, content="written")
            await self.say(session_id, "done")
        elif word == "sets":
            await self.say(session_id, f"{self.mode} {[server.name for server in self.servers]}")
        else:
            await self.say(session_id, text)
        return PromptResponse(stop_reason="end_turn")

    async def ask(self, session_id: str) -> str:
        options = [
            PermissionOption(option_id="yes", name="Yes", kind="allow_once"),
            PermissionOption(option_id="no", name="No", kind="reject_once"),
        ]
        self.calls += 1
        call = ToolCallUpdate(tool_call_id=f"c{self.calls}", title="Do it")
        answer = await self.conn.request_permission(
            session_id=session_id, tool_call=call, options=options
        )
        return str(getattr(answer.outcome, "option_id", answer.outcome.outcome))

    async def cancel(self, session_id: str, **kwargs: Any) -> None:
        self.cancelled.set()


if __name__ == "__main__":
    asyncio.run(run_agent(SdkAgent(), use_unstable_protocol=True))
