from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.ROOT

BASE = {"agents": [{"provider": "echo", "displayName": "Echo", "models": []}]}
CONFIG = {"schema": {"type": "object", "properties": {}}, "values": {"a": 1, "b": {"deep": True}}}
OTHER = [{"provider": "claude", "displayName": "Claude", "models": [{"id": "m"}]}]

CASES = {
    "root/agentsChanged: the whole list is another": (
        {**BASE, "activeSessions": 2},
        [{"type": "root/agentsChanged", "agents": OTHER}],
        {"agents": OTHER, "activeSessions": 2},
    ),
    "root/activeSessionsChanged: none is a count too": (
        {**BASE, "activeSessions": 2},
        [{"type": "root/activeSessionsChanged", "activeSessions": 0}],
        {**BASE, "activeSessions": 0},
    ),
    "root/terminalsChanged: the last one goes": (
        {**BASE, "terminals": [{"resource": "ahp-terminal:/1"}]},
        [{"type": "root/terminalsChanged", "terminals": []}],
        {**BASE, "terminals": []},
    ),
    "root/configChanged: new values lie over the old, not into them": (
        {**BASE, "config": CONFIG},
        [{"type": "root/configChanged", "config": {"b": {"other": 1}, "c": None}}],
        {
            **BASE,
            "config": {
                "schema": CONFIG["schema"],
                "values": {"a": 1, "b": {"other": 1}, "c": None},
            },
        },
    ),
    "root/configChanged: with replace, and then more": (
        {**BASE, "config": CONFIG},
        [
            {"type": "root/configChanged", "config": {"z": 1}, "replace": True},
            {"type": "root/configChanged", "config": {"y": 2}, "replace": False},
        ],
        {**BASE, "config": {"schema": CONFIG["schema"], "values": {"z": 1, "y": 2}}},
    ),
    "root/configChanged: a host without configuration takes none": (
        BASE,
        [{"type": "root/configChanged", "config": {"z": 1}}],
        BASE,
    ),
}
