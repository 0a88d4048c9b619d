"""Actions of adapters as tools, and the models of connectors."""

import json

import attrs
import pytest
from twisted.internet.defer import Deferred

from ahpd.connectors.bindings import KEY as KEY_OF_BINDINGS
from ahpd.interfaces import (
    Capability,
    Check,
    Endpoint,
    RpcError,
    ToolCallContext,
    ToolFailure,
)
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tools import ToolDefinition
from ahpd.sessions.config import CONNECTORS, HOST_KEYS

from .connectors_host import KEY, SEND, ConnectorsHost, Directory, ScriptedAdapter, Tried, person

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
ONE = {"connectors": {"work": "connectors://mail/one"}}
TWO = {"connectors": {"work": "connectors://mail/one", "home": "connectors://mail/two"}}


@pytest.fixture
def bound(host, mail):
    """Two connectors, and a session that uses the first."""
    host.put("one")
    host.put("two", config={"key": "another-key"})
    host.sessions[S1] = ONE
    return host


def ran(scripted):
    return [each for each in scripted.history if each[0] == "run"]


# -- which there are -------------------------------------------------------------------------


def test_an_action_is_one_tool_for_every_connector_of_its_adapter(host):
    odd = attrs.evolve(SEND, name="send-it.now")
    host.offer(ScriptedAdapter(name="ap-mail", capabilities=[SEND, odd]), ScriptedAdapter())
    tools = host.service.tools()
    assert list(tools) == ["ap_mail_send", "ap_mail_send_it_now", "mail_send"]
    assert host.tool_changes == [list(tools)]
    for tool in tools.values():
        check_strict(tool.definition, ToolDefinition, "definition")
    assert tools["mail_send"].definition == {
        "name": "mail_send",
        "title": "Send",
        "description": "Sends a text.",
        "inputSchema": SEND.input,
    }


def test_an_adapter_that_runs_nothing_offers_no_tool(host):
    host.offer(ScriptedAdapter(run=None))
    assert host.service.tools() == {}
    assert host.tool_changes == []


def test_the_second_of_two_actions_with_one_name_is_reported(host):
    host.offer(ScriptedAdapter(name="a-b", capabilities=[SEND, attrs.evolve(SEND, title="Again")]))
    assert host.service.tools()["a_b_send"].definition["title"] == "Send"
    long = Capability(type="action", name="x" * 64, title="X")
    host.offer(ScriptedAdapter(name="a-b", capabilities=[SEND, long]))
    assert host.reported == [
        (
            "acme",
            "action send of adapter a-b is no tool: a_b_send is the action send of adapter a-b",
        ),
        (
            "acme",
            f"action {'x' * 64} of adapter a-b is no tool: a_b_{'x' * 64} is longer than 64",
        ),
    ]


def test_a_tool_is_the_same_one_while_its_adapter_is(host):
    mail, chat = ScriptedAdapter(), ScriptedAdapter(name="chat")
    host.offer(mail)
    held = host.service.tools()["mail_send"]
    host.offer(mail, chat)
    assert host.service.tools()["mail_send"] is held
    host.offer(ScriptedAdapter(), chat)
    assert host.service.tools()["mail_send"] is not held
    host.offer(chat)
    assert list(host.service.tools()) == ["chat_send"]
    assert len(host.tool_changes) == 4


# -- as a session sees one -----------------------------------------------------------------------


def test_a_session_sees_the_tool_where_it_binds_a_connector_of_the_adapter(bound):
    assert bound.seen("mail_send", S2) is None
    bound.sessions[S2] = {"connectors": {"work": "connectors://chat/one"}}
    assert bound.seen("mail_send", S2) is None
    assert bound.seen("mail_send")["inputSchema"] == SEND.input


def test_with_two_it_names_the_account_by_alias_and_never_by_id(bound):
    bound.sessions[S1] = TWO
    seen = bound.seen("mail_send")
    check_strict(seen, ToolDefinition, "definition")
    schema = seen["inputSchema"]
    assert schema["properties"]["connector"]["enum"] == ["home", "work"]
    assert schema["required"] == ["connector", "text"]
    assert "one" not in json.dumps(schema)
    assert SEND.input["required"] == ["text"]


@pytest.mark.parametrize(
    "connectors",
    [
        ["connectors://mail/one"],
        "connectors://mail/one",
        {"Work": "connectors://mail/one"},
        {"work": "connectors://mail"},
        {"work": "connectors://mail/one/two"},
        {"work": "mail/one"},
        {"work": 7},
        None,
    ],
)
def test_what_is_no_binding_binds_nothing(bound, connectors):
    bound.sessions[S1] = {"connectors": connectors}
    assert bound.seen("mail_send") is None


