"""Manifests that are kept, so that none is read twice while it is as it was."""

import json
import os

import pytest

from ahpd.config.errors import ConfigError
from ahpd.plugins.read_manifests import ReadManifests

LATER = 1e11
"""Long after every file was written, so that none changed just now."""


@pytest.fixture
def root(tmp_path):
    return tmp_path / "config" / "plugin-root"


@pytest.fixture
def manifest(tmp_path):
    path = tmp_path / "plugin.yaml"
    path.write_text("title: One\ncategories: [a, b]\n")
    return path


def again(root, version="1", now=LATER):
    return ReadManifests(root, version, lambda: now)


def kept(root):
    return json.loads((root / "manifests.json").read_text())["manifests"]


def read_and_kept(root, manifest):
    manifests = again(root)
    document = manifests.read(manifest)
    manifests.keep()
    return document


def mark(root, title):
    """Have what is kept say something else than the file, to tell which of them was read."""
    said = json.loads((root / "manifests.json").read_text())
    for one in said["manifests"].values():
        one["values"] = json.dumps({**json.loads(one["values"]), "title": title})
    (root / "manifests.json").write_text(json.dumps(said))


def test_what_is_kept_is_what_the_file_says_with_its_lines(root, manifest):
    first = read_and_kept(root, manifest)
    mark(root, "Kept")
    second = again(root).read(manifest)
    assert second.values == {"title": "Kept", "categories": ["a", "b"]}
    assert second.place("categories", "[1]") == first.place("categories", "[1]")


def test_whoever_changes_what_was_read_changes_nothing_that_is_kept(root, manifest):
    read_and_kept(root, manifest).values["categories"].append("c")
    manifests = again(root)
    manifests.read(manifest).values["categories"].append("c")
    assert manifests.read(manifest).values["categories"] == ["a", "b"]


def test_a_file_that_changed_is_read_anew(root, manifest):
    read_and_kept(root, manifest)
    before = manifest.stat()
    manifest.write_text("title: Two\ncategories: [a, b]\n")
    os.utime(manifest, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert again(root).read(manifest).values["title"] == "Two"


def test_a_file_that_changed_just_now_is_not_kept(root, manifest):
    now = manifest.stat().st_mtime
    manifests = again(root, now=now + 0.5)
    manifests.read(manifest)
    manifests.keep()
    assert not root.exists()


def test_another_version_of_this_program_reads_for_itself(root, manifest):
    read_and_kept(root, manifest)
    mark(root, "Kept")
    assert again(root, version="2").read(manifest).values["title"] == "One"


@pytest.mark.parametrize("place", ["", "manifests.json"])
def test_what_others_may_write_is_not_believed(root, manifest, place):
    read_and_kept(root, manifest)
    mark(root, "Kept")
    (root / place).chmod(0o777)
    assert again(root).read(manifest).values["title"] == "One"


def test_a_link_in_its_place_is_not_followed(root, manifest, tmp_path):
    read_and_kept(root, manifest)
    mark(root, "Kept")
    (root / "manifests.json").rename(tmp_path / "elsewhere.json")
    (root / "manifests.json").symlink_to(tmp_path / "elsewhere.json")
    assert again(root).read(manifest).values["title"] == "One"


def test_what_is_kept_is_for_its_owner_alone(root, manifest):
    read_and_kept(root, manifest)
    assert root.stat().st_mode & 0o777 == 0o700
    assert (root / "manifests.json").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "[]", "{", '{"version": "1", "manifests": {"a": 1}}'])
def test_what_cannot_be_read_is_as_if_nothing_was_kept(root, manifest, text):
    read_and_kept(root, manifest)
    (root / "manifests.json").write_text(text)
    assert again(root).read(manifest).values["title"] == "One"


@pytest.mark.parametrize("values", ["{", "[]", '"title"', {"title": "Kept"}])
def test_a_manifest_that_was_kept_wrongly_is_read_from_its_file(root, manifest, values):
    read_and_kept(root, manifest)
    said = json.loads((root / "manifests.json").read_text())
    said["manifests"][str(manifest)]["values"] = values
    (root / "manifests.json").write_text(json.dumps(said))
    assert again(root).read(manifest).values["title"] == "One"


def test_what_json_cannot_say_is_read_each_time(root, manifest):
    manifest.write_text("version: 2024-01-02\n")
    read_and_kept(root, manifest)
    assert not root.exists()
    manifest.write_text("contracts: {1: a}\n")
    read_and_kept(root, manifest)
    assert not root.exists()


def test_one_that_is_wrong_is_wrong_each_time(root, manifest):
    manifest.write_text("a: 1\na: 2\n")
    manifests = again(root)
    for _ in range(2):
        with pytest.raises(ConfigError):
            manifests.read(manifest)
    with pytest.raises(ConfigError):
        manifests.read(manifest.with_name("none.yaml"))


def test_a_folder_that_cannot_be_written_costs_nothing(tmp_path, manifest):
    (tmp_path / "file").write_text("")
    manifests = again(tmp_path / "file" / "plugin-root")
    assert manifests.read(manifest).values["title"] == "One"
    manifests.keep()
