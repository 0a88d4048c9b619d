"""The tools a model is offered: the session's own, this host's, and its clients'.

Endpoints take names of letters, digits, `_` and `-`, 64 at most. A client's tool is called
`<clientId>__<name>`; what does not fit is spelled so that it does, and no two are the same.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import Permission, ToolEffects
from ahpd.protocol import State
from ahpd.wire.codec import encode
from ahpd_agent_openai.tools.values import Described

LONGEST_NAME: Final = 64
_OTHER: Final = re.compile(r"[^A-Za-z0-9_-]+")

OWN: Final = "own"
HOST: Final = "host"
CLIENT: Final = "client"


@attrs.frozen(kw_only=True)
class OfferedTool:
    """One tool, as it is offered and where it runs."""

    name: str
    """What the model calls it by."""
    kind: str
    """`own`, `host` or `client`."""
    called: str
    """What whoever runs it calls it by."""
    display_name: str
    function: State = attrs.field(repr=False)
    """As the request holds it."""
    client: str | None = None
    effects: ToolEffects = attrs.field(factory=ToolEffects)

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """What a call of a host's or a client's tool would do, as far as it says itself."""
        return Described(
            display_name=self.display_name,
            invocation_message=f"Run {self.display_name}",
            permission=Permission(kind="custom-tool"),
            effects=self.effects,
            tool_input=encode(dict(arguments)).decode(),
        )


class OfferedTools:
    """Every tool of one request, by the name the model has for it."""

    def __init__(
        self,
        own: Sequence[Mapping[str, Any]],
        host: Sequence[Mapping[str, Any]] = (),
        clients: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """`own` are function tools; the others schema: ToolDefinition, a client's with `clientId`."""
        self._tools: dict[str, OfferedTool] = {}
        for definition in own:
            function = definition["function"]
            name = function["name"]
            self._tools[name] = OfferedTool(
                name=name,
                kind=OWN,
                called=name,
                display_name=name,
                function=dict(definition),
            )
        for definition in host:
            self._add(HOST, definition["name"], definition, None)
        for definition in clients:
            client = definition["clientId"]
            self._add(CLIENT, f"{client}__{definition['name']}", definition, client)

    def _add(
        self, kind: str, wanted: str, definition: Mapping[str, Any], client: str | None
    ) -> None:
        name = fitting(wanted, self._tools)
        described: State = {"name": name, "parameters": _parameters(definition)}
        if definition.get("description"):
            described["description"] = definition["description"]
        hints = definition.get("annotations") or {}
        self._tools[name] = OfferedTool(
            name=name,
            kind=kind,
            called=definition["name"],
            display_name=definition.get("title") or hints.get("title") or definition["name"],
            function={"type": "function", "function": described},
            client=client,
            effects=ToolEffects(
                reads=hints.get("readOnlyHint") is True,
                writes=hints.get("readOnlyHint") is False,
                network=hints.get("openWorldHint") is True,
                destructive=hints.get("destructiveHint") is True,
            ),
        )

    def find(self, name: str) -> OfferedTool | None:
        """The tool the model means."""
        return self._tools.get(name)

    def names(self) -> list[str]:
        """What a model may call."""
        return list(self._tools)

    def functions(self) -> list[State]:
        """As a request holds them."""
        return [tool.function for tool in self._tools.values()]


def fitting(wanted: str, taken: Mapping[str, Any]) -> str:
    """`wanted` as a name endpoints take that is none of `taken`."""
    name = _OTHER.sub("_", wanted) or "tool"
    if len(name) <= LONGEST_NAME and name not in taken:
        return name
    count = 0
    while True:
        mark = hashlib.sha256(f"{wanted}\0{count}".encode()).hexdigest()[:8]
        made = f"{name[: LONGEST_NAME - 9]}_{mark}"
        if made not in taken:
            return made
        count += 1


def _parameters(definition: Mapping[str, Any]) -> State:
    schema = definition.get("inputSchema")
    if not isinstance(schema, Mapping):
        return {"type": "object", "properties": {}}
    return {"properties": {}, **schema, "type": "object"}
