"""What a stream of actions may not touch, and what states may share without harm."""

import copy

import pytest

from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import GrowingText, plain
from ahpd.protocol.uris import ChannelKind

chat = REDUCERS[ChannelKind.CHAT]
terminal = REDUCERS[ChannelKind.TERMINAL]
session = REDUCERS[ChannelKind.SESSION]

START = {
    "type": "chat/turnStarted",
    "turnId": "t",
    "startedAt": "2026-01-01T00:00:00.000Z",
    "message": {"text": "ask"},
}


class Unread(GrowingText):
    """Text that may only be appended to."""

    def __str__(self):
        raise AssertionError("the text held was read")


class Untouched:
    """Something older, which nobody may look at."""

    def __getattr__(self, name):
        raise AssertionError(f"something older was looked at: {name}")

    def __getitem__(self, key):
        raise AssertionError(f"something older was looked at: {key}")


class Appended(list):
    """A list that may only be appended to."""

    def _refuse(self, *args):
        raise AssertionError("an older entry was looked at")

    __iter__ = __getitem__ = __reversed__ = __contains__ = __add__ = _refuse


def running(*parts, turns=()):
    return {
        "status": 8,
        "modifiedAt": START["startedAt"],
        "turns": turns,
        "activeTurn": {
            "id": "t",
            "startedAt": START["startedAt"],
            "message": START["message"],
            "responseParts": [*parts],
        },
    }


@pytest.mark.parametrize(("kind", "action"), [("markdown", "delta"), ("reasoning", "reasoning")])
def test_a_delta_appends_to_the_text_held_and_looks_at_nothing_older(kind, action):
    text = Unread("x" * 1000)
    part = {"kind": kind, "id": "p", "content": text}
    state = running(*[Untouched()] * 500, part, turns=Appended([Untouched()] * 10_000))

    for _ in range(50):
        state = chat(
            state, {"type": f"chat/{action}", "turnId": "t", "partId": "p", "content": "more"}
        )

    assert state["activeTurn"]["responseParts"][-1]["content"] is text
    assert len(text) == 1200


def test_a_tool_call_delta_appends_to_the_input_held():
    text = Unread("x" * 1000)
    call = {"toolCallId": "k", "status": "streaming", "partialInput": text}
    state = running(*[Untouched()] * 500, {"kind": "toolCall", "toolCall": call})
    said = {"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "k", "content": "more"}

    state = chat(chat(state, said), said)

    assert state["activeTurn"]["responseParts"][-1]["toolCall"]["partialInput"] is text
    assert len(text) == 1008


def test_terminal_data_appends_to_the_output_held():
    text = Unread("x" * 1000)
    running_command = {
        "type": "command",
        "commandId": "c",
        "output": text,
        "isComplete": False,
    }
    content = [*[Untouched()] * 500, running_command]

    state = terminal({"content": content}, {"type": "terminal/data", "data": "more"})

    assert state["content"] is content
    assert running_command["output"] is text
    assert len(text) == 1004


@pytest.mark.parametrize(
    "end",
    [
        {"type": "chat/turnComplete"},
        {"type": "chat/turnCancelled"},
        {"type": "chat/error", "part": {"kind": "error", "error": {}}},
    ],
    ids=lambda end: end["type"],
)
def test_a_turn_starts_and_ends_without_a_look_at_the_turns_before(end):
    turns = Appended([Untouched()] * 10_000)
    state = {"status": 1, "modifiedAt": START["startedAt"], "turns": turns}

    state = chat(chat(state, START), {**end, "turnId": "t", "duration": 1})

    assert state["turns"] is turns
    assert len(turns) == 10_001


def test_a_part_s_text_becomes_a_string_when_its_turn_ends():
    state = chat({"status": 1, "modifiedAt": "", "turns": []}, START)
    part = {"kind": "markdown", "id": "p", "content": ""}
    chat(state, {"type": "chat/responsePart", "turnId": "t", "part": part})
    chat(state, {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "said"})
    assert isinstance(state["activeTurn"]["responseParts"][0]["content"], GrowingText)

    chat(state, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})

    assert type(state["turns"][0]["responseParts"][0]["content"]) is str
    assert part["content"] == ""


def test_a_long_text_stays_in_pieces_and_a_resumed_turn_has_its_own():
    error = {"kind": "error", "error": {}, "resumable": True}
    state = running({"kind": "markdown", "id": "p", "content": Unread()}, turns=[])
    said = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "x" * 100_000}
    for _ in range(20):
        chat(state, said)
    chat(state, {"type": "chat/error", "turnId": "t", "duration": 1, "part": error})
    [turn] = state["turns"]
    shared = {"status": 2, "modifiedAt": "", "turns": [turn]}
    assert len(turn["responseParts"][0]["content"]) == 2_000_000

    chat(shared, {"type": "chat/turnResume", "turnId": "t"})
    chat(shared, said)

    assert len(turn["responseParts"][0]["content"]) == 2_000_000
    assert len(shared["activeTurn"]["responseParts"][0]["content"]) == 2_100_000


