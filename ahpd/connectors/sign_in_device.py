"""A sign-in that a person approves on another device, while the host asks the vendor whether.

Source: PLUGINS.txt, "An adapter of your own" (`flow: 'device'`), "x-ahpd-connectors".
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.calling import asked, awaited
from ahpd.connectors.changes import Changes, Prepared
from ahpd.connectors.ground import Ground
from ahpd.connectors.records import wanted
from ahpd.connectors.rules import identity
from ahpd.connectors.sign_ins import Pending, SignIns
from ahpd.connectors.words import vendor_words
from ahpd.extensions.waiting import Background, within
from ahpd.interfaces import Caller, DeviceCode, DeviceSignIn
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, internal_error, invalid_params

log = Logger()

#: Seconds a vendor has to make a code.
PATIENCE: Final = 60.0
#: The least seconds between two polls.
LEAST_INTERVAL: Final = 1.0
_SHORTEST: Final = 1.0
#: The most seconds a code is good for, whatever its vendor says.
_LONGEST: Final = 86_400.0


@attrs.define(eq=False, repr=False)
class PendingDevice(Pending):
    """One that is polled for until it is approved, refused or over."""

    handle: str = attrs.field(repr=False, default="", kw_only=True)
    interval: float = attrs.field(default=5.0, kw_only=True)
    outcome: RpcError | str | None = attrs.field(repr=False, default=None, kw_only=True)
    """The id of the connector it made, or how it failed; None while it waits."""
    poll: IDelayedCall | None = attrs.field(repr=False, default=None, kw_only=True)
    asking: "Deferred[Any] | None" = attrs.field(repr=False, default=None, kw_only=True)
    approved: bool = attrs.field(default=False, kw_only=True)
    """The approval came; what is done with it is not called off."""
    waiting: "list[Deferred[None]]" = attrs.field(repr=False, factory=list, kw_only=True)


class DeviceSignIns:
    """Starts them, polls for them and answers what became of them."""

    def __init__(
        self, changes: Changes, held: SignIns, ground: Ground, background: Background
    ) -> None:
        self._changes = changes
        self._held = held
        self._ground = ground
        self._background = background

    async def start(
        self, params: Mapping[str, Any], caller: Caller, prepared: Prepared, sign_in: DeviceSignIn
    ) -> State:
        """What a person does on their device: `{state, code, url, expires}`."""
        title = prepared.owned.value.title

        async def started() -> Any:
            return await awaited(sign_in.start())

        try:
            code = await within(self._ground.clock, PATIENCE, started())
        except CancelledError:
            raise
        except Exception as failed:
            raise internal_error(_logged(title, failed)) from None
        if not isinstance(code, DeviceCode):
            raise internal_error(_logged(title, TypeError()))
        pending = PendingDevice(
            state=self._ground.token(),
            starter=identity(caller),
            caller=caller,
            owned=prepared.owned,
            params=params,
            handle=code.handle,
            interval=_seconds(code.interval, LEAST_INTERVAL),
        )

        def dropped(words: str) -> None:
            if pending.approved:
                return
            self._over(pending, invalid_params(f"{title}: the sign-in is over, {words}"))
            if pending.asking is not None:
                pending.asking.cancel()

        pending.dropped = dropped
        self._held.add(pending, _seconds(code.expires, _SHORTEST))
        self._poll_later(pending)
        return {
            "state": pending.state,
            "code": code.code,
            "url": code.url,
            "expires": code.expires,
        }

    async def finish(self, pending: PendingDevice, caller: Caller) -> str:
        """The id of the connector it made, once it was approved. Raises `RpcError` as it failed,
        and when the code expires."""
        self._changes.allow_put(wanted(pending.params), caller)
        if pending.outcome is None:
            waiting: Deferred[None] = Deferred(pending.waiting.remove)
            pending.waiting.append(waiting)
            await waiting
        assert pending.outcome is not None, "whoever waits is told once it is over"
        if isinstance(pending.outcome, RpcError):
            raise pending.outcome
        return pending.outcome

    # -- polling --------------------------------------------------------------------------

    def _poll_later(self, pending: PendingDevice) -> None:
        pending.poll = self._ground.clock.callLater(pending.interval, self._poll, pending)

    def _poll(self, pending: PendingDevice) -> None:
        what = f"the sign-in to {pending.adapter.name}"
        pending.asking = self._background.spawn(what, self._asked(pending))

    async def _asked(self, pending: PendingDevice) -> None:
        sign_in = pending.adapter.sign_in
        assert isinstance(sign_in, DeviceSignIn), "a device code is of a device sign-in"
        title = pending.adapter.title
        try:
            answer = await asked(sign_in.poll, pending.handle)
        except CancelledError:
            raise
        except Exception as failed:
            self._over(pending, internal_error(_logged(title, failed)))
            return
        if pending.outcome is not None:
            return
        if isinstance(answer, int | float) and not isinstance(answer, bool):
            pending.interval = _seconds(answer, LEAST_INTERVAL)
            self._poll_later(pending)
            return
        pending.approved = True
        try:
            made = await self._approved(pending, sign_in, answer)
        except CancelledError:
            raise
        except RpcError as refused:
            self._over(pending, refused)
        except Exception as failed:
            log.error(
                "a sign-in to {title} failed: {kind}", title=title, kind=type(failed).__name__
            )
            self._over(pending, internal_error(f"{title}: the sign-in failed"))
        else:
            self._over(pending, made)

    async def _approved(self, pending: PendingDevice, sign_in: DeviceSignIn, answer: Any) -> str:
        """Put the connector with what the approval fills; its id."""
        schema, title = pending.adapter.schema, pending.adapter.title
        known = schema.get("properties") or {}
        if not isinstance(answer, Mapping) or not answer.get(sign_in.field):
            raise internal_error(f"{title}: the approval did not answer what signs in")
        for name in answer:
            if name not in known:
                raise internal_error(f"{title}: the approval answered a field its form has not")
        asked = wanted(pending.params)
        self._changes.allow_put(asked, pending.caller)
        if sign_in.account is not None and not sign_in.switch_account:
            before = self._changes.config_of(asked).get(sign_in.account)
            now = answer.get(sign_in.account)
            if before and now != before:
                raise internal_error(
                    f"signed in as {_account(now)}, this connector is {_account(before)}"
                )
        config = {**pending.params["config"], **answer}
        params = {**pending.params, "config": config}
        live = await self._changes.put(params, pending.caller)
        return live.id

    def _over(self, pending: PendingDevice, outcome: RpcError | str) -> None:
        """It came to something, and is answered so until its code expires."""
        if pending.outcome is not None:
            return
        pending.outcome = outcome
        if pending.poll is not None and pending.poll.active():
            pending.poll.cancel()
        waiting, pending.waiting[:] = tuple(pending.waiting), []
        for one in waiting:
            one.callback(None)
        pending.handle = ""
        pending.params = {**pending.params, "config": {}}


def _seconds(said: float, least: float) -> float:
    """What a vendor says of time, as a clock takes it: `nan` is no time, and a day is enough."""
    try:
        seconds = float(said)
    except (TypeError, ValueError, OverflowError):
        return least
    return min(max(least, seconds), _LONGEST)


def _account(value: Any) -> str:
    return str(value)[:200] if isinstance(value, str | int) else "nobody"


def _logged(title: str, error: BaseException) -> str:
    words = vendor_words(title, error)
    log.warn("a sign-in failed: {words}", words=words)
    return words
