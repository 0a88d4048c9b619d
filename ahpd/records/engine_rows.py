"""The engines there are, as clients list them: the channel `x-ahpd-engines`.

Nothing is imported for it until somebody subscribes: then every engine is, and those that cannot
be are left out with a line. Source: PLUGINS.txt, `x-ahpd-engines`, "Connector choices".
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.extensions.rows import Rows
from ahpd.interfaces import Caller, Capability, Channel, IChannelHandle, Template
from ahpd.interfaces.engines import RecordFailure
from ahpd.protocol import State
from ahpd.records.engines import Engines
from ahpd.records.members import capabilities_of, schema_of, templates_of
from ahpd.records.row import TemplateIcons
from ahpd.records.rules import GRANTS

log = Logger()

SCHEME: Final = "x-ahpd-engines"


class EngineRows:
    """The rows of the engines.

    `stamped` puts the choices into a schema's fields that name connectors, `plugin_icons` are a
    plugin's own, by its id, `engine_icons` an engine's, by its name, and `template_icons` a
    template's, each as clients are sent it.
    """

    def __init__(
        self,
        engines: Engines,
        stamped: Callable[[State], State] = lambda schema: schema,
        plugin_icons: Callable[[str], Sequence[State]] = lambda plugin: (),
        engine_icons: Callable[[str], Sequence[State]] = lambda engine: (),
        template_icons: TemplateIcons = lambda engine, template: (),
    ) -> None:
        self._engines = engines
        self._stamped = stamped
        self._plugin_icons = plugin_icons
        self._engine_icons = engine_icons
        self._template_icons = template_icons
        self._filled = False
        self._said: set[str] = set()
        self.rows = Rows(
            SCHEME,
            title="Engines",
            description="What agents may be made of.",
            grant=GRANTS.list,
            key="name",
            own="none",
        )
        self.channel: Channel = attrs.evolve(self.rows.channel, snapshot=self._snapshot)

    def attach(self, handle: IChannelHandle) -> None:
        """See `Rows.attach`."""
        self.rows.attach(handle)

    def refresh(self) -> None:
        """Engines, or the connectors their records may name, are others: say what moved."""
        if self._filled:
            self._fill()

    def _snapshot(self, uri: str, caller: Caller) -> Any:
        if not self._filled:
            self._filled = True
            self._fill()
        return self.rows.channel.snapshot(uri, caller)

    def _fill(self) -> None:
        names = self._engines.names()
        for row in self.rows.rows:
            if row["name"] not in names:
                self.rows.remove(row["name"])
        for name in names:
            made = self._row(name)
            if made is None:
                self.rows.remove(name)
            else:
                self.rows.put(made)

    def _row(self, name: str) -> State | None:
        try:
            engine = self._engines.get(name)
        except RecordFailure as failure:
            if name not in self._said:
                self._said.add(name)
                log.error("an engine is not listed: {words}", words=str(failure))
            return None
        schema = schema_of(engine)
        if schema is None:
            return None
        row: State = {
            "name": name,
            "title": engine.title,
            "description": engine.description,
            "schema": self._stamped(schema),
        }
        plugin = self._engines.registrant(name)
        if plugin is not None:
            row["plugin"] = plugin
        else:
            distribution = self._engines.distribution(name)
            if distribution is not None:
                row["distribution"] = distribution
        icons = self._engine_icons(name) or (() if plugin is None else self._plugin_icons(plugin))
        if icons:
            row["icons"] = [dict(icon) for icon in icons]
        capabilities = [_capability(each) for each in capabilities_of(engine)]
        if capabilities:
            row["capabilities"] = capabilities
        templates = [self._template(name, each) for each in templates_of(engine)]
        if templates:
            row["templates"] = templates
        for key, names in (("hostOnly", engine.host_only), ("keyVariables", engine.key_variables)):
            if names:
                row[key] = list(names)
        return row

    def _template(self, engine: str, template: Template) -> State:
        row: State = {"id": template.id, "name": template.name}
        if template.description:
            row["description"] = template.description
        icons = self._template_icons(engine, template)
        if icons:
            row["icons"] = [dict(icon) for icon in icons]
        if template.model is not None:
            row["model"] = template.model
        if template.config:
            row["config"] = dict(template.config)
        if template.install:
            row["install"] = list(template.install)
        if template.page is not None:
            row["page"] = template.page
        return row


def _capability(capability: Capability) -> State:
    row: State = {
        "type": capability.type,
        "name": capability.name,
        "title": capability.title,
    }
    if capability.description:
        row["description"] = capability.description
    return row
