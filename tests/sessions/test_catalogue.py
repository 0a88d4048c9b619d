"""What clients hear of the sessions there are (AHP.txt, `listSessions` and the root rows)."""

import pytest

from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import ERROR, IDLE, IN_PROGRESS, IS_ARCHIVED, IS_READ
from ahpd.testing import agents as scripts

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def host(sessions_host):
    return sessions_host()


@pytest.fixture
def many(host):
    """Five announced sessions, made in order at different times but for the last two."""
    for number in range(5):
        uri = host.session(f"ahp-session:/s{number}")
        host.turn(host.chat(uri))
        if number < 3:
            host.clock.advance(1)
    host.clock.advance(1)
    return host


def listed(host, **params):
    return [row["resource"][-2:] for row in host.listing(params)["items"]]


def test_the_newest_modified_comes_first_and_of_two_the_one_made_later(many):
    assert listed(many) == ["s4", "s3", "s2", "s1", "s0"]
    many.turn(many.chat("ahp-session:/s1"))
    assert listed(many) == ["s1", "s4", "s3", "s2", "s0"]


def test_without_a_limit_the_whole_catalogue_is_answered(many):
    assert "nextCursor" not in many.listing({})
    assert "nextCursor" not in many.listing({"limit": 5})


def test_pages_meet_no_session_twice_and_leave_none_out(many):
    seen, cursor = [], None
    while True:
        page = many.listing({"limit": 2, "cursor": cursor})
        seen += [row["resource"][-2:] for row in page["items"]]
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    assert seen == ["s4", "s3", "s2", "s1", "s0"]


def test_a_page_goes_on_where_it_was_when_sessions_moved_and_went(many):
    page = many.listing({"limit": 2.0})
    many.wait(many.service.dispose("ahp-session:/s3"))
    many.turn(many.chat("ahp-session:/s0"))
    assert listed(many, cursor=page["nextCursor"]) == ["s2", "s1"]


@pytest.mark.parametrize("cursor", ["", "x", "id-1:1", "id-1:a:b", "other:1.0:1", "::"])
def test_a_cursor_this_host_did_not_give_out_is_refused(many, cursor):
    with pytest.raises(RpcError, match="cursor"):
        many.listing({"cursor": cursor})


@pytest.mark.parametrize("limit", [0, -1, 1.5, True, "2"])
def test_a_limit_that_is_no_count_is_refused(many, limit):
    with pytest.raises(RpcError, match="limit"):
        many.listing({"limit": limit})


def test_a_listed_row_is_the_session_as_it_is(host):
    host.session(workingDirectories=["file:///w"])
    host.turn(host.chat(), "Title")
    [row] = host.listing({})["items"]
    assert row == {
        "resource": S1,
        "provider": "scripted",
        "title": "Title",
        "status": IDLE,
        "createdAt": "2026-01-02T03:04:05.000Z",
        "modifiedAt": "2026-01-02T03:04:05.000Z",
        "workingDirectories": ["file:///w"],
        "defaultChat": host.chat(),
        "chats": [
            {"resource": host.chat(), "title": "", "origin": {"kind": "user"}, "status": IDLE}
        ],
    }


# -- what moved ---------------------------------------------------------------------


def test_moves_are_said_together_when_they_have_been_quiet(host):
    host.session()
    host.turn(host.chat(), "Title")
    host.clock.advance(1)
    host.forget()
    host.dispatch(S1, "session/titleChanged", title="One")
    host.clock.advance(0.09)
    host.dispatch(S1, "session/titleChanged", title="Two")
    host.dispatch(S1, "session/isArchivedChanged", isArchived=True)
    host.clock.advance(0.09)
    assert host.told() == []
    host.clock.advance(0.01)
    [params] = host.told("root/sessionSummaryChanged")
    assert params["session"] == S1
    assert params["channel"] == "ahp-root://"
    assert params["changes"]["title"] == "Two"
    assert params["changes"]["status"] == IDLE | IS_ARCHIVED
    assert not params["changes"].keys() & {"resource", "provider", "createdAt", "modifiedAt"}
    host.clock.advance(1)
    assert len(host.told()) == 1


def test_what_moved_and_moved_back_is_not_said(host):
    host.session()
    host.turn(host.chat(), "Title")
    host.clock.advance(1)
    host.forget()
    host.dispatch(S1, "session/titleChanged", title="Other")
    host.dispatch(S1, "session/titleChanged", title="Title")
    host.clock.advance(1)
    assert [p["changes"].keys() for p in host.told()] == [{"chats"}]  # the chat took the title


def test_an_activity_that_ended_is_said_as_null(host):
    async def busy(turn):
        turn.output.emit({"type": "chat/activityChanged", "activity": "Waking"})
        host.clock.advance(0.2)
        await turn.forever()

    host.session()
    host.agent.then(busy)
    turn = host.turn(host.chat())
    assert host.told("root/sessionSummaryChanged")[-1]["changes"]["activity"] == "Waking"
    host.stop(host.chat(), turn)
    host.clock.advance(0.2)
    assert host.told("root/sessionSummaryChanged")[-1]["changes"]["activity"] is None


