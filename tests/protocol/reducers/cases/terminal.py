from ahpd.protocol.uris import ChannelKind

KIND = ChannelKind.TERMINAL

OWNER = {"kind": "client", "clientId": "c"}


def terminal(*content, **fields):
    return {
        "title": "bash",
        "content": list(content),
        "lifecycle": {"status": "running"},
        "claim": OWNER,
        **fields,
    }


def printed(text):
    return {"type": "unclassified", "value": text}


def command(name, output="", **fields):
    return {
        "type": "command",
        "commandId": name,
        "commandLine": f"run {name}",
        "output": output,
        "timestamp": 1,
        "isComplete": False,
        **fields,
    }


def data(text):
    return {"type": "terminal/data", "data": text}


def executed(name):
    return {
        "type": "terminal/commandExecuted",
        "commandId": name,
        "commandLine": f"run {name}",
        "timestamp": 1,
    }


CASES = {
    "terminal/data: the first of it": (terminal(), [data("$ ")], terminal(printed("$ "))),
    "terminal/data: one part grows": (
        terminal(printed("$ ")),
        [data("l"), data("s\r\n"), data("ü\x1b[0m")],
        terminal(printed("$ ls\r\nü\x1b[0m")),
    ),
    "terminal/data: a running command takes it": (
        terminal(command("a", "x")),
        [data("y"), data("z")],
        terminal(command("a", "xyz")),
    ),
    "terminal/data: after a command that is over": (
        terminal(command("a", "x", isComplete=True)),
        [data("$ "), data("l")],
        terminal(command("a", "x", isComplete=True), printed("$ l")),
    ),
    "terminal/data: after a part of a kind nobody knows": (
        terminal({"type": "image", "uri": "x"}),
        [data("$")],
        terminal({"type": "image", "uri": "x"}, printed("$")),
    ),
    "terminal/input: the program answers, or not": (
        terminal(printed("$ ")),
        [{"type": "terminal/input", "data": "ls\r"}],
        terminal(printed("$ ")),
    ),
    "terminal/resized: both sides": (
        terminal(cols=1, rows=2),
        [{"type": "terminal/resized", "cols": 80, "rows": 24}],
        terminal(cols=80, rows=24),
    ),
    "terminal/claimed: the claim as a whole": (
        terminal(claim={"kind": "session", "session": "s", "turnId": "t"}),
        [{"type": "terminal/claimed", "claim": OWNER}],
        terminal(),
    ),
    "terminal/titleChanged: an empty one too": (
        terminal(),
        [{"type": "terminal/titleChanged", "title": ""}],
        terminal(title=""),
    ),
    "terminal/cwdChanged: a folder": (
        terminal(),
        [{"type": "terminal/cwdChanged", "cwd": "file:///w"}],
        terminal(cwd="file:///w"),
    ),
    "terminal/exited: with a code": (
        terminal(printed("bye")),
        [{"type": "terminal/exited", "exitCode": 0}],
        terminal(printed("bye"), lifecycle={"status": "exited", "exitCode": 0}),
    ),
    "terminal/exited: killed, so without one": (
        terminal(),
        [{"type": "terminal/exited", "exitCode": None}],
        terminal(lifecycle={"status": "exited"}),
    ),
    "terminal/cleared: what was printed, commands included": (
        terminal(printed("x"), command("a"), cols=3),
        [{"type": "terminal/cleared"}, data("new")],
        terminal(printed("new"), cols=3),
    ),
    "terminal/commandDetectionAvailable: a promise": (
        terminal(),
        [{"type": "terminal/commandDetectionAvailable"}],
        terminal(supportsCommandDetection=True),
    ),
    "terminal/commandExecuted: a part of its own, and detection with it": (
        terminal(printed("$ ")),
        [data("run a\r\n"), executed("a"), data("out")],
        terminal(printed("$ run a\r\n"), command("a", "out"), supportsCommandDetection=True),
    ),
    "terminal/commandFinished: the one it names, further back too": (
        terminal(command("a", "x"), command("b", "y")),
        [
            {
                "type": "terminal/commandFinished",
                "commandId": "a",
                "exitCode": 1,
                "durationMs": 5,
            },
            {"type": "terminal/commandFinished", "commandId": "none"},
        ],
        terminal(command("a", "x", isComplete=True, exitCode=1, durationMs=5), command("b", "y")),
    ),
    "terminal/commandFinished: a shell that reports nothing more": (
        terminal(command("a")),
        [data("out"), {"type": "terminal/commandFinished", "commandId": "a"}, data("$ ")],
        terminal(command("a", "out", isComplete=True), printed("$ ")),
    ),
}
