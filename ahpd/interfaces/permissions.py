"""Who answers a question about a tool call: rules before people.

Source: PLUGINS.txt, "A question about a tool call".
"""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs
from zope.interface import Interface

from ahpd.interfaces.turns import Permission
from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class Question:
    """A call that asks, and what its session and this host know."""

    permission: Permission
    tool: str
    """The tool's name as the backend calls it: what rules name it by."""
    eligibility: str
    """Its key in `eligibleForAutoApproval`: the backend's own tool name, `host/<name>` for a
    tool of this host, `<server>/<tool>` for an MCP server's, a client's tool by its own name."""
    options: Sequence[State] = ()
    """What the backend offered (schema: ConfirmationOption)."""
    session_values: Mapping[str, Any] = attrs.field(factory=dict)
    """The configuration in force for the chat: `permissions`, `autoApprove`,
    `sensitiveEditLocations` and more are read from it."""
    host_values: Mapping[str, Any] = attrs.field(factory=dict)
    """The root configuration's values: `permissions`, `globalAutoApproveEnabled`,
    `autoApprovePolicyRestricted`, `terminalAutoApproveEnabled`,
    `terminalAutoApproveRules`, `editAutoApprovePatterns`."""
    folders: Sequence[str] = ()
    """Paths of the session's folders, the primary first."""
    snapshots: Sequence[str] = ()
    """Paths of folders of attachments' snapshots the host keeps: read freely, written never."""
    attached: Sequence[str] = ()
    """Paths of what people attached to messages of this chat."""


@attrs.frozen(kw_only=True)
class Grant:
    """Rules that an option adds where it is picked."""

    scope: str
    """`session` or `host`."""
    rules: Sequence[str]
    """For `permissions.allow`."""


@attrs.frozen(kw_only=True)
class Verdict:
    """What is to be done about a question."""

    decision: str
    """`approve`, `deny` or `ask`."""
    because: str
    """The rule or setting that decided it, in words, for the log."""
    options: Sequence[State] = ()
    """Of an `ask`: what people are offered (schema: ConfirmationOption)."""
    grants: Mapping[str, Grant] = attrs.field(factory=dict)
    """Of an `ask`: what is kept where the option of this id is picked."""
    meta: Mapping[str, Any] = attrs.field(factory=dict)
    """Of an `ask`: marks for the question's `_meta`."""


class IJudge(Interface):
    """Decides about questions from rules alone; pure but for looking where paths lead."""

    def judge(question: Question) -> Verdict:
        """What is to be done. Never raises: what cannot be read is asked about."""
