"""Records as values: checked, copied, compared."""

import math
from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import RecordOptions, RecordsFailure
from ahpd.protocol import State
from ahpd.protocol.characters import HALF_WORDS, is_whole
from ahpd.record_store.names import ids_of

#: How deep a record may nest, itself counted.
DEEPEST: Final = 64
#: The longest whole number, in bits: readers bound what they make of digits.
_LONGEST_NUMBER: Final = 8192


def checked(record: object, options: RecordOptions) -> State:
    """A copy of `record` as a collection of these `options` reads it back.

    Raises `RecordsFailure` for an id that is no slug, for what is no JSON and for a body that
    is no text; it names the place and quotes nothing but the id's own rule.
    """
    if not isinstance(record, dict):
        raise RecordsFailure("a record is a JSON object")
    is_id, words = ids_of(options)
    if "id" not in record:
        raise RecordsFailure(f"a record has an id: {words}")
    if not is_id(record["id"]):
        raise RecordsFailure(f"a record's id is {words}")
    copied: State = _copied(record, f"the record {record['id']}", 1)
    if options.body is not None:
        body = copied.setdefault(options.body, "")
        if not isinstance(body, str):
            raise RecordsFailure(f"the record {record['id']}.{options.body} must be text")
    return copied


def copy(value: Any) -> Any:
    """A copy of a JSON value that was `checked`."""
    if isinstance(value, dict):
        return {key: copy(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copy(item) for item in value]
    return value


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one value: `1` is `1.0` and is not `true`."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(same(item, other[key]) for key, item in one.items())
        )
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def matches(record: State, match: Mapping[str, object]) -> bool:
    """Whether each field of `match` is a top-level field of the record, and the same."""
    return all(key in record and same(record[key], value) for key, value in match.items())


def _copied(value: Any, at: str, depth: int) -> Any:
    if depth > DEEPEST:
        raise RecordsFailure(f"{at} nests too deeply (at most {DEEPEST} levels)")
    if isinstance(value, dict):
        held = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise RecordsFailure(f"{at} has a key that is no text")
            held[_text(key, at)] = _copied(item, f"{at}.{key}", depth + 1)
        return held
    if isinstance(value, list):
        return [_copied(item, f"{at}[{index}]", depth + 1) for index, item in enumerate(value)]
    if isinstance(value, str):
        return _text(value, at)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _LONGEST_NUMBER:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise RecordsFailure(f"{at} is no JSON value")


def _text(value: str, at: str) -> str:
    if not is_whole(value):
        raise RecordsFailure(f"{at} {HALF_WORDS}")
    return value
