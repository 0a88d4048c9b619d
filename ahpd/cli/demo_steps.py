"""What `ahpd demo` does, step by step, each one checked.

A step that finds something other than it should raises `StepFailure`; the page says
what is happening while it happens.
"""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, Final

import attrs
from twisted.internet.task import deferLater

import ahpd
from ahpd.cli.demo_host import DemoHost, DemoPlace
from ahpd.cli.render import Page
from ahpd.cli.turn_view import TurnView
from ahpd.client import Client, Reconnected
from ahpd.protocol import State
from ahpd.protocol.text import plain
from ahpd.protocol.timestamps import stamp
from ahpd.protocol.uris import ROOT

#: What the demo agent is asked: directives it runs in order, and a text it says back.
MESSAGE: Final = """\
/think First a look at what is there, then the answer, one word at a time.
/tool list_files README.md, ahpd, docs, plugins, tests
Hello! My connection is about to break in the middle of a sentence. Please go on \
without me. When I am back I will name the last thing I saw; send me what came after \
it, in order, nothing twice and nothing left out, and then let us go on live. An editor \
does the same when a laptop sleeps or a window is reloaded.
/usage 128 80"""

PROVIDER: Final = "demo"

#: How much of the answer is seen before the line is cut, and how long it stays cut.
_SEEN_BEFORE_CUT: Final = 80
_AWAY_SECONDS: Final = 0.5

Connect = Callable[[str, Client, str], Awaitable[Any]]


class StepFailure(Exception):
    """A step went wrong; words for a person."""


@attrs.define
class Step:
    """What became of one step, for `--json`."""

    name: str
    ok: bool = False
    words: str = ""
    details: dict[str, Any] = attrs.field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """One entry of the answer."""
        return {"step": self.name, "ok": self.ok, "words": self.words, **self.details}


