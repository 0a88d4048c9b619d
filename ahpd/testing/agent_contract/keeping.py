"""Conversations that outlive their chats: opened again, copied, cut, listed, read and deleted."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, cast

import attrs

from ahpd.interfaces import (
    AgentFailure,
    ConversationPoint,
    IAgent,
    IAgentChat,
    IConversations,
    ListedConversation,
    ReadConversation,
)
from ahpd.protocol import State
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import expect, fits, provides
from ahpd.testing.agent_contract.talking import (
    chat_start,
    check_goes_on,
    message,
    name_of,
    open_chat,
    request,
)
from ahpd.testing.agents import RecordedHost, RecordedOutput

_UNKNOWN = "no-such-conversation"


@attrs.define
class Kept:
    """A conversation as the host remembers it: its id, its turns, and where each ended."""

    id: str | None
    turns: list[State] = attrs.field(factory=list)
    points: list[str | None] = attrs.field(factory=list)

    def at(self, turns: int | None = None) -> ConversationPoint | None:
        """Behind its first `turns` turns; the newest place for None. None where it has no id."""
        if self.id is None:
            return None
        point = None if turns is None else self.points[turns - 1]
        return ConversationPoint(conversation=self.id, point=point)


async def check_kept(agent: IAgent, contract: AgentContract) -> None:
    """What an agent that reopens, or keeps conversations, does with them."""
    lists = IConversations.providedBy(agent)
    if lists:
        provides(IConversations, agent, "the agent")
        await _check_unknown(cast("IConversations", agent), contract)
    if not (agent.abilities.reopens or lists):
        return
    kept = await _conversation(agent, contract, "kept", 2)
    if lists and contract.keeps and kept.id is not None:
        await _check_read(cast("IConversations", agent), contract, kept)
    if agent.abilities.reopens:
        await _check_fork(agent, contract, kept)
        await _check_resume(agent, contract, kept)
        await _check_cut(agent, contract, kept)
    if lists and contract.keeps and kept.id is not None:
        await _check_delete(cast("IConversations", agent), contract, kept.id)


async def _conversation(
    agent: IAgent, contract: AgentContract, name: str, turns: int, **start: Any
) -> Kept:
    """One of so many turns, whose chat was closed."""
    host = RecordedHost()
    chat = await open_chat(agent, contract, name, host, **start)
    kept = Kept(None)
    for number in range(turns):
        await _turn(chat, contract, kept, f"{name}-{number}", contract.answered)
    await contract.within("close()", chat.close())
    kept.id = name_of(host)
    return kept


async def _turn(
    chat: IAgentChat, contract: AgentContract, kept: Kept, turn_id: str, text: str
) -> str:
    output = await check_goes_on(chat, contract, turn_id, text)
    for point in output.points:
        expect(bool(point) and isinstance(point, str), f"{point!r} names no conversation or point")
    kept.turns.append(_turn_state(turn_id, text, output.text()))
    kept.points.append(output.points[-1] if output.points else None)
    return output.text()


def _turn_state(turn_id: str, asked: str, answered: str) -> State:
    """A finished turn (schema: Turn)."""
    return {
        "id": turn_id,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "duration": 1,
        "message": message(asked),
        "responseParts": [{"kind": "markdown", "id": f"{turn_id}:1", "content": answered}],
        "state": "complete",
    }


# -- opened again ----------------------------------------------------------------------


async def _check_fork(agent: IAgent, contract: AgentContract, kept: Kept) -> None:
    """A copy goes on by itself, under an id of its own; its source is as it was.

    A backend that copies conversations whole refuses another point than the newest in words.
    """
    info = agent.info()
    if not ((info.get("capabilities") or {}).get("multipleChats") or {}).get("fork"):
        return
    before = await _count(agent, contract, kept.id)
    for turns in (None, 2, 1):
        name = f"fork-{turns or 'newest'}"
        host = RecordedHost()
        through = kept.turns[:turns]
        start = {"history": through, "fork": kept.at(turns)}
        if turns == 1:
            refused = await _refused(agent, contract, name, host, start)
            if refused:
                continue
        else:
            chat = await open_chat(agent, contract, name, host, **start)
            await _check_recalls(agent, chat, contract, name, len(through))
            await contract.within("close()", chat.close())
        copy = name_of(host)
        expect(
            copy is None or copy != kept.id,
            f"a fork is kept as the conversation it was copied from: {copy}",
        )
        expect(
            await _count(agent, contract, kept.id) == before,
            "a turn of a fork went into the conversation it was copied from",
        )
        await _delete(agent, contract, copy)


async def _refused(
    agent: IAgent, contract: AgentContract, name: str, host: RecordedHost, start: dict[str, Any]
) -> bool:
    """Whether a fork in the middle was refused, when it was opened or at its first turn."""
    try:
        chat = await agent.open_chat(chat_start(contract, name, host, **start))
    except AgentFailure as failure:
        expect(bool(failure.message), "a failure has no words")
        return True
    output = RecordedOutput(name)
    text = contract.answered if contract.recalling is None else contract.recalling
    failed = await contract.tried("the turn of a fork", chat.run(request(name, text), output))
    await contract.within("close()", chat.close())
    if failed is None and contract.recalling is not None:
        await _expect_as(agent, contract, output.text(), 1, name)
    return failed is not None


async def _check_resume(agent: IAgent, contract: AgentContract, kept: Kept) -> None:
    """It goes on where it was, again and again, under the id it had."""
    for number, at in enumerate((kept.at(), kept.at(2))):
        host = RecordedHost()
        turn_id = f"resumed-{number}"
        chat = await open_chat(agent, contract, turn_id, host, history=kept.turns, resume=at)
        if number == 0:
            await _check_recalls(agent, chat, contract, turn_id, 2)
        else:
            await check_goes_on(chat, contract, turn_id)
        await contract.within("close()", chat.close())
        name = name_of(host)
        if name is not None:
            kept.id = name
        if number == 0 and not contract.cuts:
            return


async def _check_cut(agent: IAgent, contract: AgentContract, kept: Kept) -> None:
    """Opened at its first turn it goes on from there, and has forgotten what came after."""
    host = RecordedHost()
    chat = await open_chat(agent, contract, "cut", host, history=kept.turns[:1], resume=kept.at(1))
    if contract.cuts and kept.points[0] is not None:
        await _check_recalls(agent, chat, contract, "cut", 1)
    else:
        await check_goes_on(chat, contract, "cut")
    await contract.within("close()", chat.close())
    name = name_of(host)
    kept.id = kept.id if name is None else name
    counted = await _count(agent, contract, kept.id)
    if counted is not None and contract.cuts and kept.points[0] is not None:
        expect(
            counted == 2,
            f"a conversation that was cut behind its first turn, and had one more, has {counted}",
        )


async def _check_recalls(
    agent: IAgent, chat: IAgentChat, contract: AgentContract, turn_id: str, turns: int
) -> None:
    """The conversation is as long as one of `turns` turns that was never closed."""
    if contract.recalling is None:
        await check_goes_on(chat, contract, turn_id)
        return
    output = await check_goes_on(chat, contract, turn_id, contract.recalling)
    await _expect_as(agent, contract, output.text(), turns, turn_id)


async def _expect_as(
    agent: IAgent, contract: AgentContract, said: str, turns: int, what: str
) -> None:
    assert contract.recalling is not None
    told = []
    for length in (turns, turns + 1):
        name = f"as-{what}-{length}"
        host = RecordedHost()
        chat = await open_chat(agent, contract, name, host)
        for number in range(length):
            await check_goes_on(chat, contract, f"{name}-{number}")
        told.append((await check_goes_on(chat, contract, name, contract.recalling)).text())
        await contract.within("close()", chat.close())
        await _delete(agent, contract, name_of(host))
    expect(
        told[0] != told[1],
        "AgentContract.recalling names a message that says the same however long the "
        f"conversation is: {told[0]!r}",
    )
    expect(
        said == told[0],
        f"the conversation {what} should go on behind {turns} turns: it says {said!r}, and one of "
        f"{turns} turns says {told[0]!r}",
    )


# -- listed, read and deleted ------------------------------------------------------------


async def _listed(agent: IConversations, contract: AgentContract) -> Sequence[ListedConversation]:
    listed: Sequence[ListedConversation] = await contract.within(
        "list_conversations()", agent.list_conversations()
    )
    names = [one.id for one in listed]
    expect(len(set(names)) == len(names), f"a conversation is listed twice: {sorted(names)}")
    for one in listed:
        expect(isinstance(one.title, str), f"the title of {one.id} is {one.title!r}, no text")
        for field in ("created_at", "modified_at"):
            _check_moment(f"{field} of {one.id}", getattr(one, field))
        for folder in one.working_directories:
            expect(folder.startswith("file:"), f"{one.id} works in {folder}, which is no file: URI")
    contract.discreet("what conversations are listed as", listed)
    return listed


def _check_moment(what: str, value: str) -> None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        raise AssertionError(f"{what} is {value!r}, no ISO 8601 moment") from None
    expect(moment.tzinfo is not None, f"{what} is {value!r}, which names no time zone")


async def _check_unknown(agent: IConversations, contract: AgentContract) -> None:
    """One there is not cannot be read, and may be deleted."""
    failure = await contract.tried("read_conversation()", agent.read_conversation(_UNKNOWN))
    expect(failure is not None, "read_conversation() read one that is not there")
    if contract.keeps:
        await contract.within(
            "delete_conversation() of one that is not there", agent.delete_conversation(_UNKNOWN)
        )
    else:
        await contract.tried("list_conversations()", agent.list_conversations())
        await contract.tried("delete_conversation()", agent.delete_conversation(_UNKNOWN))


async def _check_read(agent: IConversations, contract: AgentContract, kept: Kept) -> None:
    """What was said in it is listed, and read back as it was said."""
    names = [one.id for one in await _listed(agent, contract)]
    expect(kept.id in names, f"the conversation {kept.id} was kept and is not listed")
    read = await _read(agent, contract, kept.id)
    asked = [turn["message"]["text"] for turn in read.turns]
    expect(
        asked == [turn["message"]["text"] for turn in kept.turns],
        f"a conversation is read back with the messages {asked}",
    )
    for turn, said in zip(read.turns, kept.turns, strict=True):
        expect(turn["state"] == "complete", f"a complete turn is read back as {turn['state']}")
        found, expected = _text_of(turn), _text_of(said)
        expect(found == expected, f"the answer {expected!r} is read back as {found!r}")
    strangers = set(read.points) - {turn["id"] for turn in read.turns}
    expect(not strangers, f"points are read back of turns that are not: {sorted(strangers)}")
    expect(
        all(isinstance(point, str) and point for point in read.points.values()),
        f"{dict(read.points)} names no points",
    )


async def _read(
    agent: IConversations, contract: AgentContract, name: str | None
) -> ReadConversation:
    assert name is not None
    read: ReadConversation = await contract.within(
        "read_conversation()", agent.read_conversation(name)
    )
    for turn in read.turns:
        fits(turn, "turns.Turn", f"a turn of the conversation {name}")
    ids = [turn["id"] for turn in read.turns]
    expect(len(set(ids)) == len(ids), f"two turns of {name} are read back under one id: {ids}")
    contract.discreet("a conversation that is read", list(read.turns))
    return read


def _text_of(turn: State) -> str:
    return "".join(part["content"] for part in turn["responseParts"] if part["kind"] == "markdown")


async def _count(agent: IAgent, contract: AgentContract, name: str | None) -> int | None:
    """How many turns a conversation has; None where nobody can tell."""
    if name is None or not contract.keeps or not IConversations.providedBy(agent):
        return None
    return len((await _read(cast("IConversations", agent), contract, name)).turns)


async def _delete(agent: IAgent, contract: AgentContract, name: str | None) -> None:
    """Leave nothing of a conversation that a check made."""
    if name is not None and contract.keeps and IConversations.providedBy(agent):
        await contract.within(
            "delete_conversation()", cast("IConversations", agent).delete_conversation(name)
        )


async def _check_delete(agent: IConversations, contract: AgentContract, name: str) -> None:
    """A deleted one is listed no more and cannot be read; again is no error."""
    for _ in range(2):
        await contract.within("delete_conversation()", agent.delete_conversation(name))
    names = [one.id for one in await _listed(agent, contract)]
    expect(name not in names, f"the conversation {name} was deleted and is listed")
    failure = await contract.tried("read_conversation()", agent.read_conversation(name))
    expect(failure is not None, f"the conversation {name} was deleted and can be read")
