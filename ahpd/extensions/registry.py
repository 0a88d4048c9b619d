"""The one registry of what is served under `x-` names: the host's own and every plugin's.

A name has one holder: the first stands, the host's own ahead of every plugin's, and the later one
is reported. Sources: PLUGINS.txt, "A channel of your own", "A command of your own".
"""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import Any

import attrs
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.calling import called
from ahpd.channels.store import ChannelStore
from ahpd.extensions.callers import Callers
from ahpd.extensions.channels import ServedChannel, Taken
from ahpd.extensions.dropped import Dropped, Report, logged
from ahpd.extensions.methods import ServedMethod
from ahpd.extensions.names import is_method, is_scheme, on_scheme
from ahpd.interfaces import (
    Channel,
    Command,
    Description,
    IAccess,
    IChannelHandle,
    IChannelSource,
    IClientConnection,
    ISubscriber,
    Method,
    Owned,
)
from ahpd.protocol import State
from ahpd.protocol.characters import HALF_WORDS, is_whole_json
from ahpd.protocol.errors import resource_not_found
from ahpd.protocol.uris import scheme as scheme_of

log = Logger()


@attrs.frozen(eq=False, repr=False)
class _Holding:
    """Who holds a name: None is the host, and `value` what was registered."""

    plugin: str | None
    value: Any
    served: Any


