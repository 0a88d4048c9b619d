"""What plugins add to sessions and chats, as those read it."""

from collections.abc import Callable, Mapping, Sequence

import attrs

from ahpd.protocol import State


@attrs.define(kw_only=True, eq=False, repr=False)
class FromPlugins:
    """Read where it is needed, because it comes and goes with plugins."""

    settings: Callable[[], Mapping[str, State]] = dict
    """Session settings that are no agent's, by key (schema: SessionConfigPropertySchema)."""
    in_language: Callable[[str | None, Mapping[str, State], str | None], Mapping[str, State]] = (
        lambda provider, properties, locale: properties
    )
    """The properties of a session's form in a locale (None for English): those the agent of that
    provider declares, or for None the `settings`."""
    meta: Callable[[str, State], State] = lambda session, held: held
    """The `_meta` of the session of that URI, made of the one it has."""
    canvases: Callable[[str], Sequence[State]] = lambda chat: ()
    """What is drawn on a chat (schema: CanvasReference), in its order."""
    chat_gone: Callable[[str], None] = lambda chat: None
    """Told of a chat that is gone for good."""

    def seed(self, session: str, state: State) -> None:
        """Have the state of a session that is not held so far (schema: SessionState) say it."""
        meta = self.meta(session, state.get("_meta") or {})
        if meta:
            state["_meta"] = meta
        else:
            state.pop("_meta", None)
