"""Real coding agents over ACP after something ended: a session, a program, the daemon.

The conversations they keep are gone on with, listed and copied as each of them can, and
whatever ends leaves none of their processes behind.
"""

import signal
import time

import pytest
import pytest_twisted
from twisted.internet.task import deferLater

from ahpd.protocol.uris import ROOT

from .fake_model import GREETING
from .talking import PATIENCE, Talk, calls_of, talk_about, talk_in, text_of

pytestmark = pytest.mark.agents

GREETED = "".join(GREETING)


@pytest_twisted.async_yield_fixture
async def daemon(serving, tmp_path):
    """A daemon of one test's own, not started yet. It is judged however it ends."""
    made = serving.daemon(tmp_path / "daemon")
    yield made
    await made.leave()


async def gone(daemon):
    """Wait until all that is left of the daemon's children is the one that guards them."""
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the agent's programs")


async def of_age(daemon, agent):
    """Wait until the agent can open again what it has just had open."""
    if agent.loses_what_is_young:
        await deferLater(daemon.reactor, 61 - time.time() % 60)


def programs(daemon):
    """Its children that are the agent's, the one it started itself first."""
    return [pid for pid in daemon.children() if b"guard.py" not in daemon.command_line(pid)]


@pytest_twisted.ensureDeferred
async def test_a_conversation_goes_on_after_its_program_was_killed_in_a_turn(
    daemon, serving, figures
):
    await daemon.start()
    ann = await talk_in(daemon, await daemon.connect("ann", ROOT), serving.agent.id)
    assert text_of(await ann.say("REMEMBER salt")) == GREETED
    turn_id = await ann.begin("SLOW 300")
    await ann.probe.wait_for(lambda: "word3" in ann.answered(), PATIENCE, "some words")
    daemon.send_signal_to(programs(daemon)[0], signal.SIGKILL)
    turn = await ann.finished(turn_id)
    assert turn["state"] == "error"
    assert ann.ends(turn_id) == ["chat/error"]
    await gone(daemon)
    await of_age(daemon, serving.agent)
    with figures.taking(serving.agent.id, "go on after its program was killed"):
        turn = await ann.say("RECALL REMEMBER pepper")
    assert text_of(turn) == "I was told: salt, pepper"


@pytest_twisted.ensureDeferred
async def test_a_conversation_goes_on_after_a_restart_of_the_daemon(daemon, serving, figures):
    await daemon.start()
    ann = await talk_in(daemon, await daemon.connect("ann", ROOT), serving.agent.id)
    assert text_of(await ann.say("REMEMBER salt")) == GREETED
    await deferLater(daemon.reactor, 1)  # some write down what they did a little later
    await daemon.stop()
    await of_age(daemon, serving.agent)
    await daemon.start()
    ann = await talk_about(daemon, await daemon.connect("ann", ROOT), ann.session)
    with figures.taking(serving.agent.id, "go on after a restart"):
        turn = await ann.say("RECALL REMEMBER pepper")
    assert text_of(turn) == "I was told: salt, pepper"
    path = daemon.work / "written later"
    await ann.allow_all(serving.agent.writing(path, "yes"))
    assert path.read_text().strip() == "yes"
    assert len(ann.probe.plain_state(ann.chat)["turns"]) == 3


