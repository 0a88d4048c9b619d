"""What an adapter may be, and the list of them."""

from contextlib import suppress

import attrs
import pytest
from twisted.internet.defer import CancelledError, Deferred

from ahpd.connectors.adapters import adapter_warnings, check_adapter
from ahpd.connectors.opening import CLOSE_PATIENCE, OPEN_PATIENCE
from ahpd.interfaces import (
    Adapter,
    Capability,
    CodeSignIn,
    DeviceSignIn,
    Owned,
    PluginError,
    RpcError,
    ToolCallContext,
)

from .connectors_host import KEY, PAGE, SCHEMA, SEND, ConnectorsHost, ScriptedAdapter, Tried, person

NESTED = {
    "type": "object",
    "properties": {"login": {"properties": {"token": {"type": "string", "secret": True}}}},
}


def adapter(**changes):
    made = Adapter(name="mail", title="Mail", schema=SCHEMA, open=lambda connector, view: None)
    return attrs.evolve(made, **changes)


def code(field="key", title="Sign in"):
    return CodeSignIn(
        title=title,
        field=field,
        url=lambda challenge, state: "",
        exchange=lambda code, verifier: None,
    )


def device(**changes):
    made = DeviceSignIn(title="Sign in", field="key", start=lambda: None, poll=lambda handle: None)
    return attrs.evolve(made, **changes)


def capability(kind, name="x", **more):
    return Capability(type=kind, name=name, title="X", **more)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (adapter(name="Mail"), "the name of an adapter is a slug"),
        (adapter(name=""), "the name of an adapter is a slug"),
        (adapter(name="a" * 41), "the name of an adapter is a slug"),
        (adapter(title=" "), "adapter mail: title must be a text"),
        (adapter(schema=[]), "adapter mail: schema is no JSON Schema object"),
        (adapter(open=None), "adapter mail: open is not callable"),
        (adapter(check="no"), "adapter mail: check is neither callable nor None"),
        (adapter(icons=[{"theme": "dark"}]), "adapter mail: icons[0].src: expected a string"),
        (
            adapter(icons=[{"src": "a.svg"}, {"src": "b.svg", "theme": "blue"}]),
            "adapter mail: icons[1].theme: expected one of 'light', 'dark'",
        ),
        (adapter(capabilities=["receive"]), "a capability is a Capability, found str"),
        (adapter(capabilities=[capability("")]), "the type of a capability must be a text"),
        (
            adapter(capabilities=[capability("view", "side")]),
            "the view capability side names no surface this host knows: main",
        ),
        (
            adapter(capabilities=[capability("action", path="/x")]),
            "the action capability x has a path: only a receive capability has one",
        ),
        *(
            (
                adapter(capabilities=[capability("receive", path=path)]),
                "the receive capability x: its path starts with /",
            )
            for path in (
                "//evil.example/x",
                "/a/../b",
                "/a/./b",
                "/..",
                "/a?b",
                "/a#b",
                "/a\\b",
                "/a b",
                "/a%2e%2e/b",
                "/a\n",
                "/{other}",
                "/",
                "/a//b",
                "/é",
            )
        ),
        (
            adapter(capabilities=[capability("receive", path="x")]),
            "the receive capability x: its path starts with /",
        ),
        (
            adapter(capabilities=[capability("action", input={"type": "string"})]),
            "the action capability x: its input is the schema of an object",
        ),
        (
            adapter(sign_in=code("token")),
            "its sign-in fills 'token', which its schema does not keep as a secret",
        ),
        (adapter(sign_in=code("bot")), "its sign-in fills 'bot', which its schema does not keep"),
        (
            adapter(schema=NESTED, sign_in=code("login.token")),
            "its sign-in fills 'login.token', which its schema does not keep as a secret",
        ),
        (adapter(sign_in=device(field="other")), "its sign-in fills 'other'"),
        (
            adapter(sign_in=device(account="who")),
            "writes the account to 'who', which its schema does not keep",
        ),
        (adapter(sign_in=device(account="key")), "writes the account to 'key', which is secret"),
        (adapter(sign_in="code"), "sign_in is a CodeSignIn or a DeviceSignIn"),
        ("mail", "an adapter is an Adapter, found str"),
    ],
)
def test_an_adapter_that_breaks_a_rule_is_refused_in_words(wrong, words):
    with pytest.raises(PluginError) as found:
        check_adapter(wrong)
    assert words in str(found.value)


def test_what_keeps_the_rules_is_one():
    capabilities = [
        SEND,
        PAGE,
        capability("receive", path="/plugins/mail/{id}"),
        capability("receive"),
        capability("something-new"),
        capability("models"),
    ]
    check_adapter(adapter(capabilities=capabilities, sign_in=code()))
    check_adapter(adapter(sign_in=device(account="bot")))


