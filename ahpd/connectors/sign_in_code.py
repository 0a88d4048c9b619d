"""A sign-in by a code that a person pastes: PKCE, the challenge with S256.

Source: PLUGINS.txt, "An adapter of your own" (`signIn`), "x-ahpd-connectors".
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from ahpd.calling import awaited, called
from ahpd.connectors.changes import Changes, Prepared
from ahpd.connectors.ground import Ground
from ahpd.connectors.live import Live
from ahpd.connectors.records import wanted
from ahpd.connectors.rules import identity
from ahpd.connectors.sign_ins import Pending, SignIns
from ahpd.connectors.words import vendor_words
from ahpd.extensions.waiting import within
from ahpd.interfaces import Caller, CodeSignIn
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, invalid_params

log = Logger()

#: Seconds from the start to the finish.
MINUTES_TEN: Final = 600.0
#: Seconds a vendor has to exchange a code.
PATIENCE: Final = 60.0


@attrs.define(eq=False, repr=False)
class PendingCode(Pending):
    """One that waits for its code."""

    verifier: str = attrs.field(repr=False, default="", kw_only=True)


class CodeSignIns:
    """Starts and finishes them."""

    def __init__(self, changes: Changes, held: SignIns, ground: Ground) -> None:
        self._changes = changes
        self._held = held
        self._ground = ground

    def start(
        self, params: Mapping[str, Any], caller: Caller, prepared: Prepared, sign_in: CodeSignIn
    ) -> State:
        """Where a person signs in, and what names the sign-in: `{url, state}`."""
        verifier = self._ground.token()
        state = self._ground.token()
        challenge = challenge_of(verifier)
        try:
            url = called(sign_in.url, challenge, state)
        except Exception as failed:
            raise _failed(prepared.owned.value.title, failed) from None
        pending = PendingCode(
            state=state,
            starter=identity(caller),
            caller=caller,
            owned=prepared.owned,
            params=params,
            verifier=verifier,
        )
        self._held.add(pending, MINUTES_TEN)
        return {"url": url, "state": state}

    async def finish(self, pending: PendingCode, code: Any, caller: Caller) -> Live:
        """Exchange the code, once, and put the connector with what came of it."""
        if not isinstance(code, str) or not code.strip():
            raise invalid_params("params.code must be the code that the page showed")
        sign_in = pending.adapter.sign_in
        assert isinstance(sign_in, CodeSignIn), "a pasted code is of a code sign-in"
        self._changes.allow_put(wanted(pending.params), caller)
        self._held.drop(pending)

        async def exchanged() -> Any:
            return await awaited(sign_in.exchange(code.strip(), pending.verifier))

        try:
            value = await within(self._ground.clock, PATIENCE, exchanged())
        except CancelledError:
            raise
        except Exception as failed:
            raise _failed(pending.adapter.title, failed) from None
        if not isinstance(value, str) or not value:
            raise _failed(pending.adapter.title, ValueError())
        config = {**pending.params["config"], sign_in.field: value}
        return await self._changes.put({**pending.params, "config": config}, caller)


def challenge_of(verifier: str) -> str:
    """The S256 challenge of a PKCE verifier (RFC 7636)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def _failed(title: str, error: BaseException) -> Exception:
    words = vendor_words(title, error)
    log.warn("a sign-in failed: {words}", words=words)
    return internal_error(words)
