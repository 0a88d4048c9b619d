"""The vault: where this host's secrets are kept, each under a name that says whose it is.

A name is `host:<name>`, `team:<team>/<name>` or `user:<id>/<name>`. Sources: PLUGINS.txt,
"Naming a secret instead of holding one", "Reading a secret".
"""

from collections.abc import Sequence

from zope.interface import Interface


class SecretFailure(Exception):
    """A secret that cannot be read or kept; `str()` names it and never holds it."""


class MissingSecret(SecretFailure):
    """The vault answered, and holds no secret of that name."""


class IVault(Interface):
    """Keeps secrets. Everything may be awaited, because a vault may be elsewhere."""

    async def get(name: str) -> str | None:
        """The secret; None where the vault holds none under `name`."""

    async def set(name: str, value: str) -> None:
        """Keep `value` under `name`, in place of what was there."""

    async def delete(name: str) -> bool:
        """Forget it. True where it was there."""

    async def list() -> Sequence[str]:
        """The names, sorted; never a value."""


class ISecrets(Interface):
    """The host's reading of its vault: names are held to their form and their scope first."""

    async def read(name: str, *, team: str | None = None, owner: str | None = None) -> str:
        """The secret behind `name`, read for the work of `team` or `owner` (`user:<id>`).

        A `host:` name is any work's. Raises `SecretFailure` for a name that is none (the three
        forms spelled out) and one out of scope, and `MissingSecret` for one the vault does not hold
        (`the vault holds no host:stripe`).
        """

    async def keep(name: str, value: str) -> None:
        """Keep a secret. Raises `SecretFailure`."""

    async def forget(name: str) -> None:
        """Forget a secret; one that is not there is no error. Raises `SecretFailure`."""
