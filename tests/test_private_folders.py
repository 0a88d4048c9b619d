"""Folders that are made for their owner alone."""

import os
import stat

import pytest

from ahpd.private_folders import make_private


@pytest.fixture
def careless():
    before = os.umask(0)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_every_folder_that_was_missing_is_its_owners_alone(tmp_path, careless):
    there = tmp_path / "there"
    there.mkdir(mode=0o755)
    make_private(there / "one" / "two" / "three")
    assert mode(there) == 0o755
    assert [mode(there / part) for part in ("one", "one/two", "one/two/three")] == [0o700] * 3


def test_one_that_is_there_stays_as_it_is(tmp_path):
    tmp_path.chmod(0o750)
    make_private(tmp_path)
    assert mode(tmp_path) == 0o750


def test_what_is_no_folder_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(FileExistsError):
        make_private(tmp_path / "file")
    with pytest.raises(NotADirectoryError):
        make_private(tmp_path / "file" / "below")
