"""The events of domains that are not there yet are said by those that bring them."""

from twisted.internet.task import Clock

from ahpd.events.bus import Events, Listener
from ahpd.events.later import automation_fired, users_changed


def test_they_carry_what_the_table_says():
    clock, heard = Clock(), []
    events = Events(clock)
    automation_fired(events, "ahp-automation:/a", "r0")  # nobody is there to hear it
    for name in ("automation_fire", "users_changed"):
        events.listen(name, Listener("p", lambda p, name=name: heard.append((name, dict(p)))))
    automation_fired(events, "ahp-automation:/a", "r1")
    users_changed(events)
    clock.advance(0)
    assert heard == [
        ("automation_fire", {"automation": "ahp-automation:/a", "run": "r1"}),
        ("users_changed", {}),
    ]
