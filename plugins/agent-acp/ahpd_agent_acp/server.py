"""One running agent program: started, greeted, signed in to, asked, and ended.

What goes wrong with it is an `AgentFailure` of the type `sendFailed`, in a sentence that says
what happened and, where the record wants it there, the last it said on its standard error.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred, TimeoutError, ensureDeferred  # noqa: A004
from twisted.logger import Logger

from ahpd.agents.process import START_FAILED, AgentProcess, start_agent
from ahpd.interfaces import AgentFailure, EnginePorts
from ahpd.protocol.errors import shortened
from ahpd.wire.lines import LineTooLong
from ahpd_agent_acp.connection import (
    AUTH_REQUIRED,
    METHOD_NOT_FOUND,
    Connection,
    IncomingCalls,
    RequestError,
)
from ahpd_agent_acp.handshake import (
    PROTOCOL_VERSION,
    SEND_FAILED,
    Capabilities,
    check_sign_in,
    must_sign_in,
    read_capabilities,
)
from ahpd_agent_acp.hidden import Hidden
from ahpd_agent_acp.record import Options, wants_sign_in
from ahpd_agent_acp.starts import Starts

log = Logger()

#: The longest line an agent may write: a file or an image is one.
MAX_LINE: Final = 60 * 1024 * 1024

#: Seconds an agent has to answer the handshake: the first start of one may unpack a lot.
HANDSHAKE: Final = 120.0

#: Seconds an agent has to go by itself once its input is closed; some never do.
EOF_GRACE: Final = 2.0


class Server:
    """One process of an agent. `what` names it in a sentence, `name` in the log.

    `starts` is what it has in common with the agent's other processes.
    """

    def __init__(
        self, ports: EnginePorts, options: Options, what: str, name: str, starts: Starts
    ) -> None:
        self.options = options
        self.capabilities = Capabilities()
        self.hidden = Hidden(options.env, ports.environ)
        """What is kept out of the words about it."""
        self._ports = ports
        self._what = what
        self._name = name
        self._starts = starts
        self._closed = False
        self._process: AgentProcess | None = None
        self._connection: Connection | None = None
        self._reading: Deferred[Any] | None = None

    @property
    def alive(self) -> bool:
        """Whether it runs and can be asked."""
        return self._process is not None and self._process.alive

    @property
    def pid(self) -> int | None:
        """Its process; None before it is started."""
        return None if self._process is None else self._process.pid

    # -- the beginning ------------------------------------------------------------------

    async def start(
        self, directory: str | None, calls: IncomingCalls, client: Mapping[str, Any]
    ) -> None:
        """Start it, greet it and sign in; `client` is what it may ask for (ACP: ClientCapabilities).

        Raises `AgentFailure`; the program is to be closed in any case.
        """
        await self._starts.run(lambda: self._greet(directory, calls, client))
        sign_in = wants_sign_in(self.options, self._ports.environ)
        if sign_in is not None:
            check_sign_in(sign_in, self.capabilities, self._what)
            await self.within(HANDSHAKE, "authenticate", {"methodId": sign_in.method})

    async def _greet(
        self, directory: str | None, calls: IncomingCalls, client: Mapping[str, Any]
    ) -> None:
        if self._closed:  # while another was started
            raise AgentFailure(f"{self._what} is being ended", SEND_FAILED)
        self._spawn(directory, calls)
        greeting = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": dict(client),
            "clientInfo": {
                "name": "ahpd",
                "title": "ahpd",
                "version": self._ports.version or "0",
            },
        }
        answer = await self.within(HANDSHAKE, "initialize", greeting)
        self.capabilities = read_capabilities(answer, self._what)

    def _spawn(self, directory: str | None, calls: IncomingCalls) -> None:
        options = self.options
        where = directory or options.cwd or str(self._ports.default_directory)
        if not Path(where).is_dir():
            raise AgentFailure(
                f"{self._what} cannot start in {where}: no such directory", SEND_FAILED
            )
        try:
            process = start_agent(
                self._ports.reactor,
                self._ports.supervisor,
                options.argv,
                what=self._what,
                name=self._name,
                env=options.env,
                cwd=where,
                max_line=MAX_LINE,
                too_long=self._too_long,
                keep_errors=options.stderr_bytes,
                exit_grace=options.exit_grace,
            )
        except AgentFailure as failed:
            raise self._worded(failed) from None
        self._process = process
        self._connection = Connection(process, self._what, calls, self._ports.run_blocking)
        self._reading = Deferred.fromCoroutine(self._connection.run())

    def _too_long(self, line: LineTooLong) -> None:
        if self._connection is not None:
            self._connection.too_long(line)

    # -- asking -------------------------------------------------------------------------

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """Its answer. Raises `AgentFailure`, and `RequestError` for an error it answered."""
        if self._connection is None:
            raise AgentFailure(f"{self._what} is not running", SEND_FAILED)
        try:
            return await self._connection.request(method, params)
        except AgentFailure as failed:
            raise self._worded(failed) from None
        except RequestError as refused:
            # The agent's own words, which may be as long as a line, and hold what it was given.
            words = shortened(self.hidden.left_out(refused.message))
            if refused.code == AUTH_REQUIRED:
                raise must_sign_in(self.capabilities, self._what, words) from None
            raise RequestError(refused.code, words, refused.data) from None

    async def ask(self, method: str, params: Mapping[str, Any]) -> Any:
        """As `request`, with every error as an `AgentFailure`."""
        try:
            return await self.request(method, params)
        except RequestError as refused:
            raise AgentFailure(
                f"{self._what} refused {method}: {refused.message}", SEND_FAILED
            ) from None

    async def within(self, seconds: float, method: str, params: Mapping[str, Any]) -> Any:
        """As `ask`; an `AgentFailure` too where the answer takes more than `seconds`."""
        asking = ensureDeferred(self.ask(method, params))
        asking.addTimeout(seconds, self._ports.reactor)
        try:
            return await asking
        except TimeoutError:
            raise AgentFailure(
                f"{self._what} did not answer {method} within {seconds:g} seconds", SEND_FAILED
            ) from None

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Say something that wants no answer."""
        if self._connection is not None:
            self._connection.notify(method, params)

    # -- what went wrong ----------------------------------------------------------------

    def _worded(self, failed: AgentFailure) -> AgentFailure:
        """The failure as a client is shown it."""
        words = failed.message
        if failed.error_type == START_FAILED and self.options.install:
            words += f". It is installed with: {self.options.install[0]}"
        last = "" if self._process is None else self._last_errors(self._process)
        if last and self.options.stderr_tail == "sentence":
            words += f"\n{last}"
        return AgentFailure(words, SEND_FAILED)

    def _last_errors(self, process: AgentProcess) -> str:
        return self.hidden.left_out(process.last_errors.decode("utf-8", "replace").strip())

    # -- the end ------------------------------------------------------------------------

    def kill(self, why: str) -> None:
        """SIGKILL it and all it started, now; `why` completes a sentence that begins with it."""
        if self._process is not None:
            self._process.kill(why)

    async def close(self, sessions: Sequence[str] = ()) -> None:
        """End it with all it started; the `sessions` open in it are told first. Never raises."""
        process, reading = self._process, self._reading
        self._closed = True
        if process is None:
            return
        try:
            await self._close_sessions(sessions)
        except AgentFailure as failed:
            log.debug("{words}", words=failed.message)
        await process.end(self.options.kill_grace, EOF_GRACE)
        if reading is not None:
            self._reading = None
            await reading

    async def _close_sessions(self, sessions: Sequence[str]) -> None:
        if not self.capabilities.close or not self.options.close_grace:
            return
        for session in sessions:
            if self.alive:
                params = {"sessionId": session}
                await self.within(self.options.close_grace, "session/close", params)


class NoCalls:
    """For a program that is asked a question or two and may ask for nothing itself."""

    async def asked(self, method: str, params: dict[str, Any]) -> Any:
        """Refuse it."""
        raise RequestError(METHOD_NOT_FOUND, f"Method not found: {method}")

    def told(self, method: str, params: dict[str, Any]) -> None:
        """Nothing it says is listened to."""

    async def room(self) -> None:
        """There is always room."""
