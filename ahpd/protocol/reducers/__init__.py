"""placeholder replaced by the reducers work"""

from collections.abc import Callable

from ahpd.protocol import Action, State
from ahpd.protocol.uris import ChannelKind

REDUCERS: dict[ChannelKind, Callable[[State, Action], State]] = {}
