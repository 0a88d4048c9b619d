"""`ahpd plugin`: which plugins the configuration names, and changes to that.

Where a daemon runs with the configuration file, it is asked, and applies a change at once; else
the command does the work, and the next start applies it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE, Failure, answer, remark, wants_json
from ahpd.cli.params import json_flag, option_flags
from ahpd.cli.plugin_words import (
    moved_words,
    option_lines,
    seen,
    to_set,
    unknown_words,
    value_words,
    would_be_skipped,
)
from ahpd.cli.plugins_here import daemon, failed, finished, read, updated
from ahpd.daemon.record import Record
from ahpd.plugins.at_rest import PluginsAtRest
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.sources import wanted_of

T = TypeVar("T")

_NEXT_START: Final = "it applies at the next start"
_FLAGS: Final = ("plugin", "no_plugins", "plugin_option")


@click.group(no_args_is_help=False)
def plugin() -> None:
    """List, install and configure plugins."""


@plugin.command("list", short_help="Say what the configuration names and what a run would load.")
@option_flags(*_FLAGS)
@json_flag
@click.pass_context
def list_command(context: click.Context) -> None:
    """Say what the configuration names and what a run would load.

    Nothing is imported and nothing is run. A line is a state, the plugin's id, what names it, and
    where it is: ready, incompatible, unconfigured, disabled, missing or error. Where a daemon runs,
    its --plugin flags count, and a line says which plugin it could not load, and why.
    """
    held = daemon(context)
    here = read(context, held)
    for words in here.warnings():
        remark(f"ahpd: warning: {words}")
    told = None if held is None else _told(held)
    listed = here.rows({row["spec"]: row["id"] for row in told or ()})
    for words in unknown_words(listed):
        remark(f"ahpd: warning: {words}")
    rows = seen(listed, told)
    lines = [row.line for row in rows] or ["no plugins are configured"]
    answer(context, "\n".join(lines), [row.row() for row in rows])


def _told(held: Record) -> list[dict[str, Any]] | None:
    from ahpd.cli.asked_daemon import plugin_rows

    return plugin_rows(held)


# -- installing -----------------------------------------------------------------------


@plugin.command(short_help="Install a plugin and list it.")
@click.argument("source")
@option_flags()
@json_flag
@click.pass_context
def install(context: click.Context, source: str) -> int:
    """Install a plugin and list it.

    SOURCE is the name of a distribution, with a version or without, a folder with a pyproject.toml,
    a wheel or an sdist, git+https: or git+ssh: and a repository, github:OWNER/REPOSITORY, or the
    https: URL of an archive. It goes into the plugin root beside the configuration, never into the
    environment ahpd runs in. The exit status is 1 where it is installed, and cannot be loaded.
    """
    base = Path.cwd()
    held = daemon(context)
    if held is not None:
        wanted = _or_failed(lambda: wanted_of(source, base))
        said = _ask(context, "install", {"source": wanted.text})
        ids = said.get("ids", [said["id"]])
        status = _say(context, f"installed {' and '.join(ids)}", said)
        _left_to_set(context, ids)
        return status
    installed, listed = finished(read(context).install(source, base))
    words = f"installed {installed.distribution} {installed.version}"
    problems = would_be_skipped(read(context).rows(), [installed.distribution])
    said = {
        "distribution": installed.distribution,
        "version": installed.version,
        "ids": list(installed.ids),
        "listed": listed,
        **({"problems": problems} if problems else {}),
    }
    status = _say(context, words if listed else f"{words}; it is listed already", said)
    if not problems:
        remark(_NEXT_START)
    _left_to_set(context, installed.ids)
    return status


@plugin.command(short_help="Take a plugin out of the list and uninstall it.")
@click.argument("name")
@click.option("--keep", is_flag=True, help="Leave what is installed where it is.")
@option_flags()
@json_flag
@click.pass_context
def remove(context: click.Context, name: str, keep: bool) -> None:
    """Take a plugin out of the list and uninstall it.

    NAME is its id, or its source as the configuration has it. A plugin that was written in a client
    is deleted. What another plugin of the list is of too, or ahpd's own environment has, stays.
    """
    if daemon(context) is not None:
        said = _ask(context, "remove", {"id": name, "keep": keep})
        _say(context, f"removed {said['id']}", said)
        return
    here = read(context)
    gone, stays = finished(here.remove(name, keep=keep))
    kept = {"kept": stays} if stays else {}
    _done(context, f"removed {name}", {"id": name, "uninstalled": gone, **kept})
    _remarks(kept)


@plugin.command(short_help="Move plugins to their newest versions.")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@option_flags()
@json_flag
@click.pass_context
def update(context: click.Context, names: tuple[str, ...]) -> int:
    """Move plugins to the newest versions that this ahpd can run, and load them again.

    Without a NAME every one that `ahpd plugin install` installed. One that came from an address or
    a folder is fetched from there again. The exit status is 1 where one cannot be updated, or not
    be loaded then; the others are.
    """
    here = read(context)
    wanted = names or tuple(here.updatable())
    held = daemon(context)
    if held is not None and wanted:
        from ahpd.cli.asked_daemon import ask_each

        requests = [("x-ahpd/plugins/update", {"id": name}) for name in wanted]
        came = ask_each(held, requests)
    else:
        came = [updated(context, here, name) for name in wanted]
    if len(names) == 1 and isinstance(came[0], Failure):
        raise came[0]
    rows = [
        {"id": name, "error": str(said)} if isinstance(said, Failure) else said
        for name, said in zip(wanted, came, strict=True)
    ]
    answer(context, "\n".join(map(moved_words, rows)) or "no plugins to update", rows)
    if held is None and any("to" in row for row in rows):
        remark(_NEXT_START)
    failed_ones = EXIT_FAILED if any("error" in row for row in rows) else 0
    return max((_remarks(said) for said in rows), default=0) or failed_ones


# -- switches and options -----------------------------------------------------------------


@plugin.command(short_help="Turn a plugin on.")
@click.argument("name")
@option_flags()
@json_flag
@click.pass_context
def enable(context: click.Context, name: str) -> int:
    """Turn a plugin on, with the options it has.

    The exit status is 1 where a daemon runs and cannot load it.
    """
    return _switch(context, name, True)


@plugin.command(short_help="Turn a plugin off, and keep its options.")
@click.argument("name")
@option_flags()
@json_flag
@click.pass_context
def disable(context: click.Context, name: str) -> None:
    """Turn a plugin off; its entry and its options stay."""
    _switch(context, name, False)


def _switch(context: click.Context, name: str, enabled: bool) -> int:
    words = f"{'enabled' if enabled else 'disabled'} {name}"
    if daemon(context) is not None:
        said = _ask(context, "enable" if enabled else "disable", {"id": name})
        return _say(context, words, said)
    here = read(context)
    changed = _or_failed(lambda: here.switch(name, enabled))
    if not changed:
        answer(
            context,
            f"{name} is {words.split(maxsplit=1)[0]} already",
            {"id": name, "changed": False},
        )
        return 0
    _done(context, words, {"id": name, "changed": True})
    return 0


@plugin.command(short_help="Show or change the options of a plugin.")
@click.argument("name")
@click.argument("key", required=False)
@click.argument("value", required=False)
@click.option("--unset", is_flag=True, help="Take the option out of the configuration.")
@option_flags(*_FLAGS)
@json_flag
@click.pass_context
def config(
    context: click.Context, name: str, key: str | None, value: str | None, unset: bool
) -> int:
    """Show the options of a plugin, those that are not set too, or change one.

    VALUE is JSON where it can be read as JSON, and text else, and where the plugin's schema takes
    the text alone. What the plugin's schema marks as a
    secret is shown as <set>; {"$secret": "host:NAME"} names one of the vault's in place of
    writing it into the configuration. The exit status is 1 where a daemon runs and cannot load the
    plugin with it.
    """
    if unset and (key is None or value is not None):
        raise click.UsageError("--unset takes the option's name, and no value", context)
    held = daemon(context)
    here = read(context, held)
    if value is None and not unset:
        _show_options(context, here, name, key)
        return 0
    assert key is not None, "a value stands behind a key"
    if value is not None:
        _warn_of_unknown(here, name, key)
    said = None if value is None else _or_failed(lambda: here.meant(name, key, value))
    words = f"{name}: {key} is {'set' if said is not None else 'taken out'}"
    if held is not None:
        params = {"id": name, "key": key, **({} if said is None else {"value": said})}
        return _say(context, words, _ask(context, "options", params))
    changed = _or_failed(lambda: here.set_option(name, key, said))
    if not changed:
        answer(context, f"{name}: {key} is that already", {"id": name, "changed": False})
        return 0
    _done(context, words, {"id": name, "changed": True})
    return 0


def _show_options(context: click.Context, here: PluginsAtRest, name: str, key: str | None) -> None:
    options = _or_failed(lambda: here.shown(name))
    if key is None:
        lines = option_lines(options, here.schema(name))
        answer(context, "\n".join(lines) or f"{name} has no options set", options)
        return
    if key not in options:
        raise Failure(f"{name}: {key} is not set")
    answer(context, value_words(options[key]), options[key])


def _warn_of_unknown(here: PluginsAtRest, name: str, key: str) -> None:
    if _or_failed(lambda: here.unknown(name, key)):
        known = ", ".join((here.schema(name) or {}).get("properties", {})) or "none"
        remark(f"ahpd: warning: {key} is not an option {name} knows; it has {known}")


def _left_to_set(context: click.Context, plugins: Sequence[str]) -> None:
    """Say of what was just installed which option it waits for."""
    for row in read(context).rows():
        command = to_set(row) if row.id in plugins else None
        if command is not None:
            remark(f"{row.id} needs an option: {command}")


# -- while a daemon runs --------------------------------------------------------------------


@plugin.command(short_help="Have the daemon load what the file says now.")
@option_flags()
@json_flag
@click.pass_context
def apply(context: click.Context) -> int:
    """Have the daemon load, unload and configure plugins as the file says now.

    The exit status is 1 where it cannot load one of them.
    """
    _needs_daemon(context)
    status = _say(context, "applied", _ask(context, "apply", {}))
    for words in unknown_words(read(context, daemon(context)).rows()):
        remark(f"ahpd: warning: {words}")
    return status


@plugin.command(short_help="Load a plugin's code again.")
@click.argument("name")
@option_flags()
@json_flag
@click.pass_context
def reload(context: click.Context, name: str) -> int:
    """Close a plugin and load its code as it is on disk now.

    One whose manifest cannot be read runs on as it was; one that fails to load is not loaded any
    more. The exit status is 1 then.
    """
    _needs_daemon(context)
    here = read(context, daemon(context))
    if name not in [each for row in here.rows() for each in (row.id, row.entry.source)]:
        return _reload_unlisted(context, here, name)
    return _reloaded(context, name, _ask(context, "reload", {"id": name}))


def _reload_unlisted(context: click.Context, here: PluginsAtRest, name: str) -> int:
    """Reload what the list does not call so: a daemon may, and else a package may be meant."""
    from ahpd.cli.asked_daemon import ask_of_its_own

    if here.installer.is_installed(name):
        said = _ask(context, "reload", {"id": name})
        words = f"{name} is no plugin of the list: what plugins use is loaded anew by: ahpd restart"
        answer(context, words, said)
        return 0
    held, params = daemon(context), {"id": name}
    told = None if held is None else ask_of_its_own(held, "x-ahpd/plugins/reload", params, name)
    if told is None or told == {**params, "restart": True}:
        raise Failure(f"there is no plugin {name}", EXIT_USAGE)
    return _reloaded(context, name, told)


def _reloaded(context: click.Context, name: str, said: dict[str, Any]) -> int:
    if said.get("problems") or said.get("restart"):
        words = f"{name} is not reloaded"
    elif said["id"] != name:
        words = f"reloaded {name}, which is {said['id']} now"
    else:
        words = f"reloaded {name}"
    return _say(context, words, said)


def _needs_daemon(context: click.Context) -> None:
    if daemon(context) is None:
        raise Failure("no daemon runs with this configuration; the next start reads it anyway")


def _ask(context: click.Context, command: str, params: dict[str, Any]) -> dict[str, Any]:
    # Twisted's reactor and the client: for those who have a daemon to talk to.
    from ahpd.cli.asked_daemon import ask

    held = daemon(context)
    if held is None:
        raise Failure("the daemon is gone")
    return ask(held, f"x-ahpd/plugins/{command}", params)


def _say(context: click.Context, words: str, said: dict[str, Any]) -> int:
    """What the daemon answered; the exit status."""
    answer(context, words, said)
    return _remarks(said)


def _remarks(said: dict[str, Any]) -> int:
    problems = said.get("problems", ())
    for line in problems:
        remark(f"ahpd: {line}")
    for key in ("runsOn", "kept"):
        if key in said:
            remark(said[key])
    for line in said.get("leftOut", ()):
        remark(f"ahpd: warning: {line}")
    if said.get("restart"):
        waiting = ", ".join(said.get("waiting", ())) or said.get("id", "it")
        remark(f"{waiting} waits for the daemon's next start: ahpd restart")
    return EXIT_FAILED if problems else 0


def _done(context: click.Context, words: str, value: dict[str, Any]) -> None:
    answer(context, words, value)
    if not wants_json(context):
        remark(_NEXT_START)


# -- refusals ------------------------------------------------------------------------------


def _or_failed(work: Callable[[], T]) -> T:
    try:
        return work()
    except InstallFailure as failure:
        raise failed(failure) from None
