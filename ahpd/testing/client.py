"""A client that keeps a host honest: what tests connect with.

Every frame both ways is checked against the protocol, every envelope is recorded, and
what was recorded can be reduced anew and compared with what the host says its state
is. What is found wrong is raised from the next thing the test does with the client
and ends whatever it waits for, because nothing may be raised into a transport.
"""

# ruff: noqa: ASYNC109 - a timeout here is counted by the clock the client was given

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, TypeVar

import attrs
from twisted.internet.interfaces import IReactorTime

from ahpd.client.client import Client
from ahpd.client.envelope import ActionEnvelope
from ahpd.client.link import Link
from ahpd.protocol import State
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ROOT, ChannelKind, canonical, kind_of
from ahpd.testing.differences import first_difference
from ahpd.testing.frames import FrameChecker
from ahpd.testing.planted import leak
from ahpd.testing.scrollback import holds_more, scrollback_excess, terminal_difference
from ahpd.wire.codec import Frame, decode, encode
from ahpd.wire.jsonrpc import Response

T = TypeVar("T")

#: What moves in a host's state without an action, because the protocol has none for it
#: (AHP.txt, `session/titleChanged` and `session/activityChanged`), by the path to it.
_UNSAID: Final = {
    ChannelKind.ROOT: (("_meta",), ("config", "schema")),
    ChannelKind.CHAT: (("title",),),
    ChannelKind.SESSION: (("activity",),),
}


class SnapshotSource(Protocol):
    """What has a channel's state to compare with: a host's channel store."""

    def snapshot(self, channel: str) -> State:
        """The channel's state now (schema: Snapshot)."""


@attrs.define
class Recorded:
    """One channel as it was told to a client: the first snapshot, and all since."""

    channel: str
    snapshot: bytes
    from_seq: int
    envelopes: list[ActionEnvelope] = attrs.field(factory=list)

    def reduced(self, up_to: int | None = None) -> State:
        """What the actions make of the snapshot, up to a `serverSeq` where one is named."""
        state: State = decode(self.snapshot)
        kind = kind_of(self.channel)
        assert kind is not None, f"{self.channel} has a snapshot and no state"
        reduce = REDUCERS.get(kind)
        for envelope in self.envelopes:
            if reduce is None:  # an extension's: what makes its state is not ours to know
                break
            if envelope.rejection is None and (up_to is None or envelope.seq <= up_to):
                state = reduce(state, envelope.action)
        return state


