"""Calls that come again: one with the same `Idempotency-Key` is answered as the first, and not done.

A sender that heard no answer sends its call once more, and would start a second session.
"""

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, Final

import attrs

from ahpd.interfaces import Request, Response
from ahpd_webhook.bodies import Refused

#: How many keys one webhook remembers; the oldest goes.
_MOST: Final = 1000
_LONGEST_KEY: Final = 255


@attrs.define
class _Seen:
    """One key: the call it came with, and its answer once there is one."""

    call: bytes
    until: float
    answer: Response | None = None


class Repeats:
    """The keys of one webhook, each for `remember` seconds of `clock` from its first call."""

    def __init__(self, clock: Any, remember: float) -> None:
        self._clock = clock
        self._remember = remember
        self._seen: dict[str, _Seen] = {}

    async def once(self, request: Request, do: Callable[[], Awaitable[Response]]) -> Response:
        """What `do` answers, or answered when this call came first. Raises `Refused`.

        What failed is forgotten: the sender tries again.
        """
        key = request.header("idempotency-key")
        if key is None:
            return await do()
        if not 0 < len(key) <= _LONGEST_KEY:
            raise Refused(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
        self._forget()
        call = hashlib.sha256(request.query.encode() + b"\0" + request.body).digest()
        seen = self._seen.get(key)
        if seen is not None:
            return _again(seen, call)
        seen = self._seen[key] = _Seen(call, self._clock.seconds() + self._remember)
        try:
            seen.answer = await do()
        finally:
            if seen.answer is None:
                self._seen.pop(key, None)
        return seen.answer

    def _forget(self) -> None:
        """Forget what is too old, and make room. Keys are in the order in which they go."""
        now = self._clock.seconds()
        for key, seen in tuple(self._seen.items()):
            if seen.until > now and len(self._seen) < _MOST:
                break
            del self._seen[key]


def _again(seen: _Seen, call: bytes) -> Response:
    if seen.call != call:
        raise Refused(422, "another call came with this Idempotency-Key")
    if seen.answer is None:
        raise Refused(409, "the call with this Idempotency-Key is being done")
    return seen.answer
