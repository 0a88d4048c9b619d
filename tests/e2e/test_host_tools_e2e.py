"""The host's own tools and its clients', called by agents: over the MCP endpoint of a session by
a program that was handed its URL and token, and by the loop of the other engine."""

import json
from urllib.parse import urlsplit

import attrs
import pytest
import pytest_twisted

from ahpd.client import ActionRefused
from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon
from ahpd.testing.served_files import serve_files

from .agent_kit import Model, acp, again, calls_in, chat, configures, ends_of, leaves, llm, said
from .terminal_kit import opens

SERVED = "the words of a client's file"
OPEN = {
    "name": "openFile",
    "title": "Open a file",
    "description": "Opens a file before the person.",
    "inputSchema": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
    },
}


@attrs.define(eq=False)
class House:
    """A daemon with both agents and what its clients have."""

    daemon: Daemon
    model: Model
    ann: object


@pytest_twisted.async_yield_fixture(scope="module")
async def house(tmp_path_factory):
    """One daemon for the tests here that leave it running."""
    from twisted.internet import reactor

    model = Model(reactor)
    model.start()
    settings = {
        "agents": [acp(), llm(model)],
        "advancedTools": ["ahp_terminals_control"],
    }
    daemon = Daemon(
        reactor,
        tmp_path_factory.mktemp("tools") / "daemon",
        "--port",
        "0",
        settings=settings,
        preset={"SHELL": "/bin/sh"},
    )
    await daemon.start()
    yield House(daemon, model, await daemon.connect("ann", ROOT))
    try:
        await daemon.leave()
    finally:
        await model.stop()


async def tool(one, name, /, **arguments):
    """Have a program call one tool; what it was answered: its words, and whether it failed."""
    before = len(one.deeds("answered"))
    ended = await one.does(["call", name, arguments])
    assert ended["state"] == "complete", ended
    (answer,) = one.deeds("answered")[before:]
    assert answer[2] == 200, answer
    result = answer[3]
    words = "".join(block["text"] for block in result["content"] if block["type"] == "text")
    return words, result["isError"]


async def taken(one, name, /, **arguments):
    """As `tool`, for what succeeds."""
    words, failed = await tool(one, name, **arguments)
    assert not failed, words
    return words


async def refused(one, name, /, **arguments):
    """As `tool`, for what fails."""
    words, failed = await tool(one, name, **arguments)
    assert failed, words
    return words


def session_in(words):
    """The URI of the session that a tool's answer links to."""
    link = words.partition("(")[2].partition(")")[0]
    return f"ahp-session:/{link.rpartition('/')[2]}"


async def rows(probe):
    return {row["resource"]: row for row in (await probe.request("listSessions"))["items"]}


# -- sessions ---------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_an_agent_hands_work_to_another_agent_and_follows_it(house):
    ann, folder = house.ann, house.daemon.work / "hands"
    one = await chat(ann, "acp", folder)
    await one.does(["mcp", "initialize", {"protocolVersion": "2025-06-18"}], ["mcp", "ping", {}])
    (_, _, status, answer), (_, _, _, pong) = one.deeds("mcp")
    assert (status, answer["result"]["capabilities"]) == (200, {"tools": {"listChanged": True}})
    assert pong["result"] == {}
    listed = json.loads(await taken(one, "list_sessions"))
    mine = [each for each in listed["sessions"] if each["session"] == one.session]
    assert len(mine) == 1, listed
    words = await taken(
        one,
        "create_session",
        relationship="independent",
        title="Handed on",
        prompt='Do this:\n[["say", "it is done"]]',
        model="llm/fake",
        workspace=str(folder),
    )
    uri = session_in(words)
    row = (await rows(ann))[uri]
    assert (row["provider"], row["title"]) == ("llm", "Handed on")
    await ann.subscribe(uri)
    made = ann.state(uri)["defaultChat"]
    await ann.subscribe(made)
    await ann.wait_for(lambda: ann.state(made)["turns"], PATIENCE, "the first turn")
    (turn,) = ann.plain_state(made)["turns"]
    assert (said(turn), turn["message"]["origin"]) == ("it is done", {"kind": "agent"})
    await taken(one, "send_message", session=uri, message='[["say", "and this"]]')
    await ann.wait_for(lambda: len(ann.state(made)["turns"]) == 2, PATIENCE, "the second turn")
    assert said(ann.plain_state(made)["turns"][1]) == "and this"
    await taken(one, "rename_chat", session=uri, chat=made, title="Renamed by an agent")
    await ann.wait_for(lambda: ann.state(uri)["title"] == "Renamed by an agent", PATIENCE, "it")
    assert "it is done" in await taken(one, "get_session_context", session=uri)
    ann.unsubscribe(made)
    ann.unsubscribe(uri)
    assert uri in await taken(one, "delete_session", session=uri)
    assert uri not in await rows(ann)
    assert "current session" in await refused(one, "delete_session", session=one.session)
    assert "known session" in await refused(one, "send_message", session=uri, message="[]")
    assert "prompt is missing" in await refused(one, "create_session", title="x")
    assert (await rows(ann))[one.session]


