"""Whatever is said on a chat, in whatever order, the mirror is what the chat's state shows."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind
from ahpd.sessions.blockers import Blockers, entries_of

CHAT = "ahp-chat:/c"
CLIENTS = {"here"}
WORDS = st.sampled_from(["a", ""])
TURNS = st.sampled_from(["t1", "t1", "t1", "t2"])
CONTRIBUTORS = st.sampled_from(
    [
        None,
        {"kind": "client", "clientId": "here"},
        {"kind": "client", "clientId": "away"},
        {"kind": "mcp", "customizationId": "db"},
    ]
)
RESULT = {"success": True, "pastTenseMessage": "Did"}
AUTH = {"reason": "required", "resource": {"resource": "https://db.example"}}


def without_none(**fields):
    return {key: value for key, value in fields.items() if value is not None}


def started(turn):
    return {
        "type": "chat/turnStarted",
        "turnId": turn,
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": {"text": "x", "origin": {"kind": "user"}},
    }


def of_a_call(kind, **fields):
    """An action about one of a few calls of one of two turns."""
    return st.builds(
        lambda turn, call, more: {"type": kind, "turnId": turn, "toolCallId": call, **more},
        TURNS,
        WORDS,
        st.builds(without_none, **fields),
    )


def part(content):
    return {"type": "chat/responsePart", "turnId": "t1", "part": content}


ACTIONS = st.one_of(
    TURNS.map(started),
    of_a_call(
        "chat/toolCallStart",
        toolName=st.just("tool"),
        displayName=st.just("Tool"),
        contributor=CONTRIBUTORS,
        _meta=st.sampled_from([None, {"autoApproveBySetting": "x"}]),
    ),
    of_a_call(
        "chat/toolCallReady",
        invocationMessage=WORDS,
        confirmed=st.sampled_from([None, "not-needed"]),
    ),
    of_a_call("chat/toolCallConfirmed", approved=st.just(True), confirmed=st.just("user-action")),
    of_a_call("chat/toolCallConfirmed", approved=st.just(False), reason=st.just("denied")),
    of_a_call(
        "chat/toolCallComplete",
        result=st.just(RESULT),
        requiresResultConfirmation=st.sampled_from([None, True]),
    ),
    of_a_call("chat/toolCallResultConfirmed", approved=st.booleans()),
    of_a_call("chat/toolCallContentChanged", content=st.just([])),
    of_a_call("chat/toolCallAuthRequired", auth=st.just(AUTH)),
    of_a_call("chat/toolCallAuthResolved"),
    st.builds(
        lambda request, words: {
            "type": "chat/inputRequested",
            "request": {"id": request, "message": words},
        },
        WORDS,
        WORDS,
    ),
    st.builds(
        lambda request: {
            "type": "chat/inputAnswerChanged",
            "requestId": request,
            "questionId": "q",
            "answer": {"state": "skipped"},
        },
        WORDS,
    ),
    st.builds(
        lambda request: {"type": "chat/inputCompleted", "requestId": request, "response": "accept"},
        WORDS,
    ),
    st.just(part({"kind": "inputRequest", "request": {"id": "a"}})),
    st.just(part({"kind": "markdown", "id": "m", "content": ""})),
    st.builds(
        lambda kind, turn: {"type": kind, "turnId": turn, "duration": 1},
        st.sampled_from(["chat/turnComplete", "chat/turnCancelled"]),
        TURNS,
    ),
    st.builds(
        lambda turn: {
            "type": "chat/error",
            "turnId": turn,
            "duration": 1,
            "part": {
                "kind": "error",
                "error": {"errorType": "x", "message": "y"},
                "resumable": True,
            },
        },
        TURNS,
    ),
    st.builds(lambda turn: {"type": "chat/turnResume", "turnId": turn}, TURNS),
    st.sampled_from([{"type": "chat/truncated"}, {"type": "chat/truncated", "turnId": "t1"}]),
    st.just({"type": "chat/isReadChanged", "isRead": True}),
)


def new_chat():
    return {
        "resource": CHAT,
        "title": "",
        "status": 1,
        "modifiedAt": "2026-01-02T03:04:05.000Z",
        "turns": [],
    }


@settings(max_examples=300, deadline=None)
@given(st.lists(ACTIONS, max_size=40))
def test_the_mirror_is_what_the_state_shows(actions):
    state, session = new_chat(), {"status": 1}
    state = REDUCERS[ChannelKind.CHAT](state, started("t1"))
    blockers = Blockers(
        lambda action: REDUCERS[ChannelKind.SESSION](session, plain(action)), session
    )
    for action in actions:
        state = REDUCERS[ChannelKind.CHAT](state, action)
        blockers.moved(CHAT, state, action, CLIENTS)
        shown = {e["id"]: plain(e) for e in entries_of(CHAT, state.get("activeTurn"), CLIENTS)}
        held = {entry["id"]: entry for entry in session.get("inputNeeded", ())}
        assert held == shown


@settings(max_examples=100, deadline=None)
@given(st.lists(ACTIONS, max_size=25))
def test_nothing_is_said_again_that_did_not_move(actions):
    state, said, held = new_chat(), [], {}
    blockers = Blockers(said.append, {})
    for action in actions:
        state = REDUCERS[ChannelKind.CHAT](state, action)
        blockers.moved(CHAT, state, action, CLIENTS)
    for action in map(plain, said):
        if action["type"] == "session/inputNeededSet":
            request = action["request"]
            assert held.get(request["id"]) != request
            held[request["id"]] = request
        else:
            assert held.pop(action["id"], None) is not None
