"""The conversations an agent keeps: opened again, copied, listed, read back and deleted."""

import json
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.interfaces import AgentFailure, ConversationPoint, StoreFailure
from ahpd.testing.agents import RecordedHost

from .conftest import record

CAN_ALL = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "list": {}, "fork": {}, "close": {}, "delete": {}},
}
HELD = [{"id": "t0", "message": {"text": "before"}, "responseParts": []}]


@pytest.fixture
def kept(tmp_path):
    return {"store": str(tmp_path / "store"), "can": CAN_ALL}


async def talked(acp, program, *prompts, **fields):
    """An agent on which a conversation was had; its id, and its points."""
    agent = acp.agent(program, **fields)
    talk = await acp.talk(agent)
    for prompt in prompts:
        await talk.say(prompt)
    await talk.chat.close()
    return agent, talk.host.kept[-1], [output.points[-1] for output in talk.outputs]


def again(conversation, point=None, how="resume", history=HELD):
    return {how: ConversationPoint(conversation=conversation, point=point), "history": history}


# -- opened again ----------------------------------------------------------------------------


@pytest.mark.parametrize("can", [["resume"], ["load"], ["resume", "load"]])
@pytest_twisted.ensureDeferred
async def test_a_conversation_is_opened_again_as_the_agent_can(acp, kept, can):
    kept["can"] = {
        "loadSession": "load" in can,
        "sessionCapabilities": {"resume": {}} if "resume" in can else {},
    }
    agent, conversation, _ = await talked(acp, kept, "one", "two")
    host = RecordedHost()
    talk = await acp.talk(agent, start=again(conversation), host=host)
    assert await talk.say("count") == "2", "what was replayed is not said again"
    assert host.kept == []


@pytest_twisted.ensureDeferred
async def test_what_is_replayed_after_the_answer_is_not_said_again(acp, kept):
    kept |= {"can": {"loadSession": True}, "late": True}
    agent, conversation, _ = await talked(acp, kept, "one", "two", "three")
    talk = await acp.talk(agent, start=again(conversation))
    assert await talk.say("count") == "3"
    assert len((await agent.read_conversation(conversation)).turns) == 4


@pytest_twisted.ensureDeferred
async def test_one_this_host_holds_no_turns_of_is_loaded(acp, kept):
    _, conversation, _ = await talked(acp, kept, "one")
    kept["at"] = {"session/resume": "exit 9"}
    talk = await acp.talk(acp.agent(kept), start=again(conversation, history=()))
    assert await talk.say("count") == "1"


@pytest_twisted.ensureDeferred
async def test_an_advertised_resume_that_is_missing_is_a_load(acp, kept, logged):
    _, conversation, _ = await talked(acp, kept, "one")
    kept["at"] = {"session/resume": "error -32601 Method not found"}
    talk = await acp.talk(acp.agent(kept), start=again(conversation))
    assert await talk.say("count") == "1"
    assert any("offers session/resume and has no such method" in line for line in logged)


@pytest_twisted.ensureDeferred
async def test_one_that_cannot_be_opened_again_says_so(acp, kept):
    kept["can"] = {}
    agent, conversation, _ = await talked(acp, kept, "one")
    talk = await acp.talk(agent, start=again(conversation))
    failed = await talk.fails("hello")
    assert "offers neither session/resume nor session/load" in failed.message
    assert not agent.abilities.reopens


@pytest_twisted.ensureDeferred
async def test_one_the_agent_has_lost_says_so(acp, kept):
    talk = await acp.talk(acp.agent(kept), start=again("no-such"))
    assert "there is no session no-such" in (await talk.fails("hello")).message


@pytest_twisted.ensureDeferred
async def test_a_conversation_that_begins_without_its_turns_is_told_them(acp, kept):
    told = {
        "id": "t0",
        "message": {"text": "who wrote it?"},
        "responseParts": [{"kind": "markdown", "id": "p", "content": "Ada did."}],
    }
    start = {"history": [told], "instructions": "Use the tools.", "preamble": "An aside."}
    kept["can"] = {**CAN_ALL, "mcpCapabilities": {"http": True}}
    talk = await acp.talk(acp.agent(kept), start=start)
    await talk.say("go on")
    blocks = json.loads(await talk.say("told blocks"))
    assert [block["text"] for block in blocks] == ["told blocks"]
    first = json.loads(next(iter(stored(kept).values())))["turns"][0]["asked"]
    assert first.index("Use the tools.") < first.index("who wrote it?") < first.index("Ada did.")
    assert first.index("Ada did.") < first.index("An aside.") < first.index("go on")