@pytest_twisted.ensureDeferred
async def test_the_other_engine_hands_work_on_as_well(house):
    """Its loop calls the host's tools itself; what they destroy a person is asked about."""
    ann = house.ann
    one = await chat(ann, "llm", house.daemon.work / "llm-hands")
    other = await chat(ann, "acp", house.daemon.work / "llm-hands-target")
    await other.does(["say", "so that it is listed"])
    text = '[["say", "from the model"]]'
    turn = await one.begin(
        ["tools", ["list_sessions", {}]],
        ["tools", ["send_message", {"session": other.session, "message": text}]],
        ["tools", ["rename_chat", {"title": "By the model"}]],
    )
    asked = await one.asked()
    (name,) = asked
    assert await one.answers(name, True)
    ended = await one.finished(turn)
    statuses = {call["toolName"]: call["success"] for call in calls_in(ended)}
    assert statuses == {"list_sessions": True, "send_message": True, "rename_chat": True}
    assert other.session in house.model.tool_results[0]
    await ann.wait_for(lambda: len(ann.state(other.chat)["turns"]) == 2, PATIENCE, "the message")
    assert said(ann.plain_state(other.chat)["turns"][1]) == "from the model"
    await ann.wait_for(lambda: ann.state(one.session)["title"] == "By the model")


@pytest_twisted.ensureDeferred
async def test_artifacts_are_of_their_session_and_kept_over_a_restart(make_daemon):
    daemon = await make_daemon("--port", "0", settings={"agents": [acp()]}).start()
    ann = await daemon.connect("ann", ROOT)
    one = await chat(ann, "acp", daemon.work / "p")
    other = await chat(ann, "acp", daemon.work / "q")
    report = {"type": "file", "label": "Report", "isArtifact": True, "uri": "file:///w/r.md"}
    link = {"type": "website", "label": "Site", "isArtifact": False, "link": "https://a.example"}
    added = await taken(one, "add_artifact_or_reference", items=[report, link])
    assert len(added.splitlines()) == 2
    listed = await taken(one, "list_artifacts_and_references")
    assert "No artifacts" in await taken(other, "list_artifacts_and_references")
    # The second is taken away again.
    (gone,) = [line.split(" ")[0] for line in listed.splitlines() if "Site" in line]
    await taken(other, "remove_artifact_or_reference", id=gone)
    assert await taken(one, "list_artifacts_and_references") == listed
    await taken(one, "remove_artifact_or_reference", id=gone)
    listed = await taken(one, "list_artifacts_and_references")
    assert "Report" in listed
    assert "Site" not in listed
    await daemon.kill()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    one = await again(bob, one)
    assert await taken(one, "list_artifacts_and_references") == listed


