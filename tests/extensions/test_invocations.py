"""`x-ahpd/invokeOperation`: what is refused, what is said while it runs, what is answered."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.extensions.operations import GRANT, NAME, Invocations, OperationsOf
from ahpd.extensions.rows import Rows
from ahpd.interfaces import Operation
from ahpd.protocol.errors import RpcError

URI = "x-tunnels://"

CREATE = Operation(
    id="make/create",
    label="Create",
    scopes=("list",),
    grant="tunnel:put",
    kind="make",
    input={
        "type": "object",
        "properties": {"port": {"type": "integer", "title": "Port"}},
        "required": ["port"],
        "additionalProperties": False,
    },
)
REMOVE = Operation(
    id="make/remove",
    label="Remove",
    scopes=("tunnel",),
    grant="tunnel:delete",
    kind="make",
    icon="trash",
    description="Take it away",
    confirmation="Remove it?",
)
ENABLE = Operation(id="make/enable", label="Enable", scopes=("tunnel",), grant="tunnel:put")


class Tunnels:
    """A channel of tunnels. `done` is what ran, `next` what the next one answers or raises."""

    def __init__(self, rig):
        self.rows = Rows(
            "x-tunnels",
            title="Tunnels",
            grant="",
            readable=lambda reader, row: (
                reader is None or row.get("owner") in (None, reader.principal)
            ),
        )
        self.rows.attach(rig.extensions.add_channel("x-tunnels", self.rows.channel))
        self.invocations = Invocations(rig.access)
        rig.extensions.add_method(NAME, self.invocations.method)
        self.operations = [CREATE, REMOVE, ENABLE]
        self.done = []
        self.next = None
        self.invocations.register(
            URI,
            OperationsOf(
                list=lambda: self.operations,
                offered=lambda row: [REMOVE.id] if row["enabled"] else [REMOVE.id, ENABLE.id],
                rows=self.rows,
                scope="tunnel",
                invoke=self.invoke,
            ),
        )
        self.rows.put({"id": "t1", "enabled": True})

    async def invoke(self, operation, target, value, caller):
        self.done.append((operation.id, target, value, caller.client))
        return await self.next if isinstance(self.next, Deferred) else self.next


@pytest.fixture
def tunnels(rig):
    return Tunnels(rig)


@pytest.fixture
def client(rig, tunnels):
    client = rig.client("root")
    client.watch(URI)
    return client


def invoke(client, operation, **params):
    params.setdefault("channel", URI)
    return client.ask(NAME, operationId=operation, **params)


def refused(client, operation="make/create", **params):
    params.setdefault("channel", URI)
    return client.refused(NAME, operationId=operation, **params)


def test_the_list_holds_the_words_and_a_row_the_ids(rig, tunnels):
    state = rig.client("root").watch(URI)
    assert state["rows"] == [{"id": "t1", "enabled": True, "operations": ["make/remove"]}]
    assert state["operations"] == [
        {
            "id": "make/create",
            "kind": "make",
            "label": "Create",
            "scopes": ["list"],
            "grant": "tunnel:put",
            "input": CREATE.input,
        },
        {
            "id": "make/remove",
            "kind": "make",
            "label": "Remove",
            "scopes": ["tunnel"],
            "grant": "tunnel:delete",
            "description": "Take it away",
            "icon": "trash",
            "confirmation": "Remove it?",
        },
        {
            "id": "make/enable",
            "kind": "host",
            "label": "Enable",
            "scopes": ["tunnel"],
            "grant": "tunnel:put",
        },
    ]


def test_what_a_row_offers_follows_from_it(client, tunnels):
    tunnels.rows.put({"id": "t1", "enabled": False})
    assert client.actions[-1][1]["row"]["operations"] == ["make/remove", "make/enable"]


# -- who may -----------------------------------------------------------------------------------


@pytest.mark.parametrize("grant", [GRANT, "tunnel:put"])
def test_the_command_is_open_to_its_grant_and_to_the_operations_own(rig, tunnels, access, grant):
    access.give("ada", grant)
    ada = rig.client("ada")
    assert ada.call(NAME, channel=URI, operationId="make/create", input={"port": 1}) == {}


@pytest.mark.parametrize("grants", [(), ("tunnel:delete",)])
def test_whoever_holds_neither_is_refused(rig, tunnels, access, grants):
    access.give("ada", *grants)
    error = refused(rig.client("ada"), input={"port": 1})
    assert (error["code"], tunnels.done) == (-32009, [])


def test_whoever_holds_neither_learns_nothing_of_what_there_is(rig, tunnels):
    client = rig.client("ada")
    told = {
        refused(client, channel=channel, operation=operation)["code"]
        for channel, operation in ((URI, "make/create"), (URI, "nothing"), ("x-no://", "nothing"))
    }
    assert told == {-32009}


# -- what is refused ------------------------------------------------------------------------------


def test_a_channel_without_operations_is_not_found(client):
    error = refused(client, channel="x-lists://")
    assert (error["code"], error["message"]) == (-32001, "Resource not found: x-lists://")


@pytest.mark.parametrize(
    ("operation", "params", "words"),
    [
        ("make/break", {}, "params.operationId: x-tunnels:// lists no operation make/break"),
        (None, {}, "params.operationId must be text"),
        ("make/create", {"channel": 3}, "params.channel must be text"),
        ("make/create", {"target": {"id": "t1"}}, "make/create runs on the list"),
        ("make/remove", {}, "params.target: make/remove runs on a tunnel"),
        ("make/remove", {"target": {}}, "params.target.id: make/remove runs on a tunnel"),
        ("make/remove", {"target": "t1"}, "params.target.id: make/remove runs on a tunnel"),
        ("make/remove", {"target": {"id": "t2"}}, "params.target.id: there is no tunnel t2"),
        ("make/enable", {"target": {"id": "t1"}}, "does not offer make/enable now"),
        ("make/create", {"input": {"port": "secret"}}, "params.input.port must be"),
        ("make/create", {}, "params.input"),
        ("make/create", {"input": {"port": 1, "more": 1}}, "params.input"),
        ("make/remove", {"target": {"id": "t1"}, "input": {"a": 1}}, "takes no input"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_channel_is_called(
    client, tunnels, operation, params, words
):
    error = refused(client, operation, **params)
    assert error["code"] == -32602
    assert words in error["message"]
    assert "secret" not in error["message"]
    assert tunnels.done == []
    assert client.actions == []


def test_an_operation_that_is_listed_no_more_is_refused(client, tunnels):
    tunnels.operations = [CREATE]
    assert refused(client, "make/remove", target={"id": "t1"})["code"] == -32602


def test_a_row_the_caller_may_not_read_is_no_row_to_it(rig, tunnels, access):
    access.give("ada", GRANT)
    tunnels.rows.put({"id": "t2", "enabled": True, "owner": "user:bob"})
    error = refused(rig.client("ada"), "make/remove", target={"id": "t2"})
    assert error["message"] == "params.target.id: there is no tunnel t2"


# -- running --------------------------------------------------------------------------------------


def test_an_operation_on_the_list_says_its_status_there(client, tunnels):
    tunnels.next = Deferred()
    asked = invoke(client, "make/create", input={"port": 8080})
    assert tunnels.done == [("make/create", None, {"port": 8080}, "root")]
    assert client.types == ["x-tunnels/operations"]
    assert client.actions[-1][1]["operations"][0]["status"] == "running"
    tunnels.rows.put({"id": "t2", "enabled": True})
    tunnels.next.callback({"id": "t2", "enabled": True})
    assert client.actions[-1][1]["operations"][0]["status"] == "idle"
    row = {"id": "t2", "enabled": True, "operations": ["make/remove"]}
    assert client.answer(asked)["result"] == row


def test_an_operation_on_a_row_says_its_status_on_it(client, tunnels):
    tunnels.next = Deferred()
    asked = invoke(client, "make/remove", target={"id": "t1"})
    assert client.actions[-1][1]["row"]["operation"] == {"id": "make/remove", "status": "running"}
    tunnels.rows.put({"id": "t1", "enabled": True, "url": "u"})
    assert client.actions[-1][1]["row"]["operation"]["status"] == "running"
    tunnels.next.callback({"id": "t1"})
    row = client.answer(asked)["result"]
    assert row["operation"] == {"id": "make/remove", "status": "idle"}
    assert row == client.actions[-1][1]["row"]


def test_one_that_removed_its_row_answers_an_empty_object(client, tunnels):
    tunnels.next = Deferred()
    asked = invoke(client, "make/remove", target={"id": "t1"})
    tunnels.rows.remove("t1")
    tunnels.next.callback(None)
    assert client.answer(asked)["result"] == {}
    assert client.types[-1] == "x-tunnels/removed"


def test_a_new_row_with_an_old_id_carries_nothing_of_the_old_one(client, tunnels):
    asked = invoke(client, "make/remove", target={"id": "t1"})
    assert client.answer(asked)["result"] == {}
    tunnels.rows.remove("t1")
    tunnels.rows.put({"id": "t1", "enabled": True})
    assert "operation" not in tunnels.rows.get("t1")


@pytest.mark.parametrize("on", ["list", "row"])
def test_a_refusal_of_the_work_is_told_and_is_its_status(client, tunnels, on):
    tunnels.next = Deferred()
    params = {"input": {"port": 1}} if on == "list" else {"target": {"id": "t1"}}
    asked = invoke(client, "make/create" if on == "list" else "make/remove", **params)
    tunnels.next.errback(RpcError(-32011, "the port is taken"))
    error = client.answer(asked)["error"]
    assert (error["code"], error["message"]) == (-32011, "the port is taken")
    action = client.actions[-1][1]
    held = action["operations"][0] if on == "list" else action["row"]["operation"]
    assert (held["status"], held["error"]) == ("error", "the port is taken")


@pytest.mark.logs_failures
def test_a_failure_of_the_work_is_told_in_its_words(client, tunnels, caught_failures):
    tunnels.next = Deferred()
    asked = invoke(client, "make/remove", target={"id": "t1"})
    tunnels.next.errback(OSError("no route to the service"))
    error = client.answer(asked)["error"]
    assert (error["code"], error["message"]) == (-32603, "no route to the service")
    assert client.actions[-1][1]["row"]["operation"] == {
        "id": "make/remove",
        "status": "error",
        "error": "no route to the service",
    }
    assert len(caught_failures(OSError)) == 1


def test_a_status_survives_a_new_list_and_goes_with_its_operation(client, tunnels):
    invoke(client, "make/create", input={"port": 1})
    tunnels.operations = [CREATE, ENABLE]
    tunnels.invocations.refresh(URI)
    assert tunnels.rows.operations[0]["status"] == "idle"
    tunnels.operations = [ENABLE]
    tunnels.invocations.refresh(URI)
    tunnels.operations = [CREATE]
    tunnels.invocations.refresh(URI)
    assert "status" not in tunnels.rows.operations[0]
