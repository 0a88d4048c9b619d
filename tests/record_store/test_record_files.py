"""Records as files people edit while the daemon runs: what is noticed, what is kept, what is told."""

import json
import os
import stat
import textwrap

import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RecordOptions, RecordsClosed, RecordsFailure
from ahpd.record_store import FileRecordStore, ReservedNames
from ahpd.record_store.disk import Mark
from ahpd.record_store.files import INTERVAL
from ahpd.record_store.folder import SETTLE
from ahpd.threads import in_thread

BODY = RecordOptions(body="instructions")
PLAIN = RecordOptions()
JSON = RecordOptions(as_json=True)

MOTION = {"id": "motion", "name": "Motion", "instructions": "Review.\n\nSay what would break."}
MOTION_FILE = "---\nid: motion\nname: Motion\n---\nReview.\n\nSay what would break.\n"


class Kept:
    """A store on a clock that is nobody's time of day, and what it reported."""

    def __init__(self, folder, run=None):
        self.folder = folder
        self.clock = Clock()
        self.lines = []
        self.told = []
        self.store = FileRecordStore(
            folder, run or in_thread(self.clock), self.clock, self.lines.append
        )
        self.store.open()

    def collection(self, name="bots", options=BODY, *, watched=True):
        records = self.store.collection(name, options)
        if watched:
            records.watch(lambda change: self.told.append((change.id, change.type)))
        return records

    def write(self, text, name="motion.md", collection="bots"):
        path = self.folder / collection / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def pass_time(self, seconds=3 * INTERVAL):
        self.clock.pump([SETTLE / 2] * int(seconds / SETTLE * 2))

    def take(self):
        told, self.told = self.told, []
        return told


@pytest.fixture
def kept(tmp_path):
    made = Kept(tmp_path / "config")
    yield made
    done = Deferred.fromCoroutine(made.store.close())
    assert done.called
    assert made.clock.getDelayedCalls() == []


def now(coroutine):
    """The result of something that is done by now."""
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    assert results, "not done yet"
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# -- what is written ---------------------------------------------------------------


def test_a_record_is_a_markdown_file_with_its_body_below(kept):
    now(kept.collection().put(MOTION))
    path = kept.folder / "bots" / "motion.md"
    assert path.read_text() == MOTION_FILE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert names(path.parent) == ["motion.md"]


def test_a_collection_without_a_body_writes_an_empty_one(kept):
    now(kept.collection("notes", PLAIN).put({"id": "a", "n": 1}))
    assert (kept.folder / "notes" / "a.md").read_text() == "---\nid: a\nn: 1\n---\n"


def test_the_hosts_own_are_json(kept):
    agents = kept.collection("agents", JSON)
    now(agents.put({"id": "claude_code-2", "name": "Käte"}))
    path = kept.folder / "agents" / "claude_code-2.json"
    assert json.loads(path.read_text()) == {"id": "claude_code-2", "name": "Käte"}
    assert "Käte" in path.read_text()
    kept.write("{", "broken.json", "agents")
    kept.pass_time()
    assert kept.lines == [
        "records agents: broken.json is no record: line 1: not JSON: "
        "Expecting property name enclosed in double quotes"
    ]


def test_another_process_reads_what_was_kept(kept, tmp_path):
    now(kept.collection().put(MOTION))
    other = Kept(kept.folder)
    assert now(other.collection().get("motion")) == MOTION
    assert other.told == []
    now(other.store.close())


@pytest.mark.parametrize(
    "name", ["sessions", "usage", "automations", "agentPlugins", "node_modules", "plugins", "plugin-root"]
)  # fmt: skip
def test_folders_the_host_keeps_are_no_collections(kept, name):
    with pytest.raises(RecordsFailure, match=name):
        kept.store.collection(name, PLAIN)


@pytest.mark.parametrize("name", ["agents", "connectors", "tunnels", "sessions", "a/b"])
def test_the_hosts_own_collections_are_not_a_plugins(kept, name):
    with pytest.raises(RecordsFailure, match=name):
        ReservedNames(kept.store).collection(name, PLAIN)
    assert ReservedNames(kept.store).collection("bots", BODY) is kept.store.collection("bots", BODY)


