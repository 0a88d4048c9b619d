"""Agents are asked whether they work as they are opened, behind everything else."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Finding, Owned
from ahpd.records.probing import AT_ONCE, QUIET
from ahpd.testing.planted import planted

from .record_desk import Desk, EditedAgent, MadeAgent, MadeEngine

KEY = planted("the key of an agent")
FINE = [Finding(about="program", ok=True, words="found")]
WRONG = [Finding(about="program", ok=False, words="is not here", mend="made install")]


class CountedAgent(MadeAgent):
    """One whose engine knows who was asked, and answers with `answers` in turn."""

    async def probe(self):
        self.engine.asked.append(self.provider)
        if self.engine.answers:
            return await self.engine.answers.pop(0)
        return await super().probe()


class CountedEditedAgent(CountedAgent, EditedAgent):
    """One that takes an edit too."""


@pytest.fixture
def desk():
    return made(CountedAgent)


def made(agent_class, written=()):
    engine = MadeEngine(agent_class=agent_class, asked=[], answers=[], finds=WRONG)
    return Desk(engine, written=written)


def listens(desk):
    desk.service.listening()
    desk.clock.advance(QUIET)


def alerts(desk, identifier="build"):
    return [each["text"] for each in desk.row(identifier).get("alerts", ())]


TEXT = "is not here (made install)"


def test_one_that_is_put_is_asked_behind_the_put_and_shows_what_is_wrong(desk):
    listens(desk)
    row = desk.put()
    assert (row["state"], "alerts" in row, desk.engine.asked) == ("ready", False, [])
    desk.clock.advance(0)
    assert (desk.row()["state"], alerts(desk)) == ("ready", [TEXT])
    assert [(a["ref"], a["level"]) for a in desk.row()["alerts"]] == [("probe", "warning")]
    assert desk.handle.heard()[-1]["type"] == "x-ahpd-agents/changed"
    desk.engine.finds = FINE
    assert "alerts" not in desk.call("check", id="build")


def test_nobody_is_asked_before_the_host_listens(desk):
    desk.put()
    desk.again()
    desk.clock.advance(60)
    assert desk.engine.asked == []
    desk.service.listening()
    assert desk.engine.asked == []
    desk.clock.advance(QUIET)
    assert (desk.engine.asked, alerts(desk)) == (["build"], [TEXT])


def test_those_of_the_configuration_are_asked_and_few_at_once():
    rows = [{"id": f"a{i}", "engine": "made", "name": "A"} for i in range(AT_ONCE + 2)]
    desk = made(CountedAgent, rows)
    answers = desk.engine.answers = [Deferred() for _ in range(AT_ONCE)]
    first = answers[0]
    listens(desk)
    assert desk.engine.asked == ["a0", "a1"][:AT_ONCE]
    first.callback(FINE)
    desk.clock.advance(0)
    assert set(desk.engine.asked) == {row["id"] for row in rows}
    assert alerts(desk, "a3") == [TEXT]


def test_one_that_does_not_answer_is_unreachable_and_keeps_nobody_waiting(desk):
    listens(desk)
    desk.engine.answers = [Deferred()]
    desk.put("deaf")
    desk.put("other")
    desk.clock.advance(0)
    assert alerts(desk, "other") == [TEXT]
    desk.clock.advance(10)
    assert alerts(desk, "deaf") == ["did not say whether it works within 10 s"]


def test_it_is_asked_again_when_it_is_opened_anew_and_not_when_it_is_what_it_was(desk):
    listens(desk)
    desk.put()
    desk.clock.advance(0)
    desk.call("pause", id="build")
    desk.clock.advance(0)
    assert (desk.engine.asked, alerts(desk)) == (["build"], [TEXT])
    desk.call("disable", id="build")
    desk.clock.advance(0)
    assert (desk.engine.asked, alerts(desk)) == (["build"], [])
    desk.call("enable", id="build")
    desk.clock.advance(0)
    assert (desk.engine.asked, alerts(desk)) == (["build"] * 2, [TEXT])
    desk.wait(desk.service.contributed_engines({}))
    desk.wait(desk.service.contributed_engines({"made": Owned("acme", desk.engine)}))
    desk.clock.advance(0)
    assert desk.engine.asked == ["build"] * 3


def test_a_paused_one_is_asked(desk):
    desk.put()
    desk.call("pause", id="build")
    desk.again()
    listens(desk)
    assert alerts(desk) == [TEXT]


@pytest.mark.parametrize("move", ["edit", "disable", "remove"])
@pytest.mark.parametrize("agent_class", [CountedAgent, CountedEditedAgent])
def test_a_late_answer_of_a_record_that_moved_is_dropped(agent_class, move):
    desk = made(agent_class)
    listens(desk)
    late = Deferred()
    desk.engine.answers = [late]
    desk.put()
    desk.clock.advance(0)
    desk.engine.finds = FINE
    if move == "edit":
        desk.put(config={"level": "high"})
    else:
        desk.call(move, id="build")
    desk.clock.advance(0)
    late.callback(WRONG)
    desk.clock.advance(0)
    assert desk.engine.asked == ["build"] * (2 if move == "edit" else 1)
    assert desk.row() is None if move == "remove" else alerts(desk) == []


def test_one_that_is_checked_before_its_turn_is_asked_once(desk):
    listens(desk)
    desk.put()
    assert desk.call("check", id="build")["alerts"][0]["text"] == TEXT
    desk.clock.advance(0)
    assert desk.engine.asked == ["build"]


def test_its_secrets_are_in_no_alert(desk):
    desk.engine.finds = [Finding(about="sign-in", ok=False, words=f"{KEY} is\nold")]
    listens(desk)
    desk.put(config={"apiKey": KEY})
    desk.clock.advance(0)
    assert alerts(desk) == ["<set> is old"]


def test_nobody_is_asked_any_more_once_the_host_is_on_its_way_out(desk):
    listens(desk)
    late = Deferred()
    desk.engine.answers = [late]
    desk.put()
    desk.clock.advance(0)
    desk.put("next")
    desk.service.stopService()
    assert late.called
    desk.clock.advance(60)
    assert (desk.engine.asked, alerts(desk), desk.clock.getDelayedCalls()) == (["build"], [], [])
