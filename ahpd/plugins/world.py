"""The built host as plugins reach it, and the line before which it is not there.

A plugin applies before the host is built, and holds on to what it was handed: `World` is what
stands between. Its parts come one after another, the vault first, the record store when every
plugin has applied, the host itself once it listens.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs
from twisted.internet.defer import Deferred

from ahpd.interfaces import (
    ChatRequest,
    IChannelHandle,
    IConnectionToHost,
    IRecordStore,
    ISecrets,
    PluginError,
    SessionRequest,
)
from ahpd.protocol import State


class HostSide(Protocol):
    """What a host that is built does for its plugins. `plugin` is the id of who asks."""

    def connect(self, plugin: str, grants: Sequence[str]) -> IConnectionToHost:
        """A connection, served as `plugin:<id>`."""

    async def start_session(self, plugin: str, request: SessionRequest) -> str:
        """See `IPluginHost.start_session`."""

    async def start_chat(self, plugin: str, session: str, request: ChatRequest) -> str:
        """See `IPluginHost.start_chat`."""

    async def session_kept(self, session: str) -> bool:
        """See `IPluginHost.session_kept`."""

    async def session_owner(self, session: str) -> str | None:
        """See `IPluginHost.session_owner`."""

    def session_meta_changed(self, session: str) -> None:
        """See `IPluginHost.session_meta_changed`."""

    async def open_canvas(self, plugin: str, chat: str, state: State) -> str:
        """See `IPluginHost.open_canvas`."""

    def update_canvas(self, plugin: str, canvas: str, state: State) -> None:
        """See `IPluginHost.update_canvas`."""

    def close_canvas(self, plugin: str, canvas: str) -> None:
        """See `IPluginHost.close_canvas`."""

    async def record_usage(self, entry: State) -> None:
        """See `IPluginHost.record_usage`."""

    def fire_trigger(
        self,
        plugin: str,
        type: str,  # noqa: A002
        event: str,
        data: Mapping[str, Any],
        owner: str | None,
    ) -> None:
        """See `IPluginHost.fire_trigger`."""

    def run_automation(
        self, plugin: str, automation: str, data: Mapping[str, Any], owner: str | None
    ) -> None:
        """See `IPluginHost.run_automation`."""

    def channel(self, plugin: str, scheme: str) -> IChannelHandle | None:
        """What the plugin's channel is spoken on; None for one it does not have (any more)."""


#: `await install(folder, requirement)`: `{"version": ...}` or `{"error": ...}`.
Install = Callable[[Any, str], Any]


@attrs.define(eq=False, repr=False)
class World:
    """What is there of the host by now."""

    secrets: ISecrets
    records: IRecordStore | None = None
    side: HostSide | None = None
    """The built host; there from the moment it listens on."""
    built: HostSide | None = None
    """The same, from the moment it is built: channels may be spoken on."""
    registered: dict[str, Mapping[str, Any]] = attrs.field(factory=dict)
    """The commands each plugin registered, by its id: from its `apply` on."""
    _waiting: list[Callable[[IRecordStore | None], None]] = attrs.field(factory=list)
    _records_known: bool = False

    def host(self, call: str, *, applying: bool) -> HostSide:
        """The built host. Raises `PluginError` before it listens, and to one that is `applying`."""
        if self.side is None or applying:
            raise PluginError(
                f"{call} is there from the event listening on: in apply there is no host to ask"
            )
        return self.side

    def methods_of(self, plugin: str) -> Sequence[str]:
        """The commands a plugin registered so far: what a button of its views may name."""
        return tuple(self.registered.get(plugin, ()))

    def records_are(self, store: IRecordStore | None) -> None:
        """The record store is known: who waits for it goes on."""
        self.records, self._records_known = store, True
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call(store)

    def when_records(self, call: Callable[[IRecordStore | None], None]) -> None:
        """Call with the record store (None on a host that has none), once it is known."""
        if self._records_known:
            call(self.records)
        else:
            self._waiting.append(call)

    async def record_store(self) -> IRecordStore | None:
        """The record store, once it is known; None on a host that has none."""
        known: Deferred[IRecordStore | None] = Deferred()
        self.when_records(known.callback)
        return await known
