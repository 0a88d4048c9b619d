"""Keys and lent tokens go where they are meant, and are in nothing else a daemon wrote or said.

The planted ones are looked for in the log, the wire log, the store, what every client was told,
and the environments of the programs.
"""

import json

import pytest
import pytest_twisted

from ahpd.client import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd_agent_openai.testing import refuses

from .agent_kit import Model, acp, chat, configures, llm, said

RESOURCE = "https://models.test"
LENT = "lent-7c1fe2-ann"
LENT_BY_BOB = "lent-93ab0d-bob"
KEY = "key-of-the-endpoint-51d2"
PROGRAM_KEY = "key-of-the-program-e077"
LITERAL = "key-in-the-file-88aa"
SERVER_KEY = "key-of-a-server-4d4d"


@pytest_twisted.async_yield_fixture
async def model():
    from twisted.internet import reactor

    made = Model(reactor)
    made.start()
    yield made
    await made.stop()


async def lends(probe, token, **more):
    await probe.request("authenticate", channel=ROOT, resource=RESOURCE, token=token, **more)


def spent(model):
    """What the newest completion was authorized with."""
    asked = [one for one in model.asked if one.path.endswith("/chat/completions")][-1]
    return asked.authorization


def written_by(daemon):
    """Every file a daemon wrote, and what it said, by name; its configuration is the test's."""
    found = {"log": daemon.log.encode(), "output": daemon.output.encode()}
    for path in daemon.directory.rglob("*"):
        mine = daemon.config in path.parents or path.name == "deeds.jsonl"
        if not mine and path.is_file():
            found[str(path)] = path.read_bytes()
    return found


def told(daemon):
    """Every frame the host sent to a client, but for answers to what holds a secret itself."""
    return "\n".join(
        json.dumps(message)
        for probe in daemon.clients
        for who, message in probe.frames
        if who == "host"
    )


def check_unsaid(daemon, *secrets):
    """No secret is in anything the daemon wrote, or told a client."""
    files = written_by(daemon)
    assert any(name.endswith("sessions.sqlite") for name in files), list(files)
    frames = told(daemon)
    for secret in secrets:
        holding = [name for name, data in files.items() if secret.encode() in data]
        assert not holding, f"{secret} is in {holding}"
        assert secret not in frames, f"{secret} was told"


def environments(one):
    """What programs of a chat found in their environment."""
    return [each[1] for each in one.deeds("environ")]


# -- tokens that clients lend ------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_lent_token_is_spent_on_its_clients_sessions_and_is_in_nothing_else(serve, model):
    settings = {"agents": [llm(model, resource=RESOURCE), acp()]}
    daemon = await serve("--port", "0", "--wire", "wire.jsonl", settings=settings)
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    hers = await chat(ann, "llm", daemon.work / "hers")
    his = await chat(bob, "llm", daemon.work / "his")
    await hers.does(["say", "before"])
    assert spent(model) is None
    await lends(ann, LENT)
    await hers.does(["say", "with it"])
    assert spent(model) == f"Bearer {LENT}"
    await his.does(["say", "his"])
    assert spent(model) is None
    await lends(bob, LENT_BY_BOB)
    await his.does(["say", "with his"])
    assert spent(model) == f"Bearer {LENT_BY_BOB}"
    # Neither a command of its agent nor a program has it in its environment.
    await configures(hers, permissions={"allow": ["Shell"], "deny": [], "ask": []})
    await hers.does(["tools", ["shell_exec", {"command": "env"}]])
    assert "PATH=" in model.tool_results[-1]
    program = await chat(ann, "acp", daemon.work / "program")
    await program.does(["dump", "environ"])
    assert not any(LENT in value for value in environments(program)[0].values())
    assert LENT not in model.tool_results[-1]
    # An endpoint that repeats it in its refusal: the error does not.
    model.answers.append(refuses(401, f"Incorrect API key provided: {LENT}"))
    ended = await hers.does(["say", "never"])
    assert ended["state"] == "error"
    (wrong,) = [part["error"] for part in ended["responseParts"] if part["kind"] == "error"]
    assert LENT not in json.dumps(wrong)
    params = {"channel": ROOT, "resource": "https://unknown.test", "token": LENT}
    with pytest.raises(RpcError) as refused:
        await ann.call("authenticate", params)
    assert LENT not in str(refused.value)
    # Taken back it is spent no more, and another's stays.
    await lends(ann, "")
    await hers.does(["say", "after"])
    assert spent(model) is None
    await his.does(["say", "still"])
    assert spent(model) == f"Bearer {LENT_BY_BOB}"
    # And it goes with its connection.
    await lends(ann, LENT)
    await hers.does(["say", "again"])
    assert spent(model) == f"Bearer {LENT}"
    ann.abort()
    again = await hers.seen_by(await daemon.connect("ann", ROOT))
    await again.does(["say", "a new connection"])
    assert spent(model) is None
    await daemon.stop()
    wire = (daemon.work / "wire.jsonl").read_text()
    assert "authenticate" in wire
    check_unsaid(daemon, LENT, LENT_BY_BOB)


