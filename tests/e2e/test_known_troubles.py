"""What hosts of this kind are known to get wrong, over real sockets with the real program."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ahpd.client import ActionRefused
from ahpd.protocol.uris import ROOT

ENDS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")


def pause(daemon, seconds):
    return deferLater(daemon.reactor, seconds, lambda: None)


@pytest_twisted.ensureDeferred
async def test_a_socket_that_drops_right_after_it_asked_for_a_session_leaves_one(serve):
    daemon = await serve()
    watcher = await daemon.connect("watcher", ROOT)
    for number in range(10):
        session = f"ahp-session:/dropped-{number}"
        probe = await daemon.connect("ann", ROOT)
        asking = Deferred.fromCoroutine(
            probe.request("createSession", channel=session, provider="demo")
        )
        asking.addErrback(lambda _: None)
        await pause(daemon, 0.002 * number)
        probe.abort()
        again = await daemon.connect("ann", ROOT)
        await again.request("createSession", channel=session, provider="demo")
        await again.subscribe(session)
        [chat] = again.state(session)["chats"]
        await again.subscribe(chat["resource"])
        await again.perform(chat["resource"], started(f"turn-{number}", "/say hello"))
    listed = [row["resource"] for row in (await watcher.request("listSessions"))["items"]]
    assert sorted(listed) == sorted(f"ahp-session:/dropped-{number}" for number in range(10))


def started(turn_id, text):
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    }


@pytest_twisted.ensureDeferred
async def test_a_turn_sent_twice_under_one_id_runs_once(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.probe.perform(ann.chat, started("mine", "/say once"))
    await ann.finished("mine")
    for text in ("/say once", "/say twice"):
        with pytest.raises(ActionRefused, match="mine"):
            await ann.probe.perform(ann.chat, started("mine", text))
    assert [turn["id"] for turn in ann.probe.plain_state(ann.chat)["turns"]] == ["mine"]


@pytest.mark.parametrize("rounds", [30, pytest.param(200, marks=pytest.mark.long)])
@pytest_twisted.ensureDeferred
async def test_a_turn_sent_ten_milliseconds_after_a_stop_has_its_own_words_alone(
    serve, talk, text_of, rounds
):
    daemon = await serve(settings={"deltaWindowMs": 0})
    ann = await talk(await daemon.connect("ann", ROOT))
    for number in range(rounds):
        first, second = f"first-{number}", f"second-{number}"
        endless = f"/say a{number}\n/stream 100000 8"
        await ann.probe.perform(ann.chat, started(first, endless))
        stop = {"type": "chat/turnCancelled", "turnId": first, "duration": 1}
        await ann.probe.perform(ann.chat, stop)
        await pause(daemon, 0.01)
        await ann.probe.perform(ann.chat, started(second, f"/say b{number}"))
        turn = await ann.finished(second)
        assert text_of(turn) == f"b{number}"
        assert turn["state"] == "complete"
        assert ann.turn(first)["state"] == "cancelled"
    for turn_id in ("first", "second"):
        ends = [
            envelope.action["turnId"]
            for envelope in ann.probe.envelopes(ann.chat)
            if envelope.action["type"] in ENDS and envelope.action["turnId"].startswith(turn_id)
        ]
        assert len(ends) == len(set(ends)) == rounds


@pytest_twisted.ensureDeferred
async def test_a_queued_message_taken_back_as_the_turn_ends_runs_or_is_gone(serve, talk):
    daemon = await serve(settings={"deltaWindowMs": 0})
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    for number in range(40):
        message, text = f"queued-{number}", f"/say queued {number}"
        turn = await ann.begin(f"/sleep {number % 8}\n/say done")
        await ann.probe.perform(
            ann.chat,
            {
                "type": "chat/pendingMessageSet",
                "kind": "queued",
                "id": message,
                "message": {"text": text, "origin": {"kind": "user"}},
            },
        )
        await pause(daemon, 0.001 * (number % 11))
        removal = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": message}
        await bob.probe.perform(ann.chat, removal)
        await ann.probe.ping()  # now she was told all that came before it, as he was
        await ann.finished(turn)
        await ann.probe.wait_for(lambda: "activeTurn" not in ann.probe.state(ann.chat))
        state = ann.probe.plain_state(ann.chat)
        runs = [turn for turn in state["turns"] if turn["message"]["text"] == text]
        assert not state.get("queuedMessages")
        assert len(runs) <= 1
        starts = [
            envelope
            for envelope in bob.probe.envelopes(ann.chat)
            if envelope.action.get("queuedMessageId") == message
        ]
        assert len(starts) == len(runs)
        removals = [
            envelope
            for envelope in ann.probe.envelopes(ann.chat)
            if envelope.action["type"] == "chat/pendingMessageRemoved"
            and envelope.action["id"] == message
        ]
        assert [envelope.rejection for envelope in removals] == [None]
        if starts:  # it was taken back too late, and the order says so
            assert starts[0].seq < removals[0].seq
