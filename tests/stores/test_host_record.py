"""The host's own small facts on disk."""

import pytest

from ahpd.interfaces import StoreFailure
from ahpd.stores.host_record import FileRecord


def test_what_was_written_is_read_by_the_next_host(tmp_path):
    path = tmp_path / "host.json"
    record = FileRecord(path)
    assert record.read("a") == {}
    record.write("a", {"one": [1]})
    record.write("b", {"two": 2})
    record.write("a", {"one": 1})
    again = FileRecord(path)
    assert (again.read("a"), again.read("b")) == ({"one": 1}, {"two": 2})
    assert path.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"a": 1}', b"\xff"])
def test_a_damaged_file_is_named_and_left_alone(tmp_path, content):
    path = tmp_path / "host.json"
    path.write_bytes(content)
    with pytest.raises(StoreFailure, match=r"host\.json: it is damaged"):
        FileRecord(path)
    assert path.read_bytes() == content


def test_a_write_that_fails_changes_nothing(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    record = FileRecord(folder / "host.json")
    record.write("a", {"one": 1})
    (folder / "host.json.new").mkdir()
    with pytest.raises(StoreFailure, match=r"host\.json: "):
        record.write("a", {"one": 2})
    assert record.read("a") == {"one": 1}
    assert FileRecord(folder / "host.json").read("a") == {"one": 1}
