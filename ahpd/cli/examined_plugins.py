"""What `ahpd doctor` looks at of plugins: each one's state, without running any of its code."""

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ahpd.cli.examined import OK, PROBLEM, WARNING, Checked
from ahpd.cli.plugin_words import Seen, seen, to_set, unknown_words
from ahpd.cli.plugins_here import at_rest, finished
from ahpd.config.load import Configuration
from ahpd.plugins.found import Found
from ahpd.plugins.option_references import read_reference, references_in
from ahpd.plugins.root import FOLDER
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.specs import spec_of
from ahpd.plugins.states import Listed
from ahpd.vault import FileVault, Secrets


def plugins_of(read: Configuration, working_directory: Path) -> Sequence[Listed]:
    """The plugins a configuration names; a host without any is not asked to know what one is."""
    return at_rest(read, working_directory).rows() if read.get("plugins") else ()


def checks_of(
    rows: Sequence[Listed],
    told: Sequence[Mapping[str, Any]] | None,
    read: Configuration,
    environ: Mapping[str, str],
) -> Iterator[Checked]:
    """One line for each: whether a start would load it, as far as that is known without running
    it, and what a daemon that runs made of it (`told`; None where none was asked)."""
    secrets = None if _brings_a_vault(rows) else _secrets(read)
    for row in seen(rows, told):
        yield _checked(row, secrets, environ)


def _checked(row: Seen, secrets: Secrets | None, environ: Mapping[str, str]) -> Checked:
    listed = row.listed
    words, level, mend = _words(listed), OK, None
    missing = _missing(row, secrets, environ)
    if listed.state != "ready" and listed.entry.enabled:
        level, mend = PROBLEM, _mend(listed)
        words += "; the daemon runs it as it was" if row.loaded else ""
    elif missing is not None:
        why, level, mend = missing
        words += f"; {why}"
    elif row.differs:
        level, mend = (WARNING, row.waits_for) if row.waits_for else (PROBLEM, _to_reload(listed))
        words += f"; {row.difference}"
    elif row.loaded:
        words += "; loaded"
    return Checked(subject="plugins", about=listed.id, level=level, words=words, mend=mend)


def _to_reload(row: Listed) -> str:
    return f"ahpd plugin reload {shlex.quote(row.id)}, once what it says is mended"


# -- what options name ----------------------------------------------------------------------


def _secrets(read: Configuration) -> Secrets:
    async def here(work: Callable[..., Any], *arguments: Any) -> Any:
        return work(*arguments)  # nobody else waits in this process

    return Secrets(FileVault(read.directory / "vault.json", here))


def _brings_a_vault(rows: Sequence[Listed]) -> bool:
    """Whether a plugin says that it supplies the vault: what that holds is not known here."""
    return any(
        row.state == "ready"
        and row.found is not None
        and "vault" in (row.found.manifest.contracts or {}).get("ports", ())
        for row in rows
    )


def _missing(
    row: Seen, secrets: Secrets | None, environ: Mapping[str, str]
) -> tuple[str, str, str | None] | None:
    """What an option names and is not there: words, a level and what mends it; None for nothing.

    It is read as a load reads it, and what it says goes nowhere.
    """
    found, listed = row.listed.found, row.listed
    if listed.state != "ready" or found is None:
        return None
    for reference in references_in(found.manifest.options_schema, dict(found.entry.options)):
        kind, name = next(iter(reference.value.items()))
        vaulted = kind == "$secret"
        if reference.at_use or (vaulted and secrets is None):
            continue
        try:
            finished(read_reference(reference, found.id, secrets or Secrets(None), environ))
        except Skipped as skipped:
            # A daemon has an environment of its own, and this file of secrets.
            level = WARNING if row.loaded and not vaulted else PROBLEM
            mend = f"ahpd vault set {shlex.quote(name)}" if vaulted else f"export {name}=VALUE"
            return skipped.why, level, mend
    return None


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
