"""Who is asked for a search, and what each answers.

Each provider is a request and a reading of its answer; neither touches the network itself.
Formats: Brave Search API, "Web Search"; Tavily, `POST /search`; DuckDuckGo's page without
scripts, `html.duckduckgo.com/html/`, which nobody documents and which may change.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

import attrs

from ahpd.wire.codec import decode, encode
from ahpd_agent_openai.tools.values import ToolProblem
from ahpd_agent_openai.tools.web.asking import Ask
from ahpd_agent_openai.tools.web.markup import Tag, tokens
from ahpd_agent_openai.tools.web.readable import readable

#: Characters of one result's words.
LONGEST_SNIPPET: Final = 500


@attrs.frozen
class Result:
    """One page a search found."""

    title: str
    url: str
    snippet: str = ""


class Provider(Protocol):
    """Somebody who searches."""

    @property
    def name(self) -> str:
        """What the configuration calls it."""

    def ask(self, query: str, most: int) -> Ask:
        """The request for a search."""

    def results(self, data: bytes) -> list[Result]:
        """What it found. Raises `ToolProblem` for an answer that is none."""


@attrs.frozen
class Brave:
    """Brave Search."""

    key: str = attrs.field(repr=False)
    address: str = "https://api.search.brave.com/res/v1/web/search"
    name: str = "brave"

    def ask(self, query: str, most: int) -> Ask:
        """See `Provider.ask`."""
        asked = urlencode({"q": query[:400], "count": min(most, 20)})
        return Ask(
            url=f"{self.address}?{asked}",
            headers={"Accept": "application/json", "X-Subscription-Token": self.key},
            redirects=0,
        )

    def results(self, data: bytes) -> list[Result]:
        """See `Provider.results`."""
        web = _object(data, self.name).get("web", {})
        rows = web.get("results", []) if isinstance(web, dict) else None
        return _read(self.name, rows, "description")


@attrs.frozen
class Tavily:
    """Tavily."""

    key: str = attrs.field(repr=False)
    address: str = "https://api.tavily.com/search"
    name: str = "tavily"

    def ask(self, query: str, most: int) -> Ask:
        """See `Provider.ask`."""
        return Ask(
            url=self.address,
            method="POST",
            headers={
                "Accept": "application/json",
                "Authorization": f"Bearer {self.key}",
                "Content-Type": "application/json",
            },
            body=encode({"query": query[:400], "max_results": min(most, 20)}),
            redirects=0,
        )

    def results(self, data: bytes) -> list[Result]:
        """See `Provider.results`."""
        return _read(self.name, _object(data, self.name).get("results"), "content")


@attrs.frozen
class DuckDuckGo:
    """DuckDuckGo, which needs no key."""

    address: str = "https://html.duckduckgo.com/html/"
    name: str = "duckduckgo"

    def ask(self, query: str, most: int) -> Ask:
        """See `Provider.ask`."""
        return Ask(
            url=f"{self.address}?{urlencode({'q': query[:400]})}",
            headers={"Accept": "text/html"},
            redirects=0,
        )

    def results(self, data: bytes) -> list[Result]:
        """See `Provider.results`."""
        page = data.decode("utf-8", "replace")
        found = _anchors(page, self.address)
        if not found and "result" not in page.lower():
            raise ToolProblem("duckduckgo answered with a page that holds no results")
        return found


def _object(data: bytes, name: str) -> Mapping[str, Any]:
    try:
        value = decode(data)
    except ValueError:
        raise ToolProblem(f"{name} answered with something that is not JSON") from None
    if not isinstance(value, dict):
        raise ToolProblem(f"{name} answered with something else than an object")
    return value


def _read(name: str, rows: Any, words: str) -> list[Result]:
    """Results of JSON rows; one without a URL is passed over."""
    if not isinstance(rows, list):
        raise ToolProblem(f"{name} answered without a list of results")
    found = []
    for row in rows:
        if isinstance(row, dict) and isinstance(row.get("url"), str):
            title, snippet = (_plain(row.get(key)) for key in ("title", words))
            found.append(Result(title or row["url"], row["url"], snippet))
    return found


def _plain(value: Any) -> str:
    """Words in one line; what is marked bold in them is not."""
    if not isinstance(value, str):
        return ""
    text = readable(value, "")[1] if re.search("[<&]", value) else value
    return " ".join(text.split())[:LONGEST_SNIPPET]


@attrs.define
class _Open:
    """A result that is being read off a page."""

    url: str
    title: list[str] = attrs.field(factory=list)
    snippet: list[str] = attrs.field(factory=list)

    def result(self) -> Result:
        """It, read."""
        title, snippet = (" ".join("".join(part).split()) for part in (self.title, self.snippet))
        return Result(title or self.url, self.url, snippet[:LONGEST_SNIPPET])


def _anchors(page: str, base: str) -> list[Result]:
    """Results of a page: links of the class `result__a`, their words in `result__snippet`."""
    found: list[_Open] = []
    into: list[str] | None = None
    element = ""
    for token in tokens(page):
        if isinstance(token, str):
            if into is not None:
                into.append(token)
            continue
        if token.closing:
            if token.name == element:
                into = None
            continue
        classes = token.attributes.get("class", "").split()
        if "result__a" in classes:
            url = _meant(token, base)
            into = None
            if url is not None:
                found.append(_Open(url))
                into, element = found[-1].title, token.name
        elif "result__snippet" in classes and found:
            into, element = found[-1].snippet, token.name
    return [each.result() for each in found]


def _meant(link: Tag, base: str) -> str | None:
    """The page a link of DuckDuckGo's leads to; None for an advertisement or what is no page."""
    try:
        url = urljoin(base, link.attributes.get("href", ""))
        parts = urlsplit(url)
    except ValueError:
        return None
    if (parts.hostname or "").endswith("duckduckgo.com"):
        if parts.path != "/l/":
            return None
        url = next(iter(parse_qs(parts.query).get("uddg", [])), "")
    return url if url.startswith(("http://", "https://")) else None


def in_words(results: Sequence[Result]) -> str:
    """Results as a model is told them."""
    lines = []
    for number, result in enumerate(results, 1):
        lines.append(f"{number}. {result.title}\n   {result.url}")
        if result.snippet:
            lines.append(f"   {result.snippet}")
    return "\n".join(lines) or "[nothing was found]"
