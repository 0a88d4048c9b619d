"""The models a session can run on: what the endpoints list, and what clients are shown of it.

Each endpoint is asked once. A row is `<provider>/<model id>`; the configured model comes
first, and alone where no endpoint can be asked. Source: PLUGINS.txt, "The models a session
can run on"; AHP.txt, "What a model row says".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredList
from twisted.logger import Logger

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State
from ahpd_agent_openai.client import EndpointClient
from ahpd_agent_openai.settings import LEVELS, ModelSaid, Settings
from ahpd_agent_openai.targets import Target, Targets

log = Logger()

#: The key a client's picker writes into a model selection.
THINKING: Final = "thinkingLevel"

#: Where servers put a model's context: OpenRouter, vLLM, LM Studio, Groq, llama.cpp and others.
#: What a server loaded a model with goes before what the model could hold.
_CONTEXTS: Final = (
    "loaded_context_length",
    "context_length",
    "max_model_len",
    "max_context_length",
    "context_window",
    "max_input_tokens",
    "n_ctx",
)
_MOST_MODELS: Final = 5000


@attrs.frozen(kw_only=True)
class ModelFacts:
    """What a list says of one model; None where it says nothing."""

    id: str
    name: str
    context: int | None = None
    output: int | None = None
    vision: bool | None = None
    reasons: bool = False


def models_of(value: Any) -> list[ModelFacts]:
    """The models of a list as it was answered; what is no model of it is left out.

    Raises `ValueError` for what is no list of models.
    """
    if isinstance(value, Mapping):
        value = value.get("data", value.get("models"))
    if not isinstance(value, list):
        raise ValueError("what it answered is no list of models")
    found: dict[str, ModelFacts] = {}
    for entry in value[:_MOST_MODELS]:
        facts = _facts(entry)
        if facts is not None:
            found.setdefault(facts.id, facts)
    return list(found.values())


def _facts(entry: Any) -> ModelFacts | None:
    if isinstance(entry, str) and entry:
        return ModelFacts(id=entry, name=entry)
    if not isinstance(entry, Mapping) or not isinstance(entry.get("id"), str) or not entry["id"]:
        return None
    if entry.get("type") in ("embedding", "embeddings", "rerank", "image", "moderation"):
        return None  # a server that says so lists what no chat can run on
    meta = entry.get("meta")
    top = entry.get("top_provider")
    sources = [entry, meta if isinstance(meta, Mapping) else {}]
    limits = [entry, top if isinstance(top, Mapping) else {}]
    name = entry.get("name")
    parameters = entry.get("supported_parameters")
    return ModelFacts(
        id=entry["id"],
        name=name if isinstance(name, str) and name else entry["id"],
        context=_count(sources, _CONTEXTS),
        output=_count(limits, ("max_completion_tokens", "max_output_tokens")),
        vision=_vision(entry),
        reasons=isinstance(parameters, list)
        and not {"reasoning", "reasoning_effort"}.isdisjoint(
            one for one in parameters if isinstance(one, str)
        ),
    )


def _count(sources: Sequence[Mapping[str, Any]], names: Sequence[str]) -> int | None:
    for source in sources:
        for name in names:
            value = source.get(name)
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
    return None


def _vision(entry: Mapping[str, Any]) -> bool | None:
    architecture = entry.get("architecture")
    if isinstance(architecture, Mapping):
        modalities = architecture.get("input_modalities")
        if isinstance(modalities, list):
            return "image" in modalities
    if entry.get("type") in ("vlm", "llm"):  # LM Studio's words
        return bool(entry["type"] == "vlm")
    capabilities = entry.get("capabilities")
    if isinstance(capabilities, Mapping) and isinstance(capabilities.get("vision"), bool):
        return bool(capabilities["vision"])
    return None


class Catalogue:
    """What the endpoints of one record list, once they were asked."""

    def __init__(
        self, provider: str, settings: Settings, targets: Targets, client: EndpointClient
    ) -> None:
        self._provider = provider
        self._settings = settings
        self._targets = targets
        self._client = client
        self._listed: dict[str, dict[str, ModelFacts]] = {}
        self._asking: Deferred[None] | None = None
        self._told: list[Callable[[], None]] = []
        self._rows: list[State] | None = None

    def on_changed(self, told: Callable[[], None]) -> None:
        """Call `told` when the rows are others."""
        self._told.append(told)

    def begin(self) -> None:
        """Ask the endpoints, unless they were asked. Returns at once."""
        if self._asking is None:
            self._asking = Deferred.fromCoroutine(self._ask_all())
            self._asking.addErrback(self._not_asked)

    def close(self) -> None:
        """Ask nobody any more."""
        if self._asking is None:
            self._asking = Deferred()
        else:
            self._asking.cancel()

    def _not_asked(self, failure: Any) -> None:
        if failure.check(CancelledError) is None:
            log.failure("asking for models failed", failure)

    async def _ask_all(self) -> None:
        endpoints = self._targets.endpoints()
        await DeferredList(
            [Deferred.fromCoroutine(self._ask(target)) for target in endpoints],
            consumeErrors=True,
        )

    async def _ask(self, target: Target) -> None:
        try:
            value = await self._client.models(target, target.key, self._settings.catalogue_timeout)
            found = models_of(value)
        except AgentFailure as failure:
            log.info("no models of {provider}: {why}", provider=self._provider, why=failure.message)
            return
        except ValueError as error:
            log.info("no models of {provider}: {why}", provider=self._provider, why=str(error))
            return
        before = self.rows()
        self._listed[target.base_url] = {facts.id: facts for facts in found}
        self._rows = None
        if self.rows() != before:
            for told in list(self._told):
                told()

    # -- what is known --------------------------------------------------------------------

    def rows(self) -> list[State]:
        """The models as clients are shown them (schema: SessionModelInfo), the default first."""
        if self._rows is None:
            self._rows = self._made_rows()
        return self._rows

    def _made_rows(self) -> list[State]:
        default = self._targets.default()
        rows: dict[str, State] = {}
        if default is not None:
            rows[default.ref] = self._row(default)
        for endpoint in self._targets.endpoints():
            for name in self._listed.get(endpoint.base_url, {}):
                target = attrs.evolve(endpoint, model=name)
                rows.setdefault(target.ref, self._row(target))
        return list(rows.values())

    def _row(self, target: Target) -> State:
        facts = self._of(target)
        row: State = {
            "id": target.ref,
            "provider": self._provider,
            "name": target.model if facts is None else facts.name,
        }
        context = self.context(target)
        if context is not None:
            row["maxContextWindow"] = context
        if facts is not None and facts.output is not None:
            row["maxOutputTokens"] = facts.output
        vision = self.vision(target)
        if vision is not None:
            row["supportsVision"] = vision
        levels = self.levels(target)
        if levels:
            row["configSchema"] = thinking_schema(levels)
        return row

    def _of(self, target: Target) -> ModelFacts | None:
        return self._listed.get(target.base_url, {}).get(target.model)

    def _said(self, target: Target) -> ModelSaid:
        """What the operator says, which is of the record's own endpoint."""
        endpoints = self._targets.endpoints()
        if endpoints and endpoints[0].base_url == target.base_url:
            return self._settings.models.get(target.model) or ModelSaid()
        return ModelSaid()

    def context(self, target: Target) -> int | None:
        """How many tokens the model holds; None where nobody says."""
        facts = self._of(target)
        return self._said(target).context or (None if facts is None else facts.context)

    def vision(self, target: Target) -> bool | None:
        """Whether the model takes pictures; None where nobody says."""
        said, facts = self._said(target).vision, self._of(target)
        return said if said is not None else None if facts is None else facts.vision

    def levels(self, target: Target) -> tuple[str, ...]:
        """The thinking levels it takes; none where nobody says."""
        said, facts = self._said(target).levels, self._of(target)
        if said is not None:
            return tuple(level for level in LEVELS if level in said)
        return LEVELS if facts is not None and facts.reasons else ()


_LABELS: Final = {"off": "Off", "low": "Low", "medium": "Medium", "high": "High"}
_DESCRIPTIONS: Final = {
    "off": "Answers without thinking first",
    "low": "Thinks little and answers soon",
    "medium": "Weighs thinking against time",
    "high": "Thinks longest",
}


def thinking_schema(levels: Sequence[str]) -> State:
    """A model's own setting (schema: ConfigSchema)."""
    offered: State = {
        "type": "string",
        "title": "Thinking Level",
        "description": "Controls how much the model reasons before it answers.",
        "enum": list(levels),
        "enumLabels": [_LABELS[level] for level in levels],
        "enumDescriptions": [_DESCRIPTIONS[level] for level in levels],
    }
    if "off" in levels:
        offered["default"] = "off"
    return {"type": "object", "properties": {THINKING: offered}}
