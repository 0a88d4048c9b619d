"""A turn as the host runs it."""

import attrs

from ahpd.chats.output import TurnOutput
from ahpd.interfaces import TurnRequest


@attrs.define(eq=False)
class Turn:
    """One turn between its start and the backend letting go of it."""

    request: TurnRequest
    output: TurnOutput
    began: float
    """When its start was said, in the clock's seconds."""
    said: bool = False
    """Whether its start was applied: one said from inside a delivery waits for its turn."""
    handed: bool = False
    """Whether the backend was handed it."""
    over: bool = False
    """Whether its end was said, or will not be."""
    halted: bool = False
    """Whether the backend was told to let go."""

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self.request.turn_id

    def duration(self, now: float) -> int:
        """Milliseconds since its start was said, at `now` in the clock's seconds."""
        return max(0, round((now - self.began) * 1000))
