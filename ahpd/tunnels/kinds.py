"""Whether a kind of tunnel is one, and the operations a list of tunnels offers for it.

Source: PLUGINS.txt, "A tunnel kind of your own", `x-ahpd-tunnels`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from ahpd.extensions.names import SLUG_WORDS, is_slug
from ahpd.extensions.operations import LIST
from ahpd.interfaces import Operation, PluginError, TunnelKind, TunnelOperation
from ahpd.protocol import State

#: What a record of the list is called where an operation names its scope.
SCOPE: Final = "tunnel"
PUT: Final = "tunnel:put"
DELETE: Final = "tunnel:delete"

CREATE: Final = "create"
UPDATE: Final = "update"
REMOVE: Final = "remove"
ENABLE: Final = "enable"
DISABLE: Final = "disable"
#: The verbs that are the host's, of every kind.
HOST_OPERATIONS: Final = (CREATE, UPDATE, REMOVE, ENABLE, DISABLE)

#: What the host itself says of a tunnel, in its record and in its row. No setting is called so.
HOST_FIELDS: Final = frozenset(
    {
        *("id", "kind", "plugin", "purpose", "enabled", "owner"),
        *("status", "url", "error", "operation", "operations"),
    }
)


def check_kind(kind: TunnelKind) -> None:
    """Raises `PluginError` for a kind that breaks a rule, in words that name it."""
    if not isinstance(kind, TunnelKind):
        raise PluginError(f"a tunnel kind is a TunnelKind, found {type(kind).__name__}")
    if not is_slug(kind.name):
        raise PluginError(f"the name of a tunnel kind is a slug, {SLUG_WORDS}: found {kind.name!r}")
    at = f"tunnel kind {kind.name}"
    _text(f"{at}: title", kind.title)
    if not isinstance(kind.description, str):
        raise PluginError(f"{at}: description is no text")
    _check_schema(at, kind.schema)
    for member in ("create", "remove"):
        if not callable(getattr(kind, member)):
            raise PluginError(f"{at}: {member} is not callable")
    for member in ("invoke", "update", "system"):
        value = getattr(kind, member)
        if value is not None and not callable(value):
            raise PluginError(f"{at}: {member} is neither callable nor None")
    named: set[str] = set()
    for operation in kind.operations:
        _check_operation(at, operation, named)
        named.add(operation.id)
    if named and kind.invoke is None:
        raise PluginError(f"{at}: it lists operations and has no invoke to run them")


def _check_schema(at: str, schema: object) -> None:
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        raise PluginError(f"{at}: schema is the JSON Schema of an object (type: object)")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise PluginError(f"{at}: the properties of its schema are no object")
    taken = sorted(HOST_FIELDS & properties.keys())
    if taken:
        raise PluginError(
            f"{at}: its schema has the field {taken[0]}, which the host says of every tunnel"
        )


def _check_operation(at: str, operation: TunnelOperation, named: set[str]) -> None:
    if not isinstance(operation, TunnelOperation):
        raise PluginError(
            f"{at}: an operation is a TunnelOperation, found {type(operation).__name__}"
        )
    _text(f"{at}: the id of an operation", operation.id)
    if operation.id in HOST_OPERATIONS:
        raise PluginError(f"{at}: the operation {operation.id} is this host's own")
    if operation.id in named:
        raise PluginError(f"{at}: two operations have the id {operation.id}")
    what = f"{at}: the operation {operation.id}"
    _text(f"{what}: its label", operation.label)
    for member in ("description", "icon", "confirmation"):
        value = getattr(operation, member)
        if value is not None and not isinstance(value, str):
            raise PluginError(f"{what}: its {member} is no text")
    if operation.input is not None and not isinstance(operation.input, Mapping):
        raise PluginError(f"{what}: its input is no JSON Schema object")
    _text(f"{what}: its grant", operation.grant)
    if operation.offered is not None and not callable(operation.offered):
        raise PluginError(f"{what}: offered is neither callable nor None")


def _text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PluginError(f"{what} must be a text that is not empty")


# -- what is listed -----------------------------------------------------------------


def operation_id(kind: str, verb: str) -> str:
    """What an operation of a kind is called on the list: `devtunnel/create`."""
    return f"{kind}/{verb}"


def operations_of(kind: TunnelKind, schema: State) -> Sequence[Operation]:
    """Everything a kind may be asked. `schema` is its own as clients are sent it."""
    host = {
        CREATE: Operation(
            id=operation_id(kind.name, CREATE),
            kind=kind.name,
            label=f"Create {kind.title}",
            description=kind.description or None,
            scopes=(LIST,),
            grant=PUT,
            input=schema,
        ),
        UPDATE: _of_tunnel(kind.name, UPDATE, "Update", input=schema),
        ENABLE: _of_tunnel(kind.name, ENABLE, "Enable"),
        DISABLE: _of_tunnel(kind.name, DISABLE, "Disable"),
        REMOVE: removal_of(kind.name),
    }
    theirs = [
        Operation(
            id=operation_id(kind.name, one.id),
            kind=kind.name,
            label=one.label,
            description=one.description,
            icon=one.icon,
            confirmation=one.confirmation,
            input=one.input,
            scopes=(SCOPE,),
            grant=one.grant,
        )
        for one in kind.operations
    ]
    return (*host.values(), *theirs)


def removal_of(kind: str) -> Operation:
    """The removal of a tunnel, which a tunnel of a kind that is gone offers too."""
    return _of_tunnel(
        kind,
        REMOVE,
        "Remove",
        grant=DELETE,
        confirmation="Remove this tunnel, and the secrets that are kept with it?",
    )


def _of_tunnel(
    kind: str,
    verb: str,
    label: str,
    *,
    grant: str = PUT,
    confirmation: str | None = None,
    input: State | None = None,  # noqa: A002 - the operation's own word
) -> Operation:
    return Operation(
        id=operation_id(kind, verb),
        kind=kind,
        label=label,
        scopes=(SCOPE,),
        grant=grant,
        confirmation=confirmation,
        input=input,
    )
