"""`ahp_terminals` and `ahp_terminals_control`: the terminals a person can watch.

All that are open are listed, as every client lists them. What one printed is read, and one is
typed into or ended, only where the session holds it: what a person does in a terminal of their
own is not for an agent. A session holds what it opened, and what a person let it have. Running
things is advanced: an agent's own shell is asked about, this one is not. Source: AHP.txt,
`root/terminalsChanged` and `terminal/claimed`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import (
    HostTool,
    IHostTerminal,
    IHostTerminals,
    TerminalStart,
    ToolCallContext,
    ToolEffects,
    ToolFailure,
)
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import session_id
from ahpd.tools import naming
from ahpd.tools.ports import SessionReading

TERMINALS: Final = "ahp_terminals"
CONTROL: Final = "ahp_terminals_control"

#: How many characters of a terminal's output are told where nobody says, and at most.
USUAL_CHARACTERS: Final = 10_000
MOST_CHARACTERS: Final = 100_000
#: How many terminals a session's agents have running at a time.
MOST_RUNNING: Final = 20

_TERMINAL: Final[State] = {"type": "string", "description": "The terminal's URI."}
_LOOKING: Final[State] = {
    "name": TERMINALS,
    "title": "Terminals on This Host",
    "description": (
        "The terminals this host has open, with what each is called, where it is and whether it "
        "runs: those a person can see, which a shell that a tool runs is not. `action` is `list` "
        "(where it is left out), or `read` for what a terminal of this session printed last."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["list", "read"],
                "description": "What to do; `list` where it is left out.",
            },
            "terminal": {
                "type": "string",
                "description": "The URI of the terminal to read, which `read` needs.",
            },
            "characters": {
                "type": "integer",
                "minimum": 1,
                "description": (
                    f"How many characters to read, from the end: {USUAL_CHARACTERS} where it is "
                    f"left out, {MOST_CHARACTERS} at most."
                ),
            },
        },
    },
    "annotations": {
        "title": "Terminals on This Host", "readOnlyHint": True, "openWorldHint": False
    },
}  # fmt: skip
_CONTROL: Final[State] = {
    "name": CONTROL,
    "title": "Control a Terminal",
    "description": (
        "Opens a terminal of this session that a person can watch, types into one, or ends one. "
        "`open` runs `command` in it, a shell to sit in where there is none, and answers its URI; "
        "what it prints is read with `ahp_terminals`."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "action": {
                "type": "string",
                "enum": ["open", "write", "kill"],
                "description": "What to do.",
            },
            "terminal": {**_TERMINAL, "description": "Its URI, which `write` and `kill` need."},
            "command": {"type": "string", "description": "The line `open` has the shell run."},
            "cwd": {
                "type": "string",
                "description": (
                    "The folder `open` starts in, an absolute path or a file URI; the session's "
                    "first where it is left out."
                ),
            },
            "title": {"type": "string", "maxLength": 200, "description": "What `open` calls it."},
            "text": {
                "type": "string",
                "description": "What `write` types, its line ends among it.",
            },
        },
        "required": ["action"],
    },
    "annotations": {
        "title": "Control a Terminal", "readOnlyHint": False, "destructiveHint": True
    },
}  # fmt: skip


class TerminalTools:
    """The two tools. `infos` is the root's list (schema: TerminalInfo) now."""

    def __init__(
        self,
        terminals: IHostTerminals,
        infos: Callable[[], Sequence[State]],
        sessions: SessionReading,
    ) -> None:
        self._terminals = terminals
        self._infos = infos
        self._sessions = sessions

    def tools(self) -> Sequence[HostTool]:
        """Both."""
        return (
            HostTool(definition=_LOOKING, run=self.look, effects=ToolEffects(reads=True)),
            HostTool(
                definition=_CONTROL,
                run=self.control,
                effects=ToolEffects(reads=True, writes=True, network=True, destructive=True),
                advanced=True,
            ),
        )

    async def look(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        """See `TERMINALS`."""
        if arguments.get("action", "list") == "list":
            lines = [self._line(info) for info in self._infos()]
            return "\n".join(lines) or "This host has no terminal open."
        terminal = self._held(TERMINALS, arguments, context)
        most = min(int(arguments.get("characters", USUAL_CHARACTERS)), MOST_CHARACTERS)
        printed, state = terminal.output(), _life(terminal.state()["lifecycle"])
        cut = "" if len(printed) <= most else f"… {len(printed) - most} characters before that\n"
        return f"{state}\n{cut}{printed[-most:]}"

    async def control(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        """See `CONTROL`."""
        if arguments["action"] == "open":
            return self._open(arguments, context)
        terminal = self._held(CONTROL, arguments, context)
        if terminal.state()["lifecycle"]["status"] != "running":
            raise ToolFailure(f"The program of {terminal.uri} has exited.")
        if arguments["action"] == "kill":
            terminal.kill()
            return f"Ended {terminal.uri}."
        terminal.write(_needed(arguments, "text"))
        return f"Typed into {terminal.uri}."

    def _open(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        running = [
            info
            for info in self._infos()
            if _holds(info["claim"], context) and info["lifecycle"]["status"] == "running"
        ]
        if len(running) >= MOST_RUNNING:
            raise ToolFailure(
                f"This session has {MOST_RUNNING} terminals running, the most it may."
            )
        caller = self._sessions.caller(context)
        claim: State = {"kind": "session", "session": context.session, "chat": context.chat}
        if caller.turn is not None:
            claim["turnId"] = caller.turn
        claim["toolCallId"] = context.tool_call_id
        terminal = self._terminals.open(
            TerminalStart(
                claim=claim,
                title=arguments.get("title"),
                cwd=self._folder(arguments, context),
                command=arguments.get("command"),
            )
        )
        return f"Opened {terminal.uri}."

    def _folder(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str | None:
        if "cwd" in arguments:
            return path_of(naming.folder(CONTROL, "cwd", arguments["cwd"]))
        folders = self._sessions.folders(context.session)
        return path_of(folders[0]) if folders else None

    def _held(
        self, tool: str, arguments: Mapping[str, Any], context: ToolCallContext
    ) -> IHostTerminal:
        """The terminal that was named, which the session holds. Raises `ToolFailure`."""
        uri = _needed(arguments, "terminal", tool)
        terminal = self._terminals.find(uri)
        if terminal is None:
            raise naming.invalid(tool, f"no terminal at {uri[:200]}.")
        if not _holds(terminal.state()["claim"], context):
            raise naming.invalid(tool, f"{uri} is no terminal of this session.")
        return terminal

    def _line(self, info: State) -> str:
        terminal = self._terminals.find(info["resource"])
        cwd = "" if terminal is None else terminal.state().get("cwd", "")
        fields = (info["resource"], info["title"], cwd, _life(info["lifecycle"]))
        return "\t".join(" ".join(str(field).split()) for field in fields)


def _holds(claim: State, context: ToolCallContext) -> bool:
    return claim["kind"] == "session" and session_id(claim["session"]) == session_id(
        context.session
    )


def _life(lifecycle: State) -> str:
    if lifecycle["status"] == "running":
        return "running"
    code = lifecycle.get("exitCode")
    return "exited" if code is None else f"exited with {int(code)}"


def _needed(arguments: Mapping[str, Any], field: str, tool: str = CONTROL) -> str:
    value: str | None = arguments.get(field)
    if value is None:
        raise naming.invalid(tool, f"{field} is missing")
    return value
