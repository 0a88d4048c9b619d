"""`vscode-agent-client:` URIs: what a client alone has, as everybody else names it. Pure.

`vscode-agent-client://<clientId>/<scheme>/<authority>/<path>`, an empty authority written
`-` (AHP.txt, "Server-to-client commands"). `file:///work/a.ts` on client `editor` is
`vscode-agent-client://editor/file/-/work/a.ts`. A URI whose path does not begin with `/`
has a `!` behind its scheme, as VS Code writes it: `untitled:Untitled-1` is
`vscode-agent-client://editor/untitled!/-/Untitled-1`.

Only the wrapping is put on and taken off. The path, with its query, its fragment and its
percent-encoding, stays letter for letter. A URI under the client scheme is wrapped as any
other is, and one layer comes off at a time.
"""

import re
from typing import Final
from urllib.parse import quote, unquote_to_bytes

import attrs

from ahpd.protocol.uris import scheme

CLIENT_SCHEME: Final = "vscode-agent-client"
#: How one is spelled, for the words of a refusal.
SPELLING: Final = f"{CLIENT_SCHEME}://<clientId>/<scheme>/<authority>/<path>"

_WRAPPED: Final = re.compile(
    r"[^:]*://(?P<client>[^/?#]+)/(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*)(?P<opaque>!?)"
    r"/(?P<authority>[^/?#]*)(?P<rest>.*)",
    re.DOTALL,
)
_PLAIN: Final = re.compile(
    r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):(?://(?P<authority>[^/?#]*))?(?P<rest>.*)", re.DOTALL
)
_NO_AUTHORITY: Final = "-"
#: An authority that would read as none, and how such a one is told apart: one more layer.
_LIKE_NONE: Final = re.compile(r"-|%(?:25)*2[Dd]")


@attrs.frozen
class ClientUri:
    """A resource of one client."""

    client_id: str
    uri: str
    """As that client knows it."""


def is_client_uri(uri: str) -> bool:
    """Whether a URI is under the client scheme, well spelled or not."""
    return scheme(uri) == CLIENT_SCHEME


def wrapped(client_id: str, uri: str) -> str:
    """The name of a client's resource for everybody else. Raises `ValueError` for no URI."""
    match = _PLAIN.fullmatch(uri)
    if match is None:
        raise ValueError(f"{uri[:200]!r} is no URI")
    kind, authority, rest = match["scheme"], match["authority"], match["rest"]
    if authority is None and not rest.startswith("/"):
        kind, rest = f"{kind}!", f"/{rest}"
    slot = _escaped(authority) if authority else _NO_AUTHORITY
    return f"{CLIENT_SCHEME}://{_quoted(client_id)}/{kind}/{slot}{rest}"


def unwrapped(uri: str) -> ClientUri:
    """The client a URI names, and the resource as that client knows it.

    An empty authority is spelled as VS Code spells it: `file:///a`, and `other:/a`.
    Raises `ValueError` for a URI that is none of the client scheme's.
    """
    match = _WRAPPED.fullmatch(uri) if is_client_uri(uri) else None
    client_id = None if match is None else _unquoted(match["client"])
    if match is None or client_id is None:
        raise ValueError(f"expected {SPELLING}, found {uri[:200]!r}")
    kind, slot, rest = match["scheme"], match["authority"], match["rest"]
    if slot in ("", _NO_AUTHORITY):
        return ClientUri(client_id, _without_authority(kind, bool(match["opaque"]), rest))
    return ClientUri(client_id, f"{kind}://{_unescaped(slot)}{rest}")


def _without_authority(kind: str, opaque: bool, rest: str) -> str:
    if opaque:
        return f"{kind}:{rest.removeprefix('/')}"
    if not rest.startswith("/"):
        rest = f"/{rest}"
    # What begins with two slashes would be read as an authority.
    slashes = "//" if kind.lower() == "file" or rest.startswith("//") else ""
    return f"{kind}:{slashes}{rest}"


def _escaped(authority: str) -> str:
    if _LIKE_NONE.fullmatch(authority) is None:
        return authority
    return "%2D" if authority == "-" else f"%25{authority[1:]}"


def _unescaped(slot: str) -> str:
    if _LIKE_NONE.fullmatch(slot) is None:
        return slot
    return f"%{slot[3:]}" if slot.startswith("%25") else "-"


def _quoted(client_id: str) -> str:
    # A lone surrogate is no text, but a name made of one must not raise either.
    return quote(client_id, safe="", errors="surrogatepass")


def _unquoted(authority: str) -> str | None:
    try:
        return unquote_to_bytes(authority.encode(errors="surrogatepass")).decode(
            errors="surrogatepass"
        )
    except UnicodeDecodeError:  # no client's name is spelled like this
        return None
