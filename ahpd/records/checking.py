"""Whether the agents of records would work, each asked of its engine within a bound."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime

from ahpd.config.records import WrittenRecord
from ahpd.config.redaction import scrub
from ahpd.interfaces.agents import Finding
from ahpd.interfaces.engines import RecordFailure
from ahpd.interfaces.vault import ISecrets
from ahpd.records.bounded import within
from ahpd.records.building import Ready, prepare
from ahpd.records.engines import Engines, MissingEngine
from ahpd.records.opening import PortsFor
from ahpd.records.secrets import read_secrets
from ahpd.records.words import failure_words

#: Seconds an engine may take to look at one record.
CHECK_BOUND: Final = 20.0


@attrs.frozen
class Checker:
    """Asks the engines of records. `clock` bounds each of them by `bound` seconds.

    Without `secrets` a record that names one is said not to be readable here.
    """

    engines: Engines
    defaults: Mapping[str, Mapping[str, Any]] = attrs.field(repr=False)
    ports_for: PortsFor
    clock: IReactorTime
    bound: float = CHECK_BOUND
    secrets: ISecrets | None = None

    async def check_all(
        self, records: Sequence[WrittenRecord]
    ) -> Sequence[tuple[WrittenRecord, Sequence[Finding]]]:
        """Every record that is not disabled with what was found, all looked at at once."""
        looked = [record for record in records if record.mode != "disabled"]
        asked = [Deferred.fromCoroutine(self._check(record)) for record in looked]
        return [(record, await found) for record, found in zip(looked, asked, strict=True)]

    async def _check(self, written: WrittenRecord) -> Sequence[Finding]:
        try:
            ports = self.ports_for(written)
            secrets = None
            if self.secrets is not None:
                secrets = await read_secrets(written, self.defaults, self.secrets, self.engines)
            ready = prepare(written, self.engines, self.defaults, ports.environ, secrets)
        except MissingEngine as missing:
            return (Finding(about="record", ok=False, words=missing.words, mend=missing.mend),)
        except RecordFailure as failure:
            return (Finding(about="record", ok=False, words=str(failure)),)
        try:
            said: Sequence[Finding] = await within(
                self.bound, self.clock, lambda: ready.engine.check(ready.record, ports)
            )
            found = [_clean(finding, ready) for finding in said]
        except TimeoutError:
            return (_wrong(f"not known after {self.bound:g} s: the check was given up"),)
        except Exception as error:
            return (_wrong(f"the check failed: {failure_words(error, ready.secrets)}"),)
        if written.mode == "paused":
            found.append(Finding(about="record", ok=True, words="paused: no new session on it"))
        return found or (Finding(about="agent", ok=True, words="nothing to look at"),)


def _wrong(words: str) -> Finding:
    return Finding(about="agent", ok=False, words=words)


def _clean(finding: Finding, ready: Ready) -> Finding:
    """A finding without this record's secrets, whatever the engine put into it."""
    secrets = list(ready.secrets)
    mend = None if finding.mend is None else scrub(finding.mend, secrets)
    words = " ".join(scrub(finding.words, secrets).split())
    return attrs.evolve(finding, words=words, mend=mend)
