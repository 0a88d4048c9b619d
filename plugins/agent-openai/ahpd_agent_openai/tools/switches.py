"""The option `tools`: which of the four capabilities a session runs, and who searches the web.

    {"shell": false, "web": {"search": {"brave": {"apiKey": "…"}, "duckduckgo": true}}}

All four are on where it is absent, or where it does not name them. Source: PLUGINS.txt, "The
tools a session runs". Sentences about what is wrong name the field and hold no key.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import InvalidRecord
from ahpd.protocol import State
from ahpd_agent_openai.tools.web.providers import Brave, DuckDuckGo, Provider, Tavily

CAPABILITIES: Final = ("files", "shell", "web", "memory")
_KEYED: Final[Mapping[str, Callable[[str], Provider]]] = {"brave": Brave, "tavily": Tavily}
_KEYLESS: Final[Mapping[str, Callable[[], Provider]]] = {"duckduckgo": DuckDuckGo}


@attrs.frozen(kw_only=True)
class Switches:
    """What a session runs."""

    files: bool = True
    shell: bool = True
    web: bool = True
    memory: bool = True
    search: tuple[Provider, ...] = ()
    """Who is asked for a search, in this order; `web_search` is offered where there is one."""


def switches(value: Any, *, at: str = "tools", keyless: bool = False) -> Switches:
    """What `tools` says. Raises `InvalidRecord`.

    `at` is where it stands. `keyless` is for an agent's record, which may name providers that
    need no key alone: a key this deep in it would stay there for everybody to read.
    """
    if value is None:
        return Switches()
    given = _object(value, at, CAPABILITIES)
    on = {name: _switch(given.get(name, True), f"{at}.{name}") for name in CAPABILITIES}
    web = given.get("web", True)
    search: tuple[Provider, ...] = ()
    if isinstance(web, Mapping):
        search = _providers(_object(web, f"{at}.web", ("search",)), f"{at}.web.search", keyless)
    return Switches(search=search, **on)


def _object(value: Any, at: str, known: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRecord(f"{at}: expected an object with any of {', '.join(known)}")
    for name in value:
        if name not in known:
            raise InvalidRecord(
                f"{at}.{str(name)[:60]}: there is no such field; {at} takes {', '.join(known)}"
            )
    return value


def _switch(value: Any, at: str) -> bool:
    if isinstance(value, bool):
        return value
    if at.endswith(".web") and isinstance(value, Mapping):
        return True
    also = ", or an object with search" if at.endswith(".web") else ""
    raise InvalidRecord(f"{at}: expected true or false{also}")


def _providers(web: Mapping[str, Any], at: str, keyless: bool) -> tuple[Provider, ...]:
    if "search" not in web:
        return ()
    known = (*_KEYED, *_KEYLESS)
    search = _object(web["search"], at, known)
    made: list[Provider] = []
    for name, value in search.items():
        if name in _KEYED and keyless:
            raise InvalidRecord(
                f"{at}.{name}: a record names providers without a key alone, "
                f"{', '.join(_KEYLESS)}; one with a key is set in the plugin's options"
            )
        if name in _KEYED:
            made.append(_KEYED[name](_key(value, f"{at}.{name}")))
        elif value is True:
            made.append(_KEYLESS[name]())
        elif value is not False:
            raise InvalidRecord(f"{at}.{name}: expected true")
    return tuple(made)


def _key(value: Any, at: str) -> str:
    given = _object(value, at, ("apiKey",))
    key = given.get("apiKey")
    if not isinstance(key, str) or not key.strip():
        raise InvalidRecord(f"{at}.apiKey: expected the provider's key, a text")
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidRecord(f"{at}.apiKey: holds a character no key has")
    return key


def schema(*, keyless: bool = False) -> State:
    """The JSON Schema of `tools`, for an engine's own. `keyless` is as for `switches`."""
    key = {
        "type": "object",
        "properties": {"apiKey": {"type": "string", "minLength": 1, "writeOnly": True}},
        "required": ["apiKey"],
        "additionalProperties": False,
    }
    search: State = {"duckduckgo": {"type": "boolean"}}
    if not keyless:
        search = {"brave": key, "tavily": key, **search}
    web = {
        "type": "object",
        "properties": {
            "search": {"type": "object", "properties": search, "additionalProperties": False}
        },
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "title": "Tools",
        "description": "Which tools a session runs; all of them where this is left out.",
        "properties": {
            "files": {"type": "boolean"},
            "shell": {"type": "boolean"},
            "web": {"anyOf": [{"type": "boolean"}, web]},
            "memory": {"type": "boolean"},
        },
        "additionalProperties": False,
    }
