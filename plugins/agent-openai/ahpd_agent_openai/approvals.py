"""Whether a call runs, is asked about or is refused: the six modes of approval.

| mode | a read inside | a read outside | the web | a write inside | any other write, a command |
|---|---|---|---|---|---|
| `default` | runs | asks | asks | asks | asks |
| `acceptEdits` | runs | asks | asks | runs | asks |
| `plan` | runs | asks | asks | refused | refused |
| `auto` | runs | runs | runs | asks | asks |
| `bypassPermissions` | runs | runs | runs | runs | runs |
| `dontAsk` | runs | refused | refused | refused | refused |

A session that names no mode has `auto`, which asks about what declares itself destructive and
nothing else: writes of files and commands do, a note in the session's memory does not.
Source: PLUGINS.txt, "The tools a session runs" and the six modes below it.

A call that is asked about is the host's to decide (`ITurnOutput.emit` with its `Permission`):
its rules may answer before a person does.
"""

from typing import Final, Literal

from ahpd_agent_openai.tools.values import Described

Decision = Literal["run", "ask", "refuse"]

DEFAULT: Final = "default"
ACCEPT_EDITS: Final = "acceptEdits"
PLAN: Final = "plan"
AUTO: Final = "auto"
BYPASS: Final = "bypassPermissions"
DONT_ASK: Final = "dontAsk"

#: Every mode with what a person is told of it, in the order they are offered.
MODES: Final[dict[str, str]] = {
    DEFAULT: "Asks before a tool that writes, goes online or destroys anything, and before a"
    " read outside the workspace",
    ACCEPT_EDITS: "Writes inside the workspace without asking, and asks about everything else"
    " a person should see",
    PLAN: "Refuses whatever writes or destroys: the model reads and proposes",
    AUTO: "Asks about what may destroy something, a write or a command, and about nothing else",
    BYPASS: "Runs everything without asking",
    DONT_ASK: "Refuses whatever would have needed an approval",
}
#: The mode of a session that names none.
UNNAMED: Final = AUTO


def decide(mode: str | None, described: Described) -> Decision:
    """What is done about a call. A mode nobody knows is the one that asks, `default`."""
    if described.problem is not None:
        return "run"  # which answers the problem and does nothing else
    effects = described.effects
    writes = effects.writes or effects.destructive
    match UNNAMED if mode is None else mode:
        case "bypassPermissions":
            return "run"
        case "auto":
            return "ask" if effects.destructive else "run"
        case "plan" if writes:
            return "refuse"
        case "dontAsk" if _should_be_seen(described):
            return "refuse"
        case "acceptEdits" if described.permission.kind == "write" and described.inside:
            return "run"
    return "ask" if _should_be_seen(described) else "run"


def _should_be_seen(described: Described) -> bool:
    """Whether `default` asks about it."""
    effects = described.effects
    return (
        effects.writes
        or effects.network
        or effects.destructive
        or (described.permission.kind == "read" and not described.inside)
    )


def refusal(mode: str | None, described: Described) -> str:
    """What the model is told of a call that `decide` refused."""
    why = {
        PLAN: "this session is in plan mode, where nothing is written or run:"
        " say what you would do instead",
        DONT_ASK: "it needs an approval, and this session asks nobody for one",
    }.get(mode or UNNAMED, "this session's mode of approval does not allow it")
    return f"{described.display_name} was not run: {why}."
