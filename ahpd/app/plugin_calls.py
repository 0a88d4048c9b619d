"""What a built host does for its plugins (`ahpd.plugins.world.HostSide`)."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from typing import Any

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.app.plugin_connection import PluginConnections
from ahpd.canvases.service import Canvases
from ahpd.extensions.registry import Extensions
from ahpd.extensions.triggers import TriggerTypes
from ahpd.interfaces import (
    ChatRequest,
    IAutomationStore,
    IChannelHandle,
    IConnectionToHost,
    IUsageStore,
    PluginError,
    SessionRequest,
)
from ahpd.plugins.copies import object_copy
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError
from ahpd.protocol.json_values import checked_text, misfit
from ahpd.sessions.asked_for import checked_name
from ahpd.sessions.session_meta import SessionMeta
from ahpd.sessions.starting import SessionStarts

log = Logger(namespace="ahpd.plugin")


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PluginCalls:
    """See the module. A port that is None is not there on this host."""

    connections: PluginConnections
    starts: SessionStarts
    meta: SessionMeta
    canvases: Canvases
    extensions: Extensions
    triggers: TriggerTypes
    usage: IUsageStore | None
    automations: IAutomationStore | None
    spawn: Callable[[str, Any], "Deferred[Any]"]
    """`spawn(what, coroutine)` runs it in the background; what it raises is logged."""

    def connect(self, plugin: str, grants: Sequence[str]) -> IConnectionToHost:
        """See `HostSide.connect`."""
        return self.connections.connect(plugin, tuple(grants))

    async def start_session(self, plugin: str, request: SessionRequest) -> str:
        """See `HostSide.start_session`."""
        return await self.starts.start_session(request, plugin)

    async def start_chat(self, plugin: str, session: str, request: ChatRequest) -> str:
        """See `HostSide.start_chat`."""
        return await self.starts.start_chat(session, request, plugin)

    async def session_kept(self, session: str) -> bool:
        """See `HostSide.session_kept`."""
        return await self.starts.session_kept(session)

    async def session_owner(self, session: str) -> str | None:
        """See `HostSide.session_owner`."""
        return await self.starts.session_owner(session)

    def session_meta_changed(self, session: str) -> None:
        """See `HostSide.session_meta_changed`."""
        self.meta.changed(checked_name("session", session))

    async def open_canvas(self, plugin: str, chat: str, state: State) -> str:
        """See `HostSide.open_canvas`."""
        return await self.canvases.open(plugin, chat, state)

    def update_canvas(self, plugin: str, canvas: str, state: State) -> None:
        """See `HostSide.update_canvas`."""
        self.canvases.update(plugin, canvas, state)

    def close_canvas(self, plugin: str, canvas: str) -> None:
        """See `HostSide.close_canvas`."""
        self.canvases.close(plugin, canvas)

    async def record_usage(self, entry: State) -> None:
        """See `HostSide.record_usage`."""
        kept = sendable(entry, "the usage entry")
        if self.usage is not None:
            await self.usage.record(kept)

    def fire_trigger(
        self,
        plugin: str,
        type: str,  # noqa: A002
        event: str,
        data: Mapping[str, Any],
        owner: str | None,
    ) -> None:
        """See `HostSide.fire_trigger`."""
        told = sendable(data, "the data of fire_trigger")
        check_names("fire_trigger", type=type, event=event, owner=owner)
        self.triggers.check_fire(plugin, type, event)
        if self.automations is None:
            log.debug(
                "{type} {event} of {plugin}: nothing runs automations",
                type=type,
                event=event,
                plugin=plugin,
            )
            return
        fire = partial(self.automations.fire, type, event, told, owner)
        self.spawn(f"firing {type} {event} of the plugin {plugin}", _asked(fire))

    def run_automation(
        self, plugin: str, automation: str, data: Mapping[str, Any], owner: str | None
    ) -> None:
        """See `HostSide.run_automation`."""
        told = sendable(data, "the data of run_automation")
        if not isinstance(automation, str):
            raise PluginError(f"run_automation: {automation!r} is neither an id nor a URI")
        check_names("run_automation", automation=automation, owner=owner)
        identifier = automation.removeprefix("ahp-automation:/")
        shown = " ".join(identifier.split())[:200]
        if self.automations is None:
            log.warn(
                "{plugin} runs the automation {id}, and nothing runs automations here",
                plugin=plugin,
                id=shown,
            )
            return
        run = partial(self.automations.run, identifier, told, owner)
        self.spawn(f"running the automation {shown} for the plugin {plugin}", _asked(run))

    def channel(self, plugin: str, scheme: str) -> IChannelHandle | None:
        """See `HostSide.channel`."""
        return self.extensions.handle_of(plugin, scheme)


def sendable(value: Any, what: str) -> dict[str, Any]:
    """A copy of a JSON object. Raises `PluginError` for what is none, or cannot be sent."""
    copied = object_copy(value, what)
    found = misfit(copied, what)
    if found is not None:
        raise PluginError(found)
    return copied


def check_names(call: str, *, owner: str | None, **names: str) -> None:
    """The names a call is made with are texts. Raises `PluginError`."""
    if owner is not None:
        names["owner"] = owner
    try:
        for name, value in names.items():
            checked_text(value, name)
    except ShapeError as wrong:
        raise PluginError(f"{call}: {wrong}") from None


async def _asked(call: Callable[[], Any]) -> None:
    """Call, and await what is to be awaited: what a plugin's store raises is not its asker's."""
    answer = call()
    if isawaitable(answer):
        await answer
