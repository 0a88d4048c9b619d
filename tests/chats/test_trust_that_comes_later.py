"""A folder that is vouched for once a chat of it is open: its agent is told at the next turn."""

import pytest

from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

ROOT, SESSION = "ahp-root://", "ahp-session:/s1"


class Talk:
    def __init__(self, folder, **trust):
        self.agent = ScriptedAgent()
        self.host = MemoryHost({"scripted": self.agent})
        self.ann = self.host.connect("ann", ROOT)
        self.trust(**trust)
        made = {"channel": SESSION, "workingDirectories": [folder.as_uri()]}
        self.host.run(self.ann.call("createSession", made))
        self.host.run(self.ann.call("subscribe", {"channel": SESSION}))
        self.chat = self.host.store.state(SESSION)["defaultChat"]

    def trust(self, **pushed):
        if pushed:
            self.ann.dispatch(
                ROOT, {"type": "root/configChanged", "config": {"workspaceTrust": pushed}}
            )
            self.host.settle()

    def turn(self, turn_id):
        action = {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        }
        self.ann.dispatch(self.chat, action)
        self.host.settle()

    @property
    def told(self):
        return [chat.start.trusted for chat in self.agent.chats]


@pytest.fixture
def talk(tmp_path):
    made = []

    def make(**trust):
        made.append(Talk(tmp_path, **trust))
        return made[-1]

    yield make
    for one in made:
        one.host.stop()


def test_it_is_opened_again_once_somebody_vouched_for_its_folder(talk, tmp_path):
    one = talk()
    one.turn("t1")
    one.turn("t2")
    assert one.told == [False]
    one.trust(enabled=True, trustedUris=[tmp_path.as_uri()])
    assert one.told == [False], "not before there is something to do"
    one.turn("t3")
    assert one.told == [False, True]
    assert [turn["id"] for turn in one.agent.chats[1].start.history] == ["t1", "t2"]
    one.turn("t4")
    assert one.told == [False, True]


def test_one_whose_folder_was_trusted_goes_on_whatever_is_said_later(talk):
    one = talk(enabled=False)
    one.turn("t1")
    one.trust(enabled=True, trustedUris=[])
    one.turn("t2")
    assert one.told == [True]


def test_one_that_cannot_be_opened_again_keeps_its_conversation(talk, tmp_path):
    one = talk()
    one.agent.keeps_as = lambda start: "mine"
    one.turn("t1")
    one.trust(enabled=True, trustedUris=[tmp_path.as_uri()])
    one.turn("t2")
    assert one.told == [False]
