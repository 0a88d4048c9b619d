"""How long attachments are kept."""

from ahpd.attachments.folder import AttachmentsFolder


def test_a_kept_folder_stays_at_the_end(tmp_path):
    folder = AttachmentsFolder(tmp_path / "kept", lambda: "id")
    folder.path.mkdir()
    folder.startService()
    folder.stopService()
    assert folder.path == tmp_path / "kept"
    assert folder.path.is_dir()


def test_a_folder_of_one_life_goes_at_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = AttachmentsFolder(None, lambda: "one")
    other = AttachmentsFolder(None, lambda: "two")
    (folder.path / "s1").mkdir(parents=True)
    other.path.mkdir()
    folder.stopService()
    assert [p.name for p in tmp_path.iterdir()] == [other.path.name]
    other.stopService()
    other.stopService()
    assert list(tmp_path.iterdir()) == []
