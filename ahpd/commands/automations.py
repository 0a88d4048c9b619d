"""Automations: `listAutomationTriggerDefinitions`.

What is listed is what plugins register: those types can be fired here. Source: AHP.txt, of that
name.
"""

from collections.abc import Mapping

from ahpd.extensions.triggers import TriggerTypes
from ahpd.interfaces import Command, ICaller
from ahpd.protocol import State


def automation_commands(triggers: TriggerTypes) -> Mapping[str, Command]:
    """The command by its method; its params were checked for shape.

    The types are the same for every backend and folder, so what the params name narrows nothing.
    """

    def list_definitions(caller: ICaller, params: State) -> State:
        return {"items": list(triggers.definitions())}

    return {"listAutomationTriggerDefinitions": list_definitions}
