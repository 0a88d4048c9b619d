"""Whether an agent would work: its program is there, it answers, and it is signed in to.

Nothing is spent and nothing is kept: the program is greeted and let go. Source: PLUGINS.txt,
"An engine of your own", on `check`.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from twisted.internet.defer import TimeoutError, ensureDeferred  # noqa: A004

from ahpd.interfaces import AgentFailure, EnginePorts, Finding
from ahpd_agent_acp.handshake import offered
from ahpd_agent_acp.record import Options, wants_sign_in
from ahpd_agent_acp.server import NoCalls, Server
from ahpd_agent_acp.starts import Starts

#: Seconds the greeting and the sign-in have together: fewer than the host gives a check, so
#: that it is said what was found before.
BOUND: Final = 15.0


async def probe(
    options: Options, ports: EnginePorts, what: str, provider: str, bound: float
) -> Sequence[Finding]:
    """What was found, the program first. Never raises."""
    program = _program(options, ports)
    if not program.ok:
        return (program,)
    server = Server(ports, options, what, provider, Starts())
    starting = ensureDeferred(server.start(None, NoCalls(), {}))
    starting.addTimeout(bound, ports.reactor)
    try:
        await starting
    except AgentFailure as failed:
        return (program, _answer(options, server, failed.message))
    except TimeoutError:
        words = f"it started, and did not answer the handshake within {bound:g} seconds"
        return (program, _answer(options, server, words))
    finally:
        await server.close()
    return (program, _greeted(server), _signed_in(options, ports, server))


def _program(options: Options, ports: EnginePorts) -> Finding:
    path = options.env.get("PATH") or ports.environ.get("PATH") or os.defpath
    found = shutil.which(options.command, path=path)
    if found is not None:
        return Finding(about="program", ok=True, words=f"{options.command} is {found}")
    mend = options.install[0] if options.install else options.page
    return Finding(about="program", ok=False, words=_missing(options.command), mend=mend)


def _missing(command: str) -> str:
    if "/" not in command:
        return f"{command} is not on PATH"
    if not Path(command).exists():
        return f"there is no file {command}"
    if Path(command).is_dir():
        return f"{command} is a folder, and no program"
    return f"{command} may not be run: it is not executable"


def _answer(options: Options, server: Server, words: str) -> Finding:
    about = "sign-in" if server.capabilities.greeted else "handshake"
    return Finding(about=about, ok=False, words=_one_line(words), mend=options.page)


def _greeted(server: Server) -> Finding:
    can = server.capabilities
    name = f"{can.name} {can.version}".strip() or "it"
    return Finding(about="handshake", ok=True, words=f"{name} speaks ACP 1")


def _signed_in(options: Options, ports: EnginePorts, server: Server) -> Finding:
    sign_in = wants_sign_in(options, ports.environ)
    if sign_in is not None:
        return Finding(about="sign-in", ok=True, words=f"signed in with {sign_in.method}")
    if options.sign_in is not None:
        wanted = " or ".join(options.sign_in.from_env)
        words = (
            f"{wanted} is not set, so no sign-in is sent; it offers {offered(server.capabilities)}"
        )
    elif server.capabilities.sign_ins:
        words = f"no sign-in is sent; it offers {offered(server.capabilities)}"
    else:
        words = "it asks for none"
    return Finding(about="sign-in", ok=True, words=words)


def _one_line(words: str) -> str:
    return " / ".join(line.strip() for line in words.splitlines() if line.strip())