def test_a_field_marked_as_it_once_was_is_warned_of():
    schema = {
        "type": "object",
        "properties": {
            "apiKey": {"type": "string", "writeOnly": True},
            "key": {"type": "string", "secret": True, "writeOnly": True},
        },
    }
    assert adapter_warnings(adapter(name="acme", schema=schema)) == [
        "adapter acme apiKey: writeOnly kept in the vault; mark it secret"
    ]
    assert adapter_warnings(adapter(capabilities=[SEND])) == []


def test_a_write_only_field_is_kept_in_the_vault(host):
    schema = {"type": "object", "properties": {"apiKey": {"type": "string", "writeOnly": True}}}
    host.offer(ScriptedAdapter(name="acme", schema=schema))
    row = host.put(adapter="acme", config={"apiKey": "sk-1"})
    assert row["config"] == {"apiKey": {"$secret": "host:connector/work/apiKey"}}


def test_an_action_whose_input_has_the_host_s_argument_is_warned_of():
    schema = {"type": "object", "properties": {"connector": {"type": "string"}}}
    lines = adapter_warnings(adapter(capabilities=[capability("action", "go", input=schema)]))
    assert len(lines) == 1
    assert "adapter mail action go: its input has a field connector" in lines[0]


# -- the list -----------------------------------------------------------------------------


def rows(host):
    return host.service.adapters.channel.snapshot("x-ahpd-adapters://", person())["rows"]


def test_an_adapter_is_listed_before_any_connector_of_it():
    icons = [{"src": "data:image/png;base64,AA=="}]
    shown = {("acme", "mail"): icons}
    host = ConnectorsHost(icons=lambda *names: shown.get(names, ())).start()
    receive = capability("receive", "calls", path="/plugins/mail/{id}", description="Answers.")
    whole = ScriptedAdapter(
        capabilities=[SEND, receive],
        icons=[{"src": "./mail.png"}],
        sign_in=device(account="bot"),
        description="Sends.",
    )
    host.offer(whole, ScriptedAdapter(name="plain", capabilities=()))
    first, second = rows(host)
    assert first == {
        "name": "mail",
        "title": "The mail",
        "description": "Sends.",
        "schema": SCHEMA,
        "capabilities": [
            {
                "type": "action",
                "name": "send",
                "title": "Send",
                "description": "Sends a text.",
                "input": SEND.input,
            },
            {
                "type": "receive",
                "name": "calls",
                "title": "X",
                "description": "Answers.",
                "path": "/plugins/mail/{id}",
            },
        ],
        "plugin": "acme",
        "icons": icons,
        "signIn": {"title": "Sign in", "field": "key", "flow": "device", "account": "bot"},
    }
    assert not {"signIn", "icons"} & second.keys()
    shown.clear()
    host.offer(ScriptedAdapter(sign_in=code()))
    (only,) = rows(host)
    assert "icons" not in only
    assert only["signIn"] == {"title": "Sign in", "field": "key", "flow": "code"}
    said = [action["type"].split("/")[1] for _, action, _ in host.adapter_said.actions]
    assert said == ["added", "added", "changed", "removed"]
    assert host.service.adapters.channel.grant == "connector:list"


def test_an_adapters_row_moves_when_its_icons_are_known():
    shown = {}
    host = ConnectorsHost(icons=lambda *names: shown.get(names, ())).start()
    host.offer(ScriptedAdapter(icons=[{"src": "https://example.com/a.svg"}]))
    (row,) = rows(host)
    assert "icons" not in row
    shown["acme", "mail"] = [{"src": "data:image/svg+xml,a"}]
    host.service.icons_moved()
    host.service.icons_moved()
    (row,) = rows(host)
    assert row["icons"] == [{"src": "data:image/svg+xml,a"}]
    said = [action["type"].split("/")[1] for _, action, _ in host.adapter_said.actions]
    assert said == ["added", "changed"]


def test_a_bad_adapter_is_reported_and_costs_no_other(host):
    good = ScriptedAdapter(name="good")
    bad = attrs.evolve(good.adapter, name="bad", title="")
    host.use({"bad": Owned("acme", bad), "good": Owned("acme", good.adapter)})
    assert [row["name"] for row in rows(host)] == ["good"]
    assert host.reported == [
        (
            "acme",
            "the adapter bad is left out: adapter bad: title must be a text that is not empty",
        )
    ]


def test_an_adapter_that_stays_is_left_open_and_one_that_is_another_is_opened_anew(host):
    mail, chat = ScriptedAdapter(), ScriptedAdapter(name="chat")
    host.offer(mail, chat)
    host.put("m")
    host.put("c", adapter="chat")
    host.offer(mail)
    assert mail.history == [("open", "m"), ("check", "m")]
    assert chat.history[-1] == ("stop", "c")
    assert host.row("c")["state"] == "unavailable"
    # The plugin was loaded again: the adapter is called the same, and is another one.
    again = ScriptedAdapter()
    host.offer(again, chat)
    assert mail.history[-1] == ("stop", "m")
    assert list(again.opened) == ["m"]
    assert list(chat.opened) == ["c"]


