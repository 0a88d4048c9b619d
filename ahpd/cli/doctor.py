"""`ahpd doctor`: looks at everything a host needs, and says what mends what does not work."""

import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from ahpd.cli import examined
from ahpd.cli.examined import OK, PROBLEM, WARNING, Checked
from ahpd.cli.output import EXIT_FAILED, answer
from ahpd.cli.params import configuration, host_flags, json_flag, launch
from ahpd.config.errors import ConfigError
from ahpd.config.load import Configuration
from ahpd.config.places import state_directory
from ahpd.config.records import WrittenRecord
from ahpd.config.settings import Settings
from ahpd.daemon import background
from ahpd.daemon.background import Found
from ahpd.daemon.record import Launch, Record
from ahpd.daemon.words import failure_words
from ahpd.interfaces.agents import Finding
from ahpd.interfaces.engines import RecordFailure
from ahpd.records.engines import Engines

if TYPE_CHECKING:
    from ahpd.records.opening import PortsFor

_STYLES: Final = {OK: "green", WARNING: "yellow", PROBLEM: "red"}
_LEVEL_WIDTH: Final = 9


@click.command()
@host_flags
@json_flag
@click.pass_context
def doctor(context: click.Context) -> int:
    """Check the configuration, plugins and every agent, and say what mends what does not work.

    Nothing is changed, no plugin is run, no session is made and no model is asked. Flags are taken as a start would
    take them; without any, a daemon in the background is looked at as it was started. The
    environment, PATH above all, is this shell's.

    The exit status is 0 when nothing is wrong and 1 when something is.
    """
    found = background.find(state_directory(os.environ))
    asked, held = _asked(context, found)
    checks = examine(asked, found, held)
    count = {level: sum(each.level == level for each in checks) for level in _STYLES}
    answer(
        context,
        _page(checks, count[PROBLEM], count[WARNING]),
        {
            "ok": not count[PROBLEM],
            "problems": count[PROBLEM],
            "warnings": count[WARNING],
            "checks": [each.row() for each in checks],
        },
    )
    return EXIT_FAILED if count[PROBLEM] else 0


def _asked(context: click.Context, found: Found) -> tuple[Launch, Record | None]:
    """The start that is looked at, and the daemon that was started so and can be asked."""
    from ahpd.cli.plugins_here import daemon

    given = launch(context)
    if given.flags:
        return given, None
    running = found.record if found.running and given.config_file is None else None
    held = running or daemon(context)
    return (given, None) if held is None else (held.launch, held if held.url else None)


def examine(asked: Launch, found: Found, held: Record | None = None) -> Sequence[Checked]:
    """Everything that is looked at for a host that is started so."""
    try:
        read = configuration(asked)
    except ConfigError as error:
        line = re.search(r":\d+: ", str(error))
        mend = "edit the line it names" if line else None
        return [examined.host("file", PROBLEM, str(error), mend)]
    except OSError as error:
        return [examined.host("file", PROBLEM, failure_words(error))]
    checks = [
        *examined.file_of(read),
        *examined.token_of(read),
        *examined.data_of(read),
        *examined.address_of(read, found),
        *examined.mcp_servers_of(read, os.environ),
        *_managed(read),
    ]
    from ahpd.cli.examined_plugins import checks_of, engines_of, plugins_of
    from ahpd.records.demo import BUILT_IN

    plugins = plugins_of(read, Path(asked.directory))
    engines, theirs = Engines(BUILT_IN), engines_of(plugins)
    theirs = {name: plugin for name, plugin in theirs.items() if name not in engines.names()}
    told, findings = _told_and_found(read, engines, theirs, held if plugins else None)
    return [
        *checks,
        *checks_of(plugins, told, read, os.environ),
        *_agents(read, engines, theirs, findings),
    ]


def _managed(read: Configuration) -> Iterator[Checked]:
    """Whether the operator's rules can be read, by who reads them at the start."""
    names = ("managed_settings_permissions", "managed_rules", "eligible_for_auto_approval")
    if not read.get(names[0]):
        return
    from ahpd.app.domains import configured_judge

    try:
        configured_judge(Settings(**{name: read.get(name) for name in names}))
    except ConfigError as error:
        yield examined.host("rules", PROBLEM, str(error), f"edit {read.file}")
    else:
        yield examined.host("rules", OK, f"managed rules can be read, and are {read.get(names[1])}")


