"""The secrets a record names, read from the vault ahead of its opening."""

from collections.abc import Mapping, Sequence
from typing import Any

from twisted.logger import Logger

from ahpd.config.records import WrittenRecord
from ahpd.config.references import SECRET, references_in
from ahpd.interfaces import ISecrets, SecretFailure
from ahpd.records.building import Secrets
from ahpd.records.owners import reading_for

log = Logger()


def secret_names(value: Any) -> Sequence[str]:
    """The secrets that references in a JSON value name."""
    return [
        name for _, kind, name in references_in(value) if kind == SECRET and isinstance(name, str)
    ]


def names_secrets(written: WrittenRecord, defaults: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a record, or what its engine's `defaults` lay under it, names a secret."""
    return bool(secret_names(written.config) or secret_names(defaults.get(written.engine, {})))


async def read_secrets(
    written: WrittenRecord, defaults: Mapping[str, Mapping[str, Any]], secrets: ISecrets
) -> Secrets:
    """Every secret a record needs, or how reading it failed; none of one that is disabled.

    The record's own are read for its owner, those of its engine's defaults for the host.
    """
    read: dict[str, str | Exception] = {}
    if written.mode == "disabled":
        return read
    for name in secret_names(defaults.get(written.engine, {})):
        read[name] = await _read(secrets, name, {})
    for name in secret_names(written.config):
        read[name] = await _read(secrets, name, reading_for(written.owner))
    return read


async def _read(secrets: ISecrets, name: str, work: Mapping[str, str]) -> str | Exception:
    try:
        return await secrets.read(name, **work)
    except SecretFailure as failure:
        return failure
    except Exception as broken:  # a vault of a plugin's, whose words may hold anything
        log.error("the vault failed: {kind}", kind=type(broken).__name__)
        return SecretFailure(f"the vault failed to read {name}")
