"""A client that stops reading, beside one that does not."""

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT

MIB = 1024 * 1024


@pytest_twisted.ensureDeferred
async def test_it_is_closed_and_named_and_nobody_else_waits(serve, talk, raw, text_of):
    daemon = await serve(settings={"clientQueueBytes": MIB, "replayBytes": 2 * MIB})
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/say warm")
    before = daemon.memory()
    deaf = raw(daemon, receive_buffer=4096)
    assert deaf.upgrade("/", f"Authorization: Bearer {daemon.token}")[0] == 101
    deaf.initialize("deaf-client", ann.session, ann.chat)
    turn = await ann.say("/stream 600 100000")
    text = text_of(turn)
    assert len(text) == 60_000_000
    assert [text[at : at + 4].rstrip(".") for at in range(0, len(text), 100_000)] == [
        str(number) for number in range(600)
    ]
    line = await daemon.logged("deaf-client")
    line = await daemon.logged("is not reading")
    assert "deaf-client" in line
    assert "1048576 are allowed" in line
    # The answer itself is 60 MB and is held once; the deaf client's share would be as much again.
    assert daemon.memory("VmHWM") - before < 60 * MIB + 90 * MIB
    assert (await ann.say("/say still here"))["state"] == "complete"
    assert not [line for line in daemon.log.splitlines() if "ann" in line and "not reading" in line]


@pytest.mark.parametrize("readers", [3])
@pytest_twisted.ensureDeferred
async def test_readers_that_are_merely_slow_are_waited_for(serve, talk, text_of, readers):
    """A probe judges every frame, which is slow: the agent is held back, nobody is closed."""
    daemon = await serve(settings={"clientQueueBytes": 4 * MIB})
    first = await talk(await daemon.connect("r0", ROOT))
    others = [
        await first.with_client(await daemon.connect(f"r{number}", ROOT))
        for number in range(1, readers)
    ]
    turn_id = await first.begin("/stream 2000 10000")
    for one in (first, *others):
        assert len(text_of(await one.finished(turn_id))) == 20_000_000
    assert "not reading" not in daemon.log
