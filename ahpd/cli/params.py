"""The parameters commands share: `--json`, and the flags of every option.

What is given before a command's name counts as if it was given after it.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ahpd.cli.output import Failure, want_json
from ahpd.config import flags, load
from ahpd.config.kinds import Switch
from ahpd.config.options import Option
from ahpd.config.settings import FLAGGED
from ahpd.daemon.record import Launch
from ahpd.daemon.words import working_directory_words

_RAW: Final = "ahpd.flags"
_FILE: Final = "ahpd.configFile"

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_flag(function: Decorated) -> Decorated:
    """Add `--json`."""

    def noted(context: click.Context, parameter: click.Parameter, value: bool) -> None:
        if value:
            want_json(context)

    return click.option(
        "--json",
        is_flag=True,
        expose_value=False,
        callback=noted,
        help="Answer with one JSON value on standard output.",
    )(function)


def host_flags(function: Decorated) -> Decorated:
    """Add a flag for every option that has one, and `--config-file`."""
    return option_flags(*(option.name for option in FLAGGED))(function)


def option_flags(*names: str) -> Callable[[Decorated], Decorated]:
    """Add the flags of the options with these names, and `--config-file`."""

    def decorate(function: Decorated) -> Decorated:
        function = _config_file_flag(function)
        for option in reversed(FLAGGED):
            if option.name in names:
                function = _host_flag(option)(function)
        return function

    return decorate


def _config_file_flag(function: Decorated) -> Decorated:
    def noted(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            given = Path(value)
            context.meta[_FILE] = value if given.is_absolute() else str(_here() / given)

    return click.option(
        "--config-file",
        metavar="FILE",
        expose_value=False,
        callback=noted,
        help="Read this file in place of the one in the configuration directory.",
    )(function)


def _host_flag(option: Option) -> Callable[[Decorated], Decorated]:
    def noted(context: click.Context, parameter: click.Parameter, value: Any) -> None:
        raw = context.meta.setdefault(_RAW, {})
        for given in value if isinstance(value, tuple) else (value,):
            if given is not None:
                flags.add(raw, option, given)

    words = f"{option.help}  [default: {option.default_words}]"
    if isinstance(option.kind, Switch):
        return click.option(
            f"--{option.flag}/--{option.kind.negative}",
            default=None,
            expose_value=False,
            callback=noted,
            help=words,
        )
    names = [f"--{option.flag}"] + ([f"--{option.singular}"] if option.singular else [])
    return click.option(
        *names,
        option.name,
        metavar=option.kind.metavar,
        multiple=option.many,
        expose_value=False,
        callback=noted,
        help=words + ("  May be given more than once." if option.many else ""),
    )


def launch(context: click.Context) -> Launch:
    """The flags that were given and where."""
    return Launch(
        flags=dict(context.meta.get(_RAW, {})),
        config_file=context.meta.get(_FILE),
        directory=str(_here()),
    )


def _here() -> Path:
    try:
        return Path.cwd()
    except OSError as error:
        raise Failure(working_directory_words(error)) from None


def configuration(asked: Launch) -> load.Configuration:
    """The configuration for a launch. Raises `ConfigError`."""
    directory = Path(asked.directory)
    return load.load(
        flags.values(asked.flags, directory),
        config_file=Path(asked.config_file) if asked.config_file else None,
        environ=os.environ,
        directory=directory,
    )


def refuse_host_flags(context: click.Context) -> None:
    """A command that reads no configuration takes no flags for it."""
    if context.meta.get(_RAW) or context.meta.get(_FILE):
        raise click.UsageError(
            f"{context.info_name} takes no flags for the host; give them to ahpd or ahpd start",
            context,
        )
