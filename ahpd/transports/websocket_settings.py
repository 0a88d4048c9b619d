"""The limits of a WebSocket connection, every one said: Autobahn's own defaults are open."""

from typing import Any

import attrs

#: One message's payload in bytes, either way in. Above what a client sends with files
#: attached (they travel in base64), and an admitted client alone can spend it.
DEFAULT_MAX_PAYLOAD = 64 * 1024 * 1024


def _positive(instance: object, attribute: "attrs.Attribute[Any]", value: float) -> None:
    if value <= 0:
        raise ValueError(f"{attribute.name} must be more than 0, found {value}")


def _positive_field(default: Any) -> Any:
    return attrs.field(default=default, validator=_positive)


@attrs.frozen(kw_only=True)
class WebSocketSettings:
    """What a listener, or a client, holds its connections to. Times are in seconds.

    Compression is not offered and not accepted: it costs a fan-out many times what it
    saves on a loopback or a LAN.
    """

    max_payload: int = _positive_field(DEFAULT_MAX_PAYLOAD)
    """Bytes of one frame, and of one message of several; past it the close code is 1009."""
    handshake_timeout: float = _positive_field(10.0)
    """From the connection to a whole request head, the TLS handshake included."""
    ping_interval: float = _positive_field(30.0)
    """From one sign of life to the ping that asks for the next."""
    ping_timeout: float = _positive_field(30.0)
    """From a ping to the end of a connection that neither said nor took anything."""
    close_timeout: float = _positive_field(5.0)
    """For what was queued, the close frame and its answer; then the connection is cut."""
    linger: float = _positive_field(1.0)
    """How long a client that broke the protocol may read why before it is cut."""
    max_connections: int = _positive_field(4096)
    """WebSocket connections open at once; one more is refused 503."""
    max_arriving: int = _positive_field(256)
    """Connections at once whose first request is not here whole, beside those."""
    max_requests: int = _positive_field(2048)
    """Plain HTTP requests served at once, streams among them; one more is refused 503."""
    max_body: int = _positive_field(8 * 1024 * 1024)
    """Bytes of a plain HTTP request after its head; past it the answer is 413."""
    request_timeout: float = _positive_field(30.0)
    """For a plain HTTP request's body to arrive."""
