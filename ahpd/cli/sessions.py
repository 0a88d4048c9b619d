"""`ahpd sessions`: moves sessions between hosts as JSON lines.

Both ways work on the files of a host that is stopped; a running one has them locked, and is
named.
"""

import contextlib
import json
import os
import secrets
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Final

import click

from ahpd.attachments.names import folder_name
from ahpd.attachments.shared import SharedFiles
from ahpd.cli.output import Failure, remark, wants_json
from ahpd.cli.params import configuration, json_flag, launch, option_flags
from ahpd.config.load import Configuration
from ahpd.interfaces.stores import ISessionStore, SessionRow, StoreFailure
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.stores.transfer import Place, TransferError, export_lines, import_lines

_STANDARD: Final = "-"
#: Sessions between two words of progress.
_EACH: Final = 100


@click.group(no_args_is_help=False)
def sessions() -> None:
    """Move sessions between hosts, as JSON lines."""


@sessions.command("export", short_help="Write sessions to a file, or to standard output.")
@click.argument("file", default=_STANDARD)
@click.option(
    "--session",
    "wanted",
    metavar="ID",
    multiple=True,
    help="Write this session alone, by its URI or its id.  May be given more than once.",
)
@option_flags("data_directory")
@json_flag
@click.pass_context
def export_command(context: click.Context, file: str, wanted: tuple[str, ...]) -> None:
    """Write sessions and their attachments to FILE, or to standard output.

    The host that keeps them must be stopped. A FILE that is there is replaced, and only by a
    whole export.
    """
    folder = _folder(configuration(launch(context)))
    store = SqliteSessionStore(folder)
    if not store.path.exists():
        raise Failure(f"{store.path}: there are no sessions to export")
    with _opened(store):
        rows = _wanted(store.sessions(), wanted)
        lines = export_lines(
            store, _place(folder), rows, lambda done: _progress("exported", done, len(rows))
        )
        _write(file, lines)
    remark(f"exported {_counted(len(rows))}")
    if file != _STANDARD:  # there the sessions are the answer
        _answer(context, {"exported": len(rows)})


@sessions.command("import", short_help="Read sessions from a file, or from standard input.")
@click.argument("file")
@click.option(
    "--skip-existing",
    is_flag=True,
    help="Leave sessions that are here already as they are, in place of importing nothing.",
)
@option_flags("data_directory")
@json_flag
@click.pass_context
def import_command(context: click.Context, file: str, skip_existing: bool) -> None:
    """Read sessions and their attachments from FILE, or from standard input where it is "-".

    The host that will keep them must be stopped. Either all of FILE is imported, or nothing.
    """
    folder = _folder(configuration(launch(context)))
    with _reading(file) as lines, _opened(SqliteSessionStore(folder)) as store:
        try:
            done = import_lines(
                store,
                _place(folder),
                lines,
                skip_existing=skip_existing,
                progress=lambda count: _progress("read", count),
            )
        except TransferError as failure:
            source = "standard input" if file == _STANDARD else file
            raise Failure(f"{source}: {failure}") from None
    skipped = f", left {done.skipped} as they were" if done.skipped else ""
    remark(f"imported {_counted(done.sessions)}{skipped}")
    _answer(context, {"imported": done.sessions, "skipped": done.skipped})


def _answer(context: click.Context, value: dict[str, int]) -> None:
    if wants_json(context):
        click.echo(json.dumps(value))


def _folder(read: Configuration) -> Path:
    if read.get("sessions") == "memory":
        raise Failure(
            f"{read.place('sessions')}: sessions are kept in memory, where no other program "
            "reaches them"
        )
    folder: Path = read.get("data_directory")
    return folder


def _place(folder: Path) -> Place:
    root = folder / "attachments"
    shared = SharedFiles(root)
    return Place(
        root=root,
        folder_of=lambda session: root / folder_name(session),
        shared_of=lambda session: shared.of(folder_name(session)),
        share=lambda told: shared.put({folder_name(name): told[name] for name in told}),
    )


@contextlib.contextmanager
def _opened(store: ISessionStore) -> Iterator[ISessionStore]:
    """The store, open; what goes wrong with it is said in its words."""
    try:
        store.open()
        try:
            yield store
        finally:
            store.close()
    except (StoreFailure, TransferError) as failure:
        raise Failure(str(failure)) from None


def _wanted(rows: Iterable[SessionRow], names: tuple[str, ...]) -> list[SessionRow]:
    kept = [row for row in rows if row.id]  # the rest is of no session
    if not names:
        return kept
    known = {name for row in kept for name in (row.id, row.uri)}
    for name in names:
        if name not in known:
            raise Failure(f"there is no session {name}")
    return [row for row in kept if row.id in names or row.uri in names]


def _write(file: str, lines: Iterable[bytes]) -> None:
    if file == _STANDARD:
        for line in lines:
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # What people said is nobody else's to read.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None
    try:
        with os.fdopen(descriptor, "wb") as output:
            output.writelines(lines)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def _reading(file: str) -> Iterator[IO[bytes]]:
    if file == _STANDARD:
        yield sys.stdin.buffer
        return
    with Path(file).open("rb") as lines:
        yield lines


def _progress(word: str, done: int, of: int | None = None) -> None:
    if done % _EACH == 0 and done != of:
        remark(f"{word} {done}{f' of {of}' if of is not None else ''} ...")


def _counted(count: int) -> str:
    return "1 session" if count == 1 else f"{count} sessions"
