"""What an option is: a key of the file, a flag, and a field of `Settings`."""

from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config.kinds import Directories, Kind, Names, Structured
from ahpd.config.plugin_flags import PluginOptions, PluginSources
from ahpd.config.redaction import SET

#: Where a field of `Settings` keeps its declaration.
METADATA: Final = "ahpd.option"


@attrs.frozen(kw_only=True)
class Option:
    """One option: a key of the file, a flag, and a field of `Settings`."""

    name: str
    """The field of `Settings`: `delta_window_ms`."""
    kind: Kind
    default: Any
    """The value in force when nobody says one."""
    default_words: str
    """That value as it is documented."""
    help: str
    """One sentence, for usage lines and the documentation's table."""
    secret: bool = False
    """Whether the value is never shown."""
    singular: str | None = None
    """A second spelling of the flag of a list, which is said once for each value."""
    file_only: bool = False
    """Whether it stands in the file alone, and no flag takes it."""
    flag_only: bool = False
    """Whether it is a flag alone, and no file may hold it."""

    @property
    def key(self) -> str:
        """The key in the file: `deltaWindowMs`."""
        head, *rest = self.name.split("_")
        return head + "".join(word.capitalize() for word in rest)

    @property
    def flag(self) -> str:
        """The flag, without its dashes: `delta-window-ms`."""
        return self.name.replace("_", "-")

    @property
    def many(self) -> bool:
        """Whether the flag may be said more than once."""
        return isinstance(self.kind, Directories | Names | PluginSources | PluginOptions)

    def shown(self, value: Any) -> Any:
        """The value as JSON that may be shown: a secret in it is `<set>`."""
        if self.secret:
            return None if value is None else SET
        if isinstance(self.kind, Structured):
            return self.kind.shown(value)
        if isinstance(value, tuple):
            return [str(item) for item in value]
        return str(value) if isinstance(value, Path) else value


def option(
    kind: Kind,
    words: str,
    *,
    default: Any = None,
    unset: str | None = None,
    secret: bool = False,
    singular: str | None = None,
    file_only: bool = False,
    flag_only: bool = False,
) -> Any:
    """Declare an option; `unset` says the default where its value does not say enough."""
    declared = {
        "kind": kind,
        "default": default,
        "default_words": str(default) if unset is None else unset,
        "help": words,
        "secret": secret,
        "singular": singular,
        "file_only": file_only,
        "flag_only": flag_only,
    }
    quiet = secret or isinstance(kind, Structured)
    return attrs.field(default=default, metadata={METADATA: declared}, repr=not quiet)