@pytest.mark.parametrize(("http", "offered"), [(False, True), (True, False)])
@pytest_twisted.ensureDeferred
async def test_of_the_hosts_tools_it_is_told_where_it_has_them_alone(acp, kept, http, offered):
    kept["can"] = {**CAN_ALL, "mcpCapabilities": {"http": http}}
    agent = acp.agent(kept, hostTools=offered)
    talk = await acp.talk(agent, start={"instructions": "Use the tools."})
    assert await talk.say("hello") == "hello"
    assert "Use the tools." not in next(iter(stored(kept).values()))


def stored(program):
    return {path.name: path.read_text() for path in Path(program["store"]).glob("*.json")}


# -- copied ----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_fork_at_the_last_turn_is_a_copy(acp, kept):
    agent, conversation, points = await talked(acp, kept, "one", "two")
    host = RecordedHost()
    talk = await acp.talk(agent, start=again(conversation, points[-1], "fork"), host=host)
    assert await talk.say("count") == "2"
    assert host.kept[-1] != conversation


@pytest_twisted.ensureDeferred
async def test_a_fork_at_an_earlier_turn_is_refused_after_a_restart_too(acp, kept):
    agent, conversation, points = await talked(acp, kept, "one", "two")
    for where in (agent, acp.agent(kept)):
        talk = await acp.talk(where, start=again(conversation, points[0], "fork"))
        assert "at its last turn and at no other" in (await talk.fails("hello")).message
    talk = await acp.talk(acp.agent(kept), start=again(conversation, points[1], "fork"))
    assert await talk.say("count") == "2"


@pytest_twisted.ensureDeferred
async def test_forks_are_offered_where_the_agent_makes_them(acp, kept):
    agent = acp.agent(kept)
    changes = []
    agent.on_changed(lambda: changes.append(agent.info()))
    assert "fork" not in agent.info()["capabilities"]["multipleChats"]
    await (await acp.talk(agent)).say("hello")
    assert changes[-1]["capabilities"]["multipleChats"]["fork"] is True
    count = len(changes)
    await (await acp.talk(agent)).say("hello")
    assert len(changes) == count, "nothing else was answered"


# -- listed ----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_all_pages_are_listed(acp, kept, tmp_path):
    agent = acp.agent(kept, findFreshMs=0)
    for _ in range(5):
        await (await acp.talk(agent)).say("hello")
    found = await agent.list_conversations()
    assert len({row.id for row in found}) == 5
    assert found[0].modified_at == "2026-03-04T05:06:07.000Z"
    assert found[0].working_directories == (f"file://{tmp_path}",)


@pytest_twisted.ensureDeferred
async def test_no_more_pages_are_read_than_the_record_says(acp, kept, logged):
    agent = acp.agent(kept, sessionListMaxPages=2)
    for _ in range(5):
        await (await acp.talk(agent)).say("hello")
    assert len(await agent.list_conversations()) == 4
    assert any("more conversations than 2 pages" in line for line in logged)


@pytest_twisted.ensureDeferred
async def test_finds_at_once_share_a_listing_and_fresh_ones_too(acp, kept, tmp_path):
    agent = acp.agent(kept, findFreshMs=100_000)
    finds = [Deferred.fromCoroutine(agent.list_conversations()) for _ in range(3)]
    assert await gatherResults(finds) == [(), (), ()]
    await (await acp.talk(agent)).say("hello")
    assert await agent.list_conversations() == ()
    agent = acp.agent(kept, findFreshMs=0)
    assert len(await agent.list_conversations()) == 1
    await (await acp.talk(agent)).say("hello")
    assert len(await agent.list_conversations()) == 2


@pytest_twisted.ensureDeferred
async def test_a_failed_listing_answers_the_finds_after_it(acp, kept, tmp_path):
    kept["at"] = {"session/list": "error -32603 no list today"}
    agent = acp.agent(kept, findFreshMs=100_000)
    for _ in range(2):
        with pytest.raises(AgentFailure, match="no list today"):
            await agent.list_conversations()


