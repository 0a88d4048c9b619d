"""How the contract judges: what it raises, and the stores it opens."""

from collections.abc import Callable

from zope.interface.verify import verifyObject

from ahpd.interfaces.stores import ISessionStore, StoreFailure

#: Makes a store that holds nothing and was not opened.
Make = Callable[[], ISessionStore]
#: A store, not opened, over what the given closed one kept.
Reopen = Callable[[ISessionStore], ISessionStore]


def opened(make: Make) -> ISessionStore:
    """A fresh store that is open and holds nothing."""
    store = make()
    verifyObject(ISessionStore, store)
    store.open()
    equal(list(store.sessions()), [], "a new store's sessions")
    return store


def equal(found: object, expected: object, what: str) -> None:
    """Raise unless the two are the same; `what` names the thing."""
    if found != expected:
        raise AssertionError(f"{what}: found {_short(found)}, expected {_short(expected)}")


def _short(value: object) -> str:
    words = repr(value)
    return words if len(words) <= 500 else f"{words[:500]}... ({len(words)} characters)"


def fails(what: str, act: Callable[[], None]) -> None:
    """Raise unless `act` is refused with a `StoreFailure` that has words."""
    try:
        act()
    except StoreFailure as failure:
        if not str(failure):
            raise AssertionError(f"{what}: the failure has no words") from None
    else:
        raise AssertionError(f"{what}: it did not fail")
