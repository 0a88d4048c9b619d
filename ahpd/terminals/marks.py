"""What a shell says of itself between its output: prompts, commands, the folder it is in.

Shells say it in operating system commands (OSC) a terminal does not draw: 133 (prompts and
commands), 7 (the folder), and 633, VS Code's own of both. Sources: AHP.txt, the rows of
`terminal/*`; what 133 and 633 may carry is what kitty, fish and VS Code write into them.
"""

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import unquote_to_bytes

import attrs

from ahpd.protocol.file_uris import file_uri, path_of
from ahpd.terminals.quoting import unescaped, unquoted


@attrs.frozen
class PromptStarted:
    """`A`: a prompt is drawn from here."""


@attrs.frozen
class PromptEnded:
    """`B`: the prompt is drawn, and what follows is what is typed at it."""


@attrs.frozen
class LineSaid:
    """The command line that is about to run, in the shell's own words. The reader keeps it."""

    line: str


@attrs.frozen
class CommandStarted:
    """`C`: what follows is a command's output."""

    line: str | None = None
    """Its command line. A reader fills it in where the mark had none; "" where nobody knows."""


@attrs.frozen
class CommandFinished:
    """`D`: the command is over."""

    code: int | None = None
    """What it exited with, where the shell said so."""


@attrs.frozen
class CwdChanged:
    """The shell's folder is this one now."""

    path: str
    """An absolute path of this machine."""

    @property
    def uri(self) -> str:
        """The same as a `file:` URI."""
        return file_uri(self.path)


Mark = PromptStarted | PromptEnded | LineSaid | CommandStarted | CommandFinished | CwdChanged

_CODE: Final = re.compile(r"-?[0-9]{1,10}")
_FOLDER: Final = re.compile(rb"(?:file|kitty-shell-cwd)://([^/]*)(/.*)", re.DOTALL | re.IGNORECASE)


def mark_of(payload: bytes, hosts: Collection[str] = ()) -> Mark | None:
    """The mark in the payload of an OSC 133, 633 or 7, its number included.

    None for one that says nothing of what is known here. `hosts` are the names of this
    machine: a folder on another one is no folder of this terminal's.
    """
    number, _, rest = payload.partition(b";")
    if number == b"7":
        return _folder(rest, hosts)
    kind, _, words = rest.decode(errors="replace").partition(";")
    if number == b"633":
        if kind == "E":
            return LineSaid(unescaped(words.partition(";")[0]))
        if kind == "P":
            return _property(rest)
    return _of_command(kind, words)


def _of_command(kind: str, words: str) -> Mark | None:
    if kind == "A":
        # A prompt of another kind continues a command that is being typed.
        return None if re.search(r"(?:^|;)k=[^i]", words) else PromptStarted()
    if kind == "B":
        return PromptEnded()
    if kind == "C":
        return CommandStarted(_line(words))
    if kind == "D":
        code = words.partition(";")[0]
        return CommandFinished(int(code) if _CODE.fullmatch(code) else None)
    return None


def _line(words: str) -> str | None:
    """The command line in the words of a `C`, which kitty and fish write there.

    `cmdline_url` is percent-encoded; `cmdline` is quoted for a shell, so it may have a `;`
    in it and reaches to the end.
    """
    for name, _, rest in (word.partition("=") for word in words.split(";")):
        if name == "cmdline_url":
            return unquote_to_bytes(rest).decode(errors="replace")
    match = re.search(r"(?:^|;)cmdline=(.*)", words, re.DOTALL)
    return None if match is None else unquoted(match[1])


def _property(rest: bytes) -> Mark | None:
    """`P;Cwd=<path>`, escaped as a command line is. Other properties are nothing here."""
    name, _, value = rest[2:].partition(b"=")
    if name != b"Cwd":
        return None
    path = unescaped(value.decode(errors="surrogateescape"))
    return CwdChanged(path) if path.startswith("/") and "\0" not in path else None


def _folder(value: bytes, hosts: Collection[str]) -> Mark | None:
    """What an OSC 7 says: a `file:` URI, or kitty's, whose path is not encoded."""
    match = _FOLDER.fullmatch(value)
    if match is None:
        return None
    host, path = match[1].decode(errors="replace"), match[2]
    if not _is_here(host, hosts):
        return None
    if value[:1] not in b"kK":
        path = unquote_to_bytes(path)
    found = path_of(file_uri(path.decode(errors="surrogateescape")))
    return None if found is None else CwdChanged(found)


def _is_here(host: str, hosts: Collection[str]) -> bool:
    """Whether `host` is a name of this machine. A bare one stands for any of its domains."""
    name = host.lower()
    if name in ("", "localhost"):
        return True
    for known in map(str.lower, hosts):
        first, _, domain = known.partition(".")
        if name == known or (name.partition(".")[0] == first and not ("." in name and domain)):
            return True
    return False
