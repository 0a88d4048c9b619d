"""Asking the daemon in the background, over AHP, for what it alone can do."""

import secrets
from typing import Any, Final

import click
from twisted.internet import defer, error

from ahpd.cli.output import EXIT_FAILED, EXIT_USAGE, Failure
from ahpd.cli.params import configuration
from ahpd.client import Client, ConnectionGone, RpcError
from ahpd.daemon.record import Record
from ahpd.protocol.errors import INVALID_PARAMS
from ahpd.transports.websocket_client import ConnectError, connect

#: An installation may fetch and build much.
_SECONDS: Final = 900.0


def ask(held: Record, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The daemon's answer to one request. Runs the reactor, so once a process.

    Raises `Failure` in the daemon's words, and `click.Abort` where a signal came first.
    """
    return ask_each(held, [(method, params)])[0]


def ask_each(held: Record, requests: list[tuple[str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """The daemon's answers to requests, one after the other over one connection."""
    from twisted.internet import reactor as running

    reactor: Any = running
    token = configuration(held.launch).settings()[0].connection_token
    outcome: list[Any] = []

    async def talk() -> list[Any]:
        client = Client(
            f"ahpd-plugin-{secrets.token_hex(8)}",
            reactor,
            info={"name": "ahpd plugin"},
            timeout=_SECONDS,
        )
        await connect(reactor, held.url, client, token=token)
        await client.initialize()
        try:
            return [await client.request(method, **params) for method, params in requests]
        finally:
            client.close()

    def start() -> None:
        talking = defer.Deferred.fromCoroutine(talk())
        talking.addBoth(outcome.append)
        talking.addBoth(lambda _: stop())

    def stop() -> None:
        if reactor.running:
            reactor.stop()

    reactor.callWhenRunning(start)
    reactor.run()
    if not outcome:
        raise click.Abort
    return _answers(outcome[0], held)


def _answers(result: Any, held: Record) -> list[dict[str, Any]]:
    if isinstance(result, list):
        return result
    try:
        result.raiseException()
    except RpcError as refused:
        wrong = refused.code == INVALID_PARAMS
        raise Failure(refused.message, EXIT_USAGE if wrong else EXIT_FAILED) from None
    except (ConnectError, ConnectionGone, TimeoutError, ValueError, error.ConnectError) as gone:
        raise Failure(f"the daemon (pid {held.pid}, {held.url}) cannot be asked: {gone}") from None
    raise AssertionError("a failure raises")
