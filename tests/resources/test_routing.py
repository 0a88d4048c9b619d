"""Each resource goes by its scheme to whoever serves it, and to nobody else."""

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import formatEvent, globalLogPublisher
from twisted.python.failure import Failure
from zope.interface import implementer, provider

from ahpd.interfaces import (
    IClientFiles,
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IResourceWatcher,
    IWatchedResources,
    IWritableResources,
    RpcError,
    Wanted,
    WatchRequest,
)
from ahpd.protocol.methods import COMMANDS
from ahpd.resources.service import Resources

ONE_END = [
    ("resourceRead", {}),
    ("resourceList", {}),
    ("resourceResolve", {}),
    ("resourceWrite", {"data": "x", "encoding": "utf-8"}),
    ("resourceDelete", {}),
    ("resourceMkdir", {}),
]
TWO_ENDS = ["resourceMove", "resourceCopy"]


@implementer(IResourceProvider)
class ReadOnly:
    """A provider with the one thing every provider has; `answer` is what it answers."""

    def __init__(self, answer=None):
        self.answer = {"data": "x", "encoding": "utf-8"} if answer is None else answer
        self.calls = []

    def _say(self, *call):
        self.calls.append(call)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer

    async def read(self, uri, wanted):
        return self._say("read", uri, wanted)


@implementer(IListedResources, IResolvedResources, IWritableResources, IWatchedResources)
class Whole(ReadOnly):
    async def list(self, uri):
        return self._say("list", uri)

    async def resolve(self, uri, follow_symlinks):
        return self._say("resolve", uri, follow_symlinks)

    async def write(self, params):
        self._say("write", params)

    async def delete(self, uri, recursive):
        self._say("delete", uri, recursive)

    async def mkdir(self, uri):
        self._say("mkdir", uri)

    async def move(self, source, destination, fail_if_exists):
        self._say("move", source, destination, fail_if_exists)

    async def copy(self, source, destination, fail_if_exists):
        self._say("copy", source, destination, fail_if_exists)

    async def watch(self, request, changed):
        return self._say("watch", request, changed)


@implementer(IClientFiles)
class Clients:
    def __init__(self):
        self.asked = []

    async def ask(self, method, params):
        self.asked.append((method, params))
        return "as it gave it"

    async def watch(self, request, changed):
        self.asked.append(("watch", request))
        return WATCHER


@provider(IResourceWatcher)
class WATCHER:
    pass


