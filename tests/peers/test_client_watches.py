"""Watching what a client alone has: the client watches, and says what changed."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import WatchRequest
from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import RpcError
from ahpd.testing.served_files import serve_files
from tests.peers.conftest import error_of, outcome

ROOT_URI = "file:///work"
FILES = {"file:///work/a": "a", "file:///work/b/c": "c"}


@pytest.fixture
def editor(host):
    return host.connect("editor")


@pytest.fixture
def files(editor):
    return serve_files(editor, FILES)


class Watched:
    """A watch, and the batches it told."""

    def __init__(self, host, uri=ROOT_URI, owner="editor", **how):
        self.batches = []
        request = WatchRequest(root=wrapped(owner, uri), **how)
        self.started = host.start(host.resources.watch(request, self.batches.append))

    @property
    def watcher(self):
        return outcome(self.started)


def added(uri, owner="editor", kind="added"):
    return {"uri": wrapped(owner, uri), "type": kind}


def say(host, probe, channel, **action):
    probe.say(channel, {"type": "resourceWatch/changed", **action})
    host.settle()


def test_the_client_is_asked_for_the_watch_and_then_subscribed_to(host, files):
    watch = Watched(host, recursive=True, includes=["*.ts"], excludes=["**/node_modules"])
    assert watch.watcher
    (created, subscribed) = files.asked
    assert created == (
        "createResourceWatch",
        {
            "channel": "ahp-root://",
            "uri": ROOT_URI,
            "recursive": True,
            "includes": {"items": ["*.ts"]},
            "excludes": {"items": ["**/node_modules"]},
        },
    )
    assert subscribed == ("subscribe", {"channel": next(iter(files.watches))})


def test_globs_that_were_not_given_are_not_sent(host, files):
    assert Watched(host).watcher
    assert files.asked[0][1] == {"channel": "ahp-root://", "uri": ROOT_URI, "recursive": False}


def test_what_changed_is_told_under_the_client_scheme(host, files):
    watch = Watched(host)
    assert watch.watcher
    files.change("added", "file:///work/a", "file:///work/b/c")
    files.change("deleted", "file:///work/a")
    host.settle()
    assert watch.batches == [
        [added("file:///work/a"), added("file:///work/b/c")],
        [added("file:///work/a", kind="deleted")],
    ]


def test_changes_that_come_ahead_of_the_subscriptions_answer_are_told(host, editor, files):
    gate = Deferred()

    def subscribe(params):
        editor.say(params["channel"], batch("updated", "file:///work/a"))
        return gate

    editor.serve("subscribe", subscribe)
    watch = Watched(host)
    assert watch.started == []
    assert watch.batches == [[added("file:///work/a", kind="updated")]]
    gate.callback({})
    host.settle()
    assert watch.watcher


def batch(kind, *uris):
    items = [{"uri": uri, "type": kind} for uri in uris]
    return {"type": "resourceWatch/changed", "changes": {"items": items}}


# -- letting go --------------------------------------------------------------------------


def test_a_watch_that_is_released_is_let_go_of_and_tells_nothing_more(host, editor, files):
    watch = Watched(host)
    (channel,) = files.watches
    watch.watcher.release()
    editor.say(channel, batch("added", "file:///work/a"))
    host.settle()
    assert files.watches == {}
    assert watch.batches == []
    watch.watcher.release()
    host.settle()
    told = [params for method, params in editor.notifications if method == "unsubscribe"]
    assert told == [{"channel": channel}]


def test_two_watches_of_one_channel_end_one_by_one(host, editor, files):
    editor.serve("createResourceWatch", lambda params: {"channel": "ahp-resource-watch:/one"})
    editor.serve("subscribe", lambda params: {})
    one, two = Watched(host), Watched(host)
    say(host, editor, "ahp-resource-watch:/one", changes=batch("added", "file:///x")["changes"])
    assert one.batches == two.batches == [[added("file:///x")]]
    one.watcher.release()
    say(host, editor, "ahp-resource-watch:/one", changes=batch("added", "file:///y")["changes"])
    assert len(one.batches) == 1
    assert len(two.batches) == 2
    assert not [method for method, _ in editor.notifications if method == "unsubscribe"]
    two.watcher.release()
    host.settle()
    assert [method for method, _ in editor.notifications] == ["unsubscribe"]


# -- what a client may get wrong ---------------------------------------------------------


@pytest.mark.parametrize("method", ["createResourceWatch", "subscribe"])
def test_a_refusal_is_the_clients_own_and_is_logged(host, editor, files, method, logged):
    def refuse(params):
        raise RpcError(-32008, "Not here", {"x": 1})

    editor.serve(method, refuse)
    error = error_of(Watched(host).started)
    assert (error.code, error.message, error.data) == (-32008, "Not here", {"x": 1})
    assert any(f"client editor refused {method} of " in line for line in logged)
    assert files.watches == {}  # what was made is let go of


def test_an_answer_without_a_channel_is_told_as_that(host, editor):
    editor.serve("createResourceWatch", lambda params: {"channel": 5})
    error = error_of(Watched(host).started)
    assert error.code == -32603
    assert "result.channel" in error.message


def test_a_watch_of_what_names_no_client_is_refused(host):
    request = WatchRequest(root="vscode-agent-client://editor")
    error = error_of(host.start(host.resources.watch(request, print)))
    assert error.code == -32602


@pytest.mark.parametrize(
    "action",
    [
        {"type": "resourceWatch/changed"},
        {"type": "resourceWatch/changed", "changes": {"items": [{"uri": "file:///x"}]}},
        {"type": "resourceWatch/changed", "changes": [{"uri": "file:///x", "type": "added"}]},
        batch("added", "no uri"),
        {"type": "session/titleChanged", "title": "x"},
    ],
)
def test_a_batch_that_is_none_is_dropped_with_words_in_the_log(host, editor, files, action, logged):
    watch = Watched(host)
    (channel,) = files.watches
    editor.say(channel, action)
    files.change("added", "file:///work/a")
    host.settle()
    assert watch.batches == [[added("file:///work/a")]]
    assert any("action: action.action" in line for line in logged)


def test_an_envelope_that_is_none_is_dropped(host, editor, files, logged):
    watch = Watched(host)
    for params in ({}, {"channel": 5}, {"channel": "x:/", "action": {"type": 1}}):
        editor.notify("action", **params)
    host.settle()
    assert watch.batches == []
    assert any("action: action.channel: expected" in line for line in logged)


def test_a_channel_nobody_asked_for_and_an_empty_batch_say_nothing(host, editor, files):
    watch = Watched(host)
    (channel,) = files.watches
    editor.say("ahp-resource-watch:/another", batch("added", "file:///work/a"))
    editor.say("ahp-session:/s1", batch("added", "file:///work/a"))
    editor.say(channel, batch("added"))
    host.settle()
    assert watch.batches == []


def test_another_client_says_nothing_on_a_channel_it_was_not_asked_for(host, editor, files):
    watch = Watched(host)
    (channel,) = files.watches
    host.connect("other").say(channel, batch("added", "file:///work/a"))
    host.connect("editor").say(channel, batch("added", "file:///work/a"))
    host.settle()
    assert watch.batches == []


def test_a_kind_of_change_nobody_knows_is_an_update_and_nothing_else_is_told(host, editor, files):
    watch = Watched(host)
    (channel,) = files.watches
    item = {"uri": "file:///work/a", "type": "touched", "by": "me"}
    say(host, editor, channel, changes={"items": [item]})
    assert watch.batches == [[added("file:///work/a", kind="updated")]]


# -- clients that come and go ------------------------------------------------------------


def test_a_client_that_comes_back_is_asked_again(host, editor, files):
    watch = Watched(host, recursive=True)
    (first,) = files.watches
    host.cut(editor)
    host.advance(600)
    files.watches.clear()
    host.reconnect(editor)
    (again,) = files.watches
    assert again != first
    assert files.methods() == ["createResourceWatch", "subscribe"] * 2
    files.change("added", "file:///work/a")
    host.settle()
    assert watch.batches == [[added("file:///work/a")]]
    watch.watcher.release()
    host.settle()
    assert files.watches == {}


def test_the_client_may_come_back_as_another_conversation(host, editor, files):
    watch = Watched(host)
    host.cut(editor)
    host.advance(60)
    served = []
    host.connect("editor", ready=lambda probe: served.append(serve_files(probe, FILES)))
    (again,) = served
    again.change("added", "file:///work/a")
    host.settle()
    assert watch.batches == [[added("file:///work/a")]]


def test_another_connection_of_the_client_takes_the_watch_over(host, editor, files):
    second = host.connect("editor")
    theirs = serve_files(second, FILES)
    watch = Watched(host)
    assert (len(files.watches), len(theirs.watches)) == (0, 1)
    third = serve_files(host.connect("editor"), FILES)
    assert third.watches == {}  # the one that watches is still here
    host.cut(second)
    assert len(third.watches) == 1
    third.change("added", "file:///work/a")
    host.settle()
    assert len(watch.batches) == 1


def test_a_client_that_will_not_watch_again_is_logged_and_asked_when_it_comes_back(
    host, editor, files, logged
):
    watch = Watched(host)
    host.cut(editor)
    files.watches.clear()
    files.refuse(ROOT_URI, RpcError(-32009, "Not any more"))
    host.reconnect(editor)
    assert any("refused createResourceWatch of file:///work: -32009" in line for line in logged)
    assert files.watches == {}
    files._refused.clear()
    host.advance(600)
    assert files.watches == {}  # nobody is asked for nothing
    host.cut(editor)
    host.reconnect(editor)
    assert len(files.watches) == 1
    watch.watcher.release()


def test_one_that_goes_while_it_is_asked_again_is_asked_on_its_next_connection(host, editor, files):
    watch = Watched(host)
    host.cut(editor)
    gates = []
    editor.serve("createResourceWatch", lambda params: gates.append(Deferred()) or gates[-1])
    for _ in range(3):
        host.reconnect(editor)
        host.cut(editor)
    files = serve_files(editor, FILES)
    host.reconnect(editor)
    assert len(files.watches) == 1
    files.change("added", "file:///work/a")
    host.settle()
    assert len(watch.batches) == 1


def test_one_that_goes_before_it_is_subscribed_to_is_asked_anew(host, editor, files):
    editor.serve("subscribe", lambda params: Deferred())
    watch = Watched(host)
    assert watch.started == []
    host.cut(editor)
    files = serve_files(editor, FILES)
    host.reconnect(editor)
    assert watch.watcher
    assert len(files.watches) == 1


def test_a_watch_released_while_it_is_asked_for_again_is_let_go_of_when_it_comes(
    host, editor, files
):
    watch = Watched(host)
    host.cut(editor)
    gate = Deferred()
    editor.serve("createResourceWatch", lambda params: gate)
    editor.serve("subscribe", lambda params: editor.say(params["channel"], batch("added", "x:/")))
    host.reconnect(editor)
    watch.watcher.release()
    gate.callback({"channel": "ahp-resource-watch:/late"})
    host.settle()
    told = [params for method, params in editor.notifications if method == "unsubscribe"]
    assert told == [{"channel": "ahp-resource-watch:/late"}]
    assert watch.batches == []


def test_a_watch_released_while_it_is_subscribed_to_again_is_let_go_of(host, editor, files):
    watch = Watched(host)
    host.cut(editor)
    gate = Deferred()
    editor.serve("subscribe", lambda params: gate)
    host.reconnect(editor)
    watch.watcher.release()
    host.settle()
    gate.callback({})
    host.settle()
    assert [method for method, _ in editor.notifications] == ["unsubscribe"]


def test_a_refusal_that_comes_late_has_the_next_connection_asked(host, editor, files):
    watch = Watched(host)
    host.cut(editor)
    gate = Deferred()
    editor.serve("createResourceWatch", lambda params: gate)
    host.reconnect(editor)
    served = []
    host.connect("editor", ready=lambda probe: served.append(serve_files(probe, FILES)))
    assert served[0].watches == {}
    gate.errback(RpcError(-32009, "Not any more"))
    host.settle()
    assert len(served[0].watches) == 1
    watch.watcher.release()


def test_a_watch_released_while_the_client_is_away_stays_released(host, editor, files):
    watch = Watched(host)
    host.cut(editor)
    watch.watcher.release()
    assert host.registry._listening == {}
    host.reconnect(editor)
    assert files.methods().count("createResourceWatch") == 1


def test_a_client_that_never_was_here_is_not_watched(host):
    error = error_of(Watched(host, owner="nobody").started)
    assert error.message == "No connection for authority: nobody"


def test_many_watches_come_back_together(host, editor, files):
    watches = [Watched(host, f"file:///work/{n}") for n in range(100)]
    assert all(watch.watcher for watch in watches)
    host.cut(editor)
    files.watches.clear()
    host.reconnect(editor)
    assert len(files.watches) == 100
    files.change("added", "file:///work/7")
    host.settle()
    assert [n for n, watch in enumerate(watches) if watch.batches] == [7]


def test_a_stop_lets_go_of_everything(host, editor, files):
    watch, other = Watched(host), Watched(host)
    assert watch.watcher
    assert other.watcher
    host.files.stopService()
    host.settle()
    assert files.watches == {}
    host.cut(editor)
    host.reconnect(editor)
    assert files.methods().count("createResourceWatch") == 2
    assert host.clock.getDelayedCalls() == []
