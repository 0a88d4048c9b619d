"""An accepted action goes to every client of its session, whatever it moves.

AHP.txt, "Every accepted action goes to every client of its channel", "What a refusal is" and
"The snapshot and the actions have to agree"; session-channel.txt, "Server Validation".
"""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1 = "ahp-session:/s1"
FOLDER = "file:///w/a"
ENTRY = {"clientId": "w", "displayName": "W", "tools": []}
SERVER = {
    "type": "mcpServer",
    "id": "m",
    "uri": "file:///m",
    "name": "m",
    "state": {"kind": "ready"},
}
MARK = {
    "id": "a1",
    "origin": {"kind": "user"},
    "resource": "file:///x",
    "resolved": False,
    "entries": [],
}
WINDOW = {
    "clientInfo": {"name": "vscode-editor-window"},
    "_meta": {"vscode.ahpSessionUris": True, "vscode.ahpChatUris": True},
}

#: Each leaves the session as it is.
MOVES_NOTHING = [
    {"type": "session/titleChanged", "title": "T"},
    {"type": "session/isReadChanged", "isRead": True},
    {"type": "session/isArchivedChanged", "isArchived": False},
    {"type": "session/activeClientSet", "activeClient": ENTRY},
    {"type": "session/activeClientRemoved", "clientId": "nobody"},
    {"type": "session/workingDirectorySet", "directory": FOLDER},
    {"type": "session/workingDirectoryRemoved", "directory": "file:///none"},
    {
        "type": "session/workingDirectoryReplaced",
        "directory": "file:///none",
        "replacement": "file:///other",
    },
    {"type": "session/configChanged", "config": {"level": "low"}},
    {"type": "session/configChanged", "config": {}},
    {"type": "session/mcpServerBackgroundRequested", "id": "m"},
    {"type": "session/mcpServerBackgroundRequested", "id": "none"},
    {"type": "session/mcpServerStartRequested", "id": "none"},
    {"type": "session/mcpServerStopRequested", "id": "none"},
    {
        "type": "session/customizationToggled",
        "id": "none",
        "enablement": [{"kind": "session", "enabled": False}],
    },
]


@pytest.fixture
def agent():
    agent = ScriptedAgent(
        abilities=AgentAbilities(customizations=True, mcp=True, live_config=True),
        capabilities={"multipleChats": {}, "multipleWorkingDirectories": {}},
    )
    agent.more_info = {"customizations": [SERVER]}
    agent.schema = {
        "type": "object",
        "properties": {
            "level": {
                "type": "string",
                "title": "Level",
                "enum": ["low", "high"],
                "default": "low",
                "sessionMutable": True,
            }
        },
    }
    return agent


@pytest.fixture
def host(agent):
    host = MemoryHost(agents={"scripted": agent})
    yield host
    host.stop()


@pytest.fixture
def clients(host):
    """The window that made the session, and another client of it. A turn ran in it."""
    window, other = host.connect("w", ROOT, **WINDOW), host.connect("other", ROOT)
    host.run(
        window.request(
            "createSession",
            channel=S1,
            workingDirectories=[FOLDER, "file:///w/b"],
            activeClient=ENTRY,
            _meta={"multiRoot": {"workspaceFile": "file:///w.code-workspace"}},
        )
    )
    window.dispatch(
        host.store.state(S1)["defaultChat"],
        {
            "type": "chat/turnStarted",
            "turnId": "t1",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )
    host.settle()
    window.dispatch(S1, {"type": "session/titleChanged", "title": "T"})
    window.dispatch(S1, {"type": "session/isReadChanged", "isRead": True})
    for probe in (window, other):
        host.run(probe.subscribe(S1))
    host.advance(1)
    return window, other


@pytest.mark.parametrize("action", MOVES_NOTHING, ids=lambda action: action["type"])
def test_what_moves_nothing_is_said_to_all_as_it_was_sent(host, agent, clients, action):
    window, other = clients
    before, number = host.store.snapshot(S1), host.store.server_seq
    [chat] = agent.chats
    rows = len(other.notifications)
    sequence = window.dispatch(S1, action)
    host.advance(1)
    for probe in clients:
        [said] = probe.envelopes(S1)
        assert said.action == action
        assert said.origin == {"clientId": "w", "clientSeq": sequence}
        assert said.seq == number + 1
        assert said.rejection is None
    after = host.store.snapshot(S1)
    assert bytes(after["state"]) == bytes(before["state"])
    assert len(other.notifications) == rows
    assert agent.chats == [chat], "no conversation began again"
    told = chat.toggled, chat.configured, chat.started_servers, chat.stopped_servers
    assert not any(told)
    assert not chat.left_starting


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/defaultChatChanged", "defaultChat": "ahp-chat:/none"},
        {"type": "session/defaultChatChanged"},
        {"type": "session/chatRemoved", "chat": "ahp-chat:/none"},
        {"type": "session/ready"},
        {"type": "session/metaChanged", "_meta": {}},
        {"type": "session/inputNeededRemoved", "id": "x"},
        {"type": "session/nobodyKnows"},
    ],
    ids=lambda action: action["type"],
)
def test_what_the_host_alone_says_is_refused_to_all_and_held_for_replay(host, clients, action):
    window, other = clients
    host.cut(other)
    before = bytes(host.store.snapshot(S1)["state"])
    window.dispatch(S1, action)
    host.settle()
    [said] = window.envelopes(S1)
    assert said.rejection == f"Server-only action: {action['type']}"
    assert bytes(host.store.snapshot(S1)["state"]) == before
    host.reconnect(other)
    replayed = other.envelopes(S1)[-1]
    assert (replayed.seq, replayed.rejection) == (said.seq, said.rejection)


@pytest.mark.parametrize("kind", ["set", "updated", "removed", "entrySet", "entryRemoved"])
def test_every_action_on_marks_is_said_to_all_who_watch_them(host, clients, kind):
    window, _ = clients
    marks = S1 + "/annotations"
    for probe in clients:
        host.run(probe.subscribe(marks))
    window.dispatch(marks, {"type": "annotations/set", "annotation": MARK})
    entry = {"id": "e1", "text": "why"}
    window.dispatch(marks, {"type": "annotations/entrySet", "annotationId": "a1", "entry": entry})
    fields = {
        "set": {"annotation": {**MARK, "resolved": True}},
        "updated": {"annotationId": "a1", "resolved": False},
        "removed": {"annotationId": "a1"},
        "entrySet": {"annotationId": "a1", "entry": entry},
        "entryRemoved": {"annotationId": "a1", "entryId": "e1"},
    }[kind]
    window.dispatch(marks, {"type": f"annotations/{kind}", **fields})
    host.settle()
    for probe in clients:
        said = probe.envelopes(marks)[-1]
        assert said.action == {"type": f"annotations/{kind}", **fields}
        assert said.origin["clientId"] == "w"


def test_a_new_subscriber_reads_what_those_who_were_there_were_told(host, clients):
    window, other = clients
    for action in MOVES_NOTHING:
        window.dispatch(S1, action)
    window.dispatch(S1, {"type": "session/configChanged", "config": {"level": "high"}})
    window.dispatch(S1, {"type": "session/isArchivedChanged", "isArchived": True})
    host.settle()
    late = host.connect("late")
    host.run(other.assert_late_subscriber_agrees(late, S1))
