"""Changing a configuration file by its text, so that what people wrote in it stays.

Agents and plugins are added behind those that are there, and keys of the top level are set;
every other line, comments and unknown keys included, stays as it was. What comes out is read
again: an edit that would say anything but what was asked for is refused.
"""

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import document
from ahpd.config.errors import ConfigError
from ahpd.config.yaml_edits import block, end_of, find, flow, line_end, root_end, set_value

_AGENTS: Final = "agents"
_PLUGINS: Final = "plugins"


@attrs.frozen(kw_only=True)
class Changes:
    """What is to be said beside what a file says."""

    agents: Sequence[Mapping[str, Any]] = ()
    """Records to add to `agents`."""
    plugins: Sequence[str | Mapping[str, Any]] = ()
    """Entries to add to `plugins`."""
    values: Mapping[str, Any] = attrs.field(factory=dict)
    """Keys of the top level and what they are set to."""
    command: str = "ahpd configure"
    """Who says so, for the first line of a file that is made."""

    @property
    def lists(self) -> Mapping[str, Sequence[Any]]:
        """What is added to which list."""
        both = {_AGENTS: self.agents, _PLUGINS: self.plugins}
        return {key: items for key, items in both.items() if items}

    def laid_on(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """What a file that says `values` is to say."""
        after = copy.deepcopy({**values, **self.values})
        for key, items in self.lists.items():
            after[key] = [*(after.get(key) or ()), *copy.deepcopy(list(items))]
        return after


def edited(path: Path, text: str, changes: Changes) -> str:
    """The text of the file `path` with `changes`.

    Raises `ConfigError` where it cannot be edited, with what to add on lines of its own.
    """
    wanted = changes.laid_on(document.parse(path, text).values)
    by_hand = "add this by hand:\n" + as_text(changes).rstrip("\n")
    return chosen(path, text, wanted, lambda plain: _candidates(plain, changes), by_hand)


def chosen(
    path: Path,
    text: str,
    wanted: Mapping[str, Any],
    candidates: Callable[[str], Iterable[str]],
    by_hand: str,
) -> str:
    """The first of the candidates for the text of the file `path` that says what is wanted.

    They are made of the text with `\\n` at its ends of lines. JSON is written anew: it has no
    comments to keep. Raises `ConfigError`, which says what to do `by_hand`.
    """
    if path.suffix == ".json":
        return json.dumps(wanted, indent=2, ensure_ascii=False) + "\n"
    newline = "\r\n" if "\r\n" in text else "\n"
    for candidate in candidates(text.replace("\r\n", "\n")):
        try:
            if document.parse(path, candidate).values == wanted:
                return candidate.replace("\n", newline)
        except ConfigError:
            continue
    raise ConfigError(f"{path}: cannot be changed as it is written; {by_hand}")


def as_text(changes: Changes) -> str:
    """The changes alone, as YAML."""
    lines = [_line(key, value) for key, value in changes.values.items()]
    lines += [f"{key}:\n{_items(items, 2)}" for key, items in changes.lists.items()]
    return "".join(lines)


def _candidates(text: str, changes: Changes) -> Iterator[str]:
    """Texts that may be the one: new keys at the very end, or behind the last key."""
    if text and not text.endswith("\n"):
        text += "\n"
    header = f"# Written by `{changes.command}`; edit it as you like.\n"
    for at_end in (True, False):
        candidate = text or header
        for key, value in changes.values.items():
            candidate = _set(candidate, key, value, at_end)
        for key, items in changes.lists.items():
            candidate = _add(candidate, key, items, at_end)
        yield candidate
    if not changes.values and all(find(text, key) for key in changes.lists):
        # All of it may be in braces, where nothing stands on lines of its own.
        for key, items in changes.lists.items():
            text = in_one_line(text, key, [*_constructed(text)[key], *items])
        yield text


def _set(text: str, key: str, value: Any, at_end: bool) -> str:
    found = find(text, key)
    if found is None:
        return _append(text, _line(key, value), at_end)
    name, held = found
    return f"{text[: name.end_mark.index]}: {flow(value)}{text[end_of(held) :]}"


def _add(text: str, key: str, items: Sequence[Any], at_end: bool) -> str:
    import yaml  # noqa: PLC0415

    found = find(text, key)
    if found is None:
        return _append(text, f"{key}:\n{_items(items, 2)}", at_end)
    held = found[1]
    if isinstance(held, yaml.SequenceNode) and held.value and not held.flow_style:
        place = line_end(text, end_of(held))
        return text[:place] + _items(items, held.start_mark.column) + text[place:]
    return rewritten(text, key, [*_constructed(text)[key], *items])


def _constructed(text: str) -> dict[str, Any]:
    """What the text says, a list that is nothing being an empty one."""
    import yaml  # noqa: PLC0415

    return {key: [] if value is None else value for key, value in yaml.safe_load(text).items()}


def rewritten(text: str, key: str, items: Sequence[Any]) -> str:
    """The text with the list of a key of the top level written anew."""
    found = find(text, key)
    assert found is not None, "a key that is there"
    name, held = found
    lines = "\n" + _items(items, 2).rstrip("\n") if items else " []"
    return f"{text[: name.end_mark.index]}:{lines}{text[end_of(held) :]}"


def in_one_line(text: str, key: str, items: Sequence[Any]) -> str:
    """The same, where the list stands in braces or is to stand on one line."""
    return set_value(text, (key,), list(items))


def _append(text: str, addition: str, at_end: bool) -> str:
    place = len(text) if at_end else root_end(text)
    return text[:place] + addition + text[place:]


def _line(key: str, value: Any) -> str:
    return f"{key}: {flow(value)}\n"


def _items(items: Sequence[Any], indent: int) -> str:
    return block([dict(item) if isinstance(item, Mapping) else item for item in items], indent)
