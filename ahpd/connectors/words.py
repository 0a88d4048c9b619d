"""What a vendor says of a sign-in, made fit to be shown."""

import re
from typing import Final

from ahpd.schemas.striking import said

_STATUS: Final = re.compile(r"HTTP \d{3}")


def vendor_words(title: str, error: BaseException) -> str:
    """How a sign-in failed, for whoever signs in: the adapter's title, and the vendor's
    `HTTP <status>` where the error says that alone. Its other words may hold what was sent."""
    words = said(error)
    return f"{title}: {words if _STATUS.fullmatch(words) else 'the sign-in failed'}"
