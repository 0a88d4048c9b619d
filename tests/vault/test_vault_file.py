"""`vault.json` is its owner's alone, and two that write it lose nothing of each other."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from twisted.internet.defer import Deferred, succeed
from zope.interface.verify import verifyObject

from ahpd.interfaces.vault import IVault, SecretFailure
from ahpd.testing.planted import planted
from ahpd.vault import FileVault, MemoryVault, VaultFile

SECRET = planted("in the vault")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "config" / "vault.json"


def written(path, content, mode=0o600):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    return VaultFile(path)


def refused(call, *arguments):
    with pytest.raises(SecretFailure) as raised:
        call(*arguments)
    assert SECRET not in str(raised.value)
    assert raised.value.__cause__ is None
    return str(raised.value)


def test_a_vault_that_is_not_there_holds_nothing_and_is_not_made_by_reading(path):
    vault = VaultFile(path)
    assert vault.get("host:a") is None
    assert vault.list() == []
    assert vault.delete("host:a") is False
    assert not path.parent.exists()


def test_secrets_are_plain_json_that_the_owner_alone_reads(path):
    vault = VaultFile(path)
    umask = os.umask(0)
    try:
        vault.set("host:b", "two\nlines ✓")
        vault.set("host:a", "1")
    finally:
        os.umask(umask)
    assert json.loads(path.read_text()) == {"host:a": "1", "host:b": "two\nlines ✓"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert vault.list() == ["host:a", "host:b"]
    assert vault.get("host:b") == "two\nlines ✓"
    assert vault.delete("host:a") is True
    assert vault.delete("host:a") is False
    assert vault.list() == ["host:b"]


def test_what_another_process_writes_is_read_at_the_next_call(path):
    daemon, command = VaultFile(path), VaultFile(path)
    for value in ("one", "two", "six"):
        command.set("host:a", value)
        assert daemon.get("host:a") == value
    command.delete("host:a")
    assert daemon.get("host:a") is None


def test_a_file_that_did_not_change_is_read_once(path):
    clock = [0.0]
    VaultFile(path).set("host:a", "one")
    reader = VaultFile(path, lambda: path.stat().st_mtime + clock[0])
    assert reader.get("host:a") == "one"
    assert reader._read is None, "one that was just written may change and look the same"
    clock[0] = 1.0
    assert reader.get("host:a") == "one"
    found = reader._read[1]
    assert reader.get("host:a") == "one"
    assert reader._read[1] is found


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o620])
def test_a_file_that_others_may_use_is_refused_until_it_is_mended(path, mode):
    vault = written(path, json.dumps({"host:a": SECRET}), mode)
    for call in (
        lambda: vault.get("host:a"),
        vault.list,
        lambda: vault.set("host:b", "x"),
        lambda: vault.delete("host:a"),
    ):
        words = refused(call)
        assert f"its mode is {mode:04o}" in words
        assert "run chmod 600 on it" in words
    assert json.loads(path.read_text()) == {"host:a": SECRET}
    path.chmod(0o600)
    assert vault.get("host:a") == SECRET


def test_a_mode_that_opens_later_is_seen_although_the_content_did_not_change(path):
    vault = written(path, json.dumps({"host:a": SECRET}))
    os.utime(path, (1, 1))
    assert vault.get("host:a") == SECRET
    path.chmod(0o644)
    refused(vault.get, "host:a")


def test_a_link_is_refused_and_a_second_name_is_not(path):
    vault = written(path, json.dumps({"host:a": "1"}))
    other = path.with_name("backup.json")
    os.link(path, other)
    vault.set("host:b", "2")
    assert vault.list() == ["host:a", "host:b"]
    assert json.loads(other.read_text()) == {"host:a": "1"}
    path.unlink()
    path.symlink_to(other)
    assert "is a link" in refused(vault.get, "host:a")
    assert "is a link" in refused(vault.set, "host:a", SECRET)
    assert json.loads(other.read_text()) == {"host:a": "1"}


def test_what_is_no_file_keeps_nobody_waiting(path):
    path.parent.mkdir()
    os.mkfifo(path, 0o600)
    assert "is no file" in refused(VaultFile(path).get, "host:a")
    path.unlink()
    path.mkdir(0o700)
    assert "is no file" in refused(VaultFile(path).list)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"host:a": "' + SECRET, "is not JSON: line 1"),
        (f'["{SECRET}"]', "must hold an object"),
        (f'{{"host:a": ["{SECRET}"]}}', "must hold a text under each name"),
        ("[" * 100_000, "is not JSON"),
        ("", "is not JSON: line 1"),
    ],
)
def test_a_file_that_is_no_vault_is_refused_without_its_content(path, content, words):
    vault = written(path, content)
    assert words in refused(vault.get, "host:a")
    refused(vault.set, "host:b", SECRET)
    assert path.read_text() == content, "nobody writes over what they could not read"


def test_a_byte_order_mark_of_an_editor_is_no_content(path):
    path.parent.mkdir()
    path.write_bytes(b'\xef\xbb\xbf{"host:a": "1"}')
    path.chmod(0o600)
    assert VaultFile(path).get("host:a") == "1"


def test_what_is_no_name_and_no_secret_is_not_kept(path):
    vault = VaultFile(path)
    assert "host:<name>" in refused(vault.set, "stripe", SECRET)
    assert "64 KiB" in refused(vault.set, "host:a", "x" * (64 * 1024 + 1))
    assert not path.exists()
    vault.set("host:a", "x" * (64 * 1024))
    assert len(vault.get("host:a")) == 64 * 1024


def test_a_disk_that_cannot_be_written_leaves_what_was_there(path, monkeypatch):
    vault = VaultFile(path)
    vault.set("host:a", "1")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert "cannot be written: No space left on device" in refused(vault.set, "host:a", SECRET)
    monkeypatch.undo()
    assert vault.get("host:a") == "1"
    assert sorted(each.name for each in path.parent.iterdir()) == ["vault.json", "vault.json.lock"]


def test_two_that_write_lose_no_name_of_each_other(path):
    script = (
        "import sys; from pathlib import Path; from ahpd.vault import VaultFile\n"
        "vault = VaultFile(Path(sys.argv[1]))\n"
        "for n in range(30): vault.set(f'host:{sys.argv[2]}{n}', 'x' * 1000)\n"
    )
    running = [
        subprocess.Popen([sys.executable, "-c", script, str(path), who]) for who in ("a", "b", "c")
    ]
    reader = VaultFile(path)
    seen = 0
    while any(each.poll() is None for each in running):
        names = reader.list()
        assert len(names) >= seen, "a name is there once it was"
        seen = len(names)
    assert [each.wait() for each in running] == [0, 0, 0]
    assert reader.list() == sorted(f"host:{who}{n}" for who in "abc" for n in range(30))


def test_nothing_shows_a_value_by_itself(path):
    vault = VaultFile(path)
    vault.set("host:a", SECRET)
    vault.get("host:a")
    assert SECRET not in repr(vault)


# -- both vaults, as the host uses them ---------------------------------------------------------


def done(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    result = results[0]
    if hasattr(result, "raiseException"):
        result.raiseException()
    return result


@pytest.fixture(params=["file", "memory"])
def vault(request, path):
    if request.param == "memory":
        return MemoryVault()
    return FileVault(Path(path), lambda work, *arguments: succeed(work(*arguments)))


def test_a_vault_keeps_what_it_is_given(vault):
    assert verifyObject(IVault, vault)
    assert done(vault.get("host:a")) is None
    done(vault.set("host:b", "2"))
    done(vault.set("host:a", "1"))
    done(vault.set("host:a", "3"))
    assert done(vault.get("host:a")) == "3"
    assert list(done(vault.list())) == ["host:a", "host:b"]
    assert done(vault.delete("host:a")) is True
    assert done(vault.delete("host:a")) is False
    with pytest.raises(SecretFailure, match="host:<name>"):
        done(vault.set("a", "1"))


def test_the_files_work_is_done_elsewhere(path):
    waiting = []

    def run_blocking(work):
        waiting.append(work)
        return Deferred()

    vault = FileVault(path, run_blocking)
    Deferred.fromCoroutine(vault.set("host:a", "1"))
    assert not path.exists()
    waiting[0]()
    assert VaultFile(path).get("host:a") == "1"
