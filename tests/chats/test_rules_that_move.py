"""Rules and settings that change while a session runs, and whose questions they answer."""

import pytest

from ahpd.interfaces import Permission
from ahpd.permissions import Judge, parse_managed
from ahpd.protocol.uris import ROOT

from .test_judged_calls import S1, Judged

MAKE = Permission(kind="shell", command="make x")


@pytest.fixture
def make():
    made = []

    def one(judge=None, **options):
        made.append(Judged(judge or Judge(home="/home/nobody"), **options))
        return made[-1]

    yield one
    for each in made:
        each.host.stop()


def configure(j, channel=S1, **values):
    kind = "root/configChanged" if channel == ROOT else "session/configChanged"
    more = {"replace": True} if values.pop("replace", False) else {}
    j.dispatch(kind, channel=channel, config=values, **more)
    return j.ann.envelopes(channel)[-1].rejection


def asks(j, turn_id, tool="Bash", permission=MAKE):
    """What becomes of one question in a turn of its own: how it ended, or that it waits."""
    before = len(j.answers)

    async def script(turn):
        call = j.ask(turn, tool, permission)
        answer = await turn.confirmed(call)
        j.answers.append(answer)
        turn.complete(call, "done") if answer.approved else turn.fail(call, "no")

    j.begin(script, turn_id=turn_id)
    if len(j.answers) == before:
        return "ask"
    return "approve" if j.answers[-1].approved else "deny"


def stop(j, turn_id):
    j.dispatch("chat/turnCancelled", turnId=turn_id, duration=1)


# -- Allow All of a session ------------------------------------------------------------------------


def test_every_session_can_be_set_to_allow_everything_whatever_its_agent(make):
    j = make()
    declared = j.ann.state(S1)["config"]["schema"]["properties"]["autoApprove"]
    assert declared["enum"] == ["default", "autoApprove"]
    assert declared["sessionMutable"]
    assert asks(j, "t1") == "ask"
    stop(j, "t1")
    assert configure(j, autoApprove="autoApprove") is None
    assert j.ann.plain_state(S1)["config"]["values"]["autoApprove"] == "autoApprove"
    assert asks(j, "t2") == "approve"
    assert configure(j, autoApprove="default") is None
    assert asks(j, "t3") == "ask"


@pytest.mark.parametrize(
    "value", ["default", "assisted", "AUTOAPPROVE", True, None, ["autoApprove"], 1]
)
def test_any_other_value_asks(make, value):
    j = make()
    assert configure(j, autoApprove=value) is None
    assert asks(j, "t1") == "ask"


def test_a_session_is_made_with_it(make):
    j = make()
    made = "ahp-session:/s2"
    j.run(j.ann.request("createSession", channel=made, config={"autoApprove": "autoApprove"}))
    j.run(j.ann.subscribe(made))
    assert j.ann.state(made)["config"]["values"]["autoApprove"] == "autoApprove"


def test_a_host_whose_policy_restricts_it_asks_though_it_is_set(make):
    j = make()
    configure(j, autoApprove="autoApprove")
    configure(j, ROOT, globalAutoApproveEnabled=True, autoApprovePolicyRestricted=True)
    assert asks(j, "t1") == "ask"
    stop(j, "t1")
    configure(j, ROOT, autoApprovePolicyRestricted=False)
    assert asks(j, "t2") == "approve"


def test_so_does_one_whose_operator_locked_it(make):
    lock = parse_managed({"disableBypassPermissionsMode": "disable"})
    j = make(Judge(lock, checked=False, home="/home/nobody"))
    configure(j, autoApprove="autoApprove")
    configure(j, ROOT, globalAutoApproveEnabled=True)
    assert asks(j, "t1") == "ask"


def test_a_chat_takes_no_value_of_its_own_for_it(make):
    j = make()
    j.dispatch("chat/configChanged", config={"autoApprove": "autoApprove"})
    assert "not writable" in j.ann.envelopes(j.chat)[-1].rejection
    assert asks(j, "t1") == "ask"


# -- grants, and configurations that are replaced ----------------------------------------------------


@pytest.mark.parametrize(
    ("option", "channel"), [("allow-exact-session", S1), ("allow-exact-always", ROOT)]
)
def test_a_grant_goes_with_the_configuration_it_was_in(make, option, channel):
    j = make()
    assert asks(j, "t1") == "ask"
    j.answer(j.calls()["Bash"]["toolCallId"], option)
    assert asks(j, "t2") == "approve"
    assert configure(j, channel, replace=True) is None
    assert asks(j, "t3") == "ask"


@pytest.mark.parametrize("channel", [S1, ROOT])
def test_a_grant_made_behind_a_replacement_is_beside_what_that_refuses(make, channel):
    j = make()
    assert asks(j, "t1") == "ask"
    configure(j, channel, replace=True, permissions={"allow": [], "deny": ["Shell(rm)"]})
    scope = "session" if channel == S1 else "always"
    j.answer(j.calls()["Bash"]["toolCallId"], f"allow-commands-{scope}")
    values = j.ann.plain_state(channel)["config"]["values"]["permissions"]
    assert values == {"allow": ["Shell(make *)"], "deny": ["Shell(rm)"]}
    assert asks(j, "t2", permission=Permission(kind="shell", command="make; rm x")) == "deny"


def test_a_rule_that_refuses_is_not_taken_back_by_what_a_person_allows(make):
    j = make()
    assert asks(j, "t1") == "ask"
    configure(j, permissions={"allow": [], "deny": ["Shell(make)"]})
    j.answer(j.calls()["Bash"]["toolCallId"], "allow-commands-session")
    assert asks(j, "t2") == "deny"


def test_one_window_s_table_is_every_session_s(make):
    j = make()
    bob = j.host.connect("bob", ROOT)
    assert asks(j, "t1") == "ask"
    stop(j, "t1")
    j.dispatch(
        "root/configChanged",
        channel=ROOT,
        client=bob,
        config={"terminalAutoApproveRules": {"make": True}},
    )
    assert asks(j, "t2") == "approve"
    j.dispatch(
        "root/configChanged", channel=ROOT, client=bob, config={"terminalAutoApproveEnabled": False}
    )
    assert asks(j, "t3") == "ask"
