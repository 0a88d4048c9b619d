"""What a command says: words for a person, or with `--json` one JSON value on standard output.

Exit statuses: 0 done, 1 not done, 2 the command line or the configuration is wrong.
"""

import contextlib
import json
import sys
from typing import Any, Final

import click

EXIT_FAILED: Final = 1
EXIT_USAGE: Final = 2

_JSON: Final = "ahpd.json"


class Failure(Exception):
    """A command could not do what it was asked; `str()` is one line of words."""

    def __init__(self, words: str, status: int = EXIT_FAILED) -> None:
        super().__init__(words)
        self.status = status


def wants_json(context: click.Context) -> bool:
    """Whether `--json` was given, before the command's name or after it."""
    return bool(context.meta.get(_JSON, False))


def want_json(context: click.Context) -> None:
    """Note that `--json` was given."""
    context.meta[_JSON] = True


def answer(context: click.Context, words: str, value: Any) -> None:
    """Say the result of a command: `words`, or with `--json` the value alone."""
    click.echo(json.dumps(value, ensure_ascii=False) if wants_json(context) else words)


def remark(words: str) -> None:
    """Say something beside the result, on standard error."""
    click.echo(words, err=True)


def failed(words: str, *, as_json: bool) -> None:
    """Say why a command failed."""
    if as_json:
        # Standard output may be what failed: a full disk, a reader that is gone.
        with contextlib.suppress(OSError):
            click.echo(json.dumps({"error": words}, ensure_ascii=False))
    click.echo(f"ahpd: {words}", err=True)
    sys.stderr.flush()