class ProbeClient(Client):
    """A `Client` that checks and records. `checker` judges frames; None makes a strict one.

    `frames` holds every message as `("client" | "host", message)`, in order;
    `failures` what was found wrong, in words; `unmatched` the answers to what was sent
    with `send_raw`, which the checker judges and no request waits for. `restarts` says
    where a channel that was watched was subscribed to again and its snapshot was not what
    the actions had made: right for one that was disposed of and made anew, and for no
    other, which only the test can tell.
    """

    def __init__(
        self,
        client_id: str,
        clock: IReactorTime,
        *,
        checker: FrameChecker | None = None,
        info: Mapping[str, Any] | None = None,
        timeout: float | None = 10.0,
    ) -> None:
        super().__init__(client_id, clock, info=info, timeout=timeout)
        self.frames: list[tuple[str, Any]] = []
        self.failures: list[str] = []
        self.unmatched: list[Response] = []
        self.restarts: list[str] = []
        self.notifications: list[tuple[str, dict[str, Any]]] = []
        self._checker = FrameChecker() if checker is None else checker
        self._said: list[ActionEnvelope] = []
        self._records: dict[str, Recorded] = {}
        self.on_violation(self._fail)
        self.on_action(self._record)
        self.on_snapshot(self._begin_record)
        self.on_notification(lambda method, params: self.notifications.append((method, params)))

    # -- judgement --------------------------------------------------------------------

    def check(self) -> None:
        """Raise `AssertionError` where the host has done anything wrong so far."""
        if self.failures:
            raise AssertionError("\n".join(self.failures))

    def _fail(self, words: str) -> None:
        self.failures.append(f"{self.client_id}: {words}")
        self._audience.waiters.fail(lambda what: AssertionError("\n".join(self.failures)))

    def link_sends(self, link: Link, frame: Frame) -> None:
        """Note what goes out, so that its answer can be judged. A test may send anything."""
        try:
            message = decode(frame.payload)
        except ValueError:
            message = frame.payload
        self.frames.append(("client", message))
        self._checker.client_sent(message)

    def link_reads(self, link: Link, data: bytes) -> None:
        """Check what came in."""
        if (said := leak(data)) is not None:
            self._fail(f"the host sent a planted secret: ...{said}...")
        try:
            message = decode(data)
        except ValueError as error:
            self._fail(f"the host sent a frame that is not JSON: {error}")
            return
        self.frames.append(("host", message))
        try:
            self._checker.host_sent(message)
        except AssertionError as error:
            self._fail(str(error))

    def link_unmatched(self, link: Link, response: Response) -> None:
        """Keep it; the checker has said whether anything asked for it."""
        self.unmatched.append(response)

    def _connection(self, wanted: str) -> Link:
        self.check()
        return super()._connection(wanted)

    async def wait_for(
        self,
        predicate: Callable[[], T],
        timeout: float | None = None,
        what: str = "what was waited for",
    ) -> T:
        """`Client.wait_for`; a failure found before or meanwhile is raised instead."""
        self.check()
        found = await super().wait_for(predicate, timeout, what)
        self.check()
        return found

    async def wait_for_action(
        self,
        predicate: Callable[[ActionEnvelope], bool],
        timeout: float | None = None,
        what: str = "the action",
    ) -> ActionEnvelope:
        """`Client.wait_for_action`; a failure found before or meanwhile is raised instead."""
        self.check()
        found = await super().wait_for_action(predicate, timeout, what)
        self.check()
        return found

    # -- the record -------------------------------------------------------------------

    def envelopes(self, channel: str | None = None) -> list[ActionEnvelope]:
        """All envelopes of one channel or of all, in the order they came, refusals too."""
        if channel is None:
            return list(self._said)
        wanted = canonical(channel)
        return [said for said in self._said if canonical(said.channel) == wanted]

    def _record(self, envelope: ActionEnvelope) -> None:
        # Its own copy: that a reducer leaves an action alone is not taken on trust.
        copy = attrs.evolve(envelope, action=decode(encode(envelope.action)))
        self._said.append(copy)
        record = self._records.get(canonical(envelope.channel))
        if record is not None and envelope.seq > record.from_seq:
            record.envelopes.append(copy)

    def _begin_record(self, channel: str, snapshot: dict[str, Any], continued: bool) -> None:
        name = canonical(channel)
        from_seq = int(snapshot["fromSeq"])
        record = self._records.get(name)
        # What an extension's actions make of its state is between it and its readers.
        if continued and record is not None and kind_of(name) is not ChannelKind.EXTENSION:
            state = decode(encode(snapshot["state"]))
            difference = _difference(name, record.reduced(from_seq), state)
            if difference is None:
                return  # the first snapshot reaches further back, and still leads here
            self.restarts.append(f"{channel} at {from_seq}: {difference}")
        overtook = [said for said in self.envelopes(channel) if said.seq > from_seq]
        self._records[name] = Recorded(name, encode(snapshot["state"]), from_seq, overtook)

    # -- comparing --------------------------------------------------------------------

    def assert_converged(
        self, source: SnapshotSource | Mapping[str, Any] | Client, *channels: str
    ) -> None:
        """What was told on each channel makes the state a late subscriber reads.

        `source` is a host's channel store, another client, or one channel's snapshot as
        a late subscriber got it. Without `channels` every channel held is compared,
        or the snapshot's own. Call it when nothing is on its way any more. A null
        equals an absent field, a window of turns is compared as far as it goes, the two
        fields no action carries are left out, and of a terminal's output the oldest may be
        missing (`terminal_difference`), which has to be where a host holds too much of it.
        """
        self.check()
        if isinstance(source, Mapping):
            channels = channels or (str(source["resource"]),)
        compared = [canonical(channel) for channel in channels] or [
            canonical(name) for name in self.subscriptions if canonical(name) in self._records
        ]
        assert compared, f"{self.client_id} holds no channel to compare"
        for channel in compared:
            self._compare(channel, source)

    def _compare(self, channel: str, source: SnapshotSource | Mapping[str, Any] | Client) -> None:
        record = self._records.get(channel)
        assert record is not None, f"{self.client_id} never got a snapshot of {channel}"
        self._agree(channel, record.reduced(), self.state(channel), "the state it holds")
        if isinstance(source, Client):
            whose = f"what {source.client_id} holds"
            one, other = record.reduced(), source.state(channel)
            if kind_of(channel) == ChannelKind.TERMINAL and holds_more(other, one):
                one, other = other, one  # this client came later
            self._agree(channel, one, other, whose)
            return
        snapshot = source if isinstance(source, Mapping) else source.snapshot(channel)
        fresh = decode(encode(snapshot))  # a store's snapshot holds its state encoded
        made = record.reduced(int(fresh["fromSeq"]))
        self._agree(channel, made, fresh["state"], "a late subscriber's snapshot")
        if kind_of(channel) == ChannelKind.TERMINAL:
            excess = scrollback_excess(fresh["state"])
            assert excess is None, f"{channel}: {excess}"

    def _agree(self, channel: str, made: State, other: State, whose: str) -> None:
        difference = _difference(channel, made, other)
        assert difference is None, (
            f"{channel}: what was told to {self.client_id} makes another state than "
            f"{whose}: {difference}"
        )

    async def assert_late_subscriber_agrees(self, late: Client, *channels: str) -> None:
        """Have `late`, a client of the same host, subscribe now, and compare with what it reads.

        Without `channels`, every channel this client holds. Channels `late` watched
        already are left watched.
        """
        for channel in channels or tuple(self.subscriptions):
            fresh = await _fresh_snapshot(late, channel)
            await self.ping()
            # What an extension's actions make of its state is between it and its readers.
            if fresh is not None and kind_of(channel) is not ChannelKind.EXTENSION:
                self.assert_converged(fresh, channel)

    async def ping(self) -> None:
        """A round trip: all the host said before it is here after it."""
        await self.call("ping", {"channel": ROOT})


def _difference(channel: str, made: State, other: State) -> str | None:
    kind = kind_of(channel)
    unsaid = _UNSAID.get(kind, ()) if kind is not None else ()
    one, two = (plain(_without(state, unsaid)) for state in (made, other))
    if kind is ChannelKind.TERMINAL:
        return terminal_difference(one, two)
    return first_difference(one, two)


def _without(state: State, unsaid: tuple[tuple[str, ...], ...]) -> State:
    """A state without what no action carries."""
    said = dict(state)
    for *path, field in unsaid:
        holder = said
        for name in path:
            if not isinstance(holder.get(name), dict):
                break
            holder[name] = dict(holder[name])
            holder = holder[name]
        else:
            holder.pop(field, None)
    return said


async def _fresh_snapshot(late: Client, channel: str) -> dict[str, Any] | None:
    fresh: list[dict[str, Any]] = []

    def keep(_: str, snapshot: dict[str, Any], continued: bool) -> None:
        fresh.append(decode(encode(snapshot)))

    watched = channel in late.subscriptions
    cancel = late.on_snapshot(keep)
    try:
        await late.subscribe(channel)
    finally:
        cancel()
    if not watched:
        late.unsubscribe(channel)
    return fresh[0] if fresh else None
