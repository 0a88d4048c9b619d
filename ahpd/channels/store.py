"""The channel store: every channel's state, and the one order everything is said in.

Nothing changes a channel's state but an action dispatched here. A dispatch gives
the action the next `serverSeq`, encodes it once, reduces it into the state, holds
it for replay, hands it to every subscriber and then tells whoever owns the channel.
It runs to completion before the next one: an action caused by an action waits behind
it and takes a later number. A subscribe registers and reads in one step.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial

from twisted.application.service import Service
from twisted.logger import Logger

from ahpd.channels.envelope import Envelope, NarrowedAction, NarrowedEnvelope, Origin
from ahpd.channels.held import HeldChannel, Observer, Pending, Watched
from ahpd.channels.journals import Journal, Unsaved
from ahpd.channels.replay import ReplayBuffer
from ahpd.channels.watchers import Watchers, WatchingHook
from ahpd.interfaces import ISubscriber, StoreFailure
from ahpd.protocol import Action, State
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.uris import ChannelKind, scheme
from ahpd.wire.codec import Frame, encode

log = Logger()

__all__ = ["ChannelStore", "Journal", "Unsaved"]

#: Told of a channel that is gone and of who was watching it.
ClosedHook = Callable[[str, Collection[ISubscriber]], None]


class ChannelStore(Service):
    """All channels of one host. `replay_bytes` bounds the replay buffer; 0 is no limit."""

    name = "channels"

    def __init__(self, replay_bytes: int = 32 * 1024 * 1024) -> None:
        self.replay = ReplayBuffer(replay_bytes)
        self._seq = 0
        self._channels: dict[str, HeldChannel] = {}
        self._watchers = Watchers()
        #: Called when a channel is gone for good.
        self.on_closed: ClosedHook = lambda channel, watchers: None
        #: Called when a scheme of channels whose states are held elsewhere is served no more.
        self.on_scheme_closed: Callable[[str], None] = lambda name: None
        self._queue: deque[Pending | Callable[[], None]] = deque()
        self._dispatching = False

    @property
    def watching(self) -> list[WatchingHook]:
        """Called behind each subscription that began or ended; whoever wants to be adds itself."""
        return self._watchers.told

    # -- channels -------------------------------------------------------------

    @property
    def server_seq(self) -> int:
        """The number of the last envelope said; 0 before the first."""
        return self._seq

    def open(
        self,
        channel: str,
        kind: ChannelKind,
        state: State,
        observer: Observer | None = None,
        journal: Journal | None = None,
        watched: Watched | None = None,
    ) -> None:
        """Hold `state` under `channel`; from now on only actions change it.

        `observer` is told of every envelope applied here, refusals left out; `journal`
        keeps each before it is said; `watched` is told when the first subscriber comes and
        when the last one leaves. Raises `ValueError` for a channel that is open already.
        """
        if channel in self._channels:
            raise ValueError(f"channel {channel} is open already")
        self._channels[channel] = HeldChannel(
            kind, REDUCERS[kind], state, observer, journal, watched
        )

    def close(self, channel: str) -> None:
        """Let go of a channel's state and of everybody's subscription to it.

        One that is not open is no error.
        """
        held = self._channels.pop(channel, None)
        if held is None:
            return
        if held.journal is not None:
            held.journal.closed()
        self._part(channel)

    def close_scheme(self, name: str) -> None:
        """Let go of every subscription to a channel of a scheme whose states are held elsewhere."""
        for channel in self._watchers.channels():
            if scheme(channel) == name:
                self._part(channel)
        self.on_scheme_closed(name)

    def lapse(self, channel: str) -> None:
        """What moves a channel nobody watches is not said from here on: who holds it is owed it."""
        self.on_closed(channel, ())

    def _part(self, channel: str) -> None:
        watchers = self.watchers(channel)
        for subscriber in watchers:
            self.unsubscribe(channel, subscriber)
        self.on_closed(channel, watchers)

    def release(self, channel: str) -> None:
        """Let go of a state that is kept elsewhere: the channel is opened again as it was.

        Nobody is told, and a client that holds the state is replayed what comes after it
        (AHP.txt, `reconnect`). One that is not open is no error.
        """
        held = self._channels.pop(channel, None)
        if held is not None and held.journal is not None:
            held.journal.closed()

    def is_open(self, channel: str) -> bool:
        """Whether this host holds the channel's state."""
        return channel in self._channels

    def open_channels(self) -> Collection[str]:
        """The channels whose state this host holds now."""
        return tuple(self._channels)

    def state(self, channel: str) -> State:
        """The state as the reducers made it. To read, never to change. `KeyError` when closed."""
        return self._channels[channel].state

    def find(self, channel: str) -> State | None:
        """The state, or None for a channel this host holds nothing under."""
        held = self._channels.get(channel)
        return None if held is None else held.state

    def amend(self, channel: str, fields: Mapping[str, object]) -> None:
        """Move fields of a state that no action of the protocol carries; None takes one out.

        There are five: a chat's held title, a session's activity (AHP.txt,
        `session/titleChanged` and `session/activityChanged`), what a terminal keeps of its
        output (`terminal/data`), and the root's `_meta` and the schema of its configuration.
        Nothing is said for it, so whoever amends says what clients are owed. `KeyError` for a closed channel.
        """
        held = self._channels[channel]
        if held.journal is not None:
            held.journal.amended(fields)
        for key, value in fields.items():
            if value is None:
                held.state.pop(key, None)
            else:
                held.state[key] = value
        held.snapshots.clear()

    # -- actions --------------------------------------------------------------

    def dispatch(
        self,
        channel: str,
        action: Action,
        origin: Origin | None = None,
        *,
        unsaved: bool = False,
    ) -> None:
        """Say `action` on `channel`: kept, sequenced, reduced, held for replay, sent to all watching.

        Called from inside a dispatch it waits its turn and returns at once. On a
        channel this host holds no state for, the action is said and nothing is reduced.
        An action that cannot be kept is not said: a client's is refused, and of the host's
        own the channel's owner is told. With `unsaved` it is said all the same.
        """
        self._enqueue(Pending(channel, action, origin, None, None, unsaved))

    def refuse(
        self,
        channel: str,
        action: Action,
        origin: Origin | None,
        reason: str,
        sender: ISubscriber | None = None,
    ) -> None:
        """Say that `action` was not acted on (AHP.txt, "What a refusal is").

        Sequenced, held and sent like any other, reduced by nobody. `sender` is told
        even where it watches no such channel.
        """
        self._enqueue(Pending(channel, action, origin, reason, sender))

    def tell(self, action: NarrowedAction, sender: ISubscriber | None = None) -> None:
        """Say what is for some of a channel's subscribers: the others see a gap in the numbers.

        It is on a channel whose state is held elsewhere, so it is reduced by nobody. Sequenced and
        held like any other; it is sent to those its audience reaches, now and when it is replayed,
        and to `sender` even where it watches no such channel.
        """
        self._enqueue(partial(self._tell, action, sender))

    def _tell(self, action: NarrowedAction, sender: ISubscriber | None) -> None:
        envelope = NarrowedEnvelope(action, self._seq + 1)
        self._seq += 1
        self.replay.append(envelope)
        reached = [one for one in self.watchers(envelope.channel) if envelope.reaches(one)]
        if sender is not None and sender not in reached:
            reached.append(sender)
        _deliver(envelope, tuple(reached))
        envelope.release()

    def behind(self, work: Callable[[], None]) -> None:
        """Do `work` once all that was dispatched so far is said: outside a dispatch, now.

        For what has to keep its place among actions and is none, a notification for one.
        """
        self._enqueue(work)

    def _enqueue(self, pending: "Pending | Callable[[], None]") -> None:
        self._queue.append(pending)
        if self._dispatching:
            return
        self._dispatching = True
        try:
            while self._queue:
                following = self._queue.popleft()
                if isinstance(following, Pending):
                    self._say(following)
                else:
                    _do(following)
        finally:
            self._dispatching = False

    def _say(self, pending: Pending) -> None:
        channel, action = pending.channel, pending.action
        try:
            envelope = Envelope(channel, action, self._seq + 1, pending.origin, pending.rejection)
        except Exception:
            log.failure(
                "{type} on {channel} is not JSON and was not said",
                type=action.get("type"),
                channel=channel,
            )
            return
        held = self._channels.get(channel) if pending.rejection is None else None
        if held is not None:
            if held.journal is not None:
                try:
                    held.journal.record(envelope)
                except StoreFailure as failure:
                    if not self._said_unsaved(held.journal, envelope, pending, failure):
                        return
            try:
                held.state = held.reduce(held.state, action)
            except Exception:
                log.failure(
                    "{type} could not be reduced on {channel}", type=envelope.type, channel=channel
                )
                held.snapshots.clear()
                if pending.origin is not None:
                    reason = f"{envelope.type} could not be applied; the host's log says why"
                    self._say(Pending(channel, action, pending.origin, reason))
                return
            held.snapshots.clear()
        self._seq += 1
        self.replay.append(envelope)
        watchers = self._watchers.by_channel.get(channel, ())
        if watchers:
            _deliver(envelope, tuple(watchers))
        if pending.sender is not None and pending.sender not in watchers:
            _deliver(envelope, (pending.sender,))
        envelope.release()
        if held is not None and held.observer is not None:
            try:
                held.observer(envelope)
            except Exception:
                log.failure(
                    "what follows {type} on {channel} failed", type=envelope.type, channel=channel
                )

    def _said_unsaved(
        self, journal: Journal, envelope: Envelope, pending: Pending, failure: StoreFailure
    ) -> bool:
        """`journal` could not keep an action: whether it is said all the same."""
        if pending.unsaved or journal.lost(envelope, failure):
            journal.said_unsaved()
            return True
        log.error(
            "{type} on {channel} could not be saved: {words}",
            type=envelope.type,
            channel=envelope.channel,
            words=str(failure),
        )
        if pending.origin is not None:
            reason = f"{envelope.type} could not be saved: {failure}"
            channel, action, origin = pending.channel, pending.action, pending.origin
            self._say(Pending(channel, action, origin, reason, pending.sender))
        return False

    def notify(self, channel: str, method: str, params: State) -> None:
        """Send a notification that no state takes to all watching: no number, never replayed."""
        watchers = self._watchers.by_channel.get(channel)
        if not watchers:
            return
        frame = Frame(encode({"jsonrpc": "2.0", "method": method, "params": params}))
        for subscriber in tuple(watchers):
            try:
                subscriber.notify(channel, method, frame)
            except Exception:
                log.failure("a subscriber of {channel} failed", channel=channel)

    # -- subscriptions --------------------------------------------------------

    def subscribe(self, channel: str, subscriber: ISubscriber) -> None:
        """Send `subscriber` what is said on `channel` from now on. Again is no error."""
        if self.is_watching(channel, subscriber):
            return
        if self._watchers.add(channel, subscriber):
            self._tell_watched(channel, True)
        self._watchers.tell(channel, subscriber, True)

    def unsubscribe(self, channel: str, subscriber: ISubscriber) -> None:
        """Stop. One that was not subscribed is no error."""
        if not self.is_watching(channel, subscriber):
            return
        if self._watchers.remove(channel, subscriber):
            held = self._channels.get(channel)
            if held is not None:
                held.snapshots.clear()  # nobody looks: a large chat's bytes are not kept for later
            self._tell_watched(channel, False)
        self._watchers.tell(channel, subscriber, False)

    def _tell_watched(self, channel: str, somebody: bool) -> None:
        held = self._channels.get(channel)
        if held is None or held.watched is None:
            return
        try:
            held.watched(somebody)
        except Exception:  # whoever joins or leaves does so all the same
            log.failure("what follows who watches {channel} failed", channel=channel)

    def leave(self, subscriber: ISubscriber) -> tuple[str, ...]:
        """Take every subscription of `subscriber` away, its connection being gone; what it watched."""
        watched = self._watchers.watched_by(subscriber)
        for channel in watched:
            self.unsubscribe(channel, subscriber)
        return watched

    def is_watching(self, channel: str, subscriber: ISubscriber) -> bool:
        """Whether `subscriber` is sent what is said on `channel`."""
        return subscriber in self._watchers.by_channel.get(channel, ())

    def watchers(self, channel: str) -> tuple[ISubscriber, ...]:
        """Who watches `channel` now."""
        return self._watchers.of(channel)

    def lagging(self, channels: Iterable[str]) -> bool:
        """Whether somebody watching one of `channels` has much to read and is reading it."""
        return any(
            watcher.lagging()
            for channel in channels
            for watcher in self._watchers.by_channel.get(channel, ())
        )

    def snapshot(self, channel: str, turns: int | None = None, name: str | None = None) -> State:
        """The channel's state now (schema: Snapshot), its `state` encoded already.

        `turns` asks for a chat's newest turns alone (AHP.txt, `subscribe`); `name` is
        the spelling the client used. Raises `KeyError` for a channel with no state.
        """
        held = self._channels[channel]
        state = held.snapshots.encoded(held.kind, held.state, turns)
        if turns is not None and held.kind is ChannelKind.CHAT:
            held.shown_from = max(held.shown_from, len(held.state["turns"]) - turns)
        return {"resource": name or channel, "state": state, "fromSeq": self._seq}

    def shown_from(self, channel: str) -> int:
        """Where the narrowest view of a chat's turns begins that anybody was given, as an index.

        0 where all who were given the chat were given all of it.
        """
        return self._channels[channel].shown_from

    def widened(self, channel: str, start: int) -> None:
        """All who watch a chat were told its turns from index `start` to what they had."""
        held = self._channels[channel]
        held.shown_from = min(held.shown_from, start)


def _do(work: Callable[[], None]) -> None:
    try:
        work()
    except Exception:
        log.failure("what was to follow an action failed")


def _deliver(envelope: Envelope, subscribers: tuple[ISubscriber, ...]) -> None:
    for subscriber in subscribers:
        try:
            subscriber.deliver(envelope)
        except Exception:
            log.failure("a subscriber of {channel} failed", channel=envelope.channel)
