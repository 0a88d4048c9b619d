"""`!` commands of a real shell: what they print, how they end, and that nothing is left of them."""

import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE


def call_of(turn):
    [part] = turn["responseParts"]
    return part["toolCall"]


async def running(talk):
    """The call of the command that runs, once it names its terminal."""

    def found():
        turn = talk.probe.plain_state(talk.chat).get("activeTurn")
        calls = [part["toolCall"] for part in turn["responseParts"]] if turn else []
        return calls and calls[0].get("content") and calls[0]

    return await talk.probe.wait_for(found, PATIENCE, "a command that runs")


def printed(probe, uri):
    """What a terminal that is watched holds of what was printed."""
    return "".join(part["value"] for part in probe.plain_state(uri)["content"])


async def written(daemon, path):
    """Wait for a line in a file."""
    await daemon.until(lambda: path.exists() and path.read_text().endswith("\n"), str(path))


async def gone(daemon, pids):
    """Wait until the processes named in a file run no more."""
    for pid in pids.read_text().split():
        await daemon.until(lambda pid=pid: not daemon.command_line(int(pid)), f"the end of {pid}")


@pytest_twisted.ensureDeferred
async def test_what_a_command_prints_and_how_it_ends(serve, talk):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    folder = daemon.work / "with space"
    folder.mkdir()
    ann = await talk(probe, workingDirectories=[folder.as_uri()])
    turn = await ann.say("!pwd; printf '\\033[32mgreen\\033[0m\\n'; exit 3")
    call = call_of(turn)
    assert (turn["state"], call["success"]) == ("complete", False)
    assert call["pastTenseMessage"] == "Command exited with code 3"
    terminal, text = call["content"]
    assert text["text"].splitlines() == [str(folder), "green"]
    assert terminal["result"]["exitCode"] == 3
    assert "\x1b[32mgreen\x1b[0m" in terminal["result"]["preview"]
    await probe.subscribe(terminal["resource"])
    state = probe.plain_state(terminal["resource"])
    assert state["lifecycle"] == {"status": "exited", "exitCode": 3}
    turn = await ann.say("!kill -9 $$")
    assert call_of(turn)["pastTenseMessage"] == "Command was ended by SIGKILL"
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the commands")


@pytest_twisted.ensureDeferred
async def test_a_stop_leaves_nothing_of_what_a_command_started(serve, talk, tmp_path):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    pids = tmp_path / "pids"
    line = f"echo begun; sleep 1000 & setsid sleep 1000 & echo $$ $! > {pids}; wait"
    turn_id = await ann.begin(f"!{line}")
    uri = (await running(ann))["content"][0]["resource"]
    await probe.subscribe(uri)
    await probe.wait_for(lambda: "begun" in printed(probe, uri), PATIENCE, "what it prints")
    await written(daemon, pids)
    assert len(daemon.children()) >= 3
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await probe.perform(ann.chat, stop)
    turn = await ann.finished(turn_id)
    call = call_of(turn)
    assert (turn["state"], call["status"], call["success"]) == ("cancelled", "completed", False)
    assert call["pastTenseMessage"] == "Command was stopped"
    assert call["content"][0]["resource"] == uri
    assert call["content"][1]["text"] == "begun"
    await probe.wait_for(
        lambda: probe.plain_state(uri)["lifecycle"]["status"] == "exited", PATIENCE, "its end"
    )
    probe.unsubscribe(uri)
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of all it started")
    await gone(daemon, pids)


@pytest_twisted.ensureDeferred
async def test_what_a_command_had_printed_when_it_or_the_host_was_stopped_reads_back(
    serve, talk, tmp_path
):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    pids = tmp_path / "pids"
    ends = {}
    for end in ("cancelled", "error"):
        turn_id = await ann.begin(f"!echo begun {end}; echo $$ > {pids}; sleep 1000")
        uri = (await running(ann))["content"][0]["resource"]
        await probe.subscribe(uri)
        await probe.wait_for(lambda uri=uri: printed(probe, uri), PATIENCE, "what it prints")
        await written(daemon, pids)
        ends[end] = turn_id
        if end == "cancelled":
            stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
            await probe.perform(ann.chat, stop)
            await ann.finished(turn_id)
            await gone(daemon, pids)
            pids.unlink()
    await daemon.stop()
    await gone(daemon, pids)
    await daemon.start()
    reader = await daemon.connect("bob", ROOT)
    for channel in (ann.session, ann.chat):
        await reader.subscribe(channel)
    turns = reader.plain_state(ann.chat)["turns"]
    assert {turn["state"]: turn["id"] for turn in turns} == ends
    for turn in turns:
        call = call_of({"responseParts": turn["responseParts"][:1]})
        terminal, text = call["content"]
        assert (call["pastTenseMessage"], text["text"]) == (
            "Command was stopped", f"begun {turn['state']}",
        )  # fmt: skip
        await reader.subscribe(terminal["resource"])
        assert reader.plain_state(terminal["resource"])["lifecycle"]["status"] == "exited"
        assert f"begun {turn['state']}" in printed(reader, terminal["resource"])


@pytest_twisted.ensureDeferred
async def test_a_question_and_a_command_run_beside_each_other(serve, talk, tmp_path):
    daemon = await serve()
    probe = await daemon.connect("ann", ROOT)
    ann = await talk(probe)
    gate = tmp_path / "gate"
    first = await ann.begin(f"!until test -e {gate}; do sleep 0.05; done; echo done")
    await running(ann)
    answered = await ann.say("hello")
    assert answered["state"] == "complete"
    gate.touch()
    await probe.wait_for(
        lambda: any(
            said.type == "chat/turnComplete" and said.action["turnId"] == first
            for said in probe.envelopes(ann.chat)
        ),
        PATIENCE,
        "the end of the command that was replaced",
    )
    turn = await ann.say("!echo again")
    assert call_of(turn)["content"][1]["text"] == "again"


@pytest_twisted.ensureDeferred
async def test_a_command_a_killed_host_ran_is_gone_and_reads_back_interrupted(
    serve, talk, tmp_path
):
    daemon = await serve()
    ann = await talk(await daemon.connect("ann", ROOT))
    done = await ann.say("!echo kept")
    pids = tmp_path / "pids"
    turn_id = await ann.begin(f"!sleep 1000 & echo $$ $! > {pids}; wait")
    await running(ann)
    await written(daemon, pids)
    await daemon.kill()
    await gone(daemon, pids)
    await daemon.start()
    probe = await daemon.connect("bob", ROOT)
    for channel in (ann.session, ann.chat):
        await probe.subscribe(channel)
    before, last = probe.plain_state(ann.chat)["turns"]
    assert before == done
    assert (last["id"], last["state"]) == (turn_id, "error")
    assert last["responseParts"][0]["toolCall"]["status"] == "cancelled"
    uri = call_of(before)["content"][0]["resource"]
    await probe.subscribe(uri)
    assert "kept" in printed(probe, uri)