@pytest.mark.parametrize(
    "options", [RecordOptions(body="x", as_json=True), RecordOptions(body="id")]
)
def test_options_that_contradict_each_other_are_refused(kept, options):
    with pytest.raises(RecordsFailure, match="body"):
        kept.store.collection("bots", options)


# -- what a person writes ------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (MOTION_FILE.encode(), "Review.\n\nSay what would break."),
        (MOTION_FILE.replace("\n", "\r\n").encode(), "Review.\n\nSay what would break."),
        (b"\xef\xbb\xbf" + MOTION_FILE.encode(), "Review.\n\nSay what would break."),
        (b"---\nid: motion\nname: Motion\n---\nReview.", "Review."),
        (b"---\nid: motion\nname: Motion\n---", ""),
        (b"---\nid: motion\nname: Motion\n---\n\n", ""),
        (b"---  \nid: motion\nname: Motion\n---\t\nx\n---\ny\n", "x\n---\ny"),
        (b"---\nid: motion\nname: Motion\ninstructions: Above.\n---\n", "Above."),
        (b"---\nid: motion\nname: Motion\ninstructions:\n---\nBelow.\n", "Below."),
    ],
)
def test_what_a_person_writes_is_read_as_it_is_meant(kept, data, body):
    bots = kept.collection()
    kept.write(data)
    kept.pass_time()
    assert now(bots.get("motion")) == {"id": "motion", "name": "Motion", "instructions": body}
    assert kept.lines == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "line 1: no --- that begins a front matter"),
        (b"id: motion\n", "line 1: no --- that begins a front matter"),
        (b"---\nid: motion\n", "no --- that ends the front matter"),
        (b"---\nid: motion\nname: [a\n---\n", "line 4: "),
        (b"---\nid: motion\nid: motion\n---\n", "line 3: a key that stands on line 2 already"),
        (b"---\n- id\n---\n", "the front matter is no mapping of fields"),
        (b"---\n---\n", "the front matter is no mapping of fields"),
        (b"---\nname: Motion\n---\n", "it has no id: one is written as id: motion, "),
        (b"---\nid: other\n---\n", "its id is not its file's name"),
        (b"---\nid: motion\nn: .inf\n---\n", "line 3: a number JSON does not have"),
        (b"---\nid: motion\n---\n\xff\n", "a byte that is not UTF-8 at offset 19"),
        (b"---\nid: motion\ninstructions: a\n---\nb\n", "instructions stands in the front matter and below it"),
        (b"---\nid: motion\ninstructions: [a]\n---\n", "must be text"),
    ],
)  # fmt: skip
def test_what_does_not_read_is_reported_once_and_the_record_stays(kept, data, words):
    bots = kept.collection()
    now(bots.put(MOTION))
    kept.take()
    path = kept.write(data)
    kept.pass_time(10 * INTERVAL)
    assert now(bots.get("motion")) == MOTION
    (line,) = kept.lines
    assert line.startswith("records bots: motion.md is no record: ")
    assert words in line
    assert line.endswith("; the record it was is kept")
    path.touch()
    kept.pass_time()
    assert len(kept.lines) == 1
    kept.write(MOTION_FILE.replace("Motion", "Mended"))
    kept.pass_time()
    assert kept.take() == [("motion", "updated")]
    kept.write(data)
    kept.pass_time()
    assert len(kept.lines) == 2


def test_names_that_are_none_are_reported_and_other_files_are_not(kept):
    bots = kept.collection()
    for name in ("Motion.md", "a b.md", "1a.md", "a" * 41 + ".md"):
        kept.write(MOTION_FILE, name)
    for name in ("motion.txt", "motion.md~", ".motion.md.swp", ".#motion.md", ".hidden.md", "4913"):
        kept.write(MOTION_FILE, name)
    (kept.folder / "bots" / os.fsdecode(b"\xff.md")).write_text("x")
    kept.pass_time()
    assert now(bots.list()) == []
    assert len(kept.lines) == 5
    assert all("its name before the ending is not" in line for line in kept.lines)
    assert all(line.encode() for line in kept.lines)


