"""The host's own small facts, in one JSON file beside the sessions."""

from pathlib import Path

from zope.interface import implementer

from ahpd.interfaces import IHostRecord, StoreFailure
from ahpd.protocol import State
from ahpd.stores.failures import store_failure
from ahpd.whole_files import replace
from ahpd.wire.codec import decode, encode


@implementer(IHostRecord)
class FileRecord:
    """Facts in one file, written whole: a reader finds the old ones or the new ones.

    Its folder is there and is one process's at a time. Raises `StoreFailure`, the file
    untouched, where there is one that is no JSON object of objects.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._facts = _read(path)

    def read(self, name: str) -> State:
        """See `IHostRecord.read`."""
        return self._facts.get(name, {})

    def write(self, name: str, value: State) -> None:
        """See `IHostRecord.write`."""
        facts = {**self._facts, name: value}
        try:
            replace(self._path, encode(facts))
        except (OSError, UnicodeEncodeError) as error:
            raise store_failure(self._path, error) from None
        self._facts = facts


def _read(path: Path) -> dict[str, State]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise store_failure(path, error) from None
    try:
        facts = decode(data)
    except ValueError:
        facts = None
    if not isinstance(facts, dict) or not all(isinstance(fact, dict) for fact in facts.values()):
        raise StoreFailure(f"{path}: it is damaged, no JSON object of objects; move it away")
    return facts