def test_terminal_output_becomes_a_string_when_its_command_is_over():
    state = {"content": []}
    said = {"type": "terminal/commandExecuted", "commandId": "c", "commandLine": "", "timestamp": 1}
    terminal(state, {"type": "terminal/data", "data": "$ "})
    terminal(state, said)
    terminal(state, {"type": "terminal/data", "data": "out"})
    terminal(state, {"type": "terminal/commandFinished", "commandId": "c"})

    assert [type(state["content"][0]["value"]), type(state["content"][1]["output"])] == [str, str]


def test_a_turn_resumed_in_one_chat_is_as_it_was_in_another_that_shares_it():
    turn = {
        "id": "t",
        "startedAt": START["startedAt"],
        "message": START["message"],
        "state": "error",
        "responseParts": [
            {"kind": "markdown", "id": "p", "content": "half"},
            {"kind": "error", "error": {}, "resumable": True},
        ],
    }
    source = {"status": 2, "modifiedAt": "", "turns": [turn]}
    fork = {"status": 2, "modifiedAt": "", "turns": [turn]}
    before = copy.deepcopy(source)

    chat(fork, {"type": "chat/turnResume", "turnId": "t"})
    chat(fork, {"type": "chat/delta", "turnId": "t", "partId": "p", "content": " more"})
    chat(fork, {"type": "chat/turnComplete", "turnId": "t", "duration": 1})

    assert plain(fork)["turns"][0]["responseParts"][0]["content"] == "half more"
    assert source == before


@pytest.mark.parametrize(
    ("held", "steps"),
    [
        (
            {"status": "pending-confirmation"},
            [{"type": "chat/toolCallConfirmed", "approved": True, "confirmed": "user-action"}],
        ),
        (
            {"status": "running", "confirmed": "setting"},
            [
                {"type": "chat/toolCallContentChanged", "content": []},
                {
                    "type": "chat/toolCallComplete",
                    "result": {"success": True, "pastTenseMessage": "Ran"},
                },
            ],
        ),
    ],
    ids=lambda case: case["status"] if isinstance(case, dict) else "",
)
def test_what_the_session_shows_of_a_call_does_not_move_with_the_chat(held, steps):
    call = {"toolCallId": "k", "invocationMessage": "Run?", **held}
    chat_state = running({"kind": "toolCall", "toolCall": call})
    shown = {"id": "n", "kind": "toolConfirmation", "toolCall": call}
    session_state = session({"status": 8}, {"type": "session/inputNeededSet", "request": shown})
    before = copy.deepcopy(session_state)

    for step in steps:
        chat(chat_state, {**step, "turnId": "t", "toolCallId": "k"})

        assert session_state == before
        assert chat_state["activeTurn"]["responseParts"][0]["toolCall"] != call


def test_a_call_that_came_as_a_part_is_not_changed_by_its_input():
    call = {"toolCallId": "k", "status": "streaming", "partialInput": "{"}
    part = {"kind": "toolCall", "toolCall": call}
    state = chat(running(), {"type": "chat/responsePart", "turnId": "t", "part": part})

    said = {"type": "chat/toolCallDelta", "turnId": "t", "toolCallId": "k", "content": "}"}
    chat(state, said)

    assert plain(state)["activeTurn"]["responseParts"][0]["toolCall"]["partialInput"] == "{}"
    assert call == {"toolCallId": "k", "status": "streaming", "partialInput": "{"}


def test_a_configuration_two_chats_began_with_is_each_one_s_own():
    config = {"mode": "plan"}
    one, other = {"config": config}, {"config": config}

    chat(one, {"type": "chat/configChanged", "config": {"mode": "edit"}})

    assert one["config"] == {"mode": "edit"}
    assert other["config"] == {"mode": "plan"}


def test_a_list_that_came_with_an_action_is_not_changed_by_the_next():
    children = [{"type": "skill", "id": "s"}, {"type": "skill", "id": "t"}]
    listed = [{"type": "plugin", "id": "a", "children": children}]
    state = session({}, {"type": "session/customizationsChanged", "customizations": listed})
    before = copy.deepcopy(listed)

    session(state, {"type": "session/customizationRemoved", "id": "t"})
    session(state, {"type": "session/customizationToggled", "id": "s", "enablement": []})
    session(state, {"type": "session/customizationRemoved", "id": "a"})

    assert state["customizations"] == []
    assert listed == before