def test_links_and_what_is_no_file_are_not_followed(kept, tmp_path):
    bots = kept.collection()
    outside = tmp_path / "outside.md"
    outside.write_text(MOTION_FILE)
    folder = kept.write("x", "other.txt").parent
    (folder / "motion.md").symlink_to(outside)
    (folder / "folder.md").mkdir()
    os.mkfifo(folder / "pipe.md")
    kept.pass_time()
    assert now(bots.list()) == []
    assert now(bots.get("motion")) is None
    assert sorted(kept.lines) == [
        "records bots: folder.md is no record: it cannot be read: it is no regular file",
        "records bots: motion.md is no record: it is a link, which is not followed",
        "records bots: pipe.md is no record: it cannot be read: it is no regular file",
    ]
    now(bots.put(MOTION))  # the link is replaced, and not written through
    assert outside.read_text() == MOTION_FILE
    assert not (folder / "motion.md").is_symlink()


def test_a_collection_that_is_a_link_is_refused(kept, tmp_path):
    kept.folder.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (kept.folder / "bots").symlink_to(tmp_path / "elsewhere")
    bots = kept.collection()
    for call in (bots.list(), bots.put(MOTION), bots.remove("motion")):
        with pytest.raises(RecordsFailure, match="records bots: "):
            now(call)
    assert names(tmp_path / "elsewhere") == []
    kept.pass_time()
    assert len(kept.lines) == 1


# -- what is noticed ----------------------------------------------------------------------


def test_files_that_come_change_and_go_are_told_while_somebody_watches(kept):
    bots = kept.collection()
    path = kept.write(MOTION_FILE)
    kept.pass_time()
    assert kept.take() == [("motion", "added")]
    kept.write(MOTION_FILE + "More.\n")
    kept.pass_time()
    assert kept.take() == [("motion", "updated")]
    path.unlink()
    kept.pass_time()
    assert kept.take() == [("motion", "deleted")]
    assert now(bots.list()) == []


def test_a_change_is_told_within_the_interval_and_the_time_it_has_to_stand_still(kept):
    kept.collection()
    kept.write(MOTION_FILE)
    kept.clock.pump([0.05] * int((INTERVAL + SETTLE) / 0.05 + 1))
    assert kept.take() == [("motion", "added")]


def test_the_same_said_again_is_no_change(kept):
    kept.collection()
    path = kept.write(MOTION_FILE)
    kept.pass_time()
    kept.take()
    path.touch()
    kept.pass_time()
    kept.write(MOTION_FILE.replace("id: motion\nname: Motion\n", "name: Motion\nid: 'motion'\n"))
    kept.pass_time()
    assert kept.take() == []


def test_own_writes_are_told_once(kept):
    bots = kept.collection()
    now(bots.put(MOTION))
    assert kept.take() == [("motion", "added")]
    kept.pass_time()
    now(bots.put({**MOTION, "name": "Other"}))
    assert kept.take() == [("motion", "updated")]
    kept.pass_time()
    now(bots.remove("motion"))
    assert kept.take() == [("motion", "deleted")]
    kept.pass_time(10 * INTERVAL)
    assert kept.told == []


def test_writes_of_another_process_are_told_once(kept):
    bots = kept.collection()
    other = Kept(kept.folder)
    theirs = other.collection()
    now(theirs.put(MOTION))
    kept.pass_time()
    assert kept.take() == [("motion", "added")]
    assert now(bots.get("motion")) == MOTION
    now(bots.put({**MOTION, "name": "Ours"}))
    other.pass_time()
    assert other.take() == [("motion", "added"), ("motion", "updated")]
    now(theirs.remove("motion"))
    kept.pass_time()
    assert kept.take() == [("motion", "updated"), ("motion", "deleted")]
    now(other.store.close())


def test_nobody_looks_while_nobody_watches_and_a_call_looks_first(kept):
    bots = kept.collection(watched=False)
    assert kept.clock.getDelayedCalls() == []
    kept.write(MOTION_FILE)
    assert now(bots.list()) == []
    assert kept.clock.getDelayedCalls() == []
    kept.clock.advance(SETTLE)
    assert now(bots.list()) == [MOTION]
    stop = bots.watch(lambda change: None)
    assert len(kept.clock.getDelayedCalls()) == 1
    stop()
    assert kept.clock.getDelayedCalls() == []


def test_a_file_that_stood_still_for_long_is_believed_at_once(kept):
    bots = kept.collection(watched=False)
    now(bots.list())
    path = kept.write(MOTION_FILE)
    kept.clock.advance(path.stat().st_ctime + SETTLE + 0.1)
    assert now(bots.get("motion")) == MOTION
    path.unlink()
    kept.clock.advance(path.parent.stat().st_ctime + SETTLE + 0.1 - kept.clock.seconds())
    assert now(bots.get("motion")) is None


