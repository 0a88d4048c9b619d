"""`ahpd doctor`: what a person is told of what works, what does not, and what mends it."""

import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from ahpd.testing.installed_engines import install_distribution

SECRET = "sk-very-secret-0123456789"
MODULE = "ahpd_fake_engines_of_doctor"
SOURCE = (Path(__file__).parent.parent / "records" / "fake_engine.py").read_text()


@pytest.fixture
def doctor(command, tmp_path):
    """The command, with an engine installed and on a port nobody has."""
    folder = install_distribution(
        tmp_path / "site", "fake-dist", {"fake": f"{MODULE}:FakeEngine"}, {MODULE: SOURCE}
    )
    path = os.pathsep.join(filter(None, [str(folder), command.environ.get("PYTHONPATH")]))
    command.environ["PYTHONPATH"] = path
    command.port = free_port()
    return command


def free_port():
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        return holder.getsockname()[1]


def checks(answer):
    return {(each["subject"], each["about"]): each for each in answer["checks"]}


def test_a_machine_where_nothing_was_set_up_has_nothing_wrong(doctor):
    done = doctor.run("doctor", "--port", str(doctor.port), status=0)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0] == "host"
    assert (
        f"  ok       file     {doctor.config}/config.yaml is not there: defaults are used" in lines
    )
    assert f"  ok       address  127.0.0.1:{doctor.port} is free" in lines
    assert lines[-1] == "Nothing is wrong."
    assert "\x1b" not in done.stdout
    # It only looks.
    assert list(doctor.work.iterdir()) == []
    assert {path.name for path in doctor.home.iterdir()} == {"work"}


def test_each_agent_is_looked_at_and_what_mends_it_is_said(doctor):
    doctor.write(
        f"port: {doctor.port}\n"
        "agents:\n"
        "  - {id: works, engine: fake}\n"
        "  - {id: out, engine: fake, mode: paused, config: {does: sign out}}\n"
        "  - {id: resting, engine: nobody, mode: disabled}\n"
        "  - {id: odd, engine: nobody}\n"
        f"  - {{id: told, engine: fake, config: {{does: tell, apiKey: {SECRET}}}}}\n"
        "  - {id: bad, engine: fake, config: {level: loud}}\n"
        "  - {id: env, engine: fake, config: {apiKey: {$env: NOT_SET}}}\n"
    )
    done = doctor.run("doctor", status=1)
    assert SECRET not in done.stdout + done.stderr
    text = done.stdout
    assert "\nworks\n  ok       program  found, " in text
    assert "  problem  sign-in  nobody is\n                    to mend: fake login\n" in text
    assert "reinstall it" not in text
    assert "\nresting\n  ok       record   disabled: it is not looked at\n" in text
    assert "config.level must be one of low, high" in text
    assert "the variable NOT_SET is not in the daemon's environment" in text
    assert text.endswith("\n5 problems.\n")
    answer = doctor.answer("doctor", status=1)
    assert (answer["ok"], answer["problems"], answer["warnings"]) == (False, 5, 0)
    found = checks(answer)
    assert found["out", "sign-in"] == {
        "subject": "out",
        "about": "sign-in",
        "level": "problem",
        "words": "nobody is",
        "mend": "fake login",
    }
    assert found["out", "record"]["level"] == "ok"
    assert found["told", "sign-in"]["words"] == "<set> is old"
    assert found["odd", "record"]["words"].startswith(
        'there is no engine "nobody" here; installed: '
    )


def test_files_that_others_can_read_are_warned_of_with_what_mends_them(doctor):
    path = doctor.write(f"port: {doctor.port}\nconnectionTokenFile: tok\n")
    token = path.with_name("tok")
    token.write_text("a-token\n")
    data = doctor.home / ".local" / "share" / "ahpd"
    data.mkdir(parents=True)
    for each, mode in ((token, 0o644), (data, 0o755)):
        each.chmod(mode)
    answer = doctor.answer("doctor")
    found = checks(answer)
    assert (found["host", "token"]["level"], found["host", "token"]["mend"]) == (
        "warning", f"chmod 600 {token}",
    )  # fmt: skip
    assert (found["host", "data"]["level"], found["host", "data"]["mend"]) == (
        "warning", f"chmod 700 {data}",
    )  # fmt: skip
    for each in ("token", "data"):
        subprocess.run(found["host", each]["mend"], shell=True, check=True)
    assert doctor.answer("doctor")["warnings"] == 0
    token.write_text("not one\nline\n")
    found = checks(doctor.answer("doctor", status=1))
    assert found["host", "token"]["level"] == "problem"
    assert "not one" not in str(found)


