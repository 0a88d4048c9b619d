"""What a plugin claims of a canvas (schema: CanvasState), checked before anybody is shown it.

What is wrong is said by the rule that was broken. A URL is quoted nowhere: it may be all that
keeps a page private. Source: PLUGINS.txt, "Showing a canvas on a chat".
"""

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from ahpd.protocol import State
from ahpd.protocol.check import ShapeError
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.json_values import checked_text

_REQUIRED: Final = ("instanceId", "extensionId", "canvasId")
_TEXTS: Final = ("extensionName", "title", "status")
_URL: Final = "url"
_URL_RULE: Final = "url: is no absolute http or https URL with a host"
_UNSEEN: Final = re.compile(r"[\x00-\x20\x7f\\\ud800-\udfff]")


def checked(claim: Mapping[str, Any]) -> State:
    """A copy of what is claimed. Raises `RpcError` -32602 naming the field and its rule."""
    if not isinstance(claim, Mapping):
        raise invalid_params("a canvas's state is an object")
    for name in claim:
        if name not in (*_REQUIRED, *_TEXTS, _URL):
            raise invalid_params(f"{name}: is no field of a canvas's state")
    for name in _REQUIRED:
        if not isinstance(claim.get(name), str) or not claim[name]:
            raise invalid_params(f"{name}: is to be a text that is not empty")
    for name in _TEXTS:
        if name in claim and not isinstance(claim[name], str):
            raise invalid_params(f"{name}: is to be a text")
    for name in (*_REQUIRED, *_TEXTS):
        if name in claim:
            sayable(name, claim[name])
    if _URL in claim and not _is_page(claim[_URL]):
        raise invalid_params(_URL_RULE)
    return dict(claim)


def sayable(name: str, text: Any) -> str:
    """`text` where it is one that can be said. Raises `RpcError` -32602 naming it."""
    try:
        return checked_text(text, name)
    except ShapeError as wrong:
        raise invalid_params(str(wrong)) from None


def _is_page(url: Any) -> bool:
    if not isinstance(url, str) or _UNSEEN.search(url):
        return False
    try:
        parts = urlsplit(url)
        _ = parts.port  # raises for one that is no number
        return parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        return False
