"""A call that asks, and who answers it: the host's rules, or people where there are none.

Source: PLUGINS.txt, "A question about a tool call".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import Grant, Permission, Verdict
from ahpd.protocol import Action, State

ALLOW_SESSION: Final = "allow-session"
#: What a person is offered where the backend put no options of its own.
OPTIONS: Final[Sequence[State]] = (
    {"id": ALLOW_SESSION, "label": "Allow in this Session", "kind": "approve", "group": 1},
    {"id": "allow-once", "label": "Allow Once", "kind": "approve"},
    {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
)
#: What a person is offered whose answer is for the one call.
ONCE: Final = OPTIONS[1:]

#: What a `chat/toolCallReady` says of its question, beside the call itself.
_OF_THE_QUESTION: Final = frozenset(
    {"confirmationTitle", "riskAssessment", "edits", "editable", "options"}
)


@attrs.frozen(kw_only=True)
class Asked:
    """A call that asks, as its turn knows it."""

    tool: str
    """Its name as its start said it."""
    permission: Permission
    contributor: Mapping[str, Any] | None = None
    """Who runs it (schema: ToolCallContributor); None for the backend."""
    options: Sequence[State] = ()
    """What the backend offers (schema: ConfirmationOption)."""


#: Decides about a call that asks.
Judge = Callable[[Asked], Verdict]


def ask_people(asked: Asked) -> Verdict:
    """Nothing here has rules: a person is asked, and may allow the tool for the session."""
    if asked.options:
        return Verdict(decision="ask", because="no rules are read here", options=asked.options)
    return Verdict(
        decision="ask",
        because="no rules are read here",
        options=OPTIONS,
        grants={ALLOW_SESSION: Grant(scope="session", rules=(asked.tool,))},
    )


def ask_once(because: str) -> Verdict:
    """A person is asked, whose answer is for the one call."""
    return Verdict(decision="ask", because=because, options=ONCE)


def without_question(action: Action) -> Action:
    """A `chat/toolCallReady` with what it says of the call, and nothing of its question."""
    return {key: value for key, value in action.items() if key not in _OF_THE_QUESTION}


def answered_unasked(action: Action) -> Action:
    """A `chat/toolCallReady` that asked, of a call nobody is asked about: it is said to run."""
    return {**without_question(action), "confirmed": "not-needed"}
