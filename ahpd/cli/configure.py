"""`ahpd configure`: asks which agents to offer and writes them into the configuration file."""

import contextlib
import difflib
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import click

from ahpd.cli import questions
from ahpd.cli.found_agents import Offer, check, missing_engines, offers
from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE, Failure, answer, remark
from ahpd.cli.params import configuration, json_flag, launch, option_flags
from ahpd.config import document
from ahpd.config.editing import Changes, edited
from ahpd.config.kinds import Structured
from ahpd.config.load import Configuration, Source
from ahpd.config.places import state_directory
from ahpd.config.redaction import scrub, secrets_of
from ahpd.config.settings import OPTIONS
from ahpd.daemon import background
from ahpd.interfaces.engines import RecordFailure
from ahpd.private_folders import make_private
from ahpd.records.demo import BUILT_IN
from ahpd.records.engines import Engines
from ahpd.whole_files import replace

_CONTEXT_LINES: Final = 2


@click.command()
@click.option(
    "--add",
    "wanted",
    metavar="ID",
    multiple=True,
    help="Add this agent, without asking which.  May be given more than once.",
)
@click.option("--yes", is_flag=True, help="Write what --add names without asking.")
@option_flags()
@json_flag
@click.pass_context
def configure(context: click.Context, wanted: tuple[str, ...], yes: bool) -> int:
    """Choose agents and write the configuration.

    Asks at a terminal: which of the agents on this machine to offer, an OpenAI-compatible
    endpoint, the folder sessions work in, the demo agent. What will be written is shown first.
    Everything else in the file stays as it is, comments included, and the file as it was is kept
    beside it. Ctrl-C changes nothing.
    """
    asked = launch(context)
    if asked.flags:
        raise click.UsageError("configure takes no flags for the host; it writes the file", context)
    _check_asking(context, wanted, yes)
    read = configuration(asked)
    for words in read.warnings:
        remark(f"ahpd: warning: {words}")
    engines = Engines(BUILT_IN)
    file = File.read(read)
    with _given_up():
        changes = _named(read, engines, wanted) if wanted else _asked(read, engines, file)
    for record in changes.agents:
        try:
            check(record, engines, read.get("engines"))
        except RecordFailure as failure:
            raise Failure(f"the agent {record['id']} would not open: {failure}") from None
    after = edited(read.file, file.text, changes)
    if after == file.text or not (changes.agents or changes.values):
        answer(context, "nothing to change", _result(read, (), None, False))
        return 0
    _show(read, file, after, changes)
    with _given_up():
        agreed = yes or questions.confirm("Write it?", default=True)
    if not agreed:
        answer(context, "nothing was written", _result(read, (), None, False))
        return EXIT_FAILED
    backup = file.write(after)
    answer(context, f"wrote {read.file}", _result(read, changes.agents, backup, True))
    _say_next(backup)
    return 0


def _check_asking(context: click.Context, wanted: Sequence[str], yes: bool) -> None:
    if yes and not wanted:
        raise click.UsageError("--yes writes what --add names; name an agent", context)
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise Failure(
            "there is no terminal to ask at; name what to add: ahpd configure --add ID --yes",
            EXIT_USAGE,
        )


@contextlib.contextmanager
def _given_up() -> Iterator[None]:
    """Ctrl-C and the end of the input leave the line of the question, and say what became of it."""
    try:
        yield
    except (click.Abort, KeyboardInterrupt):
        remark("\nnothing was changed")
        raise


def _result(
    read: Configuration, added: Sequence[Mapping[str, Any]], backup: Path | None, written: bool
) -> dict[str, Any]:
    return {
        "written": written,
        "file": str(read.file),
        "backup": None if backup is None else str(backup),
        "added": [record["id"] for record in added],
    }


# -- what is to change ----------------------------------------------------------------


def _taken(read: Configuration) -> list[str]:
    return [record.id for record in read.get("agents")]


def _named(read: Configuration, engines: Engines, wanted: Sequence[str]) -> Changes:
    """The agents that `--add` names."""
    taken = _taken(read)
    known = {offer.template.id: offer for offer in offers(engines, os.environ, taken)}
    added = []
    for name in dict.fromkeys(wanted):
        if name in taken:
            raise Failure(f"there is an agent called {name} already, in {read.file}")
        if name not in known:
            raise Failure(_unknown(name, known, engines))
        if known[name].missing:
            program = known[name].template.program
            remark(f"{program} is not on PATH; to install it: {known[name].how_to_install}")
        added.append(known[name].record())
    return Changes(agents=added)


