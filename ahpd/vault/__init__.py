"""The vault: secrets by name, kept for this user alone."""

from ahpd.vault.files import FileVault, VaultFile
from ahpd.vault.memory import MemoryVault
from ahpd.vault.secrets import Secrets

__all__ = ["FileVault", "MemoryVault", "Secrets", "VaultFile"]
