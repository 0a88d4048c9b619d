"""Asking a daemon that runs, over AHP, for what it alone can do and knows."""

import contextlib
import re
import secrets
from collections.abc import Awaitable, Callable
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
#: What a daemon is given that is asked what it knows.
_ROWS_SECONDS: Final = 5.0
_PLUGINS: Final = "x-ahpd-plugins://"


def ask(held: Record, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The daemon's answer to one request. Runs the reactor, so once a process.

    Raises `Failure` in the daemon's words, and `click.Abort` where a signal came first.
    """
    (said,) = ask_each(held, [(method, params)])
    if isinstance(said, Failure):
        raise said
    return said


def ask_each(
    held: Record, requests: list[tuple[str, dict[str, Any]]]
) -> list[dict[str, Any] | Failure]:
    """The daemon's answers to requests, one after the other over one connection; a refusal of one
    is the `Failure` that stands for it."""

    async def asked(client: Client) -> list[dict[str, Any] | Failure]:
        return [await _asked(client, method, params) for method, params in requests]

    return _answer(_talked(held, asked, _SECONDS), held)


def ask_of_its_own(
    held: Record, method: str, params: dict[str, Any], name: str
) -> dict[str, Any] | None:
    """The daemon's answer to one request about the plugin `name`, by its id or its source; None
    where it has no such plugin, which it is not asked about then."""

    async def asked(client: Client) -> list[dict[str, Any] | Failure]:
        with contextlib.suppress(RpcError):  # who may not read them may still ask
            await client.subscribe(_PLUGINS)
            rows: list[dict[str, Any]] = client.plain_state(_PLUGINS)["rows"]
            if name not in {word for row in rows for word in (row["id"], row["spec"])}:
                return []
        return [await _asked(client, method, params)]

    said = _answer(_talked(held, asked, _SECONDS), held)
    if said and isinstance(said[0], Failure):
        raise said[0]
    return said[0] if said else None


async def _asked(client: Client, method: str, params: dict[str, Any]) -> dict[str, Any] | Failure:
    try:
        said: dict[str, Any] = await client.request(method, **params)
    except RpcError as refused:
        wrong = refused.code == INVALID_PARAMS
        words = re.sub(r"^params\.\w+: ", "", refused.message)  # where it stood is the wire's
        return Failure(words, EXIT_USAGE if wrong else EXIT_FAILED)
    return said


def plugin_rows(held: Record) -> list[dict[str, Any]] | None:
    """What the daemon says of each plugin (`x-ahpd-plugins`); None where it cannot be asked.

    Runs the reactor, so once a process.
    """
    answer = _talked(held, _rows, _ROWS_SECONDS)
    return answer if isinstance(answer, list) else None


async def plugin_rows_over(reactor: Any, held: Record) -> list[dict[str, Any]] | None:
    """The same, in a reactor that runs."""
    try:
        return await _talk(reactor, held, _rows, _ROWS_SECONDS)
    except Exception:
        return None


async def _rows(client: Client) -> list[dict[str, Any]]:
    await client.subscribe(_PLUGINS)
    rows: list[dict[str, Any]] = client.plain_state(_PLUGINS)["rows"]
    return rows


def _talked(held: Record, ask: Callable[[Client], Awaitable[list[Any]]], seconds: float) -> Any:
    """What `ask` answers of a client of the daemon's, or the `Failure` it ended with."""
    from twisted.internet import reactor as running

    reactor: Any = running
    outcome: list[Any] = []

    def start() -> None:
        talking = defer.Deferred.fromCoroutine(_talk(reactor, held, ask, seconds))
        talking.addBoth(outcome.append)
        talking.addBoth(lambda _: stop())

    def stop() -> None:
        if reactor.running:
            reactor.stop()

    reactor.callWhenRunning(start)
    reactor.run()
    if not outcome:
        raise click.Abort
    return outcome[0]


async def _talk(
    reactor: Any,
    held: Record,
    ask: Callable[[Client], Awaitable[list[Any]]],
    seconds: float,
) -> list[Any]:
    token = configuration(held.launch).settings()[0].connection_token
    client = Client(
        f"ahpd-plugin-{secrets.token_hex(8)}",
        reactor,
        info={"name": "ahpd plugin"},
        timeout=seconds,
    )
    await connect(reactor, held.url, client, token=token)
    await client.initialize()
    try:
        return await ask(client)
    finally:
        client.close()


def _answer(result: Any, held: Record) -> list[Any]:
    if isinstance(result, list):
        return result
    try:
        result.raiseException()
    except RpcError as refused:  # it may not do the handshake
        raise Failure(refused.message) from None
    except (ConnectError, ConnectionGone, TimeoutError, ValueError, error.ConnectError) as gone:
        raise Failure(f"the daemon (pid {held.pid}, {held.url}) cannot be asked: {gone}") from None
    raise AssertionError("a failure raises")
