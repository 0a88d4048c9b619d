"""The actions of adapters as tools that sessions call.

One tool serves every connector of an adapter; which of them a call uses is the session's to say,
by an alias. Source: PLUGINS.txt, "An action offered as a tool".
"""

import json
import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from twisted.internet.defer import CancelledError

from ahpd.calling import asked
from ahpd.connectors.adapters import action_of
from ahpd.connectors.bindings import SessionBindings
from ahpd.connectors.ground import Ground
from ahpd.connectors.keeping import Connectors
from ahpd.connectors.live import READY, Live, Opened
from ahpd.connectors.rules import Rules
from ahpd.interfaces import (
    ActionCall,
    Adapter,
    Capability,
    HostTool,
    Owned,
    ToolCallContext,
    ToolFailure,
)
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.shapes.tool_calls import ToolCallResult
from ahpd.schemas.striking import struck

#: The argument that names the account, where a session binds several.
ARGUMENT: Final = "connector"
_ALIAS_WORDS: Final = "Which account to use, by the name this session has for it."
_LONGEST_NAME: Final = 64
_NOT_IN_A_NAME: Final = re.compile(r"[^A-Za-z0-9_]")


def tool_name(adapter: str, action: str) -> str:
    """What a model calls an action by: `ap_resend_send_email`."""
    return _NOT_IN_A_NAME.sub("_", f"{adapter}_{action}")


class ActionTools:
    """The tools of the adapters there are. A tool is the same object while its adapter is."""

    def __init__(self, connectors: Connectors, rules: Rules, ground: Ground) -> None:
        self._connectors = connectors
        self._rules = rules
        self._ground = ground
        self._report = ground.report
        self._bindings = SessionBindings(ground.bindings)
        self._made: dict[str, tuple[Owned, HostTool]] = {}

    def use(self, adapters: Mapping[str, Owned]) -> bool:
        """Make the tools of these adapters; whether they are others than before. The second of
        two actions with one name is reported, as is one whose name is too long."""
        made: dict[str, tuple[Owned, HostTool]] = {}
        whose: dict[str, str] = {}
        for owned in adapters.values():
            adapter: Adapter = owned.value
            for action in adapter.capabilities:
                if action.type != "action" or adapter.run is None:
                    continue
                name = tool_name(adapter.name, action.name)
                what = f"action {action.name} of adapter {adapter.name}"
                if len(name) > _LONGEST_NAME:
                    words = f"{what} is no tool: {name} is longer than {_LONGEST_NAME}"
                    self._report(owned.plugin, words)
                elif name in made:
                    words = f"{what} is no tool: {name} is the {whose[name]}"
                    self._report(owned.plugin, words)
                else:
                    held = self._made.get(name)
                    stays = held is not None and held[0] == owned
                    made[name] = held if held and stays else (owned, self._tool(owned, action))
                    whose[name] = what
        moved = self._made != made
        self._made = made
        return moved

    @property
    def tools(self) -> Mapping[str, HostTool]:
        """The tools by name."""
        return {name: tool for name, (_, tool) in self._made.items()}

    def _tool(self, owned: Owned, action: Capability) -> HostTool:
        adapter: Adapter = owned.value
        schema: State = {"type": "object", "properties": {}, **(action.input or {})}
        definition: State = {
            "name": tool_name(adapter.name, action.name),
            "title": action.title,
            "description": action.description or action.title,
            "inputSchema": schema,
        }
        return HostTool(
            definition=definition,
            run=partial(self._run, adapter.name, action),
            for_session=partial(self._seen, adapter.name, definition),
        )

    # -- as a session sees it --------------------------------------------------------------

    def _seen(
        self, adapter: str, definition: State, session: str, config: Mapping[str, Any]
    ) -> State | None:
        bound = self._bindings.of(session, config, adapter)
        if len(bound) < 2:
            return definition if bound else None
        schema: State = definition["inputSchema"]
        alias = {"type": "string", "enum": sorted(bound), "description": _ALIAS_WORDS}
        required = [name for name in schema.get("required") or () if name != ARGUMENT]
        return {
            **definition,
            "inputSchema": {
                **schema,
                "properties": {**(schema.get("properties") or {}), ARGUMENT: alias},
                "required": [ARGUMENT, *required],
            },
        }

    # -- a call ------------------------------------------------------------------------

    async def _run(
        self,
        adapter: str,
        action: Capability,
        given: Mapping[str, Any],
        context: ToolCallContext,
    ) -> "str | State":
        config = self._ground.session_config(context.session)
        bound = self._bindings.of(context.session, config, adapter)
        alias, arguments = _alias(bound, action, given)
        await self._connectors.settled(bound[alias])
        live, opened = self._checked(alias, bound[alias], adapter, action.name, context.session)
        run = opened.adapter.run
        assert run is not None, "an action without a run was let through"
        call = ActionCall(
            files=self._ground.files(context.session),
            set_content=self._ground.produced(context),
        )
        try:
            answer = await asked(run, opened.connector, action.name, arguments, call)
            told = _told(answer)
        except CancelledError:
            raise
        except Exception as failed:
            words = struck(failed, opened.secrets) or type(failed).__name__
            if live.opened is opened:
                live.called(words)
            raise ToolFailure(f"{alias}: {_unnamed(words, live.id, alias)}") from None
        if live.opened is opened:
            live.called(None)
        return told

    def _checked(
        self, alias: str, identifier: str, adapter: str, action: str, session: str
    ) -> tuple[Live, Opened]:
        """The connector behind an alias, once everything is asked again. Raises `ToolFailure`."""
        live = self._connectors.lives.get(identifier)
        if live is None:
            raise ToolFailure(f"{alias}: the connector is gone")
        opened = live.opened
        if live.record["adapter"] != adapter:
            raise ToolFailure(f"{alias}: it is no connector of {adapter} any more")
        if opened is None or live.state != READY:
            raise ToolFailure(f"{alias}: the connector is not ready ({live.state})")
        if action_of(opened.adapter, action) is None:
            raise ToolFailure(f"{alias}: its adapter has no action {action} any more")
        owner = self._ground.session_owner(session)
        refused = self._rules.session_may_not(owner, live.owner)
        if refused is not None:
            raise ToolFailure(f"{alias}: {refused}")
        return live, opened


