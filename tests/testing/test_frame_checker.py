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


def test_a_clients_claim_may_come_back_in_the_list_of_terminals():
    claim = {"kind": "client", "clientId": "a", "colour": "red"}
    row = {"resource": "ahp-terminal:/1", "title": "", "claim": claim}
    listed = {
        "type": "root/terminalsChanged",
        "terminals": [{**row, "lifecycle": {"status": "running"}}],
    }
    FrameChecker(foreign=True).host_sent(said(listed, "ahp-root://"))
    assert "colour" in caught(FrameChecker(), said(listed, "ahp-root://"))


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


# -- terminals and watches -------------------------------------------------------

TERMINAL = "ahp-terminal:/1"
WATCH = "ahp-resource-watch://r/abc"
CLAIM = {"kind": "session", "session": SESSION, "chat": CHAT}
ORIGIN = {"clientId": "a", "clientSeq": 1}


@pytest.mark.parametrize(
    "action",
    [
        {"type": "terminal/data", "data": "x"},
        {"type": "terminal/exited", "exitCode": 1},
        {"type": "terminal/exited"},
        {"type": "terminal/cwdChanged", "cwd": "file:///x"},
        {"type": "terminal/resized", "cols": 80, "rows": 24},
        {"type": "terminal/claimed", "claim": CLAIM},
        {"type": "terminal/titleChanged", "title": "x"},
        {"type": "terminal/cleared"},
        {"type": "terminal/commandDetectionAvailable"},
        {
            "type": "terminal/commandExecuted",
            "commandId": "c",
            "commandLine": "ls",
            "timestamp": 1,
        },
        {"type": "terminal/commandFinished", "commandId": "c", "exitCode": 0, "durationMs": 5},
    ],
    ids=lambda action: action["type"],
)
def test_the_actions_of_a_terminal_are_held_to_their_shapes(action):
    FrameChecker().host_sent(said(action, TERMINAL))
    FrameChecker().host_sent(said(action, "agenthost-terminal:///7"))
    assert "action.colour" in caught(FrameChecker(), said({**action, "colour": 1}, TERMINAL))
    assert "params.channel" in caught(FrameChecker(), said(action, SESSION))
    for field in set(action) - {"type", "exitCode", "durationMs"}:
        short = {key: value for key, value in action.items() if key != field}
        assert f"action.{field}" in caught(FrameChecker(), said(short, TERMINAL))


@pytest.mark.parametrize("kind", ["data", "exited", "cwdChanged", "commandExecuted"])
def test_what_a_terminal_says_itself_comes_from_no_client(kind):
    action = {"type": f"terminal/{kind}"}
    assert "params.origin" in caught(FrameChecker(), said(action, TERMINAL, origin=ORIGIN))
    FrameChecker().host_sent(
        said({"type": "terminal/input", "data": "ls"}, TERMINAL, origin=ORIGIN)
    )


def batch(*changes):
    return {"type": "resourceWatch/changed", "changes": {"items": [*changes]}}


def test_a_batch_of_changes_is_held_to_its_shape():
    good = {"uri": "file:///x", "type": "added"}
    FrameChecker().host_sent(said(batch(good), WATCH))
    for bad, words in (
        ({**good, "type": "renamed"}, "items[0].type"),
        ({"type": "added"}, "items[0].uri"),
        ({**good, "size": 1}, "items[0].size"),
    ):
        assert words in caught(FrameChecker(), said(batch(bad), WATCH))
    assert "params.channel" in caught(FrameChecker(), said(batch(good), TERMINAL))
    assert "params.origin" in caught(FrameChecker(), said(batch(good), WATCH, origin=ORIGIN))


@pytest.mark.parametrize(
    ("channel", "state", "words"),
    [
        (TERMINAL, {"title": "", "content": [], "claim": CLAIM}, "state.lifecycle"),
        (
            TERMINAL,
            {
                "title": "",
                "content": [{"type": "unclassified"}],
                "claim": CLAIM,
                "lifecycle": {"status": "running"},
            },
            "state.content[0].value",
        ),
        (WATCH, {"root": "file:///x"}, "state.recursive"),
    ],
)
def test_the_state_of_a_terminal_or_a_watch_is_held_to_its_shape(channel, state, words):
    result = {"snapshot": {"resource": channel, "state": state, "fromSeq": 0}}
    assert words in caught(asked("subscribe"), answer(result))


@pytest.mark.parametrize(
    ("method", "good", "bad", "words"),
    [
        ("createTerminal", None, {}, "createTerminal.result"),
        ("disposeTerminal", None, {}, "disposeTerminal.result"),
        ("resourceRead", {"data": "x", "encoding": "utf-8"}, {"data": "x"}, "result.encoding"),
        (
            "resourceList",
            {"entries": [{"name": "x", "type": "file"}]},
            {"entries": [{"name": "x", "type": "symlink"}]},
            "result.entries[0].type",
        ),
        (
            "resourceResolve",
            {"uri": "file:///x", "type": "symlink"},
            {"uri": "file:///x", "type": "file", "mode": 7},
            "result.mode",
        ),
        ("resourceWrite", {}, {"etag": "1"}, "result.etag"),
        ("resourceDelete", {}, None, "resourceDelete.result"),
        ("resourceMkdir", {}, None, "resourceMkdir.result"),
        ("resourceMove", {}, None, "resourceMove.result"),
        ("resourceCopy", {}, None, "resourceCopy.result"),
        ("resourceRequest", {}, {"granted": True}, "result.granted"),
        ("createResourceWatch", {"channel": WATCH}, {}, "result.channel"),
    ],
)
def test_the_answers_about_terminals_and_resources_are_held_to_their_shapes(
    method, good, bad, words
):
    asked(method).host_sent(answer(good))
    assert words in caught(asked(method), answer(bad))


