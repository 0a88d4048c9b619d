"""The host's reading of its vault: what a name means is decided before the vault is asked."""

from collections.abc import Callable
from typing import Any

from zope.interface import implementer

from ahpd.calling import asked
from ahpd.interfaces.vault import ISecrets, IVault, MissingSecret, SecretFailure
from ahpd.vault.names import parse, refusal
from ahpd.vault.values import check_text


@implementer(ISecrets)
class Secrets:
    """Reads and keeps secrets in a vault; `None` is a host that has none.

    A vault may be a plugin's: what it raises beside `SecretFailure` is not repeated, because
    nobody knows what its words hold. `known` is told of each value that is read or kept, for
    whoever keeps it out of what is said; it is told before the value goes anywhere else.
    """

    def __init__(
        self, vault: IVault | None, known: Callable[[str], object] = lambda value: None
    ) -> None:
        self._vault = vault
        self._known = known

    async def read(self, name: str, *, team: str | None = None, owner: str | None = None) -> str:
        """See `ISecrets`. A name out of scope never reaches the vault."""
        refused = refusal(parse(name), team=team, owner=owner)
        if refused is not None:
            raise SecretFailure(f"{name} cannot be read here: {refused}")
        vault = self._there(name, "read")
        value = await _asked(lambda: vault.get(name), name, "read")
        if value is None:
            raise MissingSecret(f"the vault holds no {name}")
        if not isinstance(value, str):
            raise SecretFailure(f"{name} cannot be read: the vault answered no text")
        self._known(value)
        return value

    async def keep(self, name: str, value: str) -> None:
        """See `ISecrets`."""
        parse(name)
        check_text(name, value)
        self._known(value)
        vault = self._there(name, "kept")
        await _asked(lambda: vault.set(name, value), name, "kept")

    async def forget(self, name: str) -> None:
        """See `ISecrets`."""
        parse(name)
        vault = self._there(name, "forgotten")
        await _asked(lambda: vault.delete(name), name, "forgotten")

    def _there(self, name: str, wanted: str) -> IVault:
        if self._vault is None:
            raise SecretFailure(f"{name} cannot be {wanted}: this host has no vault")
        return self._vault


async def _asked(ask: Any, name: str, wanted: str) -> Any:
    try:
        return await asked(ask)
    except SecretFailure:
        raise
    except Exception as error:
        kind = type(error).__name__
        # Neither its words nor its trace: a vault may put the secret in either.
        raise SecretFailure(f"{name} cannot be {wanted}: the vault failed ({kind})") from None
