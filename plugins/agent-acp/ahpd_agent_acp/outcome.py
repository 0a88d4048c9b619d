"""How a turn ended, from the reason an agent gives (ACP: StopReason)."""

from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import AgentFailure

log = Logger()

#: What is said of a turn the agent cut short, by its reason.
_CUT: Final = {
    "max_tokens": "stopped at the most tokens an answer may have",
    "max_turn_requests": "stopped at the most requests a turn may make",
    "refusal": "refused to go on",
}


def check_end(reason: Any, cut_turns: str, what: str) -> None:
    """Raises `AgentFailure` for a turn that did not come to its end by itself.

    One the agent cut short fails, typed by the reason, unless `cut_turns` is `complete`.
    """
    if reason == "cancelled":
        raise AgentFailure(f"{what} called the turn off", "cancelled")
    if isinstance(reason, str) and reason in _CUT:
        if cut_turns == "error":
            raise AgentFailure(f"{what} {_CUT[reason]}", reason)
    elif reason != "end_turn":
        log.warn("{what} ended a turn for the reason {reason!r}", what=what, reason=reason)
