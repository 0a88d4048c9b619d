"""What a person may ask to have installed, told by how it is written.

Source: PLUGINS.txt, "Installing a plugin".
"""

import re
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlsplit

import attrs

from ahpd.config.kinds import describe
from ahpd.plugins.credentials import Credential, parted
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.specs import is_path

FORMS: Final = (
    "a distribution's name with or without a version, a folder with a pyproject.toml, a wheel or "
    "an sdist, git+https: or git+ssh: and a repository, github:<owner>/<repository>, or the https: "
    "URL of an archive"
)
_ARCHIVES: Final = (".whl", ".tar.gz", ".tgz", ".tar.bz2", ".zip")
_PROJECT: Final = ("pyproject.toml", "setup.py")
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_GITHUB: Final = re.compile(r"github:([A-Za-z0-9][\w.-]*)/([A-Za-z0-9_][\w.-]*)(?:#([\w./-]+))?")
#: What is passed on to git or a URL's host and would be an option of theirs.
_OPTION: Final = re.compile(r"(?://|@)-")


@attrs.frozen(kw_only=True)
class Wanted:
    """Something to install."""

    kind: Literal["name", "path", "url"]
    text: str = attrs.field(repr=False)
    """As pip takes it."""
    name: str | None = None
    """The distribution, where the source names one."""
    specifier: Any = None
    """The versions it may be: a `SpecifierSet`."""
    extras: tuple[str, ...] = ()
    credential: Credential | None = None
    """What signs in where a URL leads; its text goes without."""

    @property
    def origin(self) -> str | None:
        """Where it is fetched from again, as that may be noted: not what signs an address.

        None for a name, which an index is asked for.
        """
        return None if self.kind == "name" else self.text.partition("?")[0]


def wanted_of(source: object, base: Path) -> Wanted:
    """What `source` asks for; a relative path is meant from `base`. Raises `InstallFailure`."""
    if not isinstance(source, str) or not source.strip():
        raise _refused(source, f"is nothing to install; it is {FORMS}")
    if source.startswith("-"):
        raise _refused(source, "begins with a dash, and would be an option of pip's")
    if _CONTROLS.search(source):
        raise _refused(source, "holds a control character")
    text = source.strip()
    if text.startswith("-"):
        raise _refused(source, "begins with a dash, and would be an option of pip's")
    if _SCHEME.match(text):
        return _address(text)
    if " @ " not in text and (is_path(text) or text.lower().endswith(_ARCHIVES)):
        return _path(text, base)
    return _name(text)


def _refused(source: object, words: str) -> InstallFailure:
    return InstallFailure(f"the source {describe(source)} {words}", asked=True)


def _address(text: str) -> Wanted:
    github = _GITHUB.fullmatch(text)
    if github is not None:
        owner, repository, at = github.groups()
        text = f"git+https://github.com/{owner}/{repository}" + (f"@{at}" if at else "")
    scheme = text.partition(":")[0].lower()
    if re.search(r"\s", text) or _OPTION.search(text):
        raise _refused(text, "is no address that can be fetched")
    try:
        parts = urlsplit(text)
        there = bool(parts.hostname) and parts.port != 0  # which may be no number
    except ValueError:
        there = False
    if scheme == "git+ssh" and there and parts.password is not None:
        raise _refused(text, "says a password, which SSH takes none of from an address")
    archive = scheme == "https" and there and parts.path.lower().endswith(_ARCHIVES)
    if archive or (scheme in ("git+https", "git+ssh") and there):
        address, credential = parted(text)
        return Wanted(kind="url", text=address, credential=credential)
    raise _refused(text, f"is no address to install from; it is {FORMS}")


def _path(text: str, base: Path) -> Wanted:
    try:
        path = Path(text).expanduser()
    except RuntimeError:  # the home of a user nobody knows
        path = Path(text)
    path = base / path
    if path.is_dir():
        if not any((path / name).is_file() for name in _PROJECT):
            raise _refused(
                text,
                "is a folder without a pyproject.toml; a standalone plugin is not installed but "
                "named in plugins, or by --plugin",
            )
    elif not path.is_file():
        raise _refused(text, f"is not there: {path}")
    elif not path.name.lower().endswith(_ARCHIVES):
        raise _refused(
            text,
            "is neither a wheel nor an sdist; a standalone plugin is not installed but named in "
            "plugins, or by --plugin",
        )
    return Wanted(kind="path", text=str(path.resolve()))


def _name(text: str) -> Wanted:
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    try:
        read = Requirement(text)
    except InvalidRequirement:
        raise _refused(text, f"cannot be read; it is {FORMS}") from None
    if read.url is not None or read.marker is not None:
        raise _refused(text, f"says more than a name and a version; it is {FORMS}")
    return Wanted(
        kind="name",
        text=str(read),
        name=read.name,
        specifier=read.specifier,
        extras=tuple(sorted(read.extras)),
    )
