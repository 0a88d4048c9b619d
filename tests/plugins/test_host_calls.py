"""What plugins ask of a whole host: as a client of it, for owners, and beside sessions."""

import pytest
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.client.failures import ActionRefused
from ahpd.interfaces import (
    ChatRequest,
    ClientGone,
    IAccess,
    IAutomationStore,
    IUsageStore,
    Method,
    PluginError,
    RpcError,
    SessionRequest,
    TriggerType,
)
from ahpd.protocol.uris import ROOT
from ahpd.protocol.versions import SUPPORTED
from ahpd.testing.agents import ScriptedAgent

from .applies import applied
from .hosted import People

S1 = "ahp-session:/s1"
HELLO = {"channel": ROOT, "clientId": "bot", "protocolVersions": list(SUPPORTED)}
DEPLOY = TriggerType(
    type="deploy", title="Deployments", events=[{"id": "failed", "title": "It failed"}]
)


@implementer(IAccess)
class Gate(People):
    """People, and plugins that hold what their entries say; owners may do what they hold."""

    def reader(self, connection):
        return connection.reader or super().reader(connection)

    def holds(self, reader, grant):
        return grant in reader.grants or super().holds(reader, grant)

    def may(self, owner, grant):
        name = (owner or "").partition(":")[2]
        return None if grant in self.grants.get(name, ()) else f"{name} may not {grant} here"


class Asking:
    """A host with a plugin `acme`, and the host that one was handed, again at each reload."""

    def __init__(self, hosted, *entries, register=lambda host: None, entry=None, **options):
        self.hosted, self.hosts = hosted, []

        def apply(host, _):
            self.hosts.append(host)
            register(host)

        acme = {**applied(hosted, "acme", apply), **(entry or {})}
        hosted.start(acme, *entries, **options)
        self.memory = hosted.host

    @property
    def host(self):
        return self.hosts[-1]

    def run(self, coroutine):
        return self.memory.run(coroutine)

    def hello(self, host=None):
        """A connection that said hello."""
        connection = (host or self.host).connect()
        self.run(connection.request("initialize", HELLO))
        return connection

    def session(self, uri=S1, **params):
        self.hosted.call("createSession", channel=uri, **params)
        self.run(self.hosted.probe.subscribe(uri))
        return uri


def fails(asking, coroutine, wanted=RpcError):
    with pytest.raises(wanted) as failure:
        asking.run(coroutine)
    error = failure.value
    return (error.code, error.message) if isinstance(error, RpcError) else str(error)


# -- a client of its own host -----------------------------------------------------------------------


def whoami(host):
    def answer(params, caller):
        return {"reader": caller.reader.principal, "grants": list(caller.reader.grants)}

    host.register_method("x-acme/whoami", Method(grant="", handle=answer))


def test_it_is_served_by_the_same_door_as_plugin_and_its_id(hosted):
    grants = {"grants": ["session:read", "acme:go"]}
    asking = Asking(hosted, register=whoami, entry=grants)
    connection = asking.host.connect()
    told = asking.run(connection.request("initialize", HELLO))
    assert told["protocolVersion"] in SUPPORTED
    assert told["serverInfo"]["name"] == "ahpd"
    assert asking.run(connection.request("x-acme/whoami", {"channel": ROOT})) == {
        "reader": "plugin:acme",
        "grants": ["session:read", "acme:go"],
    }


def test_versions_this_host_does_not_speak_are_refused_as_any_clients(hosted):
    asking = Asking(hosted)
    wrong = {**HELLO, "protocolVersions": ["0.0.1"]}
    code, words = fails(asking, asking.host.connect().request("initialize", wrong))
    assert code == -32005
    assert "0.0.1" in words or "version" in words.lower()


def test_nothing_is_answered_before_hello(hosted):
    asking = Asking(hosted)
    code, _ = fails(asking, asking.host.connect().request("listSessions", {"channel": ROOT}))
    assert code < 0


