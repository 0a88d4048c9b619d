"""Calls as other programs make them, and what they start."""

import json

import attrs
import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred

import ahpd_webhook.plugin
from ahpd.interfaces import PluginError, Request, RpcError
from ahpd.protocol.errors import permission_denied
from ahpd.testing import RecordingPluginHost
from ahpd.testing.planted import planted

SECRET = planted("the secret of an endpoint")
START = {"secret": SECRET, "target": "start"}
MESSAGE = {"secret": SECRET, "target": "message", "session": "ahp-session:/team"}
TRIGGER = {"secret": SECRET, "target": "trigger"}
URL = "/plugins/webhook/issues"


@pytest.fixture
def host():
    return RecordingPluginHost(ahpd_webhook.plugin, "webhook")


@pytest.fixture
def webhook(host):
    """Makes the webhook `issues` of a host that listens."""

    async def make(config, options=None, owner="host"):
        await host.apply(options)
        await host.listening()
        return await host.open_connector("webhook", "issues", config, owner=owner)

    return make


async def call(host, body=b"hello", kind="text/plain", secret=SECRET, path=URL, **more):
    """One call; its status and what it was answered."""
    headers = {"Content-Type": kind, **more.pop("headers", {})}
    if secret is not None:
        headers["Authorization"] = f"Bearer {secret}"
    if not isinstance(body, bytes):
        body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    answer = await host.request(more.pop("method", "POST"), path, body, headers, **more)
    return answer.status, json.loads(answer.body)


def outcome(opened):
    return opened.views.shown["main"]["dataModel"]


# -- what a call starts -------------------------------------------------------------------------


@ensureDeferred
async def test_a_call_starts_a_session_with_its_body_as_the_prompt(host, webhook):
    await webhook(
        {**START, "agent": "claude", "workingDirectory": "/srv/work", "title": "From outside"}
    )
    assert await call(host, b"do this") == (202, {"session": "ahp-session:/started-1"})
    (request,) = host.asked.started
    assert request.owner == "root:here"
    assert request.provider == "claude"
    assert request.working_directory == "/srv/work"
    assert request.title == "From outside"
    assert request.prompt == "do this"


@ensureDeferred
async def test_the_sessions_of_a_persons_webhook_are_that_persons(host, webhook):
    await webhook(START, owner="user:ada")
    await call(host)
    assert [request.owner for request in host.asked.started] == ["user:ada"]


@ensureDeferred
async def test_a_teams_webhook_starts_no_session_and_fires_triggers(host, webhook):
    with pytest.raises(ValueError, match="team"):
        await webhook(START, owner="team:ops")
    with pytest.raises(ValueError, match="team"):
        await host.open_connector("webhook", "issues", MESSAGE, owner="team:ops")
    await host.open_connector("webhook", "issues", TRIGGER, owner="team:ops")
    assert (await call(host))[0] == 202
    assert host.asked.fired[0][3] == "team:ops"


@ensureDeferred
async def test_the_prompt_is_made_of_parts_of_the_call(host, webhook):
    prompt = "{{json.issue.title}} by {{ json.issue.tags.0 }}{{json.none}} ({{header.X-Event}}, {{query.q}})"
    await webhook({**START, "prompt": prompt})
    body = {"issue": {"title": "Slow {{body}}", "tags": [{"name": "ui"}]}}
    assert (await call(host, body, headers={"x-event": "opened"}, query="q=a+b"))[0] == 202
    assert host.asked.started[0].prompt == 'Slow {{body}} by {"name": "ui"} (opened, a b)'


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("{{headers.x}}", "names {{headers.x}}"),
        ("{{ }}", "names {{}}"),
        ("{{json..a}}", "names {{json..a}}"),
        ("{{header.Authorization}}", "a credential"),
        ("{{header.cookie}}", "a credential"),
    ],
)
@ensureDeferred
async def test_a_prompt_that_names_what_there_is_not_opens_nothing(host, webhook, prompt, words):
    with pytest.raises(ValueError) as refused:
        await webhook({**START, "prompt": prompt})
    assert words in str(refused.value)
    assert (await call(host))[0] == 401


