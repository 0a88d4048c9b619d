"""What a frame checker catches, and what it lets a host say."""

import pytest

from ahpd.protocol.errors import RpcError, auth_required, permission_denied, unsupported_versions
from ahpd.testing.frames import FrameChecker

SESSION = "ahp-session:/1"
CHAT = "ahp-chat:/1"

ROOT_STATE = {"agents": [], "activeSessions": 0}
CHAT_STATE = {
    "resource": CHAT,
    "title": "",
    "status": 1,
    "modifiedAt": "2026-10-01T12:00:00.000Z",
    "turns": [],
}


def envelope(action, channel=CHAT, **more):
    return {"channel": channel, "action": action, "serverSeq": 3, **more}


def notification(method, params):
    return {"jsonrpc": "2.0", "method": method, "params": params}


def said(action, channel=CHAT, **more):
    return notification("action", envelope(action, channel, **more))


def answer(result, identifier=1):
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


def failure(error, identifier=1):
    wire = error.to_wire() if isinstance(error, RpcError) else error
    return {"jsonrpc": "2.0", "id": identifier, "error": wire}


def asked(method, identifier=1, **options):
    checker = FrameChecker(**options)
    checker.client_sent({"jsonrpc": "2.0", "id": identifier, "method": method, "params": {}})
    return checker


def caught(checker, message):
    with pytest.raises(AssertionError) as raised:
        checker.host_sent(message)
    return str(raised.value)


# -- answers ---------------------------------------------------------------------


def test_an_answer_is_held_to_the_method_that_was_asked():
    asked("ping").host_sent(answer(None))
    assert "ping.result: expected null" in caught(asked("ping"), answer({}))
    listed = caught(asked("listSessions"), answer({"items": [{"resource": SESSION}]}))
    assert "listSessions.result.items[0].provider: expected a string, found nothing" in listed


def test_answers_may_come_in_any_order():
    checker = FrameChecker()
    checker.client_sent({"id": 1, "method": "ping"})
    checker.client_sent({"id": "1", "method": "listSessions"})
    assert sorted(checker.unanswered()) == ["listSessions", "ping"]
    checker.host_sent(answer({"items": []}, "1"))
    checker.host_sent(answer(None, 1))
    assert checker.unanswered() == []


def test_an_answer_nobody_asked_for():
    checker = asked("ping")
    checker.host_sent(answer(None))
    assert "response.id" in caught(checker, answer(None))
    assert "response.id" in caught(FrameChecker(), failure(RpcError(-32603, "no")))
    assert "response.id" in caught(asked("ping", 1), answer(None, "1"))


def test_an_answer_to_a_frame_that_was_no_request():
    FrameChecker().host_sent(failure(RpcError(-32700, "Parse error"), None))
    FrameChecker().host_sent(failure(RpcError(-32600, "a batch"), 7))


def test_a_method_that_is_not_there_is_an_error_and_no_result():
    assert "an error" in caught(asked("noSuchThing"), answer({}))
    asked("noSuchThing").host_sent(failure(RpcError(-32601, "Method not found: noSuchThing")))


def test_extensions_pass():
    asked("vscode/stopBackgroundWork").host_sent(answer({"anything": 1}))
    asked("shutdown").host_sent(answer(None))
    asked("x-mine").host_sent(failure({"code": 17, "message": "mine"}))
    FrameChecker().host_sent(notification("vscode/devContainers/output", {"a": 1}))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ({"jsonrpc": "2.0", "id": 1, "result": None, "extra": 1}, "response.extra"),
        ({"jsonrpc": "1.0", "id": 1, "result": None}, "response.jsonrpc"),
        ({"id": 1, "result": None}, "response.jsonrpc"),
        ({"jsonrpc": "2.0", "id": True, "result": None}, "response.id"),
        ({"jsonrpc": "2.0", "result": None}, "response.id"),
        ({"jsonrpc": "2.0", "id": 1, "result": None, "error": {}}, "response.result"),
        ([], "message"),
        (None, "message"),
    ],
)
def test_what_is_no_message(message, words):
    assert words in caught(asked("ping"), message)


@pytest.mark.parametrize(
    "error",
    [
        RpcError(-32001, "Session not found: x"),
        RpcError(-32602, "params.a", {"reason": "notMovable"}),
        unsupported_versions(["9.9.9"], ["1.0.0"]),
        auth_required("Sign in", [{"resource": "https://example.test"}]),
        permission_denied("No"),
        permission_denied("No", {"channel": "ahp-root://", "uri": "file:///a", "read": True}),
    ],
)
def test_an_error_with_the_data_its_code_asks_for(error):
    asked("initialize").host_sent(failure(error))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"code": -32005, "message": "no"}, "initialize.error.data"),
        ({"code": -32005, "message": "no", "data": {}}, "initialize.error.data.supportedVersions"),
        ({"code": -32007, "message": "no"}, "initialize.error.data"),
        ({"code": -32009, "message": "no", "data": {"why": 1}}, "initialize.error.data.why"),
        ({"code": -1, "message": "no"}, "initialize.error.code"),
        ({"code": "x", "message": "no"}, "response.error.code"),
        ({"code": -32603}, "response.error.message"),
        ({"code": -32603, "message": "no", "stack": "at ..."}, "response.error.stack"),
    ],
)
def test_an_error_that_says_too_little_or_too_much(error, words):
    assert words in caught(asked("initialize"), failure(error))


