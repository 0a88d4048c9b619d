"""The kinds of value an option takes.

A kind checks a value as a configuration file holds it (`check`) and reads one from
the words of a command line (`parse`); both answer the value `Settings` keeps, or
raise `WrongValue`. `base` is the directory relative paths are meant from: the
file's own for a file, the working directory for a flag.
"""

import datetime as dt
import ipaddress
import json
import re
from pathlib import Path
from typing import Any, Final, Protocol

import attrs

from ahpd.config.errors import WrongValue

MIB: Final = 1024 * 1024
_HOST_NAME: Final = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*\.?"
)
_TOKEN: Final = re.compile(r"[!-~]+")


def describe(value: object) -> str:
    """What was found, in words short enough for one line."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            shown = value if len(value) <= 60 else value[:57] + "..."
            return visible(json.dumps(shown, ensure_ascii=False))
        case list() | tuple():
            return "an empty list" if not value else "a list"
        case dict():
            return "a mapping"
        case dt.date():
            return f"the date {value} (quote it to make it text)"
        case _:
            return f"a value of type {type(value).__name__}"


def visible(text: str) -> str:
    """The text with escapes for what a terminal would act on or reorder."""
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in text
    )


def describe_kind(value: object) -> str:
    """What was found where the value may be a secret: its kind, never itself."""
    match value:
        case bool():
            return "a boolean"
        case int() | float():
            return "a number (quote it to make it text)"
        case str():
            return "text that is empty" if not value else "text with characters it may not hold"
        case _:
            return describe(value)


class Kind(Protocol):
    """What an option may hold."""

    @property
    def allowed(self) -> str:
        """What may be there, in words."""

    @property
    def metavar(self) -> str:
        """What stands for the value in a usage line; empty for a switch."""

    def check(self, value: object, base: Path) -> Any:
        """The value to keep for `value` from a file. Raises `WrongValue`."""

    def parse(self, text: str, base: Path) -> Any:
        """The value to keep for the words of a flag. Raises `WrongValue`."""


class Structured:
    """What the kinds have in common whose values nest, and may hold secrets."""

    def shown(self, value: Any) -> Any:
        """The value as JSON without its secrets."""
        raise NotImplementedError

    def secrets(self, value: Any) -> list[str]:
        """What of the value no log may hold."""
        raise NotImplementedError

    def warnings(self, value: Any) -> list[str]:
        """What of the value is taken and does nothing, each in words that name its place."""
        return []


@attrs.frozen
class HostName:
    """Where to listen: an IP address or a name."""

    allowed: str = "an address such as 127.0.0.1 or ::1, or a host name, without a port"
    metavar: str = "HOST"

    def check(self, value: object, base: Path) -> str:
        if not isinstance(value, str):
            raise WrongValue(describe(value), self.allowed)
        try:
            return str(ipaddress.ip_address(value))
        except ValueError:
            # A name of digits and dots alone is an address that went wrong.
            if _HOST_NAME.fullmatch(value) and not re.fullmatch(r"[0-9.]+", value):
                return value
        raise WrongValue(describe(value), self.allowed)

    def parse(self, text: str, base: Path) -> str:
        return self.check(text, base)


@attrs.frozen
class Integer:
    """A whole number within bounds; `zero`, where given, is what 0 means outside of them."""

    low: int
    high: int | None = None
    zero: str | None = None
    metavar: str = "N"

    @property
    def allowed(self) -> str:
        if self.high is not None:
            words = f"a whole number from {self.low} to {self.high}"
        else:
            words = f"a whole number of at least {self.low}"
        return f"{words}, or 0 for {self.zero}" if self.zero else words

    def check(self, value: object, base: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongValue(describe(value), self.allowed)
        if value == 0 and self.zero:
            return 0
        if value < self.low or (self.high is not None and value > self.high):
            raise WrongValue(describe(value), self.allowed)
        return value

    def parse(self, text: str, base: Path) -> int:
        # Python's own reading of a number takes underscores, spaces and other digits.
        if not re.fullmatch(r"-?[0-9]{1,18}", text):
            raise WrongValue(describe(text), self.allowed)
        return self.check(int(text), base)


@attrs.frozen
class Switch:
    """On or off. `negative` is the flag that says off."""

    negative: str
    allowed: str = "true or false"
    metavar: str = ""

    def check(self, value: object, base: Path) -> bool:
        if not isinstance(value, bool):
            raise WrongValue(describe(value), self.allowed)
        return value

    def parse(self, text: str, base: Path) -> bool:
        if text not in ("true", "false"):
            raise WrongValue(describe(text), self.allowed)
        return text == "true"


@attrs.frozen
class Token:
    """A connection token. What was found is never shown."""

    allowed: str = "text of visible ASCII characters without spaces, at least one"
    metavar: str = "TOKEN"

    def check(self, value: object, base: Path) -> str:
        if not isinstance(value, str) or not _TOKEN.fullmatch(value):
            raise WrongValue(describe_kind(value), self.allowed)
        return value

    def parse(self, text: str, base: Path) -> str:
        return self.check(text, base)


@attrs.frozen
class Endpoint:
    """A Twisted server endpoint string; Twisted itself has the last word when listening."""

    allowed: str = "a Twisted endpoint such as tcp:9187:interface=127.0.0.1"
    metavar: str = "ENDPOINT"

    def check(self, value: object, base: Path) -> str:
        if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9]*:\S.*", value):
            raise WrongValue(describe(value), self.allowed)
        return value

    def parse(self, text: str, base: Path) -> str:
        return self.check(text, base)


def _absolute(text: str, base: Path) -> Path:
    # `expanduser` raises for the home of a user nobody knows.
    try:
        path = Path(text).expanduser()
    except RuntimeError:
        path = Path(text)
    return Path(*(base / path).parts) if path.is_absolute() else (base / path).resolve()


@attrs.frozen
class FilePath:
    """A file that may be there or not; it comes out absolute.

    With `beside` the directory it is in must be there already.
    """

    beside: bool = False
    metavar: str = "FILE"

    @property
    def allowed(self) -> str:
        return "the path of a file" + (" in a directory that exists" if self.beside else "")

    def check(self, value: object, base: Path) -> Path:
        if not isinstance(value, str) or not value or "\0" in value:
            raise WrongValue(describe(value), self.allowed)
        path = _absolute(value, base)
        if path.is_dir():
            raise WrongValue(f"{describe(value)}, which is a directory", self.allowed)
        if self.beside and not path.parent.is_dir():
            raise WrongValue(describe(value), self.allowed)
        return path

    def parse(self, text: str, base: Path) -> Path:
        return self.check(text, base)


@attrs.frozen
class FolderPath:
    """A directory that is made when it is missing; it comes out absolute."""

    allowed: str = "the path of a directory, which is made when it is missing"
    metavar: str = "DIRECTORY"

    def check(self, value: object, base: Path) -> Path:
        if not isinstance(value, str) or not value or "\0" in value:
            raise WrongValue(describe(value), self.allowed)
        path = _absolute(value, base)
        if path.exists() and not path.is_dir():
            raise WrongValue(f"{describe(value)}, which is no directory", self.allowed)
        return path

    def parse(self, text: str, base: Path) -> Path:
        return self.check(text, base)


@attrs.frozen
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    @property
    def metavar(self) -> str:
        return "|".join(self.words)

    @property
    def allowed(self) -> str:
        return " or ".join(self.words)

    def check(self, value: object, base: Path) -> str:
        if not isinstance(value, str) or value not in self.words:
            raise WrongValue(describe(value), self.allowed)
        return value

    def parse(self, text: str, base: Path) -> str:
        return self.check(text, base)


@attrs.frozen
class Directories:
    """A list of directories that are there; it comes out as absolute paths."""

    allowed: str = "a list of at least one directory that exists"
    metavar: str = "DIRECTORY"

    def check(self, value: object, base: Path) -> tuple[Path, ...]:
        if not isinstance(value, list) or not value:
            raise WrongValue(describe(value), self.allowed)
        return tuple(self._one(item, base, f"[{index}]") for index, item in enumerate(value))

    def parse(self, text: str, base: Path) -> tuple[Path, ...]:
        return (self._one(text, base, ""),)

    def _one(self, value: object, base: Path, at: str) -> Path:
        if not isinstance(value, str) or not value or "\0" in value:
            raise WrongValue(describe(value), "the path of a directory that exists", at)
        path = _absolute(value, base)
        if not path.is_dir():
            raise WrongValue(describe(value), "the path of a directory that exists", at)
        return path


@attrs.frozen
class Names:
    """A list of texts of one shape: `pattern` must match each, `each` says how it looks."""

    pattern: str
    each: str
    metavar: str

    @property
    def allowed(self) -> str:
        return f"a list, each {self.each}"

    def check(self, value: object, base: Path) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise WrongValue(describe(value), self.allowed)
        return tuple(self._one(item, f"[{index}]") for index, item in enumerate(value))

    def parse(self, text: str, base: Path) -> tuple[str, ...]:
        return (self._one(text, ""),)

    def _one(self, value: object, at: str) -> str:
        if not isinstance(value, str) or not re.fullmatch(self.pattern, value):
            raise WrongValue(describe(value), self.each, at)
        return value
