"""A session's annotations and the entries inside them (schema: AnnotationsState)."""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import present


def _set(state: State, action: Action) -> None:
    keyed.upsert(state, "annotations", "id", action["annotation"])


def _changed(state: State, action: Action, fields: State) -> None:
    """Lay `fields` over the annotation the action names, if it is here."""
    annotations = state["annotations"]
    place = keyed.place_of(annotations, "id", action["annotationId"])
    if place is not None:
        state["annotations"] = keyed.replaced(annotations, place, {**annotations[place], **fields})


def _updated(state: State, action: Action) -> None:
    """Only what the action carries: a range cannot be cleared this way."""
    _changed(state, action, present(action, ("origin", "resource", "range", "resolved")))


def _removed(state: State, action: Action) -> None:
    keyed.remove(state, "annotations", "id", action["annotationId"])


def _entries(state: State, action: Action) -> list[State] | None:
    annotations = state["annotations"]
    place = keyed.place_of(annotations, "id", action["annotationId"])
    if place is None:
        return None
    entries: list[State] = annotations[place]["entries"]
    return entries


def _entry_set(state: State, action: Action) -> None:
    entries = _entries(state, action)
    if entries is not None:
        _changed(state, action, {"entries": keyed.upserted(entries, "id", action["entry"])})


def _entry_removed(state: State, action: Action) -> None:
    """The annotation stays, even when nothing is left in it."""
    entries = _entries(state, action)
    place = None if entries is None else keyed.place_of(entries, "id", action["entryId"])
    if entries is not None and place is not None:
        _changed(state, action, {"entries": keyed.without(entries, place)})


HANDLERS: Final[dict[str, Handler]] = {
    "annotations/set": _set,
    "annotations/updated": _updated,
    "annotations/removed": _removed,
    "annotations/entrySet": _entry_set,
    "annotations/entryRemoved": _entry_removed,
}

reduce = reducer(HANDLERS)
