"""How one backend is checked: the messages that make it do things, and the time it has."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, TimeoutError, ensureDeferred  # noqa: A004
from twisted.internet.task import Clock, deferLater
from twisted.python.failure import Failure

from ahpd.interfaces import AgentFailure, IAgent, TurnOver
from ahpd.testing.agent_contract.said import expect

#: Characters that may be said while clients have no room, unless a contract says otherwise.
MOST_AHEAD: Final = 1024 * 1024

#: In how many steps a clock is taken to the end of its patience.
_STEPS: Final = 200


@attrs.frozen(kw_only=True)
class SignIn:
    """A turn that waits for a sign-in, and what a client lends it."""

    message: str
    """Its turn says `chat/toolCallAuthRequired` of a call, and completes once it may go on."""
    resource: str
    """The protected resource the token is for."""
    server: str | None = None
    """The MCP server it is for (its customization's id); None where it is for the resource."""
    token: str = "lent-to-the-check"  # noqa: S105 - of no service
    """What is lent. It may be in nothing that is said."""


@attrs.frozen(kw_only=True)
class AgentContract:
    """How to check one backend: `reactor`, `endless`, and what goes with what it declares.

    A field below that says *needed for* something is asked for where an agent declares or
    provides it; that it is missing then is an `AssertionError` itself. The others each add a
    check that cannot be made without them.
    """

    reactor: Any
    """What times the checks. A `Clock` is advanced while a check waits: it does for an agent that
    waits for nothing but calls of it."""
    answered: str = "hello"
    """A message whose turn says something and completes."""
    endless: str
    """A message whose turn says something and runs on until it is stopped."""
    bound: float = 10.0
    """How many seconds anything may take."""
    config: Mapping[str, Any] = attrs.field(factory=dict)
    """Settings it takes: chats are opened with them, and with `live_config` told of them."""
    secrets: Sequence[str] = ()
    """Keys it was given: they may be in nothing that is said or shown."""
    supervisor: Any = None
    """The `ProcessSupervisor` of its ports, whose children are counted at the end. None where it
    has none; what descends from this process is counted all the same."""

    # -- what a turn says, and how fast --------------------------------------------------
    flooding: str | None = None
    """A message whose turn says more than `most_ahead` characters as fast as it may, and
    completes: it is held back while clients have no room."""
    flooded: Callable[[], int] | None = None
    """How much of that its source has made so far, in characters: what a program wrote, what an
    endpoint sent. The source is held back too, but for as much again as `most_ahead`."""
    most_ahead: int = MOST_AHEAD
    """How many characters it may say while clients have no room."""

    # -- what a turn awaits --------------------------------------------------------------
    asking: Sequence[str] = ()
    """Each one's turn awaits one answer of a person or client, and completes whatever it is."""
    client_tools: Sequence[Mapping[str, Any]] = ()
    """The tools of clients that `asking` needs (as `TurnRequest.client_tools`)."""
    effects: Mapping[str, Callable[[], Any]] = attrs.field(factory=dict)
    """By message of `asking`: what its call changes in the world, as a value that compares (see
    `files_of`). It is another once the call was allowed, and the same in every other case."""
    host_tool: str | None = None
    """A message whose turn calls the host's tool `look_up` once and completes; any answer of
    `confirmed` it asks for is yes."""
    sign_in: SignIn | None = None
    """Needed for chats that provide `ISignedInChat`."""

    # -- abilities -----------------------------------------------------------------------
    steered: str | None = None
    """Needed for `steering`: its turn reads one message steered into it, says something of it,
    and completes."""
    failing: str | None = None
    """Needed for `resume`: its turn fails in a way that can be resumed, and the resume
    completes. It is sent once."""
    delegating: str | None = None
    """Needed for `workers`: its turn spawns a worker, which completes."""
    delegating_endlessly: str | None = None
    """Needed for `workers`: its turn spawns a worker that runs until it is stopped, and ends."""
    customization: str | None = None
    """Needed for `customizations`: the id of one that can be switched."""
    mcp_server: str | None = None
    """Needed for `mcp`: the id of a server that can be started and stopped."""

    # -- conversations -------------------------------------------------------------------
    recalling: str | None = None
    """For `reopens`: a message whose turn says how far the conversation goes, the same words
    exactly where it goes as far; how many messages it was sent, for one."""
    cuts: bool = True
    """For `reopens`: whether it goes on from an earlier turn. One that cannot keeps the whole."""
    keeps: bool = True
    """For `IConversations`: whether there are conversations to list, read and delete. Where not,
    it says so in words (`AgentFailure`), or lists none."""

    # -- the agent itself ----------------------------------------------------------------
    unchanged: Callable[[], Any] | None = None
    """For `IProbedAgent`: what a probe must not change, as a value that compares: files, how
    many prompts were sent."""
    unusable: Callable[[], IAgent] | None = None
    """Makes one that cannot work: its program is not there, its endpoint does not answer. It is
    probed, and its turns fail in words."""
    change: Callable[[IAgent], Awaitable[None] | None] | None = None
    """For `IChangingAgent`: has `info()` answer something else, as a sign-in or a model would."""

    def needed(self, name: str) -> Any:
        """The field `name`, for something that was declared."""
        value = getattr(self, name)
        if value is None:
            raise AssertionError(f"what it declares is checked with AgentContract.{name}: name one")
        return value

    async def tried(self, what: str, work: Awaitable[Any]) -> AgentFailure | None:
        """The failure `work` raises in words; None where it raises none.

        An `AssertionError` that names `what` where it takes too long, raises anything else, or
        has no words.
        """
        try:
            await self._bounded(what, work)
        except AgentFailure as failure:
            expect(bool(failure.message), f"{what} failed and has no words for it")
            self.discreet(what, failure.message)
            return failure
        return None

    async def within(self, what: str, work: Awaitable[Any]) -> Any:
        """`work`'s result; an `AssertionError` that names `what` where it is late, or fails."""
        try:
            return await self._bounded(what, work)
        except AgentFailure as failure:
            raise AssertionError(f"{what} failed: {failure.message}") from None

    async def _bounded(self, what: str, work: Awaitable[Any]) -> Any:
        deferred: Deferred[Any] = ensureDeferred(_await(work))
        deferred.addTimeout(self.bound, self.reactor, onTimeoutCancel=_late)
        if isinstance(self.reactor, Clock):
            self._pass_time(deferred)
        try:
            return await deferred
        except TimeoutError:
            raise AssertionError(f"{what} took more than {self.bound} seconds") from None
        except (AgentFailure, AssertionError):
            raise
        except TurnOver:
            raise AssertionError(f"{what} raised TurnOver although its turn was not over") from None
        except Exception as error:
            raise AssertionError(f"{what} raised {type(error).__name__}: {error}") from error

    def _pass_time(self, deferred: "Deferred[Any]") -> None:
        # Nothing but time can move what runs on a clock: what is still not there is never.
        for _ in range(_STEPS + 1):
            if deferred.called:
                return
            self.reactor.advance(self.bound / _STEPS)

    async def settled(self, seconds: float = 0.05) -> None:
        """Let some time pass, for what should not happen."""
        if isinstance(self.reactor, Clock):
            self.reactor.advance(seconds)
        else:
            await deferLater(self.reactor, seconds)

    def discreet(self, where: str, *said: object) -> None:
        """None of the secrets is in what was said."""
        lent = () if self.sign_in is None else (self.sign_in.token,)
        for secret in (*self.secrets, *lent):
            # A secret that was named is in no message here either.
            expect(secret not in repr(said), f"{where} holds a secret")


def _late(_: Any, bound: float) -> Failure:
    # Whatever being cancelled made of it: an agent says that it was stopped, which is no end.
    return Failure(TimeoutError(bound))


async def _await(work: Awaitable[Any]) -> Any:
    return await work
