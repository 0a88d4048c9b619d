"""Watches as channels: attached at the first subscribe, let go of 30 s after the last."""

import pytest
from twisted.internet.defer import Deferred, succeed
from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IChannelSource, IResources, IResourceWatcher, RpcError, WatchRequest
from ahpd.protocol.errors import METHOD_NOT_FOUND
from ahpd.watches.channels import GRACE
from ahpd.watches.names import channel_of
from ahpd.watches.service import ResourceWatches
from tests.conftest import Watcher

REQUEST = WatchRequest(root="file:///work", recursive=True, excludes=("out",))
CHANNEL = channel_of(REQUEST)
ADDED = {"uri": "file:///work/a", "type": "added"}


@implementer(IResourceWatcher)
class FakeWatcher:
    def __init__(self, request, changed):
        self.request = request
        self.changed = changed
        self.released = 0
        self.done = succeed(None)

    def release(self):
        self.released += 1
        return self.done


@implementer(IResources)
class FakeResources:
    """Resources of which a test says what is there, and when a watch is attached."""

    def __init__(self):
        self.watchers = []
        self.asked = []
        self.answers = {
            "resourceResolve": {"uri": "file:///work", "type": "file"},
            "resourceRead": {"data": "", "encoding": "utf-8"},
        }
        self.attached = None  # a Deferred holds the attaching up
        self.refusal = None
        self.unwatched = None

    async def ask(self, method, params):
        self.asked.append((method, params["uri"]))
        answer = self.answers[method]
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def watch(self, request, changed):
        if self.attached is not None:
            await self.attached
        if self.refusal is not None:
            raise self.refusal
        self.watchers.append(FakeWatcher(request, changed))
        return self.watchers[-1]

    def check_watched(self, root):
        if self.unwatched is not None:
            raise self.unwatched


class Watches:
    def __init__(self, **options):
        self.clock = Clock()
        self.store = ChannelStore()
        self.resources = FakeResources()
        self.service = ResourceWatches(self.store, self.resources, self.clock, **options)
        self.service.startService()

    def create(self, request=REQUEST):
        return outcome(self.service.create(request))

    def ready(self, channel=CHANNEL):
        waking = self.service.channels.ready(channel)
        return [] if waking is None else outcomes(waking)

    def subscribed(self, channel=CHANNEL):
        watcher = Watcher()
        self.ready(channel)
        self.store.subscribe(channel, watcher)
        return watcher


def outcomes(awaitable):
    async def run():
        return await awaitable

    results = []
    Deferred.fromCoroutine(run()).addBoth(results.append)
    return results


def outcome(awaitable):
    [result] = outcomes(awaitable)
    return refusal(result) or result


def refusal(result):
    """The code and the words of a failure; None for anything else."""
    error = getattr(result, "value", None)
    return (error.code, error.message) if isinstance(error, RpcError) else None


@pytest.fixture
def watches():
    return Watches()


# -- creating ------------------------------------------------------------------------


def test_a_channel_is_made_without_anything_being_watched(watches):
    assert watches.create() == CHANNEL
    assert watches.resources.watchers == []
    assert not watches.store.is_open(CHANNEL)
    assert watches.service.channels.resolve(CHANNEL) == CHANNEL
    verifyObject(IChannelSource, watches.service.channels)


def test_a_folder_is_asked_for_its_names_as_it_has_to_be_readable(watches):
    watches.resources.answers["resourceResolve"]["type"] = "directory"
    watches.resources.answers["resourceList"] = RpcError(-32009, "no")
    assert watches.create() == (-32009, "Permission denied: file:///work")


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (RpcError(-32009, "no"), (-32009, "Permission denied: file:///work")),
        (RpcError(-32008, "went"), (-32008, "Resource not found: file:///work")),
        (RpcError(-32602, "a pipe"), CHANNEL),
        (RpcError(METHOD_NOT_FOUND, "no such question"), CHANNEL),
    ],
)
def test_a_file_is_asked_for_nothing_but_whether_it_is_readable(watches, error, found):
    watches.resources.answers["resourceRead"] = error
    assert watches.create() == found


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (RpcError(-32008, "gone"), (-32008, "Resource not found: file:///work")),
        (RpcError(-32009, "shut"), (-32009, "Permission denied: file:///work")),
        (RpcError(-32602, "params.uri: no"), (-32602, "params.uri: no")),
        (RpcError(METHOD_NOT_FOUND, "no such question"), CHANNEL),
    ],
)
def test_the_root_is_checked_first(watches, error, found):
    watches.resources.answers["resourceResolve"] = error
    assert watches.create() == found


