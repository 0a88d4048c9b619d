"""Installing plugins into the plugin root, updating them and taking them out again.

A distribution is fetched (and built) into a folder of its own first, and looked at there: one that
has no plugin, or is not for this host, is refused before anything is installed. One pip runs at a
time, in this process and beside others. Source: PLUGINS.txt, "Installing a plugin".
"""

import json
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import attrs
from twisted.internet.defer import DeferredLock

from ahpd.plugins.credentials import environ_for
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.root import PluginRoot
from ahpd.plugins.root_lock import held
from ahpd.plugins.sources import Wanted, wanted_of
from ahpd.plugins.specs import normalized
from ahpd.plugins.wheels import Facts, contents, facts_of, facts_of_wheel, refusal
from ahpd.private_folders import make_private
from ahpd.whole_files import replace

_ORIGINS: Final = "origins.json"
#: What a specification of `host.install` may not hold: a shell's signs, should one ever see it.
_QUOTES: Final = frozenset("\"'`%$")


@attrs.frozen(kw_only=True)
class Installed:
    """A distribution that is installed."""

    distribution: str
    version: str
    ids: tuple[str, ...]
    """The plugins it has."""


@attrs.frozen(kw_only=True)
class Updated:
    """What an update came to."""

    before: str
    """The version that was installed."""
    after: str
    moved: bool
    """Whether anything that is installed is another than it was, of one version too."""


