import sys

import pytest
import pytest_twisted

from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.waiting import sleep


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


@pytest.fixture
def pause(reactor):
    return lambda seconds: sleep(reactor, seconds)


@pytest_twisted.async_yield_fixture
async def supervisor(reactor):
    service = ProcessSupervisor(reactor, grace=0.3)
    service.startService()
    yield service
    assert service.children == (), "a test left a child running"
    await service.stopService()


#: What a script of a misbehaving program has at hand: the turn it was asked to run.
PREAMBLE = """
import json, os, signal, sys, time
def say(**fields):
    os.write(1, json.dumps(fields).encode() + b"\\n")
def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)
"""


@pytest.fixture
def program(tmp_path):
    """Makes the command of a small program that speaks, or fails to speak, the demo's protocol."""

    def make(code):
        path = tmp_path / "program.py"
        path.write_text(PREAMBLE + code)
        return (sys.executable, "-I", "-S", str(path))

    return make