@ensureDeferred
async def test_a_call_that_leaves_nothing_or_too_much_to_say_is_refused(host, webhook):
    await webhook({**START, "prompt": "{{json.text}}"})
    assert await call(host, {"text": " \n"}) == (400, {"error": "the call leaves nothing to say"})
    status, answer = await call(host, {"text": "x" * 200_001})
    assert (status, answer["error"]) == (400, "the message would have 200001 characters of 200000")
    assert host.asked.started == []


@ensureDeferred
async def test_a_call_fires_the_trigger_with_its_connector_and_its_body(host, webhook):
    await webhook(TRIGGER)
    assert await call(host, {"a": 1}) == (202, {"fired": "webhook/called"})
    assert host.asked.fired == [
        ("webhook", "called", {"connector": "issues", "body": {"a": 1}}, "host")
    ]


@ensureDeferred
async def test_a_body_too_long_to_be_kept_with_a_run_fires_without_it(host, webhook):
    await webhook(TRIGGER)
    assert (await call(host, b"x" * 20_000))[0] == 202
    assert host.asked.fired[0][2] == {"connector": "issues"}


# -- a message in a session ----------------------------------------------------------------------


def serve_the_session(host, *, refused=None, silent=False):
    """A host with the session `team`, which takes what is queued, or refuses it."""

    def subscribe(connection, params):
        state = {"defaultChat": "ahp-chat:/main"}
        return {"snapshot": {"state": state if params["channel"].startswith("ahp-s") else {}}}

    def dispatch(connection, params):
        ((_, introduced), *_) = connection.sent
        origin = {"clientId": introduced["clientId"], "clientSeq": params["clientSeq"]}
        reason = {} if refused is None else {"rejectionReason": refused}
        connection.tell({"method": "action", "params": {"origin": {"clientId": "else"}}})
        connection.tell({"method": "root/other"})
        if not silent:
            connection.tell({"method": "action", "params": {**params, "origin": origin, **reason}})

    host.asked.kept[MESSAGE["session"]] = None
    host.asked.answers |= {"subscribe": subscribe, "dispatchAction": dispatch}


@ensureDeferred
async def test_a_call_is_a_message_in_the_session_that_is_named(host, webhook):
    await webhook({**MESSAGE, "prompt": "News: {{body}}"})
    serve_the_session(host)
    assert await call(host, b"it is done") == (
        202,
        {"session": "ahp-session:/team", "chat": "ahp-chat:/main"},
    )
    (connection,) = host.asked.connections
    assert connection.closed
    method, params = connection.sent[-1]
    assert method == "dispatchAction"
    assert params["channel"] == "ahp-chat:/main"
    assert params["action"]["type"] == "chat/pendingMessageSet"
    assert params["action"]["kind"] == "queued"
    assert params["action"]["message"] == {
        "text": "News: it is done",
        "origin": {"kind": "user"},
    }


@ensureDeferred
async def test_a_message_the_host_refuses_is_answered_503_with_its_words(host, webhook):
    await webhook(MESSAGE)
    serve_the_session(host, refused="The session is read-only.")
    assert await call(host) == (503, {"error": "nothing was started: The session is read-only."})
    assert host.asked.connections[0].closed


@ensureDeferred
async def test_a_host_that_does_not_take_the_message_is_not_waited_for_for_ever(host, webhook):
    await webhook(MESSAGE)
    serve_the_session(host, silent=True)
    calling = Deferred.fromCoroutine(call(host))
    host.clock.advance(19)
    assert not calling.called
    host.clock.advance(2)
    assert (await calling)[0] == 503
    assert host.asked.connections[0].closed
    assert host.clock.getDelayedCalls() == []


