"""Many sessions, many connections, all at once."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.protocol.uris import ROOT


def together(*work):
    return gatherResults([Deferred.fromCoroutine(one) for one in work], consumeErrors=True)


async def run_many(serve, talk, text_of, connections, sessions):
    daemon = await serve()
    probes = await together(
        *(daemon.connect(f"client-{number}", ROOT) for number in range(connections))
    )
    talks = []
    for start in range(0, sessions, len(probes)):
        some = probes[: sessions - start]
        talks += await together(*(talk(probe) for probe in some))
    assert len({one.session for one in talks}) == sessions

    async def run(number, one):
        turn = await one.say(f"/think {number}\n/say session {number}\n/usage {number} 1")
        assert turn["state"] == "complete"
        assert text_of(turn) == f"session {number}"
        assert text_of(turn, "reasoning") == str(number)
        assert turn["usage"]["inputTokens"] == number

    for start in range(0, sessions, 25):
        await together(*(run(n, one) for n, one in enumerate(talks[start : start + 25], start)))
    listed = (await probes[0].request("listSessions"))["items"]
    assert {row["resource"] for row in listed} == {one.session for one in talks}
    await probes[-1].wait_for(
        lambda: probes[-1].state(ROOT)["activeSessions"] == 0, what="no active session"
    )
    return daemon


@pytest_twisted.ensureDeferred
async def test_forty_sessions_over_ten_connections(serve, talk, text_of):
    await run_many(serve, talk, text_of, 10, 40)


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_two_hundred_sessions_over_fifty_connections(serve, talk, text_of):
    daemon = await run_many(serve, talk, text_of, 50, 200)
    assert len(daemon.children()) == 201


@pytest_twisted.ensureDeferred
async def test_turns_of_many_sessions_at_once_are_not_mixed_up(serve, talk, text_of):
    daemon = await serve()
    probes = await together(*(daemon.connect(f"client-{n}", ROOT) for n in range(5)))
    talks = await together(*(talk(probe) for probe in probes for _ in range(3)))
    turns = await together(*(one.say(f"/say {n}|\n/stream 300 50") for n, one in enumerate(talks)))
    streamed = "".join(str(number).ljust(50, ".") for number in range(300))
    for number, turn in enumerate(turns):
        assert text_of(turn) == f"{number}|{streamed}"


@pytest_twisted.ensureDeferred
async def test_connections_that_come_and_go_leave_nothing(serve):
    daemon = await serve()
    await daemon.connect("stays", ROOT)
    before = daemon.descriptors()
    for batch in range(5):
        probes = await together(*(daemon.connect(f"passing-{batch}-{n}", ROOT) for n in range(20)))
        for number, probe in enumerate(probes):
            if number % 2:
                probe.abort()
            else:
                probe.close()
        await gatherResults([probe.closed for probe in probes])
    await daemon.until(lambda: daemon.descriptors() <= before, "all descriptors closed")