def test_the_port_is_asked_live_and_the_session_s_own_binding_stands_ahead_of_it():
    live = {S1: {"work": "connectors://mail/two", "home": "connectors://mail/two"}}
    host = ConnectorsHost(bindings=lambda session: live[session]).start()
    mail = ScriptedAdapter()
    host.offer(mail)
    host.put("one")
    host.put("two")
    assert host.seen("mail_send")["inputSchema"]["properties"]["connector"]["enum"] == [
        "home",
        "work",
    ]
    host.sessions[S1] = ONE
    host.call("mail_send", connector="work", text="x")
    host.call("mail_send", connector="home", text="x")
    assert [each[1] for each in ran(mail)] == ["one", "two"]
    live[S1] = {}
    assert "connector" not in host.seen("mail_send")["inputSchema"]["properties"]
    assert host.seen("mail_send", S2) is None  # the port raised: nothing is bound


def test_what_the_port_names_wrongly_is_logged_once_for_each_session(log_lines):
    live = {S1: {"Work": "connectors://mail/one", "home": "connectors://mail/one"}, S2: "str"}
    host = ConnectorsHost(bindings=lambda session: live[session]).start()
    host.offer(ScriptedAdapter())
    host.put("one")
    for _ in range(3):
        assert host.seen("mail_send") is not None
        assert host.seen("mail_send", S2) is None
    told = [line for line in log_lines() if line.startswith("the connectors of")]
    assert [line.split(": ")[0] for line in told] == [
        f"the connectors of {S1}",
        f"the connectors of {S2}",
    ]
    assert "'Work' is no alias" in told[0]
    assert "home" not in told[0]


# -- a call ------------------------------------------------------------------------------------


def test_with_one_binding_the_host_says_whose_account_it_is(bound, mail):
    assert bound.call("mail_send", text="hi") == "sent {'text': 'hi'}"
    assert ran(mail) == [("run", "one", "send", {"text": "hi"})]


def test_with_two_the_alias_says_it_and_the_action_is_not_told(bound, mail):
    bound.sessions[S1] = TWO
    bound.call("mail_send", connector="home", text="hi")
    assert ran(mail) == [("run", "two", "send", {"text": "hi"})]
    assert bound.failed("mail_send", text="x") == "connector is needed: one of home, work"
    words = bound.failed("mail_send", connector="two", text="x")
    assert words == "two: this session has no connector by that name"


def test_a_model_with_an_older_list_reaches_no_other_account(bound, mail):
    words = bound.failed("mail_send", connector="home", text="x")
    assert words == "home: this session has no connector by that name"
    bound.call("mail_send", connector="work", text="x")
    bound.sessions[S1] = {}
    assert "no connector by that name" in bound.failed("mail_send", connector="work", text="x")
    assert "any more" in bound.failed("mail_send", text="x")
    assert [each[1] for each in ran(mail)] == ["one"]


def test_an_action_s_own_field_of_that_name_is_handed_on_where_one_is_bound(host):
    schema = {"type": "object", "properties": {"connector": {"type": "string"}}}
    plugs = ScriptedAdapter(name="plug", capabilities=[attrs.evolve(SEND, input=schema)])
    host.offer(plugs)
    host.put("one", adapter="plug")
    host.sessions[S1] = {"connectors": {"work": "connectors://plug/one"}}
    host.call("plug_send", connector="usb")
    assert ran(plugs) == [("run", "one", "send", {"connector": "usb"})]


def test_every_call_asks_again_whether_the_connector_is_there_and_ready(bound, mail):
    mail.checking = lambda connector: Check(result="denied")
    bound.ask("check", {"id": "one"})
    assert bound.failed("mail_send", text="x") == "work: the connector is not ready (unauthorized)"
    bound.ask("disable", {"id": "one"})
    assert bound.failed("mail_send", text="x") == "work: the connector is not ready (disabled)"
    bound.ask("remove", {"id": "one"})
    assert bound.failed("mail_send", text="x") == "work: the connector is gone"
    assert ran(mail) == []


def test_every_call_asks_again_whether_it_is_of_the_tool_s_adapter(bound, mail):
    bound.offer(mail, ScriptedAdapter(name="chat"))
    bound.put("one", adapter="chat")
    words = bound.failed("mail_send", text="x")
    assert words == "work: it is no connector of mail any more"


