"""Alerts of a row, by their ref."""

from datetime import UTC, datetime

import pytest

from ahpd.extensions.alerts import Alerts
from ahpd.interfaces import Alert


@pytest.fixture
def moved():
    return []


@pytest.fixture
def alerts(moved):
    return Alerts(lambda: datetime(2026, 1, 2, tzinfo=UTC), lambda: moved.append(1), most=3)


def alert(text, ref=None, **more):
    return Alert(level="error", text=text, ref=ref, **more)


def test_an_alert_says_when_it_was_raised(alerts):
    alerts.raise_(alert("no", "open"))
    alerts.raise_(alert("older", at="2025-01-01T00:00:00.000Z"))
    assert alerts.shown == [
        {"level": "error", "text": "no", "ref": "open", "at": "2026-01-02T00:00:00.000Z"},
        {"level": "error", "text": "older", "at": "2025-01-01T00:00:00.000Z"},
    ]


def test_another_alert_with_a_ref_takes_its_place_and_the_oldest_of_too_many_goes(alerts):
    for text, ref in (("1", "a"), ("2", None), ("3", "a"), ("4", None), ("5", None)):
        alerts.raise_(alert(text, ref))
    assert [one["text"] for one in alerts.shown] == ["3", "4", "5"]


def test_alerts_are_cleared_by_their_ref_or_by_how_it_begins(alerts, moved):
    for ref in ("env:A", "env:B", "open"):
        alerts.raise_(alert(ref, ref))
    del moved[:]
    alerts.clear("other")
    alerts.clear_where("secret:")
    assert moved == []
    alerts.clear_where("env:")
    assert [one["ref"] for one in alerts.shown] == ["open"]
    alerts.clear("open")
    assert (alerts.shown, len(moved)) == ([], 2)
    alerts.raise_(alert("no ref"))
    alerts.clear_where("")
    assert alerts.shown == []
