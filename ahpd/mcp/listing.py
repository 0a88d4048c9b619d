"""A session's tools as one list that a program is offered.

The host's own come under their names, a client's as `<clientId>__<name>`: two clients of one
session may both provide `openFile`. Source: AHP.txt, "A client's tools are the client's to run".
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs

from ahpd.protocol import State

#: What the models behind every known program take of a tool's name.
_ODD: Final = re.compile(r"[^A-Za-z0-9_-]")
_LONGEST: Final = 64
#: Of a name that is cut short, how much tells it from the others.
_DIGEST: Final = 8


@attrs.frozen
class OfferedTool:
    """One tool of the list."""

    served_as: str
    """What the program calls it."""
    definition: Mapping[str, Any]
    """Schema: ToolDefinition; of a client's with `clientId` added."""

    @property
    def client(self) -> str | None:
        """The client that runs it; None for one of the host's."""
        client: str | None = self.definition.get("clientId")
        return client

    @property
    def name(self) -> str:
        """What whoever runs it calls it."""
        name: str = self.definition["name"]
        return name

    def described(self) -> State:
        """As `tools/list` says it (MCP: Tool).

        Its `outputSchema` is left out: MCP holds a server that says one to an answer that fits
        it, and a program drops every other, while a client's answer need hold none (schema:
        ToolCallResult).
        """
        shown: State = {
            "name": self.served_as,
            "inputSchema": self.definition.get("inputSchema") or {"type": "object"},
        }
        for key in ("title", "description", "annotations"):
            if self.definition.get(key) is not None:
                shown[key] = self.definition[key]
        return shown


def offered(
    host_tools: Iterable[Mapping[str, Any]], client_tools: Iterable[Mapping[str, Any]]
) -> dict[str, OfferedTool]:
    """All of them by the name they are served under; the first of two alike is the one.

    `client_tools` have a `clientId` each.
    """
    found: dict[str, OfferedTool] = {}
    for definition in host_tools:
        name = served_name(definition["name"])
        found.setdefault(name, OfferedTool(name, definition))
    for definition in client_tools:
        name = served_name(f"{definition['clientId']}__{definition['name']}")
        found.setdefault(name, OfferedTool(name, definition))
    return found


def served_name(name: str) -> str:
    """`name` as every model takes it: other characters are `_`, and a long one is cut.

    What was changed ends in a digest of the whole, so that no two names meet.
    """
    plain = _ODD.sub("_", name)
    if plain == name and len(name) <= _LONGEST:
        return name
    digest = hashlib.sha256(name.encode()).hexdigest()[:_DIGEST]
    return f"{plain[: _LONGEST - _DIGEST - 1]}_{digest}"
