"""What a reported call is a call of: the agent's own tool, the host's, a client's, a server's.

ACP has a title for people and a kind; a name is there where an agent adds one. The tools
of this host reach the agent through one MCP server, and every agent spells a server's tool
in its own way, so all the known spellings of the tools that were offered are looked up.

A title is free text - of a shell call it is often the command - so it names a tool only
where it is the spelling of a server's, and the call says it is of no other kind.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from ahpd_agent_acp.content import text_in

#: The MCP server that carries the host's tools and its clients' (PLUGINS.txt, "A second worked
#: example: @ahpd/agent-acp").
HOST_SERVER: Final = "host"

#: How agents spell a tool of a server.
_SPELLINGS: Final = (
    "mcp__{server}__{tool}",
    "mcp_{server}_{tool}",
    "{server}__{tool}",
    "{server}_{tool}",
    "{server}-{tool}",
    "{server}.{tool}",
    "{server}/{tool}",
    "{server}:{tool}",
    "{server}: {tool}",
    "mcp: {server}/{tool}",
    "mcp.{server}.{tool}",
    "Tool: {server}/{tool}",
    "{tool} ({server} MCP Server)",
)
_MCP: Final = re.compile(r"mcp__.+__.+", re.DOTALL)
_TITLED: Final = re.compile(r"(?P<tool>[\w.-]+) \((?P<server>[\w .-]+) MCP Server\)")

#: The name of an endpoint's tool, as every model takes one; see `_served`.
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64
_DIGEST: Final = 8


@attrs.frozen(kw_only=True)
class NamedTool:
    """What a call is a call of."""

    name: str
    """The `toolName` of the call: a client's as that client announced it."""
    display: str | None = None
    """What it is called for people, where somebody said so."""
    client: str | None = None
    """The client that runs it."""

    @property
    def of_a_server(self) -> bool:
        """Whether it is an MCP server's, the host's own among them."""
        return self.client is None and _MCP.fullmatch(self.name) is not None


class ToolNames:
    """The tools a session's agent was offered through `server`, by every spelling.

    `host_tools` are schema: ToolDefinition; `client_tools` too, `clientId` added to each.
    """

    def __init__(
        self,
        host_tools: Iterable[Mapping[str, Any]] = (),
        client_tools: Iterable[Mapping[str, Any]] = (),
        server: str = HOST_SERVER,
    ) -> None:
        self._known: dict[str, NamedTool] = {}
        self._announced: dict[tuple[str, str], NamedTool] = {}
        for tool in host_tools:
            named = NamedTool(
                name=f"mcp__{server}__{tool['name']}",
                display=text_in(tool, "title") or tool["name"],
            )
            self._add(server, _served(tool["name"]), named)
        for tool in client_tools:
            served = _served(f"{tool['clientId']}__{tool['name']}")
            named = NamedTool(
                name=tool["name"],
                display=text_in(tool, "title") or tool["name"],
                client=tool["clientId"],
            )
            self._add(server, served, named)
            self._known.setdefault(served, named)
            self._announced[tool["clientId"], tool["name"]] = named

    def _add(self, server: str, tool: str, named: NamedTool) -> None:
        for spelling in _SPELLINGS:
            self._known.setdefault(spelling.format(server=server, tool=tool), named)

    def of_client(self, client: str, name: str) -> NamedTool:
        """A client's tool, by the name it announced."""
        return self._announced.get((client, name)) or NamedTool(
            name=name, display=name, client=client
        )

    def of(self, call: Mapping[str, Any]) -> NamedTool:
        """What an ACP tool call, or an update of one, is a call of."""
        name, kind = _said(call), text_in(call, "kind")
        if name is not None:
            return self._known.get(name) or NamedTool(name=name)
        title = text_in(call, "title")
        if title is not None and kind in (None, "other"):
            found = self._known.get(title)
            if found is not None:
                return found
            if _MCP.fullmatch(title):
                return NamedTool(name=title)
            titled = _TITLED.fullmatch(title)
            if titled:
                return NamedTool(name=f"mcp__{titled['server']}__{titled['tool']}", display=title)
        return NamedTool(name=kind or "other")


def _said(call: Mapping[str, Any]) -> str | None:
    """The tool's name, where an agent added it: as `name`, or in its own `_meta`."""
    name = text_in(call, "name")
    meta = call.get("_meta")
    if name is not None or not isinstance(meta, Mapping):
        return name
    for holder in (meta, *(each for each in meta.values() if isinstance(each, Mapping))):
        found = text_in(holder, "toolName")
        if found is not None:
            return found
    return None


def _served(name: str) -> str:
    """What the endpoint serves a tool as: odd characters are `_`, and what was changed ends in
    a digest of the whole (the host's MCP endpoint names its tools so)."""
    plain = _ODD.sub("_", name)
    if plain == name and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{plain[: _LONGEST - _DIGEST - 1]}_{digest}"
