"""The tools of one session, as the loop meets them."""

import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from ahpd.interfaces import EnginePorts, Permission, ToolEffects
from ahpd.protocol import State
from ahpd_agent_openai.tools.base import shown_input
from ahpd_agent_openai.tools.children import shell_path
from ahpd_agent_openai.tools.files import Files
from ahpd_agent_openai.tools.listing import ListFiles
from ahpd_agent_openai.tools.memory import MemoryRead, MemoryWrite, Notes, slug
from ahpd_agent_openai.tools.paths import Workspace
from ahpd_agent_openai.tools.reading import ReadFile
from ahpd_agent_openai.tools.search import SearchFiles
from ahpd_agent_openai.tools.shell import (
    PipeRunner,
    Runner,
    ShellExec,
    TerminalRunner,
    environment,
)
from ahpd_agent_openai.tools.switches import Switches
from ahpd_agent_openai.tools.values import (
    CallContext,
    Described,
    ITool,
    ToolOutcome,
    ToolProblem,
    failed,
)
from ahpd_agent_openai.tools.writing import EditFile, WriteFile

log = Logger()


class ToolBox:
    """What a session's model may call. `shell` is among `tools` where there is one."""

    def __init__(
        self,
        tools: Iterable[ITool],
        *,
        notes: Notes | None = None,
        shell: ShellExec | None = None,
        run_blocking: Callable[..., Awaitable[Any]] | None = None,
    ) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._notes = notes
        self._shell = shell
        self._run_blocking = run_blocking
        self._told: str | None = None
        self._running: set[Deferred[Any]] = set()
        self._closed = False

    @property
    def names(self) -> Sequence[str]:
        """What the tools are called."""
        return tuple(self._tools)

    def definitions(self) -> list[State]:
        """The tools as a model is offered them (OpenAI function tools)."""
        return [tool.definition() for tool in self._tools.values()]

    def describe(self, name: str, arguments: Any) -> Described:
        """What a call would do. Never raises: what is wrong with it is its `problem`."""
        tool = self._tools.get(name)
        if tool is None:
            return self._unknown(name, arguments)
        try:
            return tool.described(tool.checked(arguments))
        except ToolProblem as problem:
            return Described(
                display_name=tool.title,
                invocation_message=tool.title,
                meta=tool.meta,
                permission=Permission(kind=tool.kind),
                effects=tool.effects,
                tool_input=_shown(arguments),
                problem=str(problem),
            )

    def _unknown(self, name: str, arguments: Any) -> Described:
        shown = name[:64]
        known = ", ".join(self._tools) or "none"
        return Described(
            display_name=shown or "Unnamed Tool",
            invocation_message=f"Calling {shown}",
            permission=Permission(kind="custom-tool"),
            effects=ToolEffects(),
            tool_input=_shown(arguments),
            problem=f"there is no tool {shown!r}; there are: {known}.",
        )

    async def run(self, name: str, arguments: Any, call: CallContext) -> ToolOutcome:
        """Do what a call asks. What goes wrong in it is an outcome too, in words.

        Only cancelling it raises (`CancelledError`): when that comes out of here, what the call
        had begun is ended, and no process, timer or half a file is left of it.
        """
        tool = self._tools.get(name)
        if tool is None:
            problem = self._unknown(name, arguments).problem or ""
            return failed(f"Called {name[:64]}, which there is not", problem)
        if self._closed:
            return failed(f"{tool.title} was not run", "the session is closed")
        if call.described is not None and call.described.problem is not None:
            return failed(f"{tool.title} was not run", call.described.problem)
        try:
            taken = tool.checked(arguments)
            work = Deferred.fromCoroutine(tool.run(taken, call))
            self._running.add(work)
            try:
                outcome: ToolOutcome = await work
            finally:
                self._running.discard(work)
        except ToolProblem as problem:
            return failed(f"{tool.title} failed", str(problem))
        except CancelledError:
            raise
        except Exception:
            log.failure("the tool {name} failed", name=name)
            return failed(f"{tool.title} failed", f"{name} failed; the host's log says why.")
        return outcome

    def system_notes(self) -> str:
        """What the system prompt is told of the workspace's memory; empty where there is none.

        As it was when it was last read (`refresh`); where it never was, it is read now.
        """
        if self._notes is None:
            return ""
        if self._told is None:
            self._told = self._prompt()
        return self._told

    async def instructions(self) -> str | None:
        """`system_notes` as they are now; None where there are none to tell."""
        await self.refresh()
        return self.system_notes() or None

    async def refresh(self) -> None:
        """Read the memory again, beside the reactor's thread: before a turn, for `system_notes`."""
        if self._notes is None:
            return
        run = self._run_blocking
        self._told = self._prompt() if run is None else await run(self._prompt)

    def _prompt(self) -> str:
        assert self._notes is not None
        try:
            return self._notes.prompt()
        except ToolProblem as problem:
            log.warn("the memory cannot be read: {problem}", problem=problem)
            return ""

    async def close(self) -> None:
        """End what runs, and let go of the terminals; returns when all is gone."""
        self._closed = True
        for work in tuple(self._running):
            work.cancel()
        while self._running:
            await _settled(next(iter(self._running)))
        if self._shell is not None:
            await self._shell.close()


