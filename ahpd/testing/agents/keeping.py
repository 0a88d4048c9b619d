"""Scripted agents that keep conversations of their own, and that complete settings."""

from collections.abc import Mapping, Sequence
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import (
    AgentFailure,
    IConfigCompletions,
    IConversations,
    ListedConversation,
    ReadConversation,
)
from ahpd.protocol import State
from ahpd.testing.agents.gates import Gate
from ahpd.testing.agents.scripted import ScriptedAgent


@implementer(IConversations)
class ConversationsAgent(ScriptedAgent):
    """An agent with conversations on this machine: those a test gave it with `keep`.

    `deleted` are the ids it was asked to delete, `reads` those it was asked to read.
    `list_failure`, `read_failure` and `delete_failure` are raised, `list_gate` and
    `read_gate` are where those wait.
    """

    def __init__(self, provider: str = "scripted", **options: Any) -> None:
        super().__init__(provider, **options)
        self.listed: dict[str, ListedConversation] = {}
        self.kept: dict[str, ReadConversation] = {}
        self.reads: list[str] = []
        self.deleted: list[str] = []
        self.list_failure: AgentFailure | None = None
        self.read_failure: AgentFailure | None = None
        self.delete_failure: AgentFailure | None = None
        self.list_gate: Gate | None = None
        self.read_gate: Gate | None = None

    def keep(
        self,
        conversation: str,
        *turns: State,
        title: str | None = None,
        modified_at: str = "2026-01-01T00:00:00.000Z",
        points: Mapping[str, str] | None = None,
        working_directories: Sequence[str] = (),
    ) -> None:
        """Have a conversation of these turns (schema: Turn), or have it otherwise."""
        self.listed[conversation] = ListedConversation(
            id=conversation,
            title=conversation if title is None else title,
            created_at="2026-01-01T00:00:00.000Z",
            modified_at=modified_at,
            working_directories=tuple(working_directories),
        )
        self.kept[conversation] = ReadConversation(turns=turns, points=dict(points or {}))

    async def list_conversations(self) -> Sequence[ListedConversation]:
        """See `IConversations.list_conversations`."""
        if self.list_gate is not None:
            await self.list_gate.passed()
        if self.list_failure is not None:
            raise self.list_failure
        return list(self.listed.values())

    async def read_conversation(self, conversation: str) -> ReadConversation:
        """See `IConversations.read_conversation`."""
        self.reads.append(conversation)
        if self.read_gate is not None:
            await self.read_gate.passed()
        if self.read_failure is not None:
            raise self.read_failure
        if conversation not in self.kept:
            raise AgentFailure(f"There is no conversation {conversation}", "notFound")
        return self.kept[conversation]

    async def delete_conversation(self, conversation: str) -> None:
        """See `IConversations.delete_conversation`."""
        self.deleted.append(conversation)
        if self.delete_failure is not None:
            raise self.delete_failure
        self.listed.pop(conversation, None)
        self.kept.pop(conversation, None)


@implementer(IConfigCompletions)
class CompletingAgent(ScriptedAgent):
    """An agent that completes settings: those values a test put into `completions`, by key.

    What it was asked is in `completed`; `completion_failure` is raised.
    """

    def __init__(self, provider: str = "scripted", **options: Any) -> None:
        super().__init__(provider, **options)
        self.completions: dict[str, list[str]] = {}
        self.completed: list[tuple[str, str, Mapping[str, Any]]] = []
        self.completion_failure: AgentFailure | None = None

    async def complete_config(
        self, key: str, query: str, context: Mapping[str, Any]
    ) -> Sequence[State]:
        """See `IConfigCompletions.complete_config`: those values that hold `query`."""
        self.completed.append((key, query, context))
        if self.completion_failure is not None:
            raise self.completion_failure
        values = self.completions.get(key, [])
        return [{"value": value, "label": value} for value in values if query in value]
