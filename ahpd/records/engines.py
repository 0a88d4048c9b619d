"""Which engines there are, and the one a record names.

An engine that is installed beside this host is an entry point of the group `ahpd.engines`: its
name is the engine's, and what it loads is an `IEngine`, or a callable without arguments that
makes one. Names are read without importing anything; an engine is imported when it is asked
for. Source: PLUGINS.txt, "An engine of your own".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from twisted.logger import Logger
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.config.records import is_slug
from ahpd.interfaces.engines import IEngine, RecordFailure
from ahpd.records.words import failure_words

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

log = Logger()

GROUP: Final = "ahpd.engines"

#: By engine, the distribution that brings it: those this project publishes.
DISTRIBUTIONS: Final = {"acp": "ahpd-agent-acp", "openai": "ahpd-agent-openai"}


class MissingEngine(RecordFailure):
    """An engine that is not here; `words` say so and `mend` is the command that installs it."""

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

    def names(self) -> Sequence[str]:
        """Every engine's name, this program's own first; imports none."""
        return (*self._built_in, *(name for name in self._by_name() if name not in self._built_in))

    def get(self, name: str) -> Any:
        """The engine `name` (`IEngine`). Raises `RecordFailure`, the same one each time."""
        if name not in self._loaded:
            try:
                self._loaded[name] = self._load(name)
            except RecordFailure as failure:
                self._loaded[name] = failure
        loaded = self._loaded[name]
        if isinstance(loaded, RecordFailure):
            raise loaded.with_traceback(None)
        return loaded

    def _load(self, name: str) -> Any:
        if name in self._built_in:
            return self._built_in[name]()
        point = self._by_name().get(name)
        if point is None:
            raise self._unknown(name)
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

    def _unknown(self, name: str) -> RecordFailure:
        command = install_command(name)
        if command is not None:
            return MissingEngine(f'the engine "{name}" is not installed', command)
        return RecordFailure(
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


def _distribution(point: "EntryPoint") -> str:
    return point.dist.name if point.dist is not None else ""