def test_changes_fold_into_the_row_a_listing_answers(host):
    host.session()
    chat = host.chat()
    host.agent.then(scripts.echo, scripts.fails("no"), scripts.echo)
    host.turn(chat, "Title")
    row = dict(host.told("root/sessionAdded")[0]["summary"])
    for step in (
        lambda: host.service.create_chat({"channel": S1, "chat": C2}),
        lambda: host.turn(C2),
        lambda: host.dispatch(S1, "session/isReadChanged", isRead=True),
        lambda: host.turn(C2),
        lambda: host.wait(host.service.dispose_chat(C2)),
    ):
        host.clock.advance(0.3)
        step()
    host.clock.advance(0.3)
    for params in host.told("root/sessionSummaryChanged"):
        row.update(params["changes"])
    assert [row] == host.listing({})["items"]


def test_a_row_is_its_chats_doing(host):
    host.session()
    chat = host.chat()
    host.turn(chat)
    host.service.create_chat({"channel": S1, "chat": C2})
    status = lambda: host.listing({})["items"][0]["status"] & 31  # noqa: E731
    host.agent.then(scripts.fails("no"), scripts.never_ends)
    host.turn(C2)
    assert status() == ERROR
    host.turn(C2)
    assert status() == IDLE  # the default chat's
    host.agent.then(scripts.never_ends)
    host.turn(chat)
    assert status() == IN_PROGRESS
    assert host.state(S1)["status"] & 31 == IDLE


def test_the_active_sessions_are_counted_when_the_number_moves(host):
    for uri in (S1, "ahp-session:/s2"):
        host.session(uri)
    host.service.create_chat({"channel": S1, "chat": C2})
    host.agent.then(*[scripts.never_ends] * 3)
    turns = {c: host.turn(c) for c in (host.chat(), C2, host.chat("ahp-session:/s2"))}
    for chat, turn in turns.items():
        host.stop(chat, turn)
    assert [a["activeSessions"] for a in host.said("ahp-root://")] == [1, 2, 1, 0]


# -- what a client does to a session ------------------------------------------------


def test_a_session_nobody_knows(host):
    nobody = "ahp-session:/nobody"
    assert host.dispatch(nobody, "session/isReadChanged", isRead=True) is None
    assert host.dispatch(nobody, "session/isArchivedChanged", isArchived=True) is None
    assert host.said() == []
    assert host.dispatch(nobody, "session/titleChanged", title="x") == (
        f"Session not found: {nobody}"
    )
    for kind in ("session/activeClientSet", "session/activeClientRemoved"):
        assert host.dispatch(nobody, kind) == f"No agent for session: {nobody}"


def test_a_session_stays_unread_while_one_of_its_chats_is(host):
    host.session()
    host.service.create_chat({"channel": S1, "chat": C2})
    host.dispatch(S1, "session/isReadChanged", isRead=True)
    [said] = [e for e in host.store.watcher.said if e["action"]["type"] == "session/isReadChanged"]
    assert said["action"]["isRead"] is False
    assert said["origin"]["clientId"] == "client-1"
    assert not host.state(S1)["status"] & IS_READ


def test_a_session_takes_its_only_chat_with_it(host):
    host.session()
    for is_read in (True, False):
        host.dispatch(S1, "session/isReadChanged", isRead=is_read)
        assert bool(host.state(host.chat())["status"] & IS_READ) is is_read
    assert host.kinds(host.chat()) == ["chat/isReadChanged"] * 2


def test_active_clients_are_held_as_they_were_sent(host):
    host.session()
    entry = {"clientId": "other", "tools": [], "vendor": {"a": 1}}
    host.dispatch(S1, "session/activeClientSet", activeClient=entry)
    assert host.state(S1)["activeClients"] == [entry]
    host.dispatch(S1, "session/activeClientRemoved", clientId="nobody")
    host.dispatch(S1, "session/activeClientRemoved", clientId="other")
    assert host.state(S1)["activeClients"] == []
    assert host.kinds(S1).count("session/activeClientRemoved") == 2


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("session/workingDirectorySet", "require an Editor Window client"),
        ("chat/configChanged", "is no action of a session's channel"),
        ("chat/turnStarted", "is no action of a session's channel"),
    ],
)
def test_what_a_session_does_not_do_is_refused_in_words(host, kind, words):
    host.session()
    assert words in host.dispatch(S1, kind)


def test_an_archived_chat_says_so_in_the_row_for_older_clients_too(sessions_host):
    host = sessions_host()
    session = host.session()
    host.service.create_chat({"channel": session, "chat": "ahp-chat:/peer"})
    host.turn(host.chat())
    host.dispatch("ahp-chat:/peer", "chat/isArchivedChanged", isArchived=True)
    lead, peer = host.listing({})["items"][0]["chats"]
    assert "archived" not in lead
    assert peer["archived"] is True
    host.clock.advance(1)
    assert host.told("root/sessionSummaryChanged")[-1]["changes"]["chats"][1]["archived"] is True
    host.dispatch("ahp-chat:/peer", "chat/isArchivedChanged", isArchived=False)
    assert "archived" not in host.listing({})["items"][0]["chats"][1]
