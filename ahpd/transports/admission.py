"""Who may come in: pure decisions on a request's head, taken before any protocol byte.

Three questions, in this order. Is the request meant for this host (`Host`: a page
whose name was rebound to a loopback address names itself there)? Does it come from a
place that may ask (`Origin`: browsers send it, other programs do not)? Does it carry
the connection token? The first two are refused 403, the third 401 with a bearer
challenge (AHP.txt, "What is served outside the protocol").
"""

import enum
import hmac
import ipaddress
import re
from urllib.parse import unquote, unquote_to_bytes

import attrs

from ahpd.transports.head import RequestHead

#: The pages of the VS Code desktop window.
VSCODE_ORIGIN = "vscode-file://vscode-app"

_DEFAULT_PORTS = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"(?:\[([0-9a-f:.]+)\]|([a-z0-9_.\-]+))(?::([0-9]{1,5}))?")
_ORIGIN = re.compile(r"([a-z][a-z0-9+.\-]*)://(.+)")
#: Names of what a route's own callers sign in with: its path is a plugin's, and so is its query.
_CREDENTIAL = re.compile(r"key|token|secret|passw|sig|auth|credential|code$")
_QUERY_VALUE = re.compile(r"([?&;#])([^=&;#]*)=([^&;#\s]*)")
_USERINFO = re.compile(r"(://)[^/?#@\s]*@")


class Guard(enum.Enum):
    """What a request is asked for: everything, all but the connection token, or only whether it
    is meant for this host."""

    TOKEN = "token"  # noqa: S105 - the kind of guard, not a secret
    ORIGIN = "origin"
    HOST = "host"


@attrs.frozen
class Refused:
    """A request that is not let in: the HTTP status, words for a person, headers."""

    status: int
    words: str
    headers: tuple[tuple[str, str], ...] = ()


@attrs.frozen
class _Authority:
    """A host and the port said with it; the host in lower case, an address normalized."""

    host: str
    port: int | None

    @property
    def address(self) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
        try:
            return ipaddress.ip_address(self.host)
        except ValueError:
            return None

    @property
    def loopback(self) -> bool:
        address = self.address
        return self.host == "localhost" if address is None else address.is_loopback


