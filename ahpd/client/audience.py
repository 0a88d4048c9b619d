"""Who a client tells what its host says: hooks, streams, and those who wait."""

from collections.abc import Callable
from typing import Any

from twisted.logger import Logger

from ahpd.client.envelope import ActionEnvelope
from ahpd.client.failures import ConnectionGone
from ahpd.client.streams import EnvelopeStream
from ahpd.client.waiting import Waiters
from ahpd.protocol.uris import canonical

log = Logger()

ActionHook = Callable[[ActionEnvelope], None]
NotificationHook = Callable[[str, dict[str, Any]], None]
ViolationHook = Callable[[str], None]
#: Given a channel, its snapshot, and whether the client's own state reached up to it.
SnapshotHook = Callable[[str, dict[str, Any], bool], None]
#: Takes a hook back. Calling it again is no error.
Cancel = Callable[[], None]


class Audience:
    """Everybody on this side of the client. A hook that raises is logged and costs no other."""

    def __init__(self) -> None:
        self.waiters = Waiters()
        self._streams: dict[EnvelopeStream, str | None] = {}
        self._on_action: list[ActionHook] = []
        self._on_notification: list[NotificationHook] = []
        self._on_violation: list[ViolationHook] = []
        self._on_snapshot: list[SnapshotHook] = []

    def on_action(self, hook: ActionHook) -> Cancel:
        """Add a hook for envelopes."""
        return _added(self._on_action, hook)

    def on_notification(self, hook: NotificationHook) -> Cancel:
        """Add a hook for all other notifications."""
        return _added(self._on_notification, hook)

    def on_violation(self, hook: ViolationHook) -> Cancel:
        """Add a hook for what the host may not do."""
        return _added(self._on_violation, hook)

    def on_snapshot(self, hook: SnapshotHook) -> Cancel:
        """Add a hook for snapshots."""
        return _added(self._on_snapshot, hook)

    def stream(self, channel: str | None) -> EnvelopeStream:
        """A stream of the envelopes of one channel, or of all."""
        stream = EnvelopeStream(self._dropped)
        self._streams[stream] = None if channel is None else canonical(channel)
        return stream

    def _dropped(self, stream: EnvelopeStream) -> None:
        self._streams.pop(stream, None)

    # -- telling ----------------------------------------------------------------------

    def tell(self, envelope: ActionEnvelope) -> None:
        """An envelope came and was dealt with."""
        for hook in tuple(self._on_action):
            _call(hook, envelope)
        for stream, channel in tuple(self._streams.items()):
            if channel is None or channel == canonical(envelope.channel):
                stream.put(envelope)
        self.waiters.saw(envelope)

    def notified(self, method: str, params: dict[str, Any]) -> None:
        """A notification that is no action came."""
        for hook in tuple(self._on_notification):
            _call(hook, method, params)

    def baseline(self, channel: str, snapshot: dict[str, Any], continued: bool) -> None:
        """A snapshot came and is about to be held."""
        for hook in tuple(self._on_snapshot):
            _call(hook, channel, snapshot, continued)

    def violated(self, words: str) -> None:
        """The host did what a host may not do."""
        if not self._on_violation:
            log.warn("the host broke the protocol: {words}", words=words)
        for hook in tuple(self._on_violation):
            _call(hook, words)

    def settled(self) -> None:
        """A whole message was dealt with: what is waited for may be so now."""
        self.waiters.check()

    def ended(self, reason: str) -> None:
        """The connection went."""
        streams, self._streams = self._streams, {}
        for stream in streams:
            stream.end()
        self.waiters.fail(
            lambda what: ConnectionGone(f"the connection went before {what} came", reason)
        )


def _call(hook: Callable[..., None], *arguments: Any) -> None:
    try:
        hook(*arguments)
    except Exception:
        log.failure("a hook of this client failed")


def _added(hooks: list[Any], hook: Any) -> Cancel:
    hooks.append(hook)

    def cancel() -> None:
        if hook in hooks:
            hooks.remove(hook)

    return cancel
