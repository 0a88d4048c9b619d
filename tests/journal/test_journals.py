"""What is written when: before it is said, in batches, and folded behind that."""

import pytest

from ahpd.interfaces import PutChannel, StoreFailure
from ahpd.journal.book import BATCH, QUIET
from ahpd.journal.channel import MOST_HELD
from ahpd.journal.recovery import read_back
from ahpd.protocol.text import plain
from ahpd.wire.codec import decode


class Witness:
    """A subscriber that looks into the store as it is told."""

    def __init__(self, book):
        self.book = book
        self.told = []

    def deliver(self, envelope):
        self.told.append((envelope.type, len(self.book.entries())))

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


def said(book):
    return [decode(entry)["a"] for _, entry in book.entries()]


def texts(book):
    return [(action["type"], action.get("content")) for action in said(book)]


def same(book):
    read = read_back(book.record())
    assert not read.problems
    assert plain(read.state) == plain(book.channels.state(book.chat))
    return read


def test_an_action_is_in_the_store_when_it_is_said(book):
    witness = Witness(book)
    book.channels.subscribe(book.chat, witness)
    book.turn("t")
    assert witness.told == [("chat/turnStarted", 1), ("chat/responsePart", 2)]


def test_an_entry_is_the_action_as_it_was_said_with_its_time(book):
    book.say("chat/draftChanged", draft={"text": 'a "b" é', "origin": {"kind": "user"}, "x": 1})
    [(channel, entry)] = book.entries()
    assert channel == book.chat
    assert decode(entry) == {
        "t": 1000,
        "a": {
            "type": "chat/draftChanged",
            "draft": {"text": 'a "b" é', "origin": {"kind": "user"}, "x": 1},
        },
    }


def test_streamed_text_is_merged_and_written_in_time(book):
    book.turn("t")
    book.store.calls.clear()
    for piece in "abc":
        book.delta("t", piece)
    book.delta("t", "z", part="other")
    book.delta("t", "y")
    assert book.store.calls == []
    book.clock.advance(BATCH)
    assert texts(book) == [("chat/delta", "abc"), ("chat/delta", "z"), ("chat/delta", "y")]
    assert len(book.appends()) == 1
    same(book)
    book.clock.advance(BATCH)
    assert len(book.appends()) == 1


def test_streamed_text_goes_ahead_of_anything_else_in_one_write(book):
    book.turn("t")
    book.store.calls.clear()
    book.delta("t", "all of it")
    book.end("t")
    assert texts(book) == [("chat/delta", "all of it"), ("chat/turnComplete", None)]
    assert len(book.appends()) == 1
    same(book)


