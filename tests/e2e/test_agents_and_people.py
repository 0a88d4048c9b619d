"""Questions of agents of both engines before people who come late, disagree, leave and lose
their host: what nobody allowed is never done, and no question outlives whoever waits for it."""

import signal
from pathlib import Path

import attrs
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon

from .agent_kit import (
    Model,
    acp,
    again,
    calls_in,
    chat,
    confirmed,
    ends_of,
    llm,
    said,
    shell,
)

MIB = 1024 * 1024


@attrs.frozen
class House:
    """A daemon with both agents, and what the second asks."""

    model: Model
    daemon: Daemon


@pytest_twisted.async_yield_fixture
async def house(serve):
    """Starts a daemon with both agents."""
    from twisted.internet import reactor

    model = Model(reactor)
    model.start()

    async def start(**settings):
        settings = {"agents": [acp(), llm(model)], **settings}
        return House(model, await serve("--port", "0", settings=settings))

    yield start
    await model.stop()


def together(works):
    return gatherResults([Deferred.fromCoroutine(work) for work in works], consumeErrors=True)


def asks(*names):
    """The deed of an ACP program that asks about command lines."""
    return ["ask", *(shell(name, f"./{name} --now") for name in names)]


def touches(*names):
    """What a model calls that would leave files behind."""
    return ["tools", *(["shell_exec", {"command": f"touch {name}"}] for name in names)]


def left(folder):
    """The names of what is in a folder, but for the program's own record."""
    return sorted(path.name for path in folder.iterdir() if path.name != "deeds.jsonl")


def statuses(turn):
    return sorted(call["status"] for call in calls_in(turn))


@pytest_twisted.ensureDeferred
async def test_questions_of_several_chats_are_each_run_as_the_first_answer_says(house):
    """Ann and Bob answer opposite and at once; Carol comes late; what was denied is not done."""
    it = await house()
    daemon = it.daemon
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    ends = ends_of(ann)
    programs = [await chat(ann, "acp", daemon.work / f"p{n}") for n in range(3)]
    models = [await chat(ann, "llm", daemon.work / f"m{n}") for n in range(2)]
    turns = [await one.begin(asks("a", "b", "c"), ["say", "over"]) for one in programs]
    turns += [await one.begin(touches("a", "b", "c")) for one in models]
    chats = [*programs, *models]
    for one in programs:
        await one.asked("a", "b", "c")
    for one in models:  # which asks about one call after the other
        await one.asked()
    before = [sorted(one.calls()) for one in chats]
    for one in await together(one.seen_by(bob) for one in chats):
        assert one.probe.state(one.session)["inputNeeded"]
    # The first call of each: both answer, in one breath and in either order.
    for number, (one, turn, (name, *_)) in enumerate(zip(chats, turns, before, strict=True)):
        yes, no = (ann, bob) if number % 2 else (bob, ann)
        yes.dispatch(one.chat, confirmed(turn, name, True))
        no.dispatch(one.chat, confirmed(turn, name, False))
    carol = await daemon.connect("carol", ROOT)
    late = await together(one.seen_by(carol) for one in chats)
    for one in late[:3]:
        assert {"b", "c"} <= set(one.open())
    for one, (_, second, third) in zip(late, before, strict=True):
        await one.asked(second)
        assert await one.answers(second, True)
        await one.asked(third)
        assert await one.answers(third, False)
    for one, turn in zip(chats, turns, strict=True):
        ended = await one.finished(turn)
        assert ended["state"] == "complete"
        await one.needs_nothing()
        calls = {call["toolCallId"]: call for call in calls_in(ended)}
        allowed = {name for name, call in calls.items() if call["status"] == "completed"}
        assert statuses(ended) in (
            ["cancelled", "cancelled", "completed"],
            ["cancelled", "completed", "completed"],
        )
        if one in programs:
            assert {name for _, name in one.deeds("ran")} == allowed
            assert {name for _, name in one.deeds("refused")} == set(calls) - allowed
        else:
            lines = [calls[name]["toolInput"] for name in allowed]
            assert left(one.folder) == sorted(line.split()[1] for line in lines)
    assert ends == dict.fromkeys(turns, 1)


@pytest_twisted.ensureDeferred
async def test_a_question_outlives_the_client_that_asked_and_is_answered_by_another(house):
    it = await house()
    ann = await it.daemon.connect("ann", ROOT)
    one = await chat(ann, "acp", it.daemon.work / "p")
    other = await chat(ann, "llm", it.daemon.work / "m")
    turn, model_turn = await one.begin(asks("a", "b")), await other.begin(touches("a"))
    await one.asked("a", "b")
    (call,) = await other.asked()
    ann.abort()
    bob = await it.daemon.connect("bob", ROOT)
    ends = ends_of(bob)
    one, other = await one.seen_by(bob), await other.seen_by(bob)
    assert one.probe.state(one.session)["inputNeeded"]
    assert not one.deeds()
    assert await one.answers("a", True)
    assert await one.answers("b", False)
    assert await other.answers(call, False)
    assert statuses(await one.finished(turn)) == ["cancelled", "completed"]
    assert (await other.finished(model_turn))["state"] == "complete"
    assert sorted(one.deeds()) == [["ran", "a"], ["refused", "b"]]
    assert left(other.folder) == []
    assert ends == {turn: 1, model_turn: 1}
    for each in (one, other):
        await each.needs_nothing()


