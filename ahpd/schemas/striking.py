"""What code that is not ours says, made fit to be shown: without a secret, and not too long."""

from collections.abc import Iterable
from typing import Final

from ahpd import unspoken

#: The most that is shown, in characters.
LONGEST: Final = 500


def struck(words: object, secrets: Iterable[str], longest: int = LONGEST) -> str:
    """`words` with every secret in it answered `<set>`, at most `longest` characters of it.

    An exception that cannot even be said is its type.
    """
    return unspoken.struck(said(words), secrets)[:longest]


def said(words: object) -> str:
    """The text of `words`; the type of what has none that can be read."""
    try:
        return str(words)
    except Exception:  # its own code says it
        return type(words).__name__