@pytest.mark.parametrize(
    ("owner", "whose", "status"),
    [
        ("user:bob", "user:bob", 202),
        ("user:bob", "user:ada", 503),
        ("user:bob", None, 202),
        ("host", "user:ada", 202),
    ],
)
@ensureDeferred
async def test_a_persons_webhook_writes_to_that_persons_sessions_alone(
    host, webhook, owner, whose, status
):
    opened = await webhook(MESSAGE, owner=owner)
    serve_the_session(host)
    host.asked.kept[MESSAGE["session"]] = whose
    assert (await opened.check()).result == ("ok" if status == 202 else "failed")
    found, answer = await call(host)
    assert found == status
    if status == 503:
        assert answer == {"error": "nothing was started: Session not found: ahp-session:/team"}
        assert host.asked.connections == []


@ensureDeferred
async def test_a_session_that_is_gone_is_said(host, webhook):
    await webhook(MESSAGE)
    assert (await call(host))[0] == 503


# -- who may call --------------------------------------------------------------------------------


@pytest.mark.parametrize("secret", [None, "", "wrong", SECRET[:-1], f"{SECRET}x", "é" * 30])
@ensureDeferred
async def test_a_call_without_the_secret_is_refused_before_its_body_is_looked_at(
    host, webhook, secret
):
    await webhook(START, {"largestBody": 10})
    for body, kind in ((b"{", "application/json"), (b"x" * 100, "image/png")):
        status, answer = await call(host, body, kind, secret)
        assert (status, answer["error"]) == (401, "call with the secret as a bearer token")
    assert host.asked.started == []


@pytest.mark.parametrize(
    "values", [[f"Basic {SECRET}"], [SECRET], [f"Bearer {SECRET}", f"Bearer {SECRET}"], []]
)
@ensureDeferred
async def test_the_secret_comes_once_and_as_a_bearer_token(host, webhook, values):
    await webhook(START)
    serve = host.contribution.route
    request = Request(method="POST", path=URL, headers={"authorization": values}, body=b"x")
    answer = await serve(request)
    assert answer.status == 401
    assert ("WWW-Authenticate", "Bearer") in answer.headers


@ensureDeferred
async def test_each_of_several_secrets_is_taken(host, webhook):
    second, third = "another-secret-of-its-own", "пароль-пароль-пароль"
    await webhook({**START, "secondSecret": second, "thirdSecret": third})
    as_it_travels = third.encode().decode("latin-1")
    for secret in (SECRET, second, as_it_travels):
        assert (await call(host, secret=secret))[0] == 202
    assert (await call(host, secret="another-secret-of-nobody"))[0] == 401


@pytest.mark.parametrize("path", ["other", "issues/", "issues/more", "", "Issues", "issues%00"])
@ensureDeferred
async def test_a_url_nobody_has_is_answered_as_a_secret_nobody_has(host, webhook, path):
    await webhook(START)
    wrong = await call(host, secret="wrong")
    assert await call(host, path=f"/plugins/webhook/{path}") == wrong
    assert await call(host, path=f"/plugins/webhook/{path}", method="GET") == wrong


@ensureDeferred
async def test_a_method_that_is_not_post_is_refused_to_who_has_the_secret(host, webhook):
    await webhook(START)
    assert (await call(host, method="GET"))[0] == 405
    assert (await call(host, method="GET", secret=None))[0] == 401
    assert host.asked.started == []


@ensureDeferred
async def test_a_webhook_that_is_closed_answers_nobody(host, webhook):
    opened = await webhook(START)
    await opened.close()
    assert (await call(host))[0] == 401


@ensureDeferred
async def test_one_that_was_put_anew_answers_to_its_new_secret_alone(host, webhook):
    first = await webhook(START)
    await host.open_connector("webhook", "issues", {**START, "secret": "a-newer-secret-here"})
    await first.close()  # whoever closes the old one late does not take the new one along
    assert (await call(host))[0] == 401
    assert (await call(host, secret="a-newer-secret-here"))[0] == 202


