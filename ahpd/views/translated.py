"""A view in a reader's language."""

from collections.abc import Callable
from typing import Final

from ahpd.protocol import State

#: What of which kind is text for a reader. Names, values and times are the plugin's data.
_TRANSLATED: Final = {"Text": "text", "Link": "label"}


def translated(view: State, lookup: Callable[[str], str]) -> State:
    """A copy whose literal `text` of each Text and `label` of each Link went through `lookup`.

    `lookup` answers a text it does not know as it is. What is bound to the data stays.
    """
    components = {
        name: _translated(component, lookup) for name, component in view["components"].items()
    }
    return {**view, "components": components}


def _translated(component: State, lookup: Callable[[str], str]) -> State:
    key = _TRANSLATED.get(component.get("component", ""))
    text = component.get(key) if key is not None else None
    if key is None or not isinstance(text, str):
        return component
    return {**component, key: lookup(text)}