@pytest_twisted.ensureDeferred
async def test_a_program_that_dies_takes_its_questions_along(house):
    it = await house()
    ann = await it.daemon.connect("ann", ROOT)
    ends = ends_of(ann)
    dying = await chat(ann, "acp", it.daemon.work / "dying")
    staying = await chat(ann, "acp", it.daemon.work / "staying")
    other = await staying.begin(asks("a"))
    turn = await dying.begin(asks("a", "b"))
    await dying.asked("a", "b")
    await staying.asked("a")
    (pid,) = [pid for pid in it.daemon.children() if works_in(pid, dying.folder)]
    it.daemon.send_signal_to(pid, signal.SIGKILL)
    ended = await dying.finished(turn)
    assert (ended["state"], statuses(ended)) == ("error", ["cancelled", "cancelled"])
    await dying.needs_nothing()
    # An answer that comes now is of nothing that waits, and nothing runs for it.
    ann.dispatch(dying.chat, confirmed(turn, "a", True))
    await ann.ping()
    assert not dying.deeds()
    # Its neighbour's stands, and is answered.
    assert staying.probe.state(staying.session)["inputNeeded"]
    assert await staying.answers("a", True)
    assert statuses(await staying.finished(other)) == ["completed"]
    # The next turn asks anew, and under the same name.
    later = await dying.begin(asks("a"))
    await dying.asked("a")
    assert await dying.answers("a", True)
    await dying.finished(later)
    assert dying.deeds() == [["ran", "a"]]
    assert ends == {turn: 1, other: 1, later: 1}


def works_in(pid, folder):
    """Whether a process runs in a folder; one that is gone does not."""
    try:
        return Path(f"/proc/{pid}/cwd").readlink() == folder
    except OSError:
        return False


@pytest_twisted.ensureDeferred
async def test_a_turn_that_is_cancelled_or_disposed_of_runs_none_of_what_it_asked(house):
    it = await house()
    ann = await it.daemon.connect("ann", ROOT)
    ends = ends_of(ann)
    cancelled = [
        await chat(ann, "acp", it.daemon.work / "cp"),
        await chat(ann, "llm", it.daemon.work / "cm"),
    ]
    gone = [
        await chat(ann, "acp", it.daemon.work / "gp"),
        await chat(ann, "llm", it.daemon.work / "gm"),
    ]
    turns = []
    for one, deed in zip([*cancelled, *gone], [asks("a", "b"), touches("a", "b")] * 2, strict=True):
        turns.append(await one.begin(deed))
    for one in (*cancelled, *gone):
        await one.asked()
    for one, turn in zip(cancelled, turns, strict=False):
        ended = await one.cancels(turn)
        assert (ended["state"], statuses(ended)) == ("cancelled", ["cancelled", "cancelled"])
        await one.needs_nothing()
    for one in gone:
        await one.dispose()
    await it.daemon.until(
        lambda: not [p for p in it.daemon.children() if works_in(p, gone[0].folder)], "its end"
    )
    for one in (cancelled[0], gone[0]):
        assert not one.deeds("ran")
    for one in (cancelled[1], gone[1]):
        assert left(one.folder) == []
    assert {turn: ends[turn] for turn in turns[:2]} == dict.fromkeys(turns[:2], 1)


