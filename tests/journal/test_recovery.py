"""From bytes back to a state; what was under way is over."""

import pytest

from ahpd.interfaces import ChannelRecord
from ahpd.journal.recovery import ended, read_back
from ahpd.protocol.status import ERROR, IDLE, IN_PROGRESS, IS_READ
from ahpd.wire.codec import encode

C = "ahp-chat:/c"
STARTED = "2026-01-01T00:00:00.000Z"
STARTED_MS = 1767225600000


def chat(**fields):
    state = {"resource": C, "title": "", "status": IDLE, "modifiedAt": STARTED, **fields}
    return ChannelRecord(channel=C, kind="chat", head=encode({"state": state}))


def with_entries(record, *entries):
    return ChannelRecord(
        channel=record.channel,
        kind=record.kind,
        head=record.head,
        turns=record.turns,
        entries=[encode(entry) if isinstance(entry, dict) else entry for entry in entries],
    )


def started(at=STARTED_MS):
    message = {"text": "x", "origin": {"kind": "user"}}
    action = {"type": "chat/turnStarted", "turnId": "t", "startedAt": STARTED, "message": message}
    return {"t": at, "a": action}


def test_an_entry_nobody_can_apply_is_passed_over_and_said():
    draft = {"type": "chat/draftChanged", "draft": {"text": "d", "origin": {"kind": "user"}}}
    bad = [b"{not json", {"a": {"type": "chat/truncated", "turnId": 3}}, b"[]", {"a": 5}, {}]
    read = read_back(with_entries(chat(), *bad, {"a": draft}))
    assert read.state["draft"]["text"] == "d"
    assert len(read.problems) == 3
    assert read.changed


def test_a_turn_that_ran_ends_with_the_time_it_is_known_to_have_run():
    delta = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "hi"}
    part = {"kind": "markdown", "id": "p", "content": ""}
    opened = {"type": "chat/responsePart", "turnId": "t", "part": part}
    entries = [started(), {"t": STARTED_MS + 1, "a": opened}, {"t": STARTED_MS + 2500, "a": delta}]
    read = read_back(with_entries(chat(), *entries))
    ended(read, resumable=True)
    [turn] = read.state["turns"]
    assert (turn["state"], turn["duration"]) == ("error", 2500)
    assert turn["responseParts"][0]["content"] == "hi"
    assert turn["responseParts"][-1]["resumable"] is True
    assert "ran" not in turn
    assert read.state["status"] == ERROR
    assert read.state["modifiedAt"] == "2026-01-01T00:00:02.500Z"


def test_a_turn_folded_into_a_head_ends_too():
    active = {"id": "t", "startedAt": STARTED, "message": {"text": "x"}, "responseParts": []}
    read = read_back(chat(activeTurn=active, status=IN_PROGRESS | IS_READ))
    ended(read, resumable=False)
    assert read.state["turns"][0]["duration"] == 0
    assert read.state["status"] == ERROR | IS_READ
    assert read.changed
    assert read.stored == 0


def test_nothing_changes_in_a_state_at_rest():
    read = read_back(chat(draft={"text": "x"}))
    ended(read, resumable=True)
    assert not read.changed


def test_what_was_of_the_process_is_gone():
    work = [{"id": "shell:1"}]
    read = read_back(chat(activity="x", backgroundWork=work, movable=True))
    ended(read, resumable=False)
    assert {"activity", "backgroundWork", "movable"}.isdisjoint(read.state)
    assert read.changed


def test_nobody_is_in_a_session_and_no_server_of_it_runs():
    server = {"type": "mcpServer", "id": "m", "state": {"kind": "ready"}}
    failed = {"type": "mcpServer", "id": "f", "state": {"kind": "error", "error": {}}}
    state = {
        "status": IN_PROGRESS | IS_READ,
        "activeClients": [{"clientId": "c"}],
        "inputNeeded": [{"id": "x"}],
        "activity": "busy",
        "customizations": [{"type": "plugin", "id": "p", "children": [server]}, failed],
    }
    record = ChannelRecord(
        channel="ahp-session:/s", kind="session", head=encode({"state": state, "facts": {"a": 1}})
    )
    read = read_back(record)
    ended(read, resumable=False)
    assert read.state["activeClients"] == []
    assert {"inputNeeded", "activity"}.isdisjoint(read.state)
    assert read.state["status"] == IDLE | IS_READ
    [plugin, other] = read.state["customizations"]
    assert plugin["children"][0]["state"] == {"kind": "stopped"}
    assert other["state"]["kind"] == "error"
    assert read.facts == {"a": 1}


@pytest.mark.parametrize("head", [b"[]", b"{}", b"3", b"{"])
def test_a_head_that_is_none_is_no_state(head):
    with pytest.raises(ValueError):
        read_back(ChannelRecord(channel=C, kind="chat", head=head))
