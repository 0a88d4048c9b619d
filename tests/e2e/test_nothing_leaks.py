"""Secrets of every kind in a real daemon, whose plugin quotes them in all that it says.

Nothing is asked for here about where they come up: the kit looks at each frame, at what the daemon
prints, keeps and starts, whenever it is checked (`ahpd.testing.planted`).
"""

import json
import shutil
from pathlib import Path

import pytest
import pytest_twisted

import ahpd.testing.agents.calling as calling
from ahpd.client import ActionRefused
from ahpd.interfaces import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.planted import planted
from ahpd.testing.plugin_daemon import ask

HERE = Path(__file__).with_name("leaking_plugin.py")
LINES = f"-----BEGIN KEY-----\n{planted('line one')}\n{planted('line two')}\n-----END KEY-----\n"
STRIPE = 'a "quoted" \\ ' + planted("in the vault") + " with/odd?letters"

TEXT = {"type": "string"}
OPTIONS = {
    "type": "object",
    "properties": {
        "apiKey": {**TEXT, "writeOnly": True},
        "stripe": TEXT,
        "lines": TEXT,
        "read": TEXT,
        "exchanged": {**TEXT, "writeOnly": True},
        "handle": {**TEXT, "writeOnly": True},
        "env": {"type": "object", "additionalProperties": {**TEXT, "writeOnly": True}},
        "fails": {"type": "boolean"},
    },
}


def entry(folder, **options):
    return {
        "source": str(folder),
        "options": {
            "apiKey": planted("an option"),
            "stripe": {"$secret": "host:stripe"},
            "lines": {"$secret": "host:lines"},
            "read": {"fromEnv": "LEAKING_VARIABLE"},
            "exchanged": planted("what a sign-in came to"),
            "handle": planted("the handle of a device"),
            "env": {"TOKEN": planted("an option below another")},
            **options,
        },
    }


@pytest.fixture
def plugin(tmp_path):
    """Writes the plugin under an id; its folder."""

    def write(plugin):
        folder = tmp_path / plugin
        folder.mkdir()
        said = {"id": plugin, "main": "leaking/__init__.py", "optionsSchema": OPTIONS}
        (folder / "plugin.json").write_text(json.dumps(said))
        package = folder / "leaking"
        package.mkdir()
        shutil.copy(HERE, package / "__init__.py")
        shutil.copy(calling.__file__, package / "agent.py")
        return folder

    return write


@pytest.fixture
def daemon(make_daemon, plugin):
    leaking = plugin("leaking")
    failing = plugin("failing")
    made = make_daemon(
        "--port",
        "0",
        preset={
            "LEAKING_VARIABLE": planted("a variable"),
            "PIP_INDEX_URL": f"https://me:{planted('an index')}@127.0.0.1:9/simple",
            "PIP_RETRIES": "0",
        },
        settings={"plugins": [entry(leaking), entry(failing, fails=True)]},
    )
    made.net.may_hold.append(made.config / "config.json")
    for name, value in (
        ("host:stripe", STRIPE),
        ("host:lines", LINES),
        ("host:named-later", planted("read at use")),
    ):
        assert made.run("vault", "set", name, given=value).returncode == 0
    return made


async def connected(daemon, name):
    channels = [f"x-ahpd-{what}://" for what in ("plugins", "connectors", "agents", "tunnels")]
    return await daemon.connect(name, ROOT, *channels)


async def refused(probe, method, **params):
    with pytest.raises(RpcError) as error:
        await probe.call(method, {"channel": ROOT, **params})
    return error.value.message


def put(identifier, adapter="mail", owner="host", **config):
    return {"id": identifier, "adapter": adapter, "owner": owner, "config": config}


async def connectors(probe):
    send = lambda verb, **params: probe.call(  # noqa: E731
        f"x-ahpd/connectors/{verb}", {"channel": ROOT, **params}
    )
    for mode in ("fails", "raises", "answers"):
        key = planted(f"of the connector that {mode}")
        row = await send(
            "put",
            **put(mode, key=key, old=key + "-old", mode=mode, said={"fromEnv": "LEAKING_VARIABLE"}),
        )
        assert row["alerts"], row
        assert "<set>" in json.dumps(row["alerts"])
        assert row["config"]["key"] == {"$secret": f"host:connector/{mode}/key"}
    await send("disable", id="answers")
    await send("enable", id="answers")
    await refused(probe, "x-ahpd/connectors/put", **put("wrong", key=planted("refused"), mode=5))
    await refused(
        probe, "x-ahpd/connectors/put", **put("wrong", key={"$secret": planted("no name")})
    )
    # A sign-in by a code, which the vendor refuses once.
    begun = await send("signin", **put("pasted", "pasted"))
    failing = planted("a code that fails")
    words = await refused(
        probe, "x-ahpd/connectors/signin-finish", state=begun["state"], code=failing
    )
    assert words == "Pasted: the sign-in failed"
    begun = await send("signin", **put("pasted", "pasted"))
    code = planted("a code that works")
    row = await send("signin-finish", state=begun["state"], code=code)
    assert row["config"]["key"] == {"$secret": "host:connector/pasted/key"}
    # And on a device: the vendor fails its first poll.
    begun = await send("signin", **put("approved", "approved"))
    await refused(probe, "x-ahpd/connectors/signin-finish", state=begun["state"])
    begun = await send("signin", **put("approved", "approved"))
    row = await send("signin-finish", state=begun["state"])
    assert row["config"]["account"] == "ada"


