from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.CHAT

AT = "2026-01-01T00:00:00.000Z"


def chat(status=1, **fields):
    return {"title": "A chat", "status": status, "modifiedAt": AT, "turns": [], **fields}


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


def pending(name, text=None):
    return {"id": name, "message": message(text or name)}


def setting(kind, name, text=None):
    return {"type": "chat/pendingMessageSet", "kind": kind, **pending(name, text)}


def removing(kind, name):
    return {"type": "chat/pendingMessageRemoved", "kind": kind, "id": name}


def asked(*questions, status=24):
    turn = {"id": "t", "startedAt": AT, "message": message("ask"), "responseParts": [*questions]}
    return chat(status, activeTurn=turn)


def question(name="q", answers=None, response=None, **fields):
    request = {"id": name, **fields}
    if answers is not None:
        request["answers"] = answers
    part = {"kind": "inputRequest", "request": request}
    return part if response is None else {**part, "response": response}


def answering(name, answer=None, request="q"):
    action = {"type": "chat/inputAnswerChanged", "requestId": request, "questionId": name}
    return action if answer is None else {**action, "answer": answer}


def completing(response, request="q", **fields):
    return {
        "type": "chat/inputCompleted",
        "requestId": request,
        "response": response,
        **fields,
    }


YES = {"state": "draft", "value": {"kind": "boolean", "value": True}}
NO = {"state": "submitted", "value": {"kind": "boolean", "value": False}}

