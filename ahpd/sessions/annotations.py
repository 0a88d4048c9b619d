"""A session's annotations: marks on files, held for as long as the session is.

Source: AHP.txt, the `annotations/*` table.
"""

from collections.abc import Callable
from typing import Final

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IActionHandler, Refusal
from ahpd.protocol import Action, State
from ahpd.protocol.actions import belongs_on
from ahpd.protocol.uris import ChannelKind

_SUFFIX: Final = "/annotations"


def annotations_of(session: str) -> str:
    """The channel of the annotations of the session of this URI."""
    return session + _SUFFIX


def session_of_annotations(channel: str) -> str:
    """The session URI an annotations channel hangs off."""
    return channel.removesuffix(_SUFFIX)


def marks_of(channel: str, state: State) -> State | None:
    """How many marks a channel holds (schema: AnnotationsSummary); None for none."""
    marks: list[State] = state["annotations"]
    if not marks:
        return None
    return {
        "resource": channel,
        "annotationCount": len(marks),
        "entryCount": sum(len(mark["entries"]) for mark in marks),
    }


@implementer(IActionHandler)
class AnnotationActions:
    """The handler of every session's annotations channel.

    An action about a mark the session does not have is refused: said back, it would
    leave its client with a mark nobody keeps. `opened` answers the URI a channel's marks
    are held under, their state in the store, or None for a session nobody has.
    """

    def __init__(self, store: ChannelStore, opened: Callable[[str], str | None]) -> None:
        self._store = store
        self._opened = opened

    def handle(self, channel: str, action: Action, origin: Origin) -> None:
        """See `IActionHandler.handle`. Never raises anything but `Refusal`."""
        kind = action["type"]
        if not belongs_on(kind, ChannelKind.ANNOTATIONS):
            raise Refusal(f"{kind} is no action of an annotations channel: {channel}")
        held = self._opened(channel)
        if held is None:
            raise Refusal(f"Session not found: {session_of_annotations(channel)}")
        named = action.get("annotationId")
        if named is not None:
            mark = _mark(self._store.state(held), named)
            if mark is None:
                raise Refusal(f"Annotation not found: {named}")
            entry = action.get("entryId")
            if entry is not None and all(one["id"] != entry for one in mark["entries"]):
                raise Refusal(f"Annotation entry not found: {entry}")
        self._store.dispatch(held, action, origin)


def _mark(state: State, identifier: str) -> State | None:
    marks: list[State] = state["annotations"]
    return next((mark for mark in marks if mark["id"] == identifier), None)
