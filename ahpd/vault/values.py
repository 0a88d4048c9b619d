"""What may be kept as a secret."""

from typing import Final

from ahpd.interfaces.vault import SecretFailure

#: Bytes of UTF-8: keys, tokens and certificates are far smaller.
LARGEST_SECRET: Final = 64 * 1024


def check_text(name: str, value: object) -> None:
    """Raises `SecretFailure` for a value that a vault does not keep."""
    if not isinstance(value, str):
        raise SecretFailure(f"{name} cannot be kept: a secret is text")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise SecretFailure(f"{name} cannot be kept: it holds half a character") from None
    if size > LARGEST_SECRET:
        most = LARGEST_SECRET // 1024
        raise SecretFailure(f"{name} cannot be kept: a secret is at most {most} KiB")
