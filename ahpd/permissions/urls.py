"""URLs as rules look at them: VS Code's URL approval, and its network filter.

A pattern of `WebFetch(...)` is compared with scheme, authority and path; a `Domain(...)` rule
with the host alone. A URL two programs could read differently (a backslash, a name in front of
the host, a host written as a number) is approved by nothing, and may be any.
"""

import ipaddress
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

import attrs

from ahpd.permissions.patience import ENDLESS, Patience
from ahpd.permissions.patterns import in_turn
from ahpd.permissions.rules import DOMAIN, Named, Rule

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/?#]*)([^?#]*)(?:[?#].*)?", re.DOTALL)
_ODD: Final = re.compile(r"[\x00-\x20\x7f\\]|[^\x00-\x7f]")
_HOST: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?", re.ASCII)
_DOMAIN: Final = re.compile(
    r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*", re.ASCII
)
_ESCAPED_STAR: Final = re.compile("%2a", re.IGNORECASE)
_DEFAULT_PORTS: Final = {"http": "80", "https": "443"}
_HAS_SCHEME: Final = re.compile(r"[^./:]*://")
_MOST_URL: Final = 2048
#: How often escapes are undone: some of those who serve a path do so behind another.
_MOST_UNDONE: Final = 2
_MOST_HOST: Final = 255
_MOST_PATTERN: Final = 1000
_MOST_STARS: Final = 6
#: How many of them the authority may have.
_MOST_IN_AUTHORITY: Final = 3
_CASELESS: Final = frozenset({"github.com"})


@attrs.frozen
class Url:
    """A URL every program reads the same."""

    scheme: str
    host: str
    port: str
    """"" where none is written."""
    paths: tuple[str, ...]
    """The path without the slashes it ends in, as it is written, and as whoever fetches it and
    whoever serves it may read that: `.` and `..` followed, escapes undone, slashes made one."""

    @property
    def authority(self) -> str:
        return f"{self.host}:{self.port}" if self.port else self.host

    @property
    def origin(self) -> str:
        """What a grant for its host is about."""
        return f"{self.scheme}://{self.authority}"


def read_url(url: str) -> Url | None:
    """`url` taken apart; None for one that could be read in more than one way."""
    found = _URL.fullmatch(url) if len(url) <= _MOST_URL else None
    if found is None or _ODD.search(url):
        return None
    host, port = _authority(found[2])
    if host is None:
        return None
    path = found[3].lower() if host in _CASELESS else found[3]
    return Url(found[1].lower(), host, port, _readings(path))


def _readings(path: str) -> tuple[str, ...]:
    """See `Url.paths`."""
    undone = path
    for _ in range(_MOST_UNDONE):
        undone = unquote(undone, errors="surrogateescape")
    plain = re.sub(r"[/\\]+", "/", undone)
    found = (path, _followed(path), undone, _followed(undone), plain, _followed(plain))
    return tuple(dict.fromkeys(each.rstrip("/") for each in found))


def _authority(text: str) -> tuple[str | None, str]:
    """Host and port as they are compared; None for a host that could be another one."""
    if text.startswith("["):
        inside, closed, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
        try:
            host = (
                f"[{ipaddress.IPv6Address(inside).compressed}]"
                if closed and "%" not in inside
                else None
            )
        except ValueError:
            host = None
        return (host if rest in ("", f":{port}") and _is_port(port) else None), port
    name, _, port = text.lower().partition(":")
    name = name.removesuffix(".")
    if len(name) > _MOST_HOST or not _is_port(port) or not _HOST.fullmatch(name) or ".." in name:
        return None, port
    last = name.rpartition(".")[2]
    if last.isdigit() or re.fullmatch(r"0x[0-9a-f]*", last):
        try:
            name = str(ipaddress.IPv4Address(name))
        except ValueError:
            return None, port
    return name, port


def _is_port(text: str) -> bool:
    return text == "" or (text.isascii() and text.isdigit() and len(text) <= 5)


def _followed(path: str) -> str:
    made: list[str] = []
    for segment in path.split("/"):
        plain = re.sub("%2e", ".", segment, flags=re.IGNORECASE)
        if plain == "..":
            if len(made) > 1:
                made.pop()
        elif plain != ".":
            made.append(segment)
    return "/".join(made)


@attrs.frozen
class _UrlPattern:
    scheme: str | None
    authority: re.Pattern[str]
    path: re.Pattern[str]
    plain_path: re.Pattern[str]
    """With its escapes undone, for a path whose are."""

    def matches(self, url: Url, authority: str, path: str) -> bool:
        if self.scheme is None:
            if url.scheme not in ("http", "https"):
                return False
        elif self.scheme != url.scheme:
            return False
        if not self.authority.fullmatch(authority):
            return False
        return bool(self.path.fullmatch(path) or self.plain_path.fullmatch(path))


