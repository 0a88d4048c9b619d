"""Whether a plugin is for the version of this program that runs.

Two places say so: what a distribution requires (`Requires-Dist: ahpd>=0.1`), and `requires` in the
manifest. What says nothing is for every version.
"""

import re
from collections.abc import Iterable
from typing import Final

from ahpd.plugins.found import Found
from ahpd.plugins.skipped import INCOMPATIBLE, Skipped

_PROGRAM: Final = "ahpd"
#: A requirement begins with the name of what is required.
_REQUIRED: Final = re.compile(r"\s*([A-Za-z0-9._-]+)")


def check_compatible(found: Found, version: str) -> None:
    """Raise `Skipped` where the plugin is not for `version`, or does not say so that it is read."""
    ranges = list(_ranges(found))
    if not ranges:
        return
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName  # noqa: PLC0415
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    for text, where in ranges:
        try:
            wanted = Requirement(text)
            applies = wanted.marker is None or wanted.marker.evaluate({"extra": ""})
        except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName):
            raise Skipped(
                f"{where} requires {text!r}, which cannot be read", found.id, found=found
            ) from None
        if not applies:
            continue
        if not wanted.specifier.contains(version, prereleases=True):
            raise Skipped(
                f"it needs {_PROGRAM} {wanted.specifier}, and this is {_PROGRAM} {version}",
                found.id,
                state=INCOMPATIBLE,
                found=found,
            )


def _ranges(found: Found) -> Iterable[tuple[str, str]]:
    """The requirements on this program, and whose they are."""
    for text in found.requirements:
        named = _REQUIRED.match(text)
        if named is not None and named[1].lower() == _PROGRAM:
            yield text, f"the distribution {found.distribution}"
    if found.manifest.requires is not None:
        yield found.manifest.requires, found.manifest.place
