"""The token file: made once, read afterwards, and private."""

import stat
import threading

import pytest

from ahpd.config.errors import ConfigError
from ahpd.config.token import read_or_make


def test_an_absent_file_is_made_private_with_a_fresh_token(tmp_path):
    path = tmp_path / "deep" / "down" / "token"
    token, warnings = read_or_make(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert len(token) >= 40
    assert path.read_text() == token + "\n"
    assert warnings == []
    assert [entry.name for entry in path.parent.iterdir()] == ["token"]
    assert read_or_make(tmp_path / "other")[0] != token


def test_it_is_read_the_next_time(tmp_path):
    path = tmp_path / "token"
    assert read_or_make(path) == read_or_make(path)
    path.write_text("  chosen-by-hand \n\n")
    assert read_or_make(path)[0] == "chosen-by-hand"


def test_one_that_others_can_read_is_a_warning_without_the_token(tmp_path):
    path = tmp_path / "token"
    path.write_text("secret-word\n")
    path.chmod(0o640)
    token, (warning,) = read_or_make(path)
    assert token == "secret-word"
    assert str(path) in warning
    assert "secret-word" not in warning


@pytest.mark.parametrize("content", [b"", b"\n", b"two words\n", b"two\nlines\n", b"\xff\xfe\n"])
def test_what_is_no_token_is_refused_without_showing_it(tmp_path, content):
    path = tmp_path / "token"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        read_or_make(path)
    assert str(path) in str(caught.value)
    assert "words" not in str(caught.value)
    assert "lines" not in str(caught.value)


def test_a_place_that_cannot_be_written_is_words(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be used: Not a directory"):
        read_or_make(tmp_path / "file" / "token")
    with pytest.raises(ConfigError, match="cannot be used: Is a directory"):
        read_or_make(tmp_path)


def test_hosts_that_start_at_once_agree_on_one_token(tmp_path):
    path = tmp_path / "token"
    barrier = threading.Barrier(8)
    tokens = []

    def start():
        barrier.wait()
        tokens.append(read_or_make(path)[0])

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tokens) == 8
    assert len(set(tokens)) == 1
