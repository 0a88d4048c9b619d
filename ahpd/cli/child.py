"""The background daemon's own process, as `ahpd.daemon.background` starts it."""

import contextlib
import json
import os
import sys
from typing import Any

import ahpd
from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE
from ahpd.cli.params import configuration
from ahpd.config.errors import ConfigError
from ahpd.config.load import Configuration
from ahpd.config.places import state_directory
from ahpd.daemon import record
from ahpd.daemon.record import Launch
from ahpd.daemon.words import failure_words


class _Asker:
    """Whoever started this daemon, waiting for one line that says how it went."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def say(self, value: dict[str, Any]) -> None:
        """Answer, once; a second answer has nobody to read it."""
        if self._descriptor < 0:
            return
        self._write(value)
        os.close(self._descriptor)
        self._descriptor = -1

    def at(self, words: str) -> None:
        """Say what the start is at, so that it is waited for on."""
        if self._descriptor >= 0:
            self._write({"at": words})

    def _write(self, value: dict[str, Any]) -> None:
        # Where nobody waits any more, the log has what they would have read.
        with contextlib.suppress(OSError):
            os.write(self._descriptor, json.dumps(value).encode() + b"\n")


def main() -> int:
    """Serve until a signal; the exit status."""
    handed = json.loads(sys.stdin.buffer.read())
    launch = Launch(
        flags=handed["flags"], config_file=handed["configFile"], directory=handed["directory"]
    )
    asker = _Asker(os.dup(1))
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(null, standard)
    os.close(null)
    try:
        return _serve(launch, configuration(launch), asker)
    except ConfigError as error:
        asker.say({"error": str(error), "status": EXIT_USAGE})
        return EXIT_USAGE
    except Exception as error:
        asker.say({"error": failure_words(error), "status": EXIT_FAILED})
        return EXIT_FAILED


def _serve(launch: Launch, read: Configuration, asker: _Asker) -> int:
    from twisted.internet import reactor
    from twisted.logger import Logger

    from ahpd.daemon.log import BoundedFile, observer
    from ahpd.daemon.runner import Runner
    from ahpd.tap import IAnnounced, build_service
    from ahpd.unspoken import Unspoken

    state = state_directory(os.environ)
    settings, warnings = read.settings()
    path = state / record.LOG_FILE
    log = Logger(namespace="ahpd")
    problems: list[str] = []

    told: dict[str, Any] = {}

    def notes(announced: IAnnounced) -> None:
        told.update(said=list(announced.said), skipped=list(announced.skipped))

    def announce(url: str | None) -> None:
        record.write(state, record.of_this_process(url or "", launch, str(path)))
        log.info("listening on {url}", url=url)
        for line in told.get("said", ()):
            log.info("{line}", line=line)
        asker.say({"listening": url, **told})

    def failed(words: str) -> None:
        problems.append(words)
        log.critical("{words}", words=words)

    log.info(
        "ahpd {version} starts in {directory}", version=ahpd.__version__, directory=launch.directory
    )
    unspoken = Unspoken(settings.unspoken)
    service = build_service(
        settings,
        reactor,
        announce=announce,
        failed=failed,
        listen_place=read.place("listen"),
        notes=notes,
        at=asker.at,
        unspoken=unspoken,
    )
    for words in (*read.warnings, *warnings):
        log.warn("{words}", words=words)
    Runner(service, observer(BoundedFile(path, standard_error=True), unspoken)).run()
    record.remove(state, os.getpid())
    if problems:
        asker.say({"error": problems[0], "status": EXIT_FAILED})
        return EXIT_FAILED
    return 0


if __name__ == "__main__":
    sys.exit(main())
