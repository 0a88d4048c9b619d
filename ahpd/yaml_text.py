"""YAML as the host reads and writes it for records, catalogs and plugins: JSON values alone.

A plain scalar is what the core schema of YAML 1.2 says it is: `true` and `false` are booleans,
and so `yes`, `12:30`, `1_000` and `2024-05-01` are text. A key is the text that is written. What
JSON has no word for is refused (`.inf`, `!!binary`, a tag of somebody's own), and so are a key
that stands twice and an alias of what holds it. What is written here quotes a text that YAML 1.1
would take for something else, so other readers read it back the same too.
"""

import functools
import math
import re
from typing import Any, Final

#: How deep a value may nest. The parser recurses, and whoever reads the value will too.
DEEPEST: Final = 64
#: The longest whole number, in bits: what digits Python turns into a number is bounded, too.
_LONGEST_NUMBER: Final = 8192
#: Values and characters that aliases may add to a document together.
_MOST_COPIED: Final = 1_000_000

_NULL: Final = frozenset(("", "~", "null", "Null", "NULL"))
_BOOLEANS: Final = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_WHOLE: Final = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FRACTION: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER: Final = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")

_TAG: Final = "tag:yaml.org,2002:"
_SCALARS: Final = tuple(f"{_TAG}{name}" for name in ("str", "null", "bool", "int", "float"))

#: What a parser quotes of the text, which may be a secret; a sign or a token's name is none.
_QUOTED: Final = re.compile(r"'[^']*'|\"[^\"]*\"")
_SIGN: Final = re.compile(r"'(?:[^\w']|\\t|<[a-z ]+>)'")


@functools.cache
def _plain_lines() -> re.Pattern[str]:
    """What stands in a block as it is: no control or format characters, no line break but LF.

    Compiled with the first text that is written: a set of so much takes milliseconds.
    """
    return re.compile("[\t\n\x20-\x7e\xa0-\u1fff\u2030-\ud7ff\U00010000-\U0003ffff]*")


def parse_yaml(text: str) -> Any:
    """The JSON value `text` is; None where it says nothing.

    Raises `ValueError` in words that name the line (from 1) and quote nothing of the text.
    """
    import yaml  # noqa: PLC0415 - not before somebody has YAML

    try:
        loader = _loader()(text)
    except yaml.reader.ReaderError as error:
        line, found = text.count("\n", 0, error.position) + 1, int(error.character)
        raise ValueError(
            f"line {line}: the character U+{found:04X}, which YAML does not take"
        ) from None
    try:
        node = loader.get_single_node()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = unquoted(" ".join((error.problem or error.context or "").split())) or "no YAML"
        raise ValueError(f"line {mark.line + 1}: {words}" if mark else words) from None
    except yaml.YAMLError as error:
        raise ValueError(unquoted(" ".join(str(error).split()))) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    finally:
        loader.dispose()
    return None if node is None else _Reading().value(node)


def stringify_yaml(value: Any) -> str:
    """`value` as YAML in blocks, a newline at its end; `parse_yaml` reads it back the same.

    Raises `ValueError` for what is no JSON value, naming the place and nothing of it.
    """
    import yaml  # noqa: PLC0415

    node = _node(value, "the value", 0)
    text: str = yaml.serialize(node, Dumper=_dumper(), allow_unicode=True, width=math.inf)
    # A lone plain scalar is ended like a stream; nothing follows it here.
    ended = "\n...\n"
    return text.removesuffix(ended) + "\n" if text.endswith(ended) and _is_plain(node) else text


def unquoted(words: str) -> str:
    """A parser's words without what they quote of the text."""
    return _QUOTED.sub(lambda found: found[0] if _SIGN.fullmatch(found[0]) else "...", words)


# -- reading ---------------------------------------------------------------------------


class _Reading:
    """Makes values of the nodes of one document."""

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._open: set[int] = set()
        self._copied = 0

    def value(self, node: Any, depth: int = 0, copied: bool = False) -> Any:
        """What `node` is; `copied` below an alias."""
        if depth > DEEPEST:
            raise ValueError(f"{_line(node)}: nested too deeply (at most {DEEPEST} levels)")
        copied = copied or id(node) in self._seen
        self._seen.add(id(node))
        if copied:
            self._copied += 1 + (len(node.value) if isinstance(node.value, str) else 0)
            if self._copied > _MOST_COPIED:
                raise ValueError(f"{_line(node)}: aliases make too much of the document")
        if isinstance(node.value, str):
            return _scalar(node)
        if id(node) in self._open:
            raise ValueError(f"{_line(node)}: an alias of what holds it")
        self._open.add(id(node))
        try:
            return self._collection(node, depth, copied)
        finally:
            self._open.discard(id(node))

    def _collection(self, node: Any, depth: int, copied: bool) -> Any:
        kind = "map" if node.id == "mapping" else "seq"
        if node.tag != f"{_TAG}{kind}":
            raise ValueError(f"{_line(node)}: a tag this host does not read")
        if kind == "seq":
            return [self.value(item, depth + 1, copied) for item in node.value]
        held: dict[str, Any] = {}
        lines: dict[str, int] = {}
        for key, value in node.value:
            if not isinstance(key.value, str):
                raise ValueError(f"{_line(key)}: a key that is no text")
            name = str(_scalar(key)) if key.tag == _SCALARS[0] else key.value
            if name in held:
                raise ValueError(f"{_line(key)}: a key that stands on line {lines[name]} already")
            held[name] = self.value(value, depth + 1, copied)
            lines[name] = key.start_mark.line + 1
        return held