# -- what a host asks ------------------------------------------------------------

THEIRS = "ahp-resource-watch:/theirs"


def request(method, params, identifier=1):
    return {
        "jsonrpc": "2.0",
        "id": identifier,
        "method": method,
        "params": {"channel": "ahp-root://", **params},
    }


@pytest.mark.parametrize(
    ("method", "params", "missing"),
    [
        ("resourceRead", {"uri": "file:///x", "encoding": "base64"}, "uri"),
        ("resourceWrite", {"uri": "file:///x", "data": "", "encoding": "utf-8"}, "data"),
        ("resourceList", {"uri": "file:///x"}, "uri"),
        ("resourceResolve", {"uri": "file:///x", "followSymlinks": True}, "uri"),
        ("resourceDelete", {"uri": "file:///x", "recursive": True}, "uri"),
        ("resourceMkdir", {"uri": "file:///x"}, "uri"),
        ("resourceMove", {"source": "file:///x", "destination": "file:///y"}, "destination"),
        ("resourceCopy", {"source": "file:///x", "destination": "file:///y"}, "source"),
        ("resourceRequest", {"uri": "file:///x", "read": True}, "uri"),
        ("createResourceWatch", {"uri": "file:///x", "recursive": True}, "uri"),
    ],
)
def test_each_request_of_the_hosts_is_held_to_its_shape(method, params, missing):
    FrameChecker().host_sent(request(method, params))
    assert "params.more" in caught(FrameChecker(), request(method, {**params, "more": 1}))
    FrameChecker(foreign=True).host_sent(request(method, {**params, "more": 1}))
    short = {key: value for key, value in params.items() if key != missing}
    for foreign in (False, True):
        assert f"params.{missing}" in caught(FrameChecker(foreign), request(method, short))


def watching(result=None, method="createResourceWatch"):
    """A checker of a client that was asked for a watch, and what it answered."""
    checker = FrameChecker()
    checker.client_sent({"id": 1, "method": "initialize"})
    checker.host_sent(request(method, {"uri": "file:///x"}, 7))
    result = {"channel": THEIRS} if result is None else result
    checker.client_sent({"jsonrpc": "2.0", "id": 7, "result": result})
    return checker


def test_a_host_subscribes_to_a_watch_it_was_answered_and_lets_go_of_it_once():
    checker = watching()
    assert checker.unanswered_by_client() == []
    checker.host_sent(request("subscribe", {"channel": THEIRS}, 8))
    assert checker.unanswered_by_client() == ["subscribe"]
    checker.host_sent(notification("unsubscribe", {"channel": THEIRS}))
    assert "unsubscribe.params.channel" in caught(
        checker, notification("unsubscribe", {"channel": THEIRS})
    )


def test_a_host_that_never_subscribed_does_not_unsubscribe():
    assert "one it subscribed to" in caught(
        watching(), notification("unsubscribe", {"channel": THEIRS})
    )
    assert "params.channel" in caught(watching(), notification("unsubscribe", {}))


@pytest.mark.parametrize(
    "checker",
    [
        FrameChecker(),
        watching({"channel": "ahp-resource-watch:/other"}),
        watching({}),
        watching([]),
        watching({"channel": THEIRS}, "resourceRead"),
    ],
)
def test_a_host_subscribes_to_nothing_else_of_a_clients(checker):
    assert "subscribe.params.channel" in caught(
        checker, request("subscribe", {"channel": THEIRS}, 8)
    )


def test_a_channel_that_is_no_watch_is_not_subscribed_to_whatever_a_client_answered():
    checker = watching({"channel": SESSION})
    assert "subscribe.params.channel" in caught(
        checker, request("subscribe", {"channel": SESSION}, 8)
    )


def test_an_id_of_the_hosts_is_one_requests_until_it_is_answered_or_the_connection_went():
    checker = FrameChecker()
    asked = request("resourceRead", {"uri": "file:///x"})
    checker.host_sent(asked)
    assert "message.id" in caught(checker, asked)
    checker.client_sent({"id": 1, "error": {"code": -32008, "message": "no"}})
    checker.host_sent(asked)
    checker.client_sent({"id": 5, "method": "reconnect"})
    checker.host_sent(asked)


def test_a_watch_goes_with_its_connection():
    checker = watching()
    checker.client_sent({"id": 5, "method": "reconnect"})
    assert "subscribe.params.channel" in caught(
        checker, request("subscribe", {"channel": THEIRS}, 8)
    )


# -- what a host passes on -------------------------------------------------------


def relayed(method="resourceRead", key="uri", **options):
    checker = FrameChecker(**options)
    params = {key: "VSCode-Agent-Client://editor/file/-/x"}
    checker.client_sent({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return checker


def test_what_another_client_answered_is_passed_on_as_it_was():
    odd = {"code": 17, "message": "its own", "data": {"any": "thing"}}
    relayed().host_sent(failure(odd))
    relayed("resourceMove", "source").host_sent(failure(odd))
    assert "error.code" in caught(asked("resourceRead"), failure(odd))
    assert "response.error" in caught(relayed(), failure({**odd, "more": 1}))
    result = {"data": "x", "encoding": "utf-8", "more": 1}
    relayed(foreign=True).host_sent(answer(result))
    assert "result.more" in caught(relayed(), answer(result))
    assert "result.data" in caught(relayed(foreign=True), answer({"encoding": "utf-8"}))


def test_a_watch_over_anothers_resources_is_the_hosts_own():
    odd = {"code": 17, "message": "its own"}
    assert "error.code" in caught(relayed("createResourceWatch"), failure(odd))
    assert "result.channel" in caught(relayed("createResourceWatch", foreign=True), answer({}))
