"""Values of the root configuration that are the host's own: it says them, and clients read them.

What a client sends for one is handed to whoever has it, who refuses it or takes it over and
answers what is said in its place. Source: PLUGINS.txt, "Operating plugins" (`plugins.<id>` and
`ahpd.restartNeeded`).
"""

from collections.abc import Awaitable, Callable, Mapping
from inspect import isawaitable
from typing import Any, Final

import attrs

from ahpd.channels.envelope import Origin
from ahpd.interfaces import Refusal
from ahpd.protocol import Action, State


@attrs.frozen(kw_only=True)
class HostValue:
    """One key: its schema (ConfigPropertySchema) and its value now, as every client may read it."""

    schema: State
    value: Any


#: Begins the keys of plugins' options: what a client sends for one may be a credential.
PLUGINS: Final = "plugins."
_SET: Final = "<set>"


def shown_refused(action: Action) -> Action:
    """A client's action as it is shown where it was refused.

    That goes to everybody who watches and is held for those who come back, so the options of
    plugins in it are not: nobody has said yet which of them are credentials.
    """
    config = action.get("config")
    if action.get("type") != "root/configChanged" or not isinstance(config, Mapping):
        return action
    return {**action, "config": {key: _SET if _is_plugins(key) else config[key] for key in config}}


def _is_plugins(key: object) -> bool:
    return isinstance(key, str) and key.startswith(PLUGINS)


#: A client sent `value` for `key`: answers, or awaits, what is said in its place. Raises `Refusal`.
Pushed = Callable[[str, Any, Origin], Any]


def read_only(key: str, value: Any, origin: Origin) -> Any:
    """A key no client may set."""
    raise Refusal(f"config.{key}: this host sets it itself")


@attrs.frozen
class _Source:
    values: Mapping[str, HostValue]
    pushed: Pushed


class HostValues:
    """The values of each source by its name."""

    def __init__(self) -> None:
        self._sources: dict[str, _Source] = {}

    def replace(self, source: str, values: Mapping[str, HostValue], pushed: Pushed) -> None:
        """These are the source's from now on; none takes it away."""
        if values:
            self._sources[source] = _Source(dict(values), pushed)
        else:
            self._sources.pop(source, None)

    def schemas(self) -> dict[str, State]:
        """Every key's schema."""
        return {
            key: held.schema for one in self._sources.values() for key, held in one.values.items()
        }

    def values(self) -> dict[str, Any]:
        """Every key's value."""
        return {
            key: held.value for one in self._sources.values() for key, held in one.values.items()
        }

    def taken(
        self, action: Action, held: Mapping[str, Any], origin: Origin
    ) -> Action | Awaitable[Action]:
        """A client's `root/configChanged` as it is to be said: the values here are the host's.

        `held` are the values now. Whoever has a key that differs is asked about it, in order, and
        what one refuses is refused whole, and so is a plugin's key that nobody has. With `replace`
        the host's own stay, sent or not, and such a key is left out.
        """
        config: Mapping[str, Any] = action["config"]
        own = self.values()
        asked = {key: config[key] for key in own if key in config and config[key] != held.get(key)}
        unknown = [key for key in config if _is_plugins(key) and key not in own]
        if unknown and not action.get("replace"):
            # It would be shown to everybody as it was sent.
            raise Refusal(f"config.{unknown[0][:100]}: there is no such plugin here")
        kept = {key: value for key, value in config.items() if key not in unknown}
        if action.get("replace"):
            kept.update({key: held.get(key, value) for key, value in own.items()})
        if not asked:
            return action if kept == config else {**action, "config": kept}
        waiting = list(asked.items())
        while waiting:
            key, value = waiting.pop(0)
            answer = self._asked(key, value, origin)
            if isawaitable(answer):
                return self._taken_later(action, kept, key, answer, waiting, origin)
            kept[key] = answer
        return {**action, "config": kept}

    async def _taken_later(
        self,
        action: Action,
        kept: dict[str, Any],
        key: str,
        answer: Awaitable[Any],
        waiting: list[tuple[str, Any]],
        origin: Origin,
    ) -> Action:
        kept[key] = await answer
        for following, value in waiting:
            found = self._asked(following, value, origin)
            kept[following] = await found if isawaitable(found) else found
        return {**action, "config": kept}

    def _asked(self, key: str, value: Any, origin: Origin) -> Any:
        for one in self._sources.values():
            if key in one.values:
                return one.pushed(key, value, origin)
        raise AssertionError(f"{key} is nobody's")
