"""What a distribution says of itself: in a wheel that is not installed yet, or once it is."""

import configparser
import contextlib
import hashlib
import zipfile
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from importlib.metadata import Distribution
from pathlib import Path
from typing import Final

import attrs

from ahpd.plugins.distributions import GROUP
from ahpd.plugins.failures import InstallFailure

_READ: Final = ("METADATA", "entry_points.txt")
#: What an installation says of itself, and not of what is installed.
_NOTED: Final = frozenset({"RECORD", "INSTALLER", "REQUESTED", "direct_url.json"})
_LARGEST: Final = 4 * 1024 * 1024


@attrs.frozen(kw_only=True)
class Facts:
    """What is known of a distribution."""

    name: str
    version: str
    requires: tuple[str, ...]
    """`Requires-Dist`, each as it is written."""
    ids: tuple[str, ...]
    """The plugins it has, by the names of their entry points."""


def facts_of_wheel(path: Path) -> Facts:
    """What a wheel says. Raises `InstallFailure`."""
    try:
        with zipfile.ZipFile(path) as wheel:
            texts = {}
            for item in wheel.infolist():
                folder, _, file = item.filename.rpartition("/")
                about = folder.endswith(".dist-info") and "/" not in folder
                if about and file in _READ and item.file_size <= _LARGEST:
                    texts[file] = wheel.read(item).decode()
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise InstallFailure(f"{path.name} is no wheel that can be read: {error}") from None
    headers = HeaderParser().parsestr(texts.get("METADATA", ""))
    name, version = headers.get("Name"), headers.get("Version")
    if not name or not version:
        raise InstallFailure(f"{path.name} is no wheel that can be read: it names no distribution")
    return Facts(
        name=name,
        version=version,
        requires=tuple(map(str, headers.get_all("Requires-Dist", ()))),
        ids=_ids(texts.get("entry_points.txt")),
    )


def facts_of(installed: Distribution) -> Facts:
    """What an installed distribution says."""
    return Facts(
        name=installed.name,
        version=installed.version,
        requires=tuple(installed.requires or ()),
        ids=_ids(installed.read_text("entry_points.txt")),
    )


def contents(installed: Distribution) -> Mapping[str, str]:
    """A digest of each file of an installed distribution; none of what pip notes of its own work."""
    found = {}
    for file in installed.files or ():
        about = file.parent.name.endswith(".dist-info")
        if file.suffix != ".pyc" and not (about and file.name in _NOTED):
            with contextlib.suppress(OSError):
                data = Path(str(installed.locate_file(file))).read_bytes()
                found[str(file)] = hashlib.sha256(data).hexdigest()
    return found


def _ids(text: str | None) -> tuple[str, ...]:
    if not text or GROUP not in text:
        return ()
    points = configparser.ConfigParser(
        delimiters=("=",), interpolation=None, strict=False, default_section=""
    )
    points.optionxform = str  # type: ignore[assignment, method-assign]
    try:
        points.read_string(text)
    except configparser.Error:
        return ()
    return tuple(sorted(points[GROUP])) if GROUP in points else ()


def refusal(facts: Facts, version: str) -> str | None:
    """Why a distribution is not for this host; None where it is."""
    if not facts.ids:
        return (
            f"{facts.name} {facts.version} is no plugin: it has no entry point in the group {GROUP}"
        )
    return misfit(facts.requires, version, f"{facts.name} {facts.version}")


def misfit(requires: Iterable[str], version: str, who: str) -> str | None:
    """Why requirements leave ahpd `version` out; None where they admit it."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    for text in requires:
        try:
            wanted = Requirement(text)
        except InvalidRequirement:
            continue  # pip's to refuse
        if wanted.name.lower() != "ahpd":
            continue
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        if not wanted.specifier.contains(version, prereleases=True):
            return f"{who} needs ahpd {wanted.specifier}, and this is ahpd {version}"
    return None
