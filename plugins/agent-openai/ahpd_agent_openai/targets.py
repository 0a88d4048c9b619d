"""Which endpoint a model is asked at, with which headers and which key.

A model is named `<provider>/<model id>` and split at the first slash, so an id that holds
slashes is left whole. Source: PLUGINS.txt, "The harness configuration is the default".

A key, and the headers that may hold one, go to the endpoint they were given for and to no other:
a token a client lent comes first, for the resource it was lent for; then the record's own
key, for the record's `baseUrl`, or for the provider of its model where it names none; then
the provider's own key, or the variable its entry names.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import attrs

from ahpd.interfaces import AgentFailure, RecordFailure
from ahpd_agent_openai.settings import Provider, Settings, endpoint_url

NO_MODEL = "noModel"
NO_ENDPOINT = "noEndpoint"


@attrs.frozen(kw_only=True)
class Target:
    """One model at one endpoint."""

    provider: str
    """The provider's id, which rows of the endpoint's models begin with."""
    model: str
    """The id the endpoint knows it by."""
    base_url: str
    """Without a slash at its end."""
    resource: str
    """The protected resource a client lends a token for."""
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    key: str | None = attrs.field(default=None, repr=False)
    """What is configured for it; a lent token goes before it."""
    key_hint: str = ""
    """Where its key is to be put, for a person."""
    unset: str | None = None
    """The variable its key should be in, where that is not set and no other key is there."""

    @property
    def ref(self) -> str:
        """`<provider>/<model id>`."""
        return f"{self.provider}/{self.model}"

    @property
    def where(self) -> str:
        """The endpoint in a sentence; it holds no secret."""
        parts = urlsplit(self.base_url)
        return f"the endpoint at {parts.hostname}" + (f":{parts.port}" if parts.port else "")

    def secrets(self, key: str | None) -> tuple[str | None, ...]:
        """What no words may hold."""
        return (key, self.key, *self.headers.values())


class Targets:
    """The endpoints of one record. `provider` is the agent's id."""

    def __init__(self, provider: str, settings: Settings, environ: Mapping[str, str]) -> None:
        self._provider = provider
        self._settings = settings
        self._environ = environ

    def of(self, named: str | None, config: Mapping[str, Any] | None = None) -> Target:
        """The target of the model `named` for a turn; the session's, the record's without one.

        `config` is the session's configuration, whose `model` and `baseUrl` go before the
        record's. Raises `AgentFailure` where there is no model or no endpoint.
        """
        config = config or {}
        own = self._own_endpoint(config.get("baseUrl"))
        ref = named or config.get("model") or self._settings.model
        if not isinstance(ref, str) or not ref:
            raise AgentFailure(
                f'No model is configured. Choose one, or add "model", as '
                f'"<provider>/<model>", to the record of the agent {self._provider}.',
                NO_MODEL,
            )
        if own is not None:
            return self._make(
                self._provider, ref.removeprefix(f"{self._provider}/"), own, None, key=None
            )
        first, slash, rest = ref.partition("/")
        entry = self._settings.provider(first) if slash and rest else None
        if entry is not None:
            return self._of_entry(entry, rest)
        if slash and rest and first == self._provider:
            return self._of_record(rest)
        return self._of_record(ref)

    def _own_endpoint(self, given: Any) -> str | None:
        """The endpoint a session names. Raises `AgentFailure` for what is none."""
        if not isinstance(given, str) or not given:
            return None
        try:
            return endpoint_url(given, "baseUrl")
        except RecordFailure as wrong:
            raise AgentFailure(str(wrong), NO_ENDPOINT) from None

    def default(self) -> Target | None:
        """The target of a session that chooses nothing; None where nothing is configured."""
        try:
            return self.of(None)
        except AgentFailure:
            return None

    def endpoints(self) -> Sequence[Target]:
        """One target for every endpoint there is, the default's first; `model` is empty."""
        found: list[Target] = []
        default = self.default()
        if default is not None:
            found.append(attrs.evolve(default, model=""))
        elif self._settings.base_url is not None:
            found.append(self._of_record(""))
        for entry in self._settings.providers:
            if all(entry.base_url != one.base_url for one in found):
                found.append(self._of_entry(entry, ""))
        return found

    # -- one endpoint ---------------------------------------------------------------------

    def _of_record(self, model: str) -> Target:
        """A model whose name names no provider: at the record's endpoint, or the first entry's."""
        settings = self._settings
        if settings.base_url is None:
            if not settings.providers:
                raise AgentFailure(
                    f'No endpoint is configured for {model!r}. Add "baseUrl", or an entry of '
                    f'"providers" with an "id" and a "baseUrl", to the record of the agent '
                    f"{self._provider}.",
                    NO_ENDPOINT,
                )
            return self._of_entry(settings.providers[0], model)
        entry = next((one for one in settings.providers if one.base_url == settings.base_url), None)
        if entry is not None:
            return self._of_entry(entry, model)
        return self._make(self._provider, model, settings.base_url, None, key=self._record_key())

    def _of_entry(self, entry: Provider, model: str) -> Target:
        key = entry.key or self._variable(entry.key_variable)
        if self._is_the_records(entry):
            key = self._record_key() or key
        return self._make(entry.id, model, entry.base_url, entry, key=key)

    def _is_the_records(self, entry: Provider) -> bool:
        """Whether the record's own key is for this provider too."""
        settings = self._settings
        if settings.base_url is not None:
            return origin(settings.base_url) == origin(entry.base_url)
        first = (settings.model or "").partition("/")[0]
        named = settings.provider(first) or next(iter(settings.providers), None)
        return named is entry

    def _home(self) -> str | None:
        """The endpoint of the record: its own, its model's provider's, or the first one's."""
        settings = self._settings
        if settings.base_url is not None:
            return settings.base_url
        named = settings.provider((settings.model or "").partition("/")[0])
        entry = named or next(iter(settings.providers), None)
        return None if entry is None else entry.base_url

    def _record_key(self) -> str | None:
        return self._settings.key or self._variable(self._settings.key_variable)

    def _variable(self, name: str | None) -> str | None:
        # A key that was read from a file often ends in a line end, which no header may.
        return None if name is None else self._environ.get(name, "").strip() or None

    def _make(
        self, provider: str, model: str, base_url: str, entry: Provider | None, *, key: str | None
    ) -> Target:
        place = f"the record of the agent {self._provider}"
        if entry is not None:
            place = f'the entry "{entry.id}" of "providers" in {place}'
        variable = self._settings.key_variable if entry is None else entry.key_variable
        hint = f'Sign in, or put a key into "apiKey" of {place}'
        hint += f", or into the variable {variable}." if variable else "."
        return Target(
            provider=provider,
            model=model,
            base_url=base_url,
            resource=self.resource_of(base_url),
            headers=self._headers_for(base_url) if entry is None else entry.headers,
            key=key,
            key_hint=hint,
            unset=variable if key is None else None,
        )

    def _headers_for(self, base_url: str) -> Mapping[str, str]:
        """The record's headers, which may hold a key, for its own endpoint and no other."""
        own = self._settings.base_url
        return self._settings.headers if own and origin(own) == origin(base_url) else {}

    def resource_of(self, base_url: str) -> str:
        """The protected resource of an endpoint: its origin, or a constant for one without TLS."""
        if self._settings.resource is not None and base_url == self._home():
            return self._settings.resource
        if base_url.startswith("https://"):
            return origin(base_url)
        return f"urn:ahpd:endpoint:{origin(base_url)}"


def origin(url: str) -> str:
    """Scheme, host and port of a URL."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