def test_it_does_what_its_grants_say_and_nothing_else(hosted):
    def register(host):
        for name in ("go", "stop"):
            method = Method(grant=f"acme:{name}", handle=lambda params, caller: "done")
            host.register_method(f"x-acme/{name}", method)

    asking = Asking(
        hosted,
        register=register,
        entry={"grants": ["acme:go"]},
        access=Gate(ada={"plugin:list"}),
    )
    connection = asking.hello()
    assert asking.run(connection.request("x-acme/go", {"channel": ROOT})) == "done"
    code, _ = fails(asking, connection.request("x-acme/stop", {"channel": ROOT}))
    assert code == -32009
    code, _ = fails(asking, connection.request("subscribe", {"channel": "x-ahpd-plugins://"}))
    assert code == -32009


def test_each_call_is_a_connection_of_its_own(hosted):
    asking = Asking(hosted)
    first = asking.hello()
    second = asking.host.connect()
    asking.run(second.request("initialize", {**HELLO, "clientId": "other"}))
    first.close()
    first.close()
    asking.memory.settle()
    assert fails(asking, first.request("ping", {"channel": ROOT}), ClientGone)
    assert asking.run(second.request("ping", {"channel": ROOT})) is not False


def test_it_makes_a_session_talks_in_it_and_hears_what_happens(hosted):
    asking = Asking(hosted)
    connection, heard = asking.hello(), []
    connection.on_message(heard.append)
    asking.run(connection.request("createSession", {"channel": S1, "provider": "scripted"}))
    opened = asking.run(connection.request("subscribe", {"channel": S1}))
    chat = opened["snapshot"]["state"]["defaultChat"]
    asking.run(connection.request("subscribe", {"channel": chat}))
    action = {
        "type": "chat/turnStarted",
        "turnId": "t1",
        "startedAt": "2026-01-02T03:04:05.000Z",
        "message": {"text": "Say hello.", "origin": {"kind": "systemNotification"}},
    }
    connection.notify("dispatchAction", {"channel": chat, "clientSeq": 1, "action": action})
    asking.memory.settle()
    said = [one["params"]["action"]["type"] for one in heard if one.get("method") == "action"]
    assert "chat/turnStarted" in said
    assert "chat/turnComplete" in said
    asking.run(hosted.probe.subscribe(S1))
    assert hosted.probe.state(S1)["defaultChat"] == chat
    asking.run(hosted.probe.subscribe(chat))
    turn = hosted.probe.state(chat)["turns"][0]
    assert turn["message"]["origin"] == {"kind": "systemNotification"}
    again = {**action, "turnId": "t2"}
    with pytest.raises(ActionRefused, match="a client sends 'user'"):
        asking.run(hosted.probe.perform(chat, again))
    for kind in ("agent", "tool", "automation"):
        message = {"text": "Mine.", "origin": {"kind": kind}}
        theirs = {**action, "turnId": kind, "message": message}
        connection.notify("dispatchAction", {"channel": chat, "clientSeq": 2, "action": theirs})
    asking.memory.settle()
    assert len(hosted.probe.state(chat)["turns"]) == 1


@pytest.mark.logs_failures
def test_what_one_hears_is_its_own_copy_and_one_that_raises_costs_no_other(hosted):
    asking = Asking(hosted)
    connection, heard = asking.hello(), []

    def spoils(message):
        message.clear()
        raise ValueError("no")

    connection.on_message(spoils)
    connection.on_message(heard.append)
    asking.run(connection.request("subscribe", {"channel": ROOT}))
    on = {"type": "root/configChanged", "config": {"canvasesEnabled": True}}
    asking.run(hosted.probe.perform(ROOT, on))
    asking.memory.settle()
    assert [message["params"]["action"] for message in heard] == [on]


def watchers(asking, channel):
    return [one for one in asking.memory.store.watchers(channel) if one.record.client_id == "bot"]


def test_an_unload_closes_what_it_had_open_and_its_subscriptions_end(hosted):
    asking = Asking(hosted)
    asking.session()
    connection = asking.hello()
    asking.run(connection.request("subscribe", {"channel": S1}))
    assert watchers(asking, S1)
    hosted.ask("disable", id="acme")
    asking.memory.settle()
    assert not watchers(asking, S1)
    assert "closed" in fails(asking, connection.request("ping", {"channel": ROOT}), ClientGone)[1]
    connection.notify("unsubscribe", {"channel": S1})
    with pytest.raises(PluginError, match="connect: the plugin acme was unloaded"):
        asking.hosts[0].connect()


