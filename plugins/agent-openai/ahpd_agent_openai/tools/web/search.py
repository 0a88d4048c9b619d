"""`web_search`: the configured providers, asked one after another until one answers."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import Permission, ToolEffects
from ahpd_agent_openai.tools.arguments import Argument
from ahpd_agent_openai.tools.base import Tool, clipped
from ahpd_agent_openai.tools.values import (
    CallContext,
    Described,
    ToolOutcome,
    ToolProblem,
    text_block,
)
from ahpd_agent_openai.tools.web.providers import Provider, Result, in_words
from ahpd_agent_openai.tools.web.requests import Web

log = Logger()

USUAL_RESULTS: Final = 8
MOST_RESULTS: Final = 20


class WebSearch(Tool):
    """Searches the web."""

    name = "web_search"
    title = "Search the Web"
    kind = "custom-tool"
    effects = ToolEffects(network=True)
    description = (
        "Search the web: titles, URLs and a few words of each page. Read a page with web_fetch."
    )
    arguments = (
        Argument(
            name="query",
            kind="string",
            description="what to search for",
            required=True,
            longest=400,
        ),
        Argument(
            name="count",
            kind="integer",
            description=f"how many results; {USUAL_RESULTS} where it is left out",
            least=1,
            most=MOST_RESULTS,
        ),
    )

    def __init__(self, web: Web, providers: Sequence[Provider]) -> None:
        self._web = web
        self._providers = tuple(providers)

    def described(self, arguments: Mapping[str, Any]) -> Described:
        """See `ITool.described`."""
        return self._described(
            f"Searching the web for {clipped(arguments['query'], 120)}",
            arguments,
            Permission(kind=self.kind),
        )

    async def run(self, arguments: Mapping[str, Any], call: CallContext) -> ToolOutcome:
        """See `ITool.run`."""
        query: str = arguments["query"]
        most = arguments.get("count", USUAL_RESULTS)
        problems = []
        for provider in self._providers:
            try:
                results = await self._asked(provider, query, most)
            except ToolProblem as problem:
                log.info("{name} did not search: {problem}", name=provider.name, problem=problem)
                problems.append(f"{provider.name}: {problem}")
                continue
            text = in_words(results)
            return ToolOutcome(
                text=text,
                past_tense=f"Searched the web for {clipped(query, 120)}",
                content=[text_block(text)],
            )
        raise ToolProblem("nobody could be asked. " + "; ".join(problems))

    async def _asked(self, provider: Provider, query: str, most: int) -> list[Result]:
        answer = await self._web.ask(provider.ask(query, most))
        if answer.leads_to is not None or answer.status != 200:
            raise ToolProblem(f"it answered with HTTP {answer.status}")
        if answer.cut:
            raise ToolProblem("its answer broke off")
        return provider.results(answer.data)[:most]
