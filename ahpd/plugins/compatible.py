"""Whether a plugin is for the version of this program that runs.

Two places say so: what a distribution requires (`Requires-Dist: ahpd>=0.1`), and `requires` in the
manifest. What says nothing is for every version.
"""

import operator
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from ahpd.plugins.found import Found
from ahpd.plugins.skipped import INCOMPATIBLE, Skipped

if TYPE_CHECKING:
    from packaging.specifiers import SpecifierSet

_PROGRAM: Final = "ahpd"
#: A requirement begins with the name of what is required.
_REQUIRED: Final = re.compile(r"\s*([A-Za-z0-9._-]+)")
#: A version that is numbers alone, and a bound that is.
_RELEASE: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6}){0,5}")
_BOUND: Final = re.compile(r" *(>=|<=|<|>) *([0-9]{1,6}(?:\.[0-9]{1,6}){0,5}) *")
_ORDERS: Final = {">=": operator.ge, "<=": operator.le, "<": operator.lt, ">": operator.gt}
#: A requirement that says nothing but versions: `ahpd>=0.1,<0.2`.
_PLAIN: Final = re.compile(r"ahpd *([<>=!~][<>=!~0-9A-Za-z.*+, -]*)")


def check_compatible(found: Found, version: str) -> None:
    """Raise `Skipped` where the plugin is not for `version`, or does not say so that it is read."""
    for text, where in _ranges(found):
        if _plainly_admits(text, version):
            continue
        try:
            wanted = _wanted(text)
        except ValueError:
            raise Skipped(
                f"{where} requires {text!r}, which cannot be read", found.id, found=found
            ) from None
        if wanted is not None and not wanted.contains(version, prereleases=True):
            raise Skipped(
                f"it needs {_PROGRAM} {wanted}, and this is {_PROGRAM} {version}",
                found.id,
                state=INCOMPATIBLE,
                found=found,
            )


def _plainly_admits(text: str, version: str) -> bool:
    """Whether a requirement such as `ahpd>=0.1,<0.2` admits `version`, told by numbers alone.

    False is no answer: what is not that plain, or does not admit it, is for who reads them all.
    """
    plain = _PLAIN.fullmatch(text)
    if plain is None or _RELEASE.fullmatch(version) is None:
        return False
    ours = _numbers(version)
    for one in plain[1].split(","):
        bound = _BOUND.fullmatch(one)
        if bound is None or not _ORDERS[bound[1]](ours, _numbers(bound[2])):
            return False
    return True


def _numbers(release: str) -> tuple[int, ...]:
    """The numbers of a release, without what adds nothing: `1.0` is `1`."""
    numbers = [int(part) for part in release.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


@lru_cache(maxsize=64)  # most plugins require the same of this program
def _wanted(text: str) -> "SpecifierSet | None":
    """The versions a requirement asks for; None where it is for another environment.

    Raises `ValueError` where it is none.
    """
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    plain = _PLAIN.fullmatch(text)
    if plain is not None:  # what reads all the rest is an import several times as long
        return SpecifierSet(plain[1])
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName  # noqa: PLC0415
    from packaging.requirements import Requirement  # noqa: PLC0415

    try:
        wanted = Requirement(text)
        applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
    except (UndefinedComparison, UndefinedEnvironmentName) as error:
        raise ValueError(str(error)) from None
    return wanted.specifier if applies else None


def _ranges(found: Found) -> Iterable[tuple[str, str]]:
    """The requirements on this program, and whose they are."""
    for text in found.requirements:
        named = _REQUIRED.match(text)
        if named is not None and named[1].lower() == _PROGRAM:
            yield text, f"the distribution {found.distribution}"
    if found.manifest.requires is not None:
        yield found.manifest.requires, found.manifest.place
