"""What can go wrong with a client's conversation, besides the errors a host answers."""

from ahpd.client.envelope import ActionEnvelope


class ConnectionGone(Exception):
    """There is no connection, or it went before what was waited for came.

    The message says what was being waited for; `reason` is the transport's word on
    why the connection ended.
    """

    def __init__(self, message: str, reason: str = "") -> None:
        super().__init__(f"{message}: {reason}" if reason else message)
        self.reason = reason


class ActionRefused(Exception):
    """The host did not act on an action of ours; `reason` is its `rejectionReason`."""

    def __init__(self, envelope: ActionEnvelope) -> None:
        self.reason = envelope.rejection or ""
        self.envelope = envelope
        super().__init__(f"{envelope.type} on {envelope.channel} was refused: {self.reason}")
