"""Webhooks: each is a connector with a URL of its own, and other programs call it.

    POST /plugins/webhook/<id>
    Authorization: Bearer <the connector's secret>

A call starts a session, writes to one or fires automations, as its connector says; the answer is
202 with what was started. Nothing stands between a route and the public internet, so a call is held
to its secret before anything else of it is looked at.
"""

import hmac
import secrets
from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred

from ahpd.interfaces import (
    Adapter,
    Capability,
    Check,
    ClientGone,
    Connector,
    IPluginContext,
    IPluginHost,
    IViewHandle,
    PluginError,
    Request,
    Response,
    RpcError,
    SessionRequest,
    TriggerType,
    json_response,
)
from ahpd.protocol.errors import session_not_found
from ahpd_webhook.bodies import Refused, read_body
from ahpd_webhook.config import SCHEMA, Endpoint, Message, Start, Trigger, endpoint_of
from ahpd_webhook.repeats import Repeats
from ahpd_webhook.shown import Shown
from ahpd_webhook.writing import write

_TRIGGER: Final = "webhook"
_CALLED: Final = "called"
#: Bytes of a body that go on with an event: it is kept with each run it starts.
_MOST_OF_A_BODY: Final = 16 * 1024


@attrs.define(eq=False)
class _Open:
    """A webhook that answers."""

    endpoint: Endpoint
    shown: Shown
    repeats: Repeats


class Webhooks:
    """The webhooks that are open, by their connector's id."""

    def __init__(self, host: IPluginHost, options: Mapping[str, Any]) -> None:
        self._host = host
        self._largest = options["largestBody"]
        self._remember = options["remember"]
        self._path = f"/plugins/{host.id}/"
        self._open: dict[str, _Open] = {}
        # What a call to no webhook is compared with: it takes as long, and never fits.
        self._nobodys = (secrets.token_bytes(32),)
        self._listening = False
        self._waiting: list[Deferred[None]] = []

    # -- the adapter ------------------------------------------------------------------------

    def open(self, connector: Connector, view: IViewHandle) -> Callable[[], None]:
        """Answer for a connector from now on; what stops it. Raises `ValueError`."""
        endpoint = endpoint_of(connector, self._host.host_name)
        opened = _Open(
            endpoint,
            Shown(self._host, view, connector.id),
            Repeats(self._host.reactor, self._remember),
        )
        self._open[connector.id] = opened

        def close() -> None:
            opened.shown.close()
            if self._open.get(connector.id) is opened:
                del self._open[connector.id]

        return close

    async def check(self, connector: Connector) -> Check:
        """Whether a call would reach anything. A host bounds this to ten seconds."""
        await self._until_listening()
        target = endpoint_of(connector, self._host.host_name).target
        if isinstance(target, Message) and not await self._reaches(target):
            return Check(result="failed", message=f"There is no session {target.session}.")
        if isinstance(target, Start) and target.agent is not None:
            return await self._check_agent(target.agent)
        return Check(result="ok")

    async def _reaches(self, target: Message) -> bool:
        """Whether a session is there for whoever a webhook belongs to.

        The plugin's own connection may write to every session: that a person's webhook writes to
        theirs alone is the plugin's to see to.
        """
        if not await self._host.session_kept(target.session):
            return False
        if target.owner.startswith("root:"):
            return True
        return await self._host.session_owner(target.session) in (None, target.owner)

    async def _check_agent(self, agent: str) -> Check:
        connection = self._host.connect()
        try:
            answer = await connection.request(
                "initialize",
                {
                    "channel": "ahp-root://",
                    "clientId": f"webhook-check-{secrets.token_hex(8)}",
                    "protocolVersions": ["1.0.0"],
                    "initialSubscriptions": ["ahp-root://"],
                },
            )
        finally:
            connection.close()
        (root,) = answer["snapshots"]
        if agent in (one["provider"] for one in root["state"]["agents"]):
            return Check(result="ok")
        return Check(result="failed", message=f"This host has no agent {agent}.")

    def listening(self, event: Mapping[str, Any], context: IPluginContext) -> None:
        """There is a host to ask from now on."""
        self._listening = True
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    async def _until_listening(self) -> None:
        """Connectors are opened, and checked, before the host listens."""
        if not self._listening:
            self._waiting.append(listening := Deferred[None]())
            await listening

    # -- the route --------------------------------------------------------------------------

    async def serve(self, request: Request) -> Response:
        """One call."""
        opened = self._open.get(request.path.removeprefix(self._path))
        try:
            self._let_in(request, opened)
            assert opened is not None, "nobody is let in where nothing is"
            if request.method != "POST":
                raise Refused(405, "call with POST", (("Allow", "POST"),))
            value = read_body(request, self._largest)
            return await opened.repeats.once(request, lambda: self._do(opened, request, value))
        except Refused as refused:
            return refused.response

    def _let_in(self, request: Request, opened: _Open | None) -> None:
        """Raise `Refused` for a call without the secret.

        A URL that is none is answered as a secret that is none: nobody learns which there are.
        """
        given = _bearer(request)
        known = self._nobodys if opened is None else opened.endpoint.secrets
        # Each is compared, and in a time that does not tell how much of it was right.
        fits = [hmac.compare_digest(given, secret) for secret in known]
        if any(fits) and opened is not None:
            return
        if opened is not None:
            opened.shown.refused()
        raise Refused(
            401, "call with the secret as a bearer token", (("WWW-Authenticate", "Bearer"),)
        )

    async def _do(self, opened: _Open, request: Request, value: Any) -> Response:
        try:
            started = await self._start(opened.endpoint, request, value)
        except ValueError as wrong:
            raise Refused(400, str(wrong)) from None
        except (RpcError, PluginError, ClientGone) as failed:
            # These are words for people: whoever called is told, and whoever runs the host.
            opened.shown.failed(str(failed))
            raise Refused(503, f"nothing was started: {failed}") from None
        opened.shown.done(", ".join(f"{what} {name}" for what, name in started.items()))
        return json_response(202, started)

    async def _start(self, endpoint: Endpoint, request: Request, value: Any) -> Mapping[str, str]:
        """Do what a webhook is for; what was started, by what it is."""
        target = endpoint.target
        if isinstance(target, Trigger):
            self._fire(endpoint.id, target, request, value)
            return {"fired": f"{_TRIGGER}/{_CALLED}"}
        prompt = target.prompt.filled(request, value)
        if isinstance(target, Message):
            if not await self._reaches(target):
                raise session_not_found(target.session)
            chat = await write(self._host, target.session, prompt)
            return {"session": target.session, "chat": chat}
        session = await self._host.start_session(
            SessionRequest(
                owner=target.owner,
                provider=target.agent,
                working_directory=target.working_directory,
                title=target.title,
                prompt=prompt,
            )
        )
        return {"session": session}

    def _fire(self, connector: str, target: Trigger, request: Request, value: Any) -> None:
        # The connector is in every event: a trigger saved with one is woken by that one alone.
        data: dict[str, Any] = {"connector": connector}
        if len(request.body) <= _MOST_OF_A_BODY:
            data["body"] = value
        self._host.fire_trigger(_TRIGGER, _CALLED, data, target.owner)


