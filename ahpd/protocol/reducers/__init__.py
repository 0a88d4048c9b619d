"""What an action makes of a channel's state: one reducer per kind of channel.

`reduce(state, action) -> state`. A reducer owns the state it is given: it changes it in
place and returns it, or returns a new one where the action replaces it whole. It never
changes the action or anything inside it, reads no clock, makes no ids, and never raises
on an action whose shape is right. An action of a type it does not know, or about a turn,
part or entry the state does not hold, leaves the state as it was.

A `null` where a field may be absent clears the field, as a missing one does.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from ahpd.protocol.reducers.annotations import reduce as reduce_annotations
from ahpd.protocol.reducers.automation_run import reduce as reduce_automation_run
from ahpd.protocol.reducers.automations import reduce as reduce_automations
from ahpd.protocol.reducers.canvas import reduce as reduce_canvas
from ahpd.protocol.reducers.changeset import reduce as reduce_changeset
from ahpd.protocol.reducers.chat import reduce as reduce_chat
from ahpd.protocol.reducers.dispatch import Reducer
from ahpd.protocol.reducers.resource_watch import reduce as reduce_resource_watch
from ahpd.protocol.reducers.root import reduce as reduce_root
from ahpd.protocol.reducers.session import reduce as reduce_session
from ahpd.protocol.reducers.terminal import reduce as reduce_terminal
from ahpd.protocol.uris import ChannelKind

REDUCERS: Final[Mapping[ChannelKind, Reducer]] = MappingProxyType(
    {
        ChannelKind.ROOT: reduce_root,
        ChannelKind.SESSION: reduce_session,
        ChannelKind.CHAT: reduce_chat,
        ChannelKind.TERMINAL: reduce_terminal,
        ChannelKind.CHANGESET: reduce_changeset,
        ChannelKind.ANNOTATIONS: reduce_annotations,
        ChannelKind.CANVAS: reduce_canvas,
        ChannelKind.AUTOMATIONS: reduce_automations,
        ChannelKind.AUTOMATION_RUN: reduce_automation_run,
        ChannelKind.RESOURCE_WATCH: reduce_resource_watch,
    }
)

__all__ = ["REDUCERS", "Reducer"]
