"""What a client alone has is asked of it, and its answers come back as it gave them."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import RpcError, permission_denied
from ahpd.testing.served_files import serve_files
from tests.peers.conftest import error_of, outcome

FILES = {"file:///work/a.ts": "let a = 1", "mem://notes/b": b"\xff\x00"}


@pytest.fixture
def editor(host):
    return host.connect("editor")


@pytest.fixture
def files(editor):
    return serve_files(editor, FILES)


@pytest.fixture
def other(host, files):
    return host.connect("other")


def test_a_read_goes_to_the_client_about_the_uri_it_knows(host, files, other):
    answer = host.ask(other, "resourceRead", "editor", "file:///work/a.ts")
    assert answer == {"data": "let a = 1", "encoding": "utf-8"}
    params = {"channel": "ahp-root://", "uri": "file:///work/a.ts"}
    assert files.asked == [("resourceRead", params)]


def test_every_operation_is_relayed_with_all_it_said(host, files, other):
    def ask(method, uri, **params):
        return host.ask(other, method, "editor", uri, **params)

    assert ask("resourceList", "file:///work")["entries"] == [{"name": "a.ts", "type": "file"}]
    assert ask("resourceResolve", "mem://notes/b", followSymlinks=False)["size"] == 2
    assert ask("resourceMkdir", "mem://notes/d") == {}
    assert ask("resourceWrite", "mem://notes/d/e", data="x", encoding="utf-8") == {}
    assert ask("resourceDelete", "mem://notes/d", recursive=True) == {}
    assert ask("resourceRequest", "mem://notes/b", write=True) == {}
    assert files.methods() == [
        "resourceList",
        "resourceResolve",
        "resourceMkdir",
        "resourceWrite",
        "resourceDelete",
        "resourceRequest",
    ]
    sent = dict(files.asked)
    assert sent["resourceResolve"]["followSymlinks"] is False
    assert sent["resourceWrite"]["data"] == "x"
    assert sent["resourceRequest"]["write"] is True
    assert all(params["channel"] == "ahp-root://" for params in sent.values())


def test_what_an_older_or_newer_client_adds_comes_back_with_the_answer(host, editor):
    answer = {"data": "x", "encoding": "utf-8", "etag": "7", "more": {"deep": [1, None]}}
    editor.serve("resourceRead", lambda params: answer)
    asker = host.connect("other", foreign=True)
    assert host.ask(asker, "resourceRead", "editor", "mem:/x") == answer


def test_a_range_is_asked_of_the_client_as_it_was_asked_here(host, files, other):
    meta = {"ahpd.range": {"offset": 1, "length": 2}}
    host.ask(other, "resourceRead", "editor", "file:///work/a.ts", _meta=meta)
    assert files.asked[0][1]["_meta"] == meta


# -- two ends ----------------------------------------------------------------------------


def two_ends(host, asker, method, source, destination):
    return host.start(asker.request(method, source=source, destination=destination))


@pytest.mark.parametrize("method", ["resourceMove", "resourceCopy"])
def test_both_ends_are_named_as_the_client_knows_them(host, files, other, method):
    ends = wrapped("editor", "file:///work/a.ts"), wrapped("editor", "file:///work/b.ts")
    assert outcome(two_ends(host, other, method, *ends)) == {}
    ((_, params),) = files.asked
    assert params["source"] == "file:///work/a.ts"
    assert params["destination"] == "file:///work/b.ts"


@pytest.mark.parametrize("method", ["resourceMove", "resourceCopy"])
def test_between_two_clients_the_sources_is_asked_and_says_what_it_cannot_write(
    host, editor, files, other, method
):
    theirs = serve_files(other, {})
    destination = wrapped("other", "file:///work/a.ts")
    asked = []

    def refuse(params):
        asked.append((params["source"], params["destination"]))
        raise permission_denied("That is not mine")

    editor.serve(method, refuse)

    ends = wrapped("editor", "file:///work/a.ts"), destination
    assert error_of(two_ends(host, other, method, *ends)).message == "That is not mine"
    assert asked == [("file:///work/a.ts", destination)]
    assert theirs.asked == []


@pytest.mark.parametrize(
    ("source", "destination"),
    [
        ("vscode-agent-client://editor/file/-/a", "file:///a"),
        ("file:///a", "vscode-agent-client://editor/file/-/a"),
    ],
)
def test_between_a_client_and_the_host_nobody_is_asked(host, files, other, source, destination):
    error = error_of(two_ends(host, other, "resourceMove", source, destination))
    assert error.code == -32602
    assert "params.destination" in error.message
    assert files.asked == []


# -- refusals ----------------------------------------------------------------------------


def test_a_refusal_comes_back_as_it_was_and_is_logged_with_all_four(host, files, other, logged):
    data = {"request": {"channel": "ahp-root://", "uri": "mem://notes/b", "read": True}}
    files.refuse("mem://notes/b", RpcError(-32009, "Not yours", data))
    error = host.refused(other, "resourceRead", "editor", "mem://notes/b")
    assert (error.code, error.message, error.data) == (-32009, "Not yours", data)
    assert "client editor refused resourceRead of mem://notes/b: -32009" in logged


@pytest.mark.parametrize("code", [-32008, -32010, -32011, -32601, -32602, -32603, -32050, 7])
def test_every_code_a_client_refuses_with_is_passed_on(host, files, other, code):
    files.refuse("mem:/x", RpcError(code, "No.", ["any", {"data": None}]))
    error = host.refused(other, "resourceWrite", "editor", "mem:/x", data="", encoding="utf-8")
    assert (error.code, error.message, error.data) == (code, "No.", ["any", {"data": None}])


class Verbose(RpcError):
    """A refusal of a client that does not mind how long its words are."""

    def to_wire(self):
        return {"code": self.code, "message": self.message}


def test_the_words_of_a_refusal_are_not_shortened(host, files, other):
    files.refuse("mem:/x", Verbose(-32008, words := "gone " * 2000))
    assert host.refused(other, "resourceRead", "editor", "mem:/x").message == words


def test_a_client_that_serves_nothing_says_so_itself(host, editor):
    asker = host.connect("other")
    error = host.refused(asker, "resourceRead", "editor", "mem:/x")
    assert (error.code, error.message) == (-32601, "Method not found: resourceRead")


@pytest.mark.parametrize(
    "uri",
    [
        "vscode-agent-client:",
        "vscode-agent-client://editor",
        "vscode-agent-client://editor/file",
        "vscode-agent-client:///file/-/x",
        "vscode-agent-client://%FF/file/-/x",
    ],
)
def test_a_uri_that_names_no_resource_of_a_client_is_refused_in_words(host, files, other, uri):
    (result,) = host.start(other.request("resourceRead", uri=uri))
    assert result.value.code == -32602
    assert result.value.message.startswith("params.uri: expected vscode-agent-client://<clientId>/")
    assert files.asked == []


@pytest.mark.parametrize("garbage", [None, 5, "text", [], {}, {"data": 5, "encoding": "utf-8"}])
def test_an_answer_that_is_none_is_told_as_that(host, editor, garbage, logged):
    editor.serve("resourceRead", lambda params: garbage)
    asker = host.connect("other")
    error = host.refused(asker, "resourceRead", "editor", "mem:/x")
    assert error.code == -32603
    assert "answer to resourceRead is none: result" in error.message
    assert any("client editor answered resourceRead of mem:/x with none" in line for line in logged)


def test_what_was_done_was_done_whatever_the_client_says_to_it(host, editor):
    editor.serve("resourceDelete", lambda params: None)
    asker = host.connect("other")
    assert host.ask(asker, "resourceDelete", "editor", "mem:/x") == {}


# -- who is asked ------------------------------------------------------------------------


def test_a_client_may_ask_itself(host, editor, files):
    answer = host.ask(editor, "resourceRead", "editor", "file:///work/a.ts")
    assert answer["data"] == "let a = 1"


def test_the_newest_connection_is_asked_and_the_older_one_once_it_went(host, editor, files, other):
    second = host.connect("editor")
    newer = serve_files(second, {"mem:/x": "newer"})
    assert host.ask(other, "resourceRead", "editor", "mem:/x")["data"] == "newer"
    assert files.asked == []
    host.cut(second)
    assert host.ask(other, "resourceRead", "editor", "file:///work/a.ts")["data"] == "let a = 1"
    assert newer.methods() == ["resourceRead"]


def test_a_clients_id_may_be_anything(host, other):
    serve_files(host.connect("ed/it ör:1"), {"mem:/x": "here"})
    assert host.ask(other, "resourceRead", "ed/it ör:1", "mem:/x")["data"] == "here"


def test_what_is_nested_goes_out_one_layer_off_and_no_further(host, editor, files, other):
    theirs = serve_files(other, {"mem:/x": "deep"})
    inner = wrapped("other", "mem:/x")
    error = host.refused(other, "resourceRead", "editor", inner)
    assert error.code == -32008
    assert files.asked[-1][1]["uri"] == inner
    assert theirs.asked == []


# -- clients that come and go ------------------------------------------------------------


def test_a_client_that_was_never_here_is_refused_at_once(host, other):
    error = host.refused(other, "resourceRead", "nobody", "mem:/x")
    assert (error.code, error.message) == (-32603, "No connection for authority: nobody")


def test_a_client_that_just_went_is_waited_for(host, editor, files, other):
    host.cut(editor)
    host.advance(3)
    asked = host.asked(other, "resourceRead", "editor", "file:///work/a.ts")
    host.advance(1.9)
    assert asked == []
    host.reconnect(editor)
    assert outcome(asked)["data"] == "let a = 1"


def test_it_is_waited_for_five_seconds_from_when_it_went(host, editor, files, other):
    host.cut(editor)
    host.advance(4)
    asked = host.asked(other, "resourceRead", "editor", "file:///work/a.ts")
    host.advance(0.9)
    assert asked == []
    host.advance(0.2)
    assert error_of(asked).message == "No connection for authority: editor"
    assert host.refused(other, "resourceRead", "editor", "mem:/x").code == -32603
    host.reconnect(editor)
    assert host.ask(other, "resourceRead", "editor", "file:///work/a.ts")["data"] == "let a = 1"
    assert files.methods() == ["resourceRead"]


def test_the_handshake_of_one_that_comes_back_is_answered_first(host, editor, files, other):
    host.cut(editor)
    asked = host.asked(other, "resourceRead", "editor", "file:///work/a.ts")
    before = len(editor.frames)
    host.reconnect(editor)
    outcome(asked)
    received = [message for who, message in editor.frames[before:] if who == "host"]
    assert "result" in received[0]
    assert received[1]["method"] == "resourceRead"


class Silent:
    """A client that is asked and does not answer until it is told to."""

    def __init__(self, probe, method):
        self.waiting = []

        def later(params):
            self.waiting.append(Deferred())
            return self.waiting[-1]

        probe.serve(method, later)


@pytest.mark.parametrize("method", ["resourceRead", "resourceList", "resourceResolve"])
def test_what_only_reads_is_asked_again_of_a_client_that_came_back(host, editor, other, method):
    silent = Silent(editor, method)
    asked = host.asked(other, method, "editor", "file:///work/a.ts")
    assert len(silent.waiting) == 1
    host.cut(editor)
    files = serve_files(editor, {**FILES, "file:///work/a.ts/b": ""})
    host.advance(4)
    assert asked == []
    host.reconnect(editor)
    assert outcome(asked)
    assert files.methods() == [method]


def test_a_read_is_asked_again_once_and_not_for_ever(host, editor, other):
    silent = Silent(editor, "resourceRead")
    asked = host.asked(other, "resourceRead", "editor", "mem:/x")
    for _ in range(2):
        host.cut(editor)
        host.reconnect(editor)
    assert error_of(asked).message == "The client went away before it answered"
    assert len(silent.waiting) == 2


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resourceWrite", {"data": "x", "encoding": "utf-8"}),
        ("resourceDelete", {}),
        ("resourceMkdir", {}),
        ("resourceRequest", {}),
    ],
)
def test_what_changes_something_is_not_done_twice(host, editor, other, method, params):
    silent = Silent(editor, method)
    asked = host.asked(other, method, "editor", "mem:/x", **params)
    host.cut(editor)
    error = error_of(asked)
    assert (error.code, error.message) == (-32603, "The client went away before it answered")
    host.reconnect(editor)
    assert len(silent.waiting) == 1


def test_a_read_that_was_under_way_ends_when_the_client_stays_away(host, editor, other):
    Silent(editor, "resourceRead")
    asked = host.asked(other, "resourceRead", "editor", "mem:/x")
    host.cut(editor)
    host.advance(4.9)
    assert asked == []
    host.advance(0.2)
    assert error_of(asked).message == "No connection for authority: editor"


# -- clients that do not answer ----------------------------------------------------------


def test_a_client_that_does_not_answer_is_given_a_minute(host, editor, other):
    silent = Silent(editor, "resourceRead")
    asked = host.asked(other, "resourceRead", "editor", "mem:/x")
    host.advance(59)
    assert asked == []
    host.advance(1)
    assert error_of(asked).code == -32603
    assert "did not answer resourceRead in 60 s" in error_of(asked).message
    silent.waiting[0].callback({"data": "late", "encoding": "utf-8"})
    host.settle()


def test_a_person_may_take_longer_and_holds_nothing_else_back(host, editor, other):
    silent = Silent(editor, "resourceRequest")
    granted, *others = [host.asked(other, "resourceRequest", "editor", "mem:/x") for _ in range(50)]
    host.advance(1800)
    serve_files(editor, {"mem:/x": "here"})
    assert host.ask(other, "resourceRead", "editor", "mem:/x")["data"] == "here"
    assert granted == []
    silent.waiting[0].callback({})
    host.settle()
    assert outcome(granted) == {}
    host.advance(1800)
    assert {error_of(each).code for each in others[:31]} == {-32603}
    assert [outcome(each) for each in others[31:]] == [{}] * 18  # asked once one was answered


def test_a_flood_waits_in_line_and_past_its_bound_is_refused(host, editor, other):
    silent = Silent(editor, "resourceRead")
    asked = [host.asked(other, "resourceRead", "editor", f"mem:/{n}") for n in range(1040)]
    assert len(silent.waiting) == 32
    refused = [each for each in asked if each]
    assert len(refused) == 1040 - 1032
    assert "1000 requests wait for client editor already" in error_of(refused[0]).message
    while silent.waiting:
        silent.waiting.pop(0).callback({"data": "", "encoding": "utf-8"})
        host.settle()
    assert all(outcome(each) for each in asked[:1032])
    serve_files(editor, {"mem:/x": "and on"})
    assert host.ask(other, "resourceRead", "editor", "mem:/x")["data"] == "and on"


def test_a_flood_ends_whole_when_the_client_goes(host, editor, other):
    Silent(editor, "resourceWrite")
    asked = [
        host.asked(other, "resourceWrite", "editor", "mem:/x", data="", encoding="utf-8")
        for n in range(1000)
    ]
    host.cut(editor)
    host.advance(5)
    assert {error_of(each).code for each in asked} == {-32603}
    assert host.clock.getDelayedCalls() == []


def test_a_client_that_is_behind_is_not_sent_more(host, editor, other):
    host.queue_bytes = 16 * 1024 * 1024
    files = serve_files(editor, {})
    server = host.links[editor].server
    server.report_pending, server.progressing = True, lambda: True
    server.hold()
    large = {"data": "x" * (3 * 1024 * 1024), "encoding": "utf-8"}
    asked = [host.asked(other, "resourceWrite", "editor", f"mem:/{n}", **large) for n in range(8)]
    assert len(large["data"]) < server.pending_bytes() < 2 * len(large["data"])
    host.advance(30)
    assert not any(asked)
    for _ in asked:  # it takes one, and is sent the next
        server.release()
        host.settle()
        server.hold()
        host.advance(0.1)
    assert all(outcome(each) == {} for each in asked)
    assert len(files.asked) == 8


def test_a_stop_ends_what_is_waited_for(host, editor, other):
    Silent(editor, "resourceRead")
    asked = host.asked(other, "resourceRead", "editor", "mem:/x")
    gone = host.connect("gone")
    host.cut(gone)
    waiting = host.asked(other, "resourceRead", "gone", "mem:/x")
    host.files.stopService()
    host.settle()
    assert error_of(asked).code == error_of(waiting).code == -32603
    late = host.refused(other, "resourceRead", "gone", "mem:/x")
    assert "this host is stopping" in late.message
    assert host.clock.getDelayedCalls() == []
