"""A message's attachments on its way in and on its way to the backend (CHATS.txt, "Attachments").

What they become is decided behind `IAttachments`; a host that was given none passes them
on as they were sent.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import IAttachments, Refusal, RpcError, TurnRequest
from ahpd.protocol import State

#: A client's actions that say a message. A draft's stay as they are: it changes at every
#: key, and what it holds is written once it is sent.
SAYS_A_MESSAGE: Final = frozenset({"chat/turnStarted", "chat/pendingMessageSet"})

_Act = Callable[[Any], Awaitable[None] | None]


def kept_first(
    attachments: IAttachments | None,
    session: Callable[[], str],
    saying: Mapping[str, Any],
    client_id: str,
    act: _Act,
    field: str = "message",
) -> Awaitable[None] | None:
    """`act` on what a client says once its message's attachments are files of `session()`, a URI.

    `saying` is an action or a command's params, with the message under `field`. At once
    where nothing has to be written. What was written for one that `act` refuses is taken
    away again.
    """
    if attachments is None:
        return act(saying)
    message: State = saying[field]
    began = session()
    prepared = attachments.prepare(began, message, client_id)
    if isinstance(prepared, Awaitable):
        writing = _written(attachments, session, message, client_id, prepared, began)
        return _later(attachments, saying, writing, act, field)
    return act(saying if prepared is message else {**saying, field: prepared})


async def _written(
    attachments: IAttachments,
    session: Callable[[], str],
    message: State,
    client_id: str,
    writing: Awaitable[State],
    began: str,
) -> State:
    """The message with files of the session its chat is in once they are written.

    A chat may move while they are, and the session it left, `began` at first, may be gone
    with its files before the message names them.
    """
    while True:
        written = await writing
        if session() == began:
            return written
        await attachments.discard(message, written)
        began = session()
        again = attachments.prepare(began, message, client_id)
        if not isinstance(again, Awaitable):
            return again
        writing = again


async def _later(
    attachments: IAttachments,
    saying: Mapping[str, Any],
    writing: Awaitable[State],
    act: _Act,
    field: str,
) -> None:
    prepared = await writing
    try:
        following = act({**saying, field: prepared})
        if following is not None:
            await following
    except (Refusal, RpcError):
        await attachments.discard(saying[field], prepared)
        raise


def as_pinned(sent: Mapping[str, Any], before: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """A message sent again, its attached chats read up to the turns they were pinned to.

    `before` is the message that came under its id first, None for none. A chat that is sent
    without its turn is pinned to its newest one else, and the message would be another one.
    """
    held = () if before is None else before.get("attachments") or ()
    attachments = sent.get("attachments") or ()
    if not held or len(held) != len(attachments):
        return sent
    made = [
        was if now == {key: was[key] for key in was if key != "endTurn"} else now
        for now, was in zip(attachments, held, strict=True)
    ]
    return {**sent, "attachments": made}


async def with_attachments(attachments: IAttachments | None, turn: TurnRequest) -> TurnRequest:
    """`turn` with its message's attachments as a backend takes them.

    Raises `AgentFailure` where one pins what cannot be read.
    """
    sent = turn.message.get("attachments")
    if not sent:
        return turn
    taken = sent if attachments is None else await attachments.for_backend(turn.message)
    return attrs.evolve(turn, attachments=tuple(taken))