def test_a_tool_kept_from_before_its_adapter_changed_asks_for_the_action_again(bound, mail):
    held = bound.service.tools()["mail_send"]
    bound.offer(ScriptedAdapter(capabilities=()))
    context = ToolCallContext(session=S1, chat="ahp-chat:/c", tool_call_id="1")
    with pytest.raises(ToolFailure, match=r"^work: its adapter has no action send any more$"):
        Tried(held.run({"text": "x"}, context)).result()


def test_every_call_asks_again_whether_the_session_s_owner_may_read_the_connector():
    access = Directory({"user:ada": {"connector:list"}, "user:all": {"connector:all"}})
    owners = {S1: "user:ada"}
    host = ConnectorsHost(access=access, session_owner=owners.get).start()
    host.offer(ScriptedAdapter())
    host.put("one", owner="user:ada")
    host.put("two", owner="user:bob")
    host.put("shared")
    for identifier, lets in (("one", True), ("two", False), ("shared", True)):
        host.sessions[S1] = {"connectors": {"work": f"connectors://mail/{identifier}"}}
        if lets:
            host.call("mail_send", text="x")
        else:
            words = host.failed("mail_send", text="x")
            assert words == "work: the session's owner may not use it"
    owners[S1] = "user:all"
    host.sessions[S1] = {"connectors": {"work": "connectors://mail/two"}}
    host.call("mail_send", text="x")
    owners[S1] = "user:ada"
    host.sessions[S1] = {"connectors": {"work": "connectors://mail/one"}}
    access.grants["user:ada"].clear()
    assert host.failed("mail_send", text="x") == "work: ada may not connector:list here"


def test_a_run_that_raises_is_told_under_the_alias_and_shown_without_a_secret(bound, mail, logged):
    def failing(connector, action, given, call):
        raise OSError(f"connector one ({connector.config['key']}): mailbox full, done")

    mail.running = failing
    assert bound.failed("mail_send", text="x") == "work: connector work (<set>): mailbox full, done"
    assert bound.alerts("one") == [("warning", "call", "connector one (<set>): mailbox full, done")]
    mail.running = lambda *asked: "fine"
    bound.call("mail_send", text="x")
    assert bound.alerts("one") == []
    assert not any(KEY in line for line in logged)


def test_a_call_that_is_called_off_is_no_failure_of_the_connector(bound, mail):
    mail.running = lambda *asked: Deferred()
    context = ToolCallContext(session=S1, chat="ahp-chat:/c", tool_call_id="1")
    call = Deferred.fromCoroutine(bound.service.tools()["mail_send"].run({"text": "x"}, context))
    outcome = []
    call.addErrback(outcome.append)
    call.cancel()
    assert outcome
    assert "alerts" not in bound.row("one")


def test_what_an_action_answers_is_the_tool_s_answer(bound, mail):
    whole = {
        "success": True,
        "pastTenseMessage": "Sent",
        "content": [{"type": "text", "text": "1"}],
    }
    for answer, told in (
        ("text", "text"),
        ({"sent": 1}, '{"sent": 1}'),
        ([1, ("a",)], '[1, ["a"]]'),
        (None, "null"),
        (whole, whole),
        ({"success": True}, '{"success": true}'),
    ):
        mail.running = lambda *asked, answer=answer: answer
        assert bound.call("mail_send", text="x") == told


def test_an_answer_that_is_no_json_is_a_failure(bound, mail):
    mail.running = lambda *asked: {"sent": object()}
    assert bound.failed("mail_send", text="x").startswith("work: ")
    assert bound.alerts("one")[0][:2] == ("warning", "call")


def test_a_call_is_handed_the_session_s_folder_and_what_says_its_content(tmp_path):
    said = []
    host = ConnectorsHost(
        files=lambda session: tmp_path / session[-2:],
        produced=lambda context: lambda content: said.append((context.tool_call_id, content)),
    ).start()
    mail = ScriptedAdapter()
    host.offer(mail)
    host.put("one")
    host.sessions[S1] = ONE
    calls = []

    def running(connector, action, given, call):
        calls.append(call)
        call.set_content([{"type": "text", "text": "half"}])
        return "done"

    mail.running = running
    host.call("mail_send", text="x")
    assert calls[0].files == tmp_path / "s1"
    assert said == [("call-1", [{"type": "text", "text": "half"}])]


# -- models -----------------------------------------------------------------------------------


