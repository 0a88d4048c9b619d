"""Tool calls put together from their fragments.

A fragment belongs to the call of its id or of its index; without either, to the last one.
One with a name begins a call, unless it repeats the name of a call that has no whole
arguments yet: so calls that all come with index 0, or with none, are told apart.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.wire.codec import decode


@attrs.frozen(kw_only=True)
class FinishedCall:
    """A call as the model made it. `arguments` is None where `raw` is no JSON object."""

    number: int
    id: str
    """The model's own, or one of ours where it gave none or gave it twice in an answer."""
    name: str
    raw: str
    arguments: Mapping[str, Any] | None


@attrs.define(eq=False)
class CallDraft:
    """A call that is still being said."""

    number: int
    index: int | None
    id: str
    name: str
    pieces: list[str] = attrs.field(factory=list)

    def raw(self) -> str:
        """Its arguments so far."""
        return "".join(self.pieces)


class CallDrafts:
    """The calls of one answer, in the order they began."""

    def __init__(self) -> None:
        self._drafts: list[CallDraft] = []

    def take(
        self, index: int | None, identifier: str, name: str, arguments: str
    ) -> tuple[CallDraft | None, bool]:
        """The call a fragment belongs to, and whether it began it; None for one of no call."""
        draft = self._named(index, identifier)
        if draft is not None and name and _is_another(draft, identifier, name):
            draft = None
        began = draft is None or not draft.name
        if draft is None:
            if not name and not identifier:
                return None, False
            draft = CallDraft(len(self._drafts), index, identifier, name)
            self._drafts.append(draft)
        draft.id = draft.id or identifier
        draft.name = draft.name or name
        if arguments:
            draft.pieces.append(arguments)
        if not draft.name:
            return draft, False
        return draft, began

    def _named(self, index: int | None, identifier: str) -> CallDraft | None:
        """The newest call of that id or that index; the newest of all where neither is given."""
        for draft in reversed(self._drafts):
            if identifier and draft.id == identifier and index in (None, draft.index):
                return draft
        for draft in reversed(self._drafts):
            if index is None:
                return draft if not identifier or not draft.id else None
            if draft.index == index:
                return draft
        return None

    def finished(self) -> tuple[FinishedCall, ...]:
        """All of them, each with an id of its own."""
        taken: set[str] = set()
        finished = []
        for draft in self._drafts:
            if not draft.name:
                continue
            identifier = draft.id
            if not identifier or identifier in taken:
                identifier = f"call_{draft.number}"
                while identifier in taken:
                    identifier += "_"
            taken.add(identifier)
            raw = draft.raw()
            finished.append(
                FinishedCall(
                    number=draft.number,
                    id=identifier,
                    name=draft.name,
                    raw=raw,
                    arguments=arguments_of(raw),
                )
            )
        return tuple(finished)


def _is_another(draft: CallDraft, identifier: str, name: str) -> bool:
    if not draft.name:
        return False
    if identifier and draft.id:
        return identifier != draft.id
    return name != draft.name or (bool(draft.pieces) and arguments_of(draft.raw()) is not None)


def arguments_of(raw: str) -> Mapping[str, Any] | None:
    """The arguments in `raw`; none at all are an empty object, anything else but one is None."""
    if not raw.strip():
        return {}
    try:
        value = decode(raw)
    except ValueError:
        return None
    if type(value) is str:  # encoded twice, as one server does
        try:
            value = decode(value)
        except ValueError:
            return None
    return value if type(value) is dict else None
