"""The tools this host has of its own, in the order sessions list them."""

from collections.abc import Callable, Sequence

from ahpd.interfaces import HostTool, IHostTerminals, IResources
from ahpd.protocol import State
from ahpd.tools.artifacts import artifact_tools
from ahpd.tools.creating import Creation
from ahpd.tools.limits import MOST_CHATS, MOST_MESSAGES, MOST_SESSIONS, Allowance
from ahpd.tools.listing import listing_tools
from ahpd.tools.managing import managing_tools
from ahpd.tools.ports import SessionWorld
from ahpd.tools.resources import ResourceTools
from ahpd.tools.sending import sending_tool
from ahpd.tools.terminals import TerminalTools
from ahpd.tools.transcript import context_tool


def own_tools(
    world: SessionWorld,
    *,
    seconds: Callable[[], float],
    ids: Callable[[], str],
    resources: IResources | None = None,
    terminals: IHostTerminals | None = None,
    infos: Callable[[], Sequence[State]] = lambda: (),
) -> list[HostTool]:
    """All of them; those of resources and terminals where the host has any.

    `seconds` is a clock that never goes back, `ids` a source of new ids, `infos` the root's list
    of terminals (schema: TerminalInfo) now.
    """
    chats = Allowance(seconds, MOST_CHATS, "create a chat")
    sessions = Allowance(seconds, MOST_SESSIONS, "create a session")
    messages = Allowance(seconds, MOST_MESSAGES, "send a message")
    current = listing_tools(world)
    rename, workspace, delete = managing_tools(world, resources)
    tools = [
        *current,
        workspace,
        *Creation(world, resources, sessions, chats).tools(),
        rename,
        sending_tool(world, messages),
        context_tool(world),
        delete,
        *artifact_tools(world, ids),
    ]
    if resources is not None:
        tools += ResourceTools(resources, world).tools()
    if terminals is not None:
        tools += TerminalTools(terminals, infos, world).tools()
    return tools
