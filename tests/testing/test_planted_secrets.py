"""The kit finds a planted secret wherever it comes up: each channel leaks one on purpose here."""

import base64
import json
import subprocess
import sys
import textwrap

import attrs
import pytest
from pytest_twisted import ensureDeferred
from twisted.logger import Logger

from ahpd.interfaces import Channel, Method
from ahpd.protocol.errors import RpcError, invalid_params
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon
from ahpd.testing.host import MemoryHost
from ahpd.testing.planted import (
    STRUCK,
    argument_leaks,
    check_reprs,
    check_silent,
    kept_leaks,
    leak,
    planted,
)
from ahpd.unspoken import Unspoken

SECRET = planted("the key of this test")
log = Logger()


def test_a_secret_is_found_as_it_is_and_inside_of_base64():
    assert leak("nothing here") is None
    assert leak(b"\xff\x00") is None
    assert SECRET in leak(f"before {SECRET} behind")
    for user in ("a", "ab", "abc", ""):
        basic = base64.b64encode(f"{user}:{SECRET}".encode()).decode()
        assert leak(f"Authorization: Basic {basic}") is not None
    with pytest.raises(AssertionError, match="the answer holds a planted secret"):
        check_silent(json.dumps({"key": SECRET}), "the answer")


@pytest.fixture
def host():
    made = MemoryHost()
    yield made
    made.clients.clear()  # what they found was looked at
    made.stop()


def serve(host, method):
    host.host.plugins.world.built.extensions.add_method("x-leak/say", method)


def test_an_answer_that_says_one_fails_whoever_reads_it(host):
    probe = host.connect("ann", ROOT)
    serve(host, Method(grant="", handle=lambda params, caller: {"key": SECRET}))
    host.run(probe.call("x-leak/say", {"channel": ROOT}))
    with pytest.raises(AssertionError, match="the host sent a planted secret"):
        host.check()


def test_an_error_that_says_one_fails_whoever_reads_it(host):
    def handle(params, caller):
        raise invalid_params(f"there is no {SECRET}")

    probe = host.connect("ann", ROOT)
    serve(host, Method(grant="", handle=handle))
    with pytest.raises(RpcError):
        host.run(probe.call("x-leak/say", {"channel": ROOT}))
    with pytest.raises(AssertionError, match="the host sent a planted secret"):
        host.check()


def test_a_channel_that_says_one_fails_whoever_watches(host):
    extensions = host.host.plugins.world.built.extensions
    channel = Channel(grant="", snapshot=lambda uri, caller: {})
    handle = extensions.add_channel("x-leak", channel)
    probe = host.connect("ann", "x-leak://")
    handle.publish("x-leak://", {"type": "x-leak/said", "key": SECRET})
    host.settle()
    with pytest.raises(AssertionError, match="the host sent a planted secret"):
        host.run(probe.ping())


def test_a_state_that_holds_one_fails_although_nobody_watches(host):
    action = {"type": "root/configChanged", "config": {"key": SECRET}}
    host.store.dispatch(ROOT, action)
    with pytest.raises(AssertionError, match="the state of ahp-root:// holds a planted secret"):
        host.check()
    host.store.dispatch(ROOT, {"type": "root/configChanged", "config": {"key": ""}})


# -- the log ---------------------------------------------------------------------------------


@pytest.mark.leaks
@pytest.mark.parametrize("say", [log.debug, log.info, log.warn, log.error, log.critical])
def test_a_line_of_the_log_is_looked_at_whatever_its_level(nothing_planted_is_logged, say):
    say("it used {key}", key=SECRET)
    assert SECRET in nothing_planted_is_logged[0]


@pytest.mark.leaks
@pytest.mark.logs_failures
def test_a_failure_that_says_one_is_looked_at(nothing_planted_is_logged):
    try:
        raise ValueError(SECRET)
    except ValueError:
        log.failure("it failed")
    assert SECRET in nothing_planted_is_logged[0]


@pytest.mark.leaks
def test_what_a_host_strikes_out_of_its_log_is_no_find(nothing_planted_is_logged):
    held = Unspoken([SECRET])
    STRUCK.add(held)
    log.info("it used {key}", key=SECRET)
    assert nothing_planted_is_logged == []
    log.info("it used {key}", key=planted("another"))
    assert nothing_planted_is_logged


