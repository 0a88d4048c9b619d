"""What `ahpd plugin` says: a plugin's row, its options, and what a change came to."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs

from ahpd.plugins.states import Listed


@attrs.frozen(kw_only=True)
class Seen:
    """One plugin as it is listed: what the configuration says, and what a daemon made of it."""

    listed: Listed
    loaded: bool | None = None
    """Whether the daemon that runs has loaded it; None where none runs, or none answered."""
    problem: str | None = None
    """What the daemon says is wrong with it, or that it waits for something."""
    waits_for: str | None = None
    """The command that has the daemon do what the configuration says, where nothing is wrong."""

    @property
    def differs(self) -> bool:
        """Whether the daemon that runs has made something else of it than the configuration says."""
        return self.loaded not in (None, self.listed.entry.enabled)

    @property
    def line(self) -> str:
        """The line of the listing."""
        if not self.differs or self.listed.problem is not None:
            return self.listed.line
        command = f": {self.waits_for}" if self.waits_for is not None else ""
        return f"{self.listed.line}: {self.difference}{command}"

    @property
    def difference(self) -> str:
        """`not loaded: it waits for the daemon's next start`."""
        return f"{'still loaded' if self.loaded else 'not loaded'}: {self.problem}"

    def row(self) -> dict[str, Any]:
        """What `--json` answers of it."""
        listed = self.listed
        found = listed.found
        return {
            "id": listed.id,
            "source": listed.entry.source,
            "state": listed.state,
            "enabled": listed.entry.enabled,
            "title": listed.entry.name or (None if found is None else found.title),
            "version": None if found is None else found.version,
            "distribution": None if found is None else found.distribution,
            "path": None if found is None else str(found.file),
            "problem": listed.problem or self.problem,
            "loaded": self.loaded,
        }


def seen(rows: Sequence[Listed], told: Sequence[Mapping[str, Any]] | None) -> list[Seen]:
    """The rows of a configuration, with what a daemon says of each; None where none was asked."""
    if told is None:
        return [Seen(listed=row) for row in rows]
    by_source = {row["spec"]: row for row in told}
    return [_seen(row, by_source.get(row.entry.source)) for row in rows]


def _seen(row: Listed, told: Mapping[str, Any] | None) -> Seen:
    said = told or {}
    loaded, problem, enabled = bool(said.get("loaded")), said.get("problem"), row.entry.enabled
    if problem is not None:  # the line names it already
        problem = problem.removeprefix(f"plugin {row.id} skipped: ")
    if problem is not None or loaded == enabled:
        return Seen(listed=row, loaded=loaded, problem=problem)
    if told is not None and (told["state"] != "disabled") == enabled:
        waits_for, problem = "ahpd restart", "it waits for the daemon's next start"
    else:
        waits_for, problem = (
            "ahpd plugin apply",
            "the daemon has not read the file since it changed",
        )
    return Seen(listed=row, loaded=loaded, problem=problem, waits_for=waits_for)


def option_lines(shown: Mapping[str, Any], schema: Mapping[str, Any] | None) -> list[str]:
    """A plugin's options, those that are set and those that could be, a line each."""
    lines = [f"{key}: {value_words(value)}" for key, value in shown.items()]
    known: Mapping[str, Any] = {} if schema is None else schema.get("properties", {})
    required = () if schema is None else schema.get("required", ())
    return lines + [
        _unset(key, said if isinstance(said, Mapping) else {}, key in required)
        for key, said in known.items()
        if key not in shown
    ]


def _unset(key: str, said: Mapping[str, Any], needed: bool) -> str:
    """`unit: - (must be set) What is counted.`"""
    if "default" in said:
        note = f"(default {value_words(said['default'])})"
    else:
        note = "(must be set)" if needed else ""
    words = said.get("description") or said.get("title") or ""
    return " ".join(f"{key}: - {note} {words}".split())


def value_words(value: Any) -> str:
    """A value of an option: a text as it is, all else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def to_set(row: Listed) -> str | None:
    """The command that sets the first option a plugin is missing; None where it misses none."""
    from ahpd.plugins.options import unset_options

    missing = [] if row.found is None else unset_options(row.found)
    return f"ahpd plugin config {row.id} {missing[0]} VALUE" if missing else None


def moved_words(row: Mapping[str, Any]) -> str:
    """What an update of one plugin came to, in a line."""
    if "error" in row:
        prefix = f"{row['id']} is not updated: "
        return f"{prefix}{row['error'].removeprefix(prefix)}"
    if "to" not in row:
        return f"{row['id']} is the newest it can be"
    if row["from"] == row["to"]:
        return f"{row['id']} {row['to']} is installed anew, with other code"
    return f"{row['id']} moved from {row['from']} to {row['to']}"


def would_be_skipped(rows: Sequence[Listed], distributions: Collection[str | None]) -> list[str]:
    """Why plugins of distributions that were just installed will not be loaded, a line each.

    What waits for an option is none of them: it is told which.
    """
    return [
        f"plugin {row.id} will be skipped: {row.problem}"
        for row in rows
        if row.distribution in distributions
        and row.distribution is not None
        and row.state in ("error", "incompatible", "missing")
    ]


def unknown_words(rows: Sequence[Listed]) -> list[str]:
    """What is set for plugins that would be loaded and none of them knows, a line each."""
    from ahpd.plugins.options import unknown_options

    ready = (row.found for row in rows if row.state == "ready")
    return [line for found in ready if found is not None for line in unknown_options(found)]
