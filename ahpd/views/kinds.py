"""The kinds of components, and what each may say.

A property is a literal or `{path}`, which reads the value at that path of the data. One that is
not in this table is a literal or `{path}` as well: a client draws what it knows. Source:
PLUGINS.txt, "A view is a small A2UI v0.10 surface"; A2UI names what lays out a container.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import urlsplit

import attrs


@attrs.frozen
class Rule:
    """What a property's literal must be."""

    fits: Callable[[Any], bool]
    words: str
    bound: bool = True
    """Whether `{path}` may stand in its place."""


@attrs.frozen
class Kind:
    """What one kind of component may say beside `id` and `component`."""

    properties: Mapping[str, Rule] = attrs.field(factory=dict)
    required: tuple[str, ...] = ()
    child: bool = False
    """Whether it may name one component below it."""
    children: bool = False
    """Whether it may name a list of them."""
    action: bool = False
    """Whether it calls a method; it must, then."""


def is_url(value: Any) -> bool:
    """Whether `value` is an absolute http(s) URL with a host."""
    if not isinstance(value, str) or re.search(r"[\x00-\x20\x7f\\]", value):
        return False
    try:
        parts = urlsplit(value)
        # The port is only read here, and may be no number.
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_shown(value: Any) -> bool:
    return isinstance(value, str | int | float)


def _is_time(value: Any) -> bool:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return False
    return True


def _one_of(*values: str) -> Rule:
    return Rule(lambda value: value in values, f"one of {', '.join(values)}", bound=False)


_TEXT: Final = Rule(_is_text, "text")
_SHOWN: Final = Rule(_is_shown, "text or a number")
_NUMBER: Final = Rule(_is_number, "a number")
_URL: Final = Rule(is_url, "an absolute http(s) URL with a host")
_TIME: Final = Rule(_is_time, "an ISO 8601 time")
_ALIGN: Final = _one_of("start", "center", "end", "stretch")
_JUSTIFY: Final = _one_of(
    "start", "center", "end", "spaceBetween", "spaceAround", "spaceEvenly", "stretch"
)
_LAID_OUT: Final = {"justify": _JUSTIFY, "align": _ALIGN}

#: What every kind may say.
COMMON: Final[Mapping[str, Rule]] = {"weight": Rule(_is_number, "a number", bound=False)}

KINDS: Final[Mapping[str, Kind]] = {
    "Text": Kind({"text": _SHOWN, "variant": _TEXT}, ("text",)),
    "Link": Kind({"label": _TEXT, "href": _URL}, ("href",), child=True),
    "Button": Kind({"label": _TEXT, "variant": _TEXT}, child=True, action=True),
    "Card": Kind({"title": _TEXT}, child=True, children=True),
    "Row": Kind(_LAID_OUT, child=True, children=True),
    "Column": Kind(_LAID_OUT, child=True, children=True),
    "List": Kind(
        {"direction": _one_of("vertical", "horizontal"), "align": _ALIGN},
        child=True,
        children=True,
    ),
    "Divider": Kind({"axis": _one_of("horizontal", "vertical")}),
    "Icon": Kind({"name": _TEXT}, ("name",)),
    "Progress": Kind(
        {"value": _NUMBER, "max": _NUMBER, "label": _TEXT, "display": _one_of("percent")},
        ("value",),
        child=True,
    ),
    "DateTime": Kind(
        {"value": _TIME, "label": _TEXT, "format": _one_of("time", "date", "datetime", "auto")},
        ("value",),
    ),
    "KeyValue": Kind({"label": _SHOWN, "value": _SHOWN}, child=True),
}
