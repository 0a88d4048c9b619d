"""`ahpd start`, `stop`, `restart` and `status`: the daemon behind the command."""

import os
from pathlib import Path
from typing import Any

import click

from ahpd.cli.output import EXIT_USAGE, Failure, answer, remark
from ahpd.cli.params import configuration, host_flags, json_flag, launch, refuse_host_flags
from ahpd.config.places import state_directory
from ahpd.daemon import background
from ahpd.daemon.background import DaemonError, Found
from ahpd.daemon.record import Launch, Record, locked

_NONE_RUNS = "no daemon is running"


@click.command()
@host_flags
@json_flag
@click.pass_context
def start(context: click.Context) -> None:
    """Start the daemon in the background.

    The command waits until it listens. The daemon keeps running after this terminal is
    closed, and works in the directory it was started in.
    """
    state, asked = state_directory(os.environ), launch(context)
    _check(asked)
    with locked(state):
        found = background.find(state)
        if found.running and found.record is not None:
            held = found.record
            raise Failure(f"a daemon runs already: pid {held.pid}, {held.url}")
        _say_started(context, _start(state, asked))


def _check(asked: Launch) -> None:
    # Said here, a wrong configuration costs no process; the daemon warns of the rest in its log.
    try:
        os.fsencode(asked.directory)
    except UnicodeEncodeError:
        raise Failure(
            f"the directory {asked.directory!a} cannot be named in this locale; choose a UTF-8 one"
        ) from None
    read = configuration(asked)
    for words in read.warnings:
        remark(f"ahpd: warning: {words}")
    if read.get("stdio"):
        raise Failure(
            f"{read.place('stdio')}: found true, but a daemon in the background has no parent to "
            "serve; give --no-stdio",
            EXIT_USAGE,
        )


def _start(state: Path, asked: Launch) -> Record:
    skipped: list[str] = []
    said: list[str] = []
    try:
        held = background.start(state, asked, skipped, said)
    except DaemonError as error:
        raise Failure(f"the daemon did not start: {error}", error.status) from None
    for line in skipped:
        remark(f"skipped: {line}")
    for line in said:
        remark(line)
    return held


def _say_started(context: click.Context, held: Record) -> None:
    answer(context, f"listening on {held.url}", _running(held))
    remark(f"ahpd runs in the background: pid {held.pid}, log {held.log}")


def _running(held: Record) -> dict[str, Any]:
    return {
        "running": True,
        "pid": held.pid,
        "url": held.url,
        "started": held.started,
        "version": held.version,
        "log": held.log,
    }


@click.command()
@click.option("--force", is_flag=True, help="Kill it if it does not end by itself.")
@json_flag
@click.pass_context
def stop(context: click.Context, force: bool) -> None:
    """Stop the daemon in the background.

    No new turn starts, running ones end as interrupted, and what is to be kept is
    written before it is gone.
    """
    refuse_host_flags(context)
    state = state_directory(os.environ)
    with locked(state):
        held = _held(background.find(state))
        try:
            background.stop(state, held, force=force)
        except DaemonError as error:
            raise Failure(str(error), error.status) from None
    answer(context, f"stopped (pid {held.pid})", {"running": False, "pid": held.pid})


def _held(found: Found) -> Record:
    if found.record is None:
        raise Failure(_NONE_RUNS)
    if not found.running:
        raise Failure(f"{_NONE_RUNS}; the last one, pid {found.record.pid}, is gone")
    return found.record


@click.command()
@click.option("--force", is_flag=True, help="Kill it if it does not end by itself.")
@json_flag
@click.pass_context
def restart(context: click.Context, force: bool) -> None:
    """Stop the daemon and start it again as it was started.

    It gets the flags and the directory it was started with, and reads the
    configuration file afresh.
    """
    refuse_host_flags(context)
    state = state_directory(os.environ)
    with locked(state):
        held = _held(background.find(state))
        # Before anything is stopped: a daemon that runs beats one that cannot start.
        _check(held.launch)
        try:
            background.stop(state, held, force=force)
        except DaemonError as error:
            raise Failure(str(error), error.status) from None
        _say_started(context, _start(state, held.launch))


@click.command()
@json_flag
@click.pass_context
def status(context: click.Context) -> int:
    """Say whether the daemon runs and where it listens.

    The exit status is 0 when it runs and 1 when it does not.
    """
    refuse_host_flags(context)
    found = background.find(state_directory(os.environ))
    if found.running and found.record is not None:
        held = found.record
        answer(
            context,
            f"running: pid {held.pid}, {held.url}, since {held.started}, log {held.log}",
            _running(held),
        )
        return 0
    words = _NONE_RUNS
    value: dict[str, Any] = {"running": False}
    if found.record is not None:
        words += f"; the last one, pid {found.record.pid}, is gone without having been stopped"
        words += f" (log: {found.record.log})"
        value |= {"log": found.record.log}
    answer(context, words, value)
    return 1
