"""The bytes of a WebSocket frame as a server sends it: no mask, so the same for everybody."""

#: First bytes of the control frames a queue may put ahead of data: FIN and the opcode.
PING = 0x89
PONG = 0x8A


def text_frame(payload: bytes) -> bytes:
    """One unfragmented, unmasked text frame (RFC 6455, section 5.2)."""
    size = len(payload)
    if size < 126:
        header = bytes((0x81, size))
    elif size < 1 << 16:
        header = b"\x81\x7e" + size.to_bytes(2, "big")
    else:
        header = b"\x81\x7f" + size.to_bytes(8, "big")
    return header + payload
