"""Keys that plugins add to every session's `_meta`: on its state, and on its row in the catalogue.

A key is read when a session is made or woken, when its plugin says that it moved, and when the
plugins that contribute keys are others. What was kept of one goes the next time the session is
looked at: a value holds for as long as its plugin says it. A session that is asleep is not woken
for it: its row is read anew by whoever lists it. Source: PLUGINS.txt, `registerSessionMeta`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.calling import called
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import Owned
from ahpd.protocol import State
from ahpd.protocol.uris import ROOT
from ahpd.sessions.catalogue import Catalogue
from ahpd.sessions.creation import HOST_META
from ahpd.sessions.entry import Entry
from ahpd.sessions.session import Session
from ahpd.wire.codec import Encoded, decode, encode

log = Logger()

#: How many sleeping sessions' rows are looked at in one go, for those who watch the catalogue.
_AT_ONCE: Final = 100
#: How long the next ones wait, in seconds: others have something to do meanwhile.
SOON: Final = 0.02
_MARK: Final = b'"_meta"'


class SessionMeta:
    """The keys that are contributed now, each an `Owned` of what reads it by a session's URI."""

    def __init__(
        self,
        world: Surroundings,
        catalogue: Catalogue[Session],
        named: Callable[[str], Entry[Session] | None],
    ) -> None:
        self._world = world
        self._catalogue = catalogue
        self._named = named
        self._held: Mapping[str, Owned] = {}
        self._reported: set[str] = set()
        self._telling: IDelayedCall | None = None

    def contributed(
        self, items: Mapping[str, Owned], report: Callable[[str, str], None] | None = None
    ) -> None:
        """All there are from now on, by key. One this host writes itself is left out, and `report`
        told of it: the plugin's id, and a line."""
        held: dict[str, Owned] = {}
        for key, owned in items.items():
            if key in HOST_META:
                line = f"the session meta {key} is left out: it is this host's"
                (report or _logged)(owned.plugin, line)
            else:
                held[key] = owned
        self._held = held
        self._reported.clear()
        waiting = []
        for entry in self._catalogue.entries():
            if entry.session is not None:
                refresh_meta(self._world, entry.session)
            else:
                entry.reread_by = self._row
                waiting.append(entry)
        self._stop_telling()
        if self._world.store.watchers(ROOT):
            self._tell(iter(waiting))

    def changed(self, session: str) -> None:
        """What is read for a session is another value now. One nobody has is no error."""
        entry = self._named(session)
        if entry is None:
            return
        if entry.session is not None:
            refresh_meta(self._world, entry.session)
        else:
            entry.reread_by = self._row
            self._catalogue.reread(entry)

    def of(self, session: str, held: State) -> State:
        """See `FromPlugins.meta`: what this host wrote of `held`, and what the plugins say now."""
        made = {key: value for key, value in held.items() if key in HOST_META}
        for key, owned in self._held.items():
            value = self._read(key, owned, session)
            if value is not None:
                made[key] = value
        return made

    def stop(self) -> None:
        """Leave nothing on the clock."""
        self._stop_telling()

    def _read(self, key: str, owned: Owned, session: str) -> Any:
        try:
            value = called(owned.value, session)
            return None if value is None else decode(encode(value))
        except Exception as failed:
            if key not in self._reported:
                self._reported.add(key)
                log.error(
                    "the plugin {plugin} does not say its {key} of {session}: {kind}: {error}",
                    plugin=owned.plugin,
                    key=key,
                    session=session,
                    kind=type(failed).__name__,
                    error=str(failed),
                )
            return None

    # -- sessions that are asleep ----------------------------------------------------------

    def _row(self, session: str, encoded: Encoded) -> State | None:
        """A row as it is to be, None where it is that already."""
        body = bytes(encoded)
        if not self._held and _MARK not in body:
            return None
        row: State = decode(body)
        held = row.pop("_meta", {})
        wanted = self.of(session, held)
        if wanted == held:
            return None
        return {**row, "_meta": wanted} if wanted else row

    def _tell(self, waiting: Iterator[Entry[Session]]) -> None:
        """Say what moved in the rows of those who sleep, some at a time."""
        self._telling = None
        for _ in range(_AT_ONCE):
            entry = next(waiting, None)
            if entry is None:
                return
            self._catalogue.reread(entry)
        self._telling = self._world.clock.callLater(SOON, self._tell, waiting)

    def _stop_telling(self) -> None:
        if self._telling is not None:
            self._telling.cancel()
            self._telling = None


def refresh_meta(world: Surroundings, session: Session) -> None:
    """Say a session's `_meta` where what plugins say of it is not what it shows."""
    held: State = session.state.get("_meta") or {}
    wanted = world.from_plugins.meta(session.uri, held)
    if wanted != held:
        action: State = {"type": "session/metaChanged"}
        session.say({**action, "_meta": wanted} if wanted else action)


def _logged(plugin: str, line: str) -> None:
    log.error("the plugin {plugin}: {line}", plugin=plugin, line=line)