def test_much_text_is_written_before_its_time(book):
    book.turn("t")
    book.store.calls.clear()
    for _ in range(3):
        book.delta("t", "x" * (MOST_HELD // 2))
    assert [len(content) for _, content in texts(book)] == [MOST_HELD]
    book.end("t")
    same(book)


def test_a_delta_that_carries_more_than_text_is_written_as_it_is(book):
    book.turn("t")
    book.store.calls.clear()
    book.delta("t", "a")
    book.say("chat/delta", turnId="t", partId="p", content="b", _meta={"k": 1})
    assert texts(book) == [("chat/delta", "a"), ("chat/delta", "b")]
    assert said(book)[1]["_meta"] == {"k": 1}


def test_a_quiet_session_is_folded(book):
    book.turn("t")
    book.delta("t", "text")
    book.end("t")
    assert book.record().entries
    book.clock.advance(QUIET)
    record = book.record()
    assert (list(record.entries), len(record.turns)) == ([], 1)
    same(book)
    assert list(book.store.unfolded()) == []
    assert book.clock.getDelayedCalls() == []


def test_a_fold_writes_the_new_turns_alone(book):
    for number in range(3):
        book.turn(f"t{number}")
        book.end(f"t{number}")
        book.clock.advance(QUIET)
    puts = [
        write
        for kind, writes in book.store.calls
        if kind == "apply"
        for write in writes
        if isinstance(write, PutChannel)
    ]
    assert [(put.keep_turns, len(put.turns)) for put in puts] == [(0, 1), (1, 1), (2, 1)]
    same(book)


def test_a_running_turn_is_not_folded_until_much_came(book):
    book.turn("t")
    book.clock.advance(10 * QUIET)
    assert len(book.record().entries) == 2
    for number in range(40):
        book.delta("t", "x" * MOST_HELD)
        book.clock.advance(BATCH)
        book.say("chat/usage", turnId="t", usage={"inputTokens": number})
    folds = [call for call in book.store.calls if call[0] == "apply"]
    assert 2 <= len(folds) <= 8  # each head is at least twice the one before
    read = same(book)
    assert "activeTurn" in read.state
    assert list(book.store.unfolded()) == ["s"]


@pytest.mark.parametrize("fold_first", [True, False])
@pytest.mark.parametrize("kept", [None, "t0", "t1", "t2"])
def test_a_history_that_got_shorter_and_longer_again_is_stored_as_it_is(book, fold_first, kept):
    for number in range(3):
        book.turn(f"t{number}")
        book.end(f"t{number}")
    if fold_first:
        book.clock.advance(QUIET)
    fields = {} if kept is None else {"turnId": kept}
    book.say("chat/truncated", **fields)
    book.turn("new")
    book.end("new")
    same(book)
    book.clock.advance(QUIET)
    assert not book.record().entries
    same(book)


@pytest.mark.parametrize("kept", [None, "t0"])
def test_what_is_dropped_with_the_first_action_on_a_head_that_is_behind_stays_dropped(book, kept):
    for number in range(2):
        book.turn(f"t{number}")
        book.end(f"t{number}")
    book.clock.advance(QUIET)
    book.is_behind()
    book.say("chat/truncated", **({} if kept is None else {"turnId": kept}))
    same(book)
    book.clock.advance(QUIET)
    assert len(book.record().turns) == (0 if kept is None else 1)
    same(book)


def test_a_turn_that_is_resumed_on_a_head_that_is_behind_is_stored_once(book):
    book.turn("t")
    part = {"kind": "error", "error": {"errorType": "x", "message": "y"}, "resumable": True}
    book.say("chat/error", turnId="t", duration=1, part=part)
    book.clock.advance(QUIET)
    book.is_behind()
    book.say("chat/turnResume", turnId="t")
    same(book)
    book.end("t")
    book.clock.advance(QUIET)
    assert len(book.record().turns) == 1
    same(book)


def test_a_turn_that_is_resumed_is_stored_once(book):
    book.turn("t")
    part = {"kind": "error", "error": {"errorType": "x", "message": "y"}, "resumable": True}
    book.say("chat/error", turnId="t", duration=1, part=part)
    book.clock.advance(QUIET)
    book.say("chat/turnResume", turnId="t")
    book.clock.advance(QUIET)
    book.delta("t", "more")
    book.end("t")
    same(book)
    book.clock.advance(QUIET)
    assert len(book.record().turns) == 1
    same(book)


def test_what_passes_is_not_written(book):
    book.say("chat/activityChanged", activity="Thinking")
    book.say("chat/turnsLoaded", turns=[])
    book.channels.amend(book.chat, {"activity": "x"})
    assert book.store.calls == []


def test_a_title_that_is_amended_is_written(book):
    book.channels.amend(book.chat, {"title": "Held"})
    [(_, entry)] = book.entries()
    assert decode(entry) == {"m": {"title": "Held"}}
    assert same(book).state["title"] == "Held"


def test_facts_are_written_and_merged(book):
    book.journals.note(book.chat, {"things": {"a": "1"}, "conversation": "c"})
    book.journals.note(book.chat, {"things": {"b": "2", "a": None}, "conversation": None})
    assert book.journals.facts(book.chat) == {"things": {"b": "2"}}
    assert same(book).facts == {"things": {"b": "2"}}
    book.clock.advance(QUIET)
    assert same(book).facts == {"things": {"b": "2"}}


def test_where_a_turn_ended_is_kept_with_the_turn_and_the_head_stays_as_it_is(book):
    sizes = []
    for number in range(10, 40):
        turn = f"t{number}"
        book.turn(turn)
        book.journals.note(book.chat, {"points": {turn: f"point {number}"}})
        if number == 20:
            book.journals.fold("s")  # between a point and its turn's end
        book.say("chat/turnComplete", turnId=turn, duration=1)
        book.clock.advance(QUIET)
        sizes.append(len(book.record().head))
    assert len(set(sizes)) == 1
    points = {f"t{number}": f"point {number}" for number in range(10, 40)}
    assert same(book).facts == {"points": points}
    book.say("chat/truncated", turnId="t14")
    book.journals.note(book.chat, {"points": {f"t{number}": None for number in range(15, 40)}})
    book.clock.advance(QUIET)
    left = {f"t{number}": f"point {number}" for number in range(10, 15)}
    assert same(book).facts == {"points": left}


# -- where it cannot be written -------------------------------------------------------


def test_a_clients_action_that_cannot_be_saved_is_refused_in_words(book):
    witness = Witness(book)
    book.channels.subscribe(book.chat, witness)
    told = []
    witness.deliver = lambda envelope: told.append(envelope.rejection)
    book.store.full = True
    origin = {"clientId": "c", "clientSeq": 1}
    book.say("chat/draftChanged", origin, draft={"text": "x", "origin": {"kind": "user"}})
    assert told == [f"chat/draftChanged could not be saved: {book.store.words}"]
    assert "draft" not in book.channels.state(book.chat)
    same(book)


def test_an_action_of_the_hosts_own_is_not_said_and_its_owner_is_told(book):
    book.turn("t")
    book.store.full = True
    book.say("chat/usage", turnId="t", usage={})
    assert [envelope.type for envelope in book.unsaved] == ["chat/usage"]
    assert "usage" not in book.channels.state(book.chat)["activeTurn"]


def test_what_is_said_all_the_same_is_written_once_there_is_space(book):
    book.turn("t")
    book.delta("t", "lost?")
    book.store.full = True
    part = {"kind": "error", "error": {"errorType": "storeFailed", "message": "full"}}
    action = {"type": "chat/error", "turnId": "t", "duration": 1, "part": part}
    book.channels.dispatch(book.chat, action, unsaved=True)
    assert book.channels.state(book.chat)["turns"][0]["state"] == "error"
    book.clock.advance(60)
    assert book.record().turns == ()
    book.store.full = False
    book.say("chat/draftChanged", draft={"text": "x", "origin": {"kind": "user"}})
    read = same(book)
    assert read.state["turns"][0]["responseParts"][0]["content"] == "lost?"
    assert read.state["draft"]["text"] == "x"


def test_streamed_text_that_cannot_be_saved_ends_its_turn_and_is_written_later(book):
    book.turn("t")
    book.delta("t", "text")
    book.store.full = True
    book.clock.advance(BATCH)
    assert book.unsaved == [None]
    book.delta("t", " and more")
    book.clock.advance(BATCH)
    book.store.full = False
    book.end("t")
    assert same(book).state["turns"][0]["responseParts"][0]["content"] == "text and more"


def test_a_stop_is_said_whatever_the_disk_does(book):
    book.turn("t")
    book.store.full = True
    book.say("chat/turnCancelled", {"clientId": "c", "clientSeq": 1}, turnId="t", duration=1)
    assert book.channels.state(book.chat)["turns"][0]["state"] == "cancelled"
    assert book.unsaved == []
    book.store.full = False
    book.clock.advance(60)
    same(book)
    assert not book.record().entries


def test_what_a_session_says_for_itself_is_said_and_caught_up_on(book):
    book.store.full = True
    book.say("session/titleChanged", channel=book.session, title="New")
    assert book.channels.state(book.session)["title"] == "New"
    book.store.full = False
    book.turn("t")
    read = read_back(book.record(book.session))
    assert read.state["title"] == "New"


def test_facts_that_cannot_be_saved_are_not_kept(book):
    book.store.full = True
    with pytest.raises(StoreFailure):
        book.journals.note(book.chat, {"conversation": "c"})
    assert book.journals.facts(book.chat) == {}


def test_a_fold_that_fails_loses_nothing_and_is_tried_again(book):
    book.turn("t")
    book.end("t")
    book.store.full = True
    book.clock.advance(QUIET)
    assert book.record().entries
    same(book)
    book.store.full = False
    book.clock.advance(60)
    assert not book.record().entries
    same(book)


def test_a_channel_that_is_let_go_of_leaves_no_timer(book):
    book.turn("t")
    book.delta("t", "x")
    book.channels.close(book.chat)
    book.channels.close(book.session)
    assert book.clock.getDelayedCalls() == []


def test_the_text_of_all_that_stream_is_written_in_one_go(book):
    book.another("ahp-chat:/d")
    stream(book, "ahp-chat:/c", "ahp-chat:/d")
    book.store.calls.clear()
    book.clock.advance(BATCH)
    [(_, entries)] = book.appends()
    assert [channel for channel, _ in entries] == ["ahp-chat:/c", "ahp-chat:/d"]
    assert texts(book) == [("chat/delta", "of ahp-chat:/c"), ("chat/delta", "of ahp-chat:/d")]
    book.clock.advance(BATCH)
    assert len(book.appends()) == 1


def test_the_text_of_one_that_cannot_be_written_costs_the_others_nothing(book):
    book.another("ahp-chat:/d")
    stream(book, "ahp-chat:/c", "ahp-chat:/d")
    book.store.calls.clear()
    book.store.refused = "ahp-chat:/c"
    book.clock.advance(BATCH)
    assert texts(book) == [("chat/delta", "of ahp-chat:/d")]
    assert book.unsaved == [None]
    book.store.refused = None
    book.end("t")
    assert same(book).state["turns"][0]["responseParts"][0]["content"] == "of ahp-chat:/c"


def test_a_turns_end_is_one_entry_however_much_the_turn_said(book):
    book.turn("t")
    for _ in range(40):
        book.delta("t", "x" * MOST_HELD)
    book.store.calls.clear()
    book.end("t")
    assert [kind for kind, _ in book.store.calls] == ["append"]
    book.clock.advance(QUIET)
    assert list(book.record().entries) == []
    same(book)


def test_folding_that_takes_its_time_lets_others_have_theirs(book):
    for number in range(3):
        book.another(f"ahp-chat:/{number}", f"s{number}")
        book.say("chat/draftChanged", channel=f"ahp-chat:/{number}", draft={"text": "x"})
    book.store.takes = 0.01
    book.clock.advance(QUIET)
    assert len(book.store.unfolded()) == 2
    for left in (1, 0):
        book.clock.advance(0.02)
        assert len(book.store.unfolded()) == left
    assert book.clock.getDelayedCalls() == []


def stream(book, *channels):
    """A turn in each, with some text that waits."""
    for channel in channels:
        book.turn("t", channel=channel)
        content = f"of {channel}"
        book.say("chat/delta", channel=channel, turnId="t", partId="p", content=content)
