"""Which engines there are, and the one a record names.

An engine that is installed beside this host is an entry point of the group `ahpd.engines`: its
name is the engine's, and what it loads is an `IEngine`, or a callable without arguments that
makes one. Names are read without importing anything; an engine is imported when it is asked
for. What plugins register joins those while the host runs. Source: PLUGINS.txt, "An engine of
your own".
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.config.records import is_slug
from ahpd.interfaces.engines import IEngine, RecordFailure
from ahpd.interfaces.plugins import Owned
from ahpd.records.words import failure_words

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = Logger()

GROUP: Final = "ahpd.engines"

#: By engine, the distribution that brings it: those this project publishes.
DISTRIBUTIONS: Final = {"acp": "ahpd-agent-acp", "openai": "ahpd-agent-openai"}


class UnknownEngine(RecordFailure):
    """An engine that is not here."""


class MissingEngine(UnknownEngine):
    """An engine that is not here and that can be; `words` say so and `mend` is the command that installs it."""

    def __init__(self, words: str, mend: str) -> None:
        super().__init__(f"{words}; {mend} installs it")
        self.words = words
        self.mend = mend


def install_command(name: str) -> str | None:
    """The command that installs the engine `name`; None where nobody here knows one."""
    distribution = DISTRIBUTIONS.get(name)
    return None if distribution is None else f"pip install {distribution}"


def installed() -> "Iterable[EntryPoint]":
    """The entry points of every engine that is installed."""
    # Reading what is installed takes some milliseconds, which a host without records saves.
    from importlib.metadata import entry_points  # noqa: PLC0415

    return entry_points(group=GROUP)


class Engines:
    """The engines of a host. `built_in` makes this program's own, by name."""

    def __init__(
        self,
        built_in: Mapping[str, Callable[[], Any]],
        found: "Callable[[], Iterable[EntryPoint]]" = installed,
    ) -> None:
        self._built_in = built_in
        self._found = found
        self._points: dict[str, EntryPoint] | None = None
        self._loaded: dict[str, Any] = {}
        self._registered: dict[str, Owned] = {}
        self._left: set[tuple[str, str]] = set()

    def names(self) -> Sequence[str]:
        """Every engine's name: this program's own, what is installed, what plugins registered.

        Imports none.
        """
        own = (*self._built_in, *(name for name in self._by_name() if name not in self._built_in))
        return (*own, *(name for name in self._registered if name not in own))

    def contributed(self, items: Mapping[str, Owned]) -> Collection[str]:
        """Have plugins' engines be `items` (`Owned` of `IEngine`, by name); what moved, by name.

        One with the name of an engine that is there without plugins is left out, and said once.
        """
        if not items and not self._registered:
            return ()
        before, self._registered = self._registered, dict(items)
        for name in before.keys() - items.keys():
            self._left = {each for each in self._left if each[0] != name}
        for name, owned in items.items():
            taken = name in self._built_in or self._is_point(name)
            if taken and (name, owned.plugin) not in self._left:
                self._left.add((name, owned.plugin))
                log.error(
                    "the engine {name} of the plugin {plugin} is left out: "
                    "an engine that is installed has its name",
                    name=name,
                    plugin=owned.plugin,
                )
        return {
            name
            for name in before.keys() | items.keys()
            if _value(before.get(name)) is not _value(items.get(name))
        }

    def registrant(self, name: str) -> str | None:
        """The plugin whose engine `name` is; None for one that is there without plugins."""
        owned = self._registered.get(name)
        if owned is None or name in self._built_in or self._is_point(name):
            return None
        return owned.plugin

    def distribution(self, name: str) -> str | None:
        """The distribution that brings the engine `name`, where it is known."""
        if name in self._built_in:
            return "ahpd"
        point = self._by_name().get(name)
        return None if point is None else _distribution(point) or None

    def held(self, name: str) -> Any:
        """The engine `name` where it was imported, or needs no import; None where it was not."""
        loaded = self._loaded.get(name)
        if loaded is None and self.registrant(name) is not None:
            return self._registered[name].value
        return None if isinstance(loaded, RecordFailure) else loaded

    def get(self, name: str) -> Any:
        """The engine `name` (`IEngine`). Raises `RecordFailure`, the same one each time."""
        if name not in self._built_in and not self._is_point(name):
            owned = self._registered.get(name)
            if owned is None:
                raise self._unknown(name)
            return owned.value
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name)
            except RecordFailure as failure:
                self._loaded[name] = failure
        loaded = self._loaded[name]
        if isinstance(loaded, RecordFailure):
            raise loaded.with_traceback(None)
        return loaded

    def _is_point(self, name: str) -> bool:
        return name in self._by_name()

    def _load(self, name: str) -> Any:
        if name in self._built_in:
            return self._built_in[name]()
        point = self._by_name()[name]
        whose = f'the engine "{name}" ({point.value})'
        try:
            loaded = point.load()
            engine = loaded if IEngine.providedBy(loaded) else loaded()
        except (Exception, SystemExit) as error:
            raise RecordFailure(f"{whose} cannot be loaded: {failure_words(error)}") from None
        try:
            verifyObject(IEngine, engine)
        except Invalid as error:
            raise RecordFailure(f"{whose} is no engine: {failure_words(error)}") from None
        if engine.name != name:
            raise RecordFailure(f"{whose} calls itself {engine.name!r}, not {name!r}")
        return engine

    def _unknown(self, name: str) -> UnknownEngine:
        command = install_command(name)
        if command is not None:
            return MissingEngine(f'the engine "{name}" is not installed', command)
        return UnknownEngine(
            f'there is no engine "{name}" here; installed: {", ".join(self.names())}'
        )

    def _by_name(self) -> "Mapping[str, EntryPoint]":
        """The entry points by name; of two with one name the first counts, by distribution."""
        if self._points is None:
            self._points = {}
            for point in sorted(self._found(), key=lambda each: (_distribution(each), each.name)):
                held = self._points.get(point.name)
                if not is_slug(point.name) or point.name in self._built_in:
                    self._left_out(point, "a name it cannot have")
                elif held is None:
                    self._points[point.name] = point
                elif held.value != point.value:  # one that is installed twice is one
                    self._left_out(point, f"a name {_distribution(held)} has")
        return self._points

    def _left_out(self, point: "EntryPoint", why: str) -> None:
        log.error(
            "the engine {name} of {distribution} is left out: it has {why}",
            name=point.name,
            distribution=_distribution(point),
            why=why,
        )


def _value(owned: Owned | None) -> Any:
    return None if owned is None else owned.value


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else ""