def _agents(
    read: Configuration,
    engines: Engines,
    theirs: Mapping[str, str],
    findings: Iterable[Checked],
) -> Iterator[Checked]:
    yield from _engines(engines)
    records: tuple[WrittenRecord, ...] = read.get("agents")
    yield from findings
    for record in records:
        if record.engine in theirs and record.mode != "disabled":
            words = f"its engine is of the plugin {theirs[record.engine]}, which is not run here"
            yield Checked(subject=record.id, about="engine", level=OK, words=words)
    yield from (
        Checked(subject=record.id, about="record", level=OK, words="disabled: it is not looked at")
        for record in records
        if record.mode == "disabled"
    )
    demo = read.get("demo")
    if not records if demo is None else demo:
        yield Checked(subject="demo", about="agent", level=OK, words="offered; it needs nothing")
    elif not any(record.mode == "enabled" for record in records):
        yield examined.host("agents", WARNING, "no agent takes a session", "ahpd configure")


def _engines(engines: Engines) -> Iterator[Checked]:
    works = []
    for name in engines.names():
        try:
            engines.get(name)
        except RecordFailure as failure:
            yield examined.host("engines", WARNING, str(failure))
        else:
            works.append(name)
    yield examined.host("engines", OK, ", ".join(works))


def _told_and_found(
    read: Configuration, engines: Engines, theirs: Mapping[str, str], held: Record | None
) -> tuple[list[dict[str, Any]] | None, Sequence[Checked]]:
    """What the daemon says of its plugins, None where there is none to ask, and what the checks
    of agents find: one run of the reactor for both, because a process has one."""
    records = [record for record in read.get("agents") if record.engine not in theirs]
    if not any(record.mode != "disabled" for record in records):
        if held is None:
            return None, ()
        from ahpd.cli.asked_daemon import plugin_rows

        return plugin_rows(held), ()
    from ahpd.cli.asked_daemon import plugin_rows_over
    from ahpd.cli.once import run_with_ports
    from ahpd.records.checking import Checker
    from ahpd.vault import FileVault, Secrets

    async def here(work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)  # nobody else waits in this process

    secrets = Secrets(FileVault(read.directory / "vault.json", here))
    names = ("agents", "engines", "data_directory", "sessions", "paths", "connection_token")
    settings = Settings(**{name: read.get(name) for name in names})

    async def work(reactor: Any, ports_for: "PortsFor") -> Any:
        told = None if held is None else await plugin_rows_over(reactor, held)
        checker = Checker(engines, settings.engines, ports_for, reactor, secrets=secrets)
        return told, await checker.check_all(tuple(records))

    told, found = run_with_ports(settings, os.environ, work)
    return told, [_checked(record, finding) for record, each in found for finding in each]


def _checked(record: WrittenRecord, finding: Finding) -> Checked:
    return Checked(
        subject=record.id,
        about=finding.about,
        level=OK if finding.ok else PROBLEM,
        words=finding.words,
        # What a working thing would be mended by is no help to anybody.
        mend=None if finding.ok else finding.mend,
    )


# -- what a person is shown -----------------------------------------------------------


def _page(checks: Sequence[Checked], problems: int, warnings: int) -> str:
    wide = max(len(each.about) for each in checks)
    lines: list[str] = []
    subject = ""
    for each in sorted(checks, key=lambda each: each.subject != "host"):
        if each.subject != subject:
            subject = each.subject
            lines += ["", _styled(subject, bold=True)] if lines else [_styled(subject, bold=True)]
        mark = _styled(f"{each.level:<{_LEVEL_WIDTH}}", fg=_STYLES[each.level])
        lines.append(f"  {mark}{each.about:<{wide}}  {_plain(each.words)}")
        if each.mend is not None:
            lines.append(f"  {'':<{_LEVEL_WIDTH}}{'':<{wide}}  to mend: {_plain(each.mend)}")
    return "\n".join([*lines, "", _sum(problems, warnings)])


def _sum(problems: int, warnings: int) -> str:
    if not problems and not warnings:
        return "Nothing is wrong."
    parts = [(problems, "problem"), (warnings, "warning")]
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in parts if count) + "."


def _styled(words: str, **style: Any) -> str:
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return words
    return click.style(words, **style)


def _plain(words: str) -> str:
    """Words on one line that a terminal obeys nothing of: a program may have said them."""
    return "".join(letter if letter.isprintable() else " " for letter in words)
