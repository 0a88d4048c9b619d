"""The secrets a record names, read from the vault ahead of its opening."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from ahpd.config.records import WrittenRecord
from ahpd.config.references import SECRET, references_in
from ahpd.interfaces import ISecrets, SecretFailure
from ahpd.interfaces.engines import RecordFailure
from ahpd.records.building import Secrets
from ahpd.records.engines import Engines
from ahpd.records.members import left_written
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
    written: WrittenRecord,
    defaults: Mapping[str, Mapping[str, Any]],
    secrets: ISecrets,
    engines: Engines,
) -> Secrets:
    """Every secret a record needs, or how reading it failed; none of one that is disabled.

    The record's own are read for its owner, those of its engine's defaults for the host. What
    its engine reads itself is not read.
    """
    if written.mode == "disabled":
        return {}
    left = _left(written, engines)
    work: dict[str, Mapping[str, str]] = {}
    beneath = _without(defaults.get(written.engine, {}), left)
    work |= {name: {} for name in secret_names(beneath)}
    own = _without(written.config, left)
    work |= {name: reading_for(written.owner) for name in secret_names(own)}
    # All at once: a vault that does not answer takes its time once.
    reading = [Deferred.fromCoroutine(_read(secrets, name, of)) for name, of in work.items()]
    return dict(zip(work, await gatherResults(reading), strict=True))


def _left(written: WrittenRecord, engines: Engines) -> Collection[str]:
    try:
        return left_written(engines.get(written.engine))
    except RecordFailure:  # which opening the record says
        return ()


def _without(config: Mapping[str, Any], left: Collection[str]) -> Mapping[str, Any]:
    return {key: value for key, value in config.items() if key not in left}


async def _read(secrets: ISecrets, name: str, work: Mapping[str, str]) -> str | Exception:
    try:
        return await secrets.read(name, **work)
    except SecretFailure as failure:
        return failure
    except Exception as broken:  # a vault of a plugin's, whose words may hold anything
        log.error("the vault failed: {kind}", kind=type(broken).__name__)
        return SecretFailure(f"the vault failed to read {name}")
