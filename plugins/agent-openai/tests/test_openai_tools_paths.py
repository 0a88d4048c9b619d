"""Which file a path means, and that nothing else is ever touched."""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.file_uris import file_uri
from ahpd_agent_openai.tools.files import hold
from ahpd_agent_openai.tools.paths import Workspace
from ahpd_agent_openai.tools.tree.walking import open_file, open_folder
from ahpd_agent_openai.tools.values import ToolProblem


@pytest.fixture
def inside(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def workspace(*folders):
    return Workspace([file_uri(str(folder)) for folder in folders], Path("/nowhere"))


def test_relative_paths_begin_in_the_first_folder(inside, tmp_path):
    other = tmp_path / "other"
    found = workspace(inside, other).find("a/../b")
    assert found.path == str(inside / "b")
    assert found.inside
    assert workspace(inside, other).find(str(other / "x")).inside


def test_a_session_without_folders_works_in_the_default_one(tmp_path):
    found = Workspace([], tmp_path).find("x")
    assert (found.path, found.inside) == (str(tmp_path / "x"), True)
    assert Workspace(["vscode-agent-client:/x"], tmp_path).first == str(tmp_path)


@pytest.mark.parametrize("path", ["../x", "/etc/passwd", "a/../../x", "..", "/", "//etc"])
def test_what_is_not_below_a_folder_is_outside(inside, path):
    assert not workspace(inside).find(path).inside


def test_a_folder_whose_name_begins_alike_is_another(inside):
    assert not workspace(inside).find(str(inside) + "-other/x").inside


def test_links_are_resolved_those_that_lead_nowhere_yet_too(inside, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (inside / "dir").symlink_to(outside)
    (inside / "dangling").symlink_to(outside / "not-yet")
    (inside / "chain").symlink_to("dangling")
    (inside / "far").symlink_to(tmp_path / "none" / "at" / "all")
    (inside / "back").symlink_to(inside / "real")
    (outside / "in").symlink_to(inside)
    box = workspace(inside)
    for path in ("dir/x", "dangling", "chain", "far", "dir/new/er"):
        assert not box.find(path).inside, path
    assert box.find("back").real == str(inside / "real")
    assert box.find("back").inside
    assert box.find(str(outside / "in/x")).inside
    assert box.find("chain").real == str(outside / "not-yet")


def test_a_folder_that_is_a_link_itself_is_the_folder_it_leads_to(inside, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(inside)
    found = workspace(link).find("x")
    assert found.path == str(link / "x")
    assert found.real == str(inside / "x")
    assert found.inside


def test_links_in_a_circle_open_nothing(inside):
    (inside / "a").symlink_to("b")
    (inside / "b").symlink_to("a")
    found = workspace(inside).find("a")
    with pytest.raises(OSError, match=r"symbolic|Too many|levels"):
        open_file(found.real)


@pytest.mark.parametrize("path", ["a\0b", "~", "~/x", "file://other/x", "file:relative"])
def test_what_is_no_path_is_told(inside, path):
    with pytest.raises(ToolProblem, match="`path`"):
        workspace(inside).find(path)


def test_a_path_with_a_link_in_it_is_not_opened(inside, tmp_path):
    (inside / "real").mkdir()
    (inside / "real/f").write_text("x")
    (inside / "link").symlink_to("real")
    (inside / "real/l").symlink_to("f")
    os.close(open_file(str(inside / "real/f")))
    with pytest.raises(NotADirectoryError):
        open_file(str(inside / "link/f"))
    with pytest.raises(OSError, match="symbolic"):
        open_file(str(inside / "real/l"))
    with pytest.raises(NotADirectoryError):
        open_folder(str(inside / "link"))


def test_a_dangling_link_is_created_at_its_end_and_nowhere_else(inside):
    (inside / "link").symlink_to("target")
    found = workspace(inside).find("link")
    held = hold(found, make=False)
    assert held.name == "target"
    held.let_go(unmake=False)


# -- any tree, any path ---------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "c"])
STEPS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=6)


@st.composite
def trees(draw):
    """Links by their place below the workspace or beside it, and where they lead."""
    places = st.tuples(st.sampled_from(["work", "out"]), st.lists(NAMES, min_size=1, max_size=2))
    ends = st.tuples(
        st.sampled_from(["/ROOT/work/", "/ROOT/out/", "", "../", "../../"]),
        st.lists(NAMES, max_size=2),
    )
    return draw(st.lists(st.tuples(places, ends), max_size=5))


@settings(deadline=None, max_examples=300)
@given(trees(), STEPS)
def test_what_is_opened_is_what_was_judged(tree, steps):
    """For any links and any path: what is reached is the real path, and `inside` says where it is."""
    with tempfile.TemporaryDirectory() as made:
        root = Path(os.path.realpath(made))
        for side in ("work", "out"):
            (root / side).mkdir()
        for (side, names), (start, end) in tree:
            place = root / side / "/".join(names)
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.symlink_to(start.replace("/ROOT", str(root)) + ("/".join(end) or "."))
            except OSError:
                continue
        found = workspace(root / "work").find("/".join(steps))
        held = None
        try:
            held = hold(found, make=True)
            written = os.open(
                held.name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, dir_fd=held.folder
            )
        except (ToolProblem, OSError):
            return
        else:
            # Where the kernel says the file is, by its descriptor, is the path that was judged.
            where = str(Path(f"/proc/self/fd/{written}").readlink())
            os.close(written)
            assert where == found.real
            within = Path(where).is_relative_to(root / "work")
            assert found.inside is within
        finally:
            if held is not None:
                held.let_go(unmake=False)


@settings(deadline=None, max_examples=200)
@given(st.text(min_size=1, max_size=30))
def test_any_text_is_a_path_or_a_problem_in_words(text):
    try:
        found = Workspace([], Path("/srv/work")).find(text)
    except (ToolProblem, UnicodeEncodeError):
        return
    assert found.path.startswith("/")
    assert "/../" not in found.path + "/"
