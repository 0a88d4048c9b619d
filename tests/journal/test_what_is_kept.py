"""Every action there is has a decision on whether it is kept."""

from ahpd.journal.table import AMENDED, APPENDED_TO, DECISIONS, KEPT_KINDS, SHRINKING, Keeping
from ahpd.protocol.actions import ACTIONS


def test_every_action_of_a_kept_channel_has_a_decision_and_no_other_has_one():
    kept = {kind for kind, spec in ACTIONS.items() if spec.kind in KEPT_KINDS}
    assert set(DECISIONS) == kept


def test_what_is_not_simply_kept_says_why():
    for kind, decision in DECISIONS.items():
        if decision.keeping is not Keeping.KEPT or decision.always_said:
            assert decision.reason, kind


def test_what_is_batched_is_what_text_is_appended_by():
    batched = {kind for kind, one in DECISIONS.items() if one.keeping is Keeping.BATCHED}
    assert set(APPENDED_TO) == batched


def test_whatever_a_client_may_do_is_kept_but_for_presence_and_processes():
    passing = {
        kind
        for kind, one in DECISIONS.items()
        if one.keeping is not Keeping.KEPT and ACTIONS[kind].client_dispatchable
    }
    assert passing == {
        "session/activeClientSet",
        "session/activeClientRemoved",
        "session/mcpServerStartRequested",
        "session/mcpServerStopRequested",
        "session/mcpServerBackgroundRequested",
    }


def test_a_history_gets_shorter_by_kept_actions():
    assert all(DECISIONS[kind].keeping is Keeping.KEPT for kind in SHRINKING)
    assert "activity" not in AMENDED
