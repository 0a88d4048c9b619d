from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.SESSION

WINDOW = {"clientId": "w", "displayName": "Window", "tools": []}


def session(status=1, **fields):
    return {
        "provider": "echo",
        "title": "A session",
        "status": status,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [],
        **fields,
    }


def row(name, **fields):
    return {"resource": f"ahp-chat:/{name}", "title": name, "status": 1, **fields}


def need(name, kind="chatInput", **fields):
    return {"id": name, "kind": kind, "chat": "ahp-chat:/a", **fields}


def dirs(*names):
    return {"workingDirectories": [f"file:///{name}" for name in names]}


def folder(action, name, **fields):
    return {"type": f"session/{action}", "directory": f"file:///{name}", **fields}


CONFIG = {"schema": {"type": "object", "properties": {}}, "values": {"mode": "plan", "n": 1}}

CASES = {
    "session/ready: whatever is running goes on": (
        session(8, lifecycle="creating"),
        [{"type": "session/ready"}],
        session(8),
    ),
    "session/creationFailed: and why": (
        session(lifecycle="creating"),
        [{"type": "session/creationFailed", "error": {"errorType": "e", "message": "m"}}],
        session(lifecycle="failed", creationError={"errorType": "e", "message": "m"}),
    ),
    "session/chatAdded: at the end": (
        session(chats=[row("a")]),
        [{"type": "session/chatAdded", "summary": row("b")}],
        session(chats=[row("a"), row("b")]),
    ),
    "session/chatAdded: one that is there, in its place": (
        session(chats=[row("a", activity="x"), row("b")]),
        [{"type": "session/chatAdded", "summary": row("a", status=8)}],
        session(chats=[row("a", status=8), row("b")]),
    ),
    "session/chatRemoved: the default chat takes the hint with it": (
        session(chats=[row("a"), row("b")], defaultChat="ahp-chat:/a"),
        [{"type": "session/chatRemoved", "chat": "ahp-chat:/a"}],
        session(chats=[row("b")]),
    ),
    "session/chatRemoved: another one does not; one not listed is nothing": (
        session(chats=[row("a"), row("b")], defaultChat="ahp-chat:/a"),
        [
            {"type": "session/chatRemoved", "chat": "ahp-chat:/b"},
            {"type": "session/chatRemoved", "chat": "ahp-chat:/c"},
        ],
        session(chats=[row("a")], defaultChat="ahp-chat:/a"),
    ),
    "session/chatRemoved: a default chat that is not listed stays": (
        session(defaultChat="ahp-chat:/a"),
        [{"type": "session/chatRemoved", "chat": "ahp-chat:/a"}],
        session(defaultChat="ahp-chat:/a"),
    ),
    "session/chatUpdated: what is said, never which chat it is": (
        session(chats=[row("a", activity="x", movable=True)]),
        [
            {
                "type": "session/chatUpdated",
                "chat": "ahp-chat:/a",
                "changes": {"resource": "ahp-chat:/z", "status": 24, "activity": None},
            },
            {"type": "session/chatUpdated", "chat": "ahp-chat:/q", "changes": {"status": 2}},
        ],
        session(chats=[row("a", status=24, movable=True)]),
    ),
    "session/chatsReordered: every chat, once": (
        session(chats=[row("a"), row("b"), row("c")]),
        [
            {
                "type": "session/chatsReordered",
                "chats": ["ahp-chat:/c", "ahp-chat:/a", "ahp-chat:/b"],
            }
        ],
        session(chats=[row("c"), row("a"), row("b")]),
    ),
    "session/chatsReordered: an order that is none": (
        session(chats=[row("a"), row("b")]),
        [
            {"type": "session/chatsReordered", "chats": ["ahp-chat:/b"]},
            {"type": "session/chatsReordered", "chats": ["ahp-chat:/b", "ahp-chat:/z"]},
            {
                "type": "session/chatsReordered",
                "chats": ["ahp-chat:/b", "ahp-chat:/a", "ahp-chat:/b"],
            },
        ],
        session(chats=[row("a"), row("b")]),
    ),
    "session/defaultChatChanged: set and taken back": (
        session(defaultChat="ahp-chat:/a"),
        [
            {"type": "session/defaultChatChanged", "defaultChat": "ahp-chat:/b"},
            {"type": "session/defaultChatChanged"},
        ],
        session(),
    ),
    "session/titleChanged: a blank one as well": (
        session(),
        [{"type": "session/titleChanged", "title": ""}],
        session(title=""),
    ),
    "session/serverToolsChanged: the whole list": (
        session(serverTools=[{"name": "old"}]),
        [{"type": "session/serverToolsChanged", "tools": [{"name": "new"}]}],
        session(serverTools=[{"name": "new"}]),
    ),
    "session/activeClientSet: joins, then says itself again": (
        session(activeClients=[{"clientId": "a", "tools": []}]),
        [
            {"type": "session/activeClientSet", "activeClient": WINDOW},
            {"type": "session/activeClientSet", "activeClient": {"clientId": "a"}},
        ],
        session(activeClients=[{"clientId": "a"}, WINDOW]),
    ),
    "session/activeClientSet: of those that name no client there is one": (
        session(),
        [
            {"type": "session/activeClientSet", "activeClient": {"tools": []}},
            {"type": "session/activeClientSet", "activeClient": {"displayName": "x"}},
        ],
        session(activeClients=[{"displayName": "x"}]),
    ),
    "session/activeClientRemoved: by its id": (
        session(activeClients=[WINDOW]),
        [
            {"type": "session/activeClientRemoved", "clientId": "other"},
            {"type": "session/activeClientRemoved", "clientId": "w"},
        ],
        session(),
    ),
    "session/workingDirectorySet: once": (
        session(),
        [folder("workingDirectorySet", "a"), folder("workingDirectorySet", "a")],
        session(**dirs("a")),
    ),
    "session/workingDirectoryRemoved: the list stays": (
        session(**dirs("a")),
        [folder("workingDirectoryRemoved", "b"), folder("workingDirectoryRemoved", "a")],
        session(**dirs()),
    ),
    "session/workingDirectoryReplaced: the primary one": (
        session(**dirs("a", "b")),
        [folder("workingDirectoryReplaced", "a", replacement="file:///c")],
        session(**dirs("c", "b")),
    ),
    "session/workingDirectoryReplaced: by a later one, which moves up": (
        session(**dirs("a", "b", "c")),
        [folder("workingDirectoryReplaced", "a", replacement="file:///c")],
        session(**dirs("c", "b")),
    ),
    "session/workingDirectoryReplaced: by an earlier one, which stays": (
        session(**dirs("a", "b", "c")),
        [
            folder("workingDirectoryReplaced", "c", replacement="file:///b"),
            folder("workingDirectoryReplaced", "x", replacement="file:///a"),
        ],
        session(**dirs("a", "b")),
    ),
    "session/inputNeededSet: an idle session waits for a person": (
        session(33),
        [{"type": "session/inputNeededSet", "request": need("1")}],
        session(56, inputNeeded=[need("1")]),
    ),
    "session/inputNeededSet: a kind nobody knows waits for a person too": (
        session(8),
        [{"type": "session/inputNeededSet", "request": need("1", "future")}],
        session(24, inputNeeded=[need("1", "future")]),
    ),
    "session/inputNeededSet: what a client runs does not": (
        session(),
        [{"type": "session/inputNeededSet", "request": need("1", "toolClientExecution")}],
        session(inputNeeded=[need("1", "toolClientExecution")]),
    ),
    "session/inputNeededSet: said again in its place": (
        session(24, inputNeeded=[need("1"), need("2")]),
        [{"type": "session/inputNeededSet", "request": need("1", "toolConfirmation")}],
        session(24, inputNeeded=[need("1", "toolConfirmation"), need("2")]),
    ),
    "session/inputNeededRemoved: the last question, and then the rest": (
        session(88, inputNeeded=[need("1"), need("2", "toolClientExecution")]),
        [
            {"type": "session/inputNeededRemoved", "id": "x"},
            {"type": "session/inputNeededRemoved", "id": "1"},
        ],
        session(72, inputNeeded=[need("2", "toolClientExecution")]),
    ),
    "session/inputNeededRemoved: the list goes with its last entry": (
        session(24, inputNeeded=[need("1")]),
        [{"type": "session/inputNeededRemoved", "id": "1"}],
        session(8),
    ),
    "session/isReadChanged: one bit, the unknown ones kept": (
        session(1 + 1024),
        [{"type": "session/isReadChanged", "isRead": True}],
        session(1 + 32 + 1024),
    ),
    "session/isArchivedChanged: there and back": (
        session(33),
        [
            {"type": "session/isArchivedChanged", "isArchived": True},
            {"type": "session/isArchivedChanged", "isArchived": True},
            {"type": "session/isReadChanged", "isRead": False},
        ],
        session(65),
    ),
    "session/activityChanged: said and cleared": (
        session(activity="x"),
        [{"type": "session/activityChanged"}],
        session(),
    ),
    "session/changesetsChanged: another catalogue": (
        session(changesets=[{"label": "a"}]),
        [{"type": "session/changesetsChanged", "changesets": []}],
        session(changesets=[]),
    ),
    "session/configChanged: one value": (
        session(config=CONFIG),
        [{"type": "session/configChanged", "config": {"mode": "edit"}}],
        session(config={"schema": CONFIG["schema"], "values": {"mode": "edit", "n": 1}}),
    ),
    "session/metaChanged: replaced, and cleared": (
        session(_meta={"git": {"branch": "a"}, "k": 1}),
        [{"type": "session/metaChanged", "_meta": {"git": {}}}],
        session(_meta={"git": {}}),
    ),
}
