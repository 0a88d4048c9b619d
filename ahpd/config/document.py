"""Reading a configuration file: YAML or JSON in, a mapping and the lines of its keys out."""

import json
import re
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config.errors import ConfigError
from ahpd.config.kinds import describe, describe_kind
from ahpd.protocol.characters import is_whole_json, whole

#: What a parser quotes of the file; the place is said, and what stands there is not.
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
#: What YAML's own words quote: a sign, a tab, the name of a token.
_SIGN: Final = re.compile(r"'(?:[^\w']|\\t|<[a-z ]+>)'")


@attrs.frozen
class Document:
    """What a file says, unchecked: any key, any value."""

    path: Path
    values: dict[str, Any]
    lines: dict[str, int] = attrs.field(factory=dict)
    """Lines counted from 1, of each key and list item by its path (`agents[2].id`); empty for
    JSON."""

    def place(self, key: str, at: str = "") -> str:
        """Where a key stands, or what is at the path `at` below it, for words: `/etc/x.yaml:3`.

        What is not there stands where what should hold it does.
        """
        path = key + at
        while path not in self.lines and len(path) > len(key):
            path = path[: max(path.rfind("."), path.rfind("["), len(key))]
        line = self.lines.get(path)
        return str(self.path) if line is None else f"{self.path}:{line}"


