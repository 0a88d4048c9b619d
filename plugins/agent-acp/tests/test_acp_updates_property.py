"""Whatever an agent says, in whatever order: clients can follow it, and a replay agrees."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.interfaces import ToolAnswer
from ahpd.protocol.check import check_strict
from ahpd.protocol.reducers.chat import reduce
from ahpd.protocol.shapes import shape
from ahpd.protocol.status import IDLE
from ahpd.protocol.text import plain
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedOutput
from ahpd_agent_acp.replay import ReplayBuilder
from ahpd_agent_acp.tool_names import ToolNames
from ahpd_agent_acp.updates import TurnUpdates

HOST_TOOLS = [{"name": "add_note", "title": "Add a note"}]
CLIENT_TOOLS = [
    {"name": "openFile", "clientId": "win-1"},
    {"name": "openFile", "clientId": "win 2"},
]

#: What an agent may put where something else belongs.
ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-5, 5),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=5),
    st.lists(st.integers(0, 3), max_size=2),
    st.dictionaries(st.sampled_from(["type", "text", "uri", "x"]), st.text(max_size=3), max_size=2),
)
WORDS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def odd(good):
    return st.one_of(good, good, good, ODD)


BLOCKS = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": odd(WORDS)}),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["image", "audio"]), "data": odd(st.just("AAAA"))},
        optional={"mimeType": odd(st.just("image/png")), "uri": odd(st.just("file:///i.png"))},
    ),
    st.fixed_dictionaries(
        {"type": st.just("resource_link"), "uri": odd(st.just("file:///a b"))},
        optional={"name": odd(WORDS), "title": odd(WORDS), "size": ODD, "mimeType": odd(WORDS)},
    ),
    st.fixed_dictionaries(
        {
            "type": st.just("resource"),
            "resource": odd(
                st.fixed_dictionaries(
                    {"uri": odd(st.just("file:///r"))},
                    optional={"text": odd(WORDS), "blob": odd(st.just("AAAA"))},
                )
            ),
        }
    ),
)
ITEMS = st.one_of(
    st.fixed_dictionaries({"type": st.just("content"), "content": odd(BLOCKS)}),
    st.fixed_dictionaries(
        {"type": st.just("diff"), "path": odd(st.just("a.py")), "newText": odd(WORDS)},
        optional={"oldText": odd(WORDS)},
    ),
    st.fixed_dictionaries(
        {"type": st.just("terminal"), "terminalId": odd(st.sampled_from(["t-1", "t-2"]))}
    ),
    ODD,
)
IDS = st.sampled_from(["c1", "c2", "c3"])
TITLES = st.sampled_from(["Run", "mcp__host__add_note", "host_add_note", "win-1__openFile"])
KINDS = st.sampled_from(["read", "edit", "execute", "fetch", "other", "switch_mode", "later"])
INPUTS = st.one_of(
    st.just({}),
    st.fixed_dictionaries({"command": odd(st.sampled_from(["ls", "make"]))}),
    st.fixed_dictionaries({"path": WORDS, "url": odd(st.just("https://x"))}),
)
CALL_FIELDS = {
    "title": odd(TITLES),
    "kind": odd(KINDS),
    "status": odd(st.sampled_from(["pending", "in_progress", "completed", "failed"])),
    "content": odd(st.lists(ITEMS, max_size=3)),
    "locations": odd(st.lists(st.one_of(st.just({"path": "a.py", "line": 1}), ODD), max_size=2)),
    "rawInput": odd(INPUTS),
    "rawOutput": ODD,
    "name": odd(TITLES),
    "_meta": ODD,
}
CALLS = st.fixed_dictionaries(
    {
        "sessionUpdate": st.sampled_from(["tool_call", "tool_call_update"]),
        "toolCallId": odd(IDS),
    },
    optional=CALL_FIELDS,
)
CHUNKS = st.fixed_dictionaries(
    {
        "sessionUpdate": st.sampled_from(["agent_message_chunk", "agent_thought_chunk"]),
        "content": odd(BLOCKS),
    },
    optional={"messageId": odd(st.sampled_from(["m1", "m2"]))},
)
ENTRIES = st.lists(
    st.one_of(
        st.fixed_dictionaries({"content": odd(WORDS), "status": odd(st.just("completed"))}), ODD
    ),
    max_size=3,
)
OTHERS = st.fixed_dictionaries(
    {
        "sessionUpdate": odd(
            st.sampled_from(
                [
                    "plan",
                    "plan_update",
                    "plan_removed",
                    "usage_update",
                    "notice",
                    "available_commands_update",
                    "current_mode_update",
                    "config_option_update",
                    "session_info_update",
                    "compaction_update",
                    "_custom",
                ]
            )
        )
    },
    optional={
        "entries": odd(ENTRIES),
        "plan": odd(
            st.fixed_dictionaries(
                {"type": odd(st.sampled_from(["items", "markdown", "file"]))},
                optional={"entries": odd(ENTRIES), "content": odd(WORDS), "uri": odd(WORDS)},
            )
        ),
        "used": odd(st.integers(0, 9)),
        "size": odd(st.integers(0, 9)),
        "cost": odd(st.fixed_dictionaries({"amount": odd(st.just(0.5)), "currency": odd(WORDS)})),
        "title": odd(WORDS),
        "description": odd(WORDS),
        "availableCommands": ODD,
        "currentModeId": ODD,
        "configOptions": ODD,
    },
)
UPDATES = st.one_of(CALLS, CALLS, CHUNKS, OTHERS)

ANSWERS = st.sampled_from(
    [
        None,
        ToolAnswer(approved=True, decided_by="user-action"),
        ToolAnswer(approved=False),
    ]
)
OPTIONS = [{"optionId": "m", "name": "M", "kind": "allow_once"}]
STEPS = st.one_of(
    st.tuples(st.just("say"), UPDATES),
    st.tuples(st.just("say"), UPDATES),
    st.tuples(st.just("ask"), st.fixed_dictionaries({"toolCallId": IDS}, optional=CALL_FIELDS)),
    st.tuples(st.just("answer"), ANSWERS),
    st.tuples(st.just("claim"), st.fixed_dictionaries({}, optional={"path": WORDS})),
    st.tuples(st.just("hold"), st.fixed_dictionaries({}, optional={"path": WORDS})),
)


def shown_terminal(identifier, final):
    found = {"type": "terminal", "resource": f"ahp-terminal:/{identifier}", "title": "sh"}
    return found if identifier == "t-1" else None


def names():
    return ToolNames(HOST_TOOLS, CLIENT_TOOLS)


def folded(actions, end=None):
    """The chat as a client holds it."""
    at = "2026-01-02T03:04:05Z"
    chat = {"turns": [], "status": IDLE, "modifiedAt": at}
    message = {"text": "", "origin": {"kind": "user"}}
    begun = {"type": "chat/turnStarted", "turnId": "t1", "startedAt": at, "message": message}
    for action in [begun, *actions]:
        reduce(chat, action)
    if end is not None:
        reduce(chat, {"type": end, "turnId": "t1", "duration": 0})
    return plain(chat)


def answered(output, updates, standing, answer):
    """Answer the question that stands longest, as the host says it."""
    call = standing.pop(0)
    if answer is not None:
        said = {"approved": answer.approved}
        said |= {"confirmed": "user-action"} if answer.approved else {"reason": "denied"}
        fields = {"turnId": "t1", "toolCallId": call.id, **said}
        output.history.append({"type": "chat/toolCallConfirmed", **fields})
    updates.answered(call, answer)


@settings(max_examples=300, deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_any_order_of_updates_and_questions_can_be_followed(steps):
    output = RecordedOutput("t1")
    updates = TurnUpdates(output, names=names(), terminals=shown_terminal, directory="/work")
    standing = []
    for step, value in steps:
        if step == "say":
            updates.update(value)
        elif step == "ask":
            call = updates.ask(value, OPTIONS)
            if call not in standing:
                standing.append(call)
        elif step == "answer" and standing:
            answered(output, updates, standing, value)
        elif step == "claim":
            updates.claim_client_call("win-1", "openFile", value)
        elif step == "hold":
            updates.hold_client_call("win-1", "openFile", value)
    updates.finished("end_turn")
    check_said(output.history, "t1")
    check_strict(folded(output.history)["activeTurn"], shape("turns.ActiveTurn"), "turn")
    ended = folded(output.history, "chat/turnCancelled")
    check_strict(ended["turns"][0], shape("turns.Turn"), "turn")
    ids = [action["toolCallId"] for action in output.actions if action["type"].endswith("Start")]
    assert len(ids) == len(set(ids))


def without_ids(parts, turn_id):
    text = repr(parts)
    return text.replace(f"'{turn_id}:", "'turn:")


@settings(max_examples=200, deadline=None)
@given(st.lists(UPDATES, min_size=1, max_size=25))
def test_a_replay_makes_the_turn_that_was_said(updates):
    output = RecordedOutput("t1")
    live = TurnUpdates(output, names=names(), directory="/work")
    builder = ReplayBuilder("conv", names=names(), directory="/work")
    builder.update(
        {"sessionUpdate": "user_message_chunk", "content": {"type": "text", "text": "go"}}
    )
    for update in updates:
        live.update(update)
        builder.update(update)
    said = folded(output.actions, "chat/turnComplete")["turns"][0]
    (read,) = builder.read().turns
    check_strict(read, shape("turns.Turn"), "turn")
    assert without_ids(read["responseParts"], "conv:1") == without_ids(said["responseParts"], "t1")
    assert read.get("usage") == said.get("usage")


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["agent_message_chunk", "agent_thought_chunk"]), WORDS)))
def test_no_character_of_an_answer_is_lost_or_said_twice(chunks):
    output = RecordedOutput("t1")
    updates = TurnUpdates(output)
    for kind, words in chunks:
        updates.update({"sessionUpdate": kind, "content": {"type": "text", "text": words}})
    parts = folded(output.actions)["activeTurn"]["responseParts"]
    for kind, part in (("agent_message_chunk", "markdown"), ("agent_thought_chunk", "reasoning")):
        sent = "".join(words for each, words in chunks if each == kind)
        assert "".join(each["content"] for each in parts if each["kind"] == part) == sent
    assert all(one["kind"] != other["kind"] for one, other in pairwise(parts))
