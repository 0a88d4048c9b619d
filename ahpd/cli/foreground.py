"""`ahpd` in the foreground: the host in this process, its log on standard error."""

import json
import sys
from typing import Any

import click
from twisted.internet import reactor

from ahpd.cli.output import Failure, wants_json
from ahpd.config.errors import ConfigError
from ahpd.config.load import Configuration
from ahpd.daemon.log import observer
from ahpd.daemon.runner import Runner
from ahpd.daemon.words import failure_words
from ahpd.tap import IAnnounced, build_service


def run(context: click.Context, configuration: Configuration) -> int:
    """Serve until a signal stops it; the exit status. Raises `Failure` and `ConfigError`."""
    settings, warnings = configuration.settings()
    as_json = wants_json(context)
    output: Any = sys.stderr if settings.stdio else sys.stdout
    errors = sys.stderr
    problems: list[str] = []
    said: list[str] = []

    def notes(announced: IAnnounced) -> None:
        for line in announced.skipped:
            print(f"skipped: {line}", file=errors)
        said.extend(announced.said)

    def announce(url: str | None) -> None:
        if url is None:
            return
        told = {"listening": url, **({"said": said} if said else {})}
        lines = [json.dumps(told)] if as_json else [f"listening on {url}", *said]
        try:
            print("\n".join(lines), file=output, flush=True)
        except OSError as error:
            print(f"ahpd: standard output is gone: {error.strerror}", file=errors)

    for words in (*configuration.warnings, *warnings):
        print(f"ahpd: warning: {words}", file=errors)
    try:
        service = build_service(
            settings,
            reactor,
            announce=announce,
            failed=problems.append,
            listen_place=configuration.place("listen"),
            notes=notes,
        )
        Runner(service, observer(errors, settings.unspoken)).run()
    except ConfigError:
        raise
    except Exception as error:
        raise Failure(failure_words(error)) from None
    if problems:
        raise Failure(problems[0])
    return 0
