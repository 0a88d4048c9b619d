"""Who is told of the changes of a collection."""

from collections.abc import Callable

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.interfaces import RecordChange

log = Logger()


class Watchers:
    """The watchers of the collection called `name`; true while there are any."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._watching: dict[object, Callable[[RecordChange], None]] = {}

    def __bool__(self) -> bool:
        return bool(self._watching)

    def add(
        self, changed: Callable[[RecordChange], None], stopped: Callable[[], None] | None = None
    ) -> Callable[[], None]:
        """Have `changed` told; what this answers stops that, and calls `stopped` then."""
        key = object()
        self._watching[key] = changed

        def stop() -> None:
            if self._watching.pop(key, None) is not None and stopped is not None:
                stopped()

        return stop

    def clear(self) -> None:
        """Tell nobody any more."""
        self._watching.clear()

    def tell(self, change: RecordChange) -> None:
        """Tell everybody; one that raises is logged."""
        for key, changed in list(self._watching.items()):
            if key not in self._watching:  # stopped by one that was told before
                continue
            try:
                called(changed, change)
            except Exception:
                log.failure(
                    "a watcher of the records {name} failed at {id} {type}",
                    name=self._name,
                    id=change.id,
                    type=change.type,
                )
