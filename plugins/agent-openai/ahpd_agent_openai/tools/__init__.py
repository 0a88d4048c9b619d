"""The tools a session runs: files, commands, the web and memory.

`make_toolbox` makes a session's `ToolBox`. The loop asks it what a call would do
(`describe`), `approvals.decide` whether it may, and has it done (`run`).
"""

from ahpd_agent_openai.tools.switches import Switches, schema, switches
from ahpd_agent_openai.tools.toolbox import ToolBox, make_toolbox
from ahpd_agent_openai.tools.values import CallContext, Described, ToolOutcome

__all__ = [
    "CallContext",
    "Described",
    "Switches",
    "ToolBox",
    "ToolOutcome",
    "make_toolbox",
    "schema",
    "switches",
]
