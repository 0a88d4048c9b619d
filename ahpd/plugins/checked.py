"""What a registration is held to: by the domain it is for (`Checks`), and by its own shape."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.extensions.names import is_scheme
from ahpd.interfaces import (
    Adapter,
    ChangesetOperations,
    Channel,
    HostTool,
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IWatchedResources,
    IWritableResources,
    Method,
    PluginError,
    TriggerType,
    TunnelKind,
)
from ahpd.protocol import State
from ahpd.protocol.characters import HALF_WORDS, is_whole

_X_METHOD: Final = re.compile(r"x-[A-Za-z0-9][A-Za-z0-9._/-]*")
_SLUG: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
#: What a grant of an entry may name: `<subject>:<operation>` (`ahpd.config.plugins`).
_SUBJECT: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_OPERATION: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
#: What a grant is made of, rather than something a subject does.
_GROUPS: Final = frozenset({"read", "write", "*"})

#: What a provider of resources may provide beside reading.
_MORE_OF_A_PROVIDER: Final = (
    IListedResources,
    IResolvedResources,
    IWritableResources,
    IWatchedResources,
)


@attrs.frozen(kw_only=True)
class Checks:
    """What the domains say of what is registered for them. Each raises `ValueError` or
    `PluginError`."""

    tool: Callable[[HostTool], None] = lambda tool: None
    adapter: Callable[[Adapter], None] = lambda adapter: None
    tunnel_kind: Callable[[TunnelKind], None] = lambda kind: None
    trigger_type: Callable[[TriggerType], None] = lambda definition: None
    scheme: Callable[[str], str] = str.lower
    """The one spelling of a scheme (and of an agent's provider) that is not reserved."""
    gaps: Callable[[State], Sequence[str]] = lambda schema: ()
    """What of a schema names no value."""
    adapter_warnings: Callable[[Adapter], Sequence[str]] = lambda adapter: ()
    """What of an adapter is let through, and its author should know."""
    write_only: Callable[[State], Sequence[str]] = lambda schema: ()
    """The fields of an engine's schema that a vault keeps, and that do not say `secret`."""


def is_slug(value: object) -> bool:
    """Whether a value names a collection, an engine, an adapter or a kind of tunnel."""
    return isinstance(value, str) and _SLUG.fullmatch(value) is not None


def check_with(what: str, check: Callable[[Any], Any], value: Any) -> Any:
    """What `check` answers of `value`. Raises `PluginError` that says what it is of."""
    try:
        return check(value)
    except PluginError:
        raise
    except Exception as error:
        raise PluginError(f"{what}: {_words(error)}") from None


def check_provides(wanted: Any, value: Any, what: str) -> None:
    """`value` provides an interface, its members there and called as it says."""
    try:
        verifyObject(wanted, value)
    except Invalid as error:
        raise PluginError(f"{what}: {_words(error)}") from None


def check_resource_provider(name: str, provider: Any) -> None:
    """Reading is required, and what else it says that it provides is there."""
    if not IResourceProvider.providedBy(provider):
        raise PluginError(f"what is to serve {name}: cannot be read: no IResourceProvider")
    for wanted in (IResourceProvider, *_MORE_OF_A_PROVIDER):
        if wanted.providedBy(provider):
            check_provides(wanted, provider, f"what is to serve {name}:")
    check_callable(f"describe of what is to serve {name}:", getattr(provider, "describe", None))


def check_instance(wanted: type, value: Any) -> None:
    """`value` is one of a value class of `ahpd.interfaces`."""
    if isinstance(value, wanted):
        _check_said(wanted.__name__, value)
    else:
        article = "an" if wanted.__name__[0] in "AEIOU" else "a"
        raise PluginError(
            f"{article} {wanted.__name__} of ahpd.interfaces is registered, found "
            f"{type(value).__name__}"
        )


def _check_said(what: str, value: Any) -> None:
    """Every text of a value class can be sent to clients."""
    for field in _fields(value):
        held = getattr(value, field.name)
        for one in held if isinstance(held, (list, tuple)) else (held,):
            if isinstance(one, str):
                if not is_whole(one):  # where it stands is made up for what is wrong alone
                    _check_whole(f"{what}.{field.name}", one)
            elif _fields(one):
                _check_said(f"{what}.{field.name}", one)


def _fields(value: Any) -> Sequence[Any]:
    """The fields of a value class of attrs; none of any other value."""
    fields: Sequence[Any] = getattr(type(value), "__attrs_attrs__", ())
    return fields


def check_slug(what: str, value: Any) -> None:
    """`value` is a slug."""
    if not is_slug(value):
        raise PluginError(
            f"{what} is a slug (small letters, digits and dashes, at most 40, a letter first), "
            f"found {value!r}"
        )


def check_text(what: str, value: Any) -> None:
    """`value` is a text that says something."""
    if not isinstance(value, str) or not value.strip():
        raise PluginError(f"{what} is a text that says something, found {value!r}")
    _check_whole(what, value)


def _check_whole(what: str, text: str) -> None:
    if not is_whole(text):
        raise PluginError(f"{what} {HALF_WORDS}: {text!r}")


def check_callable(what: str, value: Any, *, required: bool = False) -> None:
    """`value` can be called; None will do where it is not `required`."""
    if not callable(value) and (required or value is not None):
        raise PluginError(f"{what} is a function, found {type(value).__name__}")


def check_channel(scheme: Any, channel: Channel) -> None:
    """The scheme is an extension's, and the channel says what may be read by whom."""
    if not isinstance(scheme, str) or not is_scheme(scheme):
        raise PluginError(
            "a channel's scheme begins with x-, is small and ends in a letter or a digit, found "
            f"{scheme!r}"
        )
    at = f"the channel {scheme}"
    if not isinstance(channel.grant, str):
        raise PluginError(f"{at}: its grant is a text, found {type(channel.grant).__name__}")
    check_callable(f"{at}: its snapshot", channel.snapshot, required=True)
    for member in ("authorize", "joined", "left", "describe"):
        check_callable(f"{at}: its {member}", getattr(channel, member))


def check_method(name: Any, method: Method) -> None:
    """The name is an extension's; an empty grant is one of a command that decides itself."""
    if not isinstance(name, str) or _X_METHOD.fullmatch(name) is None:
        raise PluginError(f"a command's name begins with x-, found {name!r}")
    at = f"the command {name}"
    if not isinstance(method.grant, str):
        raise PluginError(f"{at}: its grant is a text, found {type(method.grant).__name__}")
    check_callable(f"{at}: its handle", method.handle, required=True)
    for member in ("authorize", "describe"):
        check_callable(f"{at}: its {member}", getattr(method, member))


def check_operations(contribution: ChangesetOperations) -> None:
    """There is what advertises them, and what runs each."""
    handlers = contribution.handlers
    if (
        not callable(contribution.operations)
        or not isinstance(handlers, Mapping)
        or not handlers
        or not all(map(callable, handlers.values()))
    ):
        raise PluginError("changeset operations are a function, and at least one function by id")
    for name in handlers:
        check_text("the id of a changeset operation", name)


def check_grants(subject: Any, title: Any, operations: Any, description: Any) -> None:
    """A grant can name the subject and each operation, and none is a group of them."""
    if not isinstance(subject, str) or _SUBJECT.fullmatch(subject) is None:
        raise PluginError(f"{subject!r} is no subject of a grant")
    check_text(f"the title of the grants of {subject}", title)
    if not isinstance(description, str):
        raise PluginError(f"the description of the grants of {subject} is a text")
    _check_whole(f"the description of the grants of {subject}", description)
    if isinstance(operations, str) or not isinstance(operations, Sequence) or not operations:
        raise PluginError(f"the grants of {subject} are a list of at least one operation")
    for name in operations:
        if name in _GROUPS:
            raise PluginError(
                f"the grants of {subject}: {name} is a group of operations, and none itself: leave "
                f"it out, {subject}:{name} is asked for without it"
            )
        if not isinstance(name, str) or _OPERATION.fullmatch(name) is None:
            raise PluginError(f"the grants of {subject}: {name!r} is no operation")


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
