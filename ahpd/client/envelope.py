"""A sequenced action as a client receives it."""

from typing import Any

import attrs

from ahpd.protocol import Action


@attrs.frozen(eq=False)
class ActionEnvelope:
    """One action said by the host (schema: ActionEnvelope). To read, never to change."""

    channel: str
    action: Action
    seq: int
    """Its `serverSeq`."""
    origin: dict[str, Any] | None = None
    """Who dispatched it: `{"clientId", "clientSeq"}`; None for the host's own."""
    rejection: str | None = None
    """Why the host would not act on it; such an action is reduced by nobody."""
    replayed: bool = False
    """Whether it came in the answer to a `reconnect`, after the fact."""

    @property
    def type(self) -> str:
        """The action's type."""
        kind: str = self.action["type"]
        return kind

    def is_answer_to(self, client_id: str, client_seq: int) -> bool:
        """Whether this is the host's word on that dispatch."""
        origin = self.origin
        return (
            origin is not None
            and origin.get("clientId") == client_id
            and origin.get("clientSeq") == client_seq
        )


def read_envelope(value: Any, replayed: bool = False) -> ActionEnvelope:
    """The envelope in `value`, decoded JSON. Raises `ValueError` naming what is wrong with it."""
    if not isinstance(value, dict):
        raise ValueError("the envelope is no object")
    channel, action, seq = value.get("channel"), value.get("action"), value.get("serverSeq")
    if not isinstance(channel, str):
        raise ValueError("channel is no string")
    if not isinstance(action, dict) or not isinstance(action.get("type"), str):
        raise ValueError("action is no object with a type")
    if isinstance(seq, float) and seq.is_integer():
        seq = int(seq)
    if not isinstance(seq, int) or isinstance(seq, bool):
        raise ValueError("serverSeq is no whole number")
    origin, rejection = value.get("origin"), value.get("rejectionReason")
    if origin is not None and not isinstance(origin, dict):
        raise ValueError("origin is no object")
    if rejection is not None and not isinstance(rejection, str):
        raise ValueError("rejectionReason is no string")
    return ActionEnvelope(channel, action, seq, origin, rejection, replayed)