def test_the_same_adapter_of_another_plugin_is_another_one(host):
    mail = ScriptedAdapter()
    host.offer(mail)
    host.put()
    host.offer(mail, plugin="other")
    assert mail.history.count(("open", "work")) == 2
    assert host.ask("note", {"id": "work", "ok": True}, person("plugin:other"))["id"] == "work"


def test_an_adapter_that_fails_to_let_go_holds_nobody(host, logged):
    mail = ScriptedAdapter()

    async def opens(connector, view):
        def stop():
            raise OSError("no")

        return stop

    mail.adapter = attrs.evolve(mail.adapter, open=opens)
    host.offer(mail)
    host.put()
    host.offer()
    assert host.row()["state"] == "unavailable"
    assert any("does not let go of" in line for line in logged)


def test_contributing_before_the_start_opens_nothing_until_the_records_are_read():
    host = ConnectorsHost()
    mail = ScriptedAdapter()
    host.offer(mail)
    host.start()
    host.put()
    assert Tried(host.service.loaded()).done
    assert list(mail.opened) == ["work"]


def hanging(connector, view):
    """An adapter's `open` that does not answer."""
    return Deferred()


def test_a_start_waits_for_no_connector_to_open(host):
    mail, slow = ScriptedAdapter(), ScriptedAdapter("slow")
    host.offer(mail, slow)
    host.put("fine")
    host.put("hangs", adapter="slow")
    later = ConnectorsHost(store=host.store, vault=host.vault)
    slow.opening = hanging
    later.offer(mail, slow)
    later.start()
    assert Tried(later.service.loaded()).done
    assert later.row("fine")["state"] == "ready"
    assert later.row("hangs")["state"] == "unavailable"
    assert later.ask("check", {"id": "fine"})["state"] == "ready"
    assert later.put("new")["state"] == "ready"
    late = later.begin("check", {"id": "hangs"})
    assert not late.done
    later.clock.advance(OPEN_PATIENCE)
    with pytest.raises(RpcError, match="it is not open"):
        late.result()
    assert later.row("hangs")["state"] == "failed"
    assert later.alerts("hangs") == [("error", "open", "it did not open within 30 seconds")]


def test_a_call_waits_for_its_connector_to_be_opened(host):
    mail = ScriptedAdapter()
    host.offer(mail)
    host.put()
    host.offer()
    opening = Deferred()
    mail.opening = lambda connector, view: opening
    host.offer(mail)
    host.sessions["ahp-session:/s1"] = {"connectors": {"work": "connectors://mail/work"}}
    context = ToolCallContext(session="ahp-session:/s1", chat="ahp-chat:/c", tool_call_id="1")
    call = Tried(host.service.tools()["mail_send"].run({"text": "hi"}, context))
    assert not call.done
    opening.callback(None)
    assert call.result() == "sent {'text': 'hi'}"


def test_an_adapter_that_comes_is_not_waited_for_with_what_it_opens(host):
    slow = ScriptedAdapter()
    host.offer(slow)
    host.put()
    host.offer()
    slow.opening = hanging
    assert Tried(host.service.contributed({"mail": Owned("acme", slow.adapter)})).done
    assert host.row()["state"] == "unavailable"
    host.clock.advance(OPEN_PATIENCE)
    assert host.row()["state"] == "failed"


def test_an_adapter_that_goes_is_not_waited_for_with_what_it_opens(host):
    slow = ScriptedAdapter()
    host.offer(slow)
    slow.opening = hanging
    config = {"id": "work", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    put = host.begin("put", config)
    host.offer()
    assert put.result()["state"] == "unavailable"
    assert host.alerts() == []
    again = ScriptedAdapter()
    host.offer(again)
    assert host.row()["state"] == "ready"


def test_what_an_adapter_opens_once_it_is_gone_is_closed_again(host):
    late = Deferred(lambda _: None)
    stopped = []

    async def opens(connector, view):
        with suppress(CancelledError):
            await late
        return lambda: stopped.append(connector.id)

    slow = ScriptedAdapter()
    slow.adapter = attrs.evolve(slow.adapter, open=opens)
    host.offer(slow)
    config = {"id": "work", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    put = host.begin("put", config)
    host.offer()
    assert put.result()["state"] == "unavailable"
    assert stopped == ["work"]


def test_an_adapter_that_goes_is_waited_for_until_it_let_go_and_no_longer(host, logged):
    closing = Deferred()

    async def opens(connector, view):
        return lambda: closing

    mail = ScriptedAdapter()
    mail.adapter = attrs.evolve(mail.adapter, open=opens)
    host.offer(mail)
    host.put()
    gone = Tried(host.service.contributed({}))
    host.clock.advance(CLOSE_PATIENCE - 1)
    assert not gone.done
    host.clock.advance(1)
    assert gone.done
    assert host.row()["state"] == "unavailable"
    assert any("does not let go of" in line for line in logged)