@implementer(IChannelSource)
class Extensions:
    """Every `x-` channel and command. `changed` is called when there are others than before."""

    def __init__(self, store: ChannelStore, access: IAccess, report: Report = logged) -> None:
        self.callers = Callers(access)
        self.changed: Callable[[], None] = lambda: None
        self._store = store
        self._dropped_channels = Dropped(report)
        self._dropped_methods = Dropped(report)
        self._channels: dict[str, _Holding] = {}
        self._methods: dict[str, _Holding] = {}
        self._commands: dict[str, Command] = {}
        #: The commands by name, as they are now.
        self.commands: Mapping[str, Command] = MappingProxyType(self._commands)
        store.watching.append(self._watched)

    # -- the host's own -----------------------------------------------------------------

    def add_channel(self, scheme: str, channel: Channel) -> IChannelHandle:
        """Serve a channel of the host's own. Raises `ValueError` for a name that is no good."""
        wrong = self._wrong_scheme(scheme)
        if wrong is not None:
            raise ValueError(wrong)
        served = self._serve_channel(scheme, channel, None)
        self.changed()
        return served

    def add_method(self, name: str, method: Method) -> None:
        """Serve a command of the host's own. Raises `ValueError` for a name that is no good."""
        self.add_methods({name: method})

    def add_methods(self, methods: Mapping[str, Method]) -> None:
        """Serve several, and say so once; see `add_method`."""
        for name, method in methods.items():
            wrong = self._wrong_method(name)
            if wrong is not None:
                raise ValueError(wrong)
            self._serve_method(name, method, None)
        self.changed()

    def remove_channel(self, scheme: str) -> None:
        """Serve a channel no more; whoever watches it does no more. Again is no error."""
        if scheme in self._channels:
            self._drop_channel(scheme)
            self.changed()

    # -- the plugins' --------------------------------------------------------------------

    def contributed_channels(self, items: Mapping[str, Owned]) -> None:
        """Serve exactly these channels for plugins, by scheme. One that is there as it was stays.

        Whoever watched a channel that went, or that another one came in place of, watches it no
        more and is owed a snapshot.
        """
        moved = _fold(items, self._channels, self._drop_channel)
        lines: list[tuple[str, str]] = []
        for scheme, item in items.items():
            if self._held_as(self._channels, scheme, item):
                continue
            wrong = self._wrong_scheme(scheme)
            if wrong is not None:
                lines.append((item.plugin, wrong))
                continue
            self._serve_channel(scheme, item.value, item.plugin)
            moved = True
        self._dropped_channels.are(lines)
        if moved:
            self.changed()

    def contributed_methods(self, items: Mapping[str, Owned]) -> None:
        """Serve exactly these commands for plugins, by name. One that is there as it was stays."""
        moved = _fold(items, self._methods, self._drop_method)
        lines: list[tuple[str, str]] = []
        for name, item in items.items():
            if self._held_as(self._methods, name, item):
                continue
            wrong = self._wrong_method(name)
            if wrong is not None:
                lines.append((item.plugin, wrong))
                continue
            self._serve_method(name, item.value, item.plugin)
            moved = True
        self._dropped_methods.are(lines)
        if moved:
            self.changed()

    def handle(self, scheme: str) -> IChannelHandle | None:
        """What a channel that is served now is spoken on; None where none is."""
        held = self._channels.get(scheme)
        served: ServedChannel | None = None if held is None else held.served
        return served

    def handle_of(self, plugin: str, scheme: str) -> IChannelHandle | None:
        """What the channel of a plugin's is spoken on; None for one that is not the plugin's."""
        held = self._channels.get(scheme)
        return None if held is None or held.plugin != plugin else self.handle(scheme)

    # -- what is said of them --------------------------------------------------------------

    def described(self) -> State:
        """The entries of `_meta`: `ahpd.channels` and `ahpd.methods`, without one that is empty."""
        channels = [_entry("scheme", scheme, held.value) for scheme, held in self._channels.items()]
        methods = [_entry("method", name, held.value) for name, held in self._methods.items()]
        described: State = {}
        if channels:
            described["ahpd.channels"] = channels
        if methods:
            described["ahpd.methods"] = methods
        return described

    # -- IChannelSource, and what a subscribe asks ---------------------------------------------

    def resolve(self, channel: str) -> str | None:
        """See `IChannelSource.resolve`."""
        scheme = scheme_of(channel)
        return on_scheme(channel, scheme) if scheme in self._channels else None

    def ready(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.ready`: the store never holds a state of these."""
        return None

    def sought(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.sought`: there is nowhere else to look."""
        return None

    def enter(self, name: str, connection: IClientConnection) -> Taken | Awaitable[Taken]:
        """Let a connection in to a channel, spelled as `resolve` does, and read it.

        Raises `RpcError`: -32001 for one nobody serves, -32009 for who may not read it.
        """
        held = self._channels.get(scheme_of(name))
        if held is None:
            raise resource_not_found(name)
        served: ServedChannel = held.served
        return served.enter(name, connection)

    def _watched(self, channel: str, subscriber: ISubscriber, began: bool) -> None:
        held = self._channels.get(scheme_of(channel)) if channel.startswith("x-") else None
        if held is not None:
            held.served.watched(channel, subscriber, began)

    # -- the table -------------------------------------------------------------------------

    def _wrong_scheme(self, scheme: str) -> str | None:
        if not is_scheme(scheme):
            return f"the channel {scheme} is left out: a channel's scheme is x- and lower case"
        return _taken("channel", scheme, self._channels)

    def _wrong_method(self, name: str) -> str | None:
        if not is_method(name):
            return f"the command {name} is left out: a command's name begins with x-"
        return _taken("command", name, self._methods)

    def _serve_channel(self, scheme: str, channel: Channel, plugin: str | None) -> ServedChannel:
        served = ServedChannel(scheme, channel, self._store, self.callers)
        self._channels[scheme] = _Holding(plugin, channel, served)
        return served

    def _serve_method(self, name: str, method: Method, plugin: str | None) -> None:
        served = ServedMethod(name, method, self.callers)
        self._methods[name] = _Holding(plugin, method, served)
        self._commands[name] = served

    def _drop_channel(self, scheme: str) -> None:
        self._channels.pop(scheme).served.served = False
        self._store.close_scheme(scheme)

    def _drop_method(self, name: str) -> None:
        held = self._methods.pop(name)
        del self._commands[name]
        held.served.drop()

    @staticmethod
    def _held_as(held: Mapping[str, _Holding], name: str, item: Owned) -> bool:
        known = held.get(name)
        return known is not None and known.plugin == item.plugin


def _fold(
    items: Mapping[str, Owned], held: Mapping[str, _Holding], drop: Callable[[str], None]
) -> bool:
    """Drop what plugins hold and do not contribute like that any more; whether anything went."""
    gone = [
        name
        for name, known in held.items()
        if known.plugin is not None
        and (
            name not in items
            or items[name].plugin != known.plugin
            or items[name].value is not known.value
        )
    ]
    for name in gone:
        drop(name)
    return bool(gone)


def _taken(what: str, name: str, held: Mapping[str, _Holding]) -> str | None:
    known = held.get(name)
    if known is None:
        return None
    whose = "this host" if known.plugin is None else f"the plugin {known.plugin}"
    return f"the {what} {name} is left out: {whose} serves it already"


def _entry(key: str, name: str, value: Any) -> State:
    """What a client is told of a channel or a command: `{scheme | method, title, ...}`."""
    described = Description(title=name)
    if value.describe is not None:
        try:
            described = called(value.describe)
            if not isinstance(described, Description) or not isinstance(described.title, str):
                raise TypeError(f"describe() answered {type(described).__name__}")
            if not is_whole_json([described.title, described.description]):
                raise ValueError(f"describe() answered what {HALF_WORDS}")
        except Exception:
            log.failure("{name} cannot say what it is", name=name)
            described = Description(title=name)
    entry: State = {key: name, "title": described.title or name}
    if described.description:
        entry["description"] = described.description
    entry["grant"] = value.grant
    return entry