def test_a_scheme_nobody_watches_is_said_before_anything_is_asked(watches):
    watches.resources.unwatched = RpcError(METHOD_NOT_FOUND, "nothing here serves notes:")
    assert watches.create(WatchRequest(root="notes:/a")) == (-32601, "nothing here serves notes:")
    assert watches.resources.asked == []


@pytest.mark.parametrize("key", ["includes", "excludes"])
def test_a_pattern_nobody_can_read_is_refused(watches, key):
    code, words = watches.create(WatchRequest(root="file:///work", **{key: ("[",)}))
    assert code == -32602
    assert "'['" in words


def test_a_clients_resource_is_taken_by_its_spelling_alone(watches):
    good = WatchRequest(root="vscode-agent-client://editor/file/-/work")
    assert watches.create(good) == channel_of(good)
    code, words = watches.create(WatchRequest(root="vscode-agent-client:/nobody"))
    assert code == -32602
    assert words.startswith("params.uri: ")
    assert watches.resources.asked == []


# -- attaching -----------------------------------------------------------------------


def test_the_first_subscribe_attaches_and_reads_what_is_watched(watches):
    assert watches.ready() == [None]
    [watcher] = watches.resources.watchers
    assert watcher.request == REQUEST
    assert watches.store.state(CHANNEL) == {
        "root": "file:///work",
        "recursive": True,
        "excludes": {"items": ["out"]},
    }
    assert watches.ready() == []


def test_two_that_subscribe_at_once_share_one_watch(watches):
    watches.resources.attached = Deferred()
    first, second = watches.ready(), watches.ready()
    assert (first, second) == ([], [])
    watches.resources.attached.callback(None)
    assert (first, second) == ([None], [None])
    assert len(watches.resources.watchers) == 1


def test_a_failure_reaches_all_who_wait_and_leaves_nothing_open(watches):
    watches.resources.attached = Deferred()
    watches.resources.refusal = RpcError(-32603, "this machine's limit is met")
    first, second = watches.ready(), watches.ready()
    watches.resources.attached.callback(None)
    assert [refusal(each[0]) for each in (first, second)] == [
        (-32603, "this machine's limit is met")
    ] * 2
    assert not watches.store.is_open(CHANNEL)
    watches.resources.refusal = None
    assert watches.ready() == [None]


@pytest.mark.parametrize("code", [-32008, -32009, -32601, -32602])
def test_what_cannot_be_watched_is_no_watch(watches, code):
    watches.resources.refusal = RpcError(code, "the provider's own words")
    [result] = watches.ready()
    assert refusal(result) == (-32001, f"Resource watch not found: {CHANNEL}")


def test_what_a_client_refuses_is_passed_on(watches):
    channel = channel_of(WatchRequest(root="vscode-agent-client://editor/file/-/work"))
    watches.resources.refusal = RpcError(-32009, "the client's own words")
    [result] = watches.ready(channel)
    assert refusal(result) == (-32009, "the client's own words")


def test_a_name_that_says_nothing_is_not_resolved(watches):
    assert watches.service.channels.resolve("ahp-resource-watch://r/nothing") is None
    assert watches.service.channels.sought("ahp-resource-watch://r/nothing") is None
    [result] = watches.ready("ahp-resource-watch://r/nothing")
    assert refusal(result) == (
        -32001,
        "Resource watch not found: ahp-resource-watch://r/nothing",
    )


@pytest.mark.logs_failures
def test_a_host_watches_so_many_resources_and_no_more():
    watches = Watches(most=1)
    watches.subscribed()
    other = channel_of(WatchRequest(root="file:///other"))
    [result] = watches.ready(other)
    assert refusal(result) == (-32603, "This host watches 1 resources, the most it does")
    assert watches.ready() == []


# -- what is said -----------------------------------------------------------------------


