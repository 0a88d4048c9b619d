"""Text in the client's language: the catalogs a plugin ships, and what they translate.

A catalog is a file `<locale>.json` (or `.yaml`) in the manifest's `i18n` folder, keyed by the path
of a field: `meta`, `options.<key>`, `session.<key>`, `messages.<key>`. English is in none: it is
what the manifest and the code hold. Source: PLUGINS.txt, "Text in the client's language".
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ahpd.protocol import State
from ahpd.protocol.characters import HALF_WORDS, is_whole_json
from ahpd.protocol.locales import locale_of
from ahpd.yaml_text import parse_yaml

#: By locale, as the files are called; each a tree of texts.
Catalogs = Mapping[str, Mapping[str, Any]]

NO_CATALOGS: Final[Catalogs] = {}

#: Bytes of one catalog.
LARGEST_CATALOG: Final = 1024 * 1024

_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    ".json": json.loads,
    ".yaml": parse_yaml,
    ".yml": parse_yaml,
}


def translated(
    path: Sequence[str],
    english: str,
    locale: str | None,
    catalogs: Catalogs,
    hosts: Catalogs = NO_CATALOGS,
) -> str:
    """The text at `path` in `locale`, or `english`.

    A plugin's own `catalogs` are asked first, then the host's; each for the tag as it is given
    (in any case), then for its language alone.
    """
    found = _found(path, locale, catalogs, hosts)
    return english if found is None else found


class Texts(dict[str, Mapping[str, Any]]):
    """A plugin's catalogs by locale, as it is handed them, with the host's own behind them."""

    def __init__(self, catalogs: Catalogs = NO_CATALOGS, hosts: Catalogs = NO_CATALOGS) -> None:
        super().__init__(catalogs)
        self._hosts = hosts

    def translated(self, path: Sequence[str], english: str, locale: str | None) -> str:
        """The text at `path` in the `locale` of whoever it is for, or `english`."""
        return translated(path, english, locale, self, self._hosts)


def translated_meta(
    meta: Mapping[str, str], locale: str | None, catalogs: Catalogs, hosts: Catalogs = NO_CATALOGS
) -> dict[str, str]:
    """A manifest's `title` and `description`, those it has."""
    return {
        key: translated(("meta", key), text, locale, catalogs, hosts) for key, text in meta.items()
    }


def translated_options(
    schema: Mapping[str, Any],
    locale: str | None,
    catalogs: Catalogs,
    hosts: Catalogs = NO_CATALOGS,
) -> State:
    """A copy of an options schema, its properties in `locale`."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return dict(schema)
    return {
        **schema,
        "properties": {
            key: _property(("options", key), held, locale, catalogs, hosts)
            for key, held in properties.items()
        },
    }


def translated_setting(
    key: str,
    schema: Mapping[str, Any],
    locale: str | None,
    catalogs: Catalogs,
    hosts: Catalogs = NO_CATALOGS,
) -> State:
    """A copy of one key of the session's form (schema: SessionConfigPropertySchema) in `locale`."""
    translation: State = _property(("session", key), schema, locale, catalogs, hosts)
    return translation


# -- one property -----------------------------------------------------------------------


def _property(
    path: tuple[str, ...], schema: Any, locale: str | None, catalogs: Catalogs, hosts: Catalogs
) -> Any:
    if not isinstance(schema, Mapping):
        return schema

    def found(*below: str) -> str | None:
        return _found((*path, *below), locale, catalogs, hosts)

    made = dict(schema)
    for key in ("title", "description"):
        if isinstance(made.get(key), str):
            made[key] = found(key) or made[key]
    items = made.get("items")
    if isinstance(items, Mapping) and isinstance(items.get("title"), str):
        made["items"] = {**items, "title": found("items", "title") or items["title"]}
    values = made.get("enum")
    if isinstance(values, Sequence) and not isinstance(values, str) and not made.get("enumDynamic"):
        words = [_word(value) for value in values]
        for block, key, english in (
            ("enum", "enumLabels", words),
            ("enumDescriptions", "enumDescriptions", [""] * len(words)),
        ):
            texts = [found(block, word) for word in words]
            if any(text is not None for text in texts):
                held = _parallel(made.get(key), english)
                made[key] = [new or old for new, old in zip(texts, held, strict=True)]
    return made


def _parallel(held: Any, english: list[str]) -> list[str]:
    """What a schema says beside its values, as long as they are."""
    given = list(held) if isinstance(held, Sequence) and not isinstance(held, str) else []
    return [*given[: len(english)], *english[len(given) :]]


def _word(value: Any) -> str:
    """A value as a key of a catalog: text as it is, anything else as JSON says it."""
    return value if isinstance(value, str) else json.dumps(value)