@pytest_twisted.ensureDeferred
async def test_a_token_that_runs_out_is_told_to_the_connection_that_lent_it_alone(serve, model):
    daemon = await serve("--port", "0", settings={"agents": [llm(model, resource=RESOURCE)]})
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    second = await daemon.connect("ann-too", ROOT)
    hers = await chat(ann, "llm", daemon.work / "hers")
    await hers.seen_by(bob)
    await lends(bob, LENT_BY_BOB)
    await lends(ann, LENT, expiresIn=1)
    await hers.does(["say", "with it"])
    assert spent(model) == f"Bearer {LENT}"

    def expired(probe):
        return [params for method, params in probe.notifications if method == "auth/required"]

    await ann.wait_for(lambda: expired(ann), PATIENCE, "the word of it")
    (params,) = expired(ann)
    assert (params["channel"], params["reason"]) == (ROOT, "expired")
    assert params["resource"]["resource"] == RESOURCE
    assert LENT not in json.dumps(params)
    await hers.does(["say", "without"])
    assert spent(model) is None
    for other in (bob, second):
        await other.ping()
        assert not expired(other)


# -- keys of the configuration ---------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_configured_keys_reach_what_they_are_for_and_nothing_else(serve, model):
    # The variables are named as no program looks for them: what is read is a reference's alone.
    settings = {
        "agents": [
            llm(model, apiKey={"$env": "PLANTED_LLM"}),
            acp("keyed", env={"ITS_KEY": {"$env": "PLANTED_ACP"}, "ITS_LITERAL": LITERAL}),
            acp("plain"),
        ],
        "mcpServers": {
            "tickets": {
                "url": "http://127.0.0.1:1/mcp",
                "headers": {"X-Key": {"$env": "PLANTED_MCP"}},
            }
        },
    }
    preset = {"PLANTED_LLM": KEY, "PLANTED_ACP": PROGRAM_KEY, "PLANTED_MCP": SERVER_KEY}
    daemon = await serve("--port", "0", "--wire", "wire.jsonl", settings=settings, preset=preset)
    ann = await daemon.connect("ann", ROOT)
    one = await chat(ann, "llm", daemon.work / "llm")
    await configures(one, permissions={"allow": ["Shell"], "deny": [], "ask": []})
    # Names alone: what a command prints is kept, and told to everybody.
    await one.does(["tools", ["shell_exec", {"command": "env | cut -d= -f1"}]])
    assert spent(model) == f"Bearer {KEY}"
    names = model.tool_results[-1].splitlines()
    assert "PATH" in names
    assert not {"PLANTED_LLM", "ITS_KEY", "ITS_LITERAL"} & set(names)
    keyed = await chat(ann, "keyed", daemon.work / "keyed")
    plain = await chat(ann, "plain", daemon.work / "plain")
    for each in (keyed, plain):
        await each.does(["dump", "environ"], ["dump", "servers"])
    (its,), (other,) = environments(keyed), environments(plain)
    assert (its["ITS_KEY"], its["ITS_LITERAL"]) == (PROGRAM_KEY, LITERAL)
    # A program has the daemon's own variables (docs/agents.md), and none of another's record.
    assert not {"ITS_KEY", "ITS_LITERAL"} & set(other)
    assert LITERAL not in other.values()
    # A server's header goes to the program that is to send it.
    (tickets,) = [each for each in keyed.deeds("servers")[0][1] if each["name"] == "tickets"]
    assert tickets["headers"] == [{"name": "X-Key", "value": SERVER_KEY}]
    # An endpoint that is not there, and a program that dies: their words hold no key.
    model.answers.append(refuses(400, f"bad key {KEY}"))
    ended = await one.does(["say", "never"])
    assert ended["state"] == "error"
    shown = daemon.run("config", "--json")
    assert shown.returncode == 0, shown
    for secret in (KEY, PROGRAM_KEY, LITERAL, SERVER_KEY):
        assert secret not in shown.stdout + shown.stderr
    await daemon.stop()
    check_unsaid(daemon, KEY, PROGRAM_KEY, LITERAL, SERVER_KEY)