class Steps:
    """One run of the demo against one host. `new_id` makes ids, `connect` connections."""

    def __init__(
        self,
        reactor: Any,
        page: Page,
        host: DemoHost,
        place: DemoPlace,
        connect: Connect,
        new_id: Callable[[], str],
    ) -> None:
        self.done: list[Step] = []
        self._reactor = reactor
        self._page = page
        self._host = host
        self._place = place
        self._connect = connect
        self._new_id = new_id
        self._client = self._new_client("ahpd-demo")
        self._token = ""
        self._session = ""
        self._chat = ""
        self._turn_id = new_id()
        self._view = TurnView(page, self._turn_id)

    def _new_client(self, name: str) -> Client:
        info = {"name": name, "version": ahpd.__version__}
        return Client(f"{name}-{self._new_id()}", self._reactor, info=info, timeout=20.0)

    async def run(self) -> None:
        """All steps in order; stops at the first that goes wrong, by raising what it raised."""
        for name, title, step in (
            ("host", "Start a host on a free port", self._start),
            ("connect", "Connect a client over WebSocket", self._connected),
            ("session", "Create a session", self._create_session),
            ("turn", "Send a turn, and lose the connection in the middle of it", self._turn),
            ("reconnect", "", self._reconnect),
            ("end", "", self._end),
            ("compare", "Compare with what a late subscriber reads", self._compare),
        ):
            if title:
                self._page.step(1 + sum(1 for one in self.done if one.name in _NUMBERED), title)
            self.done.append(Step(name))
            await step(self.done[-1])
            self.done[-1].ok = True

    def release(self) -> None:
        """Let go of the connections."""
        self._client.close()

    # -- the steps ----------------------------------------------------------------------

    async def _start(self, step: Step) -> None:
        begun = self._reactor.seconds()
        url = await self._host.start()
        took = self._reactor.seconds() - begun
        self._token = self._place.token()
        step.words = f"listening on {url} after {took:.1f} s"
        step.details = {"url": url, "pid": self._host.pid, "seconds": round(took, 3)}
        self._page.note(f"{step.words}, process {self._host.pid}", "quiet")

    async def _connected(self, step: Step) -> None:
        await self._connect(self._host.url, self._client, self._token)
        result = await self._client.initialize(subscriptions=[ROOT])
        agents = self._client.state(ROOT)["agents"]
        agent = next((one for one in agents if one["provider"] == PROVIDER), None)
        if agent is None:
            offered = ", ".join(one["provider"] for one in agents) or "none"
            raise StepFailure(f"the host offers no agent {PROVIDER}; it offers {offered}")
        server = result.get("serverInfo") or {}
        name = f"{server.get('name', 'the host')} {server.get('version', '')}".strip()
        models = len(agent["models"])
        step.words = (
            f'{name} speaks AHP {self._client.version} and offers the agent "{agent["displayName"]}" '
            f"with {models} models"
        )
        step.details = {"protocolVersion": self._client.version, "provider": PROVIDER}
        self._page.note(step.words, "quiet")

    async def _create_session(self, step: Step) -> None:
        client = self._client
        self._session = f"ahp-session:/{self._new_id()}"
        await client.request(
            "createSession",
            channel=self._session,
            provider=PROVIDER,
            workingDirectories=[self._place.workspace.as_uri()],
        )
        await client.subscribe(self._session)
        await client.wait_for(self._has_a_chat, what="the session's chat")
        state = client.state(self._session)
        if state["lifecycle"] == "failed":
            words = (state.get("creationError") or {}).get("message", "without a word")
            raise StepFailure(f"the session could not be created: {words}")
        self._chat = state.get("defaultChat") or state["chats"][0]["resource"]
        await client.subscribe(self._chat)
        step.words = f"{self._session} with its chat {self._chat}"
        step.details = {"session": self._session, "chat": self._chat}
        self._page.note(f"session {self._session}", "quiet")
        self._page.note(f"chat {self._chat}", "quiet")

    def _has_a_chat(self) -> bool:
        # It says `ready` when its first turn has started its agent, not before.
        state = self._client.state(self._session)
        return bool(state["chats"]) or state["lifecycle"] == "failed"

    async def _turn(self, step: Step) -> None:
        client, view = self._client, self._view
        client.on_action(view.show)
        for number, line in enumerate(MESSAGE.splitlines()):
            asked = self._page.block("" if number else "you")
            asked.write(line)
            asked.end()
        self._page.line()
        await client.perform(
            self._chat,
            {
                "type": "chat/turnStarted",
                "turnId": self._turn_id,
                "startedAt": _now(),
                "message": {"text": MESSAGE, "origin": {"kind": "user"}},
            },
        )
        await client.wait_for(self._half_answered, what="the first half of the answer")
        if not self._running():
            raise StepFailure("the turn was over before the connection could be cut")
        client.abort()
        view.hold()
        seen = len(_text(self._response(), "markdown"))
        step.words = f"cut at serverSeq {client.last_seen_seq}, {seen} characters into the answer"
        step.details = {"lastSeenServerSeq": client.last_seen_seq, "charactersSeen": seen}
        self._page.mark(f"connection cut, last seen serverSeq {client.last_seen_seq}", "cut")

    async def _reconnect(self, step: Step) -> None:
        client, last_seen = self._client, self._client.last_seen_seq
        await deferLater(self._reactor, _AWAY_SECONDS, lambda: None)
        await self._connect(self._host.url, client, self._token)
        back = await client.reconnect()
        numbers = self._replayed(back, last_seen)
        step.words = f"{len(numbers)} actions replayed, serverSeq {numbers[0]} to {numbers[-1]}"
        step.details = {
            "type": back.type,
            "actions": len(numbers),
            "fromServerSeq": numbers[0],
            "toServerSeq": numbers[-1],
        }
        self._page.mark(f"back after {_AWAY_SECONDS:g} s: {step.words}", "cut")
        self._view.release()

    def _replayed(self, back: Reconnected, last_seen: int) -> list[int]:
        """The numbers replayed, once it is sure that they are what was missed."""
        if back.type != "replay":
            raise StepFailure(f"the host answered reconnect with a {back.type}, not a replay")
        if back.missing:
            raise StepFailure(f"the host resumed without {', '.join(back.missing)}")
        numbers = [envelope.seq for envelope in back.actions]
        if not numbers:
            raise StepFailure("nothing was replayed, though the turn went on")
        if numbers[0] <= last_seen or numbers != sorted(set(numbers)):
            raise StepFailure(f"what was replayed after {last_seen} is out of order: {numbers}")
        return numbers

    async def _end(self, step: Step) -> None:
        client = self._client
        await client.wait_for(lambda: not self._running(), what="the turn's end")
        self._view.pause()
        turn = self._finished_turn()
        if turn["state"] != "complete":
            raise StepFailure(f"the turn ended as {turn['state']}, expected complete")
        parts = turn["responseParts"]
        tools = [part["toolCall"] for part in parts if part["kind"] == "toolCall"]
        if not _text(parts, "reasoning"):
            raise StepFailure("the turn holds no reasoning")
        if not any(tool["status"] == "completed" and tool["success"] for tool in tools):
            raise StepFailure("the turn holds no tool call that succeeded")
        said = len(_text(parts, "markdown"))
        seconds = turn.get("duration", 0) / 1000
        step.words = f"turn complete after {seconds:.1f} s, {said} characters answered"
        step.details = {"turnState": turn["state"], "charactersAnswered": said}
        self._page.mark(step.words, "good")

    async def _compare(self, step: Step) -> None:
        late = self._new_client("ahpd-demo-late")
        await self._connect(self._host.url, late, self._token)
        try:
            await late.initialize()
            read = plain(await late.subscribe(self._chat))
        finally:
            late.close()
        held = self._client.plain_state(self._chat)
        ours, theirs = (_text(_turn_in(state, self._turn_id), "markdown") for state in (held, read))
        if ours != theirs:
            raise StepFailure(
                f"the answer held after the replay has {len(ours)} characters, "
                f"and the late subscriber's {len(theirs)}, and they differ"
            )
        # No action carries a chat's title: the client reads that in its session.
        differing = sorted(
            key
            for key in held.keys() | read.keys()
            if key != "title" and held.get(key) != read.get(key)
        )
        if differing:
            raise StepFailure(f"the two states differ in {', '.join(differing)}")
        step.words = f"the same to the last character: {len(ours)} of {len(theirs)}"
        step.details = {"equal": True, "characters": len(ours)}
        self._page.note(step.words, "good")

    # -- reading the chat ---------------------------------------------------------------

    def _running(self) -> bool:
        active = self._client.state(self._chat).get("activeTurn")
        return active is not None and active["id"] == self._turn_id

    def _response(self) -> list[State]:
        state = self._client.state(self._chat)
        parts: list[State] = state["activeTurn"]["responseParts"]
        return parts

    def _half_answered(self) -> bool:
        return not self._running() or len(_text(self._response(), "markdown")) >= _SEEN_BEFORE_CUT

    def _finished_turn(self) -> State:
        turns = self._client.plain_state(self._chat)["turns"]
        for turn in turns:
            if turn["id"] == self._turn_id:
                found: State = turn
                return found
        raise StepFailure("the turn is neither running nor among the finished ones")


#: Steps with a heading of their own.
_NUMBERED: Final = frozenset({"host", "connect", "session", "turn", "compare"})


def _turn_in(state: State, turn_id: str) -> list[State]:
    for turn in state["turns"]:
        if turn["id"] == turn_id:
            parts: list[State] = turn["responseParts"]
            return parts
    return []


def _text(parts: list[State], kind: str) -> str:
    return "".join(str(part["content"]) for part in parts if part["kind"] == kind)


def _now() -> str:
    return stamp(datetime.now(UTC))