def test_what_is_there_at_the_start_is_read_at_once_and_told_to_nobody(kept):
    kept.write(MOTION_FILE)
    bots = kept.collection()
    assert now(bots.list()) == [MOTION]
    kept.pass_time()
    assert kept.told == []


def test_a_change_in_the_same_tick_of_the_file_systems_clock_is_seen(kept, monkeypatch):
    """It leaves a file's size and times as they were when the file was read."""
    still = Mark(stat.S_IFREG, 1, 1, 1, 1)
    monkeypatch.setattr("ahpd.record_store.disk.mark_of", lambda found: still)
    notes = kept.collection("notes", PLAIN, watched=False)
    now(notes.put({"id": "a", "n": 1}))
    kept.write("---\nid: a\nn: 2\n---\n", "a.md", "notes")
    kept.clock.advance(2 * SETTLE)
    assert now(notes.list()) == [{"id": "a", "n": 2}]


def test_two_looks_in_quick_succession_believe_nothing(kept):
    bots = kept.collection(watched=False)
    now(bots.list())
    path = kept.write(MOTION_FILE)
    for _ in range(3):
        assert now(bots.list()) == []
    kept.clock.advance(SETTLE)
    assert now(bots.list()) == [MOTION]
    path.unlink()
    for _ in range(3):
        assert now(bots.list()) == [MOTION]
    kept.clock.advance(SETTLE)
    assert now(bots.list()) == []


@pytest.mark.parametrize("mend", ["put", "remove"])
def test_a_file_that_is_broken_again_is_reported_again(kept, mend):
    bots = kept.collection()
    for _ in range(2):
        path = kept.write("broken")
        kept.pass_time()
        if mend == "put":
            now(bots.put(MOTION))
            assert now(bots.remove("motion")) is True
        else:
            path.unlink()
            kept.pass_time()
    assert len(kept.lines) == 2


# -- how editors write ---------------------------------------------------------------------


def test_an_editor_that_empties_a_file_first_costs_nothing(kept):
    bots = kept.collection()
    path = kept.write(MOTION_FILE)
    kept.pass_time()
    kept.take()
    for cut in (0, 5, 30, len(MOTION_FILE) - 4):
        kept.write((MOTION_FILE + "More.\n")[:cut])
        kept.clock.advance(SETTLE / 2)
        assert now(bots.get("motion")) == MOTION
    path.write_text(MOTION_FILE + "More.\n")
    kept.pass_time()
    assert kept.take() == [("motion", "updated")]
    assert kept.lines == []


def test_an_editor_that_puts_the_file_aside_deletes_nothing(kept):
    bots = kept.collection()
    path = kept.write(MOTION_FILE)
    kept.pass_time()
    kept.take()
    path.rename(path.with_name("motion.md~"))
    kept.clock.advance(SETTLE / 2)
    assert now(bots.get("motion")) == MOTION
    path.write_text(MOTION_FILE + "More.\n")
    kept.clock.advance(SETTLE / 2)
    path.with_name("motion.md~").unlink()
    kept.pass_time()
    assert kept.take() == [("motion", "updated")]
    assert kept.lines == []


def test_an_editor_that_renames_over_the_file_is_followed(kept):
    kept.collection()
    path = kept.write(MOTION_FILE)
    kept.pass_time()
    kept.take()
    draft = path.with_name("motion.md.tmp")
    draft.write_text(MOTION_FILE + "More.\n")
    kept.pass_time()
    assert kept.take() == []
    draft.rename(path)
    kept.pass_time()
    assert kept.take() == [("motion", "updated")]


def test_a_folder_that_goes_takes_its_records_and_may_come_back(kept):
    bots = kept.collection()
    now(bots.put(MOTION))
    kept.pass_time()
    kept.take()
    folder = kept.folder / "bots"
    folder.rename(kept.folder / "aside")
    kept.pass_time()
    assert kept.take() == [("motion", "deleted")]
    (kept.folder / "aside").rename(folder)
    kept.pass_time()
    assert kept.take() == [("motion", "added")]
    assert now(bots.list()) == [MOTION]


