"""Notes: a URI scheme, a channel, two commands and a page, over one collection of records.

Each part is a module of its own: `notebook.py` is what there is, `resources.py` serves `notes:`,
`channel.py` serves `x-notes`, and `page.py` is what people see on the plugin's page.
"""

from collections.abc import Mapping
from typing import Any

from ahpd.interfaces import IPluginContext, IPluginHost
from ahpd_notes.channel import NotesChannel
from ahpd_notes.notebook import Note, Notebook
from ahpd_notes.page import NotesPage
from ahpd_notes.resources import NotesResources


def apply(host: IPluginHost, options: dict[str, Any]) -> None:
    """Register every part."""
    # `body` names the field that is the text of the file below its YAML.
    notebook = Notebook(host.records("notes", body="text"), options["largest"])
    channel = NotesChannel(host, notebook)
    page = NotesPage(host)
    host.register_resource_provider("notes", NotesResources(notebook))

    def moved(before: Note | None, now: Note | None) -> None:
        channel.moved(before, now)
        page.refresh(notebook.held)

    async def listening(event: Mapping[str, Any], context: IPluginContext) -> None:
        page.show((await notebook.all()).values())

    notebook.on_move(moved)
    host.on("listening", listening)
    host.register_close(notebook.close)
