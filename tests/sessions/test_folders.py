"""A session's working directories, changed by its editor window.

Source: AHP.txt, `session/workingDirectorySet`, `session/workingDirectoryRemoved` and
`session/workingDirectoryReplaced`.
"""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentAbilities
from ahpd.sessions.trust import trusted
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1 = "ahp-session:/s1"
A, B, C = "file:///w/a", "file:///w/b", "file:///w/c"
SET = "session/workingDirectorySet"
REMOVED = "session/workingDirectoryRemoved"
REPLACED = "session/workingDirectoryReplaced"
BOTH = {"immutablePrimary": True, "primaryReplacement": True}
EDITOR = {"clientInfo": {"name": "vscode-editor-window"}}
DECLARED = {"_meta": {"vscode.ahpSessionUris": True, "vscode.ahpChatUris": True}}


class Housed:
    """A host, and a session whose editor window is `probe`."""

    def __init__(self, capability=BOTH, trust=True, **create):
        capabilities = {"multipleChats": {}}
        if capability is not None:
            capabilities["multipleWorkingDirectories"] = capability
        self.agent = ScriptedAgent(capabilities=capabilities)
        self.agent.schema = {
            "type": "object",
            "properties": {"isolation": {"type": "string", "title": "Isolation"}},
        }
        self.host = MemoryHost(agents={"scripted": self.agent})
        self.probe = self.host.connect("w", "ahp-root://", **EDITOR, **DECLARED)
        create = {"_meta": {"multiRoot": {"workspaceFile": "file:///w.code-workspace"}}, **create}
        create.setdefault("workingDirectories", [A, B])
        self.host.run(self.probe.request("createSession", channel=S1, **create))
        self.host.run(self.probe.subscribe(S1))
        if trust:
            value = {"enabled": False}
            self.probe.dispatch(
                "ahp-root://", {"type": "root/configChanged", "config": {"workspaceTrust": value}}
            )

    @property
    def chat(self):
        return self.host.store.state(S1)["defaultChat"]

    def turn(self, number=1):
        self.probe.dispatch(
            self.chat,
            {
                "type": "chat/turnStarted",
                "turnId": f"turn-{number}",
                "startedAt": "2026-01-02T03:04:05Z",
                "message": {"text": "go", "origin": {"kind": "user"}},
            },
        )
        self.host.settle()

    def say(self, action_type, channel=S1, probe=None, **fields):
        """Dispatch a folder action; its refusal, or None."""
        sender = probe or self.probe
        number = sender.dispatch(channel, {"type": action_type, **fields})
        self.host.settle()
        return self.answer(number, sender)

    def answer(self, number, probe=None):
        said = [
            envelope
            for envelope in (probe or self.probe).envelopes()
            if envelope.origin and envelope.origin["clientSeq"] == number
        ]
        return said[-1].rejection if said else "not answered"

    @property
    def folders(self):
        return self.host.store.state(S1)["workingDirectories"]

    def started_in(self):
        return [list(chat.start.working_directories) for chat in self.agent.chats]


@pytest.fixture
def housed():
    made = []

    def make(*args, started=True, **options):
        one = Housed(*args, **options)
        made.append(one)
        if started:
            one.turn()
        return one

    yield make
    for one in made:
        one.host.stop()


# -- who may, and when -----------------------------------------------------------------


def test_only_an_editor_window_may(housed):
    one = housed()
    words = "Session working-directory actions require an Editor Window client."
    for info in ({}, {"clientInfo": {"name": "vscode-agents-window"}, **DECLARED}):
        other = one.host.connect("other", S1, **info)
        assert one.say(SET, directory=C, probe=other) == words
        assert one.say(SET, channel=one.chat, directory=C, probe=other) == words
        one.host.cut(other)
    assert one.folders == [A, B]


def test_only_on_the_session_s_own_channel(housed):
    one = housed()
    words = "Session working-directory actions require a session channel."
    assert one.say(SET, channel=one.chat, directory=C) == words
    assert one.say(REMOVED, channel="ahp-root://", directory=C) == words


@pytest.mark.parametrize("started", [True, False])
@pytest.mark.parametrize("folders", [[A, B], []])
def test_only_a_session_that_is_ready_and_holds_folders(housed, started, folders):
    one = housed(started=started, workingDirectories=folders)
    words = f"Session is not ready for working-directory changes: {S1}"
    assert one.say(SET, directory=C) == (None if started and folders else words)


