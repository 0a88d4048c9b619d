"""The plugin root: a virtual environment beside the configuration, for what plugins need.

It is of the interpreter that runs this program and sees what that one has installed, so that
nothing both need is there twice: pip, which runs in it, is held to the versions the program has.
Source: PLUGINS.txt, "Installing a plugin".
"""

import os
import re
import sys
import sysconfig
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Final

import attrs

from ahpd.plugins.failures import InstallFailure, last_words
from ahpd.plugins.specs import normalized
from ahpd.private_folders import make_private

#: `await run(argv, environ, directory)`: runs a program to its end, without a shell and with
#: nothing to read: its exit status, and what it wrote to its output and its error output.
Run = Callable[[Sequence[str], Mapping[str, str], Path], Awaitable[tuple[int, str]]]

FOLDER: Final = "plugin-root"
#: Has the root see the packages of the program.
_LINK: Final = "ahpd-host.pth"
_CONSTRAINTS: Final = "constraints.txt"
#: The oldest pip that reports what it would install in a form that stays.
_OLDEST_PIP: Final = (23, 0)
#: Settings of pip that would have it install elsewhere, or something else besides.
_NOT_PASSED: Final = frozenset(
    {
        "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PIP_PYTHON", "PIP_REQUIRE_VIRTUALENV",
        "PIP_REQUIREMENT", "PIP_EDITABLE", "PIP_DRY_RUN", "PIP_REPORT", "PIP_SRC", "PIP_QUIET",
        "PIP_VERBOSE", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__",
    }
)  # fmt: skip


def host_folders(path: Iterable[str] | None = None) -> list[str]:
    """The folders on `path` (`sys.path`) that hold installed packages of this program."""
    standard = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib")}
    found = []
    for folder in dict.fromkeys(sys.path if path is None else path):
        if not folder or folder in standard or f"{os.sep}{FOLDER}{os.sep}" in folder + os.sep:
            continue
        if any(Path(folder).glob("*.dist-info")) or any(Path(folder).glob("*.egg-info")):
            found.append(folder)
    return found


@attrs.define(eq=False, repr=False)
class PluginRoot:
    """The folder `<configuration directory>/plugin-root`, mode 0700.

    `run` and `environ` are what programs are started with. `host` are the folders this program's
    packages are in, those of `host_folders()` where none are given.
    """

    folder: Path
    run: Run
    environ: Mapping[str, str] = attrs.field(repr=False)
    interpreter: str = sys.executable
    _given: Sequence[str] | None = attrs.field(default=None, alias="host")
    _path: Sequence[str] = attrs.field(factory=lambda: tuple(sys.path), init=False)
    """What modules were imported from when it was made: plugins add to that."""

    @classmethod
    def of(cls, config_dir: Path, run: Run, environ: Mapping[str, str]) -> "PluginRoot":
        """The plugin root of a configuration directory."""
        return cls(config_dir / FOLDER, run, environ)

    @cached_property
    def host(self) -> Sequence[str]:
        """The folders this program's packages are in; looked for when something is installed or
        the root is made, because a start reads them all anyhow."""
        return host_folders(self._path) if self._given is None else self._given

    @property
    def python(self) -> Path:
        """The interpreter of the root."""
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        """What goes to the end of `sys.path`, for what is installed to be imported."""
        return site_packages(self.folder)

    @property
    def plugins(self) -> Path:
        """Where plugins are that clients wrote."""
        return self.folder / "plugins"

    @property
    def is_made(self) -> bool:
        """Whether it is there, for the interpreter that runs."""
        return (
            (self.folder / "pyvenv.cfg").is_file()
            and self.python.exists()
            and (self.site_packages / _LINK).is_file()
        )

    async def make(self) -> None:
        """Make it where it is missing. Raises `InstallFailure` and `OSError`."""
        make_private(self.folder)
        self.folder.chmod(0o700)
        if not self.is_made:
            command = [self.interpreter, "-P", "-m", "venv"]
            if self._host_has_pip():
                command.append("--without-pip")
            status, output = await self.run(
                [*command, str(self.folder)], self._environ(), self.folder
            )
            if status != 0:
                raise InstallFailure(
                    f"the plugin root {self.folder} cannot be made: {last_words(output)}"
                )
        self._link()

    async def pip(
        self, command: str, *arguments: str, environ: Mapping[str, str] | None = None
    ) -> str:
        """Run pip in the root; what it wrote. `environ` is what it is given beside the root's own.

        Raises `InstallFailure` with pip's own reason.
        """
        argv = [
            *(str(self.python), "-P", "-m", "pip", command),
            *("--no-input", "--disable-pip-version-check", "--no-color"),
        ]
        given = {**self._environ(), **(environ or {})}
        status, output = await self.run([*argv, *arguments], given, self.folder)
        if status != 0:
            raise InstallFailure(last_words(output))
        return output

    def constraints(self) -> Path:
        """The file that holds pip to the versions this program has; written anew."""
        lines = [f"{name}=={version}\n" for name, version in sorted(_versions(self.host).items())]
        path = self.folder / _CONSTRAINTS
        path.write_text("".join(lines), encoding="utf-8")
        return path

    def installed(self, name: str) -> Distribution | None:
        """A distribution of the root's own."""
        return _named(name, [str(self.site_packages)])

    def of_host(self, name: str) -> Distribution | None:
        """A distribution of this program's own environment."""
        return _named(name, self.host)

    # -- inside ----------------------------------------------------------------------------

    def _host_has_pip(self) -> bool:
        held = self.of_host("pip")
        numbers = re.match(r"(\d+)\.(\d+)", held.version if held is not None else "")
        return numbers is not None and (int(numbers[1]), int(numbers[2])) >= _OLDEST_PIP

    def _link(self) -> None:
        # A line that imports is run by `site`: folders added so have their own .pth files read,
        # which is how an editable installation is found.
        calls = [f"site.addsitedir({folder!r})" for folder in self.host]
        text = "; ".join(["import site", *calls]) + "\n"
        path = self.site_packages / _LINK
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")

    def _environ(self) -> dict[str, str]:
        passed = {name: text for name, text in self.environ.items() if name not in _NOT_PASSED}
        return {**passed, "PIP_USER": "0", "PIP_PROGRESS_BAR": "off", "NO_COLOR": "1"}


def site_packages(folder: Path) -> Path:
    """Where the root `folder` keeps packages."""
    return Path(sysconfig.get_path("purelib", "venv", {"base": str(folder)}))


def _versions(folders: Iterable[str]) -> dict[str, str]:
    """The versions of what is installed in `folders` by name; of two the first counts."""
    found: dict[str, str] = {}
    for folder in folders:
        # The names say it, by the specification of wheels: reading the metadata of all of them
        # takes a hundred times as long, where a reactor waits.
        for info in Path(folder).glob("*.dist-info"):
            name, dash, version = info.stem.partition("-")
            if dash and name and version:
                found.setdefault(normalized(name), version)
    return found


def _named(name: str, path: Sequence[str]) -> Distribution | None:
    return next(iter(distributions(name=name, path=list(path))), None)
