"""Which store settings ask for."""

from ahpd.config.settings import Settings
from ahpd.stores.chosen import make_store
from ahpd.stores.memory import MemorySessionStore
from ahpd.stores.sqlite import SqliteSessionStore


def test_settings_made_by_hand_keep_nothing_in_files():
    assert isinstance(make_store(Settings()), MemorySessionStore)


def test_memory_is_memory_whatever_the_folder(tmp_path):
    settings = Settings(sessions="memory", data_directory=tmp_path)
    assert isinstance(make_store(settings), MemorySessionStore)


def test_a_file_is_in_the_data_directory_and_waits_for_the_disk_as_it_is_asked(tmp_path):
    for sync, level in (("process", 1), ("power", 2)):
        folder = tmp_path / sync
        store = make_store(Settings(data_directory=folder, sessions_sync=sync))
        assert isinstance(store, SqliteSessionStore)
        assert not folder.exists()
        store.open()
        assert store.path == folder / "sessions.sqlite"
        assert store._connection.execute("PRAGMA synchronous").fetchone() == (level,)
        store.close()
