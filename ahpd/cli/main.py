"""The `ahpd` command. Nothing here imports Twisted before a host is to run."""

import gc
import sys
from collections.abc import Sequence
from typing import Any

import click

import ahpd
from ahpd.cli.background import restart, start, status, stop
from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE, Failure, answer, failed
from ahpd.cli.params import configuration, host_flags, json_flag, launch
from ahpd.cli.show import completion, config
from ahpd.config.errors import ConfigError
from ahpd.daemon.words import failure_words


class LazyCommand(click.Command):
    """A command whose module is imported when it is used, not to name it in a list."""

    def __init__(self, name: str, module: str, short_help: str) -> None:
        super().__init__(name, short_help=short_help, help=short_help)
        self._module = module

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """The context of the command itself."""
        import importlib

        command: click.Command = getattr(importlib.import_module(self._module), str(self.name))
        return command.make_context(*args, **kwargs)


@click.group(
    invoke_without_command=True,
    context_settings={"max_content_width": 100, "help_option_names": ["-h", "--help"]},
)
@host_flags
@json_flag
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def root(context: click.Context, version: bool) -> int | None:
    """Host coding agents on this machine and serve them over the Agent Host Protocol.

    Without a command ahpd runs in the foreground until Ctrl-C. Each option is a key of the
    configuration file too; a flag wins over the file.

    The exit status is 0 when it is done, 1 when it could not be, and 2 when the command line or
    the configuration is wrong.
    """
    if version:
        answer(context, f"ahpd {ahpd.__version__}", {"version": ahpd.__version__})
        context.exit()
    if context.invoked_subcommand is not None:
        return None
    # What is imported now stays for good, and a collection in the middle of it finds
    # nothing; `Lifecycle` turns the collector on again once the host is ready.
    gc.disable()
    from ahpd.cli.foreground import run

    return run(context, configuration(launch(context)))


for _command in (start, stop, restart, status, config, completion):
    root.add_command(_command)
root.add_command(
    LazyCommand("sessions", "ahpd.cli.sessions", "Move sessions between hosts, as JSON lines.")
)
root.add_command(LazyCommand("plugin", "ahpd.cli.plugin", "List, install and configure plugins."))
root.add_command(LazyCommand("vault", "ahpd.cli.vault", "Keep secrets that options name."))
root.add_command(
    LazyCommand("configure", "ahpd.cli.configure", "Choose agents and write the configuration.")
)
root.add_command(
    LazyCommand("doctor", "ahpd.cli.doctor", "Check the configuration and every agent.")
)
root.add_command(
    LazyCommand("demo", "ahpd.cli.demo", "Run a host and a client, and show a turn between them.")
)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command and exit with its status; what went wrong is one line, never a stack."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    as_json = "--json" in given
    try:
        result = root.main(given, prog_name="ahpd", standalone_mode=False)
        code = result if isinstance(result, int) else 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "ahpd"
        words = " ".join(error.format_message().split())
        failed(f"{words} (see {command} --help)", as_json=as_json)
        code = EXIT_USAGE
    except click.ClickException as error:
        failed(error.format_message(), as_json=as_json)
        code = error.exit_code
    except ConfigError as error:
        failed(str(error), as_json=as_json)
        code = EXIT_USAGE
    except Failure as error:
        failed(str(error), as_json=as_json)
        code = error.status
    except (click.Abort, KeyboardInterrupt):
        code = 130
    except BrokenPipeError:  # whoever read this left
        code = EXIT_FAILED
    except OSError as error:
        failed(failure_words(error), as_json=as_json)
        code = EXIT_FAILED
    _let_go_of_output()
    sys.exit(code)


def _let_go_of_output() -> None:
    """What cannot be written was said; the interpreter would say so once more at its end."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        sys.stdout = None