def test_what_cannot_be_looked_at_keeps_what_is_held_and_is_reported_once(kept, monkeypatch):
    bots = kept.collection()
    now(bots.put(MOTION))
    kept.pass_time()
    kept.take()
    disk = kept.store.collection("bots", BODY)._folder._disk

    def fails(*ignored):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(disk, "listing", fails)
    kept.pass_time(5 * INTERVAL)
    assert kept.lines == ["records bots: the folder cannot be read: Permission denied"]
    with pytest.raises(RecordsFailure, match="Permission denied"):
        now(bots.list())
    monkeypatch.undo()
    kept.pass_time()
    assert kept.told == []
    assert now(bots.list()) == [MOTION]


def test_removing_takes_a_new_file_away_and_leaves_what_is_no_record(kept):
    bots = kept.collection()
    now(bots.list())
    path = kept.write(MOTION_FILE)
    assert now(bots.remove("motion")) is True
    assert not path.exists()
    path = kept.write("no record")
    assert now(bots.remove("motion")) is False
    assert path.exists()


# -- records that were JSON ------------------------------------------------------------------


def test_json_without_markdown_beside_it_is_converted_when_the_collection_opens(kept):
    kept.write(json.dumps(MOTION), "motion.json")
    kept.write(json.dumps({"id": "both", "name": "old"}), "both.json")
    kept.write("---\nid: both\nname: new\n---\n", "both.md")
    kept.write("{", "broken.json")
    kept.write(json.dumps({"id": "x"}), "other.json")
    bots = kept.collection()
    assert now(bots.get("motion")) == MOTION
    assert now(bots.get("both"))["name"] == "new"
    folder = kept.folder / "bots"
    assert names(folder) == [
        "both.json", "both.md", "broken.json", "motion.json.migrated", "motion.md", "other.json",
    ]  # fmt: skip
    assert (folder / "motion.md").read_text() == MOTION_FILE
    assert json.loads((folder / "motion.json.migrated").read_text()) == MOTION
    assert [line.split(" is no record: ")[0] for line in kept.lines] == [
        "records bots: broken.json",
        "records bots: other.json",
    ]
    assert kept.told == []
    # One that comes later is nobody's.
    kept.write(json.dumps({"id": "late"}), "late.json")
    kept.pass_time()
    assert now(bots.get("late")) is None


def test_a_collection_of_json_converts_nothing(kept):
    kept.write(json.dumps({"id": "a"}), "a.json", "agents")
    assert now(kept.collection("agents", JSON).list()) == [{"id": "a"}]
    assert names(kept.folder / "agents") == ["a.json"]


# -- opening, closing, failing ------------------------------------------------------------------


def test_calls_wait_until_the_store_is_opened(tmp_path):
    clock = Clock()
    store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
    bots, told, results = store.collection("bots", BODY), [], []
    bots.watch(lambda change: told.append(change.type))
    Deferred.fromCoroutine(bots.put(MOTION)).addBoth(results.append)
    listed = Deferred.fromCoroutine(bots.list())
    given_up = Deferred.fromCoroutine(bots.list())
    given_up.addErrback(lambda failure: failure.trap(CancelledError))
    given_up.cancel()
    clock.advance(10)
    assert results == []
    assert names(tmp_path) == []
    store.open()
    assert results == [None]
    assert listed.result == [MOTION]
    assert told == ["added"]
    now(store.close())
    assert clock.getDelayedCalls() == []


def test_a_closed_store_refuses_and_fails_those_that_wait(tmp_path):
    clock = Clock()
    store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
    bots, failures = store.collection("bots", BODY), []
    Deferred.fromCoroutine(bots.list()).addErrback(failures.append)
    now(store.close())
    assert [failure.type for failure in failures] == [RecordsClosed]
    with pytest.raises(RecordsClosed, match="closed"):
        now(bots.list())
    with pytest.raises(RecordsClosed, match="closed"):
        store.collection("notes", PLAIN)
    bots.watch(lambda change: None)
    store.open()
    assert clock.getDelayedCalls() == []
    now(store.close())


class Slow:
    """Threads in a test's hand: work is done when the test says so."""

    def __init__(self):
        self.waiting = []

    def __call__(self, work):
        done = Deferred()
        self.waiting.append((work, done))
        return done

    def go(self):
        work, done = self.waiting.pop(0)
        try:
            result = work()
        except Exception as error:
            done.errback(error)
        else:
            done.callback(result)


