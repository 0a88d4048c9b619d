"""The bytes of a WebSocket frame as a server sends it: no mask, so the same for everybody."""

#: First bytes of the control frames a queue may put ahead of data: FIN and the opcode.
PING = 0x89
PONG = 0x8A


def text_header(size: int) -> bytes:
    """What stands before the `size` bytes of an unfragmented, unmasked text (RFC 6455, 5.2)."""
    if size < 126:
        return bytes((0x81, size))
    if size < 1 << 16:
        return b"\x81\x7e" + size.to_bytes(2, "big")
    return b"\x81\x7f" + size.to_bytes(8, "big")