# -- snapshots -------------------------------------------------------------------


def test_a_snapshot_is_held_to_the_kind_of_its_channel():
    result = {"snapshot": {"resource": CHAT, "state": CHAT_STATE, "fromSeq": 2}}
    asked("subscribe").host_sent(answer(result))
    result = {"snapshot": {"resource": CHAT, "state": ROOT_STATE, "fromSeq": 2}}
    words = caught(asked("subscribe"), answer(result))
    assert "subscribe.result.snapshot.state.resource" in words


def test_the_snapshots_of_a_handshake():
    good = {"resource": "ahp-root://", "state": ROOT_STATE, "fromSeq": 0}
    bad = {"resource": CHAT, "state": {**CHAT_STATE, "turns": [{}]}, "fromSeq": 0}
    result = {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": [good]}
    asked("initialize").host_sent(answer(result))
    words = caught(asked("initialize"), answer({**result, "snapshots": [good, bad]}))
    assert "initialize.result.snapshots[1].state.turns[0].id" in words
    words = caught(asked("initialize"), answer({**result, "snapshots": [good, 4]}))
    assert "initialize.result.snapshots[1]" in words


def test_the_actions_of_a_replay():
    ready = envelope({"type": "session/ready"}, SESSION)
    result = {"type": "replay", "actions": [ready], "missing": []}
    asked("reconnect").host_sent(answer(result))
    bad = envelope({"type": "session/ready", "at": 1}, SESSION)
    words = caught(asked("reconnect"), answer({**result, "actions": [ready, bad]}))
    assert "reconnect.result.actions[1].action.at: expected no such key" in words


# -- what the host says of itself ------------------------------------------------


def test_an_action_is_held_to_its_type():
    delta = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x"}
    FrameChecker().host_sent(said(delta))
    assert "action.params.action.text" in caught(FrameChecker(), said({**delta, "text": "x"}))
    assert "action.params.action.partId" in caught(
        FrameChecker(), said({k: v for k, v in delta.items() if k != "partId"})
    )


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (said({"type": "future/thing"}), "action.params.action.type"),
        (said({"type": "session/ready"}, CHAT), "action.params.channel"),
        (said({"type": "chat/turnResume", "turnId": "t"}, SESSION), "action.params.channel"),
        (said({"type": "session/ready"}, "not a channel"), "action.params.channel"),
        (said({"type": "session/ready"}, SESSION, seq=1), "action.params.seq"),
        (
            said({"type": "session/ready"}, SESSION, origin={"clientId": "a", "clientSeq": 1}),
            "action.params.origin",
        ),
        (said({"type": "session/ready"}, SESSION, rejectionReason="no"), "action.params.origin"),
        (notification("action", None), "action.params"),
        (notification("root/unheardOf", {}), "message.method"),
        (notification("dispatchAction", {}), "message.method"),
        (
            notification("root/sessionRemoved", {"channel": "ahp-root://"}),
            "root/sessionRemoved.params.session",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "createSession", "params": {}},
            "message.method",
        ),
        (
            {"jsonrpc": "2.0", "id": 1, "method": "resourceRead", "params": {"uri": "file:///a"}},
            "resourceRead.params.channel",
        ),
    ],
)
def test_what_a_host_does_not_say(message, words):
    assert words in caught(FrameChecker(), message)


def test_what_a_host_asks_a_client():
    params = {"channel": "ahp-root://", "uri": "file:///a"}
    FrameChecker().host_sent(
        {"jsonrpc": "2.0", "id": "h1", "method": "resourceRead", "params": params}
    )


def test_a_session_action_that_goes_out_on_a_chat():
    renamed = {"type": "session/titleChanged", "title": "x"}
    FrameChecker().host_sent(said(renamed, CHAT, origin={"clientId": "a", "clientSeq": 1}))


def test_a_refused_action_is_shown_as_it_was_sent():
    FrameChecker().host_sent(
        said(
            {"type": "future/thing", "turnId": 4},
            origin={"clientId": "a", "clientSeq": 1},
            rejectionReason="Server-only action: future/thing",
        )
    )


def test_a_clients_message_may_come_back_in_an_action_of_the_hosts():
    message = {"text": "hi", "origin": {"kind": "user"}, "colour": "red"}
    turn = {"id": "t", "message": message, "responseParts": [], "state": "complete"}
    started = {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x", "message": message}
    for action in (started, {"type": "chat/turnsLoaded", "turns": [turn]}):
        FrameChecker(foreign=True).host_sent(said(action))
        assert "colour" in caught(FrameChecker(), said(action))


def test_what_clients_added_passes_only_where_a_test_says_they_do():
    theirs = {"type": "session/titleChanged", "title": "x", "colour": "red"}
    origin = {"clientId": "a", "clientSeq": 1}
    assert "colour" in caught(FrameChecker(), said(theirs, SESSION, origin=origin))
    FrameChecker(foreign=True).host_sent(said(theirs, SESSION, origin=origin))
    assert "colour" in caught(FrameChecker(foreign=True), said(theirs, SESSION))
    wrong = {**theirs, "title": 4}
    assert "title" in caught(FrameChecker(foreign=True), said(wrong, SESSION, origin=origin))


@pytest.mark.parametrize(
    "message", [None, [], 4, {}, {"id": [], "method": "ping"}, {"id": 1, "method": {}}]
)
def test_a_client_may_send_anything(message):
    FrameChecker().client_sent(message)
