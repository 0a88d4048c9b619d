"""`ahpd demo`: a host, a client, a turn, and a connection that breaks in the middle of it."""

import io
import json
import signal
import sys
import uuid
from typing import Any, Final

import click
from twisted.internet.defer import CancelledError, Deferred

from ahpd.cli.demo_host import DemoHost, DemoPlace, HostFailure
from ahpd.cli.demo_steps import StepFailure, Steps
from ahpd.cli.output import EXIT_FAILED
from ahpd.cli.params import json_flag, refuse_host_flags
from ahpd.cli.render import Page
from ahpd.client import ActionRefused, Client, ConnectionGone, RpcError
from ahpd.daemon.words import failure_words
from ahpd.transports.websocket_client import ConnectError, connect

_LOG_LINES: Final = 30
#: What goes wrong in words of its own; anything else is named by its class.
_EXPECTED: Final = (
    StepFailure,
    HostFailure,
    ConnectError,
    RpcError,
    ActionRefused,
    ConnectionGone,
    TimeoutError,
)
#: What a shell says of a command a signal ended.
_SIGNALLED: Final = 128


@click.command()
@json_flag
@click.option(
    "--once", is_flag=True, help="End when the turn is shown, with status 1 if a step went wrong."
)
@click.pass_context
def demo(context: click.Context, once: bool) -> int:
    """Run a host and a client, and show a turn between them.

    A host is started on a free port with a configuration, a token and a workspace of its
    own. A client connects to it, has the demo agent run a turn, loses the connection in
    the middle of it, and comes back. The host then stays up to be tried, until Ctrl-C.
    """
    refuse_host_flags(context)
    from twisted.internet import reactor

    from ahpd.cli.output import wants_json

    as_json = wants_json(context)
    run = Demo(reactor, once=once, as_json=as_json)
    return run.run()


class Demo:
    """One run, from an empty directory to none. `reactor` is run by it."""

    def __init__(self, reactor: Any, *, once: bool, as_json: bool) -> None:
        self._reactor = reactor
        self._once = once
        self._as_json = as_json
        self._page = Page(io.StringIO() if as_json else sys.stdout)
        self._place = DemoPlace()
        self._host = DemoHost(reactor, self._place)
        self._steps = Steps(
            reactor,
            self._page,
            self._host,
            self._place,
            self._connect,
            lambda: str(uuid.uuid4()),
        )
        self._work: Deferred[int] | None = None
        self._signal: int | None = None
        self._shown = False
        self._status = EXIT_FAILED

    async def _connect(self, url: str, client: Client, token: str) -> None:
        await connect(self._reactor, url, client, token=token)

    def run(self) -> int:
        """Run the reactor until all is done and gone; the exit status."""
        try:
            self._reactor.callWhenRunning(self._begin)
            self._reactor.run()
        finally:
            self._host.kill()
            self._place.remove()
        return self._status

    def _begin(self) -> None:
        # After the reactor installed its own, which would stop it before the host is down.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._signalled)
        self._work = Deferred.fromCoroutine(self._show())
        Deferred.fromCoroutine(self._finish(self._work)).addBoth(lambda _: self._reactor.stop())

    def _signalled(self, number: int, _: Any) -> None:
        self._reactor.callFromThread(self._interrupt, number)

    def _interrupt(self, number: int) -> None:
        if self._signal is not None:
            self._host.kill()  # asked twice: not politely any more
            return
        self._signal = number
        assert self._work is not None
        self._work.cancel()

    # -- what is shown ------------------------------------------------------------------

    async def _show(self) -> int:
        page = self._page
        page.title("ahpd demo: a host, a client, a turn, and a connection that breaks")
        await self._steps.run()
        self._shown = True
        page.line()
        page.line("Everything went as it should.", "good")
        if self._as_json:
            self._print_json(None)
        if self._once:
            return 0
        self._say_how_to_connect()
        ended = await self._host.when_ended()
        raise HostFailure(f"the host {ended}, and nobody asked it to")

    def _say_how_to_connect(self) -> None:
        page, place, url = self._page, self._place, self._host.url
        address = url.removeprefix("ws://")
        # The settings are there to be pasted, so they hold the token where a person looks
        # on, and only there: a log or a pipe gets the file's name.
        token = place.token() if page.is_terminal else f"<what {place.token_file} says>"
        settings = {
            "chat.remoteAgentHostsEnabled": True,
            "chat.remoteAgentHosts": [
                {"address": address, "name": "ahpd demo", "connectionToken": token}
            ],
        }
        page.line()
        page.title("The host stays up. Connect to it:")
        page.line(f"   address     {url}")
        page.line(f"   token file  {place.token_file}")
        page.line("   VS Code     put this into settings.json:")
        page.line()
        for line in json.dumps(settings, indent=2).splitlines():
            page.line(f"   {line}")
        page.line()
        page.line(
            "   others      send the token as `Authorization: Bearer TOKEN`, or as ?tkn=TOKEN"
        )
        page.line()
        page.line("Ctrl-C ends the host and leaves nothing behind.", "quiet")

    # -- how it ends ----------------------------------------------------------------------

    async def _finish(self, work: Deferred[int]) -> None:
        try:
            await self._conclude(work)
        except OSError as error:
            # What is to be said cannot be written: a full disk, a reader that is gone.
            self._status = EXIT_FAILED
            if not isinstance(error, BrokenPipeError):
                print(f"ahpd: {failure_words(error)}", file=sys.stderr)
        self._steps.release()
        await self._host.stop()

    async def _conclude(self, work: Deferred[int]) -> None:
        try:
            self._status = await work
        except CancelledError:
            self._interrupted()
        except _EXPECTED as error:
            self._failed(str(error))
        except Exception as error:
            self._failed(f"{type(error).__name__}: {error}")

    def _interrupted(self) -> None:
        page = self._page
        page.line()
        if self._shown:
            self._status = 0  # this is how a demo that stays up is ended
            page.line("Ending the host.", "quiet")
            return
        self._status = _SIGNALLED + (self._signal or 0)
        page.line("Interrupted. Ending the host.", "quiet")
        if self._as_json:
            self._print_json("interrupted")

    def _failed(self, words: str) -> None:
        self._status = EXIT_FAILED
        done = self._steps.done
        if not self._shown and done:
            done[-1].words = words
            words = f"step {done[-1].name}: {words}"
        if self._as_json:
            if not self._shown:
                self._print_json(words)
            print(f"ahpd: {words}", file=sys.stderr)
            return
        page = self._page
        page.line()
        page.line(f"Failed at {words}" if not self._shown else f"Failed: {words}", "bad")
        log = list(self._host.log)[-_LOG_LINES:]
        page.line()
        page.line("The host's last words:" if log else "The host said nothing.", "quiet")
        for line in log:
            page.line(f"   {line}", "quiet")

    def _print_json(self, error: str | None) -> None:
        answer: dict[str, Any] = {
            "ok": error is None,
            "steps": [step.to_json() for step in self._steps.done],
            "url": self._host.url or None,
            "tokenFile": None if self._once else str(self._place.token_file),
        }
        if error is not None:
            answer["error"] = error
            answer["log"] = list(self._host.log)[-_LOG_LINES:]
        print(json.dumps(answer, ensure_ascii=False), flush=True)
