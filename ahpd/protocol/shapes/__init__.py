"""Every shape of AHP 1.0.0's wire, one module per area, as `TypedDict`s.

A shape is checked by `ahpd.protocol.check`, never made into an object: what a client
sent stays as it was sent. Beyond 1.0.0 they declare the extensions this host serves
(AHP.txt, "What is served outside the protocol"); each says so where it stands.

The modules are imported when one of their shapes is first wanted, because making
some three hundred classes takes longer than the rest of the protocol together.
"""

from importlib import import_module
from typing import Any, Final

from ahpd.protocol.shapes.notation import Open
from ahpd.protocol.shapes.reading import is_shape

MODULES: Final = (
    "annotations",
    "automations",
    "canvas",
    "changesets",
    "chat_actions",
    "chats",
    "common",
    "config",
    "customizations",
    "envelopes",
    "handshake",
    "messages",
    "questions",
    "resources",
    "root",
    "rpc",
    "session_actions",
    "sessions",
    "telemetry",
    "terminals",
    "tool_calls",
    "tools",
    "turns",
)


def shape(where: str) -> Any:
    """The shape named `<module>.<name>`, from one of this package's modules."""
    module, _, name = where.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), name)


def every_shape() -> dict[str, Any]:
    """Every declared shape by its name: the objects, and the unions and words that have one."""
    return {
        name: value
        for module in MODULES
        for name, value in vars(import_module(f"{__name__}.{module}")).items()
        if value is not Open and is_shape(value)
    }