def test_the_log_of_a_test_is_watched_without_being_asked(tmp_path):
    """By a run of pytest under this repository's own conftest, which fails."""
    from pathlib import Path

    import tests.conftest as conftest

    (tmp_path / "conftest.py").write_text(Path(conftest.__file__).read_text())
    (tmp_path / "test_it.py").write_text(
        textwrap.dedent("""
        from twisted.logger import Logger
        from ahpd.testing.planted import planted

        def test_it():
            Logger().debug("it used {key}", key=planted("x"))
        """)
    )
    ini = "[pytest]\nmarkers =\n    leaks\n    logs_failures\n"
    (tmp_path / "pytest.ini").write_text(ini)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "the log holds a planted secret" in done.stdout


# -- what is kept, what runs, what holds it ---------------------------------------------------------


def test_a_file_that_holds_one_is_found_but_for_the_vault(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "sessions.db").write_bytes(b"SQLite\0\xff" + SECRET.encode() + b"\0")
    (tmp_path / "vault.json").write_text(json.dumps({"host:a": SECRET}))
    (tmp_path / SECRET).write_text("by its name")
    found = kept_leaks(tmp_path, [tmp_path / "vault.json"])
    assert len(found) == 2
    assert sum("sessions.db" in line for line in found) == 1


def test_the_arguments_of_a_program_are_looked_at():
    program = [sys.executable, "-c", "print('here', flush=True); input()", f"--key={SECRET}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(program, stdin=pipe, stdout=pipe) as started:
        started.stdout.readline()
        found = argument_leaks([started.pid])
        started.communicate(b"\n")
    assert SECRET in found[0]
    assert argument_leaks([started.pid]) == []


def test_an_object_that_says_one_of_itself_is_found():
    @attrs.frozen
    class Open:
        key: str

    @attrs.frozen
    class Kept:
        key: str = attrs.field(repr=False)

    check_reprs(Kept(SECRET))
    with pytest.raises(AssertionError, match="the repr of a Open"):
        check_reprs(Open(SECRET))
    with pytest.raises(AssertionError, match="planted"):
        check_reprs(ValueError(SECRET))


# -- a daemon --------------------------------------------------------------------------------------

LEAKS = {
    "a file": "(host.config_dir / 'note.txt').write_text(KEY)",
    "an output": "import sys; print(KEY, file=sys.__stderr__, flush=True)",
    "a log": "host.log(KEY)",
    "an argument": "import subprocess, sys; "
    "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)', KEY])",
}


@pytest.mark.parametrize("code", LEAKS.values(), ids=LEAKS)
@ensureDeferred
async def test_a_daemon_that_leaks_one_fails_its_check(tmp_path, code):
    from twisted.internet import reactor

    plugin = tmp_path / "plugin"
    plugin.mkdir()
    (plugin / "plugin.yaml").write_text("id: leaks\nmain: leaks.py\n")
    (plugin / "leaks.py").write_text(
        f"KEY = {'-'.join(SECRET.split('-')[:2])!r} + {SECRET[len('planted-secret') :]!r}\n"
        f"def apply(host, options):\n    {code}\n"
    )
    settings = {"plugins": [{"source": str(plugin)}]}
    daemon = Daemon(reactor, tmp_path / "d", "--port", "0", settings=settings)
    await daemon.start()
    try:
        with pytest.raises(AssertionError, match="a planted secret came up"):
            await daemon.check()
    finally:
        await daemon.leave(judged=False)


def test_a_command_that_prints_one_fails_but_for_the_one_that_prints_the_file(tmp_path):
    from twisted.internet import reactor

    daemon = Daemon(reactor, tmp_path / "d")
    (daemon.config / "config.json").write_text(json.dumps({"agents": [{"id": SECRET}]}))
    with pytest.raises(AssertionError, match="what ahpd plugin printed holds a planted secret"):
        daemon.run("plugin", SECRET)
    assert daemon.run("config").returncode in (0, 1, 2)
