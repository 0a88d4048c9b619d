"""An entry of the configuration, and what it names: looked up, and nothing of it loaded."""

from typing import TYPE_CHECKING

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.skipped import Skipped

if TYPE_CHECKING:
    from ahpd.plugins.found import Found


@attrs.frozen(eq=False, repr=False)
class Named:
    """An entry of the configuration, and what it names."""

    plugin: str
    """Its id, or its source where it has none of its own."""
    entry: PluginEntry
    result: "Found | Skipped"

    @property
    def known(self) -> "Found | None":
        """What is known of the plugin, loadable or not; None for nothing."""
        return self.result.found if isinstance(self.result, Skipped) else self.result

    def found(self) -> "Found":
        """What was found. Raises `Skipped`."""
        if isinstance(self.result, Skipped):
            raise self.result
        return self.result