@pytest_twisted.ensureDeferred
async def test_the_conversations_it_keeps_are_listed_read_and_gone_on_with(serving, tmp_path):
    if not serving.agent.lists:
        pytest.skip(f"{serving.agent.id} lists no conversations")
    daemon = serving.daemon(tmp_path / "daemon", sessions="memory")
    async with daemon:
        ann = await talk_in(daemon, await daemon.connect("ann", ROOT), serving.agent.id)
        assert text_of(await ann.say("REMEMBER salt")) == GREETED
        path = daemon.work / "written"
        await ann.decide(serving.agent.writing(path, "yes"), True)
        await deferLater(daemon.reactor, 1)  # some write down what they did a little later
        await daemon.stop()
        await daemon.start()  # it knows of nothing; the agent does
        ann = await daemon.connect("ann", ROOT)
        rows = await listed(daemon, ann)
        (row,) = rows
        assert row["provider"] == serving.agent.id
        found = await talk_about(daemon, ann, row["resource"])
        turns = ann.plain_state(found.chat)["turns"]
        assert "REMEMBER salt" in turns[0]["message"]["text"]
        assert text_of(turns[0]) == GREETED
        assert [call["status"] for call in calls_of(turns[1])] == ["completed"]
        trust = {"enabled": True, "trustedUris": [daemon.work.as_uri()]}
        await ann.perform(ROOT, {"type": "root/configChanged", "config": {"workspaceTrust": trust}})
        assert text_of(await found.say("RECALL")) == "I was told: salt"
        await found.probe.ping()
        assert len(ann.plain_state(found.chat)["turns"]) == 3
        rows = await listed(daemon, ann)
        assert [each["resource"] for each in rows] == [row["resource"]]


async def listed(daemon, probe):
    """The sessions a listing shows, once it shows any: the agent's own come when they are known."""
    end = daemon.reactor.seconds() + PATIENCE
    while not (rows := (await probe.request("listSessions"))["items"]):
        assert daemon.reactor.seconds() < end, "nothing is listed"
        await deferLater(daemon.reactor, 0.1)
    return rows


@pytest_twisted.ensureDeferred
async def test_a_copy_of_a_conversation_knows_what_it_is_a_copy_of(daemon, serving):
    if not serving.agent.forks:
        pytest.skip(f"{serving.agent.id} copies no conversations")
    await daemon.start()
    ann = await talk_in(daemon, await daemon.connect("ann", ROOT), serving.agent.id)
    turn = await ann.say("REMEMBER salt")
    assert text_of(turn) == GREETED
    copy = "ahp-chat:/copy"
    source = {"kind": "fork", "chat": ann.chat, "turnId": turn["id"]}
    await ann.probe.request("createChat", channel=ann.session, chat=copy, source=source)
    await ann.probe.subscribe(copy)
    other = Talk(daemon, ann.probe, ann.session, copy)
    assert text_of(await other.say("RECALL REMEMBER pepper")) == "I was told: salt, pepper"
    assert text_of(await ann.say("RECALL")) == "I was told: salt"


@pytest_twisted.ensureDeferred
async def test_nothing_is_left_of_it_when_its_session_goes_or_the_daemon_stops(
    daemon, serving, figures
):
    name = serving.agent.id
    await daemon.start()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk_in(daemon, probe, name)
    assert text_of(await ann.say("Good morning")) == GREETED
    assert programs(daemon)
    for channel in (ann.chat, ann.session):
        probe.unsubscribe(channel)
    with figures.taking(name, "end of a session"):
        await probe.request("disposeSession", channel=ann.session)
        await gone(daemon)
    bob = await talk_in(daemon, probe, name)
    await bob.begin("SLOW 300")
    await probe.wait_for(lambda: "word3" in bob.answered(), PATIENCE, "some words")
    with figures.taking(name, "stop of the daemon in a turn"):
        await daemon.stop()


@pytest_twisted.ensureDeferred
async def test_nothing_is_left_of_it_when_the_daemon_is_killed(daemon, serving):
    await daemon.start()
    ann = await talk_in(daemon, await daemon.connect("ann", ROOT), serving.agent.id)
    line = "sleep 600 & echo $! > pid; wait"
    turn_id = await ann.begin(serving.agent.running(line))
    await ann.answer(turn_id, await ann.asked(), True)
    pid = daemon.work / "pid"
    await daemon.until(lambda: pid.exists() and pid.read_text().strip(), "its shell's child")
    assert programs(daemon)
    await daemon.kill()
    await daemon.until(
        lambda: b"sleep" not in daemon.command_line(int(pid.read_text())), "the end of a sleep"
    )