def result(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    assert results, "not done yet"
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


def ask(resources, method, **params):
    return result(resources.ask(method, {"channel": "ahp-root://", **params}))


def refused(resources, method, **params):
    with pytest.raises(RpcError) as refusal:
        ask(resources, method, **params)
    return refusal.value.code, refusal.value.message


# -- what a provider is called with, and answers -----------------------------------------


def call(method, answer=None, **params):
    """The one call a provider gets for a command, and the command's result."""
    whole = Whole(answer)
    resources = Resources()
    resources.register("notes", whole)
    answered = ask(resources, method, **params)
    (made,) = whole.calls
    return made, answered


def test_a_read_says_how_much_of_it_is_wanted():
    made, answered = call("resourceRead", uri="notes:/a", encoding="base64")
    assert made == ("read", "notes:/a", Wanted(encoding="base64"))
    assert answered == {"data": "x", "encoding": "utf-8"}


def test_a_list_is_wrapped_into_its_result():
    entries = [{"name": "a", "type": "file"}, {"name": "b", "type": "directory"}]
    made, answered = call("resourceList", tuple(entries), uri="notes:/")
    assert (made, answered) == (("list", "notes:/"), {"entries": entries})


@pytest.mark.parametrize(("said", "follows"), [({}, True), ({"followSymlinks": False}, False)])
def test_a_resolve_follows_links_unless_it_says_otherwise(said, follows):
    found = {"uri": "notes:/a", "type": "file", "size": 2}
    made, answered = call("resourceResolve", found, uri="notes:/a", **said)
    assert (made, answered) == (("resolve", "notes:/a", follows), found)
    made, _ = call("resourceResolve", found, uri="notes:/a", followSymlinks=None)
    assert made[-1] is True


@pytest.mark.parametrize(
    ("method", "params", "made"),
    [
        ("resourceDelete", {"uri": "notes:/a"}, ("delete", "notes:/a", False)),
        ("resourceDelete", {"uri": "notes:/a", "recursive": True}, ("delete", "notes:/a", True)),
        ("resourceMkdir", {"uri": "notes:/a"}, ("mkdir", "notes:/a")),
        (
            "resourceMove",
            {"source": "notes:/a", "destination": "NOTES:/b"},
            ("move", "notes:/a", "NOTES:/b", False),
        ),
        (
            "resourceCopy",
            {"source": "notes:/a", "destination": "notes:/b", "failIfExists": True},
            ("copy", "notes:/a", "notes:/b", True),
        ),
    ],
)
def test_what_is_done_is_answered_with_nothing_more(method, params, made):
    assert call(method, **params) == (made, {})


def test_a_write_is_handed_over_whole():
    params = {"uri": "notes:/a", "data": "x", "encoding": "utf-8", "ifMatch": "7", "mode": "append"}
    made, answered = call("resourceWrite", **params)
    assert made == ("write", {"channel": "ahp-root://", **params})
    assert answered == {}


# -- who is asked ------------------------------------------------------------------------


def test_the_scheme_alone_decides_and_its_case_does_not_matter():
    files, notes = Whole(), Whole()
    resources = Resources({"file": files}, Clients())
    resources.register("Notes", notes)
    ask(resources, "resourceRead", uri="FILE:///x")
    ask(resources, "resourceRead", uri="nOtes:x")
    assert [each.calls[0][1] for each in (files, notes)] == ["FILE:///x", "nOtes:x"]


@pytest.mark.parametrize(("method", "params"), ONE_END)
def test_a_scheme_nobody_serves_is_told_as_that(method, params):
    resources = Resources({"file": Whole()})
    assert refused(resources, method, uri="notes://a/b", **params) == (
        -32601,
        "nothing here serves notes:",
    )


@pytest.mark.parametrize("method", TWO_ENDS)
def test_so_is_one_of_a_move_and_a_copy(method):
    ends = {"source": "notes:/a", "destination": "notes:/b"}
    assert refused(Resources(), method, **ends) == (-32601, "nothing here serves notes:")


def test_without_clients_nothing_serves_their_scheme():
    uri = "vscode-agent-client://editor/file/-/x"
    words = "nothing here serves vscode-agent-client:"
    assert refused(Resources(), "resourceRead", uri=uri) == (-32601, words)
    with pytest.raises(RpcError, match=words):
        result(Resources().watch(WatchRequest(root=uri), print))


@pytest.mark.parametrize("uri", ["", "a", "/a/b", "../x", ":x", "1a:/x", "-:x", "//host/x"])
@pytest.mark.parametrize(("method", "params"), ONE_END)
def test_what_is_no_uri_is_refused_at_its_parameter(method, params, uri):
    code, words = refused(Resources({"file": Whole()}), method, uri=uri, **params)
    assert code == -32602
    assert words == f"params.uri: expected a URI with a scheme, found {uri!r}"


@pytest.mark.parametrize("end", ["source", "destination"])
def test_so_is_either_end_of_a_move(end):
    ends = {"source": "file:///a", "destination": "file:///b", end: "relative"}
    code, words = refused(Resources({"file": Whole()}), "resourceMove", **ends)
    assert (code, words.partition(":")[0]) == (-32602, f"params.{end}")


@pytest.mark.parametrize("method", TWO_ENDS)
def test_two_ends_of_different_schemes_are_refused_before_anybody_is_asked(method):
    files, notes, clients = Whole(), Whole(), Clients()
    resources = Resources({"file": files}, clients)
    resources.register("notes", notes)
    named = ["file:///a", "notes:/a", "vscode-agent-client://editor/file/-/a"]
    for source in named:
        for destination in named:
            if source != destination:
                code, words = refused(resources, method, source=source, destination=destination)
                assert code == -32602
                assert words.startswith("params.destination: ")
    assert files.calls == notes.calls == clients.asked == []


def test_clients_share_a_scheme_and_are_asked_whatever_the_two_ends_are():
    clients = Clients()
    ends = {
        "source": "vscode-agent-client://one/file/-/a",
        "destination": "vscode-agent-client://two/mem/-/a",
    }
    assert ask(Resources({}, clients), "resourceMove", **ends) == "as it gave it"
    assert clients.asked == [("resourceMove", {"channel": "ahp-root://", **ends})]


# -- what a provider does not do ---------------------------------------------------------


@pytest.mark.parametrize(("method", "params"), ONE_END[1:])
def test_what_a_provider_does_not_provide_is_not_there(method, params):
    resources = Resources()
    resources.register("notes", ReadOnly())
    assert refused(resources, method, uri="notes:/a", **params) == (
        -32601,
        f"{method} is not served for notes:",
    )
    assert ask(resources, "resourceRead", uri="notes:/a")


@pytest.mark.parametrize("method", TWO_ENDS)
def test_nor_are_a_move_and_a_copy(method):
    resources = Resources()
    resources.register("notes", ReadOnly())
    ends = {"source": "notes:/a", "destination": "notes:/b"}
    assert refused(resources, method, **ends) == (-32601, f"{method} is not served for notes:")


def test_what_cannot_be_watched_is_told_as_that():
    resources = Resources()
    resources.register("notes", ReadOnly())
    with pytest.raises(RpcError) as refusal:
        result(resources.watch(WatchRequest(root="notes:/a"), print))
    assert (refusal.value.code, refusal.value.message) == (
        -32601,
        "createResourceWatch is not served for notes:",
    )


# -- what goes wrong in a provider -------------------------------------------------------


@pytest.mark.parametrize("code", [-32008, -32009, -32010, -32011, -32602])
def test_a_providers_refusal_is_passed_on(code):
    resources = Resources({"file": Whole(RpcError(code, "Its words", {"x": 1}))})
    for method, params in ONE_END:
        assert refused(resources, method, uri="file:///a", **params) == (code, "Its words")


@pytest.mark.logs_failures
@pytest.mark.parametrize("error", [ValueError("s3cret"), KeyError("s3cret"), OSError("s3cret")])
def test_whatever_else_it_raises_is_told_in_safe_words(error):
    resources = Resources({"file": Whole(error)})
    for method, params in ONE_END:
        code, words = refused(resources, method, uri="file:///a", **params)
        assert code == -32603
        assert words == f"{method} of file: failed; the host's log says why"
    with pytest.raises(RpcError, match="createResourceWatch of file: failed"):
        result(resources.watch(WatchRequest(root="file:///a"), print))


def test_what_is_cancelled_stays_cancelled():
    class Waits(Whole):
        async def read(self, uri, wanted):
            await Deferred()

    resources = Resources({"file": Waits()})
    asking = Deferred.fromCoroutine(resources.ask("resourceRead", {"uri": "file:///a"}))
    asking.cancel()
    assert isinstance(asking.result, Failure)
    assert asking.result.check(CancelledError)
    asking.addErrback(lambda _: None)


@pytest.mark.logs_failures
def test_a_provider_that_cancels_itself_has_failed():
    resources = Resources({"file": Whole(CancelledError())})
    with pytest.raises(RpcError, match="log says why"):
        ask(resources, "resourceRead", uri="file:///a")


@pytest.mark.parametrize(
    ("method", "answer"),
    [
        ("resourceRead", None),
        ("resourceRead", {"data": "x"}),
        ("resourceRead", {"data": b"x", "encoding": "utf-8"}),
        ("resourceRead", {"data": "x", "encoding": "latin-1"}),
        ("resourceRead", {"data": "x", "encoding": "utf-8", "more": 1}),
        ("resourceList", [{"name": "a"}]),
        ("resourceList", [{"name": "a", "type": "symlink"}]),
        ("resourceResolve", {"uri": "file:///a"}),
        ("resourceResolve", {"uri": "file:///a", "type": "file", "size": "2"}),
    ],
)
def test_an_answer_that_ahp_does_not_declare_is_not_told(method, answer):
    whole = Whole()
    whole.answer = answer
    code, words = refused(Resources({"file": whole}), method, uri="file:///a")
    assert (code, words) == (-32603, f"{method} of file: had no answer; the log says why")


# -- access and watches ------------------------------------------------------------------


@pytest.mark.parametrize("uri", ["file:///etc/shadow", "notes:/x", "nonsense", ""])
def test_access_is_granted_to_anything(uri):
    assert ask(Resources(), "resourceRequest", uri=uri, write=True) == {}


@pytest.mark.parametrize(
    ("said", "modes"),
    [
        ({}, "read"),
        ({"read": True}, "read"),
        ({"write": True}, "write"),
        ({"read": True, "write": True}, "read and write"),
        ({"read": False, "write": False}, "read"),
    ],
)
def test_access_that_is_granted_is_in_the_log(said, modes):
    lines = []

    def note(event):
        lines.append((event["log_level"].name, formatEvent(event)))

    globalLogPublisher.addObserver(note)
    try:
        ask(Resources(), "resourceRequest", uri="file:///x", **said)
    finally:
        globalLogPublisher.removeObserver(note)
    assert lines == [("info", f"access to file:///x granted: {modes}")]


def test_access_to_what_a_client_has_is_asked_of_it():
    clients = Clients()
    uri = "vscode-agent-client://editor/file/-/x"
    assert ask(Resources({}, clients), "resourceRequest", uri=uri) == "as it gave it"
    assert clients.asked == [("resourceRequest", {"channel": "ahp-root://", "uri": uri})]


def test_a_watch_goes_to_whoever_serves_its_root():
    files, clients = Whole(WATCHER), Clients()
    resources = Resources({"file": files}, clients)
    here, there = (
        WatchRequest(root="file:///a", recursive=True),
        WatchRequest(root="vscode-agent-client://editor/file/-/a"),
    )
    assert result(resources.watch(here, print)) is WATCHER
    assert result(resources.watch(there, print)) is WATCHER
    assert files.calls == [("watch", here, print)]
    assert clients.asked == [("watch", there)]
    with pytest.raises(RpcError, match="nothing here serves notes:"):
        result(resources.watch(WatchRequest(root="notes:/a"), print))


# -- registration ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "file",
        "FILE",
        "vscode-agent-client",
        "VSCode-Agent-Client",
        "automations",
        "session",
        "chat",
        "user",
        "team",
        "role",
        "config",
        "http",
        "https",
        "ws",
        "wss",
        "data",
        "mailto",
        "ahp-root",
        "ahp-anything",
        "AHPD-x",
        "ahpd-",
        "x-notes",
        "X-n",
    ],
)
def test_a_reserved_name_is_refused(name):
    with pytest.raises(ValueError, match=f"the name {name.lower()} is reserved"):
        Resources().register(name, Whole())