# -- looking up -------------------------------------------------------------------------


def _found(
    path: Sequence[str], locale: str | None, catalogs: Catalogs, hosts: Catalogs
) -> str | None:
    tag = locale_of(locale)
    if tag is None:
        return None
    for held in (catalogs, hosts):
        for name in dict.fromkeys((tag, tag.partition("-")[0])):
            text = _at(path, _catalog(held, name))
            if text:
                return text
    return None


def _catalog(catalogs: Catalogs, tag: str) -> Any:
    if tag in catalogs:
        return catalogs[tag]
    # Tags are the same in any case.
    lower = tag.lower()
    name = next((each for each in catalogs if each.lower() == lower), None)
    return None if name is None else catalogs[name]


def _at(path: Sequence[str], catalog: Any) -> str | None:
    for step in path:
        if not isinstance(catalog, Mapping):
            return None
        catalog = catalog.get(step)
    return catalog if isinstance(catalog, str) else None


# -- reading ----------------------------------------------------------------------------


def read_catalogs(package: Path, folder: str) -> tuple[dict[str, Mapping[str, Any]], list[str]]:
    """The catalogs in `folder` of a plugin's `package`, and a line for each that is none. Blocks."""
    try:
        files = _files(package, folder)
    except ValueError as error:
        return {}, [f"the texts in {folder} are left out: {error}"]
    root = package.resolve()
    catalogs: dict[str, Mapping[str, Any]] = {}
    lines = []
    for file in files:
        try:
            if file.stem in catalogs:
                raise ValueError("there is another file of this locale")
            catalogs[file.stem] = _read(file, root)
        except ValueError as error:
            lines.append(f"the texts {folder}/{file.name} are left out: {error}")
    return catalogs, lines


class CatalogsAtNeed(Mapping[str, Mapping[str, Any]]):
    """The catalogs in `folder` of a plugin's `package`, of which each is read when its locale is
    asked for, once. That blocks, for one file at most `LARGEST_CATALOG` long.

    For a plugin that is not loaded: whoever reads in English, and every locale nobody reads in,
    costs nothing. One that is no catalog translates nothing; a load of the plugin says why.
    """

    def __init__(self, package: Path, folder: str) -> None:
        self._package = package
        self._folder = folder
        self._files: dict[str, list[Path]] | None = None
        self._read: dict[str, Mapping[str, Any]] = {}

    def __getitem__(self, locale: str) -> Mapping[str, Any]:
        if locale not in self._read:
            self._read[locale] = self._first(self._by_locale()[locale])
        return self._read[locale]

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_locale())

    def __len__(self) -> int:
        return len(self._by_locale())

    def _by_locale(self) -> Mapping[str, list[Path]]:
        if self._files is None:
            self._files = {}
            try:
                for file in _files(self._package, self._folder):
                    self._files.setdefault(file.stem, []).append(file)
            except ValueError:
                self._files = {}
        return self._files

    def _first(self, files: Sequence[Path]) -> Mapping[str, Any]:
        root = self._package.resolve()
        for file in files:
            try:
                return _read(file, root)
            except ValueError:
                continue
        return {}


def _files(package: Path, folder: str) -> Sequence[Path]:
    """The files in `folder` that may be catalogs, by name. Raises `ValueError` in words."""
    root = package.resolve()
    place = (root / folder).resolve()
    if not place.is_relative_to(root):
        raise ValueError("the folder is not in the package")
    try:
        return sorted(file for file in place.iterdir() if file.suffix in _READERS)
    except OSError as error:
        raise ValueError(error.strerror) from None


def _read(file: Path, root: Path) -> Mapping[str, Any]:
    """The catalog in `file`. Raises `ValueError` in words."""
    try:
        return _parsed(file, root)
    except OSError as error:
        raise ValueError(error.strerror) from None
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parsed(file: Path, root: Path) -> Mapping[str, Any]:
    if locale_of(file.stem) is None:
        raise ValueError("its name is no locale")
    real = file.resolve(strict=True)
    if not real.is_relative_to(root):
        raise ValueError("it is not in the package")
    if not real.is_file():
        raise ValueError("it is no file")
    with real.open("rb") as opened:
        data = opened.read(LARGEST_CATALOG + 1)
    if len(data) > LARGEST_CATALOG:
        raise ValueError(f"it is larger than {LARGEST_CATALOG} bytes")
    try:
        catalog = _READERS[file.suffix](data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise ValueError(f"a byte that is not UTF-8 at offset {error.start}") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"line {error.lineno}: not JSON: {error.msg}") from None
    if not isinstance(catalog, dict):
        raise ValueError("it is no mapping of blocks")
    if not is_whole_json(catalog):
        raise ValueError(f"it {HALF_WORDS}")
    return catalog
