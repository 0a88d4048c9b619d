"""What an agent records of its session: artifacts it made and references it found. Pure.

An entry is `{id, type, label, isArtifact, link?, uri?, commitHash?, isGitHub?}`; two entries
that point at one thing are one. Source: AHP.txt, "what the agent recorded".
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

from ahpd.interfaces import ToolFailure
from ahpd.protocol import State
from ahpd.protocol.uris import scheme
from ahpd.tools.links import SCHEME
from ahpd.tools.naming import invalid

TYPES: Final = ("pullRequest", "issue", "commit", "website", "file", "resource")
_LINKED: Final = frozenset({"pullRequest", "issue", "commit", "website"})
_ADDRESSED: Final = frozenset({"file", "resource"})
_GITHUB: Final = frozenset({"pullRequest", "issue"})

#: The most a session has: every client is told all of them with its row.
MOST: Final = 200
#: The longest a text of one may be, in characters.
_LONGEST: Final[Mapping[str, int]] = {
    "label": 300, "link": 2000, "uri": 2000, "commitHash": 100
}  # fmt: skip

_SPACE: Final = re.compile(r"\s")


def entry(tool: str, given: Mapping[str, Any], at: str) -> State:
    """An entry without its id, of one that fits the tool's schema. Raises `ToolFailure`."""
    kind = given["type"]
    made: State = {
        "type": kind,
        "label": _text(tool, given, "label", at),
        "isArtifact": given["isArtifact"],
    }
    if kind in _LINKED:
        made["link"] = _link(tool, given, at)
    if kind in _ADDRESSED:
        made["uri"] = _uri(tool, given, at)
    if kind == "commit":
        made["commitHash"] = _text(tool, given, "commitHash", at)
    if kind in _GITHUB:
        made["isGitHub"] = _on_github(made["link"])
    return made


def recorded(
    held: Sequence[State], made: State, new_id: Callable[[], str]
) -> tuple[list[State], str]:
    """The entries with one more, and what became of it in words.

    A reference to the same thing becomes an artifact where it is one now, and keeps its id; an
    artifact never becomes a reference. Raises `ToolFailure` where there are as many as may be.
    """
    same = next((each for each in held if points_at(each) == points_at(made)), None)
    if same is None:
        if len(held) >= MOST:
            raise ToolFailure(
                f"This session has {MOST} artifacts and references, the most it may have; remove "
                "one first."
            )
        added = {"id": new_id(), **made}
        return [*held, added], f"Added {noun(added)}: {added['id']}"
    if made["isArtifact"] and not same["isArtifact"]:
        promoted = {"id": same["id"], **made}
        changed = [promoted if each is same else each for each in held]
        return changed, f"Promoted artifact: {same['id']}"
    return list(held), f"Already recorded: {same['id']}"


def points_at(made: State) -> str:
    """What an entry points at; one that points at the same is the same."""
    value: str = made.get("link") or made.get("uri") or made.get("commitHash") or ""
    return value.strip().lower()


def noun(made: State) -> str:
    """What an entry is called."""
    return "artifact" if made["isArtifact"] else "reference"


def described(made: State) -> str:
    """An entry in one line."""
    value = made.get("link") or made.get("uri") or made.get("commitHash")
    line = f"{made['id']} ({made['type']}, {noun(made)}) {made['label']}"
    return f"{line} — {value}" if value else line


# -- the texts of one ------------------------------------------------------------------


def _text(tool: str, given: Mapping[str, Any], field: str, at: str) -> str:
    value = given.get(field)
    text = value.strip() if isinstance(value, str) else ""
    if not text:
        raise invalid(tool, f"{at}.{field} must be a non-empty string.")
    if len(text) > _LONGEST[field]:
        raise invalid(tool, f"{at}.{field} must not exceed {_LONGEST[field]} characters.")
    return text


def _link(tool: str, given: Mapping[str, Any], at: str) -> str:
    """A link is opened by whatever the desktop has for its scheme: the web's alone are taken."""
    link = _text(tool, given, "link", at)
    found = scheme(link)
    if found not in ("http", "https"):
        was = f", but was '{found}:'" if found else ""
        raise invalid(tool, f"{at}.link must be an absolute http(s) URL{was}.")
    try:
        host = urlsplit(link).hostname
    except ValueError:
        host = None
    if not host or _SPACE.search(link):
        raise invalid(tool, f"{at}.link must be an absolute http(s) URL.")
    return link


def _uri(tool: str, given: Mapping[str, Any], at: str) -> str:
    """One letter and a colon is a drive of Windows, and no scheme."""
    uri = _text(tool, given, "uri", at)
    found = scheme(uri)
    if len(found) < 2 or _SPACE.search(uri):
        raise invalid(
            tool,
            f"{at}.uri must be an absolute URI including its scheme, such as "
            "'file:///path/to/file', and no plain path.",
        )
    if found == SCHEME:
        raise invalid(
            tool,
            "sessions and chats created with session-management tools must not be recorded as "
            "artifacts or references.",
        )
    return uri


def _on_github(link: str) -> bool:
    host = urlsplit(link).hostname or ""
    return (
        host in ("github.com", "www.github.com")
        or host.endswith(".github.com")
        or host.startswith("github.")
    )