@pytest_twisted.ensureDeferred
async def test_no_question_outlives_a_host_that_was_killed_and_nothing_of_it_ever_runs(house):
    it = await house()
    daemon = it.daemon
    ann = await daemon.connect("ann", ROOT)
    chats = [await chat(ann, "acp", daemon.work / f"p{n}") for n in range(2)]
    chats += [await chat(ann, "llm", daemon.work / "m")]
    turns = [await one.begin(asks("a", "b"), ["say", "over"]) for one in chats[:2]]
    turns += [await chats[2].begin(touches("a", "b"))]
    for one in chats:
        await one.asked()
    names = [sorted(one.calls()) for one in chats]
    form = await chat(ann, "acp", daemon.work / "form")
    form_turn = await form.begin(["form", {"type": "object", "properties": {}}])
    await ann.wait_for(lambda: ann.state(form.session).get("inputNeeded"), PATIENCE, "the form")
    # One answer is on its way when it happens: it may count, the others never do.
    ann.dispatch(chats[0].chat, confirmed(turns[0], names[0][0], True))
    await daemon.kill()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    ends = ends_of(bob)
    rows = (await bob.request("listSessions"))["items"]
    assert not [row for row in rows if row["status"] & 4], rows
    back = [await again(bob, one) for one in (*chats, form)]
    for one, turn in zip(back, [*turns, form_turn], strict=True):
        state = bob.plain_state(one.chat)
        assert "activeTurn" not in state
        assert not bob.state(one.session).get("inputNeeded")
        (ended,) = [each for each in state["turns"] if each["id"] == turn]
        assert ended["state"] == "error"
        assert set(statuses(ended)) <= {"cancelled", "completed"}
        # Somebody whose screen still shows it says yes.
        for name in sorted(one.calls()):
            bob.dispatch(one.chat, confirmed(turn, name, True))
    await bob.ping()
    later = [await one.begin(asks("c")) for one in back[:2]]
    later += [await back[2].begin(touches("c"))]
    for one in back[:3]:
        open_calls = await one.asked()
        assert await one.answers(*open_calls, True)
    for one, turn in zip(back, later, strict=False):
        assert statuses(await one.finished(turn)) == ["completed"]
        await one.needs_nothing()
    ran = [[name for _, name in one.deeds("ran")] for one in back[:2]]
    assert ran[0] in (["c"], [names[0][0], "c"])
    assert ran[1] == ["c"]
    assert left(back[2].folder) == ["c"]
    assert ends == dict.fromkeys(later, 1)


@pytest_twisted.ensureDeferred
async def test_a_host_that_goes_in_order_ends_what_waits_and_comes_back_without_it(house):
    it = await house()
    daemon = it.daemon
    ann = await daemon.connect("ann", ROOT)
    chats = [await chat(ann, "acp", daemon.work / "p"), await chat(ann, "llm", daemon.work / "m")]
    turns = [await chats[0].begin(asks("a", "b")), await chats[1].begin(touches("a", "b"))]
    for one in chats:
        await one.asked()
    await daemon.stop()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    for one, turn in zip([await again(bob, each) for each in chats], turns, strict=True):
        (ended,) = bob.plain_state(one.chat)["turns"]
        assert (ended["id"], ended["state"]) == (turn, "error")
        assert statuses(ended) == ["cancelled", "cancelled"]
        assert not bob.state(one.session).get("inputNeeded")
    assert not chats[0].deeds("ran")
    assert left(chats[1].folder) == []


@pytest_twisted.ensureDeferred
async def test_agents_that_never_stop_cost_no_memory_and_starve_nobody(house):
    """Each engine streams to a client that does not read; the host holds the source back."""
    it = await house(clientQueueBytes=4 * MIB, replayBytes=2 * MIB)
    daemon, reactor = it.daemon, it.daemon.reactor
    slow, bob = await daemon.connect("slow", ROOT), await daemon.connect("bob", ROOT)
    floods = [
        await chat(slow, "acp", daemon.work / "p"),
        await chat(slow, "llm", daemon.work / "m"),
    ]
    quiet = [
        await chat(bob, "acp", daemon.work / "qp"),
        await chat(bob, "llm", daemon.work / "qm"),
    ]
    for one in quiet:
        await one.does(["say", "warm"])
    before = daemon.memory()
    reads = Reader(reactor, slow._link.connection.transport)
    turns = [await floods[0].begin(["flood", 4000]), await floods[1].begin(["endless", 4000])]
    for one in floods:
        await slow.wait_for(lambda one=one: answered(slow, one.chat) > 10_000, PATIENCE, "words")
    longest = 0.0
    for _ in range(8):
        for one in quiet:
            since = reactor.seconds()
            assert said(await one.does(["say", "still here"])) == "still here"
            longest = max(longest, reactor.seconds() - since)
    grown = daemon.memory("VmHWM") - before
    reads.stop()
    held = sum(answered(slow, one.chat) for one in floods)
    for one, turn in zip(floods, turns, strict=True):
        ended = await one.cancels(turn)
        assert ended["state"] == "cancelled"
        assert len(said(ended)) >= 10_000
    assert longest < 5, longest
    # What was answered is held once; the rest is what may be on its way.
    assert grown < held + 80 * MIB, (grown, held)
    assert it.model.written < held + 80 * MIB, "the endpoint was not held back"
    assert "not reading" not in daemon.log


def answered(probe, uri):
    turn = probe.state(uri).get("activeTurn") or {"responseParts": []}
    return sum(len(one["content"]) for one in turn["responseParts"] if one["kind"] == "markdown")


class Reader:
    """Has a client read in short breaths, far slower than it is sent to."""

    def __init__(self, reactor, transport):
        self.reactor = reactor
        self.transport = transport
        self.on = True
        self.pause()

    def pause(self):
        if self.on:
            self.transport.pauseProducing()
            self.waiting = self.reactor.callLater(0.1, self.breathe)

    def breathe(self):
        self.transport.resumeProducing()
        self.waiting = self.reactor.callLater(0.005, self.pause)

    def stop(self):
        self.on = False
        self.waiting.cancel()
        self.transport.resumeProducing()
