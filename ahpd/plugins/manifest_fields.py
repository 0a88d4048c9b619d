"""The fields of a manifest, each checked: from the mapping a file or an entry holds to `Manifest`.

Source: PLUGINS.txt, "The manifest", "Icons", "The contracts", "Declaring the options".
"""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_json
from ahpd.plugins.ids import is_id, not_a_slug
from ahpd.plugins.manifest import CONTRACTS, Link, Manifest
from ahpd.plugins.skipped import Skipped

_KEYS: Final = (
    "id", "title", "name", "version", "description", "categories", "links", "contracts", "icons",
    "optionsSchema", "requires", "i18n", "main", "dependencies",
)  # fmt: skip

#: Keys that other forms of a manifest have, and what is written in their place.
_MOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "options": "declare the options in optionsSchema, whose `required` says which must be set",
        "ahpd": "write its keys at the top level of the manifest",
        "entry": "write main",
        "peerDependencies": "write requires, such as requires: ahpd>=0.1,<0.2",
        "engines": "list them in contracts.engines, and the range of ahpd in requires",
        "texts": "name the folder in i18n",
    }
)
_ICON_KEYS: Final = ("src", "contentType", "sizes", "theme")
_THEMES: Final = ("light", "dark")
_AHPD: Final = "ahpd"
#: What JSON Schema calls the kinds of values.
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")


class _Wrong(Exception):
    """A field that cannot be what it is: its path (`links[0].url`), and what is wrong."""

    def __init__(self, at: str, words: str) -> None:
        super().__init__(f"{at} {words}")
        self.at = at


def manifest_of(
    values: Mapping[str, Any],
    place: str,
    *,
    called: str | None = None,
    id_if_none: str | None = None,
    lines: Callable[[str], str] | None = None,
    version: str | None = None,
) -> Manifest:
    """The manifest that `values` are. Raises `Skipped`, with one line that names key and place.

    `place` is the file or the entry that holds them, `called` what a plugin is called whose id
    they do not say (its place else), and `lines` says where in the file a key stands.
    `id_if_none` is the id of a plugin whose manifest need not say one, and the only one it may say.
    `version` is its distribution's, which goes before one the manifest says.
    """
    known = values.get("id", id_if_none)
    plugin = known if isinstance(known, str) and known else called or place
    try:
        return _manifest(values, place, id_if_none, version)
    except _Wrong as wrong:
        where = place if lines is None else lines(wrong.at)
        raise Skipped(f"{where}: {wrong}", plugin) from None


def _manifest(
    values: Mapping[str, Any], place: str, id_if_none: str | None, version: str | None
) -> Manifest:
    for key in values:
        _check_key(key, _KEYS, "")
    given = {key: value for key, value in values.items() if value is not None}
    title = _text(given, "title")
    name = _text(given, "name")
    if title is not None and name is not None:
        raise _Wrong("name", "is another word for title: write one of them")
    own_version = _text(given, "version")
    return Manifest(
        id=_id(given, place, id_if_none),
        place=place,
        title=title if title is not None else name,
        version=own_version if version is None else version,
        description=_text(given, "description") or "",
        categories=_texts(given.get("categories", []), "categories"),
        links=_links(given.get("links", [])),
        contracts=_contracts(given["contracts"]) if "contracts" in given else None,
        icons=_icons(given.get("icons", [])),
        options_schema=_schema(given["optionsSchema"]) if "optionsSchema" in given else None,
        requires=_requires(given),
        texts=_text(given, "i18n"),
        main=_text(given, "main"),
        dependencies=_dependencies(given.get("dependencies", [])),
    )


def _id(given: Mapping[str, Any], place: str, id_if_none: str | None) -> str:
    if "id" not in given:
        if id_if_none is None:
            raise _Wrong("id", "is missing: the name everything else knows the plugin by")
        return id_if_none
    found = _text(given, "id")
    assert found is not None, "it is there"
    if id_if_none is not None and found != id_if_none:
        raise _Wrong("id", f"is {found!r}, and the entry point is called {id_if_none!r}")
    if not is_id(found):
        raise Skipped(not_a_slug(f"the id {found!r} in {place}"), found)
    return found


def _check_key(key: object, known: Sequence[str], below: str) -> None:
    if key in known:
        return
    if not isinstance(key, str):
        raise _Wrong(f"{below}{key}", "is a key that is no text")
    if not below and key in _MOVED:
        raise _Wrong(key, f"is not read: {_MOVED[key]}")
    camel = re.sub(r"[_-](\w)", lambda found: found[1].upper(), key)
    near = [camel] if camel in known else difflib.get_close_matches(key, known, n=1, cutoff=0.7)
    meant = f" (did you mean {near[0]}?)" if near else f"; the keys are {', '.join(known)}"
    raise _Wrong(f"{below}{key}", f"is an unknown key{meant}")


def _text(given: Mapping[str, Any], key: str, below: str = "") -> str | None:
    """The text under `key`, on one line; None where there is none."""
    if key not in given:
        return None
    value = given[key]
    if isinstance(value, bool | int | float):
        raise _Wrong(f"{below}{key}", "must be text (quote it)")
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _Wrong(f"{below}{key}", "must be text")
    return " ".join(value.split())


