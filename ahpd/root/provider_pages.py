"""Settings of providers at the top of the root configuration, and the pages clients draw of them.

A plugin contributes a provider's: each property joins the root schema, its default held where
nothing is set, and what a client draws is listed in the root's `_meta`. Source: PLUGINS.txt,
`registerProviderConfiguration`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import Owned, ProviderConfiguration
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.shapes.config import ConfigPropertySchema

#: Where a window reads the pages: a list of them.
PAGES: Final = "vscode.agentCustomizationSettings"


@attrs.frozen(kw_only=True)
class Pages:
    """What a set of contributed configurations comes to."""

    properties: Mapping[str, State] = attrs.field(factory=dict)
    """By key, its schema (ConfigPropertySchema)."""
    defaults: Mapping[str, Any] = attrs.field(factory=dict)
    """What is held where nothing is set, by key."""
    pages: Sequence[State] = ()
    """`{provider, title, description, settings, configurationFile?}` of each provider."""
    problems: Sequence[tuple[str, str]] = ()
    """What of them was left out, and why: the plugin's id, and a line."""


def pages_of(items: Mapping[str, Owned], declared: Collection[str]) -> Pages:
    """What `items` (`ProviderConfiguration` by provider) come to beside the `declared` keys.

    A key that is declared already stays as it was declared first; the rest of its page stands.
    """
    properties: dict[str, State] = {}
    owners: dict[str, str] = {}
    defaults: dict[str, Any] = {}
    pages: list[State] = []
    problems: list[tuple[str, str]] = []
    for provider, owned in items.items():
        given: ProviderConfiguration = owned.value
        for key, schema in given.properties.items():
            at = f"{provider}'s setting {key}"
            if key in declared or key in owners:
                by = f"{owners[key]}'s configuration" if key in owners else "this host"
                problems.append((owned.plugin, f"{at} is left out: {by} declares it already"))
                continue
            try:
                check(schema, ConfigPropertySchema, at=key)
            except ShapeError as wrong:
                problems.append((owned.plugin, f"{at} is left out: {wrong}"))
                continue
            owners[key] = provider
            properties[key] = dict(schema)
            if "default" in schema:
                defaults[key] = schema["default"]
        pages.append(_page(given))
    return Pages(properties=properties, defaults=defaults, pages=pages, problems=problems)


def _page(given: ProviderConfiguration) -> State:
    page: State = {
        "provider": given.provider,
        "title": given.title,
        "description": given.description,
        "settings": [dict(setting) for setting in given.settings],
    }
    if given.configuration_file is not None:
        page["configurationFile"] = given.configuration_file
    return page
