"""How a conversation is begun, or opened again, in a program that has just been started.

One this host holds the turns of is resumed where the agent can do that, because a resume
replays nothing; any other is loaded. What an agent cannot open again it says so of, rather
than answering with an empty conversation. Source: PLUGINS.txt, "A second worked example".
"""

from collections.abc import Mapping
from typing import Any

import attrs
from twisted.logger import Logger

from ahpd.interfaces import AgentFailure
from ahpd.protocol import State
from ahpd_agent_acp.connection import METHOD_NOT_FOUND, RequestError
from ahpd_agent_acp.handshake import SEND_FAILED
from ahpd_agent_acp.quiet import Quiet
from ahpd_agent_acp.server import Server

log = Logger()


@attrs.frozen(kw_only=True)
class Opened:
    """A conversation that is open in a program."""

    id: str
    """The agent's own id of it."""
    answer: Mapping[str, Any]
    """What the agent said of its modes, models and options."""
    fresh: bool
    """Whether it has just begun: it knows nothing of what came before."""


async def begin(server: Server, place: State, what: str) -> Opened:
    """A new conversation. `place` are the params that say where and with which servers."""
    answer = await server.ask("session/new", place)
    return Opened(id=_id(answer, "session/new", what), answer=answer, fresh=True)


async def reopen(
    server: Server,
    conversation: str,
    place: State,
    what: str,
    held: bool,
    quiet: Quiet,
) -> Opened:
    """One there was. `held` says that this host holds its turns; `quiet` hears what is replayed."""
    can, params = server.capabilities, {"sessionId": conversation, **place}
    answer: Any = None
    if can.resume and (held or not can.load):
        try:
            answer = await server.request("session/resume", params)
        except RequestError as refused:
            if refused.code != METHOD_NOT_FOUND or not can.load:
                raise _not_opened(what, conversation, refused.message) from None
            log.warn("{what} offers session/resume and has no such method", what=what)
        else:
            return Opened(id=conversation, answer=_object(answer), fresh=False)
    if not can.load:
        raise _not_opened(what, conversation, "it offers neither session/resume nor session/load")
    try:
        answer = await server.request("session/load", params)
    except RequestError as refused:
        raise _not_opened(what, conversation, refused.message) from None
    await quiet.settled()
    return Opened(id=conversation, answer=_object(answer), fresh=False)


async def fork(server: Server, conversation: str, place: State, what: str) -> Opened:
    """A copy of the whole of one. Raises `AgentFailure` where the agent makes none."""
    if not server.capabilities.fork:
        raise AgentFailure(
            f"{what} cannot copy a conversation: it offers no session/fork", SEND_FAILED
        )
    answer = await server.ask("session/fork", {"sessionId": conversation, **place})
    return Opened(id=_id(answer, "session/fork", what), answer=answer, fresh=False)


def _id(answer: Any, method: str, what: str) -> str:
    found = _object(answer).get("sessionId")
    if not isinstance(found, str) or not found:
        raise AgentFailure(f"{what} answered {method} without a sessionId", SEND_FAILED)
    return found


def _object(answer: Any) -> Mapping[str, Any]:
    return answer if isinstance(answer, Mapping) else {}


def _not_opened(what: str, conversation: str, why: str) -> AgentFailure:
    return AgentFailure(
        f"{what} cannot open the conversation {conversation} again: {why}", SEND_FAILED
    )