# -- resources and terminals ----------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_file_that_a_client_alone_has_is_read_through_the_endpoint(house):
    one = await chat(house.ann, "acp", house.daemon.work / "resources")
    (one.folder / "own.txt").write_text("its own")
    (one.folder / "out").symlink_to("/etc")
    editor = await house.daemon.connect("editor", ROOT)
    files = serve_files(editor, {"mem:/notes/a.txt": SERVED})
    uri = wrapped("editor", "mem:/notes/a.txt")
    assert await taken(one, "ahp_resource", uri=uri) == SERVED
    assert [method for method, _ in files.asked] == ["resourceRead"]
    assert "a.txt" in await taken(
        one, "ahp_resource", uri=wrapped("editor", "mem:/notes"), action="list"
    )
    assert await taken(one, "ahp_resource", uri=f"file://{one.folder}/own.txt") == "its own"
    for path in ("/etc/hostname", f"{one.folder}/out/hostname", f"{one.folder}/../daemon/x"):
        await refused(one, "ahp_resource", uri=f"file://{path}")
    await leaves(house.daemon, editor)
    assert "editor" in await refused(one, "ahp_resource", uri=uri)
    # Changing is advanced, and was not allowed here.
    (*_, status, answer) = await raw_call(one, "ahp_resource_edit", uri=uri, action="delete")
    assert status == 200
    assert "no tool" in answer["error"]["message"]


async def raw_call(one, name, **arguments):
    await one.does(["mcp", "tools/call", {"name": name, "arguments": arguments}])
    return one.deeds("mcp")[-1]


@pytest_twisted.ensureDeferred
async def test_terminals_are_listed_and_only_the_sessions_own_are_read(house):
    ann = house.ann
    one = await chat(ann, "acp", house.daemon.work / "terminals")
    hers = await opens(ann, name="Hers")
    listed = await taken(one, "ahp_terminals")
    assert hers in listed
    assert "no terminal of this session" in await refused(
        one, "ahp_terminals", action="read", terminal=hers
    )
    assert "no terminal of this session" in await refused(
        one, "ahp_terminals_control", action="write", terminal=hers, text="rm\r"
    )
    opened = await taken(
        one, "ahp_terminals_control", action="open", command="echo $((6 * 7)); pwd", title="Its"
    )
    uri = opened.split(" ")[1].rstrip(".")
    await ann.subscribe(uri)
    await ann.wait_for(
        lambda: ann.state(uri)["lifecycle"]["status"] == "exited", PATIENCE, "the command's end"
    )
    printed = await taken(one, "ahp_terminals", action="read", terminal=uri)
    assert "42" in printed
    assert str(one.folder) in printed
    neighbour = await chat(ann, "acp", house.daemon.work / "terminals-of-another")
    await refused(neighbour, "ahp_terminals", action="read", terminal=uri)
    ann.unsubscribe(uri)
    ann.unsubscribe(hers)
    await ann.request("disposeTerminal", channel=hers)


# -- who may come in --------------------------------------------------------------------------


def endpoint_of(one):
    """The URL and the token a program was handed."""
    (server,) = [each for each in one.deeds("servers")[-1][1] if each["name"] == "host"]
    (header,) = server["headers"]
    assert header["name"] == "Authorization"
    return server["url"], header["value"].removeprefix("Bearer ")


@pytest_twisted.ensureDeferred
async def test_an_endpoint_opens_with_its_own_token_while_its_session_is_there(house, raw):
    ann, daemon = house.ann, house.daemon
    one = await chat(ann, "acp", daemon.work / "door-1")
    other = await chat(ann, "acp", daemon.work / "door-2")
    for each in (one, other):
        await each.does(["dump", "servers"])
    (url, token), (other_url, other_token) = endpoint_of(one), endpoint_of(other)
    daemon.secrets += [token, other_token]
    assert (url, token) != (other_url, other_token)
    assert urlsplit(url).hostname == "127.0.0.1"
    await one.does(
        ["knock", None, None],
        ["knock", None, other_token],
        ["knock", other_url, None],
        ["knock", other_url, other_token],
        ["knock", url + "x", None],
    )
    statuses = [status for _, status, _ in one.deeds("knocked")]
    # Whoever was handed both may come in to both: a token is not the program's own.
    assert statuses == [200, 401, 401, 200, 404]
    path = urlsplit(url).path
    for headers in (
        [],
        [f"Authorization: Bearer {daemon.token}"],
        [f"Authorization: Basic {token}"],
        [f"Authorization: Bearer {token}", f"Authorization: Bearer {token}"],
        ["Authorization: Bearer"],
    ):
        status, _ = raw(daemon).request(path, *headers, "Content-Length: 2", method="POST")
        assert status == 401, headers
    status, _ = raw(daemon).request(f"{path}?tkn={daemon.token}", method="POST")
    assert status == 401
    # And what opens an endpoint opens nothing else.
    assert raw(daemon).upgrade("/", f"Authorization: Bearer {token}")[0] in (401, 403)
    await other.dispose()
    await one.does(["knock", other_url, other_token], ["knock", None, None])
    assert [status for _, status, _ in one.deeds("knocked")[-2:]] == [404, 200]


