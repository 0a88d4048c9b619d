"""`ahpd` in the foreground: the host in this process, its log on standard error."""

import json
import os
import sys
from typing import Any

import click
from twisted.internet import reactor

from ahpd.cli.output import Failure, wants_json
from ahpd.cli.params import launch
from ahpd.config.errors import ConfigError
from ahpd.config.load import Configuration
from ahpd.config.places import state_directory
from ahpd.daemon import record
from ahpd.daemon.log import observer
from ahpd.daemon.runner import Runner
from ahpd.daemon.words import failure_words
from ahpd.tap import IAnnounced, build_service
from ahpd.unspoken import Unspoken


def run(context: click.Context, configuration: Configuration) -> int:
    """Serve until a signal stops it; the exit status. Raises `Failure` and `ConfigError`."""
    settings, warnings = configuration.settings()
    asked = launch(context)
    as_json = wants_json(context)
    output: Any = sys.stderr if settings.stdio else sys.stdout
    errors = sys.stderr
    problems: list[str] = []
    said: list[str] = []

    def notes(announced: IAnnounced) -> None:
        said.extend(announced.said)  # what was skipped is in the log, which is here

    state = state_directory(os.environ)

    def announce(url: str | None) -> None:
        if url is None:
            return
        record.keep_foreground(state, url, asked)
        told = {"listening": url, **({"said": said} if said else {})}
        lines = [json.dumps(told)] if as_json else [f"listening on {url}", *said]
        try:
            print("\n".join(lines), file=output, flush=True)
        except OSError as error:
            print(f"ahpd: standard output is gone: {error.strerror}", file=errors)

    for words in (*configuration.warnings, *warnings):
        print(f"ahpd: warning: {words}", file=errors)
    try:
        unspoken = Unspoken(settings.unspoken)
        service = build_service(
            settings,
            reactor,
            announce=announce,
            failed=problems.append,
            listen_place=configuration.place("listen"),
            notes=notes,
            unspoken=unspoken,
        )
        try:
            Runner(service, observer(errors, unspoken)).run()
        finally:
            record.remove_foreground(state)
    except ConfigError:
        raise
    except Exception as error:
        raise Failure(failure_words(error)) from None
    if problems:
        raise Failure(problems[0])
    return 0