# -- bodies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"x" * 101, "text/plain", 413),
        (b"{", "application/json", 400),
        (b"NaN", "application/json", 400),
        (b"[" * 100, "application/json", 400),
        (b"\xff", "text/plain", 400),
        (b"\xff", "application/json", 400),
        (b"x", "image/png", 415),
        (b"a=1", "application/x-www-form-urlencoded", 415),
        (b"x", "text/plain; charset=latin-1", 415),
        (b'"\\ud800"', "application/json", 400),
    ],
)
@ensureDeferred
async def test_a_body_that_cannot_be_read_starts_nothing(host, webhook, body, kind, status):
    opened = await webhook(START, {"largestBody": 100})
    found, answer = await call(host, body, kind)
    assert (found, set(answer)) == (status, {"error"})
    assert host.asked.started == []
    assert outcome(opened)["calls"] == 0


@ensureDeferred
async def test_json_nested_beyond_reading_is_refused(host, webhook):
    await webhook(START)
    assert (await call(host, b"[" * 200_000, "application/json"))[0] == 400


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "Application/JSON; charset=UTF-8",
        "application/cloudevents+json",
    ],
)
@ensureDeferred
async def test_json_comes_under_several_names(host, webhook, kind):
    await webhook({**START, "prompt": "{{json.a}}"})
    assert (await call(host, b'{"a": "b"}', kind))[0] == 202
    assert host.asked.started[0].prompt == "b"


# -- calls that come again -----------------------------------------------------------------------


def keyed(key="one"):
    return {"headers": {"Idempotency-Key": key}}


@ensureDeferred
async def test_a_call_that_comes_again_is_answered_and_not_done_again(host, webhook):
    await webhook(START, {"remember": 60})
    first = await call(host, **keyed())
    assert await call(host, **keyed()) == first
    assert (await call(host, **keyed("two")))[1] != first[1]
    assert len(host.asked.started) == 2
    host.clock.advance(61)
    await call(host, **keyed())
    assert len(host.asked.started) == 3


@ensureDeferred
async def test_another_call_under_the_same_key_is_refused(host, webhook):
    await webhook(START)
    await call(host, b"one", **keyed())
    assert (await call(host, b"two", **keyed()))[0] == 422
    assert len(host.asked.started) == 1


@ensureDeferred
async def test_a_call_that_comes_while_it_is_done_is_told_so(host, webhook):
    await webhook(MESSAGE)
    serve_the_session(host, silent=True)
    first = Deferred.fromCoroutine(call(host, **keyed()))
    assert (await call(host, **keyed()))[0] == 409
    host.clock.advance(30)
    assert (await first)[0] == 503
    serve_the_session(host)  # what failed may be tried again
    assert (await call(host, **keyed()))[0] == 202


@ensureDeferred
async def test_the_oldest_keys_make_room(host, webhook):
    await webhook(TRIGGER)
    for number in range(1001):
        await call(host, **keyed(str(number)))
    await call(host, **keyed("1000"))
    assert len(host.asked.fired) == 1001
    await call(host, **keyed("0"))
    assert len(host.asked.fired) == 1002


@pytest.mark.parametrize("key", ["", "x" * 256])
@ensureDeferred
async def test_a_key_that_is_none_is_refused(host, webhook, key):
    await webhook(START)
    assert (await call(host, **keyed(key)))[0] == 400


# -- what it shows -------------------------------------------------------------------------------


@ensureDeferred
async def test_its_view_shows_the_last_call(host, webhook):
    opened = await webhook(START)
    assert outcome(opened) == {"calls": 0, "outcome": "It was not called yet."}
    host.clock.advance(60)
    await call(host)
    assert outcome(opened) == {
        "calls": 1,
        "at": "1970-01-01T00:01:00.000+00:00",
        "outcome": "session ahp-session:/started-1",
    }


@ensureDeferred
async def test_a_call_that_fails_is_an_alert_until_one_is_done(host, webhook):
    opened = await webhook(START, owner="user:ada")
    host.asked.failures["start_session"] = permission_denied("ada may not session:create here")
    assert await call(host) == (
        503,
        {"error": "nothing was started: ada may not session:create here"},
    )
    (alert,) = host.alerts
    assert (alert["level"], alert["ref"]) == ("error", "connector:issues")
    assert "ada may not session:create here" in alert["text"]
    assert outcome(opened)["outcome"] == "It failed: ada may not session:create here"
    host.asked.failures.clear()
    await call(host)
    assert host.alerts == []


