"""A vault that is gone with the process."""

from collections.abc import Mapping, Sequence

from zope.interface import implementer

from ahpd.interfaces.vault import IVault
from ahpd.vault.names import parse
from ahpd.vault.values import check_text


@implementer(IVault)
class MemoryVault:
    """Keeps secrets in memory, beginning with a copy of `secrets`."""

    def __init__(self, secrets: Mapping[str, str] | None = None) -> None:
        self._secrets = dict(secrets or {})

    async def get(self, name: str) -> str | None:
        """See `IVault`."""
        return self._secrets.get(name)

    async def set(self, name: str, value: str) -> None:
        """See `IVault`. Raises `SecretFailure` as the host's own vault does."""
        parse(name)
        check_text(name, value)
        self._secrets[name] = value

    async def delete(self, name: str) -> bool:
        """See `IVault`."""
        return self._secrets.pop(name, None) is not None

    async def list(self) -> Sequence[str]:
        """See `IVault`."""
        return sorted(self._secrets)