def test_a_reload_closes_the_old_ones_connections_and_not_another_plugins(hosted):
    others = []
    other = applied(hosted, "other", lambda host, _: others.append(host))
    asking = Asking(hosted, other)
    old = asking.hello()
    theirs = others[0].connect()
    asking.run(theirs.request("initialize", {**HELLO, "clientId": "theirs"}))
    hosted.ask("reload", id="acme")
    asking.memory.settle()
    assert fails(asking, old.request("ping", {"channel": ROOT}), ClientGone)
    asking.run(theirs.request("ping", {"channel": ROOT}))
    new = asking.hello()
    asking.run(new.request("ping", {"channel": ROOT}))


def test_what_waits_for_an_answer_is_told_that_the_connection_went(hosted):
    def register(host):
        host.register_method(
            "x-acme/never", Method(grant="", handle=lambda params, caller: Deferred())
        )

    asking = Asking(hosted, register=register)
    connection, ended = asking.hello(), []
    asked = Deferred.fromCoroutine(connection.request("x-acme/never", {"channel": ROOT}))
    asked.addErrback(lambda failure: ended.append(failure.check(ClientGone)))
    asking.memory.settle()
    assert ended == []
    connection.close()
    asking.memory.settle()
    assert ended == [ClientGone]


def test_a_stop_closes_them_ahead_of_the_closers_and_no_more_are_opened(hosted):
    diary, opened = [], []

    def register(host):
        def close():
            diary.append("closing")
            with pytest.raises(PluginError, match="on its way out"):
                host.connect()
            diary.append("refused")

        host.register_close(close)
        never = Method(grant="", handle=lambda params, caller: Deferred())
        host.register_method("x-acme/never", never)

    asking = Asking(hosted, register=register)
    opened.append(asking.hello())
    asking.run(opened[0].request("subscribe", {"channel": ROOT}))
    waiting = []
    asked = Deferred.fromCoroutine(opened[0].request("x-acme/never", {"channel": ROOT}))
    asked.addErrback(lambda failure: waiting.append(failure.check(ClientGone)))
    asking.memory.settle()
    hosted.stop()
    assert diary == ["closing", "refused"]
    assert waiting == [ClientGone]


def test_what_it_cannot_send_is_refused_by_its_place_and_the_connection_goes_on(hosted):
    asking = Asking(hosted)
    connection = asking.hello()
    wrong = {"channel": S1, "config": {"mode": "\ud800"}}
    code, words = fails(asking, connection.request("createSession", wrong))
    assert (code, words[:19]) == (-32602, "params.config.mode:")
    assert fails(asking, connection.request("x-\ud800", {"channel": ROOT}))[0] == -32602
    with pytest.raises(RpcError, match=r"params\.config\.mode: .*half a character"):
        connection.notify("dispatchAction", wrong)
    assert asking.run(connection.request("listSessions", {"channel": ROOT}))["items"] == []
    connection.close()
    asking.memory.settle()


# -- a session for an owner ---------------------------------------------------------------------------


def start(asking, **request):
    return asking.run(asking.host.start_session(SessionRequest(**{"owner": "user:ada", **request})))


def test_a_session_is_the_owners_and_lands_in_the_catalogue(hosted):
    asking = Asking(hosted, access=Gate(ada={"plugin:list", "session:create"}))
    uri = start(asking, provider="scripted", title="Motion", prompt="Say hello.")
    rows = hosted.call("listSessions")["items"]
    assert [(row["resource"], row["title"]) for row in rows] == [(uri, "Motion")]
    assert asking.run(asking.host.session_kept(uri)) is True
    assert asking.run(asking.host.session_owner(uri)) == "user:ada"
    asking.memory.settle()
    assert [turn.text for turn in asking.memory.agent.turns] == ["Say hello."]


