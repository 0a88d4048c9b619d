"""What `_meta['ahpd.grants']` lists: every subject a grant may name, with its operations.

A plugin names operations and never a group; which group one is in is the host's answer. What it
names of a subject this host decides adds nothing, and what such a subject lacks is reported.
Source: PLUGINS.txt, "Registering grants".
"""

from collections.abc import Mapping, Sequence

from ahpd.extensions.dropped import Dropped, Report, logged
from ahpd.extensions.grant_table import GROUPS, SUBJECTS, Subject, grouped
from ahpd.interfaces import Owned
from ahpd.protocol import State


class Grants:
    """The subjects of this host and of its plugins. `table` is the host's own."""

    def __init__(self, report: Report = logged, table: Mapping[str, Subject] = SUBJECTS) -> None:
        self._table = table
        self._dropped = Dropped(report)
        self._theirs: dict[str, Subject] = {}

    def contributed(self, items: Mapping[str, Owned]) -> None:
        """Exactly these subjects are the plugins': `title`, `description`, `operations` of each."""
        theirs: dict[str, Subject] = {}
        lines: list[tuple[str, str]] = []
        for subject, item in items.items():
            known = self._table.get(subject)
            named = [name for name in item.value.operations if name not in GROUPS]
            for name in item.value.operations:
                if name in GROUPS:
                    lines.append((item.plugin, f"the grant {subject}:{name} is a group, left out"))
                elif known is not None and name not in known.operations:
                    words = f"this host decides what a {subject} has, and it has no {name}"
                    lines.append((item.plugin, f"the grant {subject}:{name} is left out: {words}"))
            if known is None:
                read, write, neither = grouped(named)
                theirs[subject] = Subject(
                    title=item.value.title,
                    description=item.value.description,
                    read=read,
                    write=write,
                    neither=neither,
                )
        self._theirs = theirs
        self._dropped.are(lines)

    def operations_of(self, subject: str, group: str) -> Sequence[str]:
        """The operations of a subject that `read` or `write` stands for; `*` is all of them."""
        held = self._table.get(subject) or self._theirs.get(subject)
        if held is None:
            return ()
        return {"read": held.read, "write": held.write, "*": held.operations}.get(group, ())

    def described(self, schemes: Mapping[str, State] | None = None) -> State:
        """Every subject by name: `{title, description?, operations, groups: {read, write}}`.

        `schemes` are what is said of resource schemes (`title`, `operations`), each of which is a
        subject too.
        """
        subjects = {**self._theirs, **self._table}
        for scheme, entry in (schemes or {}).items():
            if scheme not in self._table:
                subjects[scheme] = _of_scheme(scheme, entry, self._theirs.get(scheme))
        return {name: _shown(subjects[name]) for name in sorted(subjects)}


def _of_scheme(scheme: str, entry: State, registered: Subject | None) -> Subject:
    """A scheme as a subject; what was registered of it keeps its words and adds its operations."""
    more = () if registered is None else registered.operations
    read, write, neither = grouped((*entry["operations"], *more))
    title, description = entry.get("title", scheme), entry.get("description", "")
    if registered is not None:
        title, description = registered.title, registered.description or description
    return Subject(title=title, description=description, read=read, write=write, neither=neither)


def _shown(subject: Subject) -> State:
    described = {"description": subject.description} if subject.description else {}
    return {
        "title": subject.title,
        **described,
        "operations": list(subject.operations),
        "groups": {"read": list(subject.read), "write": list(subject.write)},
    }
