"""Which tools there are, which of them a session is offered, and how one is run.

Sources: PLUGINS.txt, "What a tool says about itself"; AHP.txt, `session/serverToolsChanged`.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import CancelledError
from twisted.logger import Logger

from ahpd.calling import asked, called
from ahpd.interfaces import (
    HostTool,
    Refusal,
    RpcError,
    StoreFailure,
    ToolCallContext,
    ToolEffects,
    ToolFailure,
)
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.errors import shortened
from ahpd.protocol.read_only import read_only
from ahpd.protocol.shapes.tools import ToolDefinition
from ahpd.tools.answers import bounded, failed, succeeded
from ahpd.tools.arguments import WrongArguments, checked
from ahpd.tools.running import Calls
from ahpd.whose_code import lines_of, place_words

log = Logger()

#: What a model can call, whatever its vendor.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

_GONE: Final = "The session this call was made in is gone."
_UNLOADED: Final = "The tool {tool} is gone: this host offers it no more."
_STOPPING: Final = "The host is shutting down."


def permits(setting: Any, name: str) -> bool:
    """Whether `advancedTools` lets a session have the advanced tool `name`.

    The setting is true for all of them or a list of names; anything else permits none.
    """
    if isinstance(setting, Collection) and not isinstance(setting, str):
        return name in setting
    return setting is True


def check_tool(tool: HostTool) -> None:
    """Raises `ValueError` for a tool whose definition is none, or that no model could call."""
    check_strict(tool.definition, ToolDefinition, "its definition")
    if _NAME.fullmatch(tool.name) is None:
        raise ValueError(
            f"{tool.name[:100]!r} is no tool's name: 1 to 64 letters, digits, _ and - are"
        )


class ToolRegistry:
    """The tools of one host by their names, in the order they were registered.

    `advanced()` is the value of `advancedTools` now (`permits`). `listed(session)` are the names
    of the tools a session lists now (its `serverTools`), None for all this host offers: one a
    session does not list is not run for it. `configured(session)` are the values of a session's
    configuration. `changed` is called whenever `definitions` or `offered` answer otherwise than
    before because of the tools there are, once somebody sets it.
    """

    def __init__(
        self,
        tools: Iterable[HostTool] = (),
        *,
        advanced: Callable[[], Any] = lambda: False,
        listed: Callable[[str], Collection[str] | None] = lambda session: None,
        configured: Callable[[str], Mapping[str, Any]] = lambda session: {},
    ) -> None:
        self._advanced = advanced
        self._listed = listed
        self._configured = configured
        self._tools: dict[str, HostTool] = {}
        self._sources: dict[str, dict[str, HostTool]] = {}
        """What each source of `replace` has among them."""
        self._calls = Calls()
        self._stopping = False
        self.changed: Callable[[], None] = lambda: None
        for tool in tools:
            self.register(tool)

    # -- which there are ------------------------------------------------------------

    def register(self, tool: HostTool) -> None:
        """Offer one more. Raises `ValueError` for a name in use, and for a definition that is none."""
        self._add(tool)
        self.changed()

    def unregister(self, name: str) -> None:
        """Offer it no more; calls of it that run go on. One nobody registered is no error."""
        if self._tools.pop(name, None) is not None:
            self.changed()

    def replace(self, source: str, tools: Mapping[str, HostTool]) -> list[str]:
        """Offer the tools of `source` (`connectors`), by name, in place of those it had before.

        Calls of one it has no more are over, whoever has its name now. Answers a line for each that is not offered: its name is in use, its definition is none.
        """
        before = dict(self._tools)
        had = self._sources.pop(source, {})
        for name, tool in had.items():
            if tools.get(name) is not tool:
                del self._tools[name]
        kept: dict[str, HostTool] = {}
        problems = []
        for name, tool in tools.items():
            try:
                if had.get(name) is not tool:
                    self._add(tool)
                kept[name] = tool
            except ValueError as wrong:
                problems.append(f"the tool {shortened(name)} is left out: {wrong}")
        self._sources[source] = kept
        for name, tool in had.items():
            if kept.get(name) is not tool:
                self._calls.give_up_tool(name, _UNLOADED.format(tool=shortened(name)))
        if list(self._tools.items()) != list(before.items()):
            self.changed()
        return problems

    def _add(self, tool: HostTool) -> None:
        check_tool(tool)
        name = tool.name
        if name in self._tools:
            raise ValueError(f"a tool named {name} is registered already")
        self._tools[name] = tool

    def definitions(self, session: str | None = None) -> list[State]:
        """What sessions are offered (schema: ToolDefinition), advanced ones where they may be.

        Of one session what it lists; of none in particular those that all of them are offered.
        """
        if session is None:
            return [tool.definition for tool in self._offered(None) if tool.for_session is None]
        return self._seen(self._offered(session), session, self._configured(session))

    def offered(self, session: str, config: Mapping[str, Any]) -> list[State]:
        """What a session with these values of its configuration may list (schema: ToolDefinition).

        The session need not be known to anybody: this is asked while one is made.
        """
        return self._seen(self._offered(None), session, config)

    def instructions(self, session: str) -> str | None:
        """What the tools that session lists have a model told, joined; None for nothing."""
        config = read_only(self._configured(session))
        told = [
            tool.instructions
            for tool in self._offered(session)
            if tool.instructions and _definition(tool, session, config) is not None
        ]
        return "\n\n".join(told) or None

    def effects(self, name: str) -> ToolEffects | None:
        """What a tool says of itself; None for a name nobody has."""
        tool = self._tools.get(name)
        return None if tool is None else tool.effects

    def _offered(self, session: str | None) -> Sequence[HostTool]:
        setting = self._advanced()
        listed = None if session is None else self._listed(session)
        return [
            tool
            for tool in self._tools.values()
            if (not tool.advanced or permits(setting, tool.name))
            and (listed is None or tool.name in listed)
        ]

    @staticmethod
    def _seen(tools: Iterable[HostTool], session: str, config: Mapping[str, Any]) -> list[State]:
        """`tools` as a session sees them, those it is offered."""
        config = read_only(config)
        seen = (_definition(tool, session, config) for tool in tools)
        return [definition for definition in seen if definition is not None]

    def _found(self, name: str, session: str) -> HostTool | None:
        tool = self._tools.get(name)
        if tool is None or (tool.advanced and not permits(self._advanced(), name)):
            return None
        listed = self._listed(session)
        return tool if listed is None or name in listed else None

    # -- running one ------------------------------------------------------------------

    async def run(self, name: str, arguments: Mapping[str, Any], context: ToolCallContext) -> State:
        """See `IOffers.run_tool`. Cancelled with whoever waits for it, and with its session."""
        if self._stopping:
            return failed(_STOPPING)
        return await self._calls.run(context.session, name, self._run(name, arguments, context))

    def session_gone(self, session: str) -> None:
        """The session is disposed of: its calls are over."""
        self._calls.give_up(session, _GONE)

    def stop(self) -> None:
        """The host is going: every call is over, and none begins."""
        self._stopping = True
        self._calls.give_up_all(_STOPPING)

    async def _run(self, name: str, arguments: Any, context: ToolCallContext) -> State:
        try:
            result: State = await asked(self._came_to, name, arguments, context)
        except (WrongArguments, ToolFailure) as words:
            return failed(str(words))
        except RpcError as error:
            return failed(error.message)
        except Refusal as refusal:
            return failed(refusal.reason)
        except StoreFailure as failure:
            return failed(f"It could not be saved: {failure}")
        except CancelledError:
            raise
        except Exception as broken:
            _log(name, context, broken)
            return failed(f"The tool {shortened(str(name))} failed; the host's log says why.")
        return result

    async def _came_to(self, name: str, arguments: Any, context: ToolCallContext) -> State:
        tool = self._found(name, context.session)
        if tool is None:
            return failed(f"This host has no tool named {shortened(name)} for this session.")
        # What a session is offered no more has no schema: the tool says why not.
        config = read_only(self._configured(context.session))
        seen = _definition(tool, context.session, config) or {}
        given = checked(name, seen.get("inputSchema"), arguments)
        answer = await tool.run(given, context)
        if isinstance(answer, str):
            answer = succeeded(tool.definition.get("title") or name, answer)
        return bounded(answer)


def _definition(tool: HostTool, session: str, config: Mapping[str, Any]) -> State | None:
    """A tool as a session sees it; None for one it is not offered, or that could not say.

    `config` is nothing a tool can write to: what a session is configured with is its grants.
    """
    if tool.for_session is None:
        return tool.definition
    try:
        seen: State | None = called(tool.for_session, session, config)
    except Exception as broken:
        log.error(
            "the tool {name} does not say what {session} is offered: {kind}: {error}",
            name=tool.name,
            session=session,
            kind=type(broken).__name__,
            error=shortened(str(broken)),
        )
        return None
    return seen


def _log(name: Any, context: ToolCallContext, broken: Exception) -> None:
    # The words of what a tool raised are its own, and may be as long as what it was given.
    words = str(broken) if isinstance(broken, ShapeError) else shortened(str(broken))
    log.error(
        "call {call} of the tool {name} in {chat} failed: {kind}: {error}{place}",
        call=context.tool_call_id,
        name=name,
        chat=context.chat,
        kind=type(broken).__name__,
        error=words,
        place=place_words(lines_of(broken)),
    )
