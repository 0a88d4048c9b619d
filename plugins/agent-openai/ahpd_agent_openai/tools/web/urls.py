"""URLs as a fetch takes them: http and https, no more in them than a page's address needs.

Whatever two programs might read differently is refused, not repaired: whose name is looked
up and whose is shown to people and rules has to be one and the same.
"""

import re
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

import attrs

from ahpd_agent_openai.tools.values import ToolProblem
from ahpd_agent_openai.tools.web.addresses import Address, read

LONGEST_URL: Final = 4096
#: What a path and a query keep as it is; what is percent-encoded already stays so.
_KEPT: Final = "/!$&'()*+,;=:@%~-._"
_PORTS: Final = {"http": 80, "https": 443}
_NAME: Final = re.compile(
    r"(?=.{1,253}\Z)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*"
)
#: A last label that other programs read as the end of a number.
_NUMERIC: Final = re.compile(r"([0-9]+|0x[0-9a-f]*)")

#: Ports of services that are no web server and may take a request for something else
#: (WHATWG Fetch, "port blocking").
_OTHER_SERVICES: Final = frozenset(
    (
        0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95,
        101, 102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179,
        389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601,
        636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566,
        6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
    )
)  # fmt: skip


@attrs.frozen(kw_only=True)
class Target:
    """Where a request goes."""

    scheme: str
    host: str
    """An ASCII name in lower case without a dot at its end, or an address as it is written."""
    port: int
    rest: str
    """The path and query, ASCII."""
    address: Address | None
    """The address `host` is; None for a name."""

    @property
    def url(self) -> str:
        """The URL, without what no request carries."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.rest}"

    def is_of(self, other: "Target") -> bool:
        """Whether this is of the host of `other`, reached by the same port and scheme.

        The usual port of `https` in place of that of `http` is the same, too.
        """
        if self.host != other.host:
            return False
        if self.scheme == other.scheme:
            return self.port == other.port
        return (other.scheme, other.port, self.port) == ("http", 80, 443)


def target(url: str) -> Target:
    """Where a URL leads. Raises `ToolProblem` in words that say what is wrong with it."""
    url = url.strip(" ")
    if len(url) > LONGEST_URL:
        raise ToolProblem(f"the URL has more than {LONGEST_URL} characters")
    if re.search("[\x00-\x20\x7f-\xa0\\\\]", url) is not None:
        raise ToolProblem(f"{url!r} holds a space, a control character or a backslash")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ToolProblem(f"{url!r} is no URL: {error}") from None
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not url[len(scheme) :].startswith("://"):
        raise ToolProblem(f"{url!r} is no http or https URL; nothing else is fetched")
    if "@" in parts.netloc:
        raise ToolProblem("the URL holds a user's name, and a fetch goes without credentials")
    host, address = _host(parts.hostname or "", parts.netloc)
    port = _PORTS[scheme] if port is None else port
    if port in _OTHER_SERVICES:
        raise ToolProblem(f"port {port} is another service's; no page is fetched from it")
    rest = quote(parts.path or "/", safe=_KEPT)
    if parts.query:
        rest += "?" + quote(parts.query, safe=_KEPT + "?")
    return Target(scheme=scheme, host=host, port=port, rest=rest, address=address)


def _host(given: str, netloc: str) -> tuple[str, Address | None]:
    if netloc.startswith("["):
        address = read(given)
        if address is None or "%" in given:
            raise ToolProblem(f"[{given}] is no IPv6 address that can be reached from here")
        return str(address), address
    name = (given if given.isascii() else _ascii(given)).lower().removesuffix(".")
    if _NAME.fullmatch(name) is None:
        raise ToolProblem(f"{given!r} is no host's name")
    if _NUMERIC.fullmatch(name.rpartition(".")[2]) is not None:
        address = read(name)
        if address is None:
            raise ToolProblem(f"{given!r} is no host's name, and no address of four plain numbers")
        return str(address), address
    return name, None


def _ascii(name: str) -> str:
    import idna  # noqa: PLC0415 - its tables are large, and few names need them

    try:
        return idna.encode(name, uts46=True, transitional=False).decode("ascii")
    except (idna.IDNAError, UnicodeError):
        raise ToolProblem(f"{name!r} is no host's name") from None


def followed(base: Target, location: str) -> Target:
    """Where a redirect leads. Raises `ToolProblem`."""
    try:
        return target(urljoin(base.url, location.strip(" \t")))
    except ValueError as error:
        raise ToolProblem(f"it redirects to {location[:200]!r}, which is no URL: {error}") from None