@pytest.mark.parametrize(
    ("request_", "code", "words"),
    [
        ({"owner": "user:bo"}, -32009, "bo may not session:create here"),
        ({"prompt": "  "}, -32602, "prompt: is blank"),
        ({"title": " "}, -32602, "title: is blank"),
        ({"provider": "nobody"}, None, "nobody"),
        ({"working_directory": "relative/place"}, -32602, "workingDirectory"),
        ({"config": {"permissions": 3, "unknown": 7}}, None, ""),
    ],
)
def test_a_start_that_is_refused_leaves_no_session(hosted, request_, code, words):
    agent = ScriptedAgent()
    agent.schema = {"type": "object", "properties": {"mode": {"type": "string", "title": "Mode"}}}
    asking = Asking(
        hosted,
        agents={"scripted": agent},
        access=Gate(ada={"plugin:list", "session:create"}),
    )
    request = SessionRequest(**{"owner": "user:ada", **request_})
    found, told = fails(asking, asking.host.start_session(request))
    assert code is None or found == code
    assert words in told
    assert hosted.call("listSessions")["items"] == []


def test_on_a_host_that_knows_nobody_nothing_is_gated(hosted):
    asking = Asking(hosted)
    assert asking.run(asking.host.session_kept(start(asking))) is True


def test_a_session_nobody_keeps_is_nobodys(hosted):
    asking = Asking(hosted)
    assert asking.run(asking.host.session_kept("ahp-session:/none")) is False
    assert asking.run(asking.host.session_owner("ahp-session:/none")) is None
    assert asking.run(asking.host.session_owner(asking.session())) is None


# -- a chat on a backend --------------------------------------------------------------------------------


def two_agents():
    first = ScriptedAgent(capabilities={"multipleChats": {}})
    other = ScriptedAgent("other", capabilities={"multipleChats": {}})
    voice = {"type": "string", "title": "Voice", "enum": ["plain", "warm"]}
    other.schema = {"type": "object", "properties": {"voice": voice}}
    return {"scripted": first, "other": other}


def chat(asking, session=S1, **request):
    return asking.host.start_chat(session, ChatRequest(**request))


def test_a_chat_runs_on_the_backend_it_names_with_its_settings(hosted):
    agents = two_agents()
    asking = Asking(hosted, agents=agents)
    asking.session(provider="scripted")
    made = asking.run(chat(asking, provider="other", config={"voice": "plain"}, prompt="Answer."))
    asking.memory.settle()
    assert made in [one["resource"] for one in hosted.probe.state(S1)["chats"]]
    [started] = [one.start for one in agents["other"].chats]
    assert started.chat == made
    assert started.config["voice"] == "plain"
    assert [turn.text for turn in agents["other"].turns] == ["Answer."]


def test_a_chat_that_is_refused_leaves_none(hosted):
    asking = Asking(hosted, agents=two_agents())
    asking.session(provider="scripted")
    code, words = fails(asking, chat(asking, provider="other", config={"voice": "loud"}))
    assert code == -32602
    assert "voice" in words
    assert "loud" in words
    assert fails(asking, chat(asking, provider="nobody"))[0] < 0
    assert fails(asking, chat(asking, prompt=" "))[0] == -32602
    assert fails(asking, chat(asking, session="ahp-session:/none"))[0] == -32001
    assert len(hosted.probe.state(S1)["chats"]) == 1


def test_the_sessions_owner_is_asked_about_a_chat(hosted):
    access = Gate(ada={"plugin:list", "session:create"})
    asking = Asking(hosted, agents=two_agents(), access=access)
    session = start(asking, provider="scripted")
    refused = fails(asking, chat(asking, session=session))
    assert refused == (-32009, "ada may not chat:create here")
    access.grants["ada"].add("chat:create")
    assert asking.run(chat(asking, session=session))


# -- what is said of sessions, and drawn on chats ---------------------------------------------------------


