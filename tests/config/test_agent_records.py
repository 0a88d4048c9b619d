"""`agents`, `engines` and the other keys that stand in the file alone."""

import json

import pytest

from ahpd.config.errors import ConfigError
from ahpd.config.settings import BY_NAME, Settings
from ahpd.testing.planted import planted

SECRET = planted("the key of an agent")


def refused(place, text):
    path = place.write(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    words = str(caught.value)
    assert "\n" not in words
    assert SECRET not in words
    return words.replace(str(path), "FILE")


def test_a_record_is_read_whole(place):
    place.write(
        """
agents:
  - id: codex
    engine: acp
    name: Codex
    description: By its adapter
    model: gpt-x
    mode: paused
    config: {command: codex-acp, args: [a, b], env: {KEY: {$env: MY_KEY}}, nested: {n: [1, 2.5, null, true]}}
  - {id: my_agent-2, engine: demo}
"""
    )
    first, second = place.load().get("agents")
    assert (first.id, first.engine, first.name, first.description) == (
        "codex", "acp", "Codex", "By its adapter",
    )  # fmt: skip
    assert (first.model, first.mode, first.place) == ("gpt-x", "paused", "agents[0]")
    assert first.config == {
        "command": "codex-acp",
        "args": ["a", "b"],
        "env": {"KEY": {"$env": "MY_KEY"}},
        "nested": {"n": [1, 2.5, None, True]},
    }
    assert (second.name, second.description, second.model, second.mode, second.config) == (
        "my_agent-2", "", None, "enabled", {},
    )  # fmt: skip


@pytest.mark.parametrize("text", ["agents:\n", "agents: []\n", "engines:\nmcpServers:\n"])
def test_a_key_with_nothing_behind_it_says_nothing(place, text):
    place.write(text)
    read = place.load()
    assert read.get("agents") == ()
    assert (dict(read.get("engines")), dict(read.get("mcp_servers"))) == ({}, {})


TWO = "agents:\n  - {id: a, engine: demo}\n  - id: b\n    engine: demo\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("agents: {id: a}\n", "FILE:1: agents: found a mapping, allowed: a list of agents, each with id, engine and what else it takes"),
        ("agents: [a]\n", 'FILE:1: agents[0]: found text, allowed: a mapping with id and engine'),
        ("agents:\n  - engine: demo\n", "FILE:2: agents[0]: found no id, allowed: an agent with id: small letters and digits with single - or _ between them, at most 64, such as my-agent-2"),
        ("agents:\n  - id: a\n", "FILE:2: agents[0]: found no engine, allowed: an agent with engine: small letters and digits with single - or _ between them, at most 64, such as my-agent-2"),
        ("agents:\n  - id: A b\n    engine: demo\n", 'FILE:2: agents[0].id: found "A b", allowed: small letters and digits with single - or _ between them, at most 64, such as my-agent-2'),
        ("agents:\n  - id: 5\n    engine: demo\n", "FILE:2: agents[0].id: found 5 (quote it to make it text), allowed: small letters"),
        (TWO + "  - id: a\n    engine: demo\n", 'FILE:5: agents[2].id: found "a", the id of agents[0] too, allowed: an id no other agent has'),
        (TWO + "    mode: off\n", "FILE:5: agents[1].mode: found false (quote it to make it text), allowed: enabled or paused or disabled"),
        (TWO + "    modle: x\n", 'FILE:5: agents[1].modle: found an unknown key (did you mean mode?), allowed: id, engine, name, description, icon, model, mode, config'),
        (TWO + "    name: ''\n", 'FILE:5: agents[1].name: found "", allowed: text'),
        (TWO + "    model: 5\n", "FILE:5: agents[1].model: found 5 (quote it to make it text), allowed: text"),
        (TWO + f"    config: {SECRET}\n", "FILE:5: agents[1].config: found text, allowed: a mapping of the engine's fields"),
        (TWO + "    config:\n      x:\n        - 2024-01-01\n", "FILE:7: agents[1].config.x[0]: found the date 2024-01-01 (quote it to make it text), allowed: a value JSON can say"),
        (TWO + "    config: {x: .inf}\n", "FILE:5: agents[1].config.x: found inf, allowed: a value JSON can say"),
        (TWO + "    config: {1: x}\n", "FILE:5: agents[1].config: found the key 1, allowed: keys that are text (quote it)"),
        (TWO + "    config: {k: {$env: no name}}\n", 'FILE:5: agents[1].config.k.$env: found "no name", allowed: the name of a variable'),
        (TWO + "    config: &c {k: [*c]}\n", "agents[1].config"),
        ("engines: {Acp: {}}\n", 'FILE:1: engines: found "Acp", allowed: the name of an engine: small letters'),
        ("engines: {acp: [x]}\n", "FILE:1: engines.acp: found a list, allowed: a mapping of the engine's fields"),
        ("eligibleForAutoApproval: {Bash: 0}\n", "FILE:1: eligibleForAutoApproval.Bash: found 0, allowed: true or false"),
        ("managedRules: both\n", 'FILE:1: managedRules: found "both", allowed: checked or handed'),
        ("advancedTools: [a b]\n", 'FILE:1: advancedTools[0]: found "a b", allowed: the name of a tool'),
        ("managedSettingsPermissions: {allow: []}\n", 'managedSettingsPermissions.allow: found an unknown key, allowed: deny, ask, limitTo, disableBypassPermissionsMode'),
        ("managedSettingsPermissions:\n  deny: [x]\n  disableBypassPermissionsMode: true\n", "FILE:3: managedSettingsPermissions.disableBypassPermissionsMode: found true, allowed: disable"),
        ("managedSettingsPermissions: {ask: Shell}\n", 'managedSettingsPermissions.ask: found "Shell", allowed: a list of rules'),
        ("mcpServers: {a: {}}\n", "FILE:1: mcpServers.a: found no command, allowed: a program to run"),
        ("mcpServers: {a: {type: http}}\n", "FILE:1: mcpServers.a: found no url, allowed: an http: or https: URL"),
        (f"mcpServers: {{a: {{url: '{SECRET}'}}}}\n", "FILE:1: mcpServers.a.url: found text, allowed: an http: or https: URL"),
        ("mcpServers: {a: {type: sse, url: x}}\n", 'mcpServers.a.type: found "sse", allowed: stdio or http'),
        ("mcpServers: {a: {command: x, url: y}}\n", 'mcpServers.a.command: found an unknown key, allowed: type, url, headers'),
        ("mcpServers:\n  a:\n    command: x\n    env:\n      K: 5\n", "FILE:5: mcpServers.a.env.K: found a number (quote it to make it text), allowed: text, or {\"$env\": NAME}"),
        ('mcpServers: {"a\\nb": {}}\n', "mcpServers.a\\nb: found no command"),
        ("mcpServers: {a: {command: x, args: y}}\n", 'mcpServers.a.args: found "y", allowed: a list of texts'),
        ("demo: true\nagents: [{id: demo, engine: demo}]\n", "FILE: demo and FILE: agents[0].id: found two agents called demo, allowed: another id, or demo: false"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_with_its_place_and_line(place, text, words):
    assert words in refused(place, text)


def test_json_has_no_lines_and_says_the_same(place):
    place.directory.mkdir(parents=True)
    path = place.directory / "config.json"
    path.write_text(json.dumps({"agents": [{"id": "a"}]}))
    with pytest.raises(ConfigError) as caught:
        place.load()
    assert str(caught.value).startswith(f"{path}: agents[0]: found no engine, allowed: ")


def test_mcp_servers_are_read_in_both_shapes(place):
    place.write(
        """
mcpServers:
  search: {command: search-mcp, args: [--fast], env: {KEY: {$env: K}}, cwd: here}
  api: {url: "https://mcp.example/v1", headers: {Authorization: Bearer x}}
"""
    )
    assert place.load().get("mcp_servers") == {
        "search": {
            "type": "stdio",
            "command": "search-mcp",
            "args": ["--fast"],
            "env": {"KEY": {"$env": "K"}},
            "cwd": str(place.directory / "here"),
        },
        "api": {
            "type": "http",
            "url": "https://mcp.example/v1",
            "headers": {"Authorization": "Bearer x"},
        },
    }


def test_the_operators_keys_are_read(place):
    place.write(
        """
eligibleForAutoApproval: {Bash: false, host/notes: true}
managedSettingsPermissions: {deny: ["Shell(rm:*)"], limitTo: [Domain(example.com)]}
managedRules: handed
advancedTools: [request_computer]
"""
    )
    settings = place.load().settings()[0]
    assert settings.eligible_for_auto_approval == {"Bash": False, "host/notes": True}
    assert settings.managed_settings_permissions["deny"] == ["Shell(rm:*)"]
    assert (settings.managed_rules, settings.advanced_tools) == ("handed", ("request_computer",))
    assert Settings().managed_rules == "checked"


def test_managed_rules_are_held_to_who_knows_rules(place):
    from ahpd.config import load

    def wrong(permissions):
        if permissions.get("deny") != ["Shell(ls)"]:
            raise ValueError("deny[0]: found a rule nobody can read")

    def loaded():
        return load.load({}, environ=place.environ, directory=place.work, managed=wrong)

    place.write("port: 1\n")
    loaded()
    place.write("managedSettingsPermissions: {deny: [Shell(ls)]}\n")
    loaded()
    path = place.write("managedSettingsPermissions: {deny: ['Shell(']}\n")
    with pytest.raises(ConfigError) as caught:
        loaded()
    assert str(caught.value) == (
        f"{path}: managedSettingsPermissions: deny[0]: found a rule nobody can read"
    )


def test_the_demo_agent_is_offered_while_nothing_else_is_named(place):
    for text, offered in [
        ("port: 1\n", True),
        ("demo: false\n", False),
        ("agents: [{id: a, engine: demo}]\n", False),
        ("agents: [{id: a, engine: demo}]\ndemo: true\n", True),
    ]:
        place.write(text)
        assert place.load().settings()[0].offers_demo is offered


# -- secrets --------------------------------------------------------------------------

FULL = f"""
agents:
  - id: a
    engine: acp
    config:
      apiKey: {SECRET}-1
      env: {{PLAIN: {SECRET}-2, FOLDER: /srv/agent, SHORT: "1", REF: {{$env: THE_KEY}}}}
      headers: {{X: {SECRET}-3}}
      args: [--api-key, {SECRET}-4, --token={SECRET}-5, --max-tokens=12]
      baseUrl: https://me:{SECRET}-6@host.example/v1?key={SECRET}-7&x=1
      providers: [{{id: p, apiKey: {SECRET}-8, apiKeyEnv: P_KEY}}]
engines: {{acp: {{env: {{K: {SECRET}-9}}}}}}
mcpServers: {{m: {{url: "https://h.example", headers: {{Authorization: Bearer {SECRET}-0}}}}}}
"""


def test_no_repr_and_nothing_that_is_shown_holds_a_secret(place):
    place.environ["THE_KEY"] = "the-value-of-a-variable"
    place.write(FULL)
    read = place.load()
    settings = read.settings()[0]
    shown = {name: option.shown(read.get(name)) for name, option in BY_NAME.items()}
    text = json.dumps(shown)
    for words in (text, repr(settings), repr(settings.agents), repr(read.values["agents"])):
        assert SECRET not in words
        assert "the-value-of-a-variable" not in words
    config = shown["agents"][0]["config"]
    assert config["args"] == ["--api-key", "<set>", "--token=<set>", "--max-tokens=12"]
    assert config["baseUrl"] == "https://<set>@host.example/v1?key=<set>&x=1"
    assert config["env"]["REF"] == {"$env": "THE_KEY"}
    assert config["providers"] == [{"id": "p", "apiKey": "<set>", "apiKeyEnv": "P_KEY"}]


def test_what_no_log_may_hold_is_known_and_children_may_have_it(place):
    place.environ["THE_KEY"] = "the-value-of-a-variable"
    place.write(FULL)
    settings = place.load().settings()[0]
    for number in range(10):
        held = [text for text in settings.unspoken if f"{SECRET}-{number}" in text]
        assert held, number
    assert "the-value-of-a-variable" in settings.unspoken
    assert not {"1", "/srv/agent", "12"} & set(settings.unspoken)
    # A child is kept from the connection token alone: these are for agents to use.
    assert settings.secrets == (settings.connection_token,)


def test_a_file_with_credentials_that_others_can_read_is_warned_of(place):
    path = place.write(FULL)
    assert place.load().warnings == ()
    path.chmod(0o640)
    words = f"{path}: holds credentials in agents and can be read by others; run chmod 600 on it"
    assert place.load().warnings == (words,)
    path.write_text("agents: [{id: a, engine: acp, config: {apiKey: {$env: K}}}]\n")
    assert place.load().warnings == ()