class Served:
    """An adapter's models, one answer for each reading."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.asked = []

    async def models(self, connector):
        self.asked.append(dict(connector.config))
        answer = self.answers.pop(0) if self.answers else []
        if isinstance(answer, Exception):
            raise answer
        return await answer if isinstance(answer, Deferred) else answer


MODELS = [{"id": "llama-3", "name": "Llama", "context_length": 8192, "pricing": {"prompt": "0"}}]


def served(*answers, **more):
    host = ConnectorsHost(**more.pop("host", {})).start()
    host.served = Served(*answers)
    host.offer(ScriptedAdapter(models=host.served.models, **more))
    return host


def test_models_are_read_when_it_opens_and_again_each_hour(logged):
    host = served(MODELS, [{"id": "b"}], OSError(f"no {KEY}"), [{"id": "c"}])
    host.put()
    assert host.served.asked == [{"key": KEY}]
    assert host.ask("models", {"id": "work"}) == {
        "models": [{**MODELS[0], "model": "mail/llama-3", "callable": False}],
        "at": "2026-01-02T03:04:05.000Z",
    }
    host.clock.advance(3600)
    answer = host.ask("models", {"id": "work"})
    assert [one["model"] for one in answer["models"]] == ["mail/b"]
    assert answer["at"] == "2026-01-02T04:04:05.000Z"
    assert not any("could not be read" in line for line in logged)
    host.clock.advance(3600)
    assert host.ask("models", {"id": "work"}) == answer  # what it had is kept
    assert sum("could not be read" in line for line in logged) == 1
    assert not any(KEY in line for line in logged)
    host.clock.advance(3600)
    assert host.ask("models", {"id": "work"})["models"][0]["id"] == "c"
    host.ask("disable", {"id": "work"})
    host.clock.advance(7200)
    assert len(host.served.asked) == 4
    assert not host.clock.getDelayedCalls()


def test_a_reading_that_never_answers_is_given_up_and_holds_no_open():
    waiting = Deferred()
    host = served(waiting, MODELS)
    assert host.put()["state"] == "ready"
    asked = host.begin("models", {"id": "work"})
    assert not asked.done
    host.clock.advance(60)
    assert asked.result() == {"models": []}


@pytest.mark.parametrize(
    "answer",
    [
        "llama",
        {"id": "x"},
        None,
        [1, {"name": "x"}],
        [{"id": "half \ud800"}],
    ],
)
def test_what_is_no_list_of_models_lists_none(answer):
    host = served(answer)
    host.put()
    assert host.ask("models", {"id": "work"})["models"] == []


def test_the_prefix_is_the_provider_s_word_or_the_adapter_s_name():
    def provider(connector):
        return Endpoint(endpoint="http://127.0.0.1:1", accepts=["openai-chat"], prefix=connector.id)

    host = served(
        MODELS,
        provider=provider,
        host={
            "callable_now": lambda reader, row, model: (
                (row["id"], model) == ("work", "work/llama-3")
            )
        },
    )
    host.put()
    (model,) = host.ask("models", {"id": "work"})["models"]
    assert (model["model"], model["callable"]) == ("work/llama-3", True)


def test_a_connector_that_serves_none_or_is_not_open_has_no_models(host, mail):
    host.put()
    assert host.refused("models", {"id": "work"}) == "The mail serves no models."
    host.ask("disable", {"id": "work"})
    assert "is not open" in host.refused("models", {"id": "work"})
    assert host.refused("models", {"id": "gone"}) == "There is no connector gone here."


def test_models_are_for_whoever_reads_the_connector():
    access = Directory({"user:ada": {"connector:list"}, "user:all": {"connector:all"}})
    host = served(MODELS, MODELS, host={"access": access})
    host.put("his", owner="user:bob")
    host.put("here")
    host.ask("models", {"id": "here"}, person("user:ada"))
    with pytest.raises(RpcError) as found:
        host.ask("models", {"id": "his"}, person("user:ada"))
    assert found.value.message == "There is no connector his here."
    host.ask("models", {"id": "his"}, person("user:all"))
    method = host.methods["x-ahpd/connectors/models"]
    assert method.grant == "connector:list"
    assert method.authorize({}, person("user:all")) is True
    assert method.authorize({}, person("user:bob")) is False


def test_a_session_s_setting_is_the_one_its_bindings_are_read_from():
    assert CONNECTORS == KEY_OF_BINDINGS
    assert "sessionMutable" not in HOST_KEYS[CONNECTORS]
