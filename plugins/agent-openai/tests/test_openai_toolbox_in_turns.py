"""The engine's own tools, called by a model."""

import attrs
import pytest_twisted

from ahpd.interfaces import AgentRecord
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedHost, RecordedOutput
from ahpd.wire.codec import encode
from ahpd_agent_openai.engine import OpenAIEngine
from ahpd_agent_openai.testing import calls, says
from ahpd_agent_openai.tools import make_toolbox


@pytest_twisted.ensureDeferred
async def test_a_model_reads_a_file_of_the_session(bench):
    (bench.folder / "notes.txt").write_text("the colour is green\n")
    record = AgentRecord(
        id="openai", engine="openai", name="O", model="fake",
        config={"baseUrl": bench.endpoint.url, "apiKeyEnv": "THE_KEY", "tools": {"web": False}},
    )  # fmt: skip
    ports = attrs.evolve(bench.ports(), environ={"THE_KEY": "secret-key", "PATH": "/usr/bin:/bin"})
    agent = OpenAIEngine().open(record, ports)
    bench.agents.append(agent)
    chat = await bench.chat(agent, RecordedHost(), working_directories=(bench.folder.as_uri(),))
    bench.endpoint.answers += [says("Hi")]
    await bench.turn(chat, turn_id="t0")
    offered = {
        one["function"]["name"]: one["function"] for one in bench.endpoint.completions[0]["tools"]
    }
    assert "read_file" in offered
    assert "web_fetch" not in offered
    bench.endpoint.answers += [calls("read_file", {"path": "notes.txt"}), says("Green")]
    output = RecordedOutput("t1")
    await bench.turn(chat, output=output)
    assert "the colour is green" in bench.endpoint.completions[-1]["messages"][-1]["content"]
    assert bench.endpoint.asked[-1].authorization == "Bearer secret-key"
    check_said(output.history, "t1")
    assert b"secret-key" not in encode(output.history)
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_variables_that_hold_keys_are_hidden_from_commands(bench, monkeypatch):
    given = []

    def made(ports, **more):
        given.append(more["hidden"])
        return make_toolbox(ports, **more)

    monkeypatch.setattr("ahpd_agent_openai.toolboxes.make_toolbox", made)
    provider = {"id": "two", "baseUrl": "http://127.0.0.1:1/v1", "apiKeyEnv": "OTHER_KEY"}
    config = {
        "baseUrl": bench.endpoint.url,
        "apiKeyEnv": "THE_KEY",
        "headers": {"X-Key": "in-a-header"},
        "providers": [provider, {**provider, "id": "three", "apiKey": "by-a-reference"}],
        "tools": {"web": {"search": {"brave": {"apiKey": "of-a-search"}}}},
    }
    record = AgentRecord(id="openai", engine="openai", name="O", model="fake", config=config)
    named = {"THE_KEY": "a", "OTHER_KEY": "b"}
    # What a reference was read from is known by its value alone.
    read = {"REFERRED": "by-a-reference", "HEADER": "in-a-header", "SEARCH": "of-a-search"}
    environ = {**named, **read, "PATH": "/usr/bin", "EMPTY": ""}
    agent = OpenAIEngine().open(record, attrs.evolve(bench.ports(), environ=environ))
    bench.agents.append(agent)
    chat = await bench.chat(agent)
    await chat.close()
    assert set(given[0]) == {*named, *read}
