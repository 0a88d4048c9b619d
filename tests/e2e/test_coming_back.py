"""Connections that break in the middle of a turn, and clients of other versions."""

import pytest
import pytest_twisted

from ahpd.client import RpcError
from ahpd.protocol.uris import ROOT

MIB = 1024 * 1024


@pytest_twisted.ensureDeferred
async def test_a_client_that_was_cut_mid_turn_is_replayed_what_it_missed(serve, talk, text_of):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    words = " ".join(f"word{number}" for number in range(120))
    turn_id = await ann.begin(words)
    await ann.grown(40)
    ann.probe.abort()
    seen = ann.probe.last_seen_seq
    await bob.grown(ann.answered() + 80)  # what she saw, whichever of the two was told first
    await daemon.attach(ann.probe)
    back = await ann.probe.reconnect()
    assert back.type == "replay"
    numbers = [envelope.seq for envelope in back.actions]
    assert numbers
    assert numbers == sorted(set(numbers))
    assert numbers[0] > seen
    assert text_of(await ann.finished(turn_id)) == f"You said: {words}"
    assert text_of(await bob.finished(turn_id)) == f"You said: {words}"
    assert ann.probe.restarts == []


@pytest_twisted.ensureDeferred
async def test_past_a_thousand_envelopes_it_is_given_snapshots(serve, talk, text_of):
    daemon = await serve(settings={"deltaWindowMs": 0})
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    turn_id = await ann.begin("/stream 1500 10\n/sleep 3600000")
    await ann.grown(100)
    ann.probe.abort()
    await bob.grown(15_000)
    await daemon.attach(ann.probe)
    back = await ann.probe.reconnect()
    assert (back.type, back.actions, back.missing) == ("snapshot", (), ())
    assert ann.answered() == 15_000
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await ann.probe.perform(ann.chat, stop)
    assert len(text_of(await ann.finished(turn_id))) == 15_000


@pytest_twisted.ensureDeferred
async def test_past_the_replay_bytes_it_is_given_snapshots_too(serve, talk):
    daemon = await serve(settings={"replayBytes": MIB, "deltaWindowMs": 0})
    ann = await talk(await daemon.connect("ann", ROOT))
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    ann.probe.abort()
    await bob.say("/stream 30 100000")
    await daemon.attach(ann.probe)
    assert (await ann.probe.reconnect()).type == "snapshot"
    assert len(ann.probe.plain_state(ann.chat)["turns"]) == 1
    # Within them, a replay again.
    ann.probe.abort()
    await bob.say("/stream 5 100000")
    await daemon.attach(ann.probe)
    assert (await ann.probe.reconnect()).type == "replay"
    assert len(ann.probe.plain_state(ann.chat)["turns"]) == 2


@pytest_twisted.ensureDeferred
async def test_a_channel_that_went_meanwhile_is_missing(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say hello")
    ann.probe.abort()
    bob = await daemon.connect("bob", ROOT)
    await bob.request("disposeSession", channel=ann.session)
    await daemon.attach(ann.probe)
    back = await ann.probe.reconnect()
    assert set(back.missing) == {ann.session, ann.chat}
    assert ann.probe.subscriptions == [ROOT]


@pytest_twisted.ensureDeferred
async def test_a_client_nobody_knows_begins_again(serve):
    daemon = await serve()
    stranger = daemon.client("stranger")
    await daemon.attach(stranger)
    with pytest.raises(RpcError, match="Reconnect client not found: stranger") as refused:
        await stranger.reconnect()
    assert refused.value.code == -32008
    await stranger.initialize(subscriptions=[ROOT])
    assert stranger.state(ROOT)["agents"]


@pytest_twisted.ensureDeferred
async def test_a_restarted_daemon_does_not_know_its_clients(make_daemon):
    from socket import socket

    with socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    first = await make_daemon("--port", port).start()
    ann = await first.connect("ann", ROOT)
    await first.stop()
    second = await make_daemon("--port", port).start()
    await ann.closed
    ann_again = second.client("ann")
    await second.attach(ann_again)
    with pytest.raises(RpcError, match="not found: ann"):
        await ann_again.reconnect()


@pytest.mark.parametrize("version", ["0.9.0", "0.10.0"])
@pytest_twisted.ensureDeferred
async def test_a_client_of_an_older_version_keeps_to_it_when_it_comes_back(
    serve, talk, text_of, version
):
    daemon = await serve()
    old = await talk(await daemon.connect("old", ROOT, versions=[version]))
    new = await old.with_client(await daemon.connect("new", ROOT, versions=["1.0.0", version]))
    assert (old.probe.version, new.probe.version) == (version, "1.0.0")
    await new.probe.perform(new.session, {"type": "session/titleChanged", "title": "Ours"})
    turn = await new.say("/think hm\n/tool look around\nHello\n/usage 1 2")
    assert turn["state"] == "complete"
    await old.probe.ping()
    old.probe.abort()
    again = await new.say("/say more")
    await daemon.attach(old.probe)
    await old.probe.reconnect()
    turns = old.probe.plain_state(old.chat)["turns"]
    assert [text_of(one) for one in turns] == [text_of(turn), text_of(again)]
    assert (await old.say("/say and more"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_versions_nobody_here_speaks_are_refused_with_those_that_are(serve):
    daemon = await serve()
    probe = daemon.client("future")
    await daemon.attach(probe)
    with pytest.raises(RpcError) as refused:
        await probe.initialize(versions=["2.0.0"])
    assert refused.value.code == -32005
    assert refused.value.data["supportedVersions"] == ["1.0.0", "0.10.0", "0.9.0"]
    with pytest.raises(RpcError, match=r"protocolVersions\[0\]") as refused:
        await probe.initialize(versions=["one"])
    assert refused.value.code == -32602
    await probe.initialize(versions=["2.0.0", "1.0.0"])


@pytest_twisted.ensureDeferred
async def test_several_clients_that_come_and_go_hold_one_state(serve, talk):
    daemon = await serve()
    talks = [await talk(await daemon.connect("c0", ROOT))]
    for number in range(1, 5):
        probe = await daemon.connect(f"c{number}", ROOT)
        talks.append(await talks[0].with_client(probe))
    words = " ".join(f"w{number}" for number in range(80))
    turn_id = await talks[0].begin(words)
    for number, one in enumerate(talks[1:], 1):
        await talks[0].grown(number * 40)
        one.probe.abort()
        await daemon.attach(one.probe)
        assert (await one.probe.reconnect()).type == "replay"
    turns = [await one.finished(turn_id) for one in talks]
    assert all(turn == turns[0] for turn in turns)


@pytest_twisted.ensureDeferred
async def test_a_client_that_opens_a_second_connection_is_served_on_both(serve, talk):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    twin = await ann.with_client(await daemon.connect("ann", ROOT))
    turn_id = await ann.begin("/say once\n/sleep 100\n/say twice")
    first, second = await ann.finished(turn_id), await twin.finished(turn_id)
    assert first == second
