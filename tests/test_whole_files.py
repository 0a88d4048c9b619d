"""Small files are replaced whole, and are their owner's alone."""

import os
import stat

import pytest

from ahpd.whole_files import replace


def test_the_old_content_gives_way_to_the_new(tmp_path):
    path = tmp_path / "facts"
    for data in (b"one", b"another, longer", b""):
        replace(path, data)
        assert path.read_bytes() == data
    assert [each.name for each in tmp_path.iterdir()] == ["facts"]


def test_it_is_its_owners_alone_whatever_was_there(tmp_path):
    path = tmp_path / "facts"
    for left in (path, tmp_path / "facts.new"):
        left.write_text("left open to all")
        left.chmod(0o666)
    replace(path, b"mine")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"mine"


def test_a_draft_somebody_made_a_link_of_is_not_written_through(tmp_path):
    (tmp_path / "elsewhere").write_text("somebody's")
    (tmp_path / "facts.new").symlink_to(tmp_path / "elsewhere")
    replace(tmp_path / "facts", b"mine")
    assert (tmp_path / "elsewhere").read_text() == "somebody's"


@pytest.mark.parametrize("breaks", ["fsync", "replace"])
def test_what_was_there_stays_where_it_fails(tmp_path, monkeypatch, breaks):
    path = tmp_path / "facts"
    replace(path, b"old")

    def full(*arguments, **more):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, breaks, full)
        with pytest.raises(OSError, match="No space left"):
            replace(path, b"new")
    assert path.read_bytes() == b"old"
    replace(path, b"new")
    assert path.read_bytes() == b"new"


def test_what_cannot_take_its_place_is_not_left_beside_it(tmp_path):
    place = tmp_path / "place"
    (place / "full").mkdir(parents=True)
    with pytest.raises(OSError, match="place"):
        replace(place, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
