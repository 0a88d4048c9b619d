"""Texts that clients are shown, cleared of credentials: what a failure quotes may hold some.

Source: PLUGINS.txt, `x-ahpd-plugins` (`alerts`, `problem`).
"""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from ahpd.unspoken import SHORT, struck

_REDACTED: Final = "<redacted>"

_URL: Final = re.compile(r"\b([A-Za-z][A-Za-z0-9+.-]*://)([^\s\"'<>]*)")
#: A password may hold an `@` that nobody encoded: the last one ends it.
_USER: Final = re.compile(r"^[^/?#]*@")
_TOKEN: Final = re.compile(r"([?&]tkn=)[^&#\s]+", re.IGNORECASE)
#: What signs a URL, wherever it stands: outside of a whole URL it is a piece of one.
_SIGNED: Final = re.compile(
    r"(\b(?:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|X-Goog-Signature|"
    r"X-Goog-Credential|sig|signature|Key-Pair-Id|Policy|access_token|api_key)=)[^&\s\"']+",
    re.IGNORECASE,
)


def cleared(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with every secret of `secrets` answered `<set>`, and none in its URLs.

    An absolute URL's query and any URL's user are `<redacted>`, a connection token is `***`.
    """
    text = struck(text, (one for one in secrets if len(one) >= SHORT))
    if "=" in text:
        text = _TOKEN.sub(r"\1***", text)
    if "://" in text:
        text = _URL.sub(_url, text)
    return _SIGNED.sub(rf"\1{_REDACTED}", text) if "=" in text else text


def _url(match: re.Match[str]) -> str:
    rest = _USER.sub(f"{_REDACTED}@", match[2])
    path, asked, query = rest.partition("?")
    if asked and unquote(query) != "tkn=***":
        query, mark, fragment = query.partition("#")
        query = f"{_REDACTED}{mark}{fragment}"
    return f"{match[1]}{path}{asked}{query}"
