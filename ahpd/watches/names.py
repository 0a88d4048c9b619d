"""The channel of a watch names all of it: `ahp-resource-watch://r/<base64url JSON>`.

So nothing is kept between `createResourceWatch` and the first subscribe, and a client that
comes back much later still names its watch. The JSON is VS Code's: `root` first, then what
is not as usual of `recursive`, `excludes` and `includes`, the globs as plain lists. A channel
that VS Code made reads the same here, and the other way round.
"""

import base64
import json
import re
from typing import Any, Final, TypeGuard

from ahpd.interfaces import WatchRequest
from ahpd.protocol.characters import is_whole
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import scheme

#: How long a channel's name may be, in characters.
LONGEST: Final = 64 * 1024

_PREFIX: Final = "ahp-resource-watch://r/"
_CHANNEL: Final = re.compile(r"ahp-resource-watch:(?://[^/?#]*)?/([A-Za-z0-9_-]+)=*")


def channel_of(request: WatchRequest) -> str:
    """The channel of a watch: one name for one request. Raises `RpcError` -32602 for a long one."""
    described: dict[str, Any] = {"root": request.root}
    if request.recursive:
        described["recursive"] = True
    if request.excludes:
        described["excludes"] = list(request.excludes)
    if request.includes:
        described["includes"] = list(request.includes)
    text = json.dumps(described, ensure_ascii=False, separators=(",", ":"))
    # A lone surrogate is no text, but a name made of one must not raise either.
    encoded = base64.urlsafe_b64encode(text.encode(errors="surrogatepass"))
    name = _PREFIX + encoded.decode().rstrip("=")
    if len(name) > LONGEST:
        raise invalid_params(
            f"the URI and the patterns of a watch make a name of {len(name)} characters; "
            f"at most {LONGEST}"
        )
    return name


def request_of(channel: str) -> WatchRequest | None:
    """What a channel's name says is watched; None for a name nobody can read. Never raises.

    `includes` without a pattern are none, as VS Code takes them.
    """
    match = _CHANNEL.fullmatch(channel) if len(channel) <= LONGEST else None
    if match is None:
        return None
    try:
        text = base64.urlsafe_b64decode(match[1] + "=" * (-len(match[1]) % 4)).decode()
        described = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(described, dict):
        return None
    root, recursive = described.get("root"), described.get("recursive", False)
    excludes, includes = described.get("excludes", []), described.get("includes", [])
    if not (_is_text(root) and scheme(root) and isinstance(recursive, bool)):
        return None
    if not (_is_list(excludes) and _is_list(includes)):
        return None
    return WatchRequest(
        root=root,
        recursive=recursive,
        excludes=tuple(excludes),
        includes=tuple(includes) or None,
    )


def _is_list(value: Any) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_text(value: Any) -> TypeGuard[str]:
    """Whether a value is a string that can travel: JSON can spell half a surrogate pair."""
    return isinstance(value, str) and is_whole(value)