def test_a_meta_value_that_moved_is_said(hosted):
    marks = {S1: "one"}
    register = lambda host: host.register_session_meta("acme.mark", marks.get)  # noqa: E731
    asking = Asking(hosted, register=register)
    asking.session()
    assert hosted.probe.state(S1)["_meta"]["acme.mark"] == "one"
    marks[S1] = {"two": 2}
    asking.host.session_meta_changed(S1)
    asking.memory.settle()
    assert hosted.probe.state(S1)["_meta"]["acme.mark"] == {"two": 2}
    asking.host.session_meta_changed("ahp-session:/none")
    marks.clear()
    asking.host.session_meta_changed(S1)
    asking.memory.settle()
    assert "acme.mark" not in (hosted.probe.state(S1).get("_meta") or {})


CANVAS = {
    "instanceId": "board-1",
    "extensionId": "com.acme.boards",
    "canvasId": "board",
    "title": "Board",
}


def test_canvases_are_refused_until_a_window_turns_them_on(hosted):
    asking = Asking(hosted)
    asking.session()
    target = hosted.probe.state(S1)["defaultChat"]
    assert fails(asking, asking.host.open_canvas(target, CANVAS))[1] == "Canvases are disabled."
    for call in (
        lambda: asking.host.update_canvas("ahp-canvas:/a", CANVAS),
        lambda: asking.host.close_canvas("ahp-canvas:/a"),
    ):
        with pytest.raises(RpcError, match="Canvases are disabled"):
            call()


def test_a_canvas_is_its_plugins_and_goes_with_it(hosted):
    others = []
    other = applied(hosted, "other", lambda host, _: others.append(host))
    asking = Asking(hosted, other)
    asking.session()
    target = hosted.probe.state(S1)["defaultChat"]
    asking.run(hosted.probe.subscribe(target))
    on = {"type": "root/configChanged", "config": {"canvasesEnabled": True}}
    asking.run(hosted.probe.perform(ROOT, on))
    canvas = asking.run(asking.host.open_canvas(target, CANVAS))
    asking.run(hosted.probe.subscribe(canvas))
    assert hosted.probe.state(target)["canvases"] == [{"resource": canvas}]
    asking.host.update_canvas(canvas, {**CANVAS, "status": "saving"})
    asking.memory.settle()
    assert hosted.probe.state(canvas)["status"] == "saving"
    for call in (
        lambda: others[0].update_canvas(canvas, CANVAS),
        lambda: others[0].close_canvas(canvas),
    ):
        with pytest.raises(RpcError, match="opened by another plugin"):
            call()
    hosted.ask("disable", id="acme")
    asking.memory.settle()
    assert not hosted.probe.state(target).get("canvases")
    others[0].close_canvas(canvas)


# -- usage ----------------------------------------------------------------------------------------------


@implementer(IUsageStore)
class Ledger:
    def __init__(self):
        self.kept = []
        self.refuses = None

    async def record(self, entry):
        if self.refuses is not None:
            raise self.refuses
        self.kept.append(entry)

    async def total(self, pool, since):
        return {}

    async def pools(self):
        return ()

    async def records(self, query):
        return ()

    async def groups(self, query):
        return ()


ENTRY = {"kind": "model", "pools": ["user:ada"], "tokens": 7}


def test_a_host_without_a_usage_store_keeps_nothing_and_does_not_fail(hosted):
    asking = Asking(hosted)
    assert asking.run(asking.host.record_usage(ENTRY)) is None
    with pytest.raises(PluginError, match=r"the usage entry\.kind is no JSON"):
        asking.run(asking.host.record_usage({"kind": object()}))


def test_an_entry_that_cannot_be_kept_is_refused_by_its_place(hosted):
    ledger = Ledger()
    asking = Asking(hosted, register=lambda host: host.register_usage(ledger))
    with pytest.raises(PluginError, match=r"the usage entry\.model.*"):
        asking.run(asking.host.record_usage({**ENTRY, "model": "\ud800"}))
    assert ledger.kept == []


def test_an_entry_is_kept_as_it_was_and_a_store_that_refuses_raises_at_the_caller(hosted):
    ledger = Ledger()
    asking = Asking(hosted, register=lambda host: host.register_usage(ledger))
    entry = {**ENTRY, "pools": ["user:ada"]}
    asking.run(asking.host.record_usage(entry))
    entry["pools"].append("team:a")
    assert ledger.kept == [ENTRY]
    ledger.refuses = OSError("the disk is full")
    assert fails(asking, asking.host.record_usage(ENTRY), OSError) == "the disk is full"