# -- tools of clients ---------------------------------------------------------------------------


async def joins(probe, session, *tools):
    entry = {"clientId": probe.client_id, "tools": list(tools)}
    action = {"type": "session/activeClientSet", "activeClient": entry}
    await probe.perform(session, action)


async def running_call(probe, uri, name="openFile"):
    """Wait for a call that is out with its client."""

    def there():
        turn = probe.plain_state(uri).get("activeTurn") or {"responseParts": []}
        return next(
            (
                call
                for call in calls_in(turn)
                if call["toolName"] == name and call["status"] == "running"
            ),
            None,
        )

    return await probe.wait_for(there, PATIENCE, f"a call of {name}")


def completed(turn, call, words="Opened it"):
    result = {
        "success": True,
        "pastTenseMessage": words,
        "content": [{"type": "text", "text": words}],
    }
    return {
        "type": "chat/toolCallComplete",
        "turnId": turn,
        "toolCallId": call["toolCallId"],
        "result": result,
    }


def failed(status, answer):
    """Whether a call through the endpoint came to nothing; a tool may be gone by then."""
    return status != 200 or "code" in answer.get("error", {}) or answer["isError"]


async def takes(probe, uri, action):
    try:
        await probe.perform(uri, action)
    except ActionRefused:
        return False
    return True


@pytest_twisted.ensureDeferred
async def test_the_list_moves_when_a_client_joins_and_when_a_tool_is_switched_off(house):
    ann, daemon = house.ann, house.daemon
    one = await chat(ann, "acp", daemon.work / "moves")
    await one.does(["listen"])
    await daemon.until(lambda: one.deeds("listening"), "the stream")
    bob = await daemon.connect("bob", ROOT)
    seen = await one.seen_by(bob)
    heard = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}

    async def moved(many):
        await daemon.until(lambda: len(one.deeds("heard")) >= many, f"{many} words")
        assert {json.dumps(each[1]) for each in one.deeds("heard")} == {json.dumps(heard)}
        await one.does(["mcp", "tools/list", {}])
        return [each["name"] for each in one.deeds("mcp")[-1][3]["result"]["tools"]]

    await joins(bob, one.session, OPEN)
    names = await moved(1)
    assert {"bob__openFile", "list_sessions"} <= set(names)
    before = len(one.deeds("heard"))
    await configures(one, tools={"list_sessions": False})
    names = await moved(before + 1)
    assert "list_sessions" not in names
    words = await raw_call(one, "list_sessions")
    assert "no tool" in words[3]["error"]["message"]
    # A session with other tools of the host's is begun anew, so by now another program runs.
    before = len(one.deeds("heard"))
    await one.does(["listen"])
    await daemon.until(lambda: len(one.deeds("listening")) == 2, "the stream")
    for channel in (seen.chat, seen.session):
        bob.unsubscribe(channel)
    assert "bob__openFile" not in await moved(before + 1)
    await leaves(daemon, bob)


