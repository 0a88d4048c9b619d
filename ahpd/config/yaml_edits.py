"""Changing one value of a YAML text where it stands, so that all else stays as it was.

A place in the document is a path of keys and indexes: `("plugins", 2, "enabled")`. What comes
out says what was asked for unless the text is written in a way that is not followed here
(aliases, keys in braces over several lines): whoever edits reads it again and compares. Texts
have `\\n` at their ends of lines.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from ahpd.config.redaction import is_reference

Path = Sequence[str | int]

#: One line holds a document's value however long it is.
_WIDTH: Final = 1_000_000


class NotFollowed(Exception):
    """The text is written in a way that cannot be changed here."""


def set_value(text: str, path: Path, value: Any) -> str:
    """Have the value at `path` be `value`; mappings on the way are made where they are missing."""
    nodes = _walk(text, path)
    depth = len(nodes) - 1
    if depth == len(path):
        return _replaced(text, nodes, depth, flow(value))
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    key, holder = path[depth], nodes[-1][1]
    if _is_block(holder) and holder.value and not isinstance(key, int):
        column = holder.value[0][0].start_mark.column
        place = line_end(text, end_of(holder))
        return text[:place] + block({key: value}, column) + text[place:]
    held = _constructed(holder)
    if isinstance(key, int) or not (held is None or isinstance(held, dict)):
        raise NotFollowed
    return _replaced(text, nodes, depth, flow({**(held or {}), key: value}))


def cut(text: str, path: Path) -> str:
    """Take the key or the item at `path` out. It is there."""
    nodes = _walk(text, path)
    depth = len(path) - 1
    if len(nodes) <= len(path):
        raise NotFollowed
    holder = nodes[depth][1]
    if not _is_block(holder) or len(holder.value) < 2:
        held = _constructed(holder)
        del held[path[-1]]
        return _replaced(text, nodes, depth, flow(held))
    name, node = nodes[-1]
    end = line_end(text, end_of(node))
    start = _dash(text, holder, node) if name is None else name.start_mark.index
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip():
        return text[:line] + text[end:]
    # The first key behind a dash: what follows moves up to it.
    while text[end : end + 1] == " ":
        end += 1
    return text[:start] + text[end:]


def rename(text: str, path: Path, name: str) -> str:
    """Call the key at `path` `name`."""
    key = _walk(text, path)[-1][0]
    if key is None:
        raise NotFollowed
    return text[: key.start_mark.index] + name + text[key.end_mark.index :]


def prefix(text: str, path: Path, words: str) -> str:
    """Put `words` before the value at `path`: `source: ` makes a mapping of a text."""
    start = _walk(text, path)[-1][1].start_mark.index
    return text[:start] + words + text[start:]


# -- nodes -----------------------------------------------------------------------------


def find(text: str, key: str) -> tuple[Any, Any] | None:
    """The nodes of a key of the top level and of its value."""
    nodes = _walk(text, (key,))
    return nodes[1] if len(nodes) > 1 else None


def end_of(node: Any) -> int:
    """Where the last of a node's content ends; its own mark is behind the comments that follow."""
    import yaml  # noqa: PLC0415

    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return end_of(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def line_end(text: str, index: int) -> int:
    """Where the line of `index` ends, its newline included."""
    if index and text[index - 1] == "\n":  # behind a block of text
        return index
    end = text.find("\n", index)
    return len(text) if end < 0 else end + 1


def root_end(text: str) -> int:
    """Where the line ends that holds the last of the document's content."""
    import yaml  # noqa: PLC0415

    root = yaml.compose(text, yaml.SafeLoader)
    return len(text) if root is None else line_end(text, end_of(root))


def _walk(text: str, path: Path) -> list[tuple[Any, Any]]:
    """The nodes along the path as far as they are there, each with its key's; the root first."""
    import yaml  # noqa: PLC0415

    found = [(None, yaml.compose(text, yaml.SafeLoader))]
    for step in path:
        node = found[-1][1]
        if isinstance(node, yaml.MappingNode):
            pairs = [
                pair
                for pair in node.value
                if isinstance(pair[0], yaml.ScalarNode) and pair[0].value == step
            ]
            if not pairs:
                break
            found.append(pairs[0])
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            if step >= len(node.value):
                break
            found.append((None, node.value[step]))
        else:
            break
    return found


def _is_block(node: Any) -> bool:
    import yaml  # noqa: PLC0415

    return isinstance(node, yaml.CollectionNode) and not node.flow_style


def _constructed(node: Any) -> Any:
    import yaml  # noqa: PLC0415

    if node is None:
        return None
    loader = yaml.SafeLoader("")
    try:
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _replaced(text: str, nodes: list[tuple[Any, Any]], depth: int, words: str) -> str:
    key, node = nodes[depth]
    if node is None:
        return text + words + "\n"
    if key is not None:
        return f"{text[: key.end_mark.index]}: {words}{text[end_of(node) :]}"
    start = node.start_mark.index
    space = " " if text[start - 1 : start] == "-" else ""
    return text[:start] + space + words + text[end_of(node) :]


def _dash(text: str, holder: Any, node: Any) -> int:
    """Where the dash of an item stands: the last one in the list's column before the item."""
    column: int = holder.start_mark.column
    line = text.rfind("\n", 0, node.start_mark.index) + 1
    while line >= 0:
        at = line + column
        if text[at : at + 1] == "-" and not text[line:at].strip():
            return at
        if line <= holder.start_mark.index - column:
            break
        line = text.rfind("\n", 0, line - 1) + 1
    raise NotFollowed


# -- values ----------------------------------------------------------------------------


def flow(value: Any) -> str:
    """A value on one line: JSON is YAML."""
    if is_reference(value):
        name, target = next(iter(value.items()))
        return f"{{{name}: {json.dumps(target, ensure_ascii=False)}}}"
    return json.dumps(value, ensure_ascii=False)


def block(value: Any, indent: int) -> str:
    """A mapping or a list on lines of its own."""
    import yaml  # noqa: PLC0415

    # Copies, because what two values share would be written as an anchor and an alias.
    plain = json.loads(json.dumps(value))
    dumped: str = yaml.safe_dump(
        plain, sort_keys=False, default_flow_style=False, allow_unicode=True, width=_WIDTH
    )
    return "".join(f"{' ' * indent}{line}\n" for line in dumped.splitlines())
