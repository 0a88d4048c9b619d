"""What a record makes of an agent, and what `doctor` is told of one."""

import attrs
import pytest
import pytest_twisted
from jsonschema import Draft202012Validator
from zope.interface.verify import verifyObject

from ahpd.interfaces import AgentRecord, IEditedAgent, IEngine, InvalidRecord, RecordFailure
from ahpd_agent_acp.engine import ENGINE, AcpEngine
from ahpd_agent_acp.record import SCHEMA, Defaults, read_record, wants_sign_in
from ahpd_agent_acp.rows import ROWS

from .conftest import record


def made(id="x", environ=None, system="linux", **config):  # noqa: A002
    written = AgentRecord(id=id, engine="acp", name="X", config=config)
    return read_record(written, environ or {}, Defaults(), system)


def test_the_engine_is_one_and_every_row_is_a_template_that_can_be_opened(ports):
    verifyObject(IEngine, ENGINE)
    Draft202012Validator.check_schema(ENGINE.schema())
    check = Draft202012Validator(ENGINE.schema())
    templates = {template.id: template for template in ENGINE.templates()}
    assert set(templates) == {
        *("codex", "gemini", "copilot", "opencode", "kilo", "goose", "pi", "dsh", "devin"),
        *("cursor", "amp", "qwen", "cline", "omp", "claude"),
    }
    for template in templates.values():
        check.validate(template.config)
        written = AgentRecord(id="mine", engine="acp", name="Mine", config=template.config)
        assert ENGINE.open(written, ports).provider == "mine"
    assert templates["codex"].config["env"] == {"CODEX_API_KEY": "", "OPENAI_API_KEY": ""}
    assert set(ENGINE.key_variables) >= {"CODEX_API_KEY", "ANTHROPIC_API_KEY"}


def test_the_entry_point_names_it():
    from importlib.metadata import entry_points

    (found,) = entry_points(group="ahpd.engines", name="acp")
    assert found.load() is ENGINE


def test_a_row_is_taken_by_the_id_or_by_base_and_laid_over():
    assert made("gemini").argv == ("gemini", "--acp")
    assert made("mine", base="gemini").argv == ("gemini", "--acp")
    assert made("mine", base="gemini", args=[]).argv == ("gemini",)
    assert made("mine", command="it").argv == ("it",)


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "command: x names no program"),
        ({"command": "./agent"}, r"command: found '\./agent'; give the whole path"),
        ({"command": "bin/agent"}, "command: found 'bin/agent'"),
        ({"base": "no-such"}, "base: found 'no-such'"),
        ({"command": "c", "authenticate": {}}, "authenticate.methodId"),
        ({"command": "c", "env": {"K": {"$secret": "host:k"}}}, "env.K: the secret 'host:k'"),
        ({"command": "c", "env": {"K": {"fromEnv": "GONE"}}}, "env.K: .* no variable GONE"),
        ({"command": "c", "machine": {"env": {"K": {"fromEnv": "GONE"}}}}, r"machine\.env\.K"),
        ({"command": "c", "machine": {"copy": [{"source": "a", "target": "/b"}]}}, "source"),
        ({"command": "c", "machine": {"copy": [{"source": "/a", "target": "b"}]}}, "target"),
        ({"command": "c", "machine": {"copy": [{"source": "/a"}]}}, "source and target"),
        ({"command": "c", "machine": {"copies": []}}, r"machine\.copies"),
        ({"command": "c", "machine": []}, "machine: expected"),
        (
            {
                "command": "c",
                "machine": {
                    "copy": [{"source": "/a", "target": "/b"}, {"source": "/c", "target": "/b/"}]
                },
            },
            r"copy\[1\]\.target",
        ),
    ],
)
def test_what_cannot_be_built_names_its_field_in_one_line(config, words):
    with pytest.raises(RecordFailure, match=words) as failed:
        made(**config)
    assert "\n" not in str(failed.value)
    missing = "env" in config  # what is not there now may be there later
    assert isinstance(failed.value, InvalidRecord) is not missing


def test_what_it_cannot_be_built_of_is_kept_for_a_person_to_mend():
    Draft202012Validator(ENGINE.schema()).validate({"command": "c", "authenticate": {}})


def test_a_machines_secrets_are_read_where_a_machine_is_made():
    assert ENGINE.left_written == ("machine",)


def test_a_machine_that_is_rightly_written_is_taken():
    machine = {
        "env": {"HOME": "/x", "KEY": {"fromEnv": "KEY"}, "S": {"$secret": "host:s"}},
        "copy": [{"source": "~/.codex/config.toml", "target": "/ahpd/config.toml"}],
    }
    options = made(command="c", machine=machine, environ={"KEY": "k"})
    assert options.env == {}, "it reaches no session on this host"


def test_the_defaults_are_those_the_schema_tells():
    options = made(command="c")
    assert (options.find_fresh, options.listing_idle, options.max_pages) == (2.0, 0.0, 50)
    assert (options.exit_grace, options.stderr_bytes, options.kill_grace) == (1.0, 8192, 5.0)
    assert (options.close_grace, options.stderr_tail, options.cut_turns) == (
        1.0,
        "sentence",
        "error",
    )
    assert (options.host_tools, options.tools_changed, options.modes) == (
        True,
        "notify",
        "refreshed",
    )
    assert not options.honours_trust


def test_what_is_set_for_all_records_gives_way_to_a_records_own(ports):
    engine = AcpEngine(Defaults(host_tools=False, tools_changed="list"))
    agent = engine.open(record(), ports)
    assert (agent.options.host_tools, agent.options.tools_changed) == (False, "list")
    agent = engine.open(record(hostTools=True, toolsChanged="notify"), ports)
    assert (agent.options.host_tools, agent.options.tools_changed) == (True, "notify")


