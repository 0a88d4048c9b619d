"""Whether an adapter is one, and the list of them that clients read (`x-ahpd-adapters`).

Source: PLUGINS.txt, "An adapter of your own", "x-ahpd-adapters".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.extensions.names import SLUG_WORDS, is_slug
from ahpd.interfaces import (
    Adapter,
    Capability,
    CodeSignIn,
    DeviceSignIn,
    Owned,
    PluginError,
)
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.shapes.common import Icon
from ahpd.schemas import node_of, secret_paths, write_only_paths
from ahpd.schemas.documents import plain

#: A path whose segments are plain, `{id}` among them: none leads up, or to another host.
_PATH: Final = re.compile(r"(?:/(?!\.{1,2}(?:/|$))(?:[\w.~@:+-]|\{id\})+)+/?", re.ASCII)
#: The surfaces a view may be shown on.
SURFACES: Final = ("main",)


def check_adapter(adapter: Adapter) -> None:
    """Raises `PluginError` for an adapter that breaks a rule, in words that name it."""
    if not isinstance(adapter, Adapter):
        raise PluginError(f"an adapter is an Adapter, found {type(adapter).__name__}")
    if not is_slug(adapter.name):
        raise PluginError(f"the name of an adapter is a slug, {SLUG_WORDS}: found {adapter.name!r}")
    at = f"adapter {adapter.name}"
    _text(f"{at}: title", adapter.title)
    if not isinstance(adapter.schema, Mapping):
        raise PluginError(f"{at}: schema is no JSON Schema object")
    if not callable(adapter.open):
        raise PluginError(f"{at}: open is not callable")
    for member in ("run", "check", "provider", "models"):
        value = getattr(adapter, member)
        if value is not None and not callable(value):
            raise PluginError(f"{at}: {member} is neither callable nor None")
    for capability in adapter.capabilities:
        _check_capability(at, capability)
    for index, icon in enumerate(adapter.icons):
        _check_icon(f"{at}: icons[{index}]", icon)
    if adapter.sign_in is not None:
        _check_sign_in(at, adapter)


def adapter_warnings(adapter: Adapter) -> list[str]:
    """What of a checked adapter is let through and its author should know, a line each."""
    at = f"adapter {adapter.name}"
    lines = [
        f"{at} {path}: writeOnly kept in the vault; mark it secret"
        for path in write_only_paths(adapter.schema)
    ]
    lines += [
        f"{at} action {one.name}: its input has a field connector, which names the account "
        "where a session binds several"
        for one in adapter.capabilities
        if one.type == "action" and "connector" in ((one.input or {}).get("properties") or {})
    ]
    return lines


def _check_capability(at: str, one: Capability) -> None:
    if not isinstance(one, Capability):
        raise PluginError(f"{at}: a capability is a Capability, found {type(one).__name__}")
    _text(f"{at}: the type of a capability", one.type)
    _text(f"{at}: the name of a {one.type} capability", one.name)
    _text(f"{at}: the title of the {one.type} capability {one.name}", one.title)
    what = f"{at}: the {one.type} capability {one.name}"
    if one.type == "view" and one.name not in SURFACES:
        raise PluginError(f"{what} names no surface this host knows: {', '.join(SURFACES)}")
    if one.path is not None and one.type != "receive":
        raise PluginError(f"{what} has a path: only a receive capability has one")
    if one.path is not None and not (isinstance(one.path, str) and _PATH.fullmatch(one.path)):
        # A client puts this host's address before it, and shows people the whole.
        raise PluginError(f"{what}: its path starts with /, and is one: /plugins/acme/{{id}}")
    if one.input is None:
        return
    if not isinstance(one.input, Mapping):
        raise PluginError(f"{what}: its input is no JSON Schema object")
    if one.type == "action" and one.input.get("type") != "object":
        raise PluginError(f"{what}: its input is the schema of an object (type: object)")


def _check_icon(at: str, icon: Any) -> None:
    try:
        check_strict(plain(icon), Icon, at)
    except ShapeError as wrong:
        raise PluginError(str(wrong)) from None


def _check_sign_in(at: str, adapter: Adapter) -> None:
    sign_in = adapter.sign_in
    if not isinstance(sign_in, CodeSignIn | DeviceSignIn):
        raise PluginError(f"{at}: sign_in is a CodeSignIn or a DeviceSignIn")
    _text(f"{at}: the title of its sign-in", sign_in.title)
    secret = secret_paths(adapter.schema)
    # What it fills is a field of the config itself: one of an object in it would stand beside it.
    if sign_in.field not in secret or not node_of(adapter.schema).key(sign_in.field).marked:
        raise PluginError(
            f"{at}: its sign-in fills {sign_in.field!r}, which its schema does not keep as a secret"
        )
    account = sign_in.account if isinstance(sign_in, DeviceSignIn) else None
    if account is None:
        return
    if account not in (adapter.schema.get("properties") or {}):
        raise PluginError(
            f"{at}: its sign-in writes the account to {account!r}, which its schema does not keep"
        )
    if any(path == account or path.startswith((f"{account}.", f"{account}[")) for path in secret):
        raise PluginError(f"{at}: its sign-in writes the account to {account!r}, which is secret")


def _text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PluginError(f"{what} must be a text that is not empty")


# -- as clients see them ----------------------------------------------------------------


def adapter_row(owned: Owned, icons: Sequence[State] = ()) -> State:
    """One adapter as `x-ahpd-adapters` lists it, with its icons as clients are sent them."""
    adapter: Adapter = owned.value
    row: State = {
        "name": adapter.name,
        "title": adapter.title,
        "description": adapter.description,
        "schema": dict(adapter.schema),
        "capabilities": [capability_row(one) for one in adapter.capabilities],
        "plugin": owned.plugin,
    }
    if icons:
        row["icons"] = list(icons)
    if adapter.sign_in is not None:
        row["signIn"] = sign_in_row(adapter.sign_in)
    return row


def capability_row(one: Capability) -> State:
    """A capability on the wire."""
    row: State = {"type": one.type, "name": one.name, "title": one.title}
    if one.description:
        row["description"] = one.description
    if one.input is not None:
        row["input"] = dict(one.input)
    if one.path is not None:
        row["path"] = one.path
    return row


def sign_in_row(sign_in: CodeSignIn | DeviceSignIn) -> State:
    """What a client is told of a sign-in."""
    device = isinstance(sign_in, DeviceSignIn)
    row: State = {
        "title": sign_in.title,
        "field": sign_in.field,
        "flow": "device" if device else "code",
    }
    if isinstance(sign_in, DeviceSignIn) and sign_in.account is not None:
        row["account"] = sign_in.account
    return row


def surfaces_of(adapter: Adapter) -> Sequence[str]:
    """The surfaces a connector of it shows views on."""
    return tuple(one.name for one in adapter.capabilities if one.type == "view")


def action_of(adapter: Adapter, name: str) -> Capability | None:
    """Its action of this name that the host can run; None for none."""
    if adapter.run is None:
        return None
    found: Any = (one for one in adapter.capabilities if one.type == "action" and one.name == name)
    return next(found, None)
