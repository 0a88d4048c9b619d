"""Models, endpoints and keys: what a picker offers, and what goes where."""

import jsonschema
import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from zope.interface.verify import verifyObject

from ahpd.interfaces import AgentFailure, AgentRecord, IEngine, InvalidRecord
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd.testing.agents import RecordedHost
from ahpd_agent_openai.catalogue import models_of
from ahpd_agent_openai.engine import OpenAIEngine
from ahpd_agent_openai.settings import SCHEMA, read
from ahpd_agent_openai.targets import Targets
from ahpd_agent_openai.testing import Answer, FakeEndpoint, refuses


def pause(reactor, seconds=0.002):
    deferred = Deferred()
    reactor.callLater(seconds, deferred.callback, None)
    return deferred


async def listed(bench, agent):
    changed = []
    agent.on_changed(lambda: changed.append(1))
    for _ in range(300):
        if changed:
            break
        await pause(bench.reactor)
    return agent.info()["models"], changed


OPENROUTER = {
    "id": "deepseek/deepseek-chat", "name": "DeepSeek", "context_length": 64000,
    "architecture": {"input_modalities": ["text", "image"]},
    "supported_parameters": ["tools", "reasoning"],
    "top_provider": {"max_completion_tokens": 8192},
}  # fmt: skip
VLLM = {"id": "qwen", "max_model_len": 32768}
LMSTUDIO = {"id": "gemma", "type": "vlm", "max_context_length": 8192, "loaded_context_length": 4096}
EMBEDDING = {"id": "nomic", "type": "embeddings"}


@pytest_twisted.ensureDeferred
async def test_what_the_endpoint_lists_is_offered_behind_the_configured_model(bench):
    bench.endpoint.models = bench.endpoint.listing(
        OPENROUTER, VLLM, LMSTUDIO, EMBEDDING, {"id": 3}, "x"
    )
    agent = bench.agent(model="mine")
    assert [row["id"] for row in agent.info()["models"]] == ["openai/mine"]
    rows, changed = await listed(bench, agent)
    assert changed == [1]
    assert [row["id"] for row in rows] == [
        "openai/mine", "openai/deepseek/deepseek-chat", "openai/qwen", "openai/gemma", "openai/x",
    ]  # fmt: skip
    for row in rows:
        check_strict(row, shape("root.SessionModelInfo"), "row")
    router = rows[1]
    assert router["name"] == "DeepSeek"
    assert router["maxContextWindow"] == 64000
    assert router["maxOutputTokens"] == 8192
    assert router["supportsVision"] is True
    thinking = router["configSchema"]["properties"]["thinkingLevel"]
    assert thinking["enum"] == ["off", "low", "medium", "high"]
    assert thinking["default"] == "off"
    assert rows[2]["maxContextWindow"] == 32768
    assert "configSchema" not in rows[2]
    assert "supportsVision" not in rows[2]
    assert rows[3]["maxContextWindow"] == 4096
    await bench.chat(agent)
    await pause(bench.reactor, 0.02)
    assert len([one for one in bench.endpoint.asked if one.path.endswith("/models")]) == 1
    assert bench.endpoint.asked[0].authorization is None


@pytest_twisted.ensureDeferred
async def test_what_the_operator_says_of_a_model_goes_first(bench):
    bench.endpoint.models = bench.endpoint.listing(OPENROUTER, VLLM)
    agent = bench.agent(model="qwen", models={
        "qwen": {"supportsReasoningEffort": ["high", "low"], "maxContextWindow": 9999},
        "deepseek/deepseek-chat": {"supportsReasoningEffort": []},
    })  # fmt: skip
    rows, _ = await listed(bench, agent)
    assert [row["id"] for row in rows] == ["openai/qwen", "openai/deepseek/deepseek-chat"]
    thinking = rows[0]["configSchema"]["properties"]["thinkingLevel"]
    assert thinking["enum"] == ["low", "high"]
    assert "default" not in thinking
    assert rows[0]["maxContextWindow"] == 9999
    assert "configSchema" not in rows[1]


