"""The commands a session takes behind a slash, read from what its agent loaded.

Sources: AHP.txt, `completions`, "A slash command is a message" and "Customizations are
containers".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from ahpd.completions.tokens import Word
from ahpd.protocol import State

#: Where a prompt or a skill carries its argument hint: their shapes declare none.
_HINT: Final = "vscode.skill.argumentHint"


def commands(word: Word, session: State, agent_wide: Sequence[Mapping[str, Any]]) -> list[State]:
    """Completion items (schema: CompletionItem) for the commands that match `/...`.

    `agent_wide` is what the agent offers every session (schema: Customization), read
    while it has not said what this session has. What begins with the typed text comes
    before what holds it elsewhere; otherwise the order is the agent's.
    """
    held: Sequence[Mapping[str, Any]] = session.get("customizations") or ()
    answered = any("clientId" not in container for container in held)
    sources = (held,) if answered else (held, agent_wide)
    typed = word.typed.casefold()
    begins: list[State] = []
    holds: list[State] = []
    offered: set[str] = set()
    for source in sources:
        for child in _children(source):
            name = str(child["name"]).lstrip("/")
            if not name or name in offered or typed not in name.casefold():
                continue
            offered.add(name)
            found = begins if name.casefold().startswith(typed) else holds
            found.append(_item(word, name, child))
    return begins + holds


def _children(containers: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for container in containers:
        if container.get("enabled") is False or _switched_off(container):
            continue
        for child in container.get("children") or ():
            offered = child.get("type") in ("prompt", "skill") and child.get("enabled") is not False
            if offered and not child.get("disableUserInvocation"):
                yield child


def _switched_off(container: Mapping[str, Any]) -> bool:
    """Whether the narrowest decision there is on a plugin switches it off."""
    decisions = {
        decision.get("kind"): decision.get("enabled")
        for decision in container.get("enablement") or ()
    }
    for scope in ("session", "workspace", "global"):
        if scope in decisions:
            return decisions[scope] is False
    return False


def _item(word: Word, name: str, child: Mapping[str, Any]) -> State:
    meta: State = {"command": name}
    if child.get("description"):
        meta["description"] = child["description"]
    hint = (child.get("_meta") or {}).get(_HINT)
    if isinstance(hint, str) and hint:
        meta["argumentHint"] = hint
    if child["type"] == "skill":
        meta["isSkill"] = True
    return {
        "insertText": f"/{name} ",
        "rangeStart": word.start,
        "rangeEnd": word.end,
        "attachment": {"type": "simple", "label": f"/{name}", "_meta": meta},
    }
