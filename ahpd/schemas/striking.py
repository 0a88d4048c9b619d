"""What code that is not ours says, made fit to be shown: without a secret, and not too long."""

import re
from collections.abc import Iterable
from typing import Final

from ahpd.schemas.marks import SET

#: The most that is shown, in characters.
LONGEST: Final = 500
#: A secret with fewer characters is struck only where it stands on its own.
_SHORT: Final = 4


def struck(words: object, secrets: Iterable[str], longest: int = LONGEST) -> str:
    """`words` with every secret in it answered `<set>`, at most `longest` characters of it."""
    text = str(words)
    for secret in sorted({one for one in secrets if one}, key=len, reverse=True):
        # A secret of a letter or two is part of many words that have nothing to do with it.
        edged = rf"(?<!\w){re.escape(secret)}(?!\w)" if len(secret) < _SHORT else re.escape(secret)
        text = re.sub(edged, SET, text)
    return text[:longest]
