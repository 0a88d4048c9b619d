"""Clients and agents that behave badly, all of it while somebody else is at work."""

import os
import random
import signal

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from ahpd.client import ConnectionGone, RpcError
from ahpd.protocol.uris import ROOT

MIB = 1024 * 1024


def agents_of(daemon):
    return [pid for pid in daemon.children() if b"program.py" in daemon.command_line(pid)]


@pytest.mark.parametrize("window", [0, 75])
@pytest_twisted.ensureDeferred
async def test_drops_at_any_point_of_a_fast_stream_lose_and_repeat_nothing(
    serve, talk, text_of, window
):
    daemon = await serve(settings={"deltaWindowMs": window})
    chance = random.Random(20260102 + window)
    first = await talk(await daemon.connect("c0", ROOT))
    talks = [first]
    talks += [await first.with_client(await daemon.connect(f"c{n}", ROOT)) for n in range(1, 4)]
    turn_id = await first.begin("/stream 10000 40\n/say end")
    kinds = set()

    async def wobble(one):
        for _ in range(5):
            await deferLater(daemon.reactor, chance.random() / 10, lambda: None)
            one.probe.abort()
            await deferLater(daemon.reactor, chance.random() / 20, lambda: None)
            await daemon.attach(one.probe)
            kinds.add((await one.probe.reconnect()).type)

    await gatherResults([Deferred.fromCoroutine(wobble(one)) for one in talks[1:]])
    turns = [await one.finished(turn_id) for one in talks]
    expected = "".join(str(number).ljust(40, ".") for number in range(10_000)) + "end"
    assert [text_of(turn) == expected for turn in turns] == [True] * 4
    assert kinds


