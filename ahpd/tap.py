"""`twistd ahpd`: its options, and the service of a host with its lifecycle."""

import atexit
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from twisted.python import usage

import ahpd
from ahpd.config import flags, load
from ahpd.config.errors import ConfigError
from ahpd.config.kinds import Switch
from ahpd.config.options import Option
from ahpd.config.settings import FLAGGED, Settings
from ahpd.daemon.words import working_directory_words
from ahpd.unspoken import Unspoken

if TYPE_CHECKING:
    from twisted.application.service import MultiService
    from twisted.internet.defer import Deferred

    from ahpd.daemon.record import Launch


class IHost(Protocol):
    """What is used of a host here (`ahpd.app.Host`)."""

    @property
    def service(self) -> "MultiService":
        """The tree of named services; stopping it drains."""

    @property
    def ready(self) -> "Deferred[str | None]":
        """Fires with the URL, or None where nothing listens; fails when it cannot listen."""

    @property
    def ended(self) -> "Deferred[str]":
        """Fires when there is nobody left to serve and nobody can come."""

    @property
    def plugins(self) -> Any:
        """The plugins' side (`ahpd.app.plugin_side.PluginSide`), whose `events` hear the log."""

    def announced(self) -> "IAnnounced":
        """What is told of the plugins, once the host is ready."""


class IAnnounced(Protocol):
    """What is told of the plugins with the announcement (`ahpd.app.plugin_side.Announced`)."""

    @property
    def said(self) -> Sequence[str]: ...
    @property
    def skipped(self) -> Sequence[str]: ...


#: Microseconds in which a service manager hears of a start again that goes on.
_A_STEP: Final = 30_000_000

MakeHost = Callable[[Settings, Any], IHost]


class Options(usage.Options):
    """The options of `twistd ahpd`: those of `ahpd` and its configuration file."""

    synopsis = "[options]"
    longdesc = "Hosts coding agents on this machine and serves them over the Agent Host Protocol."

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.raw: flags.Raw = {}
        self.config_file: Path | None = None
        self.directory = Path()
        self.configuration: load.Configuration | None = None

    def opt_version(self) -> None:
        """Show the version of ahpd and exit."""
        print(f"ahpd {ahpd.__version__}")
        sys.exit(0)

    def opt_config_file(self, text: str) -> None:
        """Read this file in place of config.yaml or config.json in the configuration directory."""
        self.config_file = Path(text).absolute()

    def postOptions(self) -> None:
        """Read the configuration; what is wrong with it ends the process in one line."""
        try:
            self.directory = Path.cwd()
        except OSError as error:
            raise SystemExit(f"ahpd: {working_directory_words(error)}") from None
        try:
            self.configuration = load.load(
                flags.values(self.raw, self.directory),
                config_file=self.config_file,
                environ=os.environ,
                directory=self.directory,
            )
        except ConfigError as error:
            raise SystemExit(f"ahpd: {error}") from None


# `usage.Options` counts the arguments of each method and shows its docstring.


def _switch(option: Option, state: bool, words: str) -> Callable[[Options], None]:
    def given(self: Options) -> None:
        flags.add(self.raw, option, state)

    given.__doc__ = words
    return given


def _valued(option: Option, words: str) -> Callable[[Options, str], None]:
    def given(self: Options, text: str) -> None:
        flags.add(self.raw, option, text)

    given.__doc__ = words
    return given


def _methods(option: Option) -> dict[str, Callable[..., None]]:
    words = f"{option.help} [default: {option.default_words}]"
    if isinstance(option.kind, Switch):
        return {
            option.flag: _switch(option, True, words),
            option.kind.negative: _switch(option, False, f"The opposite of --{option.flag}."),
        }
    methods: dict[str, Callable[..., None]] = {option.flag: _valued(option, words)}
    if option.singular:
        methods[option.singular] = _valued(option, f"The same as --{option.flag}.")
    return methods


for _option in FLAGGED:
    for _flag, _method in _methods(_option).items():
        setattr(Options, f"opt_{_flag.replace('-', '_')}", _method)


def build_service(
    settings: Settings,
    reactor: Any,
    *,
    announce: Callable[[str | None], object],
    failed: Callable[[str], object],
    raises: bool = False,
    make: MakeHost | None = None,
    listen_place: str = "listen",
    notes: Callable[["IAnnounced"], object] = lambda announced: None,
    at: Callable[[str], object] = lambda words: None,
    unspoken: "Unspoken | None" = None,
) -> "MultiService":
    """The service of a host for `settings`, minding its own beginning and end.

    `listen_place` is where `settings.listen` was said (`Configuration.place`).

    `unspoken` is what the log leaves out; it learns what the host reads from its vault.

    `notes` is told of the plugins right before `announce` is called, and `at` what the start is at
    while it loads them (`ahpd.daemon.progress`). `announce`, `failed` and
    `raises` are as `ahpd.daemon.lifecycle.Lifecycle` says. Raises
    `ConfigError` for an endpoint Twisted knows nothing of, and what making a host raises.
    """
    if settings.listen is not None:
        _check_endpoint(settings.listen, listen_place, reactor)
    from twisted.application.service import MultiService
    from twisted.logger import Logger

    from ahpd.app.at_need import prepared
    from ahpd.app.observed import HeardLog
    from ahpd.daemon.lifecycle import Lifecycle
    from ahpd.daemon.limits import raise_open_files
    from ahpd.daemon.log import log_line
    from ahpd.daemon.notify import notify

    if make is None:
        from ahpd.app import open_host

        make = open_host
    log = Logger(namespace="ahpd")

    def tell(*lines: str) -> None:
        if (words := notify(os.environ, *lines)) is not None:
            log.warn("{words}", words=words)

    raise_open_files()
    host = make(settings, reactor)
    root = MultiService()
    root.setName("ahpd")
    host.service.setServiceParent(root)
    known = host.plugins.unspoken
    if unspoken is not None:
        unspoken.join(known)
    heard = HeardLog(host.plugins.events, reactor, log_line(known))
    heard.setServiceParent(root)  # type: ignore[no-untyped-call]

    if settings.plugins:
        from ahpd.daemon.progress import Progress

        def said(words: str) -> None:
            at(words)
            tell(f"STATUS={words}", f"EXTEND_TIMEOUT_USEC={_A_STEP}")

        host.plugins.rows.on_step = Progress(reactor, said).step

    def announced(url: str | None) -> None:
        notes(host.announced())
        announce(url)

    # Behind the host: it starts when all of the host was started, and stops before it does.
    lifecycle = Lifecycle(
        reactor,
        host.ready,
        host.ended,
        announce=announced,
        failed=failed,
        tell=tell,
        raises=raises,
        prepare=prepared(),
    )
    lifecycle.setServiceParent(root)  # type: ignore[no-untyped-call]
    return root


