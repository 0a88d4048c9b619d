"""A plugin that is not loaded, and why."""

from collections.abc import Collection
from typing import TYPE_CHECKING, Final, Literal

from ahpd.config.plugins import PluginEntry
from ahpd.interfaces.plugins import PluginError
from ahpd.plugins.cleared import cleared

if TYPE_CHECKING:
    from ahpd.plugins.found import Found

#: What a listing says of a plugin. Source: PLUGINS.txt, "What happens when a plugin fails".
PluginState = Literal["ready", "incompatible", "unconfigured", "disabled", "missing", "error"]

MISSING: Final = "missing"
INCOMPATIBLE: Final = "incompatible"
ERROR: Final = "error"


class Skipped(PluginError):
    """A plugin cannot be loaded; `str()` is why, in one line without the plugin's name.

    `plugin` is its id, or what the configuration calls it where it has none that can be read.
    `found` is what is known of it all the same, for a listing, and `entry` what names it.
    `modules` are the names of those its import left again. `distribution` is the one it is of,
    where that is installed and nothing more is known.
    """

    def __init__(
        self,
        why: str,
        plugin: str = "",
        *,
        state: PluginState = "error",
        found: "Found | None" = None,
        modules: Collection[str] = (),
        distribution: str | None = None,
    ) -> None:
        # What names a plugin may be an address, with what signs in there.
        self.why, self.plugin = cleared(why), cleared(plugin)
        super().__init__(self.why)
        self.modules = modules
        self.distribution = distribution
        self.state: PluginState = state
        self.found = found
        self.entry: PluginEntry | None = None if found is None else found.entry

    @property
    def line(self) -> str:
        """What the log is told."""
        return f"plugin {self.plugin} skipped: {self.why}"
