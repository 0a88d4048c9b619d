"""The host's reading of its vault: what a name means is decided before the vault is asked."""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.bounded import Overdue, bounded
from ahpd.calling import asked
from ahpd.interfaces.vault import ISecrets, IVault, MissingSecret, SecretFailure
from ahpd.vault.names import parse, refusal
from ahpd.vault.values import check_text

#: Seconds a vault has to answer one question.
PATIENCE: Final = 10.0


@implementer(ISecrets)
class Secrets:
    """Reads and keeps secrets in a vault; `None` is a host that has none.

    A vault may be a plugin's: what it raises beside `SecretFailure` is not repeated, because
    nobody knows what its words hold. `known` is told of each value that is read or kept, for
    whoever keeps it out of what is said; it is told before the value goes anywhere else.

    `clock` bounds each question; without one the vault is waited for as long as it takes.
    `plugin` is whose vault it is, for words; empty for the host's own.
    """

    def __init__(
        self,
        vault: IVault | None,
        known: Callable[[str], object] = lambda value: None,
        clock: IReactorTime | None = None,
        plugin: str = "",
    ) -> None:
        self._vault = vault
        self._known = known
        self._clock = clock
        self._whose = f"the vault of the plugin {plugin}" if plugin else "the vault"

    async def read(self, name: str, *, team: str | None = None, owner: str | None = None) -> str:
        """See `ISecrets`. A name out of scope never reaches the vault."""
        refused = refusal(parse(name), team=team, owner=owner)
        if refused is not None:
            raise SecretFailure(f"{name} cannot be read here: {refused}")
        vault = self._there(name, "read")
        value = await self._asked(lambda: vault.get(name), name, "read")
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
        await self._asked(lambda: vault.set(name, value), name, "kept")

    async def forget(self, name: str) -> None:
        """See `ISecrets`."""
        parse(name)
        vault = self._there(name, "forgotten")
        await self._asked(lambda: vault.delete(name), name, "forgotten")

    def _there(self, name: str, wanted: str) -> IVault:
        if self._vault is None:
            raise SecretFailure(f"{name} cannot be {wanted}: this host has no vault")
        return self._vault

    async def _asked(self, ask: Callable[[], Any], name: str, wanted: str) -> Any:
        try:
            if self._clock is None:
                return await asked(ask)
            return await bounded(lambda: asked(ask), PATIENCE, self._clock)
        except SecretFailure:
            raise
        except Overdue:
            why = f"{self._whose} did not answer within {PATIENCE:g} s"
        except Exception as error:
            # Neither its words nor its trace: a vault may put the secret in either.
            why = f"the vault failed ({type(error).__name__})"
        raise SecretFailure(f"{name} cannot be {wanted}: {why}")
