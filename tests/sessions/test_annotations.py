"""Marks on a session's files (AHP.txt, the `annotations/*` table)."""

import pytest

from ahpd.interfaces import Refusal

MARKS = "ahp-session:/s1/annotations"
MARK = {
    "id": "a1",
    "origin": {"kind": "user"},
    "resource": "file:///x",
    "resolved": False,
    "entries": [{"id": "e1", "text": "why"}],
}


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session()
    return host


def act(host, kind, channel=MARKS, **fields):
    origin = {"clientId": "client-1", "clientSeq": 1}
    host.service.annotation_actions.handle(channel, {"type": kind, **fields}, origin)


def test_a_mark_is_held_and_moved(host):
    act(host, "annotations/set", annotation=MARK)
    act(host, "annotations/updated", annotationId="a1", resolved=True)
    act(host, "annotations/entrySet", annotationId="a1", entry={"id": "e2", "text": "so"})
    act(host, "annotations/entryRemoved", annotationId="a1", entryId="e1")
    [mark] = host.state(MARKS)["annotations"]
    assert mark["resolved"] is True
    assert [entry["id"] for entry in mark["entries"]] == ["e2"]
    act(host, "annotations/removed", annotationId="a1")
    assert host.state(MARKS)["annotations"] == []


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        ("annotations/updated", {"annotationId": "no"}, "Annotation not found: no"),
        ("annotations/removed", {"annotationId": "no"}, "Annotation not found: no"),
        ("annotations/entryRemoved", {"annotationId": "a1", "entryId": "no"}, "entry not found"),
    ],
)
def test_what_names_no_mark_is_refused(host, kind, fields, words):
    act(host, "annotations/set", annotation=MARK)
    with pytest.raises(Refusal, match=words):
        act(host, kind, **fields)


@pytest.mark.parametrize(
    "kind", ["session/titleChanged", "chat/draftChanged", "root/configChanged"]
)
def test_an_action_of_another_channel_is_refused_and_not_said(host, kind):
    with pytest.raises(Refusal, match=f"{kind} is no action of an annotations channel: {MARKS}"):
        act(host, kind, title="x")
    assert host.said(MARKS) == []


def test_marks_of_a_session_nobody_has_are_refused(host):
    with pytest.raises(Refusal, match="Session not found: ahp-session:/nobody"):
        act(host, "annotations/set", "ahp-session:/nobody/annotations", annotation=MARK)
