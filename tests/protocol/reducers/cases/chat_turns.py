from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.CHAT

AT = "2026-02-03T04:05:06.007Z"
ERROR = {"kind": "error", "error": {"errorType": "quota", "message": "no more"}}
RESUMABLE = {**ERROR, "resumable": True}


def chat(status=1, **fields):
    return {
        "resource": "ahp-chat:/c",
        "title": "A chat",
        "status": status,
        "modifiedAt": "2026-01-01T00:00:00.000Z",
        "turns": [],
        **fields,
    }


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def active(*parts, name="t", **fields):
    return {
        "id": name,
        "startedAt": AT,
        "message": message("ask"),
        "responseParts": list(parts),
        **fields,
    }


def turn(*parts, name="t", state="complete", duration=1000, **fields):
    return {**active(*parts, name=name), "duration": duration, "state": state, **fields}


def text(name, content="", kind="markdown"):
    return {"kind": kind, "id": name, "content": content}


def call(status, **fields):
    held = {"status": status, "toolCallId": "k", "toolName": "n", "displayName": "N", **fields}
    return {"kind": "toolCall", "toolCall": held}


def start(name="t", **fields):
    return {
        "type": "chat/turnStarted",
        "turnId": name,
        "startedAt": AT,
        "message": message("ask"),
        **fields,
    }


def end(how, duration=1000, **fields):
    return {"type": f"chat/{how}", "turnId": "t", "duration": duration, **fields}


def add(part, name="t"):
    return {"type": "chat/responsePart", "turnId": name, "part": part}


def grow(how, name, content, turn_id="t"):
    return {"type": f"chat/{how}", "turnId": turn_id, "partId": name, "content": content}


def queued(*names):
    return [{"id": name, "message": message(name)} for name in names]


OLD = [turn(name="1"), turn(name="2"), turn(name="3")]
QUESTION = {"kind": "inputRequest", "request": {"id": "q", "message": "which?"}}

