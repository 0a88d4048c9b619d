"""The plugin's own page: a view that clients draw, with a button behind each note."""

from collections.abc import Iterable
from typing import Any, Final

from ahpd.interfaces import IPluginHost
from ahpd.protocol import State
from ahpd_notes.notebook import Note

#: A view is at most 64 KiB; titles are at most 200 characters.
_MOST_ROWS: Final = 50

_COMPONENTS: Final[tuple[State, ...]] = (
    {"id": "page", "component": "Column", "children": ["count", "notes", "more"]},
    {"id": "count", "component": "KeyValue", "label": "Notes", "value": {"path": "/count"}},
    # Drawn once for each item; the paths inside of a row are read from its item.
    {"id": "notes", "component": "List", "children": {"path": "/notes", "componentId": "row"}},
    {
        "id": "row",
        "component": "Row",
        "justify": "spaceBetween",
        "children": ["title", "remove"],
    },
    {"id": "title", "component": "Text", "text": {"path": "title"}},
    {
        "id": "remove",
        "component": "Button",
        "label": "Remove",
        # The request a click sends: the method's grant is asked of whoever clicked.
        "action": {"event": {"name": "x-notes/remove", "context": {"id": {"path": "id"}}}},
    },
    {"id": "more", "component": "Text", "text": {"path": "/more"}},
)


class NotesPage:
    """Shows the notes everybody may see: the page is the same for every reader."""

    def __init__(self, host: IPluginHost) -> None:
        self._host = host
        self._shown = False

    def show(self, notes: Iterable[Note]) -> None:
        """Draw the page.

        Not before the event `listening`: a button names a method, and the host has those of a
        plugin once it is built.
        """
        self._host.show_view(
            {
                "root": "page",
                "components": {one["id"]: one for one in _COMPONENTS},
                "dataModel": _data(notes),
            }
        )
        self._shown = True

    def refresh(self, notes: Iterable[Note]) -> None:
        """Set the data anew; the components stay."""
        if self._shown:
            self._host.set_view_data("/", _data(notes))


def _data(notes: Iterable[Note]) -> dict[str, Any]:
    shared = [note for note in notes if note.is_shared]
    left = len(shared) - _MOST_ROWS
    return {
        "count": len(shared),
        "notes": [{"id": note.id, "title": note.title} for note in shared[:_MOST_ROWS]],
        "more": f"and {left} more" if left > 0 else "",
    }
