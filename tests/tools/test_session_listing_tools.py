"""`list_sessions`, `get_current_session` and `get_session_context`, called in turns."""

import pytest

from ahpd.protocol.status import IS_ARCHIVED
from ahpd.tools.links import chat_id

S1, S2, S3 = "ahp-session:/s1", "ahp-session:/s2", "ahp-session:/s3"


@pytest.fixture
def two(tools):
    tools.session(S2, workingDirectories=["file:///work/b"])
    return tools


def listed(host, read, **filters):
    return [row["session"] for row in read.told(host.call("list_sessions", **filters))["sessions"]]


def test_the_sessions_are_listed_as_the_catalogue_shows_them(two, read):
    told = read.told(two.call("list_sessions"))["sessions"]
    by_session = {row["session"]: row for row in told}
    rows = {row["resource"]: row for row in two.rows()}
    assert by_session.keys() == rows.keys() == {S1, S2}
    for uri, row in by_session.items():
        assert row["title"] == rows[uri]["title"]
        assert row["createdAt"] == rows[uri]["createdAt"]
        assert row["openLink"] == f"agent-host-session://scripted/{uri.rpartition('/')[2]}"
    assert by_session[S1]["status"] == "inProgress", "the turn that calls"
    assert by_session[S2]["workingDirectory"] == "file:///work/b"
    assert by_session[S2]["status"] == "idle"
    assert by_session[S2]["unread"] is True


def test_one_is_looked_up_by_any_of_its_names_whatever_the_other_filters_say(two, read):
    for name in (S2, "scripted:/s2", "agent-host-session://scripted/s2"):
        assert listed(two, read, session=name, status=["error"]) == [S2]
    for name in ("ahp-session:/none", "agent-host-session://other/s2", "nothing", "ahp-root://"):
        assert listed(two, read, session=name) == []


def test_filters_keep_what_they_name(two, read):
    assert listed(two, read, status=["inProgress"]) == [S1]
    assert listed(two, read, status=["idle", "error"]) == [S2]
    assert listed(two, read, workspace="/work/b") == [S2]
    assert listed(two, read, workspace="file:///work/b/") == [S2]
    assert listed(two, read, workspace="/work") == []
    assert listed(two, read, createdAfter="2030-01-01T00:00:00Z") == []
    assert set(listed(two, read, createdBefore="2030-01-01T00:00:00Z")) == {S1, S2}
    assert listed(two, read, withChanges=True) == []
    assert listed(two, read, withPullRequest=True) == []
    assert S2 in listed(two, read, unread=True)
    wrong = two.call("list_sessions", createdAfter="yesterday")
    assert "createdAfter must be an ISO 8601 timestamp" in read.failure(wrong)


def test_an_archived_session_is_listed_where_it_is_asked_for_alone(two, read):
    two.probe.dispatch(S2, {"type": "session/isArchivedChanged", "isArchived": True})
    two.host.settle()
    assert two.state(S2)["status"] & IS_ARCHIVED
    assert listed(two, read) == [S1]
    assert listed(two, read, status=["archived"]) == [S2]
    assert set(listed(two, read, includeArchived=True)) == {S1, S2}


def test_a_session_nobody_was_told_of_is_its_own_alone(two, read):
    two.make(S3)
    assert set(listed(two, read)) == {S1, S2}
    assert "known session" in read.failure(two.call("get_session_context", session=S3))
    results = []

    async def script(turn):
        results.append(await turn.host.run_tool("get_current_session", {}, "c"))

    two.turn(two.chat(S3), script=script)
    assert read.told(results[0])["session"] == S3


def test_a_catalogue_of_thousands_is_told_as_far_as_there_is_room(two, read):
    for number in range(600):
        uri = f"ahp-session:/many-{number}"
        two.host.run(two.probe.request("createSession", channel=uri))
        chat = two.chat(uri)
        two.host.store.dispatch(uri, {"type": "session/titleChanged", "title": "t" * 150})
        two.sessions.find_chat(chat).start_message({"text": "x", "origin": {"kind": "user"}})
    two.host.settle()
    told = read.told(two.call("list_sessions"))
    assert told["truncated"] is True
    assert len(told["sessions"]) + told["leftOut"] == 602
    assert 200 < len(told["sessions"]) < 602


def test_the_current_session_is_the_one_of_the_chat_that_calls(two, read):
    for session in (S1, S2):
        told = read.told(two.call("get_current_session", two.chat(session)))
        assert told["session"] == session
        assert told["openLink"] == f"agent-host-session://scripted/{session[-2:]}"


