"""Secrets that tests plant, and the net that fails a test in which one comes up.

A test that needs a secret takes `planted("what it is for")` and puts it wherever a person would:
into a vault, a field that is marked, a sign-in, a variable. Whatever the kit looks at is searched
for them then: each frame a `ProbeClient` reads, each line of the log, what a `Daemon` prints, keeps
and starts, what a `MemoryHost` holds for its clients. Nothing has to be asked for.
"""

import base64
import os
import re
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from weakref import WeakSet

from twisted.logger import LogEvent, formatEvent

from ahpd.testing.processes import read
from ahpd.unspoken import Unspoken

#: Begins every one of them, and is said by nothing else.
PREFIX: Final = "planted-secret-"

#: What hosts of this process strike out of their logs: what an observer of the log sees is what
#: was said to it, and a log is written without these.
STRUCK: Final["WeakSet[Unspoken]"] = WeakSet()

#: Bytes before and behind a find that are told with it.
_AROUND: Final = 60


def planted(purpose: str) -> str:
    """The secret of that purpose: `planted-secret-stripe`, the same at each call."""
    return PREFIX + re.sub(r"[^A-Za-z0-9]+", "-", purpose).strip("-")


def _forms() -> Iterator[bytes]:
    """How the prefix looks, as it is and inside of base64, at each of its three places there."""
    yield PREFIX.encode()
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + PREFIX.encode()).rstrip(b"=")
        # The first and the last letters depend on what stands beside it.
        yield whole[(shift * 8 + 5) // 6 : len(whole) - 1]


_FORMS: Final = tuple(_forms())


def leak(said: str | bytes) -> str | None:
    """Where `said` holds a planted secret, with what stands around it; None where it does not."""
    data = said.encode("utf-8", "surrogatepass") if isinstance(said, str) else said
    for form in _FORMS:
        at = data.find(form)
        if at >= 0:
            piece = data[max(0, at - _AROUND) : at + len(form) + _AROUND]
            return piece.decode("utf-8", "replace")
    return None


def check_silent(said: str | bytes, what: str) -> None:
    """Raise `AssertionError` where `said`, which `what` says what it is, holds one."""
    found = leak(said)
    assert found is None, f"{what} holds a planted secret: ...{found}..."


def check_reprs(*objects: Any) -> None:
    """Raise `AssertionError` where `repr` or `str` of any of these says one."""
    for each in objects:
        check_silent(repr(each), f"the repr of a {type(each).__name__}")
        check_silent(str(each), f"the str of a {type(each).__name__}")


# -- the log ---------------------------------------------------------------------------------


def logged_leak(event: LogEvent) -> str | None:
    """What an event of the log, of any level, says that it may not; None for nothing.

    A failure's own words and its stack count, and so does each value the event carries.
    """
    words = [formatEvent(event)]
    failure = event.get("log_failure")
    if failure is not None:
        words += [failure.getErrorMessage(), failure.getTraceback()]
    return next(filter(None, (leak(_as_written(text)) for text in words)), None)


def _as_written(text: str) -> str:
    """A text as the log of a host of this process has it."""
    for held in tuple(STRUCK) if leak(text) is not None else ():
        text = held.struck(text)
    return text


# -- what is kept ------------------------------------------------------------------------------


def kept_leaks(folder: Path, may_hold: Collection[Path] = ()) -> list[str]:
    """The files below `folder` that hold one, with where; `may_hold` are files and folders that
    are there to hold secrets. Names of files count."""
    allowed = [path.resolve() for path in may_hold]
    found = []
    for file in _files(folder):
        place = file.resolve()
        if any(place == one or place.is_relative_to(one) for one in allowed):
            continue
        said = leak(str(file.relative_to(folder)))
        if said is None and file.is_file() and not file.is_symlink():
            try:
                said = leak(file.read_bytes())
            except OSError:  # it went meanwhile
                continue
        if said is not None:
            found.append(f"{file}: ...{said}...")
    return found


def _files(folder: Path) -> Iterator[Path]:
    for root, _, names in os.walk(folder):
        yield from (Path(root) / name for name in names)


# -- what runs -----------------------------------------------------------------------------------


def argument_leaks(pids: Iterable[int]) -> list[str]:
    """The processes whose arguments, which every user of the machine can read, hold one."""
    lines = ((pid, read(pid, "cmdline").replace(b"\0", b" ")) for pid in pids)
    found = ((pid, leak(line)) for pid, line in lines)
    return [f"process {pid}: ...{said}..." for pid, said in found if said is not None]