@pytest.mark.parametrize(
    "create", [{"_meta": {}}, {"_meta": {"multiRoot": None}}, {"config": {"isolation": "worktree"}}]
)
def test_only_one_of_a_workspace_of_several_folders_that_works_in_them(housed, create):
    one = housed(**create)
    words = f"Session does not support dynamic working-directory changes: {S1}"
    assert one.say(SET, directory=C) == words


def test_only_one_with_its_default_chat_alone(housed):
    one = housed()
    create = one.probe.request("createChat", channel=S1, chat="ahp-chat:/second")
    one.host.run(create)
    words = f"Session does not support dynamic working-directory changes: {S1}"
    assert one.say(SET, directory=C) == words
    one.host.run(one.probe.request("disposeChat", channel="ahp-chat:/second"))
    assert one.say(SET, directory=C) is None


def test_only_on_an_agent_that_works_in_several(housed):
    one = housed(capability=None)
    words = "Provider does not support dynamic working-directory changes: scripted"
    assert one.say(SET, directory=C) == words


@pytest.mark.parametrize(
    "fields",
    [
        (SET, {"directory": "vscode-vfs:/x"}, "vscode-vfs:/x"),
        (REPLACED, {"directory": B, "replacement": "/w/c"}, "/w/c"),
    ],
)
def test_only_file_uris(housed, fields):
    action_type, named, wrong = fields
    one = housed()
    assert one.say(action_type, **named) == f"Working directory must be a file URI: {wrong}"


def test_what_makes_a_session_is_kept_of_its_meta(housed):
    one = housed(_meta={"multiRoot": {"workspaceFile": "w"}, "anything": 1})
    assert one.host.store.state(S1)["_meta"] == {"multiRoot": {"workspaceFile": "w"}}


# -- what it does --------------------------------------------------------------------------


def test_a_folder_is_added_and_worked_in_from_the_next_turn(housed):
    one = housed()
    assert one.say(SET, directory=C) is None
    assert one.folders == [A, B, C]
    assert one.started_in() == [[A, B]]
    one.turn(2)
    assert one.started_in() == [[A, B], [A, B, C]]
    assert [turn["id"] for turn in one.agent.chats[1].start.history] == ["turn-1"]


def test_a_change_of_nothing_is_said_and_starts_nothing(housed):
    one = housed()
    assert one.say(SET, directory=B) is None
    assert one.say(REMOVED, directory=C) is None
    assert one.say(REPLACED, directory=C, replacement=A) is None
    one.turn(2)
    assert one.folders == [A, B]
    assert one.started_in() == [[A, B]]


def test_a_folder_is_taken_out(housed):
    one = housed()
    assert one.say(REMOVED, directory=B) is None
    one.turn(2)
    assert one.started_in() == [[A, B], [A]]


@pytest.mark.parametrize(
    "capability", [BOTH, {"immutablePrimary": True}, {"primaryReplacement": True}]
)
def test_the_primary_stays(housed, capability):
    one = housed(capability=capability)
    assert one.say(REMOVED, directory=A) == "The primary working directory cannot be removed."
    assert one.folders == [A, B]


def test_where_all_are_equal_the_first_may_go(housed):
    one = housed(capability={})
    assert one.say(REMOVED, directory=A) is None
    assert one.folders == [B]


def test_a_folder_is_swapped_for_another(housed):
    one = housed()
    assert one.say(REPLACED, directory=B, replacement=C) is None
    assert one.folders == [A, C]
    assert one.say(REPLACED, directory=C, replacement=A) is None
    assert one.folders == [A]


def test_a_new_primary_is_the_host_s_to_say_before_the_client_s_action(housed):
    one = housed()
    before = len(one.probe.envelopes(S1))
    assert one.say(REPLACED, directory=A, replacement=C) is None
    assert one.folders == [C, B]
    said = [e for e in one.probe.envelopes(S1)[before:] if e.action["type"] == REPLACED]
    assert [envelope.origin is None for envelope in said] == [True, False]
    one.turn(2)
    assert one.started_in()[-1] == [C, B]


def test_a_primary_that_cannot_be_replaced_stays(housed):
    one = housed(capability={"immutablePrimary": True})
    words = "The primary working directory cannot be replaced."
    assert one.say(REPLACED, directory=A, replacement=C) == words


# -- the question ---------------------------------------------------------------------------


def asked(one):
    return [m for who, m in one.probe.frames if who == "host" and m.get("method") == ASK]


