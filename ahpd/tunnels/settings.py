"""The settings of a tunnel: changed, held to what the kind says of them, kept without a secret.

A change names the settings it changes. A secret that is sent empty, or not sent, stays what it is,
and null takes a setting out. Source: PLUGINS.txt, "A tunnel kind of your own", `x-ahpd-tunnels`.
"""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from ahpd.extensions.connector_fields import not_of_the_host
from ahpd.interfaces import SecretFailure
from ahpd.protocol import State
from ahpd.schemas import (
    Misfit,
    Unread,
    Vaulted,
    check_value,
    filled,
    hidden,
    prefix,
    secrets_in,
    sent_back,
    struck,
)
from ahpd.tunnels.records import OWNER, SUBJECT, own


class Problem(Exception):
    """Why something could not be done with a tunnel, in words without a secret."""


def changed(
    schema: Mapping[str, Any], given: Mapping[str, Any], held: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The settings a tunnel has once `given` is laid over `held`; a new secret is plain in them.

    `held` is None for a new tunnel. What the host says of a tunnel is no setting, and is left out.
    """
    named = own(given)
    if held is None:
        return filled(schema, named, None)
    # Nobody is shown a secret, so what is sent back of an object is without its own.
    whole = filled(schema, {**held, **named}, held)
    return {key: value for key, value in whole.items() if value is not None or key not in named}


class Settings:
    """What tunnels' settings are held to and kept with.

    `connectors` are the rows of the connectors there are (`id`, `adapter`, `owner`).
    """

    def __init__(self, vaulted: Vaulted, connectors: Callable[[], Sequence[State]]) -> None:
        self._vaulted = vaulted
        self._connectors = connectors

    def check(
        self,
        schema: Mapping[str, Any],
        given: Mapping[str, Any],
        held: Mapping[str, Any] | None,
        at: str,
        *,
        connectors: bool,
    ) -> dict[str, Any]:
        """See `changed`, once it fits. Raises `Misfit`, which names a field under `at`.

        With `connectors` what is given may name connectors of the host's alone.
        """
        given = sent_back(own(given), held, hidden(schema, held or {}), at=at)
        try:
            whole = changed(schema, given, held)
        except SecretFailure as failed:
            raise Misfit(f"{at}: {struck(failed, secrets_in(schema, given))}") from None
        check_value(schema, whole, at, references=True)
        wrong = not_of_the_host(schema, given, at, self._connectors()) if connectors else None
        if wrong is not None:
            raise Misfit(wrong)
        return whole

    async def read(self, schema: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
        """Settings as a kind is handed them: every reference read, and fit. Raises `Problem`."""
        try:
            read = await self._vaulted.read(settings, OWNER)
            check_value(schema, read, "settings")
        except (Unread, SecretFailure, Misfit) as failed:
            raise Problem(struck(failed, secrets_in(schema, settings))) from None
        return read

    @asynccontextmanager
    async def kept(
        self,
        schema: Mapping[str, Any],
        identifier: str,
        settings: Mapping[str, Any],
        held: Mapping[str, Any] | None,
    ) -> AsyncIterator[dict[str, Any]]:
        """Settings as the record keeps them, their secrets in the vault for as long as the record
        is written within: where that raises, those are what they were. Raises `Problem`."""
        try:
            async with self._vaulted.moving(
                schema, OWNER, SUBJECT, identifier, settings, held
            ) as kept:
                yield kept
        except SecretFailure as failed:
            words = struck(failed, secrets_in(schema, settings))
            raise Problem(f"the tunnel was not kept: {words}") from None

    async def forget(
        self, identifier: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> str | None:
        """Take out of the vault what `before` named of the tunnel's own and `after` does not.

        Why it failed, in words; None where it did not.
        """
        try:
            under = prefix(OWNER, SUBJECT, identifier)
            await self._vaulted.forget_unnamed(before, after, under=under)
        except SecretFailure as failed:
            return str(failed)
        return None