CASES = {
    "chat/turnStarted: unread, in progress, and as old as its start": (
        chat(2 + 32 + 64, draft=message("typed")),
        [start(_meta={"k": 1})],
        chat(8 + 64, draft=message("typed"), activeTurn=active(), modifiedAt=AT),
    ),
    "chat/turnStarted: in the place of one that runs, which is in no history": (
        chat(24, activeTurn=active(QUESTION, name="first", usage={"inputTokens": 1})),
        [start()],
        chat(8, activeTurn=active(), modifiedAt=AT),
    ),
    "chat/turnStarted: takes up the message that waited for it": (
        chat(queuedMessages=queued("a", "b"), steeringMessage=queued("s")[0]),
        [start(queuedMessageId="b")],
        chat(
            8,
            activeTurn=active(),
            modifiedAt=AT,
            queuedMessages=queued("a"),
            steeringMessage=queued("s")[0],
        ),
    ),
    "chat/turnStarted: the last in the queue, and steering that came too late": (
        chat(queuedMessages=queued("a"), steeringMessage=queued("s")[0]),
        [start(queuedMessageId="a"), start(queuedMessageId="s")],
        chat(8, activeTurn=active(), modifiedAt=AT),
    ),
    "chat/delta: the part it names, between others": (
        chat(8, activeTurn=active()),
        [
            start(),
            add(text("a", "A")),
            add(text("b")),
            grow("delta", "a", "lpha"),
            grow("delta", "b", "beta"),
            grow("delta", "a", ""),
            grow("delta", "a", "!"),
        ],
        chat(8, modifiedAt=AT, activeTurn=active(text("a", "Alpha!"), text("b", "beta"))),
    ),
    "chat/delta: reasoning takes none, nor does another turn": (
        chat(8, activeTurn=active(text("r", "x", "reasoning"), text("m", "x"))),
        [grow("delta", "r", "y"), grow("delta", "m", "y", "other"), grow("delta", "z", "y")],
        chat(8, activeTurn=active(text("r", "x", "reasoning"), text("m", "x"))),
    ),
    "chat/delta: with no turn at all": (chat(), [grow("delta", "m", "y")], chat()),
    "chat/reasoning: a reasoning part and no other": (
        chat(8, activeTurn=active(text("r", "x", "reasoning"), text("m", "x"))),
        [grow("reasoning", "r", "y"), grow("reasoning", "m", "y")],
        chat(8, activeTurn=active(text("r", "xy", "reasoning"), text("m", "x"))),
    ),
    "chat/responsePart: any kind but an error, in this turn": (
        chat(8, activeTurn=active()),
        [
            add({"kind": "future", "x": [1]}),
            add(RESUMABLE),
            add(text("m"), "other"),
            add(call("streaming")),
        ],
        chat(8, activeTurn=active({"kind": "future", "x": [1]}, call("streaming"))),
    ),
    "chat/usage: the last word counts, and stays with the turn": (
        chat(8, activeTurn=active()),
        [
            {"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": 1, "outputTokens": 2}},
            {"type": "chat/usage", "turnId": "other", "usage": {"inputTokens": 9}},
            {"type": "chat/usage", "turnId": "t", "usage": {"inputTokens": 3}},
            end("turnComplete"),
        ],
        chat(turns=[turn(usage={"inputTokens": 3})], modifiedAt="2026-02-03T04:05:07.007Z"),
    ),
    "chat/turnComplete: behind those before it, its text plain": (
        chat(32, turns=OLD),
        [
            start(),
            add(text("m")),
            grow("delta", "m", "an"),
            grow("delta", "m", "swer"),
            end("turnComplete", 2500),
        ],
        chat(
            turns=[*OLD, turn(text("m", "answer"), duration=2500)],
            modifiedAt="2026-02-03T04:05:08.507Z",
        ),
    ),
    "chat/turnComplete: calls off what has not finished, keeps what has": (
        chat(
            24,
            activeTurn=active(
                call("streaming", partialInput="{", intention="i"),
                call("pending-confirmation", invocationMessage="m", options=[], toolInput="x"),
                call("future", invocationMessage="m", contributor={"kind": "mcp"}),
                call("completed", success=True, confirmed="setting"),
                call("cancelled", reason="denied"),
            ),
        ),
        [end("turnComplete")],
        chat(
            turns=[
                turn(
                    call("cancelled", invocationMessage="", reason="skipped", intention="i"),
                    call("cancelled", invocationMessage="m", reason="skipped", toolInput="x"),
                    call(
                        "cancelled",
                        invocationMessage="m",
                        reason="skipped",
                        contributor={"kind": "mcp"},
                    ),
                    call("completed", success=True, confirmed="setting"),
                    call("cancelled", reason="denied"),
                )
            ],
            modifiedAt="2026-02-03T04:05:07.007Z",
        ),
    ),
    "chat/turnComplete: a start in another zone ends in UTC": (
        chat(8, activeTurn=active(startedAt="2026-03-01T00:30:00+02:00")),
        [end("turnComplete", 1)],
        chat(
            turns=[turn(duration=1, startedAt="2026-03-01T00:30:00+02:00")],
            modifiedAt="2026-02-28T22:30:00.001Z",
        ),
    ),
    "chat/turnComplete: a start that is no time leaves the chat's own": (
        chat(8, activeTurn=active(startedAt="yesterday")),
        [end("turnComplete", -5)],
        chat(turns=[turn(duration=0, startedAt="yesterday")]),
    ),
    "chat/turnComplete: a turn that does not run": (
        chat(8, activeTurn=active(name="other")),
        [end("turnComplete")],
        chat(8, activeTurn=active(name="other")),
    ),
    "chat/turnCancelled: an open question stays in the turn as it was": (
        chat(24, activeTurn=active(QUESTION)),
        [end("turnCancelled"), end("turnCancelled")],
        chat(turns=[turn(QUESTION, state="cancelled")], modifiedAt="2026-02-03T04:05:07.007Z"),
    ),
    "chat/error: the error is the last of its parts": (
        chat(8 + 64, activeTurn=active(text("m", "half"))),
        [end("error", part=ERROR)],
        chat(
            2 + 64,
            turns=[turn(text("m", "half"), ERROR, state="error")],
            modifiedAt="2026-02-03T04:05:07.007Z",
        ),
    ),
    "chat/error: a turn that does not run": (
        chat(turns=[turn()]),
        [end("error", part=ERROR)],
        chat(turns=[turn()]),
    ),
    "chat/turnResume: it goes on where it stopped": (
        chat(2 + 32, turns=[OLD[0], turn(text("m", "half"), RESUMABLE, state="error")]),
        [{"type": "chat/turnResume", "turnId": "t"}, grow("delta", "m", " and more")],
        chat(8, turns=[OLD[0]], activeTurn=active(text("m", "half and more"), RESUMABLE)),
    ),
    "chat/turnResume: a question left open is asked still": (
        chat(2, turns=[turn(QUESTION, RESUMABLE, state="error", usage={"inputTokens": 1})]),
        [{"type": "chat/turnResume", "turnId": "t"}],
        chat(24, activeTurn=active(QUESTION, RESUMABLE, usage={"inputTokens": 1})),
    ),
    "chat/turnResume: a turn that never said when it began": (
        chat(
            2,
            turns=[
                {
                    "id": "t",
                    "message": message("ask"),
                    "responseParts": [RESUMABLE],
                    "state": "error",
                }
            ],
        ),
        [{"type": "chat/turnResume", "turnId": "t"}],
        chat(8, activeTurn=active(RESUMABLE, startedAt="2026-01-01T00:00:00.000Z")),
    ),
    "chat/turnResume: one that ended well, or not at this error": (
        chat(turns=[turn(RESUMABLE), turn(RESUMABLE, text("m"), name="u", state="error")]),
        [
            {"type": "chat/turnResume", "turnId": "t"},
            {"type": "chat/turnResume", "turnId": "u"},
        ],
        chat(turns=[turn(RESUMABLE), turn(RESUMABLE, text("m"), name="u", state="error")]),
    ),
    "chat/turnResume: one with nothing in it": (
        chat(turns=[turn(state="error")]),
        [{"type": "chat/turnResume", "turnId": "t"}],
        chat(turns=[turn(state="error")]),
    ),
    "chat/truncated: up to a turn, and whatever runs": (
        chat(24, turns=OLD, activeTurn=active(QUESTION), turnsNextCursor="before:1"),
        [{"type": "chat/truncated", "turnId": "2"}],
        chat(turns=OLD[:2], turnsNextCursor="before:1"),
    ),
    "chat/truncated: everything": (
        chat(2 + 32, turns=OLD, turnsNextCursor="before:1"),
        [{"type": "chat/truncated", "turnId": None}],
        chat(1 + 32),
    ),
    "chat/truncated: at a turn that is not here": (
        chat(8, turns=OLD, activeTurn=active()),
        [{"type": "chat/truncated", "turnId": "t"}],
        chat(8, turns=OLD, activeTurn=active()),
    ),
    "chat/turnsLoaded: in front, each turn once": (
        chat(turns=OLD[1:], turnsNextCursor="before:2"),
        [
            {
                "type": "chat/turnsLoaded",
                "turns": [turn(name="0"), OLD[0], turn(text("m", "not this one"), name="2")],
                "turnsNextCursor": "before:0",
            }
        ],
        chat(turns=[turn(name="0"), *OLD], turnsNextCursor="before:0"),
    ),
    "chat/turnsLoaded: no more to load": (
        chat(turns=OLD, turnsNextCursor="before:1"),
        [{"type": "chat/turnsLoaded", "turns": []}],
        chat(turns=OLD),
    ),
}
