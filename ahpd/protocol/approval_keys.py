"""The configuration keys that questions about tool calls are judged by, as clients write them.

What declares them (the root's schema, a session's) and what reads them (the judge) agree on
them here. Source: AHP.txt, `root/configChanged`; PLUGINS.txt, "A question about a tool call".
"""

from typing import Final

#: A session's: whether its calls run unasked, `ALLOW_ALL`. Any other value asks.
AUTO_APPROVE: Final = "autoApprove"
ALLOW_ALL: Final = "autoApprove"

#: The host's: whether nobody is asked in any session, and whether no session may be set to
#: approve everything.
GLOBAL_AUTO_APPROVE: Final = "globalAutoApproveEnabled"
POLICY_RESTRICTED: Final = "autoApprovePolicyRestricted"
#: The host's: whether the table of commands is read, the table, and which files are written
#: without asking.
TERMINAL_ENABLED: Final = "terminalAutoApproveEnabled"
TERMINAL_RULES: Final = "terminalAutoApproveRules"
EDIT_PATTERNS: Final = "editAutoApprovePatterns"
