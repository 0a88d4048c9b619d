"""The lines of an export, read one by one. What is wrong with one is a `ValueError` in words."""

from collections.abc import Iterator, Mapping
from typing import IO, Any, Final

from ahpd.wire.codec import decode

#: Bytes a line may have; one of ours has a head, a turn or a terminal at most.
LONGEST_LINE: Final = 256 * 1024 * 1024


def lines_in(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file. One that is too long for `record_of` is cut, and not read to its end."""
    while data := file.readline(LONGEST_LINE + 1):
        yield data


def record_of(line: bytes) -> Mapping[str, Any]:
    """The object a line holds."""
    if len(line) > LONGEST_LINE:
        raise ValueError(f"it is longer than {LONGEST_LINE} bytes")
    try:
        value = decode(line)
    except ValueError as error:
        raise ValueError(f"it is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("it is no JSON object")
    return value


def text_of(record: Mapping[str, Any], name: str) -> str:
    """The text a record holds under a name."""
    value = record.get(name)
    if not isinstance(value, str):
        found = "missing" if name not in record else "no text"
        raise ValueError(f"{name} is {found}")
    return value


def flag_of(record: Mapping[str, Any], name: str) -> bool:
    """True or false, as a record holds it under a name."""
    value = record.get(name)
    if not isinstance(value, bool):
        raise ValueError(f"{name} is {value!r}, expected true or false")
    return value