def _alias(
    bound: Mapping[str, str], action: Capability, given: Mapping[str, Any]
) -> tuple[str, Mapping[str, Any]]:
    """The alias a call is for, and the arguments without it. Raises `ToolFailure`.

    A model that was shown an older list may name an alias where one is enough: it is held to it.
    """
    own = ARGUMENT in ((action.input or {}).get("properties") or {})
    named = given.get(ARGUMENT)
    if len(bound) == 1 and (own or ARGUMENT not in given):
        return next(iter(bound)), given
    arguments = {name: value for name, value in given.items() if name != ARGUMENT}
    if isinstance(named, str) and named in bound:
        return named, arguments
    if isinstance(named, str):
        raise ToolFailure(f"{named[:40]}: this session has no connector by that name")
    if not bound:
        raise ToolFailure("this session has no connector that this tool could use any more")
    raise ToolFailure(f"{ARGUMENT} is needed: one of {', '.join(sorted(bound))}")


def _told(answer: Any) -> "str | State":
    """What an action answered, as a tool answers it: a text, a ToolCallResult, or its JSON."""
    if isinstance(answer, str):
        return answer
    if isinstance(answer, Mapping):
        try:
            check_strict(dict(answer), ToolCallResult, "the answer")
            return dict(answer)
        except ShapeError:
            pass
    return json.dumps(_plain(answer), ensure_ascii=False)


def _plain(answer: Any) -> Any:
    if isinstance(answer, Mapping):
        return {str(key): _plain(value) for key, value in answer.items()}
    if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
        return [_plain(value) for value in answer]
    return answer


def _unnamed(words: str, identifier: str, alias: str) -> str:
    """`words` with the connector's id, where it stands on its own, as its alias."""
    at_edges = rf"(?<![\w-]){re.escape(identifier)}(?![\w-])"
    return re.sub(at_edges, lambda _: alias, words)
