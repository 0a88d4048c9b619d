"""The `plugins:` of the configuration file, read and changed where they stand.

An entry is found by its source as it is written. Each change is one step on disk: the file says
the old or the new, whoever looks, and keeps its mode and its comments.
"""

import contextlib
import copy
import fcntl
import os
import secrets
import stat
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import document
from ahpd.config.editing import Changes, chosen, edited, in_one_line, rewritten
from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.kinds import visible
from ahpd.config.plugins import PluginEntry, Plugins
from ahpd.config.yaml_edits import NotFollowed, cut, prefix, rename, set_value
from ahpd.private_folders import make_private

_KEY: Final = "plugins"
_SOURCE: Final = "source"
#: What a new file is told it was written by.
_COMMAND: Final = "ahpd plugin"


@attrs.frozen
class Listed:
    """What a file says of plugins."""

    entries: tuple[PluginEntry, ...]
    warnings: tuple[str, ...] = ()


@attrs.frozen
class PluginsFile:
    """The file `path`, which may not be there yet. Everything raises `ConfigError` and `OSError`."""

    path: Path

    def read(self) -> Listed:
        """The entries as the file has them now."""
        if not self.path.exists():
            return Listed(())
        read, kind = document.read(self.path), Plugins()
        if _KEY not in read.values:
            return Listed(())
        try:
            entries = kind.check(read.values[_KEY], self.path.parent.resolve())
        except WrongValue as wrong:
            raise ConfigError(
                f"{read.place(_KEY, wrong.at)}: {_KEY}{visible(wrong.at)}: found {wrong.found}, "
                f"allowed: {wrong.allowed}"
            ) from None
        return Listed(entries, tuple(f"{self.path}: {line}" for line in kind.warnings(entries)))

    def add(self, item: str | Mapping[str, Any]) -> bool:
        """List one more plugin; False where its source is listed already."""
        source = item if isinstance(item, str) else str(item[_SOURCE])

        def added(text: str) -> str:
            if _index(self._values(text), source) is not None:
                return text
            return edited(self.path, text, Changes(plugins=[item], command=_COMMAND))

        return self._change(added)

    def remove(self, source: str) -> bool:
        """Take every entry of a source out; False where there was none."""

        def removed(text: str) -> str:
            while (index := _index(self._values(text), source)) is not None:
                text = self._edited(text, index, lambda items, at: items.pop(at), _cut_item)
            return text

        return self._change(removed)

    def switch(self, source: str, enabled: bool) -> bool:
        """Turn an entry on or off; False where it was. Raises `KeyError` for one that is not listed."""
        if enabled:
            # An entry is on where it does not say otherwise.
            return self._set(source, ("enabled",), _ABSENT)
        return self._set(source, ("enabled",), False)

    def set_option(self, source: str, key: str, value: Any) -> bool:
        """Set one option; False where it was that. Raises `KeyError` for one that is not listed."""
        return self._set(source, ("options", key), value)

    def unset_option(self, source: str, key: str) -> bool:
        """Take one option out; False where there was none. Raises `KeyError` as above."""
        return self._set(source, ("options", key), _ABSENT)

    # -- one edit ------------------------------------------------------------------------

    def _values(self, text: str) -> dict[str, Any]:
        return document.parse(self.path, text).values

    def _set(self, source: str, at: tuple[str, ...], value: Any) -> bool:
        def changed(text: str) -> str:
            items = self._values(text).get(_KEY) or []
            index = _index({_KEY: items}, source)
            if index is None:
                raise KeyError(source)
            held = _held(items[index], at)
            # What is on says so or says nothing.
            on_already = value is _ABSENT and at == ("enabled",) and held is True
            if on_already or (held == value and type(held) is type(value)):
                return text
            return self._edited(
                text,
                index,
                lambda items, which: _lay(items, which, at, value),
                lambda plain, which: _write(plain, which, items[which], at, value),
            )

        return self._change(changed)

    def _edited(
        self,
        text: str,
        index: int,
        change: Callable[[list[Any], int], object],
        write: Callable[[str, int], str],
    ) -> str:
        """The text with one entry changed, in values by `change` and in words by `write`."""
        wanted = copy.deepcopy(self._values(text))
        change(wanted[_KEY], index)

        def candidates(plain: str) -> Iterator[str]:
            plain += "" if plain.endswith("\n") else "\n"
            import yaml  # noqa: PLC0415

            with contextlib.suppress(NotFollowed, yaml.YAMLError):
                yield write(plain, index)
            yield rewritten(plain, _KEY, wanted[_KEY])
            yield in_one_line(plain, _KEY, wanted[_KEY])

        return chosen(self.path, text, wanted, candidates, f"change {_KEY}[{index}] by hand")

    # -- the disk ------------------------------------------------------------------------

    def _change(self, edit: Callable[[str], str]) -> bool:
        """Have the file say what `edit` makes of what it says; False where that is the same."""
        # A link stays one: what it points at is replaced, not the link.
        path = self.path.resolve()
        make_private(path.parent)
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)  # a command and a daemon may both be at it
            mode, before = 0o600, ""
            if path.exists():
                mode = stat.S_IMODE(path.stat().st_mode)
                document.read(self.path)  # in words where it cannot be read
                before = path.read_bytes().decode("utf-8-sig")
            after = edit(before)
            if after == before:
                return False
            if not mode & stat.S_IWUSR:
                raise ConfigError(f"{path} is marked read-only; nothing was written")
            _replace(path, after.encode(), mode)
            os.fsync(folder)
        finally:
            os.close(folder)
        return True


#: Stands for a value that is not there.
_ABSENT: Final = object()


def _replace(path: Path, data: bytes, mode: int) -> None:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def source_of(item: Any) -> str | None:
    """The source of an entry as a file holds it; what is no entry has none."""
    if isinstance(item, Mapping):
        # As entries were written before there was `source`.
        old = None if "id" in item else item.get("name")
        item = item.get(_SOURCE, old)
    return item if isinstance(item, str) else None


def _index(values: Mapping[str, Any], source: str) -> int | None:
    items = values.get(_KEY)
    for index, item in enumerate(items if isinstance(items, list) else ()):
        if source_of(item) == source:
            return index
    return None


def _cut_item(text: str, index: int) -> str:
    return cut(text, (_KEY, index))


def _held(item: Any, at: tuple[str, ...]) -> Any:
    for key in at:
        if not isinstance(item, Mapping) or key not in item:
            return _ABSENT
        item = item[key]
    return item


def _is_old(item: Any) -> bool:
    return isinstance(item, Mapping) and _SOURCE not in item


def _lay(items: list[Any], index: int, at: tuple[str, ...], value: Any) -> None:
    """Change an entry's values."""
    item = items[index]
    if not isinstance(item, dict):
        item = {_SOURCE: item}
    elif _is_old(item):
        item = {_SOURCE if key == "name" else key: held for key, held in item.items()}
    items[index] = holder = item
    for key in at[:-1]:
        if not isinstance(holder.get(key), dict):
            holder[key] = {}
        holder = holder[key]
    if value is _ABSENT:
        del holder[at[-1]]
    else:
        holder[at[-1]] = value


def _write(text: str, index: int, item: Any, at: tuple[str, ...], value: Any) -> str:
    """Change an entry's words."""
    place: tuple[str | int, ...] = (_KEY, index)
    if isinstance(item, str):
        text = prefix(text, place, f"{_SOURCE}: ")
    elif _is_old(item):
        text = rename(text, (*place, "name"), _SOURCE)
    return cut(text, (*place, *at)) if value is _ABSENT else set_value(text, (*place, *at), value)
