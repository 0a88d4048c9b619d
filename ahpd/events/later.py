"""Events of what this host has nothing of so far: whoever brings it calls these."""

from ahpd.interfaces import IEvents


def automation_fired(events: IEvents, automation: str, run: str) -> None:
    """A run of an automation begins: the automation's URI, and the run's id.

    For whoever keeps the automations, in the step in which the run is kept; whatever fired it, a
    schedule, a trigger, a person or a plugin.
    """
    if events.listened("automation_fire"):
        events.emit("automation_fire", {"automation": automation, "run": run})


def users_changed(events: IEvents) -> None:
    """The directory of users is another one: for whoever watches it, once for one moment.

    It is watched only while `events.listened("users_changed")`.
    """
    events.emit("users_changed", {})