async def agents(probe):
    for mode in ("fails", "raises", "works"):
        key = planted(f"of the agent that {mode}")
        row = await probe.call(
            "x-ahpd/agents/put",
            {
                "channel": ROOT,
                "id": f"agent-{mode}",
                "engine": "keyed",
                "owner": "host",
                "name": mode,
                "config": {"key": key, "mode": mode, "env": {"KEYED_TOKEN": key + "-env"}},
            },
        )
        assert row["state"] == ("ready" if mode == "works" else "failed")
    checked = await probe.call("x-ahpd/agents/check", {"channel": ROOT, "id": "agent-works"})
    assert "<set>" in json.dumps(checked["alerts"])


async def tunnels(probe):
    invoke = {"channel": "x-ahpd-tunnels://"}
    made = await probe.call(
        "x-ahpd/invokeOperation",
        {**invoke, "operationId": "dev/create", "input": {"key": planted("of a tunnel")}},
    )
    value = {"key": planted("of a tunnel that reports"), "mode": "reports"}
    row = await probe.call(
        "x-ahpd/invokeOperation", {**invoke, "operationId": "dev/create", "input": value}
    )
    assert (row["status"], "key" in row) == ("error", False)
    await refused(
        probe,
        "x-ahpd/invokeOperation",
        **{**invoke, "operationId": "dev/create"},
        input={"key": planted("of a tunnel that fails"), "mode": "fails"},
    )
    words = await refused(
        probe,
        "x-ahpd/invokeOperation",
        **{**invoke, "operationId": "dev/update"},
        target={"id": made["id"]},
        input={"key": planted("another of a tunnel")},
    )
    assert "<set>" in words


async def options(probe):
    """What a client sends for a plugin's options, one way and the other."""
    sent = {"apiKey": planted("sent by a client")}
    await probe.call(
        "x-ahpd/plugins/options",
        {"channel": ROOT, "id": "leaking", "key": "apiKey", "value": sent["apiKey"]},
    )
    pushed = {"type": "root/configChanged", "config": {"plugins.leaking": sent}}
    await probe.perform(ROOT, pushed)
    for plugin, wrong in (
        ("leaking", {"apiKey": planted("refused of an option"), "fails": "no"}),
        ("leaking", {"stripe": {"fromEnv": "HOME"}}),
        ("nobody", {"apiKey": planted("of no plugin")}),
    ):
        action = {"type": "root/configChanged", "config": {f"plugins.{plugin}": wrong}}
        with pytest.raises(ActionRefused):
            await probe.perform(ROOT, action)


async def installs(probe):
    words = await refused(probe, "x-ahpd/plugins/install", source="ahpd-no-such-plugin-at-all")
    assert words
    password = planted("of an address")
    for source in (
        f"https://me:{password}@127.0.0.1:9/y-1-py3-none-any.whl",
        f"https://127.0.0.1:9/y-1-py3-none-any.whl?token={password}",
        f"git+https://me:{password}@127.0.0.1:9/y",
        f"http://me:{password}@127.0.0.1:9/y.whl",
    ):
        await refused(probe, "x-ahpd/plugins/install", source=source)


async def works(daemon, probe, talk):
    """Everything of the plugin that is called while a host runs fails, and quotes."""
    chat = await talk(probe, provider="caller")
    await chat.say(json.dumps({"tool": "leak"}))
    await refused(probe, "x-leaking/fails")
    await refused(probe, "x-leaking/secret")
    answer = await ask(daemon, "GET", "/plugins/leaking/x")
    assert answer.status == 500
    assert b"planted" not in answer.body
    return chat


@pytest_twisted.ensureDeferred
async def test_no_secret_comes_up_anywhere(daemon, talk):
    await daemon.start()
    ann, bob = await connected(daemon, "ann"), await connected(daemon, "bob")
    rows = {row["id"]: row for row in ann.state("x-ahpd-plugins://")["rows"]}
    assert (rows["leaking"]["loaded"], rows["failing"]["loaded"]) == (True, False)
    assert "its apply failed" in rows["failing"]["problem"]
    await connectors(ann)
    await agents(ann)
    await tunnels(ann)
    await works(daemon, ann, talk)
    await options(ann)
    await installs(ann)
    await daemon.check()
    reload = {"channel": ROOT, "id": "leaking"}
    await ann.call("x-ahpd/plugins/reload", reload)
    await daemon.check()
    kept = (daemon.config / "vault.json").read_text()
    for purpose in ("of the agent that works", "a code that works", "what a sign-in came to"):
        assert (planted(purpose) in kept) is (purpose != "a code that works")
    await daemon.stop()
    exported = daemon.work / "sessions.ahpd"
    assert daemon.run("sessions", "export", str(exported)).returncode == 0
    assert exported.stat().st_size
    await daemon.start()
    late = await connected(daemon, "late")
    states = {row["id"]: row["state"] for row in late.state("x-ahpd-connectors://")["rows"]}
    assert states["fails"] == "failed"
    assert bob.failures == []
    await works(daemon, late, talk)
    await daemon.stop()
    for command in (
        ("plugin", "list"),
        ("plugin", "config", "leaking"),
        ("vault", "list"),
        ("doctor",),
    ):
        daemon.run(*command)
    assert daemon.run("sessions", "import", str(exported), "--skip-existing").returncode == 0
