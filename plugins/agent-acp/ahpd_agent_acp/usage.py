"""What a turn used, from what an agent says of its tokens, its context and its costs."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.protocol import State
from ahpd_agent_acp.content import object_in, text_in

#: What AHP has no field for travels under these keys (AHP.txt, `chat/usage`).
CONTEXT: Final = "ahpd.context"
COST: Final = "ahpd.cost"
_REASONING: Final = "ahpd.reasoningTokens"
_CACHE_WRITTEN: Final = "ahpd.cacheWriteTokens"


def context_of(update: Mapping[str, Any]) -> State:
    """How full the context is and what the session cost, of a `usage_update` (schema: UsageInfo)."""
    meta: State = {}
    used, size = _count(update, "used"), _count(update, "size")
    if used is not None and size is not None:
        meta[CONTEXT] = {"used": used, "size": size}
    cost = object_in(update, "cost")
    amount, currency = cost.get("amount"), text_in(cost, "currency")
    if isinstance(amount, (int, float)) and not isinstance(amount, bool) and currency is not None:
        meta[COST] = {"amount": amount, "currency": currency}
    return {"_meta": meta} if meta else {}


def used_of(usage: Mapping[str, Any]) -> State:
    """The tokens of an ACP `Usage` (schema: UsageInfo)."""
    found: State = {}
    for key, name in (
        ("inputTokens", "inputTokens"),
        ("outputTokens", "outputTokens"),
        ("cachedReadTokens", "cacheReadTokens"),
    ):
        count = _count(usage, key)
        if count is not None:
            found[name] = count
    meta: State = {}
    for key, name in (("thoughtTokens", _REASONING), ("cachedWriteTokens", _CACHE_WRITTEN)):
        count = _count(usage, key)
        if count is not None:
            meta[name] = count
    if meta:
        found["_meta"] = meta
    return found


def _count(value: Mapping[str, Any], key: str) -> int | None:
    found = value.get(key)
    if isinstance(found, float) and found.is_integer():
        found = int(found)
    good = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if good else None
