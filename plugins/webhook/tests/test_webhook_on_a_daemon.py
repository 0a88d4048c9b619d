"""The plugin as people have it: installed in a daemon, put in a client, called over HTTP."""

import json
from pathlib import Path

from pytest_twisted import ensureDeferred

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon
from ahpd.testing.planted import planted
from ahpd.testing.plugin_daemon import CallerChat, ask, install_plugin, tool_caller

SOURCE = Path(__file__).parent.parent
SECRET = planted("the secret of an endpoint")
CONNECTORS = "x-ahpd-connectors://"


def daemon_of(reactor, tmp_path):
    site = install_plugin(SOURCE, tmp_path / "site")
    caller = tool_caller(tmp_path / "caller")
    daemon = Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings={"plugins": ["ahpd-webhook", caller]},
        preset={"PYTHONPATH": str(site)},
    )
    daemon.secrets.append(SECRET)
    return daemon


async def put(client, identifier, **config):
    """Make a webhook; its row."""
    record = {"id": identifier, "adapter": "webhook", "owner": "host"}
    return await client.call("x-ahpd/connectors/put", {**record, "config": config})


async def call(daemon, identifier, body=b"hello", secret=SECRET, **headers):
    given = {"Authorization": f"Bearer {secret}", "Content-Type": "text/plain", **headers}
    return await ask(daemon, "POST", f"/plugins/webhook/{identifier}", body, given)


async def turns_of(client, session):
    """What was said in the default chat of a session, once its first turn ended."""
    await client.subscribe(session)
    chat = client.state(session)["defaultChat"]
    await client.subscribe(chat)
    await client.wait_for(lambda: client.state(chat)["turns"], PATIENCE, "a turn")
    return client.plain_state(chat)["turns"]


@ensureDeferred
async def test_a_call_starts_a_session_that_clients_see(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        row = await put(
            ann,
            "issues",
            secret=SECRET,
            target="start",
            agent="caller",
            title="From outside",
            prompt="An issue: {{json.title}}",
        )
        assert (row["state"], row.get("alerts", [])) == ("ready", [])
        assert SECRET not in json.dumps(row)
        kept = (daemon.config / "connectors" / "issues.json").read_text()
        assert SECRET not in kept

        assert (await call(daemon, "issues", b"{", "wrong-secret-of-16")).status == 401
        assert (await call(daemon, "nobody")).status == 401
        assert (
            await call(daemon, "issues", b"{", **{"Content-Type": "application/json"})
        ).status == 400
        assert (await call(daemon, "issues", b"x" * 300_000)).status == 413
        answer = await call(
            daemon,
            "issues",
            b'{"title": "It is slow"}',
            **{"Content-Type": "application/json", "Idempotency-Key": "one"},
        )
        assert answer.status == 202
        again = await call(
            daemon,
            "issues",
            b'{"title": "It is slow"}',
            **{"Content-Type": "application/json", "Idempotency-Key": "one"},
        )
        assert again.json() == answer.json()
        session = answer.json()["session"]
        (turn,) = await turns_of(ann, session)
        assert turn["message"]["text"] == "An issue: It is slow"
        assert turn["state"] == "complete"
        assert ann.state(session)["title"] == "From outside"
        listed = await ann.request("listSessions", channel=ROOT)
        assert [one["resource"] for one in listed["items"]] == [session]

        watched = await ann.call("subscribe", {"channel": CONNECTORS})
        (row,) = watched["snapshot"]["state"]["rows"]
        assert row["views"]["main"]["dataModel"]["calls"] == 1
        assert session in row["views"]["main"]["dataModel"]["outcome"]

        await ann.call("x-ahpd/connectors/remove", {"id": "issues"})
        assert (await call(daemon, "issues")).status == 401


@ensureDeferred
async def test_a_call_is_a_message_in_a_session_that_is_there(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        row = await put(ann, "lost", secret=SECRET, target="message", session="ahp-session:/no")
        assert [one["text"] for one in row["alerts"]] == ["There is no session ahp-session:/no."]
        failed = await call(daemon, "lost")
        assert failed.status == 503
        assert failed.json()["error"].startswith("nothing was started: ")

        chat = await CallerChat.begin(ann)
        await chat.say("hello")
        row = await put(ann, "news", secret=SECRET, target="message", session=chat.session)
        assert row.get("alerts", []) == []
        answer = await call(daemon, "news", b"it is done")
        assert answer.status == 202, answer.body
        assert answer.json() == {"session": chat.session, "chat": chat.chat}
        await ann.wait_for(
            lambda: len(ann.state(chat.chat)["turns"]) == 2, PATIENCE, "the second turn"
        )
        last = ann.plain_state(chat.chat)["turns"][-1]
        assert last["message"]["text"] == "it is done"


@ensureDeferred
async def test_a_call_fires_a_trigger_on_a_host_that_runs_no_automations(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        await put(ann, "deploys", secret=SECRET, target="trigger")
        answer = await call(daemon, "deploys", b"failed")
        assert (answer.status, answer.json()) == (202, {"fired": "webhook/called"})


@ensureDeferred
async def test_a_webhook_answers_again_after_a_restart(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        await put(ann, "deploys", secret=SECRET, target="trigger")
        await daemon.stop()
        daemon.clients.clear()
        await daemon.start()
        ann = await daemon.connect("ann", ROOT)
        # A host that listens reads its connectors meanwhile; whoever asks for them waits for that.
        await ann.call("x-ahpd/connectors/check", {"id": "deploys"})
        assert (await call(daemon, "deploys")).status == 202
        await ann.call("x-ahpd/plugins/disable", {"id": "webhook"})
        assert (await call(daemon, "deploys")).status == 404
