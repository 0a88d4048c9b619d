"""How a session begins: signed in, trusted, with its folders, its servers and its tools."""

import json

import attrs
import pytest
import pytest_twisted

from ahpd.testing.agents import RecordedHost
from ahpd_agent_acp.handshake import Capabilities
from ahpd_agent_acp.mcp import mcp_servers

HTTP = {"mcpCapabilities": {"http": True}}
SERVERS = {
    "api": {"type": "http", "url": "http://x/mcp", "headers": {"Authorization": "Bearer t"}},
    "search": {"type": "stdio", "command": "search", "env": {"K": "v"}, "cwd": "/srv/search"},
}


@attrs.frozen
class Endpoint:
    url: str = "http://127.0.0.1:1/ahp-mcp/x"
    token: str = "secret-token"

    def close(self):
        pass


class Host(RecordedHost):
    """A host with an endpoint; it keeps who runs clients' tools, and whether it is to notify."""

    def tools_server(self, run_client_tool=None, notify=True):
        self.run_client_tool, self.notify = run_client_tool, notify
        return Endpoint()


# -- sign-in ---------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_the_sign_in_of_the_record_is_sent(acp):
    program = {"methods": ["key", "web"], "locked": True}
    talk = await acp.talk({"authenticate": {"methodId": "key"}}, **program)
    assert await talk.say("hello") == "hello"


@pytest_twisted.ensureDeferred
async def test_a_sign_in_that_is_not_offered_fails_the_turn_naming_those_that_are(acp):
    talk = await acp.talk({"authenticate": {"methodId": "nope"}}, methods=["key", "web"])
    failed = await talk.fails("hello")
    assert "'nope'" in failed.message
    assert "key, web" in failed.message
    assert failed.error_type == "sendFailed"


@pytest.mark.parametrize("act", [None, "error -32000 Sign in again"])
@pytest_twisted.ensureDeferred
async def test_an_agent_that_wants_a_sign_in_ends_the_turn_so(acp, act):
    talk = await acp.talk(methods=["key", "web"], locked=act is None)
    failed = await talk.fails(act or "hello")
    assert failed.error_type == "authRequired"
    assert "key, web" in failed.message


# -- trust -----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_folder_nobody_vouched_for_is_refused_before_anything_starts(
    acp, supervisor, tmp_path
):
    start = {"trusted": False, "working_directories": (tmp_path.as_uri(),)}
    talk = await acp.talk(start=start)
    failed = await talk.fails("hello")
    assert tmp_path.as_uri() in failed.message
    assert failed.error_type == "untrustedFolder"
    assert supervisor.children == ()
    talk = await acp.talk({"honoursTrust": True}, start=start)
    assert await talk.say("hello") == "hello"


# -- folders ---------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_it_works_in_the_sessions_folders(acp, tmp_path, logged):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    start = {"working_directories": (one.as_uri(), two.as_uri())}
    talk = await acp.talk(start=start)
    assert json.loads(await talk.say("told cwd")) == str(one)
    assert await talk.say("told folders") == "null"
    assert any(f"{two} were left out" in line for line in logged)
    talk = await acp.talk(start=start, can={"sessionCapabilities": {"additionalDirectories": {}}})
    assert json.loads(await talk.say("told folders")) == [str(two)]
    assert "multipleWorkingDirectories" in talk.agent.info()["capabilities"]


@pytest_twisted.ensureDeferred
async def test_a_session_without_folders_works_where_the_record_says(acp, tmp_path):
    (tmp_path / "own").mkdir()
    talk = await acp.talk({"cwd": str(tmp_path / "own")})
    assert json.loads(await talk.say("told cwd")) == str(tmp_path / "own")
    assert json.loads(await (await acp.talk()).say("told cwd")) == str(tmp_path)


# -- MCP servers -----------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_servers_are_carried_the_hosts_own_last(acp, logged):
    host = Host()
    talk = await acp.talk(start={"mcp_servers": SERVERS}, host=host, can=HTTP)
    api, search, own = json.loads(await talk.say("told servers"))
    assert api == {
        "type": "http",
        "name": "api",
        "url": "http://x/mcp",
        "headers": [{"name": "Authorization", "value": "Bearer t"}],
    }
    assert search == {
        "name": "search",
        "command": "search",
        "args": [],
        "env": [{"name": "K", "value": "v"}],
    }
    assert (own["name"], own["url"]) == ("host", Endpoint().url)
    assert own["headers"] == [{"name": "Authorization", "value": "Bearer secret-token"}]
    assert host.notify is True
    assert (
        "search: ACP carries no directory for a stdio MCP server, so /srv/search was left out"
        in logged
    )
    assert not any("secret-token" in line for line in logged)


def test_an_agent_that_takes_none_over_http_is_given_none_and_the_log_says_so(logged):
    shapes = mcp_servers(SERVERS, Capabilities(), Endpoint())
    assert [shape["name"] for shape in shapes] == ["search"]
    for name in ("api", "host"):
        assert f"this agent takes no MCP servers over HTTP, so {name} was left out" in logged


@pytest_twisted.ensureDeferred
async def test_the_hosts_tools_are_left_out_or_quiet_where_the_record_says(acp):
    host = Host()
    talk = await acp.talk({"hostTools": False}, host=host, can=HTTP)
    assert await talk.say("told servers") == "[]"
    host = Host()
    await (await acp.talk({"toolsChanged": "list"}, host=host, can=HTTP)).say("hello")
    assert host.notify is False


# -- clients' tools --------------------------------------------------------------------------

LOOK = {"clientId": "editor", "name": "look", "title": "Look"}


@pytest_twisted.ensureDeferred
async def test_a_clients_tool_that_no_call_was_reported_of_has_a_row_or_an_error(acp):
    host = Host()
    talk = await acp.talk(host=host, can=HTTP)
    output, running = talk.begin("endless", client_tools=[LOOK])
    await talk.heard(output)
    output.return_result({"success": True, "pastTenseMessage": "Looked", "content": []})
    result = await host.run_client_tool("editor", "look", {"at": 1}, None)
    assert result["success"]
    started = next(each for each in output.actions if each["type"] == "chat/toolCallStart")
    assert started["contributor"] == {"kind": "client", "clientId": "editor"}
    await talk.chat.stop(output.turn_id)
    await running
    assert not (await host.run_client_tool("editor", "look", {}, None))["success"]

    host = Host()
    talk = await acp.talk({"unreportedClientCalls": "error"}, host=host, can=HTTP)
    output, running = talk.begin("endless", client_tools=[LOOK])
    await talk.heard(output)
    assert not (await host.run_client_tool("editor", "look", {}, None))["success"]
    await talk.chat.stop(output.turn_id)
    await running
