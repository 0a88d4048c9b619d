"""What the store has of an open channel, and of an action that waits for its turn."""

from collections.abc import Callable

import attrs

from ahpd.channels.envelope import Envelope, Origin
from ahpd.channels.journals import Journal
from ahpd.channels.snapshots import SnapshotCache
from ahpd.interfaces import ISubscriber
from ahpd.protocol import Action, State
from ahpd.protocol.reducers import Reducer
from ahpd.protocol.uris import ChannelKind

#: Told of every envelope applied on a channel, after its subscribers were.
Observer = Callable[[Envelope], None]
#: Told that somebody watches a channel nobody watched, and with False that nobody does now.
Watched = Callable[[bool], None]


@attrs.define(eq=False, repr=False)
class HeldChannel:
    """A channel whose state is in the store."""

    kind: ChannelKind
    reduce: Reducer
    state: State
    observer: Observer | None
    journal: Journal | None = None
    watched: Watched | None = None
    snapshots: SnapshotCache = attrs.field(factory=SnapshotCache)
    shown_from: int = 0


@attrs.define(eq=False, repr=False)
class Pending:
    """An action to be said."""

    channel: str
    action: Action
    origin: Origin | None
    rejection: str | None = None
    sender: ISubscriber | None = None
    unsaved: bool = False
