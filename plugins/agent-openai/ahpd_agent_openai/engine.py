"""The engine `openai`: an agent over any OpenAI-compatible endpoint for each record that names it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import (
    AgentRecord,
    ChatStart,
    EnginePorts,
    Finding,
    IAgent,
    IEngine,
    RecordFailure,
    Template,
)
from ahpd.protocol import State
from ahpd_agent_openai.agent import OpenAIAgent
from ahpd_agent_openai.catalogue import Catalogue
from ahpd_agent_openai.chat import ISessionTools, Workshop
from ahpd_agent_openai.client import EndpointClient
from ahpd_agent_openai.settings import HOST_ONLY, SCHEMA, Settings, read
from ahpd_agent_openai.store import ConversationStore
from ahpd_agent_openai.targets import Targets

_CONVERSATIONS = "conversations"


@implementer(IEngine)
class OpenAIEngine:
    """Makes the agents. `open_tools` makes the tools of a session; None is the engine's own."""

    name = "openai"
    title = "OpenAI-compatible endpoint"
    description = "Runs its own loop over any endpoint that speaks OpenAI's chat completions."
    host_only: Sequence[str] = HOST_ONLY
    key_variables: Sequence[str] = ()

    def __init__(
        self,
        open_tools: "Callable[[Settings, EnginePorts, Path | None], Callable[[ChatStart], ISessionTools | None]] | None" = None,
    ) -> None:
        self._open_tools = open_tools

    def schema(self) -> State:
        """See `IEngine.schema`."""
        return SCHEMA

    def templates(self) -> Sequence[Template]:
        """Endpoints many people have, hosted and on their own machine (`IEngine.templates`)."""
        return (
            Template(
                id="openai",
                name="OpenAI",
                description="OpenAI's models, or those of any endpoint that speaks its protocol",
                config={
                    "baseUrl": "https://api.openai.com/v1",
                    "apiKeyEnv": "OPENAI_API_KEY",
                },
                page="https://platform.openai.com/docs/quickstart",
            ),
            Template(
                id="openrouter",
                name="OpenRouter",
                description="Every model OpenRouter routes to",
                config={
                    "providers": [
                        {
                            "id": "open_router",
                            "baseUrl": "https://openrouter.ai/api/v1",
                            "apiKeyEnv": "OPENROUTER_API_KEY",
                        }
                    ]
                },
                page="https://openrouter.ai/docs/quickstart",
            ),
            Template(
                id="ollama",
                name="Ollama",
                description="Models that Ollama runs on this machine",
                config={"baseUrl": "http://127.0.0.1:11434/v1"},
                page="https://ollama.com/download",
            ),
            Template(
                id="lmstudio",
                name="LM Studio",
                description="Models that LM Studio runs on this machine",
                config={"baseUrl": "http://127.0.0.1:1234/v1"},
                page="https://lmstudio.ai/docs/developer",
            ),
        )

    def open(self, record: AgentRecord, ports: EnginePorts) -> IAgent:
        """See `IEngine.open`."""
        agent: IAgent = self._opened(record, ports)
        return agent

    def _opened(self, record: AgentRecord, ports: EnginePorts) -> OpenAIAgent:
        settings = read(record)
        client = EndpointClient(ports.reactor, ports.now, settings.idle_timeout)
        targets = Targets(record.id, settings, ports.environ)
        folder = _folder(settings, ports)
        make_tools = self._open_tools or _own_tools
        workshop = Workshop(
            provider=record.id,
            settings=settings,
            reactor=ports.reactor,
            now=ports.now,
            ids=ports.ids,
            default_directory=str(ports.default_directory),
            client=client,
            targets=targets,
            catalogue=Catalogue(record.id, settings, targets, client),
            store=ConversationStore(
                None if folder is None else folder / _CONVERSATIONS, ports.run_blocking
            ),
            open_tools=make_tools(settings, ports, folder),
        )
        return OpenAIAgent(record, workshop)

    async def check(self, record: AgentRecord, ports: EnginePorts) -> Sequence[Finding]:
        """See `IEngine.check`."""
        try:
            agent = self._opened(record, ports)
        except RecordFailure as failure:
            return [Finding(about="configuration", ok=False, words=str(failure))]
        try:
            return await agent.probe()
        finally:
            await agent.close()


def _folder(settings: Settings, ports: EnginePorts) -> Path | None:
    """Where the record keeps what outlives it; None keeps it in memory."""
    if settings.in_memory:
        return None
    return ports.data_directory if settings.store is None else Path(settings.store).expanduser()


def _own_tools(
    settings: Settings, ports: EnginePorts, folder: Path | None
) -> Callable[[ChatStart], ISessionTools | None]:
    from ahpd_agent_openai.toolboxes import own_tools  # noqa: PLC0415 - parsers, found when used

    made: Callable[[ChatStart], Any] = own_tools(settings, ports, folder)
    return made