class Installer:
    """Installs into one plugin root, for the host of `version`.

    Everything raises `InstallFailure`, with pip's own reason where pip refused, and `OSError`.
    """

    def __init__(self, root: PluginRoot, version: str) -> None:
        self._root = root
        self._version = version
        self._turn = DeferredLock()
        self._into: dict[Path, DeferredLock] = {}

    async def install(self, source: str, base: Path) -> Installed:
        """Install what a source names; a relative path is meant from `base`.

        Of a name the newest version is taken whose requirements admit this host. A distribution
        that came with this program, in a version that was asked for, is left as it is.
        """
        wanted = wanted_of(source, base)
        async with self._alone():
            return await self._install(wanted)

    async def remove(self, distribution: str) -> bool:
        """Uninstall a distribution; False for one that is not the root's own, and stays."""
        self._check_name(distribution)
        if self._root.installed(distribution) is None:
            return False
        async with self._alone():
            if self._root.installed(distribution) is None:  # by somebody else, meanwhile
                return False
            await self._root.pip("uninstall", "--yes", "--", distribution)
            self._note_origin(distribution, None)
            return True

    async def update(self, distribution: str) -> Updated:
        """Move to the newest version that admits this host.

        One that came from an address or a path is fetched from there again: an index may have
        another under its name.
        """
        self._check_name(distribution)
        async with self._alone():
            before, held = self._own(distribution), self._contents(distribution)
            origin = self._origins().get(normalized(distribution), distribution)
            after = await self._install(wanted_of(origin, self._root.folder))
            if normalized(after.distribution) != normalized(distribution):
                raise InstallFailure(
                    f"{origin} is {after.distribution} now, and no longer {distribution}; "
                    f"it is installed beside it"
                )
            return Updated(
                before=before.version,
                after=after.version,
                moved=self._contents(distribution) != held,
            )

    async def install_requirements(self, requirements: "list[str]") -> None:
        """Install what a standalone plugin needs beside this program."""
        wanted = [wanted_of(text, self._root.folder) for text in requirements]
        if not wanted:
            return
        async with self._alone():
            await self._root.pip("install", *self._held_to(), "--", *(each.text for each in wanted))

    async def install_into(self, folder: Path, requirement: str) -> dict[str, str]:
        """Install one package into a folder, for `host.install`.

        Answers `{"version": ...}`, or `{"error": ...}` with the reason. One at a time per folder.
        """
        lock = self._into.setdefault(folder, DeferredLock())
        async with lock:
            try:
                return {"version": await self._installed_into(folder, requirement)}
            except InstallFailure as failure:
                return {"error": str(failure)}
            except OSError as error:
                return {"error": f"{error.filename or folder}: {error.strerror}"}

    def is_installed(self, name: str) -> bool:
        """Whether there is a distribution `name`, in the root or beside this program."""
        return (self._root.installed(name) or self._root.of_host(name)) is not None

    def distribution(self, name: str) -> Installed | None:
        """A distribution of the root's own; None where it is not there."""
        found = self._root.installed(name)
        return None if found is None else _as_installed(facts_of(found))

    # -- the work --------------------------------------------------------------------------

    @asynccontextmanager
    async def _alone(self) -> AsyncIterator[None]:
        """A turn at the root, made where it is missing: nobody else is at it."""
        async with self._turn:
            with held(self._root.folder):
                await self._root.make()
                yield

    async def _install(self, wanted: Wanted) -> Installed:
        there = self._of_host(wanted)
        if there is not None:
            return there
        staging = Path(tempfile.mkdtemp(prefix=".fetch-", dir=self._root.folder))
        try:
            target = wanted.text
            if wanted.kind == "name":
                version = await self._picked(wanted, staging)
                if version is None:
                    return self._there_already(wanted)
                extras = f"[{','.join(wanted.extras)}]" if wanted.extras else ""
                target = f"{wanted.name}{extras}=={version}"
            facts, wheel = await self._fetched(wanted, target, staging)
            await self._put(wanted, target, facts, wheel, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
        self._note_origin(facts.name, wanted.origin)
        found = self._root.installed(facts.name)
        if found is None:
            raise InstallFailure(
                f"pip installed {facts.name}, and it is not in {self._root.folder}"
            )
        return _as_installed(facts_of(found))

    def _of_host(self, wanted: Wanted) -> Installed | None:
        """What came with this program, where it is a plugin and in a version that is wanted."""
        found = None if wanted.name is None else self._root.of_host(wanted.name)
        if found is None or not wanted.specifier.contains(found.version, prereleases=True):
            return None
        facts = facts_of(found)
        self._check(facts)
        return _as_installed(facts)

    async def _picked(self, wanted: Wanted, staging: Path) -> str | None:
        """The newest version that admits this host; None where it is installed already."""
        report = staging / "report.json"
        await self._root.pip(
            *("install", "--dry-run", "--upgrade", "--report", str(report)),
            *(*self._held_to(), "--", wanted.text),
        )
        found = _requested(report)
        return None if found is None else found[1]

    def _there_already(self, wanted: Wanted) -> Installed:
        assert wanted.name is not None, "it is a name"
        found = self._root.installed(wanted.name) or self._root.of_host(wanted.name)
        if found is None:
            raise InstallFailure(f"pip says that {wanted.name} is installed, and it is nowhere")
        facts = facts_of(found)
        self._check(facts)
        return _as_installed(facts)

    async def _fetched(self, wanted: Wanted, target: str, staging: Path) -> tuple[Facts, Path]:
        """The distribution as a wheel in `staging`, looked at and found to be for this host."""
        folder = staging / "wheel"
        await self._root.pip(
            *("wheel", "--no-deps", "--wheel-dir", str(folder)),
            *_named(wanted, target, staging),
            environ=environ_for(wanted.credential, target, staging, self._root.environ),
        )
        wheels = list(folder.glob("*.whl"))
        if len(wheels) != 1:
            raise InstallFailure(f"{target} came to {len(wheels)} distributions, and not to one")
        facts = facts_of_wheel(wheels[0])
        self._check(facts)
        ours = self._root.of_host(facts.name)
        if ours is not None:
            raise InstallFailure(
                f"{facts.name} {ours.version} came with this program, and cannot be another "
                "version beside it"
            )
        return facts, wheels[0]

    async def _put(
        self, wanted: Wanted, target: str, facts: Facts, wheel: Path, staging: Path
    ) -> None:
        before = self._root.installed(facts.name)
        if wanted.kind == "name":
            # By its name, so that pip notes nothing of the folder it was fetched to.
            links = ("--find-links", str(wheel.parent))
            await self._root.pip("install", *links, *self._held_to(), "--", target)
            return
        await self._root.pip("install", *self._held_to(), "--", str(wheel))
        if before is not None and before.version == facts.version:
            # Of the same version, which pip takes for the same code.
            again = ("--force-reinstall", "--no-deps", "--no-index")
            await self._root.pip("install", *again, "--", str(wheel))

    async def _installed_into(self, folder: Path, requirement: str) -> str:
        if isinstance(requirement, str) and _QUOTES & set(requirement):
            raise InstallFailure("a requirement holds no quotes, no % and no $", asked=True)
        wanted = wanted_of(requirement, self._root.folder)
        if wanted.kind != "name" and not _is_wheel(wanted.text):
            raise InstallFailure(
                f"{wanted.text} is no wheel: what has to be built runs code of its own here",
                asked=True,
            )
        async with self._alone():
            held_to = self._held_to()
        make_private(folder)
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=self._root.folder) as staging:
            report = Path(staging) / "report.json"
            await self._root.pip(
                *("install", "--upgrade", "--target", str(folder), "--report", str(report)),
                *("--only-binary", ":all:"),  # nothing of a package runs by being installed
                *(*held_to, *_named(wanted, wanted.text, Path(staging))),
                environ=environ_for(
                    wanted.credential, wanted.text, Path(staging), self._root.environ
                ),
            )
            found = _requested(report)
        if found is None:
            raise InstallFailure(f"pip did not say what it installed of {wanted.text}")
        return found[1]

    # -- what is known -----------------------------------------------------------------------

    def _check(self, facts: Facts) -> None:
        why = refusal(facts, self._version)
        if why is not None:
            raise InstallFailure(why)

    def _check_name(self, distribution: object) -> None:
        wanted = wanted_of(distribution, self._root.folder)
        if wanted.kind != "name" or wanted.text != wanted.name:
            raise InstallFailure(f"{distribution!r} is not the name of a distribution", asked=True)

    def _own(self, distribution: str) -> Facts:
        found = self._root.installed(distribution)
        if found is not None:
            return facts_of(found)
        if self._root.of_host(distribution) is not None:
            raise InstallFailure(f"{distribution} came with this program, and stays with it")
        raise InstallFailure(f"{distribution} is not installed in {self._root.folder}")

    def _contents(self, distribution: str) -> Mapping[str, str]:
        found = self._root.installed(distribution)
        return {} if found is None else contents(found)

    def _held_to(self) -> tuple[str, str]:
        return "--constraint", str(self._root.constraints())

    # -- where each came from ------------------------------------------------------------------

    def _origins(self) -> dict[str, str]:
        try:
            held = json.loads((self._root.folder / _ORIGINS).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return {}
        return held if isinstance(held, dict) else {}

    def _note_origin(self, distribution: str, origin: str | None) -> None:
        origins = self._origins()
        before = dict(origins)
        origins.pop(normalized(distribution), None)
        if origin is not None:
            origins[normalized(distribution)] = origin
        if origins != before:
            replace(self._root.folder / _ORIGINS, json.dumps(origins, indent=2).encode())


def _named(wanted: Wanted, target: str, staging: Path) -> tuple[str, ...]:
    """The arguments of pip that name what is fetched.

    An address may be signed, and arguments are every user's to read: it goes into a file for this
    user alone. What pip would take for a variable there is none: `$` is written as URLs may.
    """
    if wanted.kind != "url":
        return "--", target
    file = staging / "requirements.txt"
    replace(file, f"{target.replace('$', '%24')}\n".encode())
    return "--requirement", str(file)


def _as_installed(facts: Facts) -> Installed:
    return Installed(distribution=facts.name, version=facts.version, ids=facts.ids)


def _requested(report: Path) -> tuple[str, str] | None:
    """The name and version of what pip was asked for, as its report has it."""
    try:
        said: Any = json.loads(report.read_text(encoding="utf-8"))
        for item in said["install"]:
            if item.get("requested"):
                return str(item["metadata"]["name"]), str(item["metadata"]["version"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InstallFailure("pip's report cannot be read") from None
    return None


def _is_wheel(source: str) -> bool:
    """Whether a path or an address is a wheel's, by its name."""
    return urlsplit(source).path.endswith(".whl")