@attrs.frozen(kw_only=True)
class Policy:
    """What a listener admits. `bound_to` completes it once the address is known."""

    token: str | None = attrs.field(default=None, repr=False)
    """The connection token; None admits without one."""
    hosts: frozenset[str] = frozenset()
    """More names this host answers to, without a port: what a proxy or DNS calls it."""
    origins: frozenset[str] = frozenset()
    """More origins that may ask, as a browser spells one: `https://agents.example`."""
    port: int | None = None
    """The port it listens on."""
    any_address: bool = False
    """It listens on every address of the machine, so any address literal may be its own."""
    any_host: bool = False
    """It listens where no browser reaches (a UNIX socket), so `Host` says nothing."""

    def bound_to(self, host: str | None, port: int | None, names: frozenset[str]) -> "Policy":
        """This policy for a listener on `host` and `port`; None for a UNIX socket.

        `names` are what the machine calls itself; they count when it listens on every
        address.
        """
        if host is None:
            return attrs.evolve(self, port=None, any_host=True)
        wildcard = ipaddress.ip_address(host.partition("%")[0]).is_unspecified
        return attrs.evolve(
            self,
            port=port,
            any_address=wildcard,
            hosts=self.hosts | (names if wildcard else {host}),
        )

    def check(self, head: RequestHead, guard: Guard = Guard.TOKEN) -> Refused | None:
        """Why `head` is not let in, or None when it is."""
        if (refused := self._check_host(head)) is not None:
            return refused
        if guard is Guard.HOST:
            return None
        if (refused := self._check_origin(head)) is not None:
            return refused
        return None if guard is Guard.ORIGIN else self._check_token(head)

    # -- Host ------------------------------------------------------------------

    def _check_host(self, head: RequestHead) -> Refused | None:
        if self.any_host:
            return None
        found = head.values(b"host")
        if len(found) != 1:
            return Refused(403, f"a request names one Host; this one names {len(found)}")
        authority = _authority(found[0].decode("latin-1"))
        if authority is None:
            return Refused(403, "the Host header is not a name or an address with a port")
        # The port is not compared: a tunnel or a container maps it, and a page cannot
        # choose the name by it.
        if self._answers_to(authority) or (self.any_address and authority.address is not None):
            return None
        return Refused(
            403, "this host does not answer to the name in the Host header; add it to allowed hosts"
        )

    def _answers_to(self, authority: _Authority) -> bool:
        return authority.loopback or any(
            (known := _authority(name)) is not None and known.host == authority.host
            for name in self.hosts
        )

    # -- Origin ----------------------------------------------------------------

    def _check_origin(self, head: RequestHead) -> Refused | None:
        found = head.values(b"origin")
        if not found:
            return None
        if len(found) > 1:
            return Refused(403, "a request has one Origin at most")
        origin = _spelled(found[0].decode("latin-1"))
        if (
            origin == VSCODE_ORIGIN
            or origin in map(_spelled, self.origins)
            or self._is_own(origin, head)
        ):
            return None
        return Refused(403, "this Origin may not connect; add it to allowed origins")

    def _is_own(self, origin: str, head: RequestHead) -> bool:
        match = _ORIGIN.fullmatch(origin)
        if match is None or match[1] not in _DEFAULT_PORTS:
            return False
        authority = _authority(match[2])
        if authority is None:
            return False
        default = _DEFAULT_PORTS[match[1]]
        port = default if authority.port is None else authority.port
        # The page came from where the request goes: a page of this host's own, by
        # whatever name and mapped port it is reached.
        for value in head.values(b"host"):
            asked = _authority(value.decode("latin-1"))
            if asked is not None and (asked.host, asked.port or default) == (authority.host, port):
                return not self.any_host
        return port == self.port and self._answers_to(authority)

    # -- token -----------------------------------------------------------------

    def without_token(self, head: RequestHead) -> RequestHead:
        """`head` as a route may see it: without the token that let it in."""
        if self.token is None:
            return head
        expected = self.token.encode()
        query = b"&".join(
            part for part in head.query.split(b"&") if part.partition(b"=")[0] != b"tkn"
        )
        headers = tuple(
            (name, value)
            for name, value in head.headers
            if name != b"authorization" or not hmac.compare_digest(_bearer(value), expected)
        )
        target = head.path + (b"?" + query if query else b"")
        return attrs.evolve(head, target=target, headers=headers)

    def _check_token(self, head: RequestHead) -> Refused | None:
        if self.token is None:
            return None
        expected = self.token.encode()
        offered = offered_tokens(head)
        if any(hmac.compare_digest(expected, token) for token in offered):
            return None
        if offered:
            return Refused(401, "the connection token is wrong", _challenge("invalid_token"))
        return Refused(401, "a connection token is needed", _challenge(None))


def _challenge(error: str | None) -> tuple[tuple[str, str], ...]:
    words = 'Bearer realm="ahpd"' + (f', error="{error}"' if error else "")
    return (("WWW-Authenticate", words),)


def offered_tokens(head: RequestHead) -> list[bytes]:
    """The tokens a request offers: `?tkn=`, and `Authorization: Bearer`.

    One said twice in the same place is ambiguous and counts as wrong.
    """
    offered = []
    in_query = [
        unquote_to_bytes(value)
        for name, _, value in (part.partition(b"=") for part in head.query.split(b"&"))
        if name == b"tkn"
    ]
    for found in (in_query, [_bearer(value) for value in head.values(b"authorization")]):
        offered += found if len(found) == 1 else [b""][: len(found)]
    return offered


def _bearer(value: bytes) -> bytes:
    scheme, _, token = value.partition(b" ")
    return token.strip() if scheme.lower() == b"bearer" else b""


def _authority(text: str) -> _Authority | None:
    match = _AUTHORITY.fullmatch(text.lower())
    if match is None:
        try:  # a bare IPv6 address, as an endpoint spells what it is bound to
            return _Authority(str(ipaddress.ip_address(text.lower())), None)
        except ValueError:
            return None
    port = None if match[3] is None else int(match[3])
    if port is not None and port > 65535:
        return None
    host = match[1] or match[2].removesuffix(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None if match[1] or not host else _Authority(host, port)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return _Authority(str(address), port)


def _spelled(origin: str) -> str:
    return origin.strip().lower().removesuffix("/")


def redact(url: str | bytes) -> str:
    """`url` fit for a log line: no token, no credentials, no control characters, bounded."""
    text = url.decode("latin-1") if isinstance(url, bytes) else url
    text = _USERINFO.sub(r"\1***@", text[:2048])
    text = _QUERY_VALUE.sub(_hide_token, text)
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def _hide_token(match: re.Match[str]) -> str:
    name = unquote(match[2]).strip().lower()
    secret = name == "tkn" or _CREDENTIAL.search(name) is not None
    return f"{match[1]}{match[2]}=***" if secret else match[0]
