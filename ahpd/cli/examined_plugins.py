"""What `ahpd doctor` looks at of plugins: each one's state, without running any of its code."""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ahpd.cli.examined import OK, PROBLEM, Checked
from ahpd.cli.plugin_words import to_set, unknown_words
from ahpd.cli.plugins_here import at_rest
from ahpd.config.load import Configuration
from ahpd.plugins.found import Found
from ahpd.plugins.root import FOLDER
from ahpd.plugins.specs import spec_of
from ahpd.plugins.states import Listed


def plugins_of(read: Configuration, working_directory: Path) -> Sequence[Listed]:
    """The plugins a configuration names; a host without any is not asked to know what one is."""
    return at_rest(read, working_directory).rows() if read.get("plugins") else ()


def checks_of(rows: Sequence[Listed]) -> Iterator[Checked]:
    """One line for each: whether a start would try to load it."""
    for row in rows:
        works = row.state == "ready" or not row.entry.enabled
        yield Checked(
            subject="plugins",
            about=row.id,
            level=OK if works else PROBLEM,
            words=_words(row),
            mend=None if works else _mend(row),
        )


def engines_of(rows: Sequence[Listed]) -> Mapping[str, str]:
    """The engines that plugins which would be loaded say they bring, each with its plugin."""
    return {
        name: row.id
        for row in rows
        if row.state == "ready" and row.found is not None
        for name in (row.found.manifest.contracts or {}).get("engines", ())
    }


def _words(row: Listed) -> str:
    if row.problem is not None:
        return f"{row.state}: {row.problem}"
    if row.state == "disabled" or row.found is None:
        return f"{row.state}: it is not loaded"
    undeclared = ", and says nothing of what it registers" if row.found.undeclared else ""
    unknown = "".join(f"; {line}" for line in unknown_words([row]))
    return f"{row.state}: {row.found.file}{undeclared}{unknown}"


def _mend(row: Listed) -> str | None:
    name = shlex.quote(row.id)
    if row.state == "incompatible" and row.found is not None:
        return _for_this_ahpd(row.found, name)
    if row.state == "missing":
        source, remove = row.entry.source, f"ahpd plugin remove {name}"
        named = spec_of(source).kind == "name"
        return f"ahpd plugin install {shlex.quote(source)}, or {remove}" if named else remove
    return to_set(row)


def _for_this_ahpd(found: Found, name: str) -> str:
    """What brings a plugin that is for another ahpd, or does without it."""
    if found.installed is None:
        file = "plugin.yaml" if found.manifest.requires else "pyproject.toml"
        return f"ahpd plugin disable {name}, or have its {file} admit this ahpd"
    if FOLDER in Path(str(found.installed.locate_file(""))).parts:
        return f"ahpd plugin update {name}"
    return f"{sys.executable} -m pip install --upgrade {found.distribution}"
