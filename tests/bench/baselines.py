"""One round of a bare broadcast server: Autobahn's, or Node's `ws`."""

import json
import shutil
import subprocess
import sys
from typing import Any

import rawsocket
from processes import HERE, ROOT, Readers, cpu_seconds, program
from report import NotMeasured, Skipped

MARKER = '"type":"chat/delta"'
#: Where `ws` is installed to, once; ignored by git like all that tox makes.
NODE_CACHE = ROOT / ".tox" / "bench-ws"
_WS = "ws@8"
#: Seconds the readers rest between sweeps where throughput is measured.
REST = 0.002


def node_modules() -> str:
    """The folder `ws` is in, installed at the first call.

    Raises `Skipped` where there is no Node, `NotMeasured` when the installation fails.
    """
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise Skipped("node and npm are not on PATH, so the bare `ws` server was not measured")
    modules = NODE_CACHE / "node_modules"
    if not (modules / "ws").is_dir():
        NODE_CACHE.mkdir(parents=True, exist_ok=True)
        try:
            done = subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(NODE_CACHE), _WS],
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise NotMeasured(f"npm install {_WS} took more than {error.timeout} s") from None
        if done.returncode:
            raise NotMeasured(f"npm install {_WS} failed: {done.stderr.strip()[-500:]}")
    return str(modules)


def broadcast(
    server: str, payload: str, subscribers: int, deltas: int, batch: int, rate: int = 0
) -> dict[str, Any]:
    """`deltas` broadcasts of `payload` to `subscribers` readers; what the readers saw.

    `server` is `shipped`, `prepared` (both Autobahn) or `ws`. `batch` deltas go out in
    each turn of the server's event loop, or `rate` of them a second, stamped (Autobahn
    alone, see autobahn_server.py). Adds `rate` (deliveries a second between the
    first and the last) and the server's `serverCpu` seconds.
    """
    task = {"payload": payload, "deltas": deltas, "batch": batch, "mode": server}
    if rate:
        task["rate"] = rate
    if server == "ws":
        command = ["node", str(HERE / "ws_server.js"), json.dumps(task)]
        env = {"NODE_PATH": node_modules()}
    else:
        command = [sys.executable, str(HERE / "autobahn_server.py"), json.dumps(task)]
        env = {}
    with program(command, env) as serving:
        address = ("127.0.0.1", int(serving.line(30)))
        readers = Readers(
            {
                "address": address,
                "connections": subscribers,
                "marker": MARKER,
                "expect": deltas,
                "rest": 0 if rate else REST,
                "stamped": bool(rate),
            }
        )
        before = cpu_seconds(serving.pid)
        control = rawsocket.connect(address, "/control")
        control.sendall(rawsocket.client_frame(b"go"))
        seen = readers.result()
        seen["serverCpu"] = cpu_seconds(serving.pid) - before
        control.close()
    return with_rate(seen, subscribers * deltas)


def with_rate(seen: dict[str, Any], wanted: int) -> dict[str, Any]:
    """`seen` with its `rate`; raises `NotMeasured` when not all `wanted` frames came."""
    if seen["delivered"] != wanted:
        raise NotMeasured(f"{seen['delivered']} of {wanted} frames were delivered")
    seen["rate"] = seen["delivered"] / seen["elapsed"]
    return seen
