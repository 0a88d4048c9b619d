"""A session's customizations: containers with children in them, and MCP servers in both places.

An id is looked for at the top first, then among the children (schema:
SessionCustomizationToggledAction, SessionMcpServerStateChangedAction).
"""

from collections.abc import Callable
from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler
from ahpd.protocol.reducers.fields import assign, replace

#: Types that keep the list of decisions itself; of the others there is only on and off.
_KEEPS_ENABLEMENT: Final = frozenset({"plugin", "mcpServer"})
_SWITCHED: Final = frozenset({"directory", "agent", "skill", "prompt", "rule", "hook"})


def _change(state: State, identifier: str, change: Callable[[State], None]) -> None:
    """Apply `change` to a copy of the customization of that id, and put the copy in its place."""
    customizations = state.get("customizations") or []
    place = keyed.place_of(customizations, "id", identifier)
    if place is not None:
        entry = dict(customizations[place])
        change(entry)
        state["customizations"] = keyed.replaced(customizations, place, entry)
        return
    for place, container in enumerate(customizations):
        children = container.get("children") or []
        inner = keyed.place_of(children, "id", identifier)
        if inner is not None:
            child = dict(children[inner])
            change(child)
            holder = {**container, "children": keyed.replaced(children, inner, child)}
            state["customizations"] = keyed.replaced(customizations, place, holder)
            return


def _toggled(state: State, action: Action) -> None:
    """The decisions replace those held. Of several, the first is the one that counts."""
    enablement = action["enablement"]

    def change(entry: State) -> None:
        if entry["type"] in _KEEPS_ENABLEMENT:
            assign(entry, "enablement", enablement or None)
        elif entry["type"] in _SWITCHED:
            entry["enabled"] = enablement[0].get("enabled", False) if enablement else True

    _change(state, action["id"], change)


def _updated(state: State, action: Action) -> None:
    keyed.upsert(state, "customizations", "id", action["customization"])


def _removed(state: State, action: Action) -> None:
    """A container goes with its children."""
    identifier = action["id"]
    if keyed.remove(state, "customizations", "id", identifier):
        return
    customizations = state.get("customizations") or []
    for place, container in enumerate(customizations):
        left = dict(container)
        if keyed.remove(left, "children", "id", identifier):
            state["customizations"] = keyed.replaced(customizations, place, left)
            return


def _server_state(state: State, identifier: str, server: State, channel: str | None) -> None:
    """Set an MCP server's state and channel together; any other customization stays as it is."""

    def change(entry: State) -> None:
        if entry["type"] == "mcpServer":
            entry["state"] = server
            assign(entry, "channel", channel)

    _change(state, identifier, change)


def _server_state_changed(state: State, action: Action) -> None:
    _server_state(state, action["id"], action["state"], action.get("channel"))


def _server_start_requested(state: State, action: Action) -> None:
    _server_state(state, action["id"], {"kind": "starting"}, None)


def _server_stop_requested(state: State, action: Action) -> None:
    _server_state(state, action["id"], {"kind": "stopped"}, None)


def _server_background_requested(state: State, action: Action) -> None:
    """Only a server whose start holds messages back has something to let go of."""

    def change(entry: State) -> None:
        server = entry.get("state") if entry["type"] == "mcpServer" else None
        if server is not None and server["kind"] == "starting" and server.get("blocking"):
            entry["state"] = {**server, "blocking": False}

    _change(state, action["id"], change)


HANDLERS: Final[dict[str, Handler]] = {
    "session/customizationsChanged": replace("customizations"),
    "session/customizationToggled": _toggled,
    "session/customizationUpdated": _updated,
    "session/customizationRemoved": _removed,
    "session/mcpServerStateChanged": _server_state_changed,
    "session/mcpServerStartRequested": _server_start_requested,
    "session/mcpServerStopRequested": _server_stop_requested,
    "session/mcpServerBackgroundRequested": _server_background_requested,
}