@pytest.mark.parametrize("provider", ["acp", "llm"])
@pytest_twisted.ensureDeferred
async def test_a_clients_tool_is_run_by_that_client_and_by_nobody_else(house, provider):
    ann, daemon = house.ann, house.daemon
    one = await chat(ann, provider, daemon.work / f"client-tools-{provider}")
    bob = await daemon.connect(f"bob-{provider}", ROOT)
    seen = await one.seen_by(bob)
    await joins(bob, one.session, OPEN)
    served = f"bob-{provider}__openFile"
    arguments = {"path": "a.txt"}
    deed = ["call", served, arguments] if provider == "acp" else ["tools", [served, arguments]]
    turn = await one.begin(deed)
    call = await running_call(bob, one.chat)
    assert call["contributor"] == {"kind": "client", "clientId": bob.client_id}
    assert json.loads(call["toolInput"]) == arguments
    # Ann sees it too, and may not say what came of it.
    await running_call(ann, one.chat)
    assert not await takes(ann, one.chat, completed(turn, call, "Forged"))
    assert await takes(bob, seen.chat, completed(turn, call))
    ended = await one.finished(turn)
    (call,) = calls_in(ended)
    assert (call["status"], call["success"], call["pastTenseMessage"]) == (
        "completed",
        True,
        "Opened it",
    )
    told = house.model.tool_results[-1] if provider == "llm" else one.deeds("answered")[-1][3]
    assert "Opened it" in json.dumps(told)
    assert "Forged" not in json.dumps(told)
    # A call whose client leaves, by its word or by looking away, fails for the agent.
    for how in ("removed", "unsubscribed"):
        await joins(bob, one.session, OPEN)
        turn = await one.begin(deed)
        await running_call(bob, one.chat)
        if how == "removed":
            action = {"type": "session/activeClientRemoved", "clientId": bob.client_id}
            await bob.perform(one.session, action)
        else:
            for channel in (seen.chat, seen.session):
                bob.unsubscribe(channel)
        ended = await one.finished(turn)
        (call,) = calls_in(ended)
        assert (ended["state"], call["status"], call["success"]) == (
            "complete",
            "completed",
            False,
        )
        assert "has left" in call["error"]["message"]
        if provider == "acp":
            (*_, status, answer) = one.deeds("answered")[-1]
            assert failed(status, answer)
    await leaves(daemon, bob)


@pytest.mark.parametrize("provider", ["acp", "llm"])
@pytest_twisted.ensureDeferred
async def test_a_call_out_with_a_client_ends_with_its_turn_and_with_its_host(make_daemon, provider):
    from twisted.internet import reactor

    model = Model(reactor)
    model.start()
    try:
        daemon = make_daemon("--port", "0", settings={"agents": [acp(), llm(model)]})
        await daemon.start()
        ann = await daemon.connect("ann", ROOT)
        ends = ends_of(ann)
        one = await chat(ann, provider, daemon.work / "p")
        await joins(ann, one.session, OPEN)
        deed = ["call", "ann__openFile", {"path": "a"}]
        if provider == "llm":
            deed = ["tools", ["ann__openFile", {"path": "a"}]]
        turn = await one.begin(deed)
        call = await running_call(ann, one.chat)
        ended = await one.cancels(turn)
        assert [each["status"] for each in calls_in(ended)] == ["cancelled"], ended
        # Its result is nothing to anybody now.
        await takes(ann, one.chat, completed(turn, call))
        assert ends == {turn: 1}
        assert one.turn(turn) == ended
        if provider == "acp":
            await daemon.until(lambda: one.deeds("cancelled"), "the program's answer")
            (*_, status, answer) = one.deeds("cancelled")[0]
            assert failed(status, answer["result"])
        turn = await one.begin(deed)
        await running_call(ann, one.chat)
        await daemon.kill()
        await daemon.start()
        bob = await daemon.connect("bob", ROOT)
        one = await again(bob, one)
        ended = one.turn(turn)
        assert ended["state"] == "error"
        assert [each["status"] for each in calls_in(ended)] == ["cancelled"]
        for _, _, status, answer in one.deeds("answered"):
            assert failed(status, answer)
    finally:
        await model.stop()
