from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.AUTOMATIONS


def entry(name, title):
    return {
        "resource": f"ahp-automation:/{name}",
        "definition": {"title": title},
        "runs": [],
        "operations": ["update", "remove"],
        "createdAt": "2026-01-01T00:00:00.000Z",
        "modifiedAt": "2026-01-01T00:00:00.000Z",
    }


TWO = {"entries": [entry("a", "First"), entry("b", "Second")], "_meta": {"k": 1}}

CASES = {
    "automation/set: a new one goes to the end": (
        {"entries": [entry("a", "First")]},
        [{"type": "automation/set", "automation": entry("b", "Second")}],
        {"entries": [entry("a", "First"), entry("b", "Second")]},
    ),
    "automation/set: one that is there keeps its place and nothing else": (
        {"entries": [{**entry("a", "First"), "nextRunAt": "soon"}, entry("b", "Second")]},
        [{"type": "automation/set", "automation": entry("a", "Renamed")}],
        {"entries": [entry("a", "Renamed"), entry("b", "Second")]},
    ),
    "automation/removed: by its resource": (
        TWO,
        [{"type": "automation/removed", "resource": "ahp-automation:/a"}],
        {"entries": [entry("b", "Second")], "_meta": {"k": 1}},
    ),
    "automation/removed: one nobody holds": (
        TWO,
        [{"type": "automation/removed", "resource": "ahp-automation:/zz"}],
        TWO,
    ),
    "automation/createRequested: asks, and changes nothing": (
        TWO,
        [
            {
                "type": "automation/createRequested",
                "resource": "ahp-automation:/c",
                "definition": {"title": "Third"},
            }
        ],
        TWO,
    ),
    "automation/updateRequested: asks, and changes nothing": (
        TWO,
        [
            {
                "type": "automation/updateRequested",
                "resource": "ahp-automation:/a",
                "changes": {"title": "Renamed"},
            }
        ],
        TWO,
    ),
}
