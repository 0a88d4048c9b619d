"""Hosts with sessions and attachments, to carry them from one to another."""

import io
from pathlib import Path

import pytest

from ahpd.attachments.names import folder_name
from ahpd.stores.memory import MemorySessionStore
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.stores.transfer import Place, export_lines, import_lines


class Host:
    """A store and a folder of attachments."""

    def __init__(self, folder: Path, make):
        self.root = folder / "attachments"
        self.place = Place(root=self.root, folder_of=lambda name: self.root / folder_name(name))
        self.store = make(folder)
        self.store.open()

    def export(self, *names):
        rows = [row for row in self.store.sessions() if not names or row.id in names]
        return b"".join(export_lines(self.store, self.place, rows))

    def take(self, data, **options):
        return import_lines(self.store, self.place, io.BytesIO(data), **options)

    def attach(self, session, path, data):
        target = self.root / folder_name(session) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        return target

    def files(self):
        return {
            path.relative_to(self.root).as_posix(): path.read_bytes()
            for path in self.root.rglob("*")
            if path.is_file()
        }


KINDS = {"sqlite": SqliteSessionStore, "memory": lambda folder: MemorySessionStore()}


@pytest.fixture(params=list(KINDS))
def hosts(tmp_path, request):
    made = []

    def host():
        folder = tmp_path / f"host{len(made)}"
        made.append(Host(folder, KINDS[request.param]))
        return made[-1]

    yield host
    for each in made:
        each.store.close()
