"""The agent of one record: its models, its settings, its chats and the conversations it keeps."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    AgentRecord,
    ChatStart,
    ConversationPoint,
    Finding,
    IAgent,
    IAgentChat,
    IChangingAgent,
    IClosedAgent,
    IConversations,
    IProbedAgent,
    IUndeclaredConfig,
    ListedConversation,
    ReadConversation,
    RecordFailure,
)
from ahpd.protocol import State
from ahpd_agent_openai import failures
from ahpd_agent_openai.catalogue import models_of
from ahpd_agent_openai.chat import OpenAIChat, Workshop
from ahpd_agent_openai.conversation import from_history
from ahpd_agent_openai.failures import EndpointFailure
from ahpd_agent_openai.reading import turns_of
from ahpd_agent_openai.session import INVALID, choices, config_schema
from ahpd_agent_openai.settings import endpoint_url
from ahpd_agent_openai.store import UNKNOWN, ConversationLog
from ahpd_agent_openai.targets import Target

log = Logger()

#: What a session may name although no schema offers it (PLUGINS.txt, the precedence table).
_UNDECLARED: Final = ("model", "baseUrl")


@implementer(IAgent, IChangingAgent, IClosedAgent, IProbedAgent, IConversations, IUndeclaredConfig)
class OpenAIAgent:
    """An agent over the endpoints of one record."""

    abilities = AgentAbilities(steering=True, resume=True, live_config=True, reopens=True)

    def __init__(self, record: AgentRecord, workshop: Workshop) -> None:
        self.provider = record.id
        self._record = record
        self._workshop = workshop

    # -- what it is -----------------------------------------------------------------------

    def info(self) -> State:
        """What clients are shown (`IAgent.info`)."""
        info: State = {
            "provider": self.provider,
            "displayName": self._record.name,
            "description": self._record.description,
            "models": self._workshop.catalogue.rows(),
            "capabilities": {
                "multipleChats": {"fork": True, "sideChat": True},
                "multipleWorkingDirectories": {},
            },
        }
        resources = self._resources()
        if resources:
            info["protectedResources"] = resources
        return info

    def _resources(self) -> list[State]:
        """What a client may sign in to. None has to: a key may be configured, or none needed."""
        found: dict[str, State] = {}
        for target in self._workshop.targets.endpoints():
            found.setdefault(
                target.resource,
                {
                    "resource": target.resource,
                    "resource_name": f"{self._record.name} ({target.provider})",
                    "bearer_methods_supported": ["header"],
                    "required": False,
                },
            )
        return list(found.values())

    def config_schema(self, working_directory: str | None, values: Mapping[str, Any]) -> State:
        """The same for every folder (`IAgent.config_schema`)."""
        return config_schema(self.provider, self._workshop.settings)

    def check_config(self, key: str, value: Any) -> None:
        """A session's own model and endpoint (`IUndeclaredConfig.check_config`)."""
        if key not in _UNDECLARED:
            raise AgentFailure("", INVALID)
        if not isinstance(value, str):
            raise AgentFailure(f"{key} must be text", INVALID)
        if key == "baseUrl" and value:
            try:
                endpoint_url(value, key)
            except RecordFailure as wrong:
                raise AgentFailure(str(wrong), INVALID) from None

    def on_changed(self, told: Callable[[], None]) -> None:
        """The list of models arrived (`IChangingAgent.on_changed`); it is asked for now."""
        self._workshop.catalogue.on_changed(told)
        self._workshop.catalogue.begin()

    # -- chats ----------------------------------------------------------------------------

    async def open_chat(self, start: ChatStart) -> IAgentChat:
        """A chat, on the conversation it had or a copy of one (`IAgent.open_chat`)."""
        choices(self.provider, self._workshop.settings, start.config)
        self._workshop.catalogue.begin()
        if start.resume is not None:
            found = await self._workshop.store.opened(start.resume.conversation)
            if found is not None:
                self._cut(found, start.resume)
                return self._chat(start, found)
        before = await self._forked(start.fork)
        if before is None:
            before = from_history(start.history)
        return self._chat(start, None, before)

    def _chat(
        self, start: ChatStart, kept: ConversationLog | None, before: Sequence[State] = ()
    ) -> IAgentChat:
        chat: IAgentChat = OpenAIChat(self._workshop, start, kept, before)  # as the port has it
        return chat

    def _cut(self, found: ConversationLog, at: ConversationPoint) -> None:
        """Have the conversation end where the host says it does."""
        if at.point is None:
            return
        if not found.kept.has(at.point):
            log.warn(
                "the conversation {id} has no turn {point} to go on after",
                id=at.conversation,
                point=at.point,
            )
        elif len(found.kept.through(at.point)) < len(found.kept.records):
            found.add({"k": "cut", "point": at.point})

    async def _forked(self, at: ConversationPoint | None) -> list[State] | None:
        """The records a fork begins with; None where there is no such conversation."""
        if at is None:
            return None
        found = await self._workshop.store.opened(at.conversation)
        if found is None or (at.point is not None and not found.kept.has(at.point)):
            return None
        return [record for record in found.kept.through(at.point) if record["k"] != "head"]

    # -- conversations --------------------------------------------------------------------

    async def list_conversations(self) -> Sequence[ListedConversation]:
        """Every one it keeps (`IConversations.list_conversations`)."""
        return await self._workshop.store.listed()

    async def read_conversation(self, conversation: str) -> ReadConversation:
        """Its turns (`IConversations.read_conversation`)."""
        found = await self._workshop.store.opened(conversation)
        if found is None:
            raise AgentFailure(f"{self._record.name} keeps no conversation {conversation}", UNKNOWN)
        return turns_of(found.kept.records)

    async def delete_conversation(self, conversation: str) -> None:
        """Delete its copy (`IConversations.delete_conversation`)."""
        await self._workshop.store.deleted(conversation)

    # -- whether it works -----------------------------------------------------------------

    async def probe(self) -> Sequence[Finding]:
        """Each endpoint is asked for its models, which costs nothing (`IProbedAgent.probe`)."""
        findings: list[Finding] = []
        listed = 0
        for target in self._workshop.targets.endpoints():
            try:
                value = await self._workshop.client.models(
                    target, target.key, self._workshop.settings.catalogue_timeout
                )
                names = [facts.id for facts in models_of(value)]
            except EndpointFailure as failure:
                findings.append(_refused(target, failure))
            except ValueError as error:
                findings.append(
                    Finding(about="endpoint", ok=False, words=f"{target.where}: {error}")
                )
            else:
                listed += len(names)
                words = f"{target.where} answers and lists {len(names)} model"
                words += "" if len(names) == 1 else "s"
                findings.append(Finding(about="endpoint", ok=True, words=words))
                findings += _unset(target)
                findings += self._model_finding(target.base_url, names)
        if self._workshop.targets.default() is None:
            findings.append(self._no_model(listed))
        return findings

    def _no_model(self, listed: int) -> Finding:
        """What it means that the record names no model: nothing, where there are some to choose."""
        if listed:
            words = "the record names none: each chat chooses one of those listed"
            return Finding(about="model", ok=True, words=words)
        named = "<model>" if self._workshop.settings.base_url else "<provider>/<model>"
        mend = f"model: {named} in the record of the agent {self.provider}"
        return Finding(about="model", ok=False, words="the record names none", mend=mend)

    def _model_finding(self, base_url: str, names: Sequence[str]) -> list[Finding]:
        default = self._workshop.targets.default()
        if default is None or default.base_url != base_url or not names:
            return []
        ok = default.model in names
        listed = "is listed" if ok else "is not among the models listed"
        return [Finding(about="model", ok=ok, words=f"{default.model} {listed}")]

    async def close(self) -> None:
        """Ask for models no more, and let go of connections (`IClosedAgent.close`)."""
        self._workshop.catalogue.close()
        await self._workshop.client.close()


def _refused(target: Target, failure: EndpointFailure) -> Finding:
    """What an endpoint that does not list its models says of itself, and what mends it."""
    if failure.error_type != failures.AUTH:
        return Finding(about="endpoint", ok=False, words=failure.message)
    words = failure.message.removesuffix(target.key_hint).rstrip()
    return Finding(about="sign-in", ok=False, words=words, mend=target.key_hint)


def _unset(target: Target) -> list[Finding]:
    """Some list their models to anybody, and answer nobody without a key."""
    if target.unset is None:
        return []
    mend = f"set {target.unset} where ahpd is started, or sign in"
    return [Finding(about="sign-in", ok=False, words=f"{target.unset} is not set", mend=mend)]
