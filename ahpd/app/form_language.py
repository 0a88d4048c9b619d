"""The form of a new session in its reader's language, from the catalogs of whoever declares a key.

Source: PLUGINS.txt, "Text in the client's language".
"""

from collections.abc import Mapping

import attrs

from ahpd.app.plugin_side import PluginSide
from ahpd.plugins.texts import translated_setting
from ahpd.protocol import State
from ahpd.records.records_service import AgentRecordsService
from ahpd.records.service import AgentsService


@attrs.frozen(eq=False, repr=False)
class FormLanguage:
    """Knows which plugin a key of the form is of: its own, its agent's, or its engine's agent's."""

    side: PluginSide
    agents: AgentsService
    records: AgentRecordsService

    def translated(
        self, provider: str | None, properties: Mapping[str, State], locale: str | None
    ) -> Mapping[str, State]:
        """See `FromPlugins.in_language`."""
        if locale is None:
            return properties
        if provider is None:
            settings = self.side.plugins.folded.session_config
            whose = {key: settings[key].plugin for key in properties if key in settings}
        else:
            whose = dict.fromkeys(properties, self._plugin_of(provider) or "")
        return {
            key: translated_setting(key, held, locale, self.side.rows.texts_of(whose.get(key, "")))
            for key, held in properties.items()
        }

    def _plugin_of(self, provider: str) -> str | None:
        registered = self.side.plugins.folded.agents.get(provider)
        if registered is not None and registered.value is self.agents.agents.get(provider):
            return registered.plugin
        return self.records.registrant(provider)