def test_work_is_done_in_turn_and_a_caller_that_gives_up_disturbs_nobody(tmp_path):
    slow = Slow()
    kept = Kept(tmp_path, slow)
    bots = kept.collection()
    slow.go()
    first = Deferred.fromCoroutine(bots.put(MOTION))
    second = Deferred.fromCoroutine(bots.get("motion"))
    assert len(slow.waiting) == 1
    first.addErrback(lambda failure: failure.trap(CancelledError))
    first.cancel()
    assert len(slow.waiting) == 1
    assert not second.called
    slow.go()
    assert kept.take() == [("motion", "added")]
    slow.go()
    assert second.result == MOTION
    third = Deferred.fromCoroutine(bots.get("motion"))
    refused = []
    Deferred.fromCoroutine(bots.remove("motion")).addErrback(refused.append)
    closed = Deferred.fromCoroutine(kept.store.close())
    assert not closed.called
    slow.go()
    assert third.result == MOTION
    assert [failure.type for failure in refused] == [RecordsClosed]
    assert closed.called
    assert not slow.waiting
    assert (tmp_path / "bots" / "motion.md").exists()


def test_a_watcher_may_call_the_collection_and_stop_others(kept):
    bots = kept.collection(watched=False)
    seen, told = [], []

    def ask(change):
        stop_other()
        Deferred.fromCoroutine(bots.get(change.id)).addCallback(seen.append)

    bots.watch(ask)
    stop_other = bots.watch(told.append)
    now(bots.put(MOTION))
    assert seen == [MOTION]
    assert told == []


def test_a_write_that_fails_leaves_what_was_there(kept, monkeypatch):
    bots = kept.collection()
    now(bots.put(MOTION))
    kept.pass_time()
    kept.take()

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RecordsFailure, match="motion cannot be written: No space left on device"):
        now(bots.put({**MOTION, "name": "Other"}))
    monkeypatch.undo()
    assert now(bots.get("motion")) == MOTION
    assert kept.take() == []
    assert names(kept.folder / "bots") == ["motion.md"]


def test_drafts_a_process_left_are_swept_and_those_of_others_are_not(kept):
    draft = kept.write("x", ".motion.md.123-1.new")
    mine = kept.write("x", ".mine.new")
    now(kept.collection().list())
    assert draft.exists()
    kept.clock.advance(draft.stat().st_ctime + 3700)
    other = Kept(kept.folder)
    other.clock.advance(kept.clock.seconds())
    again = FileRecordStore(kept.folder, in_thread(kept.clock), kept.clock, kept.lines.append)
    again.open()
    now(again.collection("bots", BODY).list())
    assert not draft.exists()
    assert mine.exists()
    now(again.close())
    now(other.store.close())


def test_what_is_too_large_is_neither_read_nor_written(kept, monkeypatch):
    monkeypatch.setattr("ahpd.record_store.disk.LARGEST", 1 << 20)
    monkeypatch.setattr("ahpd.record_store.folder.LARGEST", 1 << 20)
    bots = kept.collection()
    with pytest.raises(RecordsFailure, match="motion is larger than 1 MiB"):
        now(bots.put({**MOTION, "instructions": "x" * (1 << 20)}))
    kept.write(MOTION_FILE + "x" * (1 << 20))
    kept.pass_time()
    assert now(bots.list()) == []
    assert kept.lines == ["records bots: motion.md is no record: it is larger than 1 MiB"]


@pytest_twisted.ensureDeferred
async def test_an_edit_is_noticed_in_real_time_by_real_threads(tmp_path):
    from twisted.internet import reactor

    lines = []
    store = FileRecordStore(tmp_path, in_thread(reactor), reactor, lines.append, interval=0.05)
    store.open()
    bots = store.collection("bots", BODY)
    await bots.put(MOTION)
    changed = Deferred()
    bots.watch(lambda change: changed.callback(change) if not changed.called else None)
    (tmp_path / "bots" / "other.md").write_text(
        textwrap.dedent("""\
            ---
            id: other
            ---
            Hello.
            """)
    )
    change = await changed.addTimeout(30, reactor)
    assert (change.id, change.type) == ("other", "added")
    assert await bots.get("other") == {"id": "other", "instructions": "Hello."}
    await store.close()
    assert lines == []