def _texts(value: object, at: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise _Wrong(at, "must be a list of texts")
    for index, item in enumerate(value):
        if not isinstance(item, str) or not item.strip():
            raise _Wrong(f"{at}[{index}]", "must be text")
    return tuple(value)


def _rows(value: object, at: str, known: Sequence[str]) -> list[Mapping[str, Any]]:
    """A list of mappings that have keys of `known` alone."""
    if not isinstance(value, list | tuple):
        raise _Wrong(at, "must be a list")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise _Wrong(f"{at}[{index}]", f"must be a mapping with {known[0]}")
        for key in item:
            _check_key(key, known, f"{at}[{index}].")
    return list(value)


def _links(value: object) -> tuple[Link, ...]:
    links = []
    for index, row in enumerate(_rows(value, "links", ("title", "url"))):
        below = f"links[{index}]."
        title, url = _text(row, "title", below), _text(row, "url", below)
        if title is None or url is None:
            raise _Wrong(f"{below}{'title' if title is None else 'url'}", "is missing")
        if not url.lower().startswith(("http://", "https://")):
            raise _Wrong(f"{below}url", "must be an http: or https: URL")
        links.append(Link(title=title, url=url))
    return tuple(links)


def _contracts(value: object) -> Mapping[str, tuple[str, ...]]:
    if not isinstance(value, Mapping):
        raise _Wrong("contracts", "must be a mapping of kinds to lists of names")
    for kind in value:
        _check_key(kind, tuple(CONTRACTS), "contracts.")
    listed = {}
    for kind, names in value.items():
        listed[kind] = _texts([] if names is None else names, f"contracts.{kind}")
    return MappingProxyType(listed)


def _icons(value: object, at: str = "icons") -> tuple[Mapping[str, Any], ...]:
    """Icons of the right shape (schema: Icon), whatever their `src` leads to."""
    icons = []
    for index, row in enumerate(_rows(value, at, _ICON_KEYS)):
        below = f"{at}[{index}]."
        icon: dict[str, Any] = {}
        for key in ("src", "contentType"):
            found = _text(row, key, below)
            if found is not None:
                icon[key] = found
        if "src" not in icon:
            raise _Wrong(f"{below}src", "is missing")
        if "sizes" in row:
            icon["sizes"] = list(_texts(row["sizes"], f"{below}sizes"))
        if "theme" in row:
            if row["theme"] not in _THEMES:
                raise _Wrong(f"{below}theme", "must be light or dark")
            icon["theme"] = row["theme"]
        icons.append(MappingProxyType(icon))
    return tuple(icons)


def _schema(value: object) -> Mapping[str, Any]:
    """A schema of options, as far as its outline goes: an object, with properties by name."""
    at = "optionsSchema"
    if not isinstance(value, Mapping):
        raise _Wrong(at, "must be a JSON Schema: a mapping with properties")
    try:
        schema: Mapping[str, Any] = check_json(value, "")
    except WrongValue as wrong:
        raise _Wrong(
            f"{at}{wrong.at}", f"must be a value JSON can say, found {wrong.found}"
        ) from None
    if schema.get("type", "object") != "object":
        raise _Wrong(f"{at}.type", "must be object: options are a mapping")
    properties = schema.get("properties", {})
    if not isinstance(properties, Mapping):
        raise _Wrong(f"{at}.properties", "must be a mapping of options to schemas")
    for key, below in properties.items():
        if not isinstance(below, Mapping | bool):
            raise _Wrong(f"{at}.properties.{key}", "must be a JSON Schema")
        if isinstance(below, Mapping):
            _check_type(below.get("type", "object"), f"{at}.properties.{key}.type")
    _texts(schema.get("required", []), f"{at}.required")
    return schema


def _check_type(value: object, at: str) -> None:
    """A schema says one type or several; anything else is a typing error in most manifests."""
    for one in value if isinstance(value, list) and value else [value]:
        if one not in _TYPES:
            raise _Wrong(at, f"must be one of {', '.join(_TYPES)}")


def _requires(given: Mapping[str, Any]) -> str | None:
    text = _text(given, "requires")
    if text is None:
        return None
    named = re.match(r"[A-Za-z0-9._-]+", text)
    if named is None or named[0].lower() != _AHPD:
        raise _Wrong("requires", f"must be a requirement on ahpd, such as ahpd>=0.1: {text}")
    _check_requirement(text, "requires")
    return text


def _dependencies(value: object) -> tuple[str, ...]:
    listed = _texts(value, "dependencies")
    for index, text in enumerate(listed):
        _check_requirement(text, f"dependencies[{index}]")
    return listed


def _check_requirement(text: str, at: str) -> None:
    # Most manifests hold no requirement of their own.
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415

    try:
        Requirement(text)
    except InvalidRequirement:
        raise _Wrong(at, f"is no requirement that can be read: {text}") from None