def apply(host: IPluginHost, options: dict[str, Any]) -> None:
    """Register the adapter, its trigger type and the route of its URLs."""
    webhooks = Webhooks(host, options)
    host.register_adapter(
        Adapter(
            name="webhook",
            title="Webhook",
            description="A URL that starts sessions, writes to one or fires automations.",
            schema=SCHEMA,
            capabilities=(
                Capability(
                    type="receive",
                    name="calls",
                    title="Receives calls",
                    description="Answers a POST to its URL.",
                    path=f"/plugins/{host.id}/{{id}}",
                ),
                Capability(type="view", name="main", title="Last call"),
            ),
            open=webhooks.open,
            check=webhooks.check,
        )
    )
    host.register_trigger_type(
        TriggerType(
            type=_TRIGGER,
            title="Webhook",
            description="Another program called a webhook of this host.",
            events=({"id": _CALLED, "title": "A webhook was called"},),
            config_schema={
                "type": "object",
                "properties": {
                    "connector": {
                        "type": "string",
                        "title": "Webhook",
                        "description": "The one that is called; any where it is empty.",
                        # Clients offer the connectors of this adapter.
                        "x-ahpd-connector": "webhook",
                    }
                },
            },
        )
    )
    host.register_route(webhooks.serve)
    host.on("listening", webhooks.listening)


def _bearer(request: Request) -> bytes:
    """The token a call brings; empty for none, and for more than one."""
    values = request.headers.get("authorization", ())
    kind, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token.strip().encode("latin-1", "replace") if kind.lower() == "bearer" else b""
