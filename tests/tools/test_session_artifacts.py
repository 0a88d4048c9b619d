"""What agents record on their sessions: kept, shown, and taken off again."""

import pytest
from twisted.internet.defer import Deferred, gatherResults

from ahpd.interfaces import ToolFailure
from ahpd.protocol.errors import INVALID_PARAMS, SESSION_NOT_FOUND, RpcError
from ahpd.testing.agents import Gate
from ahpd.testing.agents.scripts import waits_at
from ahpd.testing.failing_store import FailingStore
from ahpd.tools import artifact_entries

KEY = "agentHost/sessionArtifacts"
S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
ADD, REMOVE, LIST = (
    "add_artifact_or_reference",
    "remove_artifact_or_reference",
    "list_artifacts_and_references",
)


def page(name, artifact=False, **more):
    link = f"https://example.org/{name}"
    return {"type": "website", "label": name, "isArtifact": artifact, "link": link, **more}


def kept(host, session=S1):
    return host.state(session).get("_meta", {}).get(KEY, [])


def add(host, *items):
    return host.call(ADD, items=list(items))


def test_what_is_recorded_is_on_the_session_and_on_its_row(tools, read):
    pull = {
        "type": "pullRequest",
        "label": " Fix it ",
        "isArtifact": True,
        "link": "https://github.com/a/b/pull/1",
        "more": "left out",
    }
    said = read.text(add(tools, pull, page("docs"))).splitlines()
    held = kept(tools)
    assert said == [f"Added artifact: {held[0]['id']}", f"Added reference: {held[1]['id']}"]
    assert held[0] == {
        "id": held[0]["id"],
        "type": "pullRequest",
        "label": "Fix it",
        "isArtifact": True,
        "link": "https://github.com/a/b/pull/1",
        "isGitHub": True,
    }
    assert tools.said(S1, "session/metaChanged")[-1]["_meta"] == {KEY: held}
    tools.host.advance(1)
    assert tools.rows()[0]["_meta"] == {KEY: held}
    listed = read.text(tools.call(LIST)).splitlines()
    assert listed[1] == f"{held[1]['id']} (website, reference) docs — https://example.org/docs"


def test_what_else_the_meta_holds_stays(tool_host, read):
    host = tool_host()
    host.session(_meta={"multiRoot": True})
    read.text(add(host, page("a")))
    assert host.state(S1)["_meta"].keys() == {"multiRoot", KEY}
    read.text(host.call(REMOVE, id=kept(host)[0]["id"]))
    assert host.state(S1)["_meta"] == {"multiRoot": True}


def test_the_same_thing_is_recorded_once_and_becomes_an_artifact_once_it_is_one(tools, read):
    read.text(add(tools, page("a"), page("b")))
    first = kept(tools)[0]["id"]
    assert read.text(add(tools, page("A", label="again"))) == f"Already recorded: {first}"
    assert read.text(add(tools, page("a", True, label="Mine"))) == f"Promoted artifact: {first}"
    assert read.text(add(tools, page("a"))) == f"Already recorded: {first}"
    held = kept(tools)
    assert held[0] == {"id": first, **page("a", True, label="Mine")}
    assert len(held) == 2
    assert len(tools.said(S1, "session/metaChanged")) == 2, "what moved nothing was said"


def test_one_is_removed_by_its_id(tools, read):
    read.text(add(tools, page("a"), page("b", True)))
    first, second = kept(tools)
    assert read.text(tools.call(REMOVE, id="none")) == "No artifact or reference with id none."
    assert read.text(tools.call(REMOVE, id=second["id"])) == f"Removed artifact: {second['id']}"
    assert read.text(tools.call(REMOVE, id=first["id"])) == f"Removed reference: {first['id']}"
    assert "_meta" not in tools.state(S1)
    assert tools.said(S1, "session/metaChanged")[-1] == {"type": "session/metaChanged"}
    empty = "No artifacts or references recorded for this session."
    assert read.text(tools.call(LIST)) == empty


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"link": "file:///etc/passwd"}, "must be an absolute http(s) URL, but was 'file:'"),
        ({"link": "javascript:alert(1)"}, "but was 'javascript:'"),
        ({"link": "example.org"}, "must be an absolute http(s) URL"),
        ({"link": "https://"}, "must be an absolute http(s) URL"),
        ({"link": "https://[::1"}, "must be an absolute http(s) URL"),
        ({"link": "https://a b"}, "must be an absolute http(s) URL"),
        ({"link": " "}, "link must be a non-empty string"),
        ({"link": "https://a/" + "x" * 2000}, "must not exceed 2000 characters"),
        ({"label": " "}, "label must be a non-empty string"),
        ({"label": "x" * 301}, "must not exceed 300 characters"),
        ({"type": "file"}, "uri must be a non-empty string"),
        ({"type": "file", "uri": "/a/b"}, "must be an absolute URI including its scheme"),
        ({"type": "file", "uri": "C:\\a"}, "must be an absolute URI including its scheme"),
        ({"type": "resource", "uri": "agent-host-session://a/b"}, "must not be recorded"),
        ({"type": "commit"}, "commitHash must be a non-empty string"),
        ({"type": "thing"}, "items[1].type: found 'thing', expected one of pullRequest"),
        ({"isArtifact": "yes"}, "expected a value of type boolean"),
    ],
)
def test_an_entry_that_is_none_records_nothing_of_its_call(tools, read, given, words):
    answer = add(tools, page("good"), page("bad", **given))
    assert words in read.failure(answer)
    assert kept(tools) == []