@ensureDeferred
async def test_what_strangers_do_is_said_once(host, webhook):
    await webhook(START)
    for _ in range(100):
        await call(host, secret="wrong")
    (alert,) = host.alerts
    assert (alert["level"], alert["ref"]) == ("warning", "caller:issues")
    await call(host)
    assert host.alerts == []


@ensureDeferred
async def test_the_alerts_of_a_webhook_go_with_it(host, webhook):
    opened = await webhook(START)
    await call(host, secret="wrong")
    await opened.close()
    assert host.alerts == []


@ensureDeferred
async def test_no_secret_is_shown_or_logged(host, webhook):
    opened = await webhook(START)
    host.asked.failures["start_session"] = RpcError(-32603, "no")
    await call(host)
    await call(host, secret="wrong")
    shown = f"{opened.views.shown} {host.alerts} {host.logged} {host.said} {host.problems}"
    assert SECRET not in shown


# -- the form ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"secret": SECRET},
        {"target": "start"},
        {"secret": "too-short", "target": "start"},
        {**START, "secondSecret": "too-short"},
        {**START, "session": "ahp-session:/x"},
        {**START, "more": 1},
        {"secret": SECRET, "target": "message"},
        {**MESSAGE, "agent": "claude"},
        {**TRIGGER, "prompt": "x"},
        {"secret": SECRET, "target": "other"},
        {**START, "prompt": ""},
    ],
)
@ensureDeferred
async def test_a_field_of_another_kind_is_refused_by_the_form(host, webhook, config):
    with pytest.raises(RpcError) as refused:
        await webhook(config)
    assert "params.config" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize("read", ["", "short"])
@ensureDeferred
async def test_a_secret_of_the_environment_is_held_to_its_length_as_well(host, webhook, read):
    opened = await webhook(START)
    connector = attrs.evolve(opened.connector, config={**START, "secret": read})
    with pytest.raises(ValueError, match="16 characters"):
        opened.adapter.open(connector, opened.views)


@ensureDeferred
async def test_what_it_registers_is_without_a_warning(host):
    await host.apply()
    assert host.problems == ()
    (receive, view) = host.contribution.adapters["webhook"].capabilities
    assert (receive.type, receive.path) == ("receive", "/plugins/webhook/{id}")
    assert (view.type, view.name) == ("view", "main")


@pytest.mark.parametrize("options", [{"largestBody": 0}, {"remember": -1}, {"largestBody": "1"}])
@ensureDeferred
async def test_options_out_of_bounds_are_refused(host, options):
    with pytest.raises(PluginError):
        await host.apply(options)


# -- whether it works ----------------------------------------------------------------------------


@ensureDeferred
async def test_a_check_says_whether_a_call_would_reach_anything(host, webhook):
    opened = await webhook(MESSAGE)
    found = await opened.check()
    assert (found.result, found.message) == ("failed", "There is no session ahp-session:/team.")
    host.asked.kept["ahp-session:/team"] = None
    assert (await opened.check()).result == "ok"


@ensureDeferred
async def test_a_check_looks_for_the_agent(host, webhook):
    agents = {"snapshots": [{"state": {"agents": [{"provider": "claude"}]}}]}
    host.asked.answers["initialize"] = agents
    opened = await webhook({**START, "agent": "claude"})
    assert (await opened.check()).result == "ok"
    other = await host.open_connector("webhook", "other", {**START, "agent": "nobody"})
    assert (await other.check()).message == "This host has no agent nobody."
    assert all(connection.closed for connection in host.asked.connections)


@ensureDeferred
async def test_a_check_waits_until_the_host_listens(host):
    await host.apply()
    opened = await host.open_connector("webhook", "issues", TRIGGER)
    checking = Deferred.fromCoroutine(opened.check())
    assert not checking.called
    await host.listening()
    assert (await checking).result == "ok"