@pytest.mark.parametrize(
    "answer",
    [refuses(401, "no"), Answer(status=404), Answer(body=b"<html>"), Answer(body=b'{"data": 3}'),
     Answer(wait=Deferred())],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_the_configured_model_stands_alone_where_no_list_comes(bench, answer):
    bench.endpoint.models = answer
    agent = bench.agent(catalogueTimeoutMs=50)
    changed = []
    agent.on_changed(lambda: changed.append(1))
    await pause(bench.reactor, 0.15)
    assert [row["id"] for row in agent.info()["models"]] == ["openai/fake"]
    assert changed == []


@pytest_twisted.ensureDeferred
async def test_each_provider_lists_its_own_under_its_id(bench, reactor):
    other = FakeEndpoint(reactor)
    other.start()
    other.models = other.listing({"id": "meta/llama"})
    bench.endpoint.models = bench.endpoint.listing({"id": "a"})
    agent = bench.agent(model="one/a", base=False, providers=[
        {"id": "one", "baseUrl": bench.endpoint.url, "apiKey": "key-one"},
        {"id": "two", "baseUrl": other.url + "/", "apiKey": "key-two", "headers": {"X-Title": "ahpd"}},
    ])  # fmt: skip
    rows, _ = await listed(bench, agent)
    while len(rows) < 2:
        await pause(reactor)
        rows = agent.info()["models"]
    assert [row["id"] for row in rows] == ["one/a", "two/meta/llama"]
    chat = await bench.chat(agent)
    await bench.turn(chat, model={"id": "two/meta/llama"})
    asked = other.asked[-1]
    assert asked.body["model"] == "meta/llama"
    assert asked.authorization == "Bearer key-two"
    assert asked.headers.getRawHeaders("x-title") == ["ahpd"]
    assert not bench.endpoint.completions
    await bench.turn(chat, turn_id="t2")
    assert bench.endpoint.asked[-1].authorization == "Bearer key-one"
    assert bench.endpoint.completions[-1]["model"] == "a"
    await chat.close()
    await other.stop()


def targets(environ=None, model=None, **config):
    record = AgentRecord(id="bot", engine="openai", name="Bot", model=model, config=config)
    jsonschema.validate(dict(config), SCHEMA)
    return Targets("bot", read(record), environ or {})


ROUTER = {"id": "router", "baseUrl": "https://router.example/api/v1", "apiKey": "P"}


def test_a_model_is_split_at_the_first_slash():
    made = targets(providers=[ROUTER], baseUrl="https://own.example/v1/", apiKey="R")
    one = made.of("router/deepseek/deepseek-chat")
    assert (one.provider, one.model, one.base_url) == (
        "router",
        "deepseek/deepseek-chat",
        ROUTER["baseUrl"],
    )
    one = made.of("bot/qwen/qwen3")
    assert (one.provider, one.model, one.base_url) == (
        "bot",
        "qwen/qwen3",
        "https://own.example/v1",
    )
    one = made.of("qwen/qwen3")
    assert (one.provider, one.model) == ("bot", "qwen/qwen3")


def test_a_session_goes_before_the_record_and_the_record_before_the_engines_default():
    made = targets(model="recorded", baseUrl="https://own.example/v1", apiKey="R")
    assert made.of(None).model == "recorded"
    assert made.of(None, {"model": "chosen"}).model == "chosen"
    assert made.of("picked", {"model": "chosen"}).model == "picked"
    own = made.of(None, {"baseUrl": "https://else.example/v1"})
    assert own.base_url == "https://else.example/v1"
    assert own.key is None, "a key goes to the endpoint it was given for"


def test_what_may_hold_a_key_goes_to_no_endpoint_a_session_names():
    secret = {"Authorization": "Bearer of-the-record", "X-Api-Key": "k"}
    made = targets(
        model="m",
        baseUrl="https://own.example/v1",
        headers=secret,
        apiKey="R",
        resource="https://resource.example",
    )
    for url in ("https://evil.example/v1", "http://own.example/v1", "https://own.example:1/v1"):
        own = made.of(None, {"baseUrl": url})
        assert (own.headers, own.key) == ({}, None)
        assert own.resource != "https://resource.example"
    assert made.of(None, {"baseUrl": "https://own.example/v1/"}).headers == secret
    assert made.of(None).headers == secret


@pytest.mark.parametrize("field", ["apiKey", "apiKeyEnv", "headers", "resource", "models"])
def test_what_is_said_of_an_endpoint_for_every_record_goes_to_no_other(field):
    assert SCHEMA["properties"][field]["x-ahpd-goes-with"] == "baseUrl"


@pytest.mark.parametrize(
    "url",
    ["http://x:port/v1", "https://u:hush@x/v1", "https://x/v1?key=hush", "http://[::1", "ftp://x"],
)
def test_a_session_s_endpoint_that_is_none_is_refused_in_words(url):
    made = targets(model="m", baseUrl="https://own.example/v1")
    with pytest.raises(AgentFailure) as refused:
        made.of(None, {"baseUrl": url})
    assert "baseUrl" in refused.value.message
    assert "hush" not in refused.value.message


def test_the_records_key_goes_before_a_providers_for_the_same_endpoint_alone():
    other = {"id": "other", "baseUrl": "https://other.example/v1", "apiKey": "O"}
    made = targets(model="router/x", providers=[ROUTER, other], apiKey="R")
    assert made.of(None).key == "R"
    assert made.of("other/y").key == "O"
    made = targets(
        model="router/x", providers=[ROUTER, other], baseUrl="https://own.example/v1", apiKey="R"
    )
    assert made.of("router/x").key == "P"
    assert made.of("bot/x").key == "R"


def test_a_key_may_be_in_the_variable_an_entry_names():
    made = targets({"ROUTER_KEY": "E", "OWN": "R"}, baseUrl="https://own.example/v1", apiKeyEnv="OWN",
                   providers=[{**ROUTER, "apiKey": "", "apiKeyEnv": "ROUTER_KEY"}])  # fmt: skip
    assert made.of("router/x").key == "E"
    assert made.of("x").key == "R"
    assert "ROUTER_KEY" in made.of("router/x").key_hint


@pytest_twisted.ensureDeferred
async def test_a_token_a_client_lent_goes_before_every_key(bench):
    agent = bench.agent(apiKey="mine", resource="https://resource.example")
    (resource,) = agent.info()["protectedResources"]
    check_strict(agent.info(), shape("root.AgentInfo"), "info")
    assert resource["resource"] == "https://resource.example"
    assert resource["required"] is False
    host = RecordedHost()
    chat = await bench.chat(agent, host)
    await bench.turn(chat)
    host.credentials["https://resource.example"] = "lent"
    await bench.turn(chat, turn_id="t2")
    host.credentials.clear()
    await bench.turn(chat, turn_id="t3")
    asked = [one.authorization for one in bench.endpoint.asked if one.path.endswith("completions")]
    assert asked == ["Bearer mine", "Bearer lent", "Bearer mine"]
    await chat.close()


def test_the_resource_is_the_origin_of_an_endpoint_with_tls():
    made = targets(model="x", providers=[ROUTER])
    assert made.of("router/x").resource == "https://router.example"
    assert targets(model="x", baseUrl="http://127.0.0.1:1/v1").of("x").resource.startswith("urn:")


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"baseUrl": "ftp://x"}, "baseUrl"),
        ({"baseUrl": "https://user:secret@x/v1"}, "baseUrl"),
        ({"baseUrl": "https://x/v1?key=secret"}, "baseUrl"),
        ({"providers": [ROUTER, ROUTER]}, r"providers\[1\].id"),
        (
            {"providers": [{**ROUTER, "headers": {"X": "a\r\nB: secret"}}]},
            r"providers\[0\].headers",
        ),
        ({"headers": {"a b": "secret"}}, "headers"),
    ],
)
def test_a_record_that_cannot_be_read_names_its_field_and_no_secret(config, words):
    record = AgentRecord(id="bot", engine="openai", name="Bot", config=config)
    with pytest.raises(InvalidRecord, match=words) as caught:
        read(record)
    assert "secret" not in str(caught.value)


