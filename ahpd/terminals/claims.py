"""Who holds a terminal: a client, or a session that opened it (schema: TerminalClaim)."""

from typing import Any, Final

from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import session_id

#: What a claim of each kind has to name, and what it may.
_NEEDED: Final = {"client": ("clientId",), "session": ("session", "chat")}
_OPTIONAL: Final = ("turnId", "toolCallId")
#: The longest name of any of them, in characters: every client is told it with every list.
_LONGEST: Final = 4096


def checked_claim(claim: Any, at: str) -> State:
    """`claim` as it came, once it names a client or a session.

    Raises `RpcError` -32602 naming the member, `at` being where the claim stands.
    """
    if not isinstance(claim, dict):
        raise invalid_params(f"{at}: found {_shown(claim)}, expected an object")
    kind = claim.get("kind")
    needed = _NEEDED.get(kind) if isinstance(kind, str) else None
    if needed is None:
        raise invalid_params(f"{at}.kind: found {_shown(kind)}, expected one of: client, session")
    for member in needed:
        named = claim.get(member)
        if not isinstance(named, str) or not named:
            raise invalid_params(f"{at}.{member}: found {_shown(named)}, expected a name")
    for member in _OPTIONAL if kind == "session" else ():
        if not isinstance(claim.get(member, ""), str):
            raise invalid_params(f"{at}.{member}: found {_shown(claim[member])}, expected a string")
    for member in (*needed, *(_OPTIONAL if kind == "session" else ())):
        length = len(claim.get(member, ""))
        if length > _LONGEST:
            raise invalid_params(
                f"{at}.{member}: found {length} characters, expected at most {_LONGEST}"
            )
    return claim


def claims(claim: State, session: str) -> bool:
    """Whether `claim` is that session's, under whichever of its spellings."""
    return claim["kind"] == "session" and session_id(claim["session"]) == session_id(session)


def _shown(value: Any) -> str:
    return repr(value)[:200]