def read(path: Path) -> Document:
    """Read a file by its name's ending. Raises `ConfigError`."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise ConfigError(f"{path}: found no such file, allowed: a YAML or JSON file") from None
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path}: found a byte that is not UTF-8 at offset {error.start}, allowed: UTF-8 text"
        ) from None
    return parse(path, text)


def parse(path: Path, text: str) -> Document:
    """The document `text` is, by the ending of the name `path`. Raises `ConfigError`."""
    match path.suffix:
        case ".json":
            document = _json(path, text)
        case ".yaml" | ".yml":
            document = _yaml(path, text)
        case suffix:
            raise ConfigError(
                f"{path}: found a name that ends in {describe(suffix)}, allowed: .yaml, .yml or .json"
            )
    if "\\u" in text.lower():
        for key, value in document.values.items():
            if not is_whole_json(key) or not is_whole_json(value):
                shown = whole(key)
                raise ConfigError(
                    f"{document.place(key)}: {shown}: found half a character (a lone surrogate), "
                    "allowed: whole ones, as they are"
                )
    return document


def _json(path: Path, text: str) -> Document:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, value in pairs:
            if key in values:
                raise ConfigError(f"{path}: found the key {describe(key)} twice, allowed: once")
            values[key] = value
        return values

    try:
        values = json.loads(text, object_pairs_hook=unique) if text.strip() else {}
    except json.JSONDecodeError as error:
        raise ConfigError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply to be a configuration") from None
    return _mapping(path, values, {})


#: How deep a file may nest to be read by libyaml.
_DEEP: Final = 500


def _yaml(path: Path, text: str) -> Document:
    fast = _yaml_fast(path, text)
    return _yaml_in_words(path, text) if fast is None else fast


def _yaml_fast(path: Path, text: str) -> Document | None:
    """The document by libyaml, many times as fast; None where that is not there or will not.

    What is wrong with a file is found out again in Python, which says it in better words.
    """
    import yaml  # noqa: PLC0415 - a tenth of this command's start, for those who have such a file

    reader = getattr(yaml, "CSafeLoader", None)
    if reader is None or _may_be_deep(text):
        return None
    try:
        loader = reader(text)
        try:
            node = loader.get_single_node()
            lines = {} if node is None else _lines(path, node)
            values = {} if node is None else loader.construct_document(node)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ConfigError, ValueError, RecursionError):
        return None
    return _mapping(path, values, lines)


def _may_be_deep(text: str) -> bool:
    """Whether `text` could nest so deep that what reads it in C would run out of stack."""
    indented = max((len(line) - len(line.lstrip(" -?")) for line in text.splitlines()), default=0)
    return text.count("[") + text.count("{") + indented > _DEEP


def _yaml_in_words(path: Path, text: str) -> Document:
    import yaml  # noqa: PLC0415

    try:
        loader = yaml.SafeLoader(text)
    except yaml.reader.ReaderError as error:
        line, found = text.count("\n", 0, error.position) + 1, int(error.character)
        raise ConfigError(
            f"{path}:{line}: found the character U+{found:04X}, which YAML does not take"
        ) from None
    try:
        node = loader.get_single_node()
        if node is None:
            return Document(path, {})
        lines = _lines(path, node)
        values = loader.construct_document(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{path}:{mark.line + 1}" if mark else str(path)
        # A problem quotes what it choked on, which may be a token with a sign too many.
        words = _unquoted(" ".join((error.problem or error.context or "").split()))
        raise ConfigError(f"{place}: not YAML this host reads: {words or 'not YAML'}") from None
    except yaml.YAMLError as error:
        words = _unquoted(" ".join(str(error).split()))
        raise ConfigError(f"{path}: not YAML: {words}") from None
    except ValueError as error:
        # A scalar that looks like a date or a number and is none: 2024-13-45.
        words = _unquoted(str(error))
        raise ConfigError(f"{path}: found a value that cannot be read: {words}") from None
    except RecursionError:
        raise ConfigError(f"{path}: nested too deeply to be a configuration") from None
    finally:
        loader.dispose()
    return _mapping(path, values, lines)


def _unquoted(words: str) -> str:
    """The words without what they quote of the file, which may be a secret."""
    return _QUOTED.sub(lambda found: found[0] if _SIGN.fullmatch(found[0]) else "...", words)


#: Values that aliases may add to a file together: whoever reads it copies what it says.
_MOST_COPIED: Final = 100_000


def _check_aliases(path: Path, node: Any) -> None:
    """Raises `ConfigError` where aliases of aliases make much more of a file than stands in it:
    ten short lines are a billion values then."""
    sizes: dict[int, int] = {}
    open_now: set[int] = set()
    copied = 0
    # Each node is met again once all that is in it was counted.
    waiting: list[tuple[Any, bool]] = [(node, False)]
    while waiting:
        current, counted = waiting.pop()
        inner = [] if isinstance(current.value, str) else _inner(current)
        if counted:
            open_now.discard(id(current))
            sizes[id(current)] = 1 + sum(sizes.get(id(one), 1) for one in inner)
        elif id(current) in open_now:
            continue  # an alias of what holds it, which whoever reads the value refuses
        elif id(current) in sizes:
            copied += sizes[id(current)]
        elif inner:
            open_now.add(id(current))
            waiting.append((current, True))
            waiting += [(one, False) for one in inner]
        else:
            sizes[id(current)] = 1
        if copied > _MOST_COPIED:
            raise ConfigError(f"{path}: aliases make more of it than a configuration holds")


def _inner(node: Any) -> list[Any]:
    """The nodes in one: the items of a sequence, the keys and values of a mapping."""
    if node.id == "sequence":
        return list(node.value)
    return [part for pair in node.value for part in pair]


def _lines(path: Path, node: Any) -> dict[str, int]:
    """The line of every key and item by its path. Raises for a key that any mapping holds twice."""
    import yaml  # noqa: PLC0415

    _check_aliases(path, node)
    lines: dict[str, int] = {}
    waiting, seen = [(node, "")], set()
    while waiting:
        current, at = waiting.pop()
        if id(current) in seen:  # an alias, perhaps of what holds it
            continue
        seen.add(id(current))
        if isinstance(current, yaml.SequenceNode):
            for index, item in enumerate(current.value):
                lines[f"{at}[{index}]"] = item.start_mark.line + 1
                waiting.append((item, f"{at}[{index}]"))
        elif isinstance(current, yaml.MappingNode):
            keys: dict[tuple[str, str], int] = {}
            for key, value in current.value:
                if not isinstance(key, yaml.ScalarNode):
                    waiting.append((value, f"{at}.?"))
                    continue
                line, name = key.start_mark.line + 1, (key.tag, key.value)
                if name in keys:
                    raise ConfigError(
                        f"{path}:{line}: found the key {describe(key.value)} again "
                        f"(first on line {keys[name]}), allowed: once"
                    )
                keys[name] = line
                below = f"{at}.{key.value}" if current is not node else key.value
                lines[below] = line
                waiting.append((value, below))
    return lines


def _mapping(path: Path, values: Any, lines: dict[str, int]) -> Document:
    if values is None:
        return Document(path, {})
    if not isinstance(values, dict):
        found = "text" if isinstance(values, str) else describe_kind(values)
        raise ConfigError(f"{path}: found {found}, allowed: a mapping of keys to values")
    return Document(path, {str(key): value for key, value in values.items()}, lines)
