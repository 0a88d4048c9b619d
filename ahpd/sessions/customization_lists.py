"""Lists of customizations (schema: Customization), as values: one looked for, changed, compared.

Sources: AHP.txt, "Customizations are containers", `session/customizationsChanged`,
`session/customizationUpdated` and `session/customizationRemoved`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import Action, State
from ahpd.sessions.decisions import in_force

#: What keeps its decisions by scope; anything else there is is on or off.
BY_SCOPE: Final = frozenset({"plugin", "mcpServer"})
#: What of a server its requests and its backend move without a list.
MOVES_BY_ITSELF: Final = frozenset({"state", "channel"})
#: What a client says of its plugin to the host, and no client is shown.
_FOR_THE_HOST: Final = frozenset({"nonce", "childEnablement"})


def find(customizations: Sequence[Mapping[str, Any]], identifier: str) -> Mapping[str, Any] | None:
    """The customization of this id, at the top or inside a container; None for none."""
    return next((entry for entry in every(customizations) if entry["id"] == identifier), None)


def every(customizations: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All of them, those at the top first."""
    top = list(customizations)
    return top + [child for entry in top for child in entry.get("children") or ()]


def is_on(entry: Mapping[str, Any]) -> bool:
    """Whether one is on, by its decisions or by its switch."""
    if entry["type"] in BY_SCOPE:
        return in_force(entry.get("enablement"))
    return entry.get("enabled", True) is not False


def with_one(
    entries: Sequence[Mapping[str, Any]],
    identifier: str,
    change: Callable[[Mapping[str, Any]], Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """`entries` with the one of this id changed, wherever it is."""
    changed = []
    for entry in entries:
        if entry["id"] == identifier:
            changed.append(change(entry))
        elif entry.get("children"):
            changed.append({**entry, "children": with_one(entry["children"], identifier, change)})
        else:
            changed.append(entry)
    return changed


def with_fields(fields: Mapping[str, Any], entry: Mapping[str, Any]) -> State:
    """A server with `fields` for what of it moves without a list."""
    kept = {name: value for name, value in entry.items() if name not in MOVES_BY_ITSELF}
    return {**kept, **fields}


def switched(entry: Mapping[str, Any], enablement: Sequence[Mapping[str, Any]]) -> State:
    """As the protocol's reducer takes a switch."""
    made = dict(entry)
    if entry["type"] in BY_SCOPE:
        made.pop("enablement", None)
        if enablement:
            made["enablement"] = list(enablement)
    else:
        made["enabled"] = enablement[0].get("enabled", False) if enablement else True
    return made


def put_back(entry: Mapping[str, Any], was: Mapping[str, Any]) -> State:
    """`entry` on or off as it `was`."""
    back = {name: value for name, value in entry.items() if name != "enabled"}
    if "enabled" in was:
        back["enabled"] = was["enabled"]
    return back


def plugins(client: Mapping[str, Any]) -> list[State]:
    """The plugins a client brings (schema: ClientPluginCustomization), as a session lists them."""
    listed = []
    for plugin in client.get("customizations") or ():
        entry = {name: value for name, value in plugin.items() if name not in _FOR_THE_HOST}
        entry["clientId"] = client.get("clientId", "")
        told: Mapping[str, Any] = plugin.get("childEnablement") or {}
        if entry.get("children"):
            entry["children"] = [
                switched(child, told[child["id"]]) if child["id"] in told else child
                for child in entry["children"]
            ]
        listed.append(entry)
    return listed


# -- what moved ------------------------------------------------------------------------------


def as_held(
    listed: Sequence[Mapping[str, Any]], held: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """`listed`, with decisions in the order clients hold them: the order says nothing."""
    known = {entry["id"]: entry for entry in held}
    return [_one_as_held(entry, known.get(entry["id"]) or {}) for entry in listed]


def _one_as_held(entry: Mapping[str, Any], before: Mapping[str, Any]) -> Mapping[str, Any]:
    same: State = {}
    was, now = before.get("enablement"), entry.get("enablement")
    if was and now and was != now and _same(was, now):
        same["enablement"] = was
    if entry.get("children") and before.get("children"):
        same["children"] = as_held(entry["children"], before["children"])
    return {**entry, **same} if same else entry


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(entry in other for entry in one)


def actions(before: Sequence[State], after: Sequence[Mapping[str, Any]]) -> list[Action]:
    """How clients are told of a list: a server that went or moved by itself, or all of it."""
    whole: Action = {"type": "session/customizationsChanged", "customizations": list(after)}
    was, now = {entry["id"]: entry for entry in before}, {entry["id"]: entry for entry in after}
    gone = [entry for name, entry in was.items() if name not in now]
    left = [name for name in was if name in now]
    if not before or left != list(now):
        return [whole]
    moved = [name for name in left if was[name] != now[name]]
    servers = all(entry["type"] == "mcpServer" for entry in gone)
    if gone and servers and not moved:
        return [{"type": "session/customizationRemoved", "id": entry["id"]} for entry in gone]
    if not gone and len(moved) == 1 and now[moved[0]]["type"] == "mcpServer":
        return [{"type": "session/customizationUpdated", "customization": now[moved[0]]}]
    return [whole]