ASK = "vscode/requestWorkspaceTrust"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"trusted": True}, None),
        ({"trusted": False}, f"Workspace trust was not granted for '{C}'"),
        ({}, f"Workspace trust was not granted for '{C}'"),
    ],
)
def test_the_window_is_asked_about_a_folder_it_adds(housed, answer, words):
    one = housed(trust=False)
    one.probe.serve(ASK, lambda params: answer)
    number = one.probe.dispatch(S1, {"type": SET, "directory": C})
    one.host.settle()
    assert [message["params"] for message in asked(one)] == [{"workspace": C}]
    assert one.answer(number) == words
    assert one.folders == ([A, B, C] if words is None else [A, B])


@pytest.mark.parametrize("moves", [True, False])
@pytest.mark.parametrize("again", [True, False])
def test_a_session_that_goes_while_the_window_is_asked_is_not_found(housed, moves, again):
    one = housed(trust=False)
    enabled = {"type": "root/configChanged", "config": {"chatMoves.enabled": moves}}
    one.probe.dispatch("ahp-root://", enabled)
    answer = Deferred()
    one.probe.serve(ASK, lambda params: answer)
    number = one.probe.dispatch(S1, {"type": SET, "directory": C})
    one.host.settle()
    other = one.host.connect("other")
    one.host.run(other.request("disposeSession", channel=S1))
    if again:
        one.probe.unsubscribe(S1)
        one.host.run(other.request("createSession", channel=S1, workingDirectories=[A]))
    answer.callback({"trusted": True})
    one.host.settle()
    words = "Session is not ready for working-directory changes" if again else "Session not found"
    assert one.answer(number) == f"{words}: {S1}"


def test_a_session_nobody_watches_stays_while_the_window_is_asked(housed):
    one = housed(trust=False, started=False)
    one.agent.abilities = AgentAbilities(reopens=True)
    one.turn()
    enabled = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    one.probe.dispatch("ahp-root://", enabled)
    answer = Deferred()
    one.probe.serve(ASK, lambda params: answer)
    one.probe.dispatch(S1, {"type": SET, "directory": C})
    one.probe.unsubscribe(S1)
    for _ in range(30):
        one.host.advance(60)
    assert one.host.store.is_open(S1)
    answer.callback({"trusted": True})
    one.host.settle()
    assert one.folders == [A, B, C]
    for _ in range(30):
        one.host.advance(60)
    assert not one.host.store.is_open(S1)


def test_a_window_that_does_not_answer_such_a_question_does_not_vouch(housed):
    one = housed(trust=False)
    assert one.say(SET, directory=C) == f"Workspace trust was not granted for '{C}'"


def test_nobody_is_asked_about_what_is_held_or_taken_out(housed):
    one = housed(trust=False)
    assert one.say(SET, directory=B) is None
    assert one.say(REMOVED, directory=B) is None
    assert asked(one) == []


@pytest.mark.parametrize(
    ("values", "is_trusted"),
    [
        ({}, False),
        ({"workspaceTrust": {"enabled": False}}, True),
        ({"workspaceTrust": {"enabled": True}}, False),
        ({"workspaceTrust": {"enabled": True, "trustedUris": [A]}}, True),
        ({"workspaceTrust": {"enabled": True, "trustedUris": ["file:///w"]}}, True),
        ({"workspaceTrust": {"enabled": True, "trustedUris": ["file:///"]}}, True),
        ({"workspaceTrust": {"enabled": True, "trustedUris": ["file:///w/ab", "", 7]}}, False),
        ({"workspaceTrust": {"enabled": True, "trustedUris": ["file://elsewhere/w"]}}, False),
        ({"workspaceTrust": {"enabled": True, "trustedUris": "file:///w"}}, False),
        ({"workspaceTrust": {"trustedUris": [A]}}, False),
        ({"workspaceTrust": []}, False),
        ({"globalAutoApproveEnabled": True}, True),
        ({"globalAutoApproveEnabled": "yes"}, False),
    ],
)
def test_a_folder_is_trusted_as_the_window_said(values, is_trusted):
    assert trusted(A, values) is is_trusted


def test_a_link_out_of_a_trusted_folder_is_not_in_it(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "out")
    values = {"workspaceTrust": {"enabled": True, "trustedUris": [(tmp_path / "in").as_uri()]}}
    assert not trusted((tmp_path / "in" / "link").as_uri(), values)
    assert not trusted((tmp_path / "in").as_uri() + "/../out", values)
    assert trusted((tmp_path / "in").as_uri() + "/new", values)
