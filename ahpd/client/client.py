"""The client: its handshake, its subscriptions, what it asks and what it is told.

A `Client` outlives its connections. Each connection made with it as the factory is
the one it speaks over from then on; `initialize` begins a conversation and
`reconnect` goes on with it over the next connection.
"""

# ruff: noqa: ASYNC109 - a timeout here is counted by the clock the client was given

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from typing import Any, TypeVar

from twisted.internet.interfaces import IReactorTime

from ahpd.client.audience import (
    ActionHook,
    Cancel,
    NotificationHook,
    SnapshotHook,
    ViolationHook,
)
from ahpd.client.conversation import Conversation, Reconnected
from ahpd.client.correspondent import Correspondent
from ahpd.client.envelope import ActionEnvelope
from ahpd.client.failures import ActionRefused, ConnectionGone
from ahpd.client.link import Link, OnResult
from ahpd.client.streams import EnvelopeStream
from ahpd.client.waiting import within
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ROOT
from ahpd.protocol.versions import NEWEST

T = TypeVar("T")


class Client(Correspondent):
    """One AHP client.

    `client_id` names it to the host and is what a `reconnect` is recognised by.
    `clock` counts the timeouts; `timeout` bounds every request and wait that names no
    other, in seconds, None for no bound. `info` is its `clientInfo`.

    Whatever waits on the host raises `ConnectionGone` when the connection goes and
    `TimeoutError` when its time is up; what the host refuses raises `RpcError`.
    """

    def __init__(
        self,
        client_id: str,
        clock: IReactorTime,
        *,
        info: Mapping[str, Any] | None = None,
        timeout: float | None = 30.0,
    ) -> None:
        super().__init__(clock, timeout)
        self.client_id = client_id
        self.info = info
        self._conversation = Conversation(
            self._audience.tell, self._audience.violated, self._audience.baseline
        )
        self._mirror = self._conversation.mirror
        self._client_seqs = count(1)
        self._own_seqs = count(1)

    # -- the handshake --------------------------------------------------------------

    @property
    def version(self) -> str | None:
        """The protocol version agreed on, once there is one."""
        return self._conversation.version

    @property
    def last_seen_seq(self) -> int:
        """The `serverSeq` up to which everything on this client's channels has come."""
        return self._conversation.last_seen

    async def initialize(
        self,
        *,
        versions: Sequence[str] = (NEWEST,),
        subscriptions: Iterable[str] = (),
        **more: Any,
    ) -> dict[str, Any]:
        """Begin a conversation; the result (schema: InitializeResult).

        What was held of an earlier conversation is forgotten. `more` are further
        parameters as the schema spells them: `locale`, `capabilities`, `_meta`.
        """
        wanted = list(subscriptions)
        params: dict[str, Any] = {
            "channel": ROOT,
            "protocolVersions": list(versions),
            "clientId": self.client_id,
        }
        if self.info is not None:
            params["clientInfo"] = dict(self.info)
        if wanted:
            params["initialSubscriptions"] = wanted
        result: dict[str, Any] = await self._handshake(
            "initialize",
            {**params, **more},
            lambda answer: self._conversation.initialized(answer, wanted),
        )
        return result

    async def reconnect(self, **more: Any) -> Reconnected:
        """Go on with the conversation over a new connection.

        What was missed is replayed onto the states held, or snapshots replace them;
        channels the host cannot resume are dropped. `RpcError` -32008 says the host
        does not remember this client: begin again with `initialize`.
        """
        params = {
            "channel": ROOT,
            "clientId": self.client_id,
            "lastSeenServerSeq": self.last_seen_seq,
            "subscriptions": self.subscriptions,
            **more,
        }
        answers: list[Reconnected] = []
        await self._handshake(
            "reconnect",
            params,
            lambda result: answers.append(self._conversation.resumed(result)),
        )
        return answers[0]

    async def _handshake(self, method: str, params: dict[str, Any], apply: OnResult) -> Any:
        link = self._connection(method)
        self._conversation.hold_back()
        try:
            return await self.call(method, params, apply=apply)
        finally:
            if self._link is link:
                self._conversation.let_through()

    # -- channels -------------------------------------------------------------------

    async def subscribe(
        self,
        channel: str,
        *,
        turns: int | None = None,
        delivery: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> State | None:
        """Watch a channel; its state as held from now on, None for one without a state.

        `turns` asks for a chat's newest turns alone; `delivery` is passed on (schema:
        SubscriptionDeliveryOptions).
        """
        params: dict[str, Any] = {"channel": channel, **more}
        if turns is not None:
            params["view"] = {"turns": turns}
        if delivery is not None:
            params["delivery"] = dict(delivery)
        self._connection("subscribe")
        asked = self._mirror.asked(channel)

        def granted(result: dict[str, Any]) -> None:
            self._mirror.granted(asked, result.get("snapshot"))

        try:
            await self.call("subscribe", params, apply=granted)
        except BaseException:
            self._mirror.denied(asked)
            raise
        return asked.held.state

    def unsubscribe(self, channel: str) -> None:
        """Stop watching; what was held is forgotten."""
        self.notify("unsubscribe", channel=channel)
        self._mirror.drop(channel)

    @property
    def subscriptions(self) -> list[str]:
        """The channels watched, as this client spelled them."""
        return self._mirror.subscribed()

    def state(self, channel: str) -> State:
        """The state held, growing with each envelope: to read, never to change.

        Raises `KeyError` for a channel this client holds no state of.
        """
        held = self._mirror.find(channel)
        if held is None or held.state is None:
            raise KeyError(f"no state of {channel} is held")
        return held.state

    def plain_state(self, channel: str) -> State:
        """A copy of the state held, as plain JSON values."""
        copy: State = plain(self.state(channel))
        return copy

    # -- actions --------------------------------------------------------------------

    def dispatch(self, channel: str, action: Action) -> int:
        """Send an action; the `clientSeq` it went out under. State moves by its echo alone."""
        client_seq = next(self._client_seqs)
        self.notify("dispatchAction", channel=channel, clientSeq=client_seq, action=action)
        return client_seq

    async def perform(
        self, channel: str, action: Action, *, timeout: float | None = None
    ) -> ActionEnvelope:
        """Send an action and wait for the host's word on it: its echo.

        Raises `ActionRefused` with the host's reason where that is a refusal.
        """
        client_seq = next(self._client_seqs)
        what = f"the answer to {action['type']} on {channel}"
        link = self._connection(f"{action['type']} on {channel}")
        # Waited for before it is sent: over an in-memory pair the echo may be here first.
        answer = self._audience.waiters.for_envelope(
            lambda envelope: envelope.is_answer_to(self.client_id, client_seq), what
        )
        link.notify(
            "dispatchAction", {"channel": channel, "clientSeq": client_seq, "action": action}
        )
        envelope = await within(answer, self._limit(timeout), self._clock, f"{what} did not come")
        if envelope.rejection is not None:
            raise ActionRefused(envelope)
        return envelope

    def say(self, channel: str, action: Action) -> int:
        """Tell the host of an action on a channel of this client's own; its `serverSeq`.

        Such is a watch the host asked for with `createResourceWatch`, which this client
        answered (`serve`), and which the host subscribed to. Raises `ConnectionGone`.
        """
        seq = next(self._own_seqs)
        self.notify("action", channel=channel, action=action, serverSeq=seq)
        return seq

    # -- what comes in ----------------------------------------------------------------

    def on_action(self, hook: ActionHook) -> Cancel:
        """Call `hook` with every envelope, after it was applied; refusals too."""
        return self._audience.on_action(hook)

    def on_notification(self, hook: NotificationHook) -> Cancel:
        """Call `hook` with the method and params of every notification but `action`."""
        return self._audience.on_notification(hook)

    def on_violation(self, hook: ViolationHook) -> Cancel:
        """Call `hook` with words for what the host did and may not. Else it is logged."""
        return self._audience.on_violation(hook)

    def on_snapshot(self, hook: SnapshotHook) -> Cancel:
        """Call `hook` with each snapshot (schema: Snapshot) before it is held.

        It is given the channel, the snapshot, and whether it was asked for again while
        a state of the channel was held. To read in the call: the state is changed after.
        """
        return self._audience.on_snapshot(hook)

    def actions(self, channel: str | None = None) -> EnvelopeStream:
        """The envelopes from now on, of one channel or of all, to iterate over.

        The stream ends with the connection.
        """
        stream = self._audience.stream(channel)
        if self._link is None:
            stream.close()
        return stream

    async def wait_for(
        self,
        predicate: Callable[[], T],
        timeout: float | None = None,
        what: str = "what was waited for",
    ) -> T:
        """Wait until `predicate()` is true; what it returned.

        It is asked at once and again after every message. `what` names in an error
        what was waited for. Raises whatever the predicate raises.
        """
        if self._link is None:
            return predicate() or self._never(what)
        answer = self._audience.waiters.until(predicate, what)
        return await within(answer, self._limit(timeout), self._clock, f"{what} did not come")

    async def wait_for_action(
        self,
        predicate: Callable[[ActionEnvelope], bool],
        timeout: float | None = None,
        what: str = "the action",
    ) -> ActionEnvelope:
        """Wait for the next envelope `predicate` holds for."""
        if self._link is None:
            self._never(what)
        answer = self._audience.waiters.for_envelope(predicate, what)
        return await within(answer, self._limit(timeout), self._clock, f"{what} did not come")

    def _never(self, what: str) -> Any:
        raise ConnectionGone(f"{what} cannot come, there is no connection", self._ended)

    # -- what a link says ---------------------------------------------------------------

    def link_notified(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """A notification came."""
        if method == "action":
            self._conversation.received(params)
        else:
            self._audience.notified(method, params)
