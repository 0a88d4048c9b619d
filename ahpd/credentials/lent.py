"""The tokens one connection lent: kept apart by resource, scopes and target (no I/O).

Source: AHP.txt, `authenticate` and "Authentication".
"""

from collections.abc import Iterable, Sequence
from typing import Final

import attrs

#: How many tokens one connection may lend; the oldest gives way.
MOST: Final = 256


@attrs.frozen(kw_only=True)
class Target:
    """The one MCP server a token is for."""

    session: str
    """The session's URI, as it is held."""
    server: str
    """The server's id among the session's customizations."""


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Lent:
    """One token, and what it is for."""

    resource: str
    token: str = attrs.field(repr=False)
    scopes: frozenset[str] | None = None
    """What its client says it grants; None where it does not say."""
    target: Target | None = None
    expires_at: float | None = None
    """In the clock's seconds."""

    @property
    def key(self) -> tuple[str, frozenset[str] | None, Target | None]:
        """What it replaces another by."""
        return (self.resource, self.scopes, self.target)


class LentTokens:
    """What one connection lent and did not take back."""

    def __init__(self) -> None:
        self._held: dict[tuple[str, frozenset[str] | None, Target | None], Lent] = {}

    def __len__(self) -> int:
        return len(self._held)

    def put(self, lent: Lent) -> list[Lent]:
        """Keep one, in place of the one for the same; those that are not held any more."""
        replaced = self._held.pop(lent.key, None)
        gone = [] if replaced is None else [replaced]
        self._held[lent.key] = lent
        while len(self._held) > MOST:
            gone.append(self._held.pop(next(iter(self._held))))
        return gone

    def take_back(self, resource: str, target: Target | None) -> list[Lent]:
        """Forget every token for a resource, with a target that target's alone; those it were."""
        keys = [key for key in self._held if key[0] == resource]
        return [self._held.pop(key) for key in keys if target is None or key[2] == target]

    def drop(self, lent: Lent) -> bool:
        """Forget this very one; whether it was held still."""
        if self._held.get(lent.key) is not lent:
            return False
        del self._held[lent.key]
        return True

    def spent_for(
        self,
        resource: str,
        wanted: Iterable[str],
        now: float,
        target: Target | None = None,
        shared: bool = True,
    ) -> str | None:
        """The token to spend for a resource that wants these scopes; None where none fits.

        `target` is whom it is for: a token with another target is nobody else's, and one with
        this target goes first, and those with none count where they are `shared`. Of the others
        the one pushed for exactly those scopes, else the
        one with the fewest that cover them, else the one pushed with none.
        """
        scopes = frozenset(wanted)
        held = [
            lent
            for lent in self._held.values()
            if lent.resource == resource and (lent.expires_at is None or lent.expires_at > now)
        ]
        own = [one for one in held if one.target == target]
        for among in (own, _untargeted(held)) if shared else (own,):
            found = _best(among, scopes)
            if found is not None:
                return found.token
        return None


def _untargeted(held: Sequence[Lent]) -> list[Lent]:
    return [one for one in held if one.target is None]


def _best(held: Sequence[Lent], scopes: frozenset[str]) -> Lent | None:
    for lent in held:
        if lent.scopes == scopes:
            return lent
    covering = [lent for lent in held if lent.scopes is not None and lent.scopes >= scopes]
    if covering:
        return min(covering, key=lambda lent: len(lent.scopes or ()))
    return next((lent for lent in held if lent.scopes is None), None)