def test_a_variable_that_is_empty_changes_nothing_and_references_are_read():
    env = {"A": "", "B": "b", "C": {"$env": "HAS"}}
    assert made(command="c", env=env, environ={"HAS": "c"}).env == {"B": "b", "C": "c"}


def test_what_installs_it_goes_by_the_system():
    assert made("cursor", system="windows").install[0].startswith("irm")
    by_system = {"linux": "apt install it", "macos": ["brew install it"]}
    assert made(command="c", install=by_system).install == ("apt install it",)
    assert made(command="c", install=by_system, system="macos").install == ("brew install it",)
    assert made(command="c", install=by_system, system="windows").install == ()


def test_a_rows_sign_in_is_sent_where_its_variable_is_set():
    assert wants_sign_in(made("codex"), {}) is None
    assert wants_sign_in(made("codex"), {"CODEX_API_KEY": "k"}).method == "api-key"
    with_key = made("codex", env={"OPENAI_API_KEY": "k"})
    assert wants_sign_in(with_key, {}).method == "api-key"
    assert wants_sign_in(made("cursor"), {}).method == "cursor_login"


def test_every_row_names_where_its_vendor_tells_of_it():
    for row in ROWS.values():
        assert row.page.startswith("https://"), row.id
        assert row.command


def test_every_field_of_the_schema_is_described():
    for name, field in SCHEMA["properties"].items():
        assert field.get("description"), name


# -- doctor ----------------------------------------------------------------------------------


async def found(ports, program=None, bound=10.0, **config):
    engine = AcpEngine(check_bound=bound)
    return {each.about: each for each in await engine.check(record(program, **config), ports)}


@pytest_twisted.ensureDeferred
async def test_one_that_works_is_said_to(ports):
    findings = await found(ports, {"methods": ["a", "b"]})
    assert all(finding.ok for finding in findings.values())
    assert "scripted 9" in findings["handshake"].words
    assert "a, b" in findings["sign-in"].words


@pytest_twisted.ensureDeferred
async def test_a_program_that_is_not_there_has_its_install_words(ports):
    findings = await found(ports, command="no-such", install=["npm install -g no-such"])
    assert list(findings) == ["program"]
    assert not findings["program"].ok
    assert findings["program"].mend == "npm install -g no-such"


@pytest_twisted.ensureDeferred
async def test_a_path_that_is_no_program_is_said_as_what_it_is(ports, tmp_path):
    script = tmp_path / "script"
    script.touch(mode=0o644)
    for command, words in (
        (tmp_path, f"{tmp_path} is a folder, and no program"),
        (script, f"{script} may not be run: it is not executable"),
        (tmp_path / "none", f"there is no file {tmp_path}/none"),
    ):
        assert (await found(ports, command=str(command)))["program"].words == words


@pytest.mark.parametrize(
    ("program", "about", "words"),
    [
        ({"at": {"initialize": "exit 4"}}, "handshake", "exited with code 4"),
        ({"at": {"initialize": "hang"}}, "handshake", "within 0.3 seconds"),
        ({"version": 7}, "handshake", "version 7"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_wrong_is_found(ports, program, about, words):
    findings = await found(ports, program, bound=0.3 if "0.3" in words else 10.0)
    assert not findings[about].ok
    assert words in findings[about].words


@pytest_twisted.ensureDeferred
async def test_a_sign_in_it_does_not_offer_is_found(ports):
    sign_in = {"methodId": "nope"}
    findings = await found(ports, {"methods": ["a"]}, authenticate=sign_in)
    assert not findings["sign-in"].ok
    assert "it offers a" in findings["sign-in"].words


@pytest_twisted.ensureDeferred
async def test_a_record_that_cannot_be_built_is_a_finding(ports):
    written = AgentRecord(id="x", engine="acp", name="X", config={})
    (finding,) = await ENGINE.check(written, ports)
    assert (finding.about, finding.ok) == ("record", False)


# -- edits -----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_an_edit_applies_at_the_next_turn_on_the_same_conversation(acp, tmp_path):
    program = {"store": str(tmp_path / "store")}
    agent = acp.agent(program)
    talk = await acp.talk(agent)
    pid = await talk.say("pid")
    agent.edited(record(program, cutTurns="complete"))
    assert await talk.say("pid", "stop refusal") == pid
    agent.edited(record(program, env={"COLOUR": "red"}))
    assert await talk.say("env COLOUR") == "red"
    assert await talk.say("count") == "3"
    with pytest.raises(RecordFailure):
        agent.edited(attrs.evolve(record(program), config={}))
    assert await talk.say("env COLOUR") == "red"


def test_it_says_that_it_takes_edits_and_which_row_a_record_takes(acp):
    assert IEditedAgent.providedBy(acp.agent({}))
    engine = AcpEngine()
    templates = engine.templates()

    def row(identifier, **config):
        made = engine.template_of(
            AgentRecord(id=identifier, engine="acp", name="x", config=config), templates
        )
        return None if made is None else made.id

    assert (row("codex"), row("mine", base="codex"), row("mine", command="sh")) == (
        "codex", "codex", None,
    )  # fmt: skip


@pytest_twisted.ensureDeferred
async def test_the_daemons_variables_reach_it_with_the_records_laid_over(acp):
    assert await (await acp.talk()).say("env PATH") == "/usr/bin:/bin"
    assert await (await acp.talk({"env": {"PATH": "/else"}})).say("env PATH") == "/else"
