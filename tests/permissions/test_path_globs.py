"""Globs over whole paths, as edit patterns and path rules mean them."""

import pytest

from ahpd.permissions.paths import Links, PathSubject, glob_of
from ahpd.permissions.rules import parsed
from ahpd.protocol.globs import whole_path


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*", "/a/b", True), ("**/*.py", "/a/b.py", True), ("**/*.py", "/b.py", True), ("*.py", "/b.py", False),
        ("/a/b", "/a/b", True), ("/a/b", "/a/b/c", False), ("/a/**", "/a", True), ("/a/**", "/a/b/c", True),
        ("/a/**", "/ab", False), ("/a/*", "/a/b/c", False), ("/a/{b,c}.x", "/a/c.x", True), ("/a/[!b]", "/a/b", False),
        ("**/.git/**", "/x/.git/y", True), ("**/.git/**", "/x/.github/y", False), ("a/**", "/a/b", False),
        ("//a//b", "/a/b", True), ("/a/b?", "/a/bc", True), ("/a/[*]", "/a/*", True), ("/a/[*]", "/a/b", False),
    ],
)  # fmt: skip
def test_a_glob_means_whole_paths(pattern, path, matches):
    assert whole_path(pattern)(path) is matches


@pytest.mark.parametrize("pattern", ["/a/../b", "/a/{b", "/a/[b", "/" + "a/" * 500])
def test_a_glob_nobody_can_read_is_an_error(pattern):
    with pytest.raises(ValueError):
        whole_path(pattern)


@pytest.mark.parametrize("name", ["a*b", "[x]", "{a,b}", "a?", "!x", "(y)", "a b", "\u00e9"])
def test_the_glob_of_a_path_means_that_path_alone(name):
    matches = whole_path(glob_of(f"/d/{name}"))
    assert matches(f"/d/{name}")
    assert not any(
        matches(f"/d/{other}") for other in ("ab", "axb", "x", "a", "b", "ax", f"{name}y")
    )
    subject = PathSubject((f"/d/{name}",), "/home", ())
    assert subject.allowed_exactly([parsed(f"Edit({glob_of(f'/d/{name}')})")])
    assert not subject.allowed_exactly([parsed("Edit(/d/*)")])


def test_where_a_path_leads_is_looked_up_as_far_as_it_exists(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "to-nothing").symlink_to(tmp_path / "real" / "later")
    (tmp_path / "circle").symlink_to("circle")
    assert Links().candidates(f"{tmp_path}/real/x/y") == (f"{tmp_path}/real/x/y",)
    assert Links().candidates(f"{tmp_path}/link/x/y") == (
        f"{tmp_path}/link/x/y",
        f"{tmp_path}/real/x/y",
    )
    assert Links().candidates(f"{tmp_path}/to-nothing") == (
        f"{tmp_path}/to-nothing",
        f"{tmp_path}/real/later",
    )
    assert Links().candidates(f"{tmp_path}/link/../z") == (f"{tmp_path}/z",)
    assert Links().candidates(f"/{tmp_path}//real/") == (f"{tmp_path}/real",)
    for unknown in (
        f"{tmp_path}/circle",
        f"{tmp_path}/circle/x",
        "relative",
        "",
        "/a\0b",
        "/" + "a" * 5000,
    ):
        assert Links().candidates(unknown) is None
    assert Links().in_one_of(Links().candidates(f"{tmp_path}/link/x"), [str(tmp_path)])
    assert Links().in_one_of(Links().candidates(f"{tmp_path}/link/x"), [f"{tmp_path}/link"])
    assert not Links().in_one_of(Links().candidates(f"{tmp_path}/link/x"), [f"{tmp_path}/real"])
