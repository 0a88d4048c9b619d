"""What the host says in `_meta` of what it serves beside the protocol.

`ahpd.channels`, `ahpd.methods`, `ahpd.grants` and `ahpd.resourceProviders`, at `initialize` and on
the root's state. The protocol has no action for the root's `_meta`: a client that watches the root
reads it with its next snapshot. Source: PLUGINS.txt, "What you can register".
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.extensions.grants import Grants
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import (
    IListedResources,
    IResolvedResources,
    IWatchedResources,
    IWritableResources,
    Owned,
)
from ahpd.protocol import State
from ahpd.wire.codec import decode, encode

log = Logger()

#: Every key there may be.
KEYS: Final = ("ahpd.channels", "ahpd.methods", "ahpd.grants", "ahpd.resourceProviders")

#: What a provider's interfaces let a client do, in the words of grants.
_OPERATIONS: Final[tuple[tuple[Any, tuple[str, ...]], ...]] = (
    (IListedResources, ("list",)),
    (IResolvedResources, ("resolve",)),
    (IWatchedResources, ("watch",)),
    (IWritableResources, ("put", "delete", "mkdir", "move", "copy")),
)


class Described:
    """The entries of `_meta`, as they are now. `changed` is called when they are others."""

    def __init__(self, extensions: Extensions, grants: Grants) -> None:
        self.changed: Callable[[], None] = lambda: None
        self._extensions = extensions
        self._grants = grants
        self._providers: State = {}
        self._said: State | None = None
        extensions.changed = self.moved

    def contributed(self, items: Mapping[str, Owned]) -> None:
        """The resource providers of the plugins, by scheme."""
        self._providers = {
            scheme: provider_entry(scheme, item.value) for scheme, item in items.items()
        }
        self.moved()

    def contributed_grants(self, items: Mapping[str, Owned]) -> None:
        """The subjects the plugins register."""
        self._grants.contributed(items)
        self.moved()

    def meta(self) -> State:
        """The entries by key, as they were when they moved last; one that would be empty is absent."""
        if self._said is None:
            self._said = self._read()
        return self._said

    def _read(self) -> State:
        meta = {
            **self._extensions.described(),
            "ahpd.grants": self._grants.described(self._providers),
        }
        if self._providers:
            meta["ahpd.resourceProviders"] = self._providers
        return meta

    def moved(self) -> None:
        """What is described may be another now."""
        now = self._read()
        if now != self._said:
            self._said = now
            self.changed()


def provider_entry(scheme: str, provider: Any) -> State:
    """What is said of a scheme: its own words, and what the host sees it can do."""
    entry: State = {}
    describe = getattr(provider, "describe", None)
    if callable(describe):
        try:
            entry = called(lambda: _words(describe()))
        except Exception:
            log.failure("the scheme {scheme} cannot say what it is", scheme=scheme)
            entry = {}
    operations = ["get"]
    for interface, names in _OPERATIONS:
        if interface.providedBy(provider):
            operations += names
    return {**entry, "root": f"{scheme}://", "operations": operations}


def _words(described: Any) -> State:
    """`title`, `description` and `manifest` of what a provider answered, those it has."""
    entry: State = {}
    for name in ("title", "description", "manifest"):
        value = (
            described.get(name)
            if isinstance(described, Mapping)
            else getattr(described, name, None)
        )
        if value is None or value == "":
            continue
        expected: type[Any] = dict if name == "manifest" else str
        copy = decode(encode(value))
        if not isinstance(copy, expected):
            raise TypeError(f"describe() answered a {name} that is {type(value).__name__}")
        entry[name] = copy
    return entry