@pytest_twisted.ensureDeferred
async def test_a_key_whose_variable_is_missing_leaves_out_its_agent_in_words(serve, model):
    settings = {
        "agents": [
            llm(model, apiKey={"$env": "NOBODY_SET_THIS"}),
            acp("other"),
        ]
    }
    daemon = await serve("--port", "0", settings=settings)
    line = await daemon.logged("NOBODY_SET_THIS")
    assert "llm" in line
    ann = await daemon.connect("ann", ROOT)
    assert [row["provider"] for row in ann.state(ROOT)["agents"]] == ["other"]
    one = await chat(ann, "other", daemon.work / "other")
    assert said(await one.does(["say", "works"])) == "works"


# -- MCP servers of the configuration ------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_configured_servers_reach_a_program_in_its_shapes_and_a_bad_edit_changes_nothing(
    serve,
):
    index = {"command": "search-mcp", "args": ["--index", "/n"], "env": {"A": "1"}}
    settings = {
        "agents": [acp()],
        "mcpServers": {
            "search": index,
            "tickets": {"url": "http://127.0.0.1:1/mcp", "headers": {"X-A": "b"}},
            "missing": {"command": "x", "env": {"K": {"$env": "NOBODY_SET_THIS"}}},
        },
    }
    daemon = await serve("--port", "0", settings=settings)
    ann = await daemon.connect("ann", ROOT)
    file = daemon.config / "config.json"

    async def servers(name):
        one = await chat(ann, "acp", daemon.work / name)
        await one.does(["dump", "servers"])
        return {each["name"]: each for each in one.deeds("servers")[0][1]}

    found = await servers("first")
    assert list(found) == ["search", "tickets", "host"]
    assert found["search"] == {
        "name": "search",
        "command": "search-mcp",
        "args": ["--index", "/n"],
        "env": [{"name": "A", "value": "1"}],
    }
    assert found["tickets"] == {
        "type": "http",
        "name": "tickets",
        "url": "http://127.0.0.1:1/mcp",
        "headers": [{"name": "X-A", "value": "b"}],
    }
    await daemon.logged("NOBODY_SET_THIS")
    # An edit is read at the next session; one that cannot be read, or does not fit, is not.
    file.write_text(json.dumps({**settings, "mcpServers": {"only": {"command": "y"}}}))
    assert list(await servers("second")) == ["only", "host"]
    for number, bad in enumerate(
        (
            "{ not json",
            json.dumps({**settings, "mcpServers": {"both": {"command": "x", "url": "http://y"}}}),
            json.dumps({**settings, "mcpServers": {"none": {}}}),
            json.dumps({**settings, "mcpServers": ["search"]}),
        )
    ):
        file.write_text(bad)
        assert list(await servers(f"bad-{number}")) == ["only", "host"], bad
        assert list(await servers(f"worse-{number}")) == ["only", "host"], bad
    lines = [line for line in daemon.log.splitlines() if "stays as it was read last" in line]
    assert len(lines) == 4, lines
    file.write_text(json.dumps({**settings, "mcpServers": {"good": {"command": "z"}}}))
    assert list(await servers("third")) == ["good", "host"]
