"""`ahpd config` and `ahpd completion`: what only looks."""

import json
import os
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from ahpd.cli.output import answer, remark
from ahpd.cli.params import configuration, host_flags, json_flag, launch, refuse_host_flags
from ahpd.config.load import Configuration, Source
from ahpd.config.options import Option
from ahpd.config.places import state_directory
from ahpd.config.settings import OPTIONS


@click.command()
@host_flags
@json_flag
@click.pass_context
def config(context: click.Context) -> None:
    """Show the configuration and who said what of it.

    Where the file is, and each value in force: a default, the file's or a flag's. Given flags are taken as a start would take them. A secret is shown as <set>.
    """
    read = configuration(launch(context))
    state = state_directory(os.environ)
    values = {option.key: _shown(read, option) for option in OPTIONS}
    for words in read.warnings:
        remark(f"ahpd: warning: {words}")
    answer(
        context,
        _table(read, state, values),
        {
            "file": str(read.file),
            "found": read.found,
            "stateDirectory": str(state),
            "values": values,
            "warnings": list(read.warnings),
        },
    )


def _shown(read: Configuration, option: Option) -> dict[str, Any]:
    chosen = read.values[option.name]
    value = chosen.value
    if option.name == "connection_token_file":
        value = read.token_file
    return {"value": option.shown(value), "source": str(chosen.source)}


def _table(read: Configuration, state: Path, values: dict[str, dict[str, Any]]) -> str:
    there = "" if read.found else " (not there)"
    lines = [f"configuration  {read.file}{there}", f"state          {state}", ""]
    rows = [(key, _words(shown["value"]), shown["source"]) for key, shown in values.items()]
    wide = max(len(row[0]) for row in rows)
    for key, words, source in rows:
        mark = "" if source == Source.DEFAULT else f"  [{source}]"
        lines.append(f"{key:<{wide}}  {words}{mark}")
    lines += ["", "What is not marked is a default."]
    return "\n".join(lines)


def _words(value: Any) -> str:
    match value:
        case None | []:
            return "-"
        case dict() if not value:
            return "-"
        case bool():
            return "true" if value else "false"
        case list():
            return ", ".join(_item(item) for item in value)
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _item(item: str | dict[str, Any]) -> str:
    """An item of a list in a few words; `--json` has the whole of it."""
    if isinstance(item, str):
        return item
    if "source" in item:
        return f"{item['source']}{'' if item.get('enabled', True) else ' (disabled)'}"
    return _agent(item)


def _agent(record: dict[str, Any]) -> str:
    mode = "" if record["mode"] == "enabled" else f", {record['mode']}"
    return f"{record['id']} ({record['engine']}{mode})"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@json_flag
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell.

    \b
    bash: add to ~/.bashrc    eval "$(ahpd completion bash)"
    zsh:  add to ~/.zshrc     eval "$(ahpd completion zsh)"
    fish: ahpd completion fish > ~/.config/fish/completions/ahpd.fish
    """
    refuse_host_flags(context)
    kind = get_completion_class(shell)
    assert kind is not None, "click completes each of the shells the argument allows"
    script = kind(context.find_root().command, {}, "ahpd", "_AHPD_COMPLETE").source()
    answer(context, script, {"shell": shell, "script": script})
