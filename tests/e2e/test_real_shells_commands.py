"""`!` commands of a real shell, while the agent does something else."""

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE

from .sitting import SHELLS, drawn, program

every_shell = pytest.mark.parametrize("shell", SHELLS)


def call_of(turn):
    (part,) = turn["responseParts"]
    return part["toolCall"]


def printed(turn):
    """What the command of a turn printed, as its result has it; "" for nothing."""
    return "".join(block["text"] for block in call_of(turn)["content"] if block["type"] == "text")


async def chat_in(serve, talk, shell, folder=None, **preset):
    daemon = await serve(preset={"SHELL": program(shell), "LANG": "C.UTF-8", **preset})
    probe = await daemon.connect("ann", ROOT)
    more = {} if folder is None else {"workingDirectories": [folder.as_uri()]}
    return daemon, await talk(probe, **more)


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_command_is_run_by_the_shell_of_the_person(serve, talk, tmp_path, shell):
    folder = tmp_path / "a folder ✓"
    folder.mkdir()
    daemon, ann = await chat_in(serve, talk, shell, folder, MINE="kept", AHPD_LOG_LEVEL="info")
    turn = await ann.say("!echo hi; exit 3")
    assert printed(turn).strip() == "hi"
    assert call_of(turn)["content"][0]["result"]["exitCode"] == 3
    turn = await ann.say("!printf 'b\\na\\n' | sort | tr a-z A-Z && pwd")
    assert printed(turn).split("\n")[:3] == ["A", "B", str(folder)]
    assert call_of(turn)["content"][0]["result"]["exitCode"] == 0
    turn = await ann.say("!env")
    names = {line.partition("=")[0] for line in printed(turn).splitlines()}
    assert {"MINE", "TERM", "HOME"} <= names
    assert not [name for name in names if "ahpd" in name.lower()]
    assert "ZDOTDIR" not in names
    turn = await ann.say("!echo 'é ✓ 日本' \"two  blanks\" > 'a file'; cat 'a file'")
    assert printed(turn).strip() == "é ✓ 日本 two  blanks"
    assert (folder / "a file").exists()
    assert daemon.token not in str(ann.probe.plain_state(ann.chat))


@every_shell
@pytest_twisted.ensureDeferred
async def test_a_command_of_several_lines_is_one(serve, talk, shell):
    _, ann = await chat_in(serve, talk, shell)
    turn = await ann.say("!echo one\necho two\nsh -c 'exit 4'")
    assert printed(turn).splitlines() == ["one", "two"]
    assert call_of(turn)["content"][0]["result"]["exitCode"] == 4


@pytest_twisted.ensureDeferred
async def test_a_command_runs_while_the_agent_streams_and_both_come_whole(serve, talk):
    _, ann = await chat_in(serve, talk, "bash")
    first = await ann.begin("/stream 6000 40\n/say the end of it")
    await ann.grown(20)
    turn = await ann.say("!for i in $(seq 3000); do echo line $i; done")
    assert turn["state"] == "complete"
    uri = call_of(turn)["content"][0]["resource"]
    await ann.probe.subscribe(uri)
    content = ann.probe.plain_state(uri)["content"]
    words = drawn("".join(part.get("output", part.get("value")) for part in content))
    assert words == "".join(f"line {number}\n" for number in range(1, 3001))

    def over():
        return [
            said
            for said in ann.probe.envelopes(ann.chat)
            if said.type == "chat/turnComplete" and said.action["turnId"] == first
        ]

    await ann.probe.wait_for(over, PATIENCE, "the end of what the agent streamed")
    assert (await ann.say("hello"))["state"] == "complete"


@pytest_twisted.ensureDeferred
async def test_a_large_output_is_kept_in_part_and_says_so(serve, talk):
    daemon, ann = await chat_in(serve, talk, "bash")
    before = daemon.memory("VmHWM")
    turn = await ann.say("!seq 2000000; echo the end")
    terminal = call_of(turn)["content"][0]
    assert terminal["result"]["exitCode"] == 0
    assert terminal["result"]["truncated"] is True
    await ann.probe.subscribe(terminal["resource"])
    content = ann.probe.plain_state(terminal["resource"])["content"]
    text = "".join(part.get("output", part.get("value")) for part in content)
    assert len(text) <= 200_000
    assert drawn(text).endswith("1999999\n2000000\nthe end\n")
    assert drawn(text).split("\n")[0].isdigit()
    assert daemon.memory("VmHWM") - before < 64 * 1024 * 1024


@pytest_twisted.ensureDeferred
async def test_a_command_that_floods_is_stopped(serve, talk):
    daemon, ann = await chat_in(serve, talk, "bash")
    turn_id = await ann.begin("!yes")

    def uri():
        turn = ann.probe.plain_state(ann.chat).get("activeTurn")
        blocks = (
            turn["responseParts"][0]["toolCall"].get("content")
            if turn and turn["responseParts"]
            else None
        )
        return blocks and blocks[0].get("resource")

    terminal = await ann.probe.wait_for(uri, PATIENCE, "its terminal")
    await ann.probe.subscribe(terminal)
    await ann.probe.wait_for(
        lambda: len(ann.probe.state(terminal)["content"]) > 0, PATIENCE, "some of its output"
    )
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await ann.probe.perform(ann.chat, stop)
    turn = await ann.finished(turn_id)
    assert turn["state"] == "cancelled"
    assert not call_of(turn).get("success")
    await ann.probe.wait_for(
        lambda: ann.probe.state(terminal)["lifecycle"]["status"] == "exited", PATIENCE, "its end"
    )
    await daemon.until(
        lambda: not [pid for pid in daemon.children() if b"yes" in daemon.command_line(pid)],
        "the end of the flood",
    )
    assert printed(await ann.say("!echo back")).strip() == "back"
