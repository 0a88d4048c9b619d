"""An action as the host says it: sequenced and encoded once."""

from typing import Any, Final

from ahpd.protocol import Action
from ahpd.wire.codec import Frame, encode

_HEAD: Final = b'{"jsonrpc":"2.0","method":"action","params":'
_TAIL: Final = b"}"

#: Who dispatched an action: `{"clientId": str, "clientSeq": int}`; None for the host itself.
Origin = dict[str, Any]


class Envelope:
    """One sequenced action and its bytes (schema: ActionEnvelope).

    `body` is the encoded ActionEnvelope, as it is replayed; `frame` the encoded
    `action` notification, as it is sent. `rejection` says why an action was refused
    and is None for one that was applied.
    """

    __slots__ = ("_frame", "action", "body", "channel", "origin", "rejection", "seq", "type")

    def __init__(
        self,
        channel: str,
        action: Action,
        seq: int,
        origin: Origin | None = None,
        rejection: str | None = None,
    ) -> None:
        self.channel = channel
        self.action = action
        self.seq = seq
        self.origin = origin
        self.rejection = rejection
        self.type: str = action["type"]
        envelope: dict[str, Any] = {"channel": channel, "action": action, "serverSeq": seq}
        if origin is not None:
            envelope["origin"] = origin
        if rejection is not None:
            envelope["rejectionReason"] = rejection
        self.body: bytes = encode(envelope)
        self._frame: Frame | None = None

    @property
    def frame(self) -> Frame:
        """The notification's frame, made at the first send and shared by all of them."""
        if self._frame is None:
            self._frame = Frame(_HEAD + self.body + _TAIL)
        return self._frame

    def release(self) -> None:
        """Let go of what only the live fan-out needed, before a long stay in the replay buffer."""
        self._frame = None