# -- triggers and automations -----------------------------------------------------------------------------


@implementer(IAutomationStore)
class Automations:
    def __init__(self):
        self.fired, self.ran, self.breaks = [], [], False

    async def list(self):
        return ()

    async def fire(self, type, event, data, owner):  # noqa: A002
        self._maybe()
        self.fired.append((type, event, data, owner))

    async def run(self, automation, data, owner):
        self._maybe()
        self.ran.append((automation, data, owner))

    def _maybe(self):
        if self.breaks:
            raise OSError("the store broke")


@implementer(IAutomationStore)
class AtOnce(Automations):
    """One that answers at once, and raises in the call itself."""

    def fire(self, type, event, data, owner):  # noqa: A002
        self._maybe()
        self.fired.append((type, event, data, owner))

    def run(self, automation, data, owner):
        self._maybe()
        self.ran.append((automation, data, owner))


def firing(hosted, store, **options):
    def register(host):
        host.register_trigger_type(DEPLOY)
        if store is not None:
            host.register_automations(store)

    return Asking(hosted, register=register, **options)


def test_a_fire_hands_the_event_over_and_returns(hosted):
    store = Automations()
    asking = firing(hosted, store)
    data = {"environment": "production", "tags": ["a"]}
    assert asking.host.fire_trigger("deploy", "failed", data, "user:ada") is None
    data["tags"].append("b")
    asking.host.fire_trigger("deploy", "failed")
    asking.memory.settle()
    assert store.fired == [
        ("deploy", "failed", {"environment": "production", "tags": ["a"]}, "user:ada"),
        ("deploy", "failed", {}, None),
    ]


@pytest.mark.parametrize("store", [None, Automations()])
def test_a_type_or_an_event_that_is_not_its_own_throws(hosted, store):
    asking = firing(hosted, store)
    with pytest.raises(PluginError, match="acme has no trigger type release"):
        asking.host.fire_trigger("release", "failed")
    with pytest.raises(PluginError, match="the trigger type deploy has no event done"):
        asking.host.fire_trigger("deploy", "done")
    with pytest.raises(PluginError, match=r"the data of fire_trigger\.a is no JSON"):
        asking.host.fire_trigger("deploy", "failed", {"a": object()})


def test_what_cannot_be_said_of_an_event_or_of_an_automation_throws(hosted):
    store = Automations()
    asking = firing(hosted, store)
    half = "\ud800"
    for arguments in (
        ("deploy", "failed", {"a": half}),
        ("deploy", "failed", {}, half),
        ("deploy", "failed", {}, 5),
        (["deploy"], "failed"),
        ("deploy", ["failed"]),
    ):
        with pytest.raises(PluginError, match="fire_trigger"):
            asking.host.fire_trigger(*arguments)
    for arguments in ((half,), ("nightly", {"a": half}), ("nightly", {}, half), ("nightly", {}, 5)):
        with pytest.raises(PluginError, match="run_automation"):
            asking.host.run_automation(*arguments)
    asking.memory.settle()
    assert (store.fired, store.ran) == ([], [])


def test_a_name_that_was_lost_is_not_a_name_it_may_fire_until_it_has_it(hosted):
    others, store = [], Automations()

    def second(host, options):
        others.append(host)
        host.register_trigger_type(DEPLOY)

    asking = firing(hosted, None)
    hosted.stop()
    entry = applied(hosted, "second", second)
    first = applied(hosted, "first", lambda host, _: host.register_trigger_type(DEPLOY))
    stores = applied(hosted, "stores", lambda host, _: host.register_automations(store))
    hosted.start(first, entry, stores)
    del asking
    with pytest.raises(PluginError, match="second has no trigger type deploy"):
        others[0].fire_trigger("deploy", "failed")
    hosted.ask("disable", id="first")
    others[0].fire_trigger("deploy", "failed")
    hosted.host.settle()
    assert len(store.fired) == 1