@pytest.mark.parametrize("name", ["", "1a", "a b", "notes:", "nötes", "a/b", "-a", "notes\n"])
def test_what_is_no_scheme_is_refused(name):
    with pytest.raises(ValueError, match="is no URI scheme"):
        Resources().register(name, Whole())


@pytest.mark.parametrize("name", ["ahp", "x", "xnotes", "files", "computer", "git+ssh", "a.b-c"])
def test_any_other_name_is_free(name):
    resources = Resources()
    resources.register(name, Whole())
    assert ask(resources, "resourceRead", uri=f"{name}:/x")


def test_a_scheme_is_served_by_one_until_it_is_given_up():
    resources = Resources()
    first, second = ReadOnly(), ReadOnly()
    resources.register("notes", first)
    with pytest.raises(ValueError, match="the scheme notes is served already"):
        resources.register("NOTES", second)
    resources.unregister("Notes")
    assert refused(resources, "resourceRead", uri="notes:/a")[0] == -32601
    resources.unregister("notes")
    resources.register("notes", second)
    ask(resources, "resourceRead", uri="notes:/a")
    assert (len(first.calls), len(second.calls)) == (0, 1)


def test_the_hosts_own_schemes_are_not_given_up():
    resources = Resources({"file": Whole()})
    with pytest.raises(ValueError, match="reserved"):
        resources.unregister("file")
    assert ask(resources, "resourceRead", uri="file:///a")


def test_what_cannot_be_read_serves_nothing():
    with pytest.raises(ValueError, match="cannot be read"):
        Resources().register("notes", object())


def test_every_command_of_the_family_is_routed():
    family = {name for name, spec in COMMANDS.items() if spec.direction == "both"}
    clients = Clients()
    for method in family - {"createResourceWatch"}:
        uri = "vscode-agent-client://editor/file/-/x"
        ask(Resources({}, clients), method, uri=uri, source=uri, destination=uri)
    assert {method for method, _ in clients.asked} == family - {"createResourceWatch"}