def _check_endpoint(endpoint: str, place: str, reactor: Any) -> None:
    from twisted.internet.endpoints import serverFromString

    try:
        serverFromString(reactor, endpoint)
    except Exception as error:
        # Each endpoint type has a parser of its own, and each raises as it likes.
        words = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, LookupError):  # all that the systemd endpoint says
            words = "no socket of that index or name was passed to this process"
        raise ConfigError(
            f"{place}: found {endpoint}, allowed: an endpoint Twisted can make; it says: {words}"
        ) from None


def makeService(options: Options) -> "MultiService":
    """What twistd runs. Words on standard error and status 1 when the host cannot start."""
    from twisted.internet import reactor
    from twisted.logger import Logger

    from ahpd.config.places import state_directory
    from ahpd.daemon import record
    from ahpd.daemon.words import failure_words
    from ahpd.interfaces import StoreFailure

    log = Logger(namespace="ahpd")
    assert options.configuration is not None, "twistd parses options before it makes a service"
    foreground = bool(options.parent and options.parent.get("nodaemon"))
    state = state_directory(os.environ)

    def announce(url: str | None) -> None:
        if url is not None:
            record.keep_foreground(state, url, _launch(options))
            reactor.addSystemEventTrigger("after", "shutdown", record.remove_foreground, state)
        if url is not None and foreground and not settings.stdio:
            print(f"listening on {url}", file=sys.__stdout__, flush=True)
        elif url is not None:
            log.info("listening on {url}", url=url)

    def notes(announced: IAnnounced) -> None:
        if foreground:
            for line in announced.skipped:  # else they are in the log already
                print(f"skipped: {line}", file=sys.__stderr__, flush=True)
        for line in announced.said:
            log.info("{line}", line=line)

    def failed(words: str) -> None:
        if foreground:
            print(f"ahpd: {words}", file=sys.__stderr__, flush=True)
        else:
            log.critical("{words}", words=words)
        # twistd has no status for a service that failed after it was started, so it is
        # said when everything of twistd's own is done.
        atexit.register(_leave_failed)

    try:
        settings, warnings = options.configuration.settings()
        unspoken = Unspoken(settings.unspoken)
        service = build_service(
            settings,
            reactor,
            announce=announce,
            failed=failed,
            raises=not foreground,
            listen_place=options.configuration.place("listen"),
            notes=notes,
            unspoken=unspoken,
        )
    except (ConfigError, OSError, ValueError, StoreFailure) as error:
        raise SystemExit(f"ahpd: {failure_words(error)}") from None
    for words in (*options.configuration.warnings, *warnings):
        log.warn("{words}", words=words)
    return _logged(service, options, unspoken)


def _launch(options: Options) -> "Launch":
    """What `ahpd plugin` asks with, and looks for plugins with."""
    from ahpd.daemon.record import Launch

    file = options.config_file
    return Launch(
        flags=dict(options.raw),
        config_file=None if file is None else str(file),
        directory=str(options.directory),
    )


def _logged(service: "MultiService", options: Options, secrets: Iterable[str]) -> "MultiService":
    """`service`, whose application logs as `ahpd` does, where twistd would have written it.

    twistd's own lines hold stacks, and what a client sent as it was sent. A log that goes
    to syslog or to a `--logger` stays the one that was asked for.
    """
    from twisted.application.service import MultiService
    from twisted.logger import ILogObserver
    from twisted.python.components import Componentized

    from ahpd.daemon.log import BoundedFile, observer

    twistd: Mapping[str, Any] = options.parent or {}

    class Root(MultiService):
        def setServiceParent(self, parent: Any) -> None:
            super().setServiceParent(parent)  # type: ignore[no-untyped-call]
            if isinstance(parent, Componentized) and not twistd.get("syslog"):
                name = twistd.get("logfile") or ("-" if twistd.get("nodaemon") else "twistd.log")
                file = sys.stdout if name == "-" else BoundedFile(Path(name).absolute())
                parent.setComponent(ILogObserver, observer(file, secrets))

    root = Root()  # type: ignore[no-untyped-call]
    service.setServiceParent(root)
    return root


def _leave_failed() -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(1)