@pytest.mark.logs_failures
@pytest.mark.parametrize("kind", [Automations, AtOnce])
def test_what_the_automations_raise_is_in_the_log_and_not_the_callers(hosted, kind):
    store = kind()
    asking = firing(hosted, store)
    store.breaks = True
    asking.host.fire_trigger("deploy", "failed")
    asking.host.run_automation("nightly")
    asking.memory.settle()
    store.breaks = False
    asking.host.fire_trigger("deploy", "failed")
    asking.host.run_automation("nightly")
    asking.memory.settle()
    assert (len(store.fired), len(store.ran)) == (1, 1)


@pytest.mark.parametrize("named", ["nightly", "ahp-automation:/nightly"])
def test_an_automation_is_run_by_its_id_or_its_uri(hosted, named):
    store = Automations()
    asking = firing(hosted, store)
    assert asking.host.run_automation(named, {"a": 1}, "user:ada") is None
    asking.memory.settle()
    assert store.ran == [("nightly", {"a": 1}, "user:ada")]
    with pytest.raises(PluginError, match="is neither an id nor a URI"):
        asking.host.run_automation(None)


def test_where_nothing_runs_automations_the_log_says_so_in_one_line(hosted, log_lines):
    asking = firing(hosted, None)
    asking.host.fire_trigger("deploy", "failed")
    asking.host.run_automation("night\nly")
    lines = [line for line in log_lines() if "nothing runs automations here" in line]
    assert lines == ["acme runs the automation night ly, and nothing runs automations here"]


# -- records and lines --------------------------------------------------------------------------------------


def test_records_are_open_in_apply_and_answered_once_the_host_is_built(hosted):
    opened, seen, early = [], [], []

    def register(host):
        bots = host.records("bots", body="instructions")
        bots.watch(seen.append)
        opened.append(bots)
        Deferred.fromCoroutine(
            bots.put({"id": "motion", "name": "Motion", "instructions": "Be brief.\n"})
        ).addCallback(early.append)

    from ahpd.record_store.memory import MemoryRecordStore

    store = MemoryRecordStore()
    stores = applied(hosted, "stores", lambda host, _: host.register_records(store, True))
    asking = Asking(hosted, stores, register=register)
    assert early == [None]
    assert [(one.id, one.type) for one in seen] == [("motion", "added")]
    record = asking.run(opened[0].get("motion"))
    record["name"] = "Moved"
    assert asking.run(opened[0].get("motion"))["name"] == "Motion"
    hosted.ask("disable", id="stores")
    hosted.ask("disable", id="acme")
    assert "is gone" in fails(asking, opened[0].list(), Exception)


def test_a_collection_of_this_hosts_is_not_a_plugins(hosted):
    opened = []
    asking = Asking(hosted, register=lambda host: opened.append(host.records("agents")))
    assert "records agents" in fails(asking, opened[0].list(), Exception)


def test_yaml_is_read_and_written_as_the_host_does(hosted):
    asking = Asking(hosted)
    value = {"a": [1, {"b": "no"}], "c": "text\nlines\n"}
    assert asking.host.parse_yaml(asking.host.stringify_yaml(value)) == value
    with pytest.raises(ValueError, match=r"."):
        asking.host.parse_yaml("a: [")


LATE = """
    from twisted.internet.defer import Deferred
    from ahpd.interfaces import PluginError
    SAID = []

    async def kept(records):
        SAID.append(await records.list())

    def apply(host, options):
        try:
            host.connect()
        except PluginError as refused:
            SAID.append(str(refused))
        Deferred.fromCoroutine(kept(host.records("notes")))
        SAID.append("applied")
"""


def test_what_is_there_from_listening_on_is_not_there_in_an_apply_beside_a_host_either(hosted):
    hosted.start(hosted.write("late", LATE))
    for _ in range(2):
        said = hosted.module("late").SAID
        assert said == [
            "connect is there from the event listening on: in apply there is no host to ask",
            "applied",
            [],
        ]
        hosted.ask("reload", id="late")
