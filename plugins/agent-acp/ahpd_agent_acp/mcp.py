"""The MCP servers a conversation is begun with, in ACP's shapes.

What the agent cannot take is left out and said in the log, because somebody who configured a
server and sees a session not reach it has no other way to find out. Source: PLUGINS.txt, "A
second worked example", on `session/new` and `session/load`; ACP: McpServer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import IToolsServer
from ahpd.protocol import State
from ahpd_agent_acp.handshake import Capabilities

log = Logger()

#: What the server with the host's own tools is called.
HOST: Final = "host"


def mcp_servers(
    configured: Mapping[str, Mapping[str, Any]],
    capabilities: Capabilities,
    host: IToolsServer | None,
) -> list[State]:
    """What `session/new` and its like are told: the configured servers, the host's own last."""
    shapes: list[State] = []
    for name, server in configured.items():
        if name == HOST and host is not None:
            log.warn("{name}: is the name of the host's own tools, so it was left out", name=name)
            continue
        shapes += _configured(name, server, capabilities)
    if host is not None:
        headers = {"Authorization": f"Bearer {host.token}"}
        shapes += _http(HOST, host.url, headers, capabilities)
    return shapes


def secrets_of(
    configured: Mapping[str, Mapping[str, Any]], host: IToolsServer | None
) -> Iterator[str]:
    """The credentials among what `mcp_servers` makes: the token, and values of `env` and `headers`."""
    if host is not None:
        yield host.token
    for server in configured.values():
        for values in (server.get("env"), server.get("headers")):
            for value in (values or {}).values():
                yield value
                yield value.removeprefix("Bearer ")


def _configured(
    name: str, server: Mapping[str, Any], capabilities: Capabilities
) -> Iterator[State]:
    if server.get("type") == "http":
        yield from _http(name, server["url"], server.get("headers") or {}, capabilities)
        return
    if server.get("cwd"):
        log.warn(
            "{name}: ACP carries no directory for a stdio MCP server, so {cwd} was left out",
            name=name,
            cwd=server["cwd"],
        )
    yield {
        "name": name,
        "command": server["command"],
        "args": list(server.get("args") or ()),
        "env": _pairs(server.get("env") or {}),
    }


def _http(
    name: str, url: str, headers: Mapping[str, str], capabilities: Capabilities
) -> Iterator[State]:
    if not capabilities.mcp_http:
        log.warn(
            "{agent} takes no MCP servers over HTTP, so {name} was left out",
            agent=capabilities.name or "this agent",
            name=name,
        )
        return
    yield {"type": "http", "name": name, "url": url, "headers": _pairs(headers)}


def _pairs(values: Mapping[str, str]) -> list[State]:
    return [{"name": name, "value": value} for name, value in values.items()]