def test_a_data_directory_that_cannot_be_one_is_a_problem(doctor):
    (doctor.work / "file").write_text("x")
    answer = doctor.answer("doctor", "--data-directory", "file/below", status=1)
    assert checks(answer)["host", "data"]["words"] == f"{doctor.work}/file is no directory"
    answer = doctor.answer("doctor", "--sessions", "memory", "--port", "0")
    assert checks(answer)["host", "data"]["words"].startswith("sessions are kept in memory")
    assert checks(answer)["host", "address"]["words"] == "a free port is picked at the start"


def test_a_configuration_that_cannot_be_read_is_the_problem(doctor):
    path = doctor.write("port: many\n")
    answer = doctor.answer("doctor", status=1)
    assert [each["words"] for each in answer["checks"]] == [
        f'{path}:1: port: found "many", allowed: a whole number from 0 to 65535'
    ]
    done = doctor.run("doctor", status=1)
    assert done.stdout.endswith("\n1 problem.\n")


def test_only_a_line_that_was_named_is_to_be_edited(doctor):
    doctor.config.mkdir(parents=True)
    (doctor.config / "config.json").write_text("{}")
    doctor.write("port: 1\n")
    done = doctor.run("doctor", status=1)
    assert "found both config.yaml and config.json" in done.stdout
    assert "edit the line" not in done.stdout


def test_an_address_another_program_has_is_a_problem(doctor, taken_port):
    answer = doctor.answer("doctor", "--port", str(taken_port), status=1)
    found = checks(answer)["host", "address"]
    assert found["words"] == f"another program listens on 127.0.0.1:{taken_port}"
    assert "--port" in found["mend"]


def test_a_host_in_the_foreground_is_no_problem(doctor):
    host = doctor.serve("--port", str(doctor.port))
    host.url()
    found = checks(doctor.answer("doctor", "--port", str(doctor.port)))["host", "address"]
    assert found["words"] == (
        f"an ahpd listens on 127.0.0.1:{doctor.port} already, in the foreground"
    )
    assert host.end()[0] == 0


def test_a_daemon_in_the_background_is_looked_at_as_it_was_started(doctor):
    other = doctor.work / "other.yaml"
    other.write_text("agents: [{id: mine, engine: demo}]\n")
    doctor.run("start", "--port", "0", "--config-file", str(other), status=0)
    answer = doctor.answer("doctor")
    found = checks(answer)
    assert found["host", "daemon"]["words"].startswith("runs: pid ")
    assert ("host", "address") not in found
    assert found["host", "file"]["words"] == str(other)
    assert found["mine", "program"]["level"] == "ok"
    assert doctor.answer("status")["running"]
    doctor.run("stop", status=0)
    assert checks(doctor.answer("doctor", "--port", "0"))["host", "daemon"]["words"] == (
        "none runs in the background"
    )


@pytest.mark.long
def test_a_check_that_hangs_is_given_up_and_holds_nothing(doctor):
    doctor.write(
        "port: 0\nagents:\n"
        "  - {id: hang, engine: fake, config: {does: hang}}\n"
        "  - {id: block, engine: fake, config: {does: block}}\n"
        "  - {id: works, engine: fake}\n"
    )
    begun = time.monotonic()
    found = checks(doctor.answer("doctor", status=1))
    assert time.monotonic() - begun < 40
    for name in ("hang", "block"):
        assert found[name, "agent"]["words"] == "not known after 20 s: the check was given up"
    assert found["works", "program"]["level"] == "ok"


def test_mcp_servers_are_looked_for_and_none_is_started(doctor):
    doctor.write(
        "port: 0\nmcpServers:\n"
        "  here: {command: sh}\n"
        "  gone: {command: no-such-server}\n"
        "  far: {url: 'http://127.0.0.1:1/x'}\n"
        "  key: {command: sh, env: {K: {$env: NOT_SET}}}\n"
    )
    found = checks(doctor.answer("doctor"))
    levels = {
        name: found["host", f"mcp {name}"]["level"] for name in ("here", "gone", "far", "key")
    }
    assert levels == {"here": "ok", "gone": "warning", "far": "ok", "key": "warning"}


def test_a_host_that_offers_nothing_is_told_what_to_do(doctor):
    found = checks(doctor.answer("doctor", "--no-demo", "--port", "0"))
    assert found["host", "agents"]["mend"] == "ahpd configure"


def test_managed_rules_that_would_stop_the_start_are_a_problem(doctor):
    doctor.write("port: 0\nmanagedSettingsPermissions: {deny: ['Shell(rm)']}\n")
    assert checks(doctor.answer("doctor"))["host", "rules"]["words"] == (
        "managed rules can be read, and are checked"
    )
    path = doctor.write("port: 0\nmanagedSettingsPermissions: {limitTo: ['Shell(rm)']}\n")
    found = checks(doctor.answer("doctor", status=1))["host", "rules"]
    assert found["words"].startswith("managedSettingsPermissions: ")
    assert found["mend"] == f"edit {path}"
    assert "managedSettingsPermissions" in doctor.run(status=2).stderr