# -- get_session_context -------------------------------------------------------------------


def context(host, read, session=S2, **more):
    return read.told(host.call("get_session_context", session=session, **more))


def test_a_chat_is_told_turn_by_turn(two, read):
    async def works(turn):
        turn.markdown("Looking. ")
        turn.tool("grep", "found")
        turn.markdown("Done.")

    two.turn(two.chat(S2), "Find it", works)
    told = context(two, read, detail="full")
    assert told["session"] == S2
    assert told["truncated"] is False
    assert told["transcript"] == [
        {"turn": 1, "state": "complete", "user": f"first of {S2}", "assistant": f"first of {S2}"},
        {
            "turn": 2,
            "state": "complete",
            "user": "Find it",
            "assistant": "Looking. Done.",
            "toolCalls": [{"name": "grep", "input": "{}"}],
        },
    ]
    assert context(two, read, detail="digest")["transcript"][1]["toolCalls"] == ["grep"]
    assert "toolCalls" not in context(two, read)["transcript"][1]


def test_long_texts_are_cut_and_it_says_so(two, read):
    two.turn(two.chat(S2), "w " * 5000)
    for detail, user, assistant in (
        ("summary", 160, 140),
        ("digest", 300, 800),
        ("full", 1000, 2000),
    ):
        told = context(two, read, detail=detail)
        assert told["truncated"] is True
        last = told["transcript"][-1]
        assert len(last["user"]) <= user
        assert len(last["assistant"]) <= assistant
        assert last["user"].endswith("…")


def test_the_latest_turns_are_told_and_the_running_one_last(two, read):
    chat = two.chat(S2)
    for number in range(60):
        two.turn(chat, f"message {number}")
    told = context(two, read)
    assert [turn["turn"] for turn in told["transcript"]] == list(range(52, 62))
    assert told["truncated"] is True
    assert len(context(two, read, transcriptLimit=1000)["transcript"]) == 50
    assert len(context(two, read, transcriptLimit=2.5)["transcript"]) == 2
    own = context(two, read, session=S1)["transcript"][-1]
    assert own["state"] == "inProgress"
    wrong = two.call("get_session_context", session=S2, transcriptLimit=0)
    assert "positive number" in read.failure(wrong)


def test_a_link_names_a_chat_and_a_turn_to_read_up_to(two, read):
    made = two.call("create_chat", session=S2, prompt="beside", title="Beside")
    link = read.text(made).partition("(")[2].rstrip(").")
    told = context(two, read, session=link)
    assert [turn["user"] for turn in told["transcript"]] == ["beside"]
    assert told["openLink"] == link
    first = two.state(two.chat(S2))["turns"][0]["id"]
    two.turn(two.chat(S2), "later")
    told = context(two, read, session=f"agent-host-session://scripted/s2?turn={first}")
    assert [turn["user"] for turn in told["transcript"]] == [f"first of {S2}"]
    wrong = two.call("get_session_context", session="agent-host-session://scripted/s2?turn=no")
    assert "has no turn no" in read.failure(wrong)


def test_a_chat_s_own_uri_names_it_as_an_attached_chat_points_at_it(two, read):
    chat = two.chat(S2)
    assert context(two, read, session=chat)["session"] == S2
    for unknown in ("ahp-chat:/none", f"agent-host-session://scripted/s1?chat={chat_id(chat)}"):
        words = read.failure(two.call("get_session_context", session=unknown))
        assert words.startswith("Invalid get_session_context input: chat must name")


def test_a_session_that_is_asleep_is_listed_asleep_and_woken_to_be_read(tool_host, read):
    host = tool_host(session_idle_seconds=5, agent_idle_seconds=1)
    host.session()
    host.make(S2)
    host.turn(host.chat(S2), "sleep well")
    for channel in (S2, host.chat(S2)):
        host.probe.unsubscribe(channel)
    for session in host.sessions.registry.catalogue.sessions():
        for chat in session.chats.values():
            host.host.run(chat.release())
    for _ in range(20):
        host.host.advance(5)
    entry = host.sessions.registry.named(S2)
    assert entry.session is None, "it is awake"
    assert S2 in [row["session"] for row in read.told(host.call("list_sessions"))["sessions"]]
    assert entry.session is None, "a listing woke it"
    told = read.told(host.call("get_session_context", session=S2))
    assert [turn["user"] for turn in told["transcript"]] == ["sleep well"]