def test_a_commit_and_a_file_point_where_they_say():
    commit = artifact_entries.entry(
        "t", {**page("x"), "type": "commit", "commitHash": "abc"}, "items[0]"
    )
    assert commit["commitHash"] == "abc"
    file = artifact_entries.entry(
        "t", {"type": "file", "label": "f", "isArtifact": True, "uri": "file:///a"}, "items[0]"
    )
    assert artifact_entries.points_at(file) == "file:///a"


def test_a_session_has_so_many_and_no_more(tools, read):
    held = []
    for number in range(artifact_entries.MOST):
        held, _ = artifact_entries.recorded(held, page(str(number)), lambda name=str(number): name)
    with pytest.raises(ToolFailure, match="the most it may have"):
        artifact_entries.recorded(held, page("one more"), lambda: "x")
    assert artifact_entries.recorded(held, page("0"), lambda: "x")[1] == "Already recorded: 0"
    assert "items must not exceed" in read.failure(add(tools, *[page(str(n)) for n in range(51)]))


def test_calls_at_once_lose_nothing_of_each_other(tools, read):
    results = []

    async def script(turn):
        calls = [turn.host.run_tool(ADD, {"items": [page(str(n))]}, f"c{n}") for n in range(5)]
        results.extend(await gatherResults([Deferred.fromCoroutine(call) for call in calls]))

    # The turn of a message that waited begins inside of the delivery of the one before it.
    chat = tools.chat()
    tools.agent.then(script)
    tools.sessions.find_chat(chat).start_message({"text": "x", "origin": {"kind": "user"}})
    tools.host.settle()
    assert all(result["success"] for result in results)
    assert sorted(each["label"] for each in kept(tools)) == list("01234")


def test_calls_within_a_delivery_lose_nothing_of_each_other(tools, read):
    chat, gate, results = tools.chat(), Gate(), []

    async def script(turn):
        for name in "ab":
            results.append(await turn.host.run_tool(ADD, {"items": [page(name)]}, name))

    tools.turn(chat, script=waits_at(gate))
    tools.agent.then(script)
    message = {"text": "queued", "origin": {"kind": "user"}}
    queued = {"type": "chat/pendingMessageSet", "kind": "queued", "id": "q", "message": message}
    tools.probe.dispatch(chat, queued)
    tools.host.settle()
    gate.open()
    tools.host.settle()
    assert [read.text(result)[:5] for result in results] == ["Added"] * 2
    assert [each["label"] for each in kept(tools)] == ["a", "b"]


def test_they_are_there_after_a_restart(tool_host, read):
    host = tool_host()
    host.session()
    read.text(add(host, page("a")))
    before, store = kept(host), host.host.kept
    host.stop()
    again = tool_host(kept=store, clock=host.host.clock, ids=host.host.ids)
    assert again.rows()[0]["_meta"] == {KEY: before}
    assert kept(again) == before
    assert read.text(again.call(LIST)).startswith(before[0]["id"])


def test_what_is_recorded_on_a_full_disk_is_shown_and_written_once_there_is_room(tool_host, read):
    store, results = FailingStore(), []
    host = tool_host(kept=store)
    host.session()

    async def script(turn):
        store.full = True
        results.append(await turn.host.run_tool(ADD, {"items": [page("a")]}, "c"))
        store.full = False

    host.turn(host.chat(), script=script)
    assert read.text(results[0]).startswith("Added")
    held = kept(host)
    assert [each["label"] for each in held] == ["a"]
    host.stop()
    again = tool_host(kept=store, clock=host.host.clock, ids=host.host.ids)
    assert kept(again) == held


# -- vscode/removeSessionArtifact ----------------------------------------------------------


def take_off(host, session, artifact):
    request = host.probe.request(
        "vscode/removeSessionArtifact", session=session, artifactId=artifact
    )
    return host.host.run(request)


def test_a_window_takes_one_off(tools, removing, read):
    removing(tools)
    window = tools.host.connect("window", foreign=True)
    tools.probe = window
    read.text(tools.call(ADD, items=[page("a"), page("b")]))
    first, second = kept(tools)
    assert take_off(tools, S1, first["id"]) is None
    assert kept(tools) == [second]
    assert take_off(tools, "scripted:/s1", "none") is None
    assert kept(tools) == [second]


@pytest.mark.parametrize(
    ("session", "artifact", "code"),
    [
        ("ahp-session:/none", "x", SESSION_NOT_FOUND),
        ("ahp-chat:/c", "x", INVALID_PARAMS),
        (7, "x", INVALID_PARAMS),
        (S1, "", INVALID_PARAMS),
        (S1, None, INVALID_PARAMS),
    ],
)
def test_what_it_cannot_be_taken_off_is_refused(tools, removing, session, artifact, code):
    removing(tools)
    tools.probe = tools.host.connect("window", foreign=True)
    with pytest.raises(RpcError) as refused:
        take_off(tools, session, artifact)
    assert refused.value.code == code
