from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.AUTOMATION_RUN


def run(sessions=(), **fields):
    return {
        "resource": "ahp-automation-run:/r",
        "automation": "ahp-automation:/a",
        "origin": {"kind": "manual"},
        "lifecycle": {"status": "pending", "createdAt": "2026-01-01T00:00:00.000Z"},
        "sessions": list(sessions),
        **fields,
    }


DONE = {"status": "completed", "completedAt": "2026-01-01T01:00:00.000Z"}

CASES = {
    "automationRun/lifecycleChanged: the whole lifecycle": (
        run(),
        [{"type": "automationRun/lifecycleChanged", "lifecycle": DONE}],
        run(lifecycle=DONE),
    ),
    "automationRun/sessionSet: each once, in the order they joined": (
        run(["ahp-session:/1"]),
        [
            {"type": "automationRun/sessionSet", "session": "ahp-session:/2"},
            {"type": "automationRun/sessionSet", "session": "ahp-session:/1"},
        ],
        run(["ahp-session:/1", "ahp-session:/2"]),
    ),
    "automationRun/sessionRemoved: the primary one takes that with it": (
        run(["ahp-session:/1", "ahp-session:/2"], primarySession="ahp-session:/1"),
        [{"type": "automationRun/sessionRemoved", "session": "ahp-session:/1"}],
        run(["ahp-session:/2"]),
    ),
    "automationRun/sessionRemoved: another leaves the primary": (
        run(["ahp-session:/1", "ahp-session:/2"], primarySession="ahp-session:/1"),
        [
            {"type": "automationRun/sessionRemoved", "session": "ahp-session:/2"},
            {"type": "automationRun/sessionRemoved", "session": "ahp-session:/none"},
        ],
        run(["ahp-session:/1"], primarySession="ahp-session:/1"),
    ),
    "automationRun/primarySessionChanged: chosen": (
        run(["ahp-session:/1"]),
        [{"type": "automationRun/primarySessionChanged", "primarySession": "ahp-session:/1"}],
        run(["ahp-session:/1"], primarySession="ahp-session:/1"),
    ),
    "automationRun/primarySessionChanged: cleared": (
        run(["ahp-session:/1"], primarySession="ahp-session:/1"),
        [{"type": "automationRun/primarySessionChanged"}],
        run(["ahp-session:/1"]),
    ),
    "automationRun/cancelRequested: asks, and changes nothing": (
        run(),
        [{"type": "automationRun/cancelRequested"}],
        run(),
    ),
}