CASES = {
    "chat/activityChanged: said and cleared": (
        chat(),
        [
            {"type": "chat/activityChanged", "activity": "Waits"},
            {"type": "chat/activityChanged"},
        ],
        chat(),
    ),
    "chat/backgroundWorkSet: by id, of any kind": (
        chat(backgroundWork=[{"id": "a", "kind": "shell", "label": "x"}]),
        [
            {"type": "chat/backgroundWorkSet", "work": {"id": "b", "kind": "future"}},
            {"type": "chat/backgroundWorkSet", "work": {"id": "a", "kind": "subagent"}},
        ],
        chat(backgroundWork=[{"id": "a", "kind": "subagent"}, {"id": "b", "kind": "future"}]),
    ),
    "chat/backgroundWorkRemoved: the last one leaves no list": (
        chat(backgroundWork=[{"id": "a"}, {"id": "b"}]),
        [
            {"type": "chat/backgroundWorkRemoved", "id": "b"},
            {"type": "chat/backgroundWorkRemoved", "id": "b"},
            {"type": "chat/backgroundWorkRemoved", "id": "a"},
            {"type": "chat/backgroundWorkRemoved", "id": "a"},
        ],
        chat(),
    ),
    "chat/movableChanged: no longer": (
        chat(movable=True),
        [{"type": "chat/movableChanged", "movable": False}],
        chat(movable=False),
    ),
    "chat/changesetsChanged: cleared": (
        chat(changesets=[{"label": "a"}]),
        [{"type": "chat/changesetsChanged", "changesets": None}],
        chat(),
    ),
    "chat/canvasesChanged: another list": (
        chat(canvases=[{"resource": "ahp-canvas:/1"}]),
        [{"type": "chat/canvasesChanged", "canvases": [{"resource": "ahp-canvas:/2"}]}],
        chat(canvases=[{"resource": "ahp-canvas:/2"}]),
    ),
    "chat/workingDirectorySet: at the end, once": (
        chat(workingDirectories=["file:///a"]),
        [
            {"type": "chat/workingDirectorySet", "directory": "file:///b"},
            {"type": "chat/workingDirectorySet", "directory": "file:///a"},
        ],
        chat(workingDirectories=["file:///a", "file:///b"]),
    ),
    "chat/workingDirectoryRemoved: an empty list is not no list": (
        chat(workingDirectories=["file:///a"]),
        [{"type": "chat/workingDirectoryRemoved", "directory": "file:///a"}],
        chat(workingDirectories=[]),
    ),
    "chat/draftChanged: typed, and sent": (
        chat(draft=message("a")),
        [{"type": "chat/draftChanged", "draft": message("ab")}],
        chat(draft=message("ab")),
    ),
    "chat/draftChanged: taken back": (
        chat(draft=message("a")),
        [{"type": "chat/draftChanged", "draft": None}],
        chat(),
    ),
    "chat/isReadChanged: a running chat too": (
        chat(24 + 32),
        [{"type": "chat/isReadChanged", "isRead": False}],
        chat(24),
    ),
    "chat/isArchivedChanged: the other bits stay": (
        chat(2 + 32 + 256),
        [{"type": "chat/isArchivedChanged", "isArchived": True}],
        chat(2 + 32 + 64 + 256),
    ),
    "chat/configChanged: the first value of the chat's own": (
        chat(provider="echo"),
        [{"type": "chat/configChanged", "config": {"mode": "edit", "more": None}}],
        chat(config={"mode": "edit", "more": None}, provider="echo"),
    ),
    "chat/configChanged: another beside it": (
        chat(config={"mode": "edit"}),
        [{"type": "chat/configChanged", "config": {"other": 1}}],
        chat(config={"mode": "edit", "other": 1}),
    ),
    "chat/configChanged: all of them": (
        chat(config={"mode": "edit"}),
        [{"type": "chat/configChanged", "config": {"other": 1}, "replace": True}],
        chat(config={"other": 1}),
    ),
    "chat/configChanged: none of them": (
        chat(config={"mode": "edit"}),
        [{"type": "chat/configChanged", "config": {}, "replace": True}],
        chat(),
    ),
    "session/titleChanged: a rename sent on the chat's channel": (
        chat(),
        [{"type": "session/titleChanged", "title": "Renamed"}],
        chat(title="Renamed"),
    ),
    "chat/pendingMessageSet: one steers, the others queue": (
        chat(),
        [
            setting("steering", "s"),
            setting("queued", "a"),
            setting("queued", "b"),
            setting("steering", "z"),
            setting("queued", "a", "changed"),
        ],
        chat(steeringMessage=pending("z"), queuedMessages=[pending("a", "changed"), pending("b")]),
    ),
    "chat/pendingMessageRemoved: where it says, and nowhere else": (
        chat(steeringMessage=pending("s"), queuedMessages=[pending("a"), pending("s")]),
        [
            removing("queued", "x"),
            removing("steering", "a"),
            removing("steering", "s"),
            removing("steering", "s"),
            removing("queued", "a"),
        ],
        chat(queuedMessages=[pending("s")]),
    ),
    "chat/pendingMessageRemoved: the last one leaves no queue": (
        chat(queuedMessages=[pending("a")]),
        [removing("queued", "a"), removing("queued", "a")],
        chat(),
    ),
    "chat/queuedMessagesReordered: twice named counts once, not named comes last": (
        chat(queuedMessages=[pending("a"), pending("b"), pending("c"), pending("d")]),
        [{"type": "chat/queuedMessagesReordered", "order": ["d", "x", "b", "d"]}],
        chat(queuedMessages=[pending("d"), pending("b"), pending("a"), pending("c")]),
    ),
    "chat/queuedMessagesReordered: no queue": (
        chat(),
        [{"type": "chat/queuedMessagesReordered", "order": ["a"]}],
        chat(),
    ),
    "chat/inputRequested: waits, unread": (
        asked(status=8 + 32),
        [{"type": "chat/inputRequested", "request": {"id": "q", "message": "Which?"}}],
        asked(question(message="Which?"), status=24),
    ),
    "chat/inputRequested: again, in its place and with its answers": (
        asked(question(answers={"1": YES}), question("r")),
        [
            {"type": "chat/inputRequested", "request": {"id": "q", "message": "Better said?"}},
            {"type": "chat/inputRequested", "request": {"id": "r", "answers": {}}},
        ],
        asked(question(answers={"1": YES}, message="Better said?"), question("r", answers={})),
    ),
    "chat/inputRequested: one that is answered is another": (
        asked(question(response="accept"), status=8),
        [{"type": "chat/inputRequested", "request": {"id": "q"}}],
        asked(question(response="accept"), question()),
    ),
    "chat/inputRequested: no turn to ask in": (
        chat(),
        [{"type": "chat/inputRequested", "request": {"id": "q"}}],
        chat(),
    ),
    "chat/inputAnswerChanged: given, changed, and taken back": (
        asked(question(), question("r")),
        [
            answering("1", YES),
            answering("2", YES),
            answering("1", NO),
            answering("2"),
            answering("1", YES, "none"),
        ],
        asked(question(answers={"1": NO}), question("r")),
    ),
    "chat/inputAnswerChanged: one the request came with": (
        asked(status=8),
        [
            {"type": "chat/inputRequested", "request": {"id": "q", "answers": {"1": YES}}},
            answering("1", NO),
            answering("2", YES),
        ],
        asked(question(answers={"1": NO, "2": YES})),
    ),
    "chat/inputAnswerChanged: the last one taken back": (
        asked(question(answers={"1": YES})),
        [answering("1")],
        asked(question()),
    ),
    "chat/inputAnswerChanged: a question that is closed": (
        asked(question(response="cancel"), status=8),
        [answering("1", YES)],
        asked(question(response="cancel"), status=8),
    ),
    "chat/inputCompleted: the answers sent lie over those given": (
        asked(question(answers={"1": YES, "2": YES})),
        [completing("accept", answers={"1": NO}), completing("cancel")],
        asked(question(answers={"1": NO, "2": YES}, response="accept"), status=8),
    ),
    "chat/inputCompleted: another one is open": (
        asked(question(), question("r")),
        [completing("decline"), completing("accept", "none")],
        asked(question(response="decline"), question("r")),
    ),
    "chat/inputCompleted: no turn to answer in": (chat(), [completing("accept")], chat()),
}
