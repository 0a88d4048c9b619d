"""Who watches which channel, looked up both ways round."""

from collections.abc import Callable

from twisted.logger import Logger

from ahpd.interfaces import ISubscriber

log = Logger()

#: Told of a channel, of somebody who watches it from now on, or with False no more.
WatchingHook = Callable[[str, ISubscriber, bool], None]


class Watchers:
    """The subscriptions of one store. To read `by_channel` is to see who an action goes to."""

    __slots__ = ("_by_subscriber", "by_channel", "told")

    def __init__(self) -> None:
        self.by_channel: dict[str, dict[ISubscriber, None]] = {}
        """In the order they came; a channel nobody watches is not here. To read."""
        self._by_subscriber: dict[ISubscriber, set[str]] = {}
        self.told: list[WatchingHook] = []

    def add(self, channel: str, subscriber: ISubscriber) -> bool:
        """`subscriber` watches `channel`; whether it is the first who does. Again is no error."""
        watchers = self.by_channel.setdefault(channel, {})
        is_first = not watchers
        watchers[subscriber] = None
        self._by_subscriber.setdefault(subscriber, set()).add(channel)
        return is_first

    def remove(self, channel: str, subscriber: ISubscriber) -> bool:
        """It watches no more; whether it was the last who did. One that did not is no error."""
        watchers = self.by_channel.get(channel)
        if watchers is None or subscriber not in watchers:
            return False
        del watchers[subscriber]
        if not watchers:
            del self.by_channel[channel]
        watched = self._by_subscriber[subscriber]
        watched.discard(channel)
        if not watched:
            del self._by_subscriber[subscriber]
        return not watchers

    def channels(self) -> tuple[str, ...]:
        """Every channel somebody watches."""
        return tuple(self.by_channel)

    def of(self, channel: str) -> tuple[ISubscriber, ...]:
        """Who watches `channel` now."""
        return tuple(self.by_channel.get(channel, ()))

    def watched_by(self, subscriber: ISubscriber) -> tuple[str, ...]:
        """What `subscriber` watches now."""
        return tuple(self._by_subscriber.get(subscriber, ()))

    def tell(self, channel: str, subscriber: ISubscriber, began: bool) -> None:
        """A subscription began, or ended: `told` hear of it, and keep nobody in or out."""
        for told in self.told:
            try:
                told(channel, subscriber, began)
            except Exception:
                log.failure("what follows who watches {channel} failed", channel=channel)