@pytest_twisted.ensureDeferred
async def test_an_agent_that_lists_nothing_has_none_listed(acp):
    assert await acp.agent().list_conversations() == ()


@pytest_twisted.ensureDeferred
async def test_the_program_of_a_listing_goes_or_stays_as_the_record_says(
    acp, kept, supervisor, pause
):
    agent = acp.agent(kept, listingIdleMs=400, findFreshMs=0)
    await agent.list_conversations()
    (first,) = [child.pid for child in supervisor.children]
    await agent.list_conversations()
    assert [child.pid for child in supervisor.children] == [first]
    await pause(1)
    assert supervisor.children == ()
    agent = acp.agent(kept)
    await agent.list_conversations()
    await agent.close()
    assert supervisor.children == ()


@pytest_twisted.ensureDeferred
async def test_no_program_is_started_for_what_it_is_known_not_to_offer(acp, kept, supervisor):
    kept["can"] = {}
    agent, conversation, _ = await talked(acp, kept, "hello")
    assert supervisor.children == ()
    asked = [
        Deferred.fromCoroutine(asking)
        for asking in (
            agent.list_conversations(),
            agent.read_conversation(conversation),
            agent.delete_conversation(conversation),
        )
    ]
    assert supervisor.children == ()
    assert await asked[0] == ()
    for failing, words in zip(asked[1:], ("session/load", "session/delete"), strict=True):
        with pytest.raises(AgentFailure, match=f"it offers no {words}"):
            await failing


@pytest_twisted.ensureDeferred
async def test_another_program_is_asked_what_it_offers(acp, kept):
    agent, _, _ = await talked(acp, {"store": kept["store"]}, "hello")
    assert await agent.list_conversations() == ()
    agent.edited(record(kept))
    assert len(await agent.list_conversations()) == 1


# -- read and deleted ------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_conversation_is_read_back_as_turns(acp, kept):
    agent, conversation, points = await talked(acp, kept, "one", "two")
    read = await agent.read_conversation(conversation)
    assert [turn["message"]["text"] for turn in read.turns] == ["one", "two"]
    assert [turn["responseParts"][0]["content"] for turn in read.turns] == ["one", "two"]
    assert read.points == {read.turns[-1]["id"]: points[-1]}
    with pytest.raises(AgentFailure, match="no session no-such"):
        await agent.read_conversation("no-such")


@pytest_twisted.ensureDeferred
async def test_one_that_was_read_back_can_be_forked_at_its_last_turn(acp, kept, tmp_path):
    _, conversation, _ = await talked(acp, kept, "one", "two")
    (tmp_path / "data" / "newest-turns").rename(tmp_path / "elsewhere")
    agent = acp.agent(kept)
    read = await agent.read_conversation(conversation)
    (point,) = read.points.values()
    talk = await acp.talk(agent, start=again(conversation, point, "fork"))
    assert await talk.say("count") == "2"


@pytest_twisted.ensureDeferred
async def test_a_conversation_is_deleted_where_the_agent_deletes(acp, kept):
    agent, conversation, _ = await talked(acp, kept, "one")
    await agent.delete_conversation(conversation)
    assert stored(kept) == {}
    await agent.delete_conversation(conversation)  # one it does not have is no error
    with pytest.raises(AgentFailure, match="offers no session/delete"):
        await acp.agent().delete_conversation("x")


@pytest_twisted.ensureDeferred
async def test_rows_that_cannot_be_read_cost_themselves(acp, kept):
    kept["at"] = {"session/list": "rows"}
    found = await acp.agent(kept).list_conversations()
    assert [(row.id, row.title) for row in found] == [("good", "Good"), ("bare", "bare")]
    assert found[1].modified_at == "2026-01-02T03:04:05.000Z"


class FullDisk(RecordedHost):
    """A host whose disk has room from the second time on."""

    def kept_as(self, conversation):
        super().kept_as(conversation)
        if len(self.kept) == 1:
            raise StoreFailure("no room")


@pytest_twisted.ensureDeferred
async def test_an_id_that_could_not_be_kept_is_kept_at_the_next_turn(acp, kept):
    host = FullDisk()
    talk = await acp.talk(acp.agent(kept), host=host)
    with pytest.raises(StoreFailure):
        await talk.say("one")
    assert await talk.say("two") == "two"
    assert await talk.say("three") == "three"
    assert len(host.kept) == 2
    assert len(set(host.kept)) == 1
