"""`ahpd vault`: the secrets this host keeps, by name; no value is ever printed."""

import os
import sys

import click

from ahpd.cli.output import EXIT_USAGE, Failure, answer
from ahpd.cli.params import json_flag, refuse_host_flags
from ahpd.config.places import config_directory
from ahpd.interfaces.vault import SecretFailure
from ahpd.vault.files import VaultFile
from ahpd.vault.names import parse

_FILE = "vault.json"


@click.group(no_args_is_help=False)
def vault() -> None:
    """Keep secrets that options and agents name."""


@vault.command("set", short_help="Keep a secret.")
@click.argument("name")
@json_flag
@click.pass_context
def set_command(context: click.Context, name: str) -> None:
    """Keep a secret under NAME, in place of what was there.

    NAME is host:NAME, team:TEAM/NAME or user:ID/NAME. At a terminal the value is asked for and not
    shown; else it is read from standard input, without the newline at its end. It is never taken
    from the command line, where other programs see it.
    """
    refuse_host_flags(context)
    _check(name)
    value = _value(name)
    if not value:
        raise Failure("there is nothing to keep: the value is empty", EXIT_USAGE)
    try:
        _file().set(name, value)
    except SecretFailure as failure:
        raise Failure(str(failure)) from None
    answer(context, f"kept {name}", {"name": name})


@vault.command("delete", short_help="Forget a secret.")
@click.argument("name")
@json_flag
@click.pass_context
def delete_command(context: click.Context, name: str) -> None:
    """Forget the secret under NAME. The exit status is 1 where there is none."""
    refuse_host_flags(context)
    _check(name)
    try:
        there = _file().delete(name)
    except SecretFailure as failure:
        raise Failure(str(failure)) from None
    if not there:
        raise Failure(f"the vault holds no {name}")
    answer(context, f"forgot {name}", {"name": name})


@vault.command("list", short_help="Print the names of the secrets.")
@json_flag
@click.pass_context
def list_command(context: click.Context) -> None:
    """Print the names of the secrets, one a line."""
    refuse_host_flags(context)
    try:
        names = list(_file().list())
    except SecretFailure as failure:
        raise Failure(str(failure)) from None
    answer(context, "\n".join(names) or "the vault is empty", names)


def _file() -> VaultFile:
    return VaultFile(config_directory(os.environ) / _FILE)


def _check(name: str) -> None:
    try:
        parse(name)
    except SecretFailure as failure:
        raise Failure(str(failure), EXIT_USAGE) from None


def _value(name: str) -> str:
    if sys.stdin is not None and sys.stdin.isatty():
        value: str = click.prompt(f"Value of {name}", hide_input=True, err=True)
        return value
    try:
        text = (sys.stdin.buffer.read() if sys.stdin is not None else b"").decode()
    except UnicodeDecodeError:
        raise Failure("what is on standard input is no UTF-8 text", EXIT_USAGE) from None
    return text.removesuffix("\n").removesuffix("\r")
