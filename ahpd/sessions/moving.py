"""`moveChat`: a chat takes another place in its session, another session, or one of its own.

A move is checked whole before anything is done. Who owns the chat and in which order the
sessions list theirs is on disk before any of it is said, so that nobody is ever told of a
chat in two places or in none. Sources: AHP.txt, `moveChat`, `session/chatsReordered` and
`session/ready`; schema: MoveChatParams.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final
from urllib.parse import quote

from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.chats.rows import row_of, summary_of
from ahpd.interfaces import IPausedAgent, StoreFailure
from ahpd.protocol import Action, State
from ahpd.protocol.errors import RpcError, invalid_params
from ahpd.protocol.status import IDLE, IS_READ
from ahpd.protocol.text import plain
from ahpd.sessions.client_tools import client_ids
from ahpd.sessions.company import SessionCompany
from ahpd.sessions.movable import folders_of, is_worker, moves_enabled, rooted
from ahpd.sessions.moved_files import settle_attachments
from ahpd.sessions.naming import take_own_title
from ahpd.sessions.read_state import counts
from ahpd.sessions.registry import SessionRegistry, saving, session_of
from ahpd.sessions.session import Session

#: The configuration value that says on which computer a session works.
_COMPUTER: Final = "computer"


def refused(reason: str, words: str) -> RpcError:
    """-32602 with one of the reasons a window knows in its data."""
    return invalid_params(words, {"reason": reason})


class ChatMoves:
    """Makes the moves clients ask for, and says again who may be moved when that changes."""

    def __init__(self, world: Surroundings, registry: SessionRegistry) -> None:
        self._world = world
        self._registry = registry

    def switched(self) -> None:
        """The root configuration moved: say of every chat held here what differs now."""
        for chat in self._registry.chats():
            session = session_of(chat)
            session.movable.sync(session, chat)

    def move(self, params: Mapping[str, Any], client_id: str = "") -> State:
        """`moveChat` (schema: MoveChatResult), as `client_id` asks for it; "" is nobody's.

        Raises `RpcError` -32602, nothing changed.
        """
        if not moves_enabled(self._world.store):
            raise refused("disabled", "Moving chats is not enabled.")
        chat = self._registry.find_chat(params["channel"])
        if chat is None:
            raise refused("notMovable", f"No chat of this host is called {params['channel']}")
        self._check_chat(chat)
        source, destination = session_of(chat), params["destination"]
        kind = destination["kind"]
        if kind == "newSession":
            return {"session": self._to_new_session(chat, source, client_id).uri}
        if kind != "session":
            raise refused(
                "unsupported",
                f"destination.kind: found {kind!r}, expected 'session' or 'newSession'",
            )
        target = self._registry.find(destination["session"])
        if target is None or not target.ready:
            raise refused(
                "destinationNotFound",
                f"No session is running here under {destination['session']}",
            )
        if target is source:
            self._within(chat, source, self._anchor(chat, source, destination.get("after")))
        else:
            self._across(chat, source, target, destination.get("after"))
        return {"session": target.uri}

    # -- what is refused --------------------------------------------------------------

    def _check_chat(self, chat: Chat) -> None:
        session, state = session_of(chat), chat.state
        words = rooted(session.agent, state, session.default_chat)
        if words is None and (chat.runs or "activeTurn" in state):
            words = "it is running a turn"
        if words is not None:
            raise refused("notMovable", f"{chat.uri} cannot be moved: {words}")
        if not state["turns"]:
            raise refused("notStarted", f"{chat.uri} cannot be moved before its first turn")

    def _check_leaving(self, chat: Chat, *sessions: Session) -> None:
        """A chat leaves and joins only sessions that are in use, and takes its folders along."""
        for session in sessions:
            if session.archived:
                raise refused("sessionArchived", f"The session is archived: {session.uri}")
            if session.movable.changing:
                raise refused(
                    "sessionQuarantined", f"The folders of the session are changing: {session.uri}"
                )
            if IPausedAgent.providedBy(session.agent):
                raise refused("unsupported", session.agent.refusal)
        if not folders_of(sessions[0].state, chat.state):
            raise refused("workspaceless", f"{chat.uri} works in no folder")

    def _check_joining(self, source: Session, target: Session) -> None:
        if target.agent is not source.agent:
            raise refused(
                "differentProvider",
                f"{target.uri} runs on agent {target.agent.provider!r}, "
                f"the chat on {source.agent.provider!r}",
            )
        if target.config_values.get(_COMPUTER) != source.config_values.get(_COMPUTER):
            raise refused("unsupported", f"{target.uri} works on another computer")

    def _anchor(self, chat: Chat, target: Session, after: str | None) -> str | None:
        """The chat of `target` to stand behind; None to stand first."""
        if after is None:
            return None
        anchor = self._registry.find_chat(after)
        if anchor is None or anchor is chat or anchor.owner is not target:
            raise refused(
                "invalidAnchor", f"destination.after: {after} is no other chat of {target.uri}"
            )
        return anchor.uri

    # -- what is done -------------------------------------------------------------------

    def _within(self, chat: Chat, session: Session, after: str | None) -> None:
        held = [row["resource"] for row in session.state["chats"]]
        order = placed(held, [chat.uri], after)
        if order != held:
            session.say({"type": "session/chatsReordered", "chats": order})
            session.chats = {uri: session.chats[uri] for uri in order}

    def _across(self, chat: Chat, source: Session, target: Session, after: str | None) -> None:
        self._check_joining(source, target)
        self._check_leaving(chat, source, target)
        anchor = self._anchor(chat, target, after)
        moved = with_workers(chat, source)
        held = [row["resource"] for row in target.state["chats"]]
        order = placed(held, [one.uri for one in moved], anchor)
        leaving = _leaving(moved)
        joining: list[Action] = [
            {"type": "session/chatAdded", "summary": summary_of(one.state)} for one in moved
        ]
        joining.append({"type": "session/chatsReordered", "chats": order})
        with _folders_kept(moved, source, target):
            self._keep(source, target, moved, leaving, joining)
        _hand_over(moved, source, target)
        target.chats = {uri: target.chats[uri] for uri in order}
        for action in leaving:
            source.say(action)
        for action in joining:
            target.say(action)
        take_own_title(target)
        self._settle(moved, source, target)

    def _to_new_session(self, chat: Chat, source: Session, client_id: str) -> Session:
        self._check_leaving(chat, source)
        moved = with_workers(chat, source)
        leaving = _leaving(moved)
        target = self._new_session(chat, source, moved)
        self._keep(source, target, moved, leaving, ())
        told = self._world.happenings.told
        if told is not None:
            told.session_began(target.uri, target.agent.provider, client_id or None)
        _hand_over(moved, source, target)
        for one in moved:
            one.row = row_of({**one.state, "movable": False} if one is chat else one.state)
        if chat.state.get("movable"):
            chat.say({"type": "chat/movableChanged", "movable": False})
        for action in leaving:
            source.say(action)
        target.ready = True
        self._registry.catalogue.announce(target)
        self._settle(moved, source, target)
        return target

    def _keep(
        self,
        source: Session,
        target: Session,
        moved: Sequence[Chat],
        leaving: Sequence[Action],
        joining: Sequence[Action],
    ) -> None:
        """Have the move on disk, and before it that the files its messages name are `target`'s too.

        Raises `RpcError` -32603, nothing changed.
        """
        attachments = self._world.attachments
        if attachments is not None:
            with saving(target.uri):
                attachments.refer(target.uri, [chat.state for chat in moved])
        try:
            self._registry.keep_move(source, target, moved, leaving, joining)
        except RpcError:
            settle_attachments(self._world, target)
            raise

    def _new_session(self, chat: Chat, source: Session, moved: Sequence[Chat]) -> Session:
        """A session that has the chat as its default one, and nobody in it."""
        state, before = chat.state, source.state
        identifier = chat.kept.conversation or self._world.ids()
        if self._registry.catalogue.entry(identifier) is not None:
            identifier = self._world.ids()
        made: State = {
            "provider": source.agent.provider,
            "title": state["title"],
            "status": IDLE | state["status"] & IS_READ,
            "lifecycle": "ready",
            "activeClients": [],
            "chats": [plain(summary_of(one.state)) for one in moved],
            "defaultChat": chat.uri,
            "workingDirectories": list(_folders_now(chat, source)),
        }
        made["chats"][0]["movable"] = False
        if "config" in before:
            made["config"] = plain(before["config"])
        made.update(SessionCompany.inherited(before))
        uri = f"ahp-session:/{quote(identifier, safe='')}"
        self._world.from_plugins.seed(uri, made)
        return Session(
            self._world,
            self._registry.catalogue,
            source.agent,
            made,
            uri,
            self._world.stamp(),
        )

    def _settle(self, moved: Sequence[Chat], source: Session, target: Session) -> None:
        """What both sessions show of the chats they have now."""
        clients = client_ids(target.state)
        for chat in moved:
            source.blockers.drop(chat.uri)
            target.blockers.joined(chat.uri, chat.state, clients)
            if self._world.left is not None:
                self._world.left.chat_moved(chat.uri, target.uri)
        for session in (source, target):
            session.chats_moved()
        settle_attachments(self._world, source)
        unread = any(counts(chat.state) and not chat.state["status"] & IS_READ for chat in moved)
        if not unread:
            return
        if target.state["status"] & IS_READ:
            target.say({"type": "session/isReadChanged", "isRead": False})
        rest = source.counted_chats()
        if not source.state["status"] & IS_READ and all(
            chat.state["status"] & IS_READ for chat in rest
        ):
            source.say({"type": "session/isReadChanged", "isRead": True})


def placed(held: Sequence[str], moved: Sequence[str], after: str | None) -> list[str]:
    """`held` with `moved` standing together behind `after`, or first."""
    order = [uri for uri in held if uri not in moved]
    place = 0 if after is None else order.index(after) + 1
    order[place:place] = moved
    return order


def with_workers(chat: Chat, session: Session) -> list[Chat]:
    """A chat and every worker its calls spawned, and theirs, in the order they are listed."""
    found = above = {chat.uri: chat}
    while above:
        above = {
            uri: other
            for uri, other in session.chats.items()
            if is_worker(other.state)
            and other.state["origin"]["chat"] in above
            and uri not in found
        }
        found = found | above
    return list(found.values())


def _leaving(moved: Sequence[Chat]) -> list[Action]:
    return [{"type": "session/chatRemoved", "chat": chat.uri} for chat in moved]


@contextmanager
def _folders_kept(moved: Sequence[Chat], source: Session, target: Session) -> Iterator[None]:
    """The chats work on in the folders they were working in, whatever their new session's are.

    That is on disk before the move is, and taken back where the move is not made. Raises
    `RpcError` -32603.
    """
    followers = [chat for chat in moved if "workingDirectories" not in chat.state]
    before = {chat: chat.kept.folders for chat in followers}
    try:
        with saving(target.uri):
            for chat in followers:
                folders = _folders_now(chat, source)
                chat.kept.work_in(None if folders == target.working_directories else folders)
        yield
    except RpcError:
        for chat in followers:
            with suppress(StoreFailure):  # they hold all the same (`Kept`)
                chat.kept.work_in(before[chat])
        raise


def _folders_now(chat: Chat, session: Session) -> tuple[str, ...]:
    """The folders a chat of the session works in: those it brought along, its own, or all."""
    return chat.kept.folders or tuple(folders_of(session.state, chat.state))


def _hand_over(moved: Sequence[Chat], source: Session, target: Session) -> None:
    """The chats are `target`'s from now on; their backends begin again at their next turns."""
    for chat in moved:
        del source.chats[chat.uri]
        target.chats[chat.uri] = chat
        chat.owner = target
        chat.refresh_backend()