def test_nothing_that_is_printed_holds_a_key():
    made = targets(
        model="router/x", providers=[ROUTER], apiKey="R-secret", headers={"X-Key": "H-secret"}
    )
    for value in (made.of(None), made._settings, made._settings.providers):
        assert "secret" not in repr(value)
        assert "'P'" not in repr(value)


# -- the engine -----------------------------------------------------------------------


def test_the_engine_and_its_templates_fit():
    engine = OpenAIEngine()
    verifyObject(IEngine, engine)
    jsonschema.Draft202012Validator.check_schema(engine.schema())
    for template in engine.templates():
        jsonschema.validate(dict(template.config), engine.schema())
        read(
            AgentRecord(id=template.id, engine="openai", name=template.name, config=template.config)
        )
    assert engine.templates()[0].id == "openai"


def test_it_is_found_among_the_entry_points():
    from importlib.metadata import entry_points

    (found,) = [one for one in entry_points(group="ahpd.engines") if one.name == "openai"]
    assert found.load() is OpenAIEngine


@pytest_twisted.ensureDeferred
async def test_a_record_is_checked_without_spending_tokens(bench):
    engine = OpenAIEngine()
    record = AgentRecord(
        id="bot", engine="openai", name="Bot", model="fake", config={"baseUrl": bench.endpoint.url}
    )
    findings = await engine.check(record, bench.ports())
    assert [(one.about, one.ok) for one in findings] == [("endpoint", True), ("model", True)]
    bench.endpoint.models = refuses(401, "no")
    findings = await engine.check(record, bench.ports())
    assert [(one.about, one.ok) for one in findings] == [("sign-in", False)]
    assert "apiKey" in findings[0].mend
    assert "apiKey" not in findings[0].words, "what mends it is said twice"
    findings = await engine.check(
        AgentRecord(id="bot", engine="openai", name="Bot", config={"baseUrl": "nothing"}),
        bench.ports(),
    )
    assert [(one.about, one.ok) for one in findings] == [("configuration", False)]
    findings = await engine.check(AgentRecord(id="bot", engine="openai", name="Bot"), bench.ports())
    assert [(one.about, one.ok) for one in findings] == [("model", False)]
    assert not bench.endpoint.completions


