"""Texts that nothing said may hold, and how they are struck out of what is said.

A secret is quoted by code that knows nothing of it being one, and rarely as it is: an exception
is put on one line, a value is shown as Python or JSON write it, a URL has it percent-encoded. So
each is looked for in every form that a text on its way to a log or to a client may have it in.
"""

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

from ahpd.protocol.characters import whole

#: What stands for a secret wherever one would be shown.
SET: Final = "<set>"
#: A secret with fewer characters is struck only where it stands on its own: it is part of words
#: that have nothing to do with it.
SHORT: Final = 4
#: So much of a secret's beginning gives it away, where words were cut short within it.
_CUT: Final = 8
#: A line of a secret of several lines that is as long is struck by itself.
_LINE: Final = 16


def struck(text: str, secrets: Iterable[str], instead: str = SET) -> str:
    """`text` with every form of every secret replaced, the longest first.

    What comes out can be sent: half of a character, which no encoding has, is written out.
    """
    found = {form for secret in secrets if secret and text for form in _forms(secret)}
    for form in sorted(found, key=len, reverse=True):
        if len(form) < SHORT:
            edged = rf"(?<!\w){re.escape(form)}(?!\w)"
            text = re.sub(edged, lambda _: instead, text)
        elif form in text:
            text = text.replace(form, instead)
    for form in found:
        text = _uncut(text, form, instead)
    return whole(text)


def _uncut(text: str, form: str, instead: str) -> str:
    """`text` without the beginning of a secret that was cut short at its end."""
    whole = text.rstrip(". ")
    at = whole.find(form[:_CUT], max(0, len(whole) - len(form))) if len(form) > _CUT else -1
    while at >= 0:
        if form.startswith(whole[at:]):
            return whole[:at] + instead + text[len(whole) :]
        at = whole.find(form[:_CUT], at + 1)
    return text


class Unspoken:
    """The texts no log line, no row and no error of one host may hold; more come while it runs.

    `texts` are those that are known at the beginning. `shortest` is the fewest characters of one
    that comes later: shorter ones are words that a log is full of. It keeps what it was told for as long as the process runs: what was a key once may be quoted
    long after it was changed.
    """

    def __init__(self, texts: Iterable[str] = (), shortest: int = 8) -> None:
        self._shortest = shortest
        self._texts: dict[str, None] = dict.fromkeys(texts)
        self._others: list[Unspoken] = []

    def add(self, *texts: str) -> None:
        """These too. What is no text, or too short, is passed over."""
        for text in texts:
            if isinstance(text, str) and len(text) >= self._shortest:
                self._texts[text] = None

    def join(self, other: "Unspoken") -> None:
        """What `other` holds now and later is not spoken either."""
        self._others.append(other)

    def __iter__(self) -> Iterator[str]:
        yield from tuple(self._texts)
        for other in self._others:
            yield from other

    def struck(self, text: str, instead: str = SET) -> str:
        """`text` without any of them."""
        return struck(text, self, instead)


@lru_cache(maxsize=4096)
def _forms(secret: str) -> tuple[str, ...]:
    """The secret as it is, and as it is written where it is quoted."""
    lines = [line.strip() for line in secret.splitlines() if line.strip()]
    quoted = json.dumps(secret)[1:-1]
    forms = {
        secret,
        secret.strip(),
        " ".join(secret.split()),
        " | ".join(lines),
        repr(secret)[1:-1],
        quoted,
        json.dumps(secret, ensure_ascii=False)[1:-1],
        quoted.replace("/", "\\/"),
    }
    if len(lines) > 1:  # said line by line, as a program's output is logged
        forms |= {line for line in lines if len(line) >= _LINE}
    with contextlib.suppress(UnicodeEncodeError):  # half a character, which no URL has
        forms |= {quote(secret), quote(secret, safe=""), quote_plus(secret)}
    return tuple(form for form in forms if form)