@pytest_twisted.ensureDeferred
async def test_a_client_that_was_closed_for_not_reading_comes_back_whole(serve, talk, text_of):
    daemon = await serve(settings={"clientQueueBytes": MIB, "replayBytes": MIB})
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    closed = bob.probe.closed
    bob.pause()
    turn = await ann.say("/stream 200 100000")
    assert "client bob" in await daemon.logged("is not reading")
    bob.resume()
    await closed
    await daemon.attach(bob.probe)
    assert (await bob.probe.reconnect()).type == "snapshot"
    (read,) = bob.probe.plain_state(bob.chat)["turns"]
    assert text_of(read) == text_of(turn)
    assert (await bob.say("/say reading again"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_a_client_that_pauses_for_a_moment_is_not_closed(serve, talk, text_of):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/stream 100 50000")
    ann.pause()
    await deferLater(daemon.reactor, 0.5, lambda: None)
    ann.resume()
    assert len(text_of(await ann.finished(turn_id))) == 5_000_000
    assert "not reading" not in daemon.log


@pytest_twisted.ensureDeferred
async def test_an_agent_that_is_killed_from_outside_costs_its_turn_alone(serve, talk, text_of):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await talk(await daemon.connect("bob", ROOT))
    ours = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    (agent,) = agents_of(daemon)
    theirs = await bob.begin("/say fine\n/sleep 1000")
    daemon.send_signal_to(agent, signal.SIGKILL)
    turn = await ann.finished(ours)
    assert (turn["state"], text_of(turn)) == ("error", "so far")
    assert (await bob.finished(theirs))["state"] == "complete"
    assert (await ann.say("/say again"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_an_agent_that_hears_nothing_is_killed_after_a_stop(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    (agent,) = agents_of(daemon)
    daemon.send_signal_to(agent, signal.SIGSTOP)
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await ann.probe.perform(ann.chat, stop)
    assert (await ann.finished(turn_id))["state"] == "cancelled"
    assert (await ann.say("/say again"))["state"] == "complete"
    assert agent not in daemon.children()


@pytest_twisted.ensureDeferred
async def test_a_session_disposed_of_mid_stream_ends_its_turn_and_its_process(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await talk(await daemon.connect("bob", ROOT))
    await ann.begin("/stream 10000000 100")
    await ann.grown(10_000)
    assert len(agents_of(daemon)) == 1
    await bob.probe.request("disposeSession", channel=ann.session)
    await daemon.until(lambda: not agents_of(daemon), "the end of the agent's process")
    for channel in (ann.session, ann.chat):
        ann.probe.unsubscribe(channel)
        with pytest.raises(RpcError):
            await bob.probe.subscribe(channel)
    assert (await bob.say("/say fine"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_sessions_made_and_disposed_of_in_a_row_leave_nothing(serve, talk):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    one = await talk(ann)
    await one.say("/say warm")
    before = daemon.descriptors()
    for _ in range(10):
        other = await talk(ann)
        await other.say("/say hello")
        for channel in (other.session, other.chat):
            ann.unsubscribe(channel)
        await ann.request("disposeSession", channel=other.session)
    await daemon.until(lambda: len(agents_of(daemon)) == 1, "the end of their processes")
    await daemon.until(lambda: daemon.descriptors() <= before, "all descriptors closed")
    assert len((await ann.request("listSessions"))["items"]) == 1


@pytest_twisted.ensureDeferred
async def test_a_very_long_message_comes_back_whole(serve, talk, text_of):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    words = " ".join(["wörd→" * 50_000] * 20)
    turn_id = await ann.begin(words)
    turn = await ann.finished(turn_id)
    assert text_of(turn) == f"You said: {words}"
    assert await bob.finished(turn_id) == turn


@pytest_twisted.ensureDeferred
async def test_frames_that_break_the_protocol_cost_their_connection_alone(serve, talk, raw):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 500")
    bearer = f"Authorization: Bearer {daemon.token}"
    for payload, opcode, code in (
        (b"\xff\xfe", 1, 1007),
        (b"binary", 2, 1003),
        (b"x", 5, 1002),
    ):
        rude = raw(daemon)
        assert rude.upgrade("/", bearer)[0] == 101
        rude.send(payload, opcode)
        assert code.to_bytes(2, "big") in rude.rest(), code
    long = raw(daemon)
    assert long.upgrade("/", bearer)[0] == 101
    long.socket.sendall(b"\x81\xff" + (2**40).to_bytes(8, "big") + os.urandom(4))
    assert (1009).to_bytes(2, "big") in long.rest()
    for message in (b"[]", b"[{}]", b"17", b"{", b'{"jsonrpc":"2.0","id":1e400,"method":"ping"}'):
        odd = raw(daemon)
        assert odd.upgrade("/", bearer)[0] == 101
        odd.send(message)
        odd.send({"jsonrpc": "2.0", "id": "alive", "method": "ping", "params": {}})
        heard = b""
        while b'"alive"' not in heard:
            piece = odd.socket.recv(4096)
            assert piece, message
            heard += piece
        assert b'"error"' in heard, message
    assert (await ann.finished(turn_id))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_a_window_on_the_newest_turns_keeps_up_and_reaches_back(serve, talk, text_of):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    for number in range(6):
        await ann.say(f"/say {number}")
    bob = await daemon.connect("bob", ROOT)
    await bob.subscribe(ann.chat, turns=2)
    state = bob.plain_state(ann.chat)
    assert [text_of(turn) for turn in state["turns"]] == ["4", "5"]
    assert state["turnsNextCursor"]
    await ann.say("/say 6")
    await bob.request("fetchTurns", channel=ann.chat, cursor=state["turnsNextCursor"])
    await bob.wait_for(lambda: len(bob.state(ann.chat)["turns"]) == 7, what="the older turns")
    texts = [text_of(turn) for turn in bob.plain_state(ann.chat)["turns"]]
    assert texts == [str(number) for number in range(7)]


@pytest_twisted.ensureDeferred
async def test_a_client_that_asked_for_fewer_deltas_holds_the_same_text(serve, talk, text_of):
    daemon = await serve(settings={"deltaWindowMs": 0})
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await daemon.connect("bob", ROOT)
    await bob.subscribe(ann.chat, delivery={"maxLatencyMs": 200})
    turn = await ann.say(" ".join(f"word{number}" for number in range(50)))
    await bob.wait_for(lambda: len(bob.state(ann.chat)["turns"]) == 1, what="the turn's end")
    (seen,) = bob.plain_state(ann.chat)["turns"]
    assert text_of(seen) == text_of(turn)
    deltas = [
        len([said for said in probe.envelopes(ann.chat) if said.type == "chat/delta"])
        for probe in (ann.probe, bob)
    ]
    assert deltas[1] < deltas[0] / 3


@pytest_twisted.ensureDeferred
async def test_whoever_waits_is_told_when_the_daemon_dies(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say so far\n/sleep 3600000")
    await ann.grown(6)
    waiting = Deferred.fromCoroutine(ann.finished(turn_id))
    await daemon.kill()
    with pytest.raises(ConnectionGone):
        await waiting