def _unknown(name: str, known: Mapping[str, Offer], engines: Engines) -> str:
    words = f"no installed engine knows an agent called {name}"
    if known:
        words += f"; they know {', '.join(known)}"
    commands = [command for _, command in missing_engines(engines)]
    return f"{words}; more come with {' or '.join(commands)}" if commands else words


def _asked(read: Configuration, engines: Engines, file: "File") -> Changes:
    """What a person answers."""
    remark(f"This writes {read.file}. Nothing is changed before you say so; Ctrl-C leaves it.")
    taken = _taken(read)
    if taken:
        remark(f"It already names {', '.join(taken)}.")
    known = offers(engines, os.environ, taken)
    added = [offer.record() for offer in questions.choose_agents(known)]
    hosted = [offer for offer in known if offer.template.program is None]
    by_url = "openai" in engines.names()
    missing = [offer.template.id for offer in known if offer.missing]
    chosen, another = questions.choose_endpoints(hosted, by_url, missing)
    added += [offer.record() for offer in chosen]
    if another:
        record = questions.ask_endpoint([*taken, *(record["id"] for record in added)])
        added += [record] if record else []
    questions.say_engines(missing_engines(engines))
    values: dict[str, Any] = {}
    folders = _folders(read, file)
    held = next(iter(folders), None)
    folder = questions.ask_folder(held)
    if folder is not None and folder != held:
        # Those beside it stay as they are written, ~ and all.
        others = [written for path, written in folders.items() if path != folder]
        values["paths"] = [str(folder), *others]
    if added or taken:
        offered = questions.ask_demo(read.get("demo"))
        if offered != bool(read.get("demo")):
            values["demo"] = offered
    return Changes(agents=added, values=values)


def _folders(read: Configuration, file: "File") -> dict[Path, str]:
    """The folders the file names, each with how it is written there."""
    if read.values["paths"].source is not Source.FILE:
        return {}
    written = document.parse(read.file, file.text).values["paths"]
    return dict(zip(read.get("paths"), written, strict=True))


# -- the file -------------------------------------------------------------------------


@attrs.frozen
class File:
    """The configuration file as it was read; None of it is there yet where `held` is None."""

    path: Path
    held: bytes | None

    @classmethod
    def read(cls, read: Configuration) -> "File":
        """The file of a configuration."""
        # A link stays one: what it points at is replaced, not the link.
        path = read.file.resolve()
        return cls(path, path.read_bytes() if read.found else None)

    @property
    def text(self) -> str:
        """What it says; it could be read before."""
        return "" if self.held is None else self.held.decode("utf-8-sig")

    def write(self, text: str) -> Path | None:
        """Have it say `text`, for its owner alone; where what it said before is kept.

        Raises `Failure` where its owner may not write it, or somebody else did meanwhile.
        """
        make_private(self.path.parent)
        if self.path.exists() and not self.path.stat().st_mode & stat.S_IWUSR:
            raise Failure(f"{self.path} is marked read-only; nothing was written")
        there = self.path.read_bytes() if self.path.exists() else None
        if there != self.held:
            raise Failure(f"{self.path} was changed meanwhile; nothing was written")
        backup = None
        if there is not None:
            backup = self.path.with_name(f"{self.path.name}.bak")
            replace(backup, there)
        replace(self.path, text.encode())
        return backup


def _show(read: Configuration, file: File, after: str, changes: Changes) -> None:
    """What will be written, without secrets: all of a new file, what differs of another."""
    secrets = [*_secrets(read), *secrets_of(list(changes.agents))]
    # A key that was typed is hidden however short it is.
    secrets += [
        record["config"]["apiKey"]
        for record in changes.agents
        if isinstance(record.get("config", {}).get("apiKey"), str)
    ]
    remark(f"\n{read.file}")
    for line in _difference(scrub(file.text, secrets), scrub(after, secrets)):
        remark(f"  {line}")
    remark("")


def _difference(before: str, after: str) -> Iterator[str]:
    if not before:
        yield from after.splitlines()
        return
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), lineterm="", n=_CONTEXT_LINES
    )
    for line in lines:
        if not line.startswith(("---", "+++")):
            yield "..." if line.startswith("@@") else line


def _secrets(read: Configuration) -> list[str]:
    held = [read.get(option.name) for option in OPTIONS if option.secret]
    found = [text for text in held if text]
    for option in OPTIONS:
        if isinstance(option.kind, Structured):
            found += option.kind.secrets(read.get(option.name))
    return found


def _say_next(backup: Path | None) -> None:
    if backup is not None:
        remark(f"what it said before is in {backup}")
    runs = background.find(state_directory(os.environ)).running
    remark(f"next: ahpd doctor, then {'ahpd restart' if runs else 'ahpd start'}")
