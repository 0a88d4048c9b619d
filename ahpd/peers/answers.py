"""What a request is held to before it is answered, and what may come behind its answer."""

from collections.abc import Callable
from typing import Any, Final

import attrs

from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import canonical

#: Their literal channel is taken as said, whatever it is.
_ANY_CHANNEL: Final = frozenset({"ping", "initialize"})


@attrs.frozen
class Followed:
    """A command's result, and what is sent right behind it."""

    value: Any
    after: Callable[[], None]


def hold_to_channel(method: str, params: dict[str, Any], channel: str) -> None:
    """Put the literal channel of a method into its params. Raises `RpcError` for another one."""
    named = params.get("channel")
    if named is not None and method not in _ANY_CHANNEL:
        if not isinstance(named, str):
            raise invalid_params(f"params.channel: expected {channel}")
        if canonical(named) != channel:
            raise invalid_params(
                f"params.channel: {method} is sent on {channel}, not on {named[:200]}"
            )
    params["channel"] = channel