@lru_cache(maxsize=16384)
def _pattern(text: str) -> _UrlPattern | None:
    """A pattern of VS Code's URL approval; None for one that means nothing."""
    if len(text) > _MOST_PATTERN or text.count("*") > _MOST_STARS or _ODD.search(text):
        return None
    scheme, text = (
        (text.partition("://")[0].lower(), text.partition("://")[2])
        if _HAS_SCHEME.match(text)
        else (None, text)
    )
    authority, slash, path = re.split("[?#]", text, maxsplit=1)[0].partition("/")
    path = (slash + path).rstrip("/")
    authority = authority.lower()
    if authority.count("*") > _MOST_IN_AUTHORITY:
        return None
    if authority in _CASELESS:
        path = path.lower()
    ports = authority.endswith(":*")
    name = authority[:-2] if ports else authority
    return _UrlPattern(
        scheme,
        re.compile(_authority_expression(name) + ("(?::[0-9]+)?" if ports else ""), re.DOTALL),
        _path_pattern(path),
        _path_pattern(path if _ESCAPED_STAR.search(path) else unquote(path)),
    )


def _path_pattern(path: str) -> re.Pattern[str]:
    return re.compile(_path_expression(path) + "(?:/.*)?", re.DOTALL)


def _authority_expression(part: str) -> str:
    made: list[str] = []
    at = 0
    while at < len(part):
        if part[at] != "*":
            made.append(re.escape(part[at]))
        elif part.startswith("*.", at):
            # Any subdomain, or none where a label begins.
            begins = at == 0 or part[at - 1] == "."
            made.append(r"(?:[^/:]*\.)?" if begins else r"[^/:]*\.")
            at += 1
        else:
            # At its end it stands for something; elsewhere for nothing as well.
            made.append(".+" if at == len(part) - 1 else ".*")
        at += 1
    return "".join(made)


def _path_expression(part: str) -> str:
    first, *others = map(re.escape, part.split("*"))
    if others and not others[-1]:
        others[-1] = "."  # at its end a star stands for something
    return first + in_turn(others)


# -- the network filter's hosts --------------------------------------------------------


def normal_host(text: str) -> str | None:
    """A host as the network filter writes it, `*.` in front kept; None for what is no host."""
    text = text.strip().lower()
    if text == "*":
        return "*"
    wild = text.startswith("*.")
    host, _ = _authority(text.removeprefix("*.").partition("@")[2] or text.removeprefix("*."))
    if host is None or (wild and host.startswith("[")):
        return None
    if not host.startswith("[") and not _DOMAIN.fullmatch(host):
        return None
    return f"*.{host}" if wild else host


def host_of_rule(argument: str) -> str | None:
    """The host that a `Domain(...)` rule is about, whatever scheme and path are written with it."""
    authority = re.split(r"[/?#]", re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", argument.strip()))[0]
    return normal_host(authority)


def host_named(host: str, pattern: str) -> bool:
    """Whether a normal host is one that a normal pattern means."""
    if pattern.startswith("*."):
        return host == pattern[2:] or host.endswith(pattern[1:])
    return pattern in ("*", host)


@attrs.frozen
class UrlSubject:
    """A URL that is fetched, as `WebFetch(...)` and `Domain(...)` rules look at it."""

    url: Url | None
    """None for one that could be read in more than one way."""
    patience: Patience = ENDLESS

    def named_by(self, rule: Rule) -> Named:
        url = self.url
        self.patience.left()
        if url is None:
            return Named.MAYBE
        argument = rule.argument or ""
        if rule.family == DOMAIN:
            host = host_of_rule(argument)
            return Named.YES if host is not None and host_named(url.host, host) else Named.NO
        pattern = _pattern(argument)
        if pattern is None:
            return Named.MAYBE
        authorities = {url.authority}
        if url.port in ("", _DEFAULT_PORTS.get(url.scheme)):
            authorities |= {url.host, f"{url.host}:{_DEFAULT_PORTS.get(url.scheme, '')}"}
        met = any(
            pattern.matches(url, authority, path) for authority in authorities for path in url.paths
        )
        return Named.YES if met else Named.NO

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """A pattern has to match however the path is read."""
        url = self.url
        if url is None:
            return None
        for rule in rules:
            self.patience.left()
            pattern = _pattern(rule.argument or "")
            if pattern is not None and all(
                pattern.matches(url, url.authority, path) for path in url.paths
            ):
                return rule.text
        return None
