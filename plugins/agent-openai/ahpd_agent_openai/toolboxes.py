"""The tools of this engine's sessions, made of what a record switches on."""

from collections.abc import Callable
from pathlib import Path

from ahpd.interfaces import ChatStart, EnginePorts
from ahpd_agent_openai.chat import ISessionTools
from ahpd_agent_openai.settings import Settings
from ahpd_agent_openai.tools import make_toolbox
from ahpd_agent_openai.tools.switches import switches


def own_tools(
    settings: Settings, ports: EnginePorts, store: Path | None
) -> Callable[[ChatStart], ISessionTools]:
    """Makes the toolbox of a chat. Raises `RecordFailure` for switches that cannot be read.

    A child inherits no variable that holds one of the record's keys.
    """
    wanted = switches(settings.tools)
    secret = settings.secret_variables(ports.environ)

    def opened(start: ChatStart) -> ISessionTools:
        return make_toolbox(
            ports,
            folders=start.working_directories,
            switches=wanted,
            store=store,
            hidden=secret,
        )

    return opened
