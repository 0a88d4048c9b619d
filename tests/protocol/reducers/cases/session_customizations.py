from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.SESSION

OFF = [{"kind": "session", "enabled": False}, {"kind": "global", "enabled": True}]


def session(*customizations):
    return {"status": 1, "chats": [], "customizations": list(customizations)}


def plugin(name, *children, **fields):
    return {"type": "plugin", "id": name, "name": name, "children": list(children), **fields}


def folder(name, *children, **fields):
    return {
        "type": "directory",
        "id": name,
        "name": name,
        "enabled": True,
        "children": list(children),
        **fields,
    }


def server(name, kind="ready", channel="mcp://x", **fields):
    held = {"type": "mcpServer", "id": name, "name": name, "state": {"kind": kind}, **fields}
    return held if channel is None else {**held, "channel": channel}


def skill(name, **fields):
    return {"type": "skill", "id": name, "name": name, **fields}


def toggle(name, enablement):
    return {"type": "session/customizationToggled", "id": name, "enablement": enablement}


BLOCKING = {"kind": "starting", "blocking": True}

CASES = {
    "session/customizationsChanged: the whole list": (
        session(plugin("a")),
        [{"type": "session/customizationsChanged", "customizations": [server("m")]}],
        session(server("m")),
    ),
    "session/customizationToggled: a plugin keeps the decisions": (
        session(plugin("a", skill("s")), plugin("b")),
        [toggle("a", OFF)],
        session(plugin("a", skill("s"), enablement=OFF), plugin("b")),
    ),
    "session/customizationToggled: no decision at all": (
        session(plugin("a", server("m", enablement=OFF), enablement=OFF)),
        [toggle("a", []), toggle("m", [])],
        session(plugin("a", server("m"))),
    ),
    "session/customizationToggled: a folder and a skill are only on or off": (
        session(folder("d", skill("s", enabled=False))),
        [toggle("d", OFF), toggle("s", [])],
        session(folder("d", skill("s", enabled=True), enabled=False)),
    ),
    "session/customizationToggled: neither an unknown id nor an unknown type": (
        session({"type": "future", "id": "f"}),
        [toggle("f", OFF), toggle("none", OFF)],
        session({"type": "future", "id": "f"}),
    ),
    "session/customizationUpdated: replaced with its children, or appended": (
        session(plugin("a", skill("s")), plugin("b")),
        [
            {"type": "session/customizationUpdated", "customization": plugin("a")},
            {"type": "session/customizationUpdated", "customization": folder("c")},
        ],
        session(plugin("a"), plugin("b"), folder("c")),
    ),
    "session/customizationRemoved: a container, a child, and nothing": (
        session(plugin("a", skill("s")), folder("b", skill("t"), skill("u"))),
        [
            {"type": "session/customizationRemoved", "id": "a"},
            {"type": "session/customizationRemoved", "id": "t"},
            {"type": "session/customizationRemoved", "id": "s"},
        ],
        session(folder("b", skill("u"))),
    ),
    "session/mcpServerStateChanged: its channel goes unless it is said": (
        session(server("m")),
        [{"type": "session/mcpServerStateChanged", "id": "m", "state": {"kind": "error"}}],
        session(server("m", "error", None)),
    ),
    "session/mcpServerStateChanged: a child": (
        session(plugin("a", server("m", "starting", None))),
        [
            {
                "type": "session/mcpServerStateChanged",
                "id": "m",
                "state": {"kind": "ready"},
                "channel": "mcp://y",
            }
        ],
        session(plugin("a", server("m", "ready", "mcp://y"))),
    ),
    "session/mcpServerStateChanged: what is no server has no state": (
        session(plugin("a", skill("s"))),
        [
            {"type": "session/mcpServerStateChanged", "id": "a", "state": {"kind": "ready"}},
            {"type": "session/mcpServerStateChanged", "id": "s", "state": {"kind": "ready"}},
        ],
        session(plugin("a", skill("s"))),
    ),
    "session/mcpServerStartRequested: starting, with no channel yet": (
        session(plugin("a", server("m", "stopped"))),
        [{"type": "session/mcpServerStartRequested", "id": "m"}],
        session(plugin("a", server("m", "starting", None))),
    ),
    "session/mcpServerStopRequested: stopped at once": (
        session(server("m", "authRequired")),
        [
            {"type": "session/mcpServerStopRequested", "id": "m"},
            {"type": "session/mcpServerStopRequested", "id": "none"},
        ],
        session(server("m", "stopped", None)),
    ),
    "session/mcpServerBackgroundRequested: one that holds messages back": (
        session(server("m", state=BLOCKING), plugin("a", server("n", state=BLOCKING))),
        [
            {"type": "session/mcpServerBackgroundRequested", "id": "m"},
            {"type": "session/mcpServerBackgroundRequested", "id": "n"},
        ],
        session(
            server("m", state={"kind": "starting", "blocking": False}),
            plugin("a", server("n", state={"kind": "starting", "blocking": False})),
        ),
    ),
    "session/mcpServerBackgroundRequested: one that does not": (
        session(server("m"), server("n", "starting"), plugin("a")),
        [
            {"type": "session/mcpServerBackgroundRequested", "id": "m"},
            {"type": "session/mcpServerBackgroundRequested", "id": "n"},
            {"type": "session/mcpServerBackgroundRequested", "id": "a"},
        ],
        session(server("m"), server("n", "starting"), plugin("a")),
    ),
}
