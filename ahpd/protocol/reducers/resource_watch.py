"""A resource watch: its state says what is watched, and no action changes that.

`resourceWatch/changed` is what a subscriber reads off the stream; no history is kept
(schema: ResourceWatchChangedAction).
"""

from typing import Final

from ahpd.protocol.reducers.dispatch import Handler, reducer

HANDLERS: Final[dict[str, Handler]] = {}

reduce = reducer(HANDLERS)
