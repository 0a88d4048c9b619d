"""What agents recorded on their sessions: kept in a session's `_meta`, and shown on its row.

Source: AHP.txt, "what the agent recorded" and `vscode/removeSessionArtifact`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred

from ahpd.channels.store import ChannelStore
from ahpd.protocol import Action, State
from ahpd.protocol.errors import session_not_found
from ahpd.protocol.text import plain
from ahpd.sessions.session import Session

#: Where a window reads them.
KEY: Final = "agentHost/sessionArtifacts"


class ArtifactsKept:
    """The artifacts of every session. `find` knows a session by any of its URIs.

    What was said from inside of a delivery is in no state until its turn comes; it is read here
    all the same, so that the next change is made to it.
    """

    def __init__(self, store: ChannelStore, find: Callable[[str], Session | None]) -> None:
        self._store = store
        self._find = find
        self._on_the_way: dict[str, tuple[State, ...]] = {}

    def read(self, session: str) -> Sequence[State]:
        """A session's, the oldest first; -32001 for a session nobody has."""
        held = self._session(session)
        on_the_way = self._on_the_way.get(held.uri)
        return _of(held.state) if on_the_way is None else on_the_way

    async def keep(self, session: str, artifacts: Sequence[State]) -> None:
        """These from now on, said when it returns, and kept as all a session's own actions are.

        Raises `RpcError` -32001 for a session that is gone by then.
        """
        held, kept = self._session(session), tuple(plain(list(artifacts)))
        meta = {**(held.state.get("_meta") or {}), KEY: list(kept)}
        if not kept:
            del meta[KEY]
        action: Action = {"type": "session/metaChanged"}
        self._on_the_way[held.uri] = kept
        held.say({**action, "_meta": meta} if meta else action)
        said: Deferred[None] = Deferred()

        def arrived() -> None:
            if self._on_the_way.get(held.uri) is kept:  # and no more on the way behind it
                del self._on_the_way[held.uri]
            if not said.called:
                said.callback(None)

        self._store.behind(arrived)
        await said
        if not self._store.is_open(held.uri):
            raise session_not_found(held.uri)

    async def remove(self, session: str, identifier: str) -> None:
        """Take one away; one the session does not have is no error. Raises as `keep` does."""
        held = self.read(session)
        left = [each for each in held if each["id"] != identifier]
        if len(left) < len(held):
            await self.keep(session, left)

    def _session(self, uri: str) -> Session:
        session = self._find(uri)
        if session is None:
            raise session_not_found(uri)
        return session


def _of(state: State) -> list[State]:
    """Those of a session's state; an entry that is none is passed over."""
    held = (state.get("_meta") or {}).get(KEY)
    return [each for each in held if _is_one(each)] if isinstance(held, list) else []


def _is_one(entry: Any) -> bool:
    return (
        isinstance(entry, dict)
        and all(isinstance(entry.get(key), str) for key in ("id", "type", "label"))
        and isinstance(entry.get("isArtifact"), bool)
    )
