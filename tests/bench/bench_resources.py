"""(k) Files and watches: memory of a large file read in ranges, batches of a burst.

A file of 100 MB is read by one client of the real daemon, range by range; what the process
held at most meanwhile, over what it held before, is the figure. The burst is 10,000 files
made, changed and taken away in a watched tree: how many batches came for each window in
which something was gathered, and whether every change was in one.
"""

import base64
import hashlib
import re
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from host import DAEMON, Client, host
from processes import cpu_seconds
from report import Bound, Figure, NotMeasured

NAME = "resources"
TITLE = "(k) files in ranges, and a burst of changes"
FILE = 100_000_000
#: Bytes asked for at once: what docs/files.md shows, which is held to the bound, and more.
RANGES = (1 << 20, 4 << 20)
FILES = 10_000
#: The longest a burst is gathered before it is said, in seconds.
WINDOW = 0.5
MEMORY = Bound(32.0)
BATCHES = Bound(1.0)
_PEAK = re.compile(r"VmHWM:\s+(\d+) kB")


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """The file, then the burst."""
    size = FILE // 5 if quick else FILE
    return [*(partial(_ranges, size, asked) for asked in RANGES), partial(_burst, FILES)]


def peak_bytes(pid: int) -> int:
    """The most a process held in memory since the mark was last set back."""
    found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
    if found is None:
        raise NotMeasured(f"/proc/{pid}/status has no VmHWM")
    return int(found[1]) * 1024


def _ranges(size: int, asked: int) -> list[Figure]:
    with tempfile.NamedTemporaryFile(prefix="ahpd-bench-") as held, host(DAEMON) as serving:
        block = bytes(range(256)) * 4096
        for _ in range(size // len(block) + 1):
            held.write(block)
        held.flush()
        path = Path(held.name)
        whole = path.stat().st_size
        client = Client(serving.address)
        client.request("resourceList", {"channel": "ahp-root://", "uri": path.parent.as_uri()})
        Path(f"/proc/{serving.pid}/clear_refs").write_text("5")
        before, cpu, began = peak_bytes(serving.pid), cpu_seconds(serving.pid), time.perf_counter()
        digest, offset = hashlib.sha256(), 0
        while offset < whole:
            answer = client.request(
                "resourceRead",
                {
                    "channel": "ahp-root://",
                    "uri": path.as_uri(),
                    "encoding": "base64",
                    "_meta": {"ahpd.range": {"offset": offset, "length": asked}},
                },
            )
            piece = base64.b64decode(answer["data"])
            if not piece:
                raise NotMeasured(f"nothing came from {offset} of {whole}")
            digest.update(piece)
            offset += len(piece)
        took = time.perf_counter() - began
        grown = peak_bytes(serving.pid) - before
        spent = cpu_seconds(serving.pid) - cpu
        client.close()
        if digest.digest() != hashlib.sha256(path.read_bytes()).digest():
            raise NotMeasured("what came is not what the file holds")
    return [
        Figure(
            NAME,
            f"{whole // 1_000_000} MB in ranges of {asked >> 20} MiB, the most it took",
            grown / 1e6,
            unit="MB",
            bound=MEMORY if asked == RANGES[0] else None,
            raw={"MB/s": whole / 1e6 / took, "host CPU %": 100 * spent / took},
        )
    ]


def _burst(files: int) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder, host(DAEMON) as serving:
        root = Path(folder)
        for number in range(100):
            (root / f"d{number}").mkdir()
        client = Client(serving.address)
        params = {"channel": "ahp-root://", "uri": root.as_uri(), "recursive": True}
        channel = client.request("createResourceWatch", params)["channel"]
        client.request("subscribe", {"channel": channel})
        paths = [root / f"d{number % 100}" / f"f{number}.txt" for number in range(files)]
        seen = [
            _one_burst(client, paths, lambda path: path.write_text("one"), "added"),
            _one_burst(client, paths, lambda path: path.write_text("another"), "updated"),
            _one_burst(client, paths, lambda path: path.unlink(), "deleted"),
        ]
        client.close()
    return [
        Figure(
            NAME,
            f"{files} changes: batches for each window",
            max(row["batches"] / row["windows"] for row in seen),
            bound=BATCHES,
            rounds=[row["batches"] / row["windows"] for row in seen],
            raw={
                "batches": " ".join(str(row["batches"]) for row in seen),
                "burst s": " ".join(f"{row['took']:.2f}" for row in seen),
                "last after s": statistics.median(row["late"] for row in seen),
            },
        )
    ]


def _one_burst(
    client: Client, paths: list[Path], change: Callable[[Path], Any], kind: str
) -> dict[str, Any]:
    """Change every path, then read until each was reported as `kind`."""
    began = time.perf_counter()
    for path in paths:
        change(path)
    took = time.perf_counter() - began
    missing = {path.as_uri() for path in paths}
    batches = 0
    while missing:
        envelope = msgspec.json.decode(client.message()).get("params") or {}
        action = envelope.get("action") or {}
        if action.get("type") != "resourceWatch/changed":
            continue
        batches += 1
        missing -= {item["uri"] for item in action["changes"]["items"] if item["type"] == kind}
    late = time.perf_counter() - began - took
    return {"batches": batches, "windows": int(took / WINDOW) + 2, "took": took, "late": late}
