"""Two stores and a person at one folder, in any order: in the end all hold what the files say."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RecordOptions
from ahpd.record_store import FileRecordStore
from ahpd.record_store.folder import SETTLE
from ahpd.threads import in_thread

BODY = RecordOptions(body="text")
NAMES = st.sampled_from(["a", "b", "c"])
NUMBERS = st.integers(0, 3)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from([0, 1]), NAMES, NUMBERS),
        st.tuples(st.just("remove"), st.sampled_from([0, 1]), NAMES),
        st.tuples(st.just("list"), st.sampled_from([0, 1])),
        st.tuples(st.just("write"), NAMES, NUMBERS),
        st.tuples(st.just("break"), NAMES, st.integers(0, 20)),
        st.tuples(st.just("rename"), NAMES, NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("wait"), st.sampled_from([0.05, SETTLE / 2, SETTLE, 1.0, 3.0])),
    ),
    max_size=25,
)


class Party:
    """A store at the folder, what it was told of, and what that amounts to."""

    def __init__(self, folder, clock):
        self.lines = []
        self.held = set()
        self.store = FileRecordStore(folder, in_thread(clock), clock, self.lines.append)
        self.store.open()
        self.records = self.store.collection("notes", BODY)
        self.records.watch(self.told)

    def told(self, change):
        assert (change.id in self.held) is (change.type != "added"), change
        if change.type == "deleted":
            self.held.remove(change.id)
        else:
            self.held.add(change.id)


def now(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def text_of(name, number):
    return f"---\nid: {name}\n---\n{'x' * number}\n"


def person(folder, step):
    """A person does one thing to the files."""
    path = folder / f"{step[1]}.md"
    path.parent.mkdir(exist_ok=True)
    match step:
        case ("write", name, number):
            path.write_text(text_of(name, number))
        case ("break", name, length):
            path.write_text(text_of(name, 3)[:length])
        case ("rename", _, name) if path.exists():
            path.rename(folder / f"{name}.md")
        case ("delete", _):
            path.unlink(missing_ok=True)


@settings(deadline=None, max_examples=150)
@given(STEPS)
def test_all_hold_what_the_files_say_once_they_stand_still(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("config")
    clock = Clock()
    parties = [Party(folder, clock), Party(folder, clock)]
    for step in steps:
        match step:
            case ("put", who, name, number):
                now(parties[who].records.put({"id": name, "text": "x" * number}))
            case ("remove", who, name):
                now(parties[who].records.remove(name))
            case ("list", who):
                assert {r["id"] for r in now(parties[who].records.list())} == parties[who].held
            case ("wait", seconds):
                clock.pump(itertools.repeat(0.05, round(seconds / 0.05)))
            case _:
                person(folder / "notes", step)
    clock.pump([0.05] * 80)
    whole = {
        path.stem: path.read_text()
        for path in (folder / "notes").glob("*.md")
        if any(path.read_text() == text_of(path.stem, n) for n in range(1, 4))
        or path.read_text() in (f"---\nid: {path.stem}\n---\n", text_of(path.stem, 0))
    }
    for party in parties:
        listed = {record["id"]: record["text"] for record in now(party.records.list())}
        assert listed.keys() == party.held
        for name, text in whole.items():
            assert listed[name] == text.rpartition("---\n")[2].removesuffix("\n")
        # What is held beyond that was a record before its file was broken.
        for name in listed.keys() - whole.keys():
            assert (folder / "notes" / f"{name}.md").exists()
        now(party.store.close())
    assert clock.getDelayedCalls() == []