def test_batches_are_said_on_the_channel_and_an_empty_one_is_not(watches):
    subscriber = watches.subscribed()
    [watcher] = watches.resources.watchers
    watcher.changed([ADDED])
    watcher.changed([])
    assert [(each["channel"], each["action"]) for each in subscriber.said] == [
        (CHANNEL, {"type": "resourceWatch/changed", "changes": {"items": [ADDED]}})
    ]


def test_nothing_is_said_of_a_watch_that_was_let_go_of(watches):
    subscriber = watches.subscribed()
    [watcher] = watches.resources.watchers
    watches.store.unsubscribe(CHANNEL, subscriber)
    watches.clock.advance(GRACE)
    watcher.changed([ADDED])
    assert watches.store.server_seq == 0


# -- letting go -----------------------------------------------------------------------


def test_a_watch_is_released_thirty_seconds_after_the_last_subscriber(watches):
    one, two = watches.subscribed(), watches.subscribed()
    [watcher] = watches.resources.watchers
    watches.store.unsubscribe(CHANNEL, one)
    watches.clock.advance(2 * GRACE)
    assert watcher.released == 0
    watches.store.leave(two)
    watches.clock.advance(GRACE - 0.1)
    assert watcher.released == 0
    watches.clock.advance(0.1)
    assert watcher.released == 1
    assert not watches.store.is_open(CHANNEL)
    assert watches.clock.getDelayedCalls() == []


def test_a_subscribe_calls_the_release_off(watches):
    first = watches.subscribed()
    watches.store.leave(first)
    watches.clock.advance(GRACE - 1)
    second = watches.subscribed()
    watches.clock.advance(2 * GRACE)
    [watcher] = watches.resources.watchers
    assert watcher.released == 0
    watcher.changed([ADDED])
    assert len(second.said) == 1


def test_what_is_said_while_nobody_is_here_is_held_for_who_comes_back(watches):
    first = watches.subscribed()
    watches.store.leave(first)
    [watcher] = watches.resources.watchers
    watcher.changed([ADDED])
    assert len(watches.store.replay.after(0, {CHANNEL})) == 1


def test_a_watch_nobody_came_for_is_released_too(watches):
    watches.ready()
    watches.clock.advance(GRACE)
    assert watches.resources.watchers[0].released == 1


def test_a_watch_that_was_let_go_of_is_attached_anew(watches):
    watches.store.leave(watches.subscribed())
    watches.clock.advance(GRACE)
    watches.subscribed()
    assert [each.released for each in watches.resources.watchers] == [1, 0]


def test_who_held_a_watch_that_was_let_go_of_is_owed_its_state(watches):
    closed = []
    watches.store.on_closed = lambda channel, watchers: closed.append(channel)
    watches.store.leave(watches.subscribed())
    watches.clock.advance(GRACE)
    assert closed == [CHANNEL]


@pytest.mark.logs_failures
def test_a_release_that_fails_is_logged_and_no_more(watches):
    watches.store.leave(watches.subscribed())
    watches.resources.watchers[0].done = Deferred()
    watches.clock.advance(GRACE)
    watches.resources.watchers[0].done.errback(RuntimeError("the provider failed"))
    assert watches.ready() == [None]


# -- stopping -----------------------------------------------------------------------


def test_stopping_releases_every_watch_and_waits_for_it(watches):
    watches.subscribed()
    other = channel_of(WatchRequest(root="file:///other"))
    watches.subscribed(other)
    for watcher in watches.resources.watchers:
        watcher.done = Deferred()
    stopped = outcomes(watches.service.stopService())
    assert [each.released for each in watches.resources.watchers] == [1, 1]
    assert stopped == []
    for watcher in watches.resources.watchers:
        watcher.done.callback(None)
    assert stopped == [None]
    assert watches.clock.getDelayedCalls() == []


def test_a_watch_attached_while_the_host_stops_is_released_at_once(watches):
    watches.resources.attached = Deferred()
    waiting = watches.ready()
    stopped = outcomes(watches.service.stopService())
    assert stopped == []
    watches.resources.attached.callback(None)
    assert refusal(waiting[0])[0] == -32603
    assert watches.resources.watchers[0].released == 1
    assert stopped == [None]
    assert not watches.store.is_open(CHANNEL)
    assert refusal(watches.ready()[0])[0] == -32603
