"""What `ahpd doctor` looks at beside the agents: files, folders, the address. It changes nothing."""

import errno
import http.client
import json
import os
import shlex
import shutil
import socket
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import token
from ahpd.config.endpoints import split
from ahpd.config.errors import ConfigError
from ahpd.config.load import Configuration
from ahpd.config.references import Unresolved, resolve
from ahpd.config.settings import Settings
from ahpd.daemon.background import Found
from ahpd.daemon.words import listening_place

OK: Final = "ok"
WARNING: Final = "warning"
PROBLEM: Final = "problem"

#: Seconds that somebody who listens where ahpd would is given to say who it is.
_ASK_SECONDS: Final = 2.0
_LITTLE_SPACE: Final = 100 * 1024 * 1024


@attrs.frozen(kw_only=True)
class Checked:
    """One thing that was looked at."""

    subject: str
    """`host`, `plugins`, or the id of an agent."""
    about: str
    level: str
    words: str
    mend: str | None = None

    def row(self) -> dict[str, Any]:
        """What `--json` answers of it."""
        return attrs.asdict(self)


def host(about: str, level: str, words: str, mend: str | None = None) -> Checked:
    """Something about the host itself."""
    return Checked(subject="host", about=about, level=level, words=words, mend=mend)


def file_of(read: Configuration) -> Iterator[Checked]:
    """The configuration file, which could be read."""
    if read.found:
        yield host("file", OK, str(read.file))
    else:
        yield host("file", OK, f"{read.file} is not there: defaults are used", None)
    for words in read.warnings:
        mend = f"chmod 600 {shlex.quote(str(read.file))}" if "chmod 600" in words else None
        yield host("file", WARNING, words, mend)


def token_of(read: Configuration) -> Iterator[Checked]:
    """Where the token clients bring comes from."""
    path = read.token_file
    if path is None:
        if read.get("connection_token") is not None:
            yield host("token", OK, f"said by {read.place('connection_token')}")
        elif read.get("without_connection_token"):
            yield host("token", OK, "none is asked for, on loopback alone")
        else:
            yield host("token", OK, "none is needed: standard input and output alone are served")
        return
    try:
        warnings = token.look(path)
    except ConfigError as error:
        yield host("token", PROBLEM, str(error), f"rm {shlex.quote(str(path))}")
        return
    if warnings is None:
        yield host("token", OK, f"{path} is made at the first start")
    elif warnings:
        mend = f"chmod 600 {shlex.quote(str(path))}"
        yield host("token", WARNING, f"{path} can be read by others", mend)
    else:
        yield host("token", OK, f"{path}, for its owner alone")


def data_of(read: Configuration) -> Iterator[Checked]:
    """Where sessions are kept."""
    if read.get("sessions") == "memory":
        yield host("data", OK, "sessions are kept in memory, and end with the host")
        return
    folder: Path = read.get("data_directory")
    there = next(each for each in (folder, *folder.parents) if each.exists())
    if not there.is_dir():
        yield host("data", PROBLEM, f"{there} is no directory", "set dataDirectory to another one")
        return
    if not os.access(there, os.W_OK | os.X_OK):
        name = shlex.quote(str(there))
        yield host("data", PROBLEM, f"{there} cannot be written to", f"chown $USER {name}")
        return
    if shutil.disk_usage(there).free < _LITTLE_SPACE:
        yield host("data", WARNING, f"{there} is on a disk with less than 100 MiB left")
    if there != folder:
        yield host("data", OK, f"{folder} is made at the first start")
    elif stat.S_IMODE(folder.stat().st_mode) & 0o077:
        mend = f"chmod 700 {shlex.quote(str(folder))}"
        yield host("data", WARNING, f"{folder} can be looked into by others", mend)
    else:
        yield host("data", OK, f"{folder}, for its owner alone")


def address_of(read: Configuration, found: Found) -> Iterator[Checked]:
    """Whether a host could listen where it would, or does."""
    if found.running and found.record is not None:
        held = found.record
        yield host("daemon", OK, f"runs: pid {held.pid}, {held.url}")
        return
    yield host("daemon", OK, "none runs in the background")
    if not read.listens:
        yield host("address", OK, "nothing listens: standard input and output are served")
        return
    names = ("host", "port", "listen")
    endpoint = Settings(**{name: read.get(name) for name in names}).endpoint
    kind, bare, named = split(endpoint)
    port = named.get("port") or next(iter(bare), "")
    if kind not in ("tcp", "tcp6") or not port.isdecimal():
        yield host("address", OK, f"{endpoint} is tried at the start")
    elif int(port) == 0:
        yield host("address", OK, "a free port is picked at the start")
    else:
        address = named.get("interface", bare[1] if len(bare) > 1 else "")
        yield _bound(kind, address, int(port), read.place("port"))


def _bound(kind: str, address: str, port: int, place: str) -> Checked:
    family = socket.AF_INET6 if kind == "tcp6" or ":" in address else socket.AF_INET
    where = listening_place(address, port)
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((address, port))
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            words = error.strerror or str(error)
            return host("address", PROBLEM, f"{where} cannot be listened on: {words}", None)
        if _answers_like_us(address, port):
            return host("address", OK, f"an ahpd listens on {where} already, in the foreground")
        words = f"another program listens on {where}"
        return host(
            "address", PROBLEM, words, f"set another port ({place}), or ahpd start --port 0"
        )
    return host("address", OK, f"{where} is free")


def _answers_like_us(address: str, port: int) -> bool:
    """Whether who listens there answers `/health` as this host does."""
    asked = http.client.HTTPConnection(address or "127.0.0.1", port, timeout=_ASK_SECONDS)
    try:
        asked.request("GET", "/health")
        answer = json.loads(asked.getresponse().read(4096))
    except (OSError, ValueError, http.client.HTTPException):
        return False
    finally:
        asked.close()
    return isinstance(answer, dict) and answer.get("status") in ("ok", "draining")


def mcp_servers_of(read: Configuration, environ: Mapping[str, str]) -> Iterator[Checked]:
    """Whether the programs of MCP servers are there; none is started, and no URL is asked."""
    for name, entry in read.get("mcp_servers").items():
        about = f"mcp {name}"
        try:
            held = resolve(entry, environ, f"mcpServers.{name}")
        except Unresolved as missing:
            yield host(about, WARNING, f"{missing}; sessions are not offered it")
            continue
        if held["type"] == "http":
            yield host(about, OK, "reached by URL, which is not asked here")
            continue
        path = held.get("env", {}).get("PATH", environ.get("PATH"))
        program = shutil.which(held["command"], path=path)
        if program is None:
            words = f"there is no program {held['command']} on PATH"
            yield host(about, WARNING, words, f"install {held['command']}, or name its path")
        else:
            yield host(about, OK, program)
