"""Values of the session settings plugins contribute, from the plugins that answer them.

Whoever fills in a form is refused nothing because one of its pickers failed: that is empty, and
logged. Source: PLUGINS.txt, "A contributed setting can be a question".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.bounded import Overdue, bounded, words_of
from ahpd.calling import awaited, called
from ahpd.completions.config import LONGEST_SEED, with_values
from ahpd.interfaces import ConfigQuery, Owned
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.json_values import object_copy
from ahpd.protocol.shapes.config import SessionConfigValueItem
from ahpd.protocol.text import plain

log = Logger()

#: How long a picker that somebody types into waits for its values, in seconds.
LONGEST_ANSWER: Final = 30.0


async def answered(
    clock: IReactorTime,
    owned: Owned,
    params: Mapping[str, Any],
    longest: float = LONGEST_ANSWER,
) -> list[State]:
    """The values a plugin answers (schema: SessionConfigValueItem). Never raises.

    `owned` is a `SessionConfigKey` with a completer, `params` are the request's (schema:
    SessionConfigCompletionsParams). None are answered where that fails or takes too long.
    """
    key = owned.value
    query = ConfigQuery(
        query=params.get("query") or "",
        provider=params.get("provider"),
        working_directory=params.get("workingDirectory"),
        config=plain(params.get("config") or {}),
    )
    words: str
    try:
        found = await awaited(bounded(lambda: key.completer(query), longest, clock))
        rows = called(list, found)
        return [_item(row, f"{key.key}[{index}]") for index, row in enumerate(rows)]
    except Overdue:
        words = f"no answer in {longest:g} s"
    except ShapeError as wrong:
        words = str(wrong)
    except Exception as failed:
        words = words_of(failed)
    log.error(
        "the plugin {plugin} has no values for {key}: {words}",
        plugin=owned.plugin,
        key=key.key,
        words=words,
    )
    return []


async def seeded_keys(
    clock: IReactorTime, keys: Mapping[str, Owned], params: Mapping[str, Any], form: State
) -> State:
    """`form` (schema: ResolveSessionConfigResult) with the first values of `keys`, asked together.

    A key that arrives with values of its own is left alone; one that failed is as it was.
    """
    declared: Mapping[str, State] = form["schema"]["properties"]
    wanted = {name: one for name, one in keys.items() if "enum" not in declared.get(name, _SEEDED)}
    if not wanted:
        return form
    asked = {**params, "query": ""}
    asking = {
        name: Deferred.fromCoroutine(
            answered(clock, owned, {**asked, "property": name}, LONGEST_SEED)
        )
        for name, owned in wanted.items()
    }
    properties = dict(declared)
    for name, one in asking.items():
        found: Sequence[State] = await one
        if found:
            properties[name] = with_values(properties[name], found)
    return {**form, "schema": {**form["schema"], "properties": properties}}


#: Stands for a key the form does not have: there is nothing to fill in.
_SEEDED: Final[State] = {"enum": []}


def _item(row: Any, at: str) -> State:
    """A value as it is sent. Raises `ShapeError` for what is none."""
    check(row, SessionConfigValueItem, at=at)
    shown = {name: row[name] for name in ("value", "label", "description") if name in row}
    return object_copy(shown, at)
