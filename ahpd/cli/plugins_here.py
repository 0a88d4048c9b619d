"""The plugins of a configuration as a command handles them without a daemon."""

import os
import subprocess
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

import ahpd
from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE, Failure, remark
from ahpd.cli.params import configuration, launch
from ahpd.cli.plugin_words import would_be_skipped
from ahpd.config.load import Configuration
from ahpd.config.places import find_file, state_directory
from ahpd.config.plugins_file import PluginsFile
from ahpd.daemon import background, record
from ahpd.daemon.record import Launch, Record
from ahpd.plugins.at_rest import PluginsAtRest
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.finding import Finder
from ahpd.plugins.installing import Installer
from ahpd.plugins.root import PluginRoot
from ahpd.plugins.written import WrittenPlugins

T = TypeVar("T")


def read(context: click.Context, held: Record | None = None) -> PluginsAtRest:
    """The plugins of the configuration, whose warnings are said; with `held`, and where no flag
    says otherwise, of that daemon as it was started."""
    asked = launch(context)
    if held is not None and not asked.flags:
        asked = held.launch
    found = configuration(asked)
    for words in found.warnings:
        remark(f"ahpd: warning: {words}")
    return at_rest(found, Path(asked.directory))


def at_rest(configured: Configuration, working_directory: Path) -> PluginsAtRest:
    """The plugins of a configuration; what it names by a path is looked for there too."""
    root = PluginRoot.of(configured.directory, run, os.environ)
    installer = Installer(root, ahpd.__version__)
    return PluginsAtRest(
        file=PluginsFile(configured.file),
        installer=installer,
        written=WrittenPlugins(root, installer),
        finder=Finder(
            working_directory=working_directory,
            config_dir=configured.directory,
            version=ahpd.__version__,
            site=[root.site_packages],
            outside=configured.get("plugin_entry_outside"),
        ),
        entries=configured.get("plugins"),
        options=configured.get("plugin_option"),
    )


def daemon(context: click.Context) -> Record | None:
    """The daemon that runs with the configuration this command is about, in the background or in
    the foreground of another terminal, of several the last; None where none does, and for one that
    does not listen."""
    state = state_directory(os.environ)
    found = background.find(state)
    behind = [found.record] if found.running and found.record is not None else []
    for held in (*behind, *record.in_foreground(state)):
        if _file(held.launch) == _file(launch(context)):
            return held if held.url else None
    return None


def _file(asked: Launch) -> Path:
    """The configuration file of a launch."""
    named = asked.config_file
    return (Path(named) if named else find_file(os.environ)[0]).resolve()


async def run(argv: Sequence[str], environ: Mapping[str, str], directory: Path) -> tuple[int, str]:
    """Run a program to its end; see `ahpd.plugins.root.Run`."""
    done = subprocess.run(  # noqa: ASYNC221, S603 - nobody else waits here
        argv,
        env=dict(environ),
        cwd=directory,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return done.returncode, done.stdout


def updated(context: click.Context, here: PluginsAtRest, name: str) -> dict[str, Any] | Failure:
    """What an update of one plugin came to without a daemon."""
    try:
        update = finished(here.update(name))
    except Failure as failure:
        return failure
    rows = read(context).rows()
    distributions = [one.distribution for one in here.rows() if name in (one.id, one.entry.source)]
    problems = would_be_skipped(rows, distributions)
    return {
        "id": name,
        **({"problems": problems} if problems else {}),
        **({"from": update.before, "to": update.after} if update.moved else {}),
    }


def finished(work: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to that waits for nothing; a refusal is the command's.

    Raises `Failure`.
    """
    try:
        work.send(None)
    except StopIteration as done:
        value: T = done.value
        return value
    except InstallFailure as failure:
        raise failed(failure) from None
    work.close()
    raise AssertionError("nothing is waited for without a reactor")


def failed(failure: InstallFailure) -> Failure:
    """A refusal as the command says it."""
    return Failure(str(failure), EXIT_USAGE if failure.asked else EXIT_FAILED)
