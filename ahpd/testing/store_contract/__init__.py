"""The contract of a session store, checked: every sentence of `ISessionStore`.

`check_session_store` works on fresh stores alone and raises `AssertionError` in words for
the first thing that is not as the port says.
"""

from ahpd.testing.store_contract.calls import check_atomicity, check_parts, check_values
from ahpd.testing.store_contract.channels import (
    check_channels,
    check_drops,
    check_entries,
    check_moves,
    check_sessions,
    check_turns,
)
from ahpd.testing.store_contract.judging import Make, Reopen, opened
from ahpd.testing.store_contract.lives import check_compaction, check_reopening
from ahpd.testing.store_contract.terminals import (
    check_shared_terminals,
    check_terminals,
    check_terminals_of_failed_calls,
)

__all__ = ["Make", "Reopen", "check_session_store"]


async def check_session_store(make: Make, reopen: Reopen | None = None) -> None:
    """Raise `AssertionError` where the stores `make` makes break the contract.

    `reopen` is left out for a store that keeps nothing once it is closed.
    """
    for check in (
        check_sessions,
        check_channels,
        check_entries,
        check_turns,
        check_moves,
        check_drops,
        check_atomicity,
        check_values,
        check_parts,
        check_terminals,
        check_shared_terminals,
        check_terminals_of_failed_calls,
    ):
        store = opened(make)
        check(store)
        store.close()
        store.close()
    await check_compaction(make)
    if reopen is not None:
        await check_reopening(make, reopen)
