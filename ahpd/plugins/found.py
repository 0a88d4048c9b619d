"""A plugin that was found: its manifest, and the module that would be imported."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.manifest import Manifest

if TYPE_CHECKING:
    from importlib.metadata import Distribution


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Found:
    """What is known of a plugin without importing it."""

    entry: PluginEntry
    id: str
    manifest: Manifest
    kind: Literal["distribution", "tree", "standalone"]
    """`tree` is a distribution's source tree that is not installed."""
    module: str
    """What is imported; of a standalone plugin a name nobody else imports."""
    file: Path
    """The module's file: the `__init__.py` of a package."""
    folder: Path
    """The plugin's folder: what its icons and texts are relative to, and stay inside of."""
    root: Path
    """The folder `module` is imported from."""
    distribution: str | None = None
    """Its name, where there is one."""
    installed: "Distribution | None" = attrs.field(default=None, repr=False)
    """The distribution of an installed plugin."""
    copy: "Distribution | None" = attrs.field(default=None, repr=False)
    """Of a source tree: the copy of its distribution that the plugin root holds."""
    requirements: Sequence[str] = attrs.field(default=(), repr=False)
    """What the distribution says it needs (PEP 508), this program among it."""
    warnings: Sequence[str] = ()
    """What a person should know of it although it loads, a line each."""

    @property
    def title(self) -> str:
        """What it is called: by its manifest, its distribution, or its id."""
        return self.manifest.title or self.distribution or self.id

    @property
    def version(self) -> str | None:
        """Its distribution's version, or the one its manifest gives."""
        return self.manifest.version

    @property
    def undeclared(self) -> bool:
        """Whether it says nothing of what it registers."""
        return self.manifest.contracts is None