async def _settled(work: "Deferred[Any]") -> None:
    """Returns when the work is over, whatever came of it; who waits for it still is told."""
    over: Deferred[None] = Deferred()

    def done(result: Any) -> Any:
        over.callback(None)
        return result

    work.addBoth(done)
    await over


def _shown(arguments: Any) -> str:
    return shown_input(arguments) if isinstance(arguments, dict) else str(arguments)[:2000]


def make_toolbox(
    ports: EnginePorts,
    *,
    folders: Sequence[str],
    switches: Switches | None = None,
    store: Path | None = None,
    hidden: Collection[str] = (),
    web: Any = None,
    seconds: Callable[[], float] = time.monotonic,
) -> ToolBox:
    """The tools of a session in `folders` (`file:` URIs, the primary first).

    `store` is the folder sessions are kept in, under which memory is; None, of a store in
    memory, has none. `hidden` are the variables of the environment that no command sees: those
    that hold keys. `web` makes requests (`web.requests.Web`) in place of the one that reaches
    public addresses alone. `seconds` is a clock that any thread may read. Files are written
    through the host: without `ports.resources` no tool writes one.
    """
    wanted = Switches() if switches is None else switches
    workspace = Workspace(folders, ports.default_directory)
    tools: list[ITool] = []
    if wanted.files:
        tools += _file_tools(ports, workspace, seconds)
    shell = ShellExec(workspace, _runner(ports, hidden)) if wanted.shell else None
    if shell is not None:
        tools.append(shell)
    if wanted.web:
        tools += _web_tools(ports, wanted, web)
    notes = None
    if wanted.memory and store is not None:
        notes = Notes(store / "memory" / slug(workspace.find(".").real), ports.ids)
        tools += [MemoryRead(notes, ports.run_blocking), MemoryWrite(notes, ports.run_blocking)]
    return ToolBox(tools, notes=notes, shell=shell, run_blocking=ports.run_blocking)


def _file_tools(
    ports: EnginePorts, workspace: Workspace, seconds: Callable[[], float]
) -> list[ITool]:
    tools: list[ITool] = [
        ReadFile(workspace, ports.run_blocking, seconds),
        ListFiles(workspace, ports.run_blocking, seconds),
        SearchFiles(workspace, ports.reactor, ports.supervisor),
    ]
    if ports.resources is not None:
        files = Files(ports.resources, ports.run_blocking)
        tools += [WriteFile(workspace, files), EditFile(workspace, files)]
    return tools


def _runner(ports: EnginePorts, hidden: Collection[str]) -> Runner:
    shell, env = shell_path(ports.environ), environment(hidden)
    if ports.terminals is not None:
        return TerminalRunner(ports.reactor, ports.terminals, shell, env)
    return PipeRunner(ports.reactor, ports.supervisor, shell, env)


def _web_tools(ports: EnginePorts, wanted: Switches, web: Any) -> list[ITool]:
    # What the web needs takes a while to import, and a session without it never does.
    from ahpd_agent_openai.tools.web.connecting import reactor_names  # noqa: PLC0415
    from ahpd_agent_openai.tools.web.fetch import WebFetch  # noqa: PLC0415
    from ahpd_agent_openai.tools.web.requests import Web  # noqa: PLC0415
    from ahpd_agent_openai.tools.web.search import WebSearch  # noqa: PLC0415

    if web is None:
        version = f"/{ports.version}" if ports.version else ""
        web = Web(ports.reactor, reactor_names(ports.reactor), f"ahpd{version}")
    tools: list[ITool] = [WebFetch(web, ports.run_blocking)]
    if wanted.search:
        tools.append(WebSearch(web, wanted.search))
    return tools
