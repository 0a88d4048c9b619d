"""A plugin that knows secrets of every kind and quotes them in all that it says.

It is copied into a folder of its own and loaded by a daemon; what it is handed is in its options,
its connectors, its agents and its tunnels.
"""

import json

from twisted.application.service import Service
from zope.interface import implementer

from ahpd.interfaces import (
    Adapter,
    Alert,
    Capability,
    Check,
    CodeSignIn,
    DeviceCode,
    DeviceSignIn,
    HostTool,
    Method,
    ToolEffects,
    TunnelKind,
    TunnelReport,
)
from ahpd.interfaces.agents import Finding
from ahpd.interfaces.engines import IEngine, RecordFailure

from .agent import CallingAgent

SCHEMA = {
    "type": "object",
    "properties": {
        "key": {"type": "string", "secret": True},
        "old": {"type": "string", "writeOnly": True},
        "said": {"type": "string"},
        "account": {"type": "string"},
        "mode": {"type": "string"},
    },
    "required": ["key"],
}


def quoted(config):
    """All of a config as errors hold it: as it is, as JSON, as Python and in a URL."""
    from urllib.parse import quote

    whole = json.dumps(dict(config))
    return f"{dict(config)!r} {whole} https://x/?key={quote(str(config.get('key')), safe='')}"


class Mail:
    """The adapter of a key: what it does is in `mode`."""

    def open(self, connector, view):
        if connector.config.get("mode") == "fails":
            raise ValueError(quoted(connector.config))

        def stop():
            raise ValueError(quoted(connector.config))

        return stop

    async def check(self, connector):
        if connector.config.get("mode") == "raises":
            raise ValueError(quoted(connector.config))
        return Check(result="denied", message=f"denied: {quoted(connector.config)}")

    async def run(self, connector, action, given, call):
        raise ValueError(quoted(connector.config))

    async def models(self, connector):
        raise ValueError(quoted(connector.config))


@implementer(IEngine)
class Keyed:
    """An engine whose agents have keys."""

    name = "keyed"
    title = "Keyed"
    description = "Knows keys."
    host_only = ()
    key_variables = ("KEYED_TOKEN",)

    def schema(self):
        env = {"type": "object", "additionalProperties": {"type": "string"}}
        return {"type": "object", "properties": {**SCHEMA["properties"], "env": env}}

    def templates(self):
        return ()

    def open(self, record, ports):
        if record.config.get("mode") == "fails":
            raise RecordFailure(quoted(record.config) + quoted(record.config["env"]))
        if record.config.get("mode") == "raises":
            raise ValueError(quoted(record.config) + quoted(record.config["env"]))
        return CallingAgent(record.id)

    async def check(self, record, ports):
        return (Finding(about="agent", ok=False, words=quoted(record.config)),)


class Tunnels:
    """A kind of tunnel with a token."""

    async def create(self, tunnel, report):
        if tunnel.settings.get("mode") == "reports":
            report(TunnelReport(status="error", error=quoted(tunnel.settings)))
        if tunnel.settings.get("mode") == "fails":
            raise ValueError(quoted(tunnel.settings))

    async def remove(self, tunnel):
        raise ValueError(quoted(tunnel.settings))


def apply(host, options):
    host.log(f"it begins with {options!r}")
    host.alert(Alert(level="warning", text=f"it has {options['apiKey']}", ref="x"))
    host.problem(f"it has {options['read']}")
    if options.get("fails"):
        raise ValueError(f"it fails with {options!r}")
    mail = Mail()
    action = {"type": "action", "name": "send", "title": "Send", "input": {"type": "object"}}
    host.register_adapter(
        Adapter(
            name="mail",
            title="Mail",
            schema=SCHEMA,
            capabilities=(Capability(**action),),
            open=mail.open,
            check=mail.check,
            run=mail.run,
            models=mail.models,
        )
    )
    signed(host, options)
    host.register_engine(Keyed())
    kind = Tunnels()
    host.register_tunnel_kind(
        TunnelKind(name="dev", title="Dev", schema=SCHEMA, create=kind.create, remove=kind.remove)
    )
    raises(host, options)


def signed(host, options):
    """Two adapters that people sign in to. What they exchange is in the plugin's options."""
    polls = []

    async def exchange(code, verifier):
        if "fails" in code:
            raise ValueError(f"the vendor was sent {code} and {verifier}")
        return options["exchanged"]

    async def start():
        return DeviceCode(
            code="ABCD",
            url="https://x/device",
            expires=600.0,
            interval=1.0,
            handle=options["handle"],
        )

    async def poll(handle):
        polls.append(handle)
        if len(polls) == 1:
            raise ValueError(f"the vendor does not know {handle}")
        return {"key": options["exchanged"], "account": "ada"}

    code = CodeSignIn(
        title="Sign in",
        field="key",
        url=lambda challenge, state: f"https://x/?c={challenge}",
        exchange=exchange,
    )
    device = DeviceSignIn(title="Sign in", field="key", start=start, poll=poll, account="account")
    for name, sign_in in (("pasted", code), ("approved", device)):
        mail = Mail()
        host.register_adapter(
            Adapter(
                name=name,
                title=name.title(),
                schema=SCHEMA,
                open=mail.open,
                check=mail.check,
                sign_in=sign_in,
            )
        )


def raises(host, options):
    """Everything that a host calls, each of which quotes what the plugin knows."""

    def fail(*_):
        raise ValueError(f"it knows {options!r}, and {options['lines']}")

    async def fail_later(*_):
        fail()

    class Fails(Service):
        def startService(self):
            fail()

    async def secret(params, caller):
        raise ValueError(await host.secret("host:named-later"))

    host.register_agent(CallingAgent("caller"))
    host.register_tool(
        HostTool(
            definition={"name": "leak", "description": "Leaks.", "inputSchema": {"type": "object"}},
            run=fail_later,
            effects=ToolEffects(reads=True),
        )
    )
    host.register_route(fail_later)
    host.register_service(Fails())
    host.register_close(fail)
    host.register_method("x-leaking/fails", Method(grant="", handle=fail))
    host.register_method("x-leaking/secret", Method(grant="", handle=secret))
    host.register_session_meta("leaking", fail)
    for event in ("session_start", "turn_end", "listening", "stopping", "message"):
        host.on(event, fail)
