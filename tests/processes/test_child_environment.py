"""Which variables of the host a child sees."""

import json
import sys

import pytest_twisted

from ahpd.processes.environment import child_environment
from ahpd.processes.guard import MARK_NAME
from ahpd.processes.supervisor import ProcessSupervisor

SHOW = "import json, os; print(json.dumps(dict(os.environ)))"


def test_what_a_person_set_up_is_inherited():
    host = {"PATH": "/bin", "HTTPS_PROXY": "http://proxy", "SOME_API_KEY": "k"}
    assert child_environment(host) == host


def test_the_hosts_own_settings_are_not():
    host = {"AHPD_CONNECTION_TOKEN": "t", "AHPD_ANYTHING": "x", "PATH": "/bin"}
    assert child_environment(host) == {"PATH": "/bin"}


def test_what_the_service_manager_said_to_the_host_is_not():
    host = {"LISTEN_FDS": "1", "LISTEN_PID": "7", "NOTIFY_SOCKET": "/n", "HOME": "/h"}
    assert child_environment(host) == {"HOME": "/h"}


def test_a_secret_is_found_under_any_name():
    host = {"TOKEN_COPY": "s3cret", "URL": "ws://127.0.0.1/?tkn=s3cret", "HOME": "/h"}
    assert child_environment(host, secrets=["s3cret", ""]) == {"HOME": "/h"}


def test_additions_come_last_and_none_takes_away():
    host = {"A": "1", "B": "2"}
    assert child_environment(host, {"A": "3", "B": None, "C": "4"}) == {"A": "3", "C": "4"}


@pytest_twisted.ensureDeferred
async def test_a_real_child_sees_no_token(reactor, recorder):
    host = {"AHPD_CONNECTION_TOKEN": "s3cret", "COPY": "s3cret", "KEPT": "yes"}
    supervisor = ProcessSupervisor(reactor, host, secrets=["s3cret"])
    events = recorder()
    supervisor.spawn(events, [sys.executable, "-I", "-S", "-c", SHOW], {"MORE": "1"})
    await events.ended.wait()
    await supervisor.stopService()
    seen = json.loads(events.output)
    assert "s3cret" not in events.output.decode()
    assert seen["KEPT"] == "yes"
    assert seen["MORE"] == "1"
    assert seen[MARK_NAME]
    assert not [name for name in seen if name.startswith("AHPD_")]
