"""An action as the host says it: sequenced and encoded once."""

from typing import Any, ClassVar, Final, Protocol

import attrs

from ahpd.interfaces import ISubscriber
from ahpd.protocol import Action
from ahpd.wire.codec import Frame, encode

_HEAD: Final = b'{"jsonrpc":"2.0","method":"action","params":'
_TAIL: Final = b"}"
# How a body begins around its channel, to find the action in it.
_CHANNEL: Final = b'{"channel":'
_ACTION: Final = b',"action":'

#: Who dispatched an action: `{"clientId": str, "clientSeq": int}`; None for the host itself.
Origin = dict[str, Any]


class PluginOrigin(dict[str, Any]):
    """The origin of what a plugin's own connection sent, which speaks for no person."""

    __slots__ = ()


class Audience(Protocol):
    """Who of a channel's subscribers is sent an action that is not for all of them."""

    def reaches(self, subscriber: ISubscriber) -> bool:
        """Whether `subscriber` is sent it, live or when it is replayed. Never raises."""


class Envelope:
    """One sequenced action and its bytes (schema: ActionEnvelope).

    `body` is the encoded ActionEnvelope, as it is replayed; `frame` the encoded
    `action` notification, as it is sent. `rejection` says why an action was refused
    and is None for one that was applied.
    """

    __slots__ = ("action", "body", "channel", "made", "origin", "rejection", "seq", "type")

    #: Whether it may be for some of its channel's subscribers alone: asked for each that is
    #: replayed, so that `reaches` is not called for what everybody is sent.
    narrowed: ClassVar[bool] = False

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
        self.made: Frame | None = None
        """`frame`, where it was made already: read at every send."""

    @property
    def frame(self) -> Frame:
        """The notification's frame, made at the first send and shared by all of them."""
        if self.made is None:
            self.made = Frame(_HEAD, self.body, _TAIL)
        return self.made

    @property
    def action_body(self) -> bytes:
        """The encoded action alone, cut out of `body`."""
        head = len(_CHANNEL) + len(encode(self.channel)) + len(_ACTION)
        tail: dict[str, Any] = {"serverSeq": self.seq}
        if self.origin is not None:
            tail["origin"] = self.origin
        if self.rejection is not None:
            tail["rejectionReason"] = self.rejection
        # The members behind the action, with a comma in place of their brace.
        return self.body[head : -len(encode(tail))]

    def reaches(self, subscriber: ISubscriber) -> bool:
        """Whether one of its channel's subscribers is sent it: everybody, as a rule."""
        return True

    def release(self) -> None:
        """Let go of what only the live fan-out needed, before a long stay in the replay buffer."""
        self.made = None


@attrs.frozen(kw_only=True, eq=False, repr=False)
class NarrowedAction:
    """What is said on a channel to some of those who watch it."""

    channel: str
    action: Action
    audience: Audience
    origin: Origin | None = None
    rejection: str | None = None


class NarrowedEnvelope(Envelope):
    """Such an action at its number."""

    __slots__ = ("_audience",)

    narrowed = True

    def __init__(self, said: NarrowedAction, seq: int) -> None:
        super().__init__(said.channel, said.action, seq, said.origin, said.rejection)
        self._audience = said.audience

    def reaches(self, subscriber: ISubscriber) -> bool:
        """See `Envelope.reaches`."""
        return self._audience.reaches(subscriber)
