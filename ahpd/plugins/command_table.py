"""The commands of `x-ahpd-plugins` by name, with what each needs; `PluginCommands` does them.

That one knows all there is of plugins, so it is made when the first of its commands comes.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from ahpd.interfaces import Caller, Method
from ahpd.protocol import State

if TYPE_CHECKING:
    from ahpd.plugins.commands import PluginCommands

_GRANTS: Final = {
    "install": "plugin:install",
    "remove": "plugin:install",
    "update": "plugin:install",
    "write": "plugin:install",
    "source": "plugin:install",
    "enable": "plugin:enable",
    "disable": "plugin:disable",
    "options": "plugin:options",
    "apply": "plugin:reload",
    "reload": "plugin:reload",
}


def plugin_methods(commands: "Callable[[], PluginCommands]") -> Mapping[str, Method]:
    """The commands by their names on the wire; `commands()` answers one object each time."""

    def asked(name: str) -> Callable[[Mapping[str, Any], Caller], Awaitable[State]]:
        async def answer(params: Mapping[str, Any], caller: Caller) -> State:
            return await commands().answer(name, params)

        return answer

    return {
        f"x-ahpd/plugins/{name}": Method(grant=grant, handle=asked(name))
        for name, grant in _GRANTS.items()
    }