def _scalar(node: Any) -> Any:
    """A scalar as its tag says, the one that is written or the one its look gives it."""
    text: str = node.value
    match node.tag.removeprefix(_TAG):
        case "str":
            return text
        case "null" if text in _NULL:
            return None
        case "bool" if text in _BOOLEANS:
            return _BOOLEANS[text]
        case "int" if _WHOLE.fullmatch(text):
            return _whole(node)
        case "float" if _NO_NUMBER.fullmatch(text):
            raise ValueError(f"{_line(node)}: a number JSON does not have")
        case "float" if _FRACTION.fullmatch(text):
            number = float(text)
            if math.isinf(number):
                raise ValueError(f"{_line(node)}: a number that is too large")
            return number
    raise ValueError(f"{_line(node)}: a tag this host does not read, or a value it does not fit")


def _whole(node: Any) -> int:
    text = node.value
    # Four bits are the most one digit says, so no number is made of what is far too long.
    if len(text) * 4 <= _LONGEST_NUMBER * 2:
        number = int(text, 8 if text.startswith("0o") else 16 if text.startswith("0x") else 10)
        if number.bit_length() <= _LONGEST_NUMBER:
            return number
    raise ValueError(f"{_line(node)}: a number that is too long")


def _line(node: Any) -> str:
    return f"line {node.start_mark.line + 1}"


@functools.cache
def _loader() -> Any:
    """PyYAML's reader of nodes under the core schema; it makes no values."""
    from yaml.composer import Composer  # noqa: PLC0415
    from yaml.parser import Parser  # noqa: PLC0415
    from yaml.reader import Reader  # noqa: PLC0415
    from yaml.resolver import BaseResolver  # noqa: PLC0415
    from yaml.scanner import Scanner  # noqa: PLC0415

    class Loader(Reader, Scanner, Parser, Composer, BaseResolver):
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)
            BaseResolver.__init__(self)

        def dispose(self) -> None:
            Parser.dispose(self)

    _resolve_core(Loader)
    return Loader


def _resolve_core(resolver: Any) -> None:
    """Have a resolver know the core schema's plain scalars."""
    words = ("~", "null", "Null", "NULL")
    add = resolver.add_implicit_resolver
    add(f"{_TAG}null", re.compile(f"(?:{'|'.join(words)}|)$"), ["~", "n", "N", ""])
    add(f"{_TAG}bool", re.compile(f"(?:{'|'.join(_BOOLEANS)})$"), list("tTfF"))
    add(f"{_TAG}int", re.compile(f"(?:{_WHOLE.pattern})$"), list("-+0123456789"))
    pattern = re.compile(f"(?:{_FRACTION.pattern}|{_NO_NUMBER.pattern})$")
    add(f"{_TAG}float", pattern, list("-+.0123456789"))


# -- writing ---------------------------------------------------------------------------


def _node(value: Any, at: str, depth: int) -> Any:
    """The YAML node of `value`, each a new one: no anchors come of it."""
    import yaml  # noqa: PLC0415

    if depth > DEEPEST:
        raise ValueError(f"{at} nests too deeply (at most {DEEPEST} levels)")
    if isinstance(value, dict):
        pairs = []
        for key, item in value.items():
            if not isinstance(key, str):
                raise ValueError(f"{at} has a key that is no text")
            pairs.append((_text(key, at, True), _node(item, f"{at}.{_named(key)}", depth + 1)))
        return yaml.MappingNode(f"{_TAG}map", pairs, flow_style=not pairs)
    if isinstance(value, list):
        items = [_node(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(value)]
        return yaml.SequenceNode(f"{_TAG}seq", items, flow_style=not items)
    if isinstance(value, str):
        return _text(value, at, False)
    if value is None or isinstance(value, bool):
        tag, text = ("null", "null") if value is None else ("bool", str(value).lower())
    elif isinstance(value, int) and value.bit_length() <= _LONGEST_NUMBER:
        tag, text = "int", str(value)
    elif isinstance(value, float) and math.isfinite(value):
        tag, text = "float", _fraction(value)
    else:
        raise ValueError(f"{at} is no JSON value")
    return yaml.ScalarNode(_TAG + tag, text)


def _text(value: str, at: str, is_key: bool) -> Any:
    import yaml  # noqa: PLC0415

    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{at} holds half a character (a lone surrogate)") from None
    if not _plain_lines().fullmatch(value):
        style = '"'
    elif "\n" in value:
        # In a block the first line with something on it sets the indentation.
        lines_up = not is_key and value[0] not in "\n \t"
        style = "|" if lines_up else '"'
    else:
        style = None
    return yaml.ScalarNode(_SCALARS[0], value, style=style)


def _fraction(value: float) -> str:
    """A float with a point in it: YAML 1.1 takes `1e+20` for text."""
    text = repr(value)
    return text if "." in text else text.replace("e", ".0e")


def _named(key: str) -> str:
    return key if len(key) <= 40 and key.isprintable() else "..."


def _is_plain(node: Any) -> bool:
    return isinstance(node.value, str) and node.style is None


@functools.cache
def _dumper() -> Any:
    """PyYAML's writer, which quotes what either version of YAML would not read as text."""
    import yaml  # noqa: PLC0415

    class Dumper(yaml.SafeDumper):
        pass

    _resolve_core(Dumper)
    return Dumper