@pytest_twisted.ensureDeferred
async def test_a_check_says_which_variable_is_not_set_though_the_models_are_listed(bench):
    config = {"baseUrl": bench.endpoint.url, "apiKeyEnv": "BOT_KEY"}
    record = AgentRecord(id="bot", engine="openai", name="Bot", model="fake", config=config)
    findings = await OpenAIEngine().check(record, bench.ports())
    (unset,) = [one for one in findings if not one.ok]
    assert (unset.about, unset.words) == ("sign-in", "BOT_KEY is not set")
    findings = await OpenAIEngine().check(record, bench.ports(environ={"BOT_KEY": "k"}))
    assert all(one.ok for one in findings)


@pytest_twisted.ensureDeferred
async def test_a_record_without_a_model_is_fine_while_there_are_some_to_choose(bench):
    record = AgentRecord(
        id="bot", engine="openai", name="Bot", config={"baseUrl": bench.endpoint.url}
    )
    findings = await OpenAIEngine().check(record, bench.ports())
    assert [(one.about, one.ok) for one in findings] == [("endpoint", True), ("model", True)]
    assert findings[0].words.endswith("lists 1 model")
    bench.endpoint.models = bench.endpoint.listing()
    findings = await OpenAIEngine().check(record, bench.ports())
    assert [(one.about, one.ok) for one in findings] == [("endpoint", True), ("model", False)]
    assert findings[1].mend == "model: <model> in the record of the agent bot"


def test_a_list_of_models_is_read_in_each_shape():
    assert [one.id for one in models_of([{"id": "a"}, {"id": "a"}, "b"])] == ["a", "b"]
    assert [one.id for one in models_of({"models": [{"id": "a"}]})] == ["a"]
    for wrong in (None, 3, {}, {"data": {}}):
        with pytest.raises(ValueError, match="no list"):
            models_of(wrong)


def test_a_session_may_name_a_model_and_an_endpoint_and_nothing_else(bench):
    agent = bench.agent()
    agent.check_config("model", "x/y")
    agent.check_config("baseUrl", "http://127.0.0.1:1/v1")
    for key, value in (("model", 3), ("baseUrl", "file:///etc"), ("apiKey", "x")):
        with pytest.raises(AgentFailure):
            agent.check_config(key, value)
