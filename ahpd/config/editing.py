"""Changing a configuration file by its text, so that what people wrote in it stays.

Agents are added behind those that are there, and keys of the top level are set; every other
line, comments and unknown keys included, stays as it was. What comes out is read again: an
edit that would say anything but what was asked for is refused.
"""

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import document
from ahpd.config.errors import ConfigError

_AGENTS: Final = "agents"
_HEADER: Final = "# Written by `ahpd configure`; edit it as you like.\n"


@attrs.frozen(kw_only=True)
class Changes:
    """What is to be said beside what a file says."""

    agents: Sequence[Mapping[str, Any]] = ()
    """Records to add to `agents`."""
    values: Mapping[str, Any] = attrs.field(factory=dict)
    """Keys of the top level and what they are set to."""

    def laid_on(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a file that says `values` is to say."""
        after = copy.deepcopy({**values, **self.values})
        if self.agents:
            after[_AGENTS] = [*(after.get(_AGENTS) or ()), *copy.deepcopy(list(self.agents))]
        return after


def edited(path: Path, text: str, changes: Changes) -> str:
    """The text of the file `path` with `changes`.

    Raises `ConfigError` where it cannot be edited, with what to add on lines of its own.
    """
    wanted = changes.laid_on(document.parse(path, text).values)
    if path.suffix == ".json":
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    for candidate in _candidates(text.replace("\r\n", "\n"), changes):
        try:
            if document.parse(path, candidate).values == wanted:
                return candidate.replace("\n", newline)
        except ConfigError:
            continue
    raise ConfigError(
        f"{path}: cannot be added to as it is written; add this by hand:\n"
        + as_text(changes).rstrip("\n")
    )


def as_text(changes: Changes) -> str:
    """The changes alone, as YAML."""
    return "".join(_line(key, value) for key, value in changes.values.items()) + (
        f"{_AGENTS}:\n{_items(changes.agents, 2)}" if changes.agents else ""
    )


def _candidates(text: str, changes: Changes) -> Iterator[str]:
    """Texts that may be the one: new keys at the very end, or behind the last key."""
    if text and not text.endswith("\n"):
        text += "\n"
    for at_end in (True, False):
        candidate = text or _HEADER
        for key, value in changes.values.items():
            candidate = _set(candidate, key, value, at_end)
        if changes.agents:
            candidate = _add_agents(candidate, changes.agents, at_end)
        yield candidate


def _set(text: str, key: str, value: Any, at_end: bool) -> str:
    found = _find(text, key)
    if found is None:
        return _append(text, _line(key, value), at_end)
    name, held = found
    return f"{text[: name.end_mark.index]}: {_flow(value)}{text[_end(held) :]}"


def _add_agents(text: str, agents: Sequence[Mapping[str, Any]], at_end: bool) -> str:
    import yaml  # noqa: PLC0415

    found = _find(text, _AGENTS)
    if found is None:
        return _append(text, f"{_AGENTS}:\n{_items(agents, 2)}", at_end)
    name, held = found
    if isinstance(held, yaml.SequenceNode) and held.value and not held.flow_style:
        place = _line_end(text, _end(held))
        return text[:place] + _items(agents, held.start_mark.column) + text[place:]
    there = yaml.safe_load(text)[_AGENTS] or []
    items = "\n" + _items([*there, *agents], 2).rstrip("\n")
    return f"{text[: name.end_mark.index]}:{items}{text[_end(held) :]}"


def _append(text: str, addition: str, at_end: bool) -> str:
    if at_end:
        return text + addition
    import yaml  # noqa: PLC0415

    root = yaml.compose(text, yaml.SafeLoader)
    place = len(text) if root is None else _line_end(text, _end(root))
    return text[:place] + addition + text[place:]


def _find(text: str, key: str) -> tuple[Any, Any] | None:
    """The nodes of a key of the top level and of its value."""
    import yaml  # noqa: PLC0415

    root = yaml.compose(text, yaml.SafeLoader)
    if isinstance(root, yaml.MappingNode):
        for name, value in root.value:
            if isinstance(name, yaml.ScalarNode) and name.value == key:
                return name, value
    return None


def _end(node: Any) -> int:
    """Where the last of a node's content ends; its own mark is behind the comments that follow."""
    import yaml  # noqa: PLC0415

    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def _line_end(text: str, index: int) -> int:
    """Where the line of `index` ends, its newline included."""
    if index and text[index - 1] == "\n":  # behind a block of text
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def _line(key: str, value: Any) -> str:
    return f"{key}: {_flow(value)}\n"


def _flow(value: Any) -> str:
    # JSON is YAML, and on one line.
    return json.dumps(value, ensure_ascii=False)


def _items(items: Sequence[Mapping[str, Any]], indent: int) -> str:
    import yaml  # noqa: PLC0415

    # Copies, because what two records share would be written as an anchor and an alias.
    plain = json.loads(json.dumps([dict(item) for item in items]))
    dumped: str = yaml.safe_dump(
        plain, sort_keys=False, default_flow_style=False, allow_unicode=True, width=1_000_000
    )
    return "".join(f"{' ' * indent}{line}\n" for line in dumped.splitlines())
