"""Notes that outlive a session."""

import threading

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st

from ahpd_agent_openai.tools.memory import LARGEST_NOTE, MOST_NOTES, Notes, slug
from ahpd_agent_openai.tools.testing import ToolsBench
from ahpd_agent_openai.tools.values import ToolProblem

ensure = pytest_twisted.ensureDeferred


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
def notes(tmp_path):
    numbers = iter(range(1_000_000))
    return Notes(tmp_path / "store/memory/slug", lambda: f"id/{next(numbers)}")


@ensure
async def test_what_one_session_writes_the_next_one_reads(bench):
    first = bench.box()
    written = await bench.run(first, "memory_write", name="style.md", content="Use tabs.\n")
    assert written.text == "Kept the note style.md, 10 bytes."
    again = bench.box()
    assert (await bench.run(again, "memory_read", name="style.md")).text == "Use tabs.\n"
    assert (await bench.run(again, "memory_read")).text == "style.md"
    (folder,) = (bench.store / "memory").iterdir()
    assert folder.name == slug(str(bench.workspace))
    assert (folder / "style.md").read_text() == "Use tabs.\n"


@ensure
async def test_another_workspace_has_notes_of_its_own(bench, tmp_path):
    other = tmp_path / "other" / "workspace"
    other.mkdir(parents=True)
    await bench.run(bench.box(), "memory_write", name="a", content="x")
    missing = await bench.run(bench.box(other), "memory_read", name="a")
    assert not missing.success
    assert missing.text == "there is no note 'a'"


@ensure
async def test_a_workspace_reached_by_a_link_is_the_same_one(bench, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(bench.workspace)
    await bench.run(bench.box(), "memory_write", name="a", content="x")
    assert (await bench.run(bench.box(link), "memory_read", name="a")).text == "x"


@ensure
async def test_a_note_is_appended_to_and_taken_away(bench):
    box = bench.box()
    for text in ("one", "two\n", "three"):
        await bench.run(box, "memory_write", name="log", content=text, append=True)
    assert (await bench.run(box, "memory_read", name="log")).text == "one\ntwo\nthree"
    gone = await bench.run(box, "memory_write", name="log", content="")
    assert gone.text == "Took the note log away."
    assert (await bench.run(box, "memory_read")).text == "[there are no notes]"


@ensure
async def test_the_system_prompt_is_told_of_the_notes(bench):
    box = bench.box()
    assert box.system_notes().endswith("There are none yet.")
    await bench.run(box, "memory_write", name="style.md", content="Use tabs.\nAlways.")
    other = bench.box()
    assert "- style.md: Use tabs." in await other.instructions()
    assert "Always" not in other.system_notes()
    await box.refresh()
    assert "- style.md" in box.system_notes()


@ensure
async def test_a_store_in_memory_has_no_memory(bench):
    box = bench.box(store=None)
    assert not [name for name in box.names if name.startswith("memory")]
    assert box.system_notes() == ""
    assert await box.instructions() is None
    assert not bench.store.exists()


@pytest.mark.parametrize(
    "name", ["../x", "a/b", ".hidden", "", "a\0", "..", "-x", "a b", "x" * 65, "é", "a\n", "C:\\x"]
)
@ensure
async def test_a_name_is_one_plain_name(bench, name):
    box = bench.box()
    for tool, more in (("memory_read", {}), ("memory_write", {"content": "x"})):
        outcome = await bench.run(box, tool, name=name, **more)
        assert not outcome.success
        assert "`name`" in outcome.text
    assert not bench.store.exists()


def test_a_link_among_the_notes_is_not_followed(notes, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("kept")
    notes.write("a", "x", append=False)
    (notes.folder / "link").symlink_to(secret)
    with pytest.raises(ToolProblem):
        notes.read("link")
    notes.write("link", "mine", append=False)
    assert secret.read_text() == "kept"
    assert (notes.folder / "link").read_text() == "mine"


def test_a_folder_of_notes_that_is_a_link_is_not_gone_into(notes, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    notes.folder.parent.mkdir(parents=True)
    notes.folder.symlink_to(elsewhere)
    with pytest.raises(ToolProblem):
        notes.write("a", "x", append=False)
    assert list(elsewhere.iterdir()) == []


def test_notes_are_bounded(notes):
    with pytest.raises(ToolProblem, match="at most 65536"):
        notes.write("a", "é" * LARGEST_NOTE, append=False)
    notes.write("a", "x" * LARGEST_NOTE, append=False)
    with pytest.raises(ToolProblem, match="at most 65536"):
        notes.write("a", "y", append=True)
    for number in range(MOST_NOTES - 1):
        notes.write(f"n{number}", "x", append=False)
    with pytest.raises(ToolProblem, match="100 notes already"):
        notes.write("one-more", "x", append=False)
    notes.write("n1", "changed", append=False)
    (notes.folder / "n2").write_bytes(b"z" * (LARGEST_NOTE + 5))
    assert notes.read("n2").endswith("[cut off here]")


def test_a_write_that_fails_leaves_no_draft(notes, monkeypatch):
    notes.write("a", "before", append=False)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ahpd_agent_openai.tools.memory.os.fsync", full)
    with pytest.raises(ToolProblem, match="No space left"):
        notes.write("a", "after", append=False)
    assert [path.name for path in notes.folder.iterdir()] == ["a"]
    assert notes.read("a") == "before"


def test_sessions_that_append_at_once_lose_nothing(notes):
    def append(word):
        for number in range(25):
            notes.write("log", f"{word}{number}", append=True)

    threads = [threading.Thread(target=append, args=(word,)) for word in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(notes.read("log").split("\n")) == 100


def test_notes_are_their_owners_alone(notes):
    notes.write("a", "x", append=False)
    assert notes.folder.stat().st_mode & 0o777 == 0o700
    assert (notes.folder / "a").stat().st_mode & 0o777 == 0o600


@given(st.text(min_size=1, max_size=60).filter(lambda text: "\0" not in text))
def test_any_path_has_a_slug_of_one_name(path):
    try:
        made = slug("/" + path)
    except UnicodeEncodeError:
        return
    assert "/" not in made
    assert not made.startswith(".")
    assert len(made) < 64
