"""A daemon with an agent of each engine, which do what their prompts list, and people in chats.

`acp` is the program of `acp_deeds.py`. `llm` asks a `Model`, an endpoint in this process that
answers as the person's message lists: `["tools", [name, arguments], ...]` calls those, `["say",
words]` ends the turn, `["endless", size]` never does. A list that is over ends in `done`.
"""

import itertools
import json
import sys
from pathlib import Path

from ahpd.client import ActionRefused
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd_agent_openai.testing import Answer, FakeEndpoint, call_delta, chunk, says, sse

PROGRAM = Path(__file__).parent / "acp_deeds.py"
ENDS = frozenset({"chat/turnComplete", "chat/turnCancelled", "chat/error"})
_numbers = itertools.count(1)


class Model(FakeEndpoint):
    """See the module; `tool_results` are what it was answered to its calls, newest request."""

    def __init__(self, reactor):
        super().__init__(reactor, self._scripted)
        self._ids = itertools.count(1)

    def _scripted(self, asked):
        messages = asked.body["messages"]
        last = max(at for at, one in enumerate(messages) if one["role"] == "user")
        steps = json.loads(text_of(messages[last]["content"]).splitlines()[-1])
        done = sum(one["role"] == "assistant" for one in messages[last:])
        if done >= len(steps):
            return says("done")
        kind, *given = steps[done]
        if kind == "say":
            return says(*given)
        if kind == "endless":
            piece = sse(chunk({"content": "x" * given[0]}), done=False)
            return Answer(body=piece, endless=piece)
        deltas = [
            chunk(call_delta(name, json.dumps(arguments), index=at, id=f"call-{next(self._ids)}"))
            for at, (name, arguments) in enumerate(given)
        ]
        return Answer(body=sse(chunk({"role": "assistant"}), *deltas, chunk({}, "tool_calls")))

    @property
    def tool_results(self):
        return [one["content"] for one in self.completions[-1]["messages"] if one["role"] == "tool"]


def text_of(content):
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    return "".join(piece.get("text", "") for piece in content)


# -- the daemon -------------------------------------------------------------------------


def acp(identifier="acp", **config):
    """The record of an agent of the program; it works in folders nobody vouched for."""
    config = {
        "command": sys.executable,
        "args": ["-I", "-S", str(PROGRAM)],
        "killGraceMs": 300,
        "closeGraceMs": 300,
        "honoursTrust": True,
        **config,
    }
    return {"id": identifier, "engine": "acp", "name": identifier.title(), "config": config}


def llm(model, identifier="llm", **config):
    """The record of an agent over the endpoint."""
    config = {"baseUrl": model.url, **config}
    record = {"id": identifier, "engine": "openai", "name": identifier.title(), "model": "fake"}
    return {**record, "config": config}


# -- people -----------------------------------------------------------------------------


class Chat:
    """One person in one chat: `folder` is its session's."""

    def __init__(self, probe, session, chat, folder):
        self.probe = probe
        self.session = session
        self.chat = chat
        self.folder = folder

    async def seen_by(self, probe):
        """The same chat before another client."""
        for channel in (self.session, self.chat):
            if channel not in probe.subscriptions:
                await probe.subscribe(channel)
        return Chat(probe, self.session, self.chat, self.folder)

    # -- turns --

    async def begin(self, *deeds, **fields):
        """Start a turn that does these; its id."""
        turn = f"turn-{next(_numbers)}"
        message = {"text": json.dumps(deeds), "origin": {"kind": "user"}, **fields}
        action = {"type": "chat/turnStarted", "turnId": turn, "message": message}
        await self.probe.perform(self.chat, {**action, "startedAt": "2026-01-02T03:04:05.000Z"})
        return turn

    async def finished(self, turn):
        """The turn, once it has ended."""
        return await self.probe.wait_for(lambda: self.turn(turn), PATIENCE, f"{turn}'s end")

    async def does(self, *deeds, **fields):
        """Run a turn to its end; the turn."""
        return await self.finished(await self.begin(*deeds, **fields))

    def turn(self, turn):
        """A turn that is over, or None."""
        turns = self.probe.state(self.chat)["turns"]
        if not any(one["id"] == turn for one in turns):
            return None
        turns = self.probe.plain_state(self.chat)["turns"]
        return next(one for one in turns if one["id"] == turn)

    async def cancels(self, turn):
        action = {"type": "chat/turnCancelled", "turnId": turn, "duration": 0}
        await self.probe.perform(self.chat, action)
        return await self.finished(turn)

    # -- questions --

    def calls(self):
        """The calls of the turn that runs, else of the newest, by id."""
        state = self.probe.plain_state(self.chat)
        turn = state.get("activeTurn") or (state["turns"] or [{"responseParts": []}])[-1]
        return {call["toolCallId"]: call for call in calls_in(turn)}

    def open(self):
        """The questions on this person's screen."""
        return {
            name: call
            for name, call in self.calls().items()
            if call["status"] == "pending-confirmation"
        }

    async def asked(self, *names, many=None):
        """Wait for these questions, or so many; the calls by id."""

        def there():
            found = self.open()
            if set(names) <= set(found) and len(found) >= (many or len(names) or 1):
                return found
            return None

        what = f"the questions {names or many or 'of it'}"
        try:
            return await self.probe.wait_for(there, PATIENCE, what)
        except TimeoutError as error:
            raise AssertionError(f"{error}: {self.calls()}") from error

    async def answers(self, name, approved, option=None, **more):
        """Answer one; whether the host took the action."""
        turn = self.probe.state(self.chat)["activeTurn"]["id"]
        try:
            await self.probe.perform(self.chat, confirmed(turn, name, approved, option, **more))
        except ActionRefused:
            return False
        return True

    async def needs_nothing(self):
        """Wait until no question is on the session's list."""
        await self.probe.wait_for(
            lambda: not self.probe.state(self.session).get("inputNeeded"), PATIENCE, "no question"
        )

    # -- what was done --

    def deeds(self, *kinds):
        """What the program wrote down, of these kinds."""
        return deeds_in(self.folder, *kinds)

    async def dispose(self):
        for channel in (self.chat, self.session):
            self.probe.unsubscribe(channel)
        await self.probe.request("disposeSession", channel=self.session)


def deeds_in(folder, *kinds):
    """What programs that work in a folder wrote down, of these kinds, or of all."""
    file = folder / "deeds.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return [one for one in found if not kinds or one[0] in kinds]


def calls_in(turn):
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


def said(turn):
    return "".join(one["content"] for one in turn["responseParts"] if one["kind"] == "markdown")


def confirmed(turn, name, approved, option=None, **more):
    """A person's answer to a question."""
    action = {"type": "chat/toolCallConfirmed", "turnId": turn, "toolCallId": name}
    verdict = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    if option is not None:
        verdict["selectedOptionId"] = option
    return {**action, "approved": approved, **verdict, **more}


async def chat(probe, provider, folder, name=None, **params):
    """A new session of an agent in a folder, before this client."""
    folder.mkdir(parents=True, exist_ok=True)
    session = f"ahp-session:/{name or f'agents-{next(_numbers)}'}"
    await probe.request(
        "createSession",
        channel=session,
        provider=provider,
        workingDirectories=[file_uri(str(folder))],
        **params,
    )
    await probe.subscribe(session)
    await probe.wait_for(lambda: probe.state(session).get("defaultChat"), what="a chat")
    uri = probe.state(session)["defaultChat"]
    await probe.subscribe(uri)
    return Chat(probe, session, uri, folder)


async def again(probe, before):
    """A chat of an earlier life of the daemon, before a new client."""
    return await Chat(before.probe, before.session, before.chat, before.folder).seen_by(probe)


async def configures(one, **values):
    """A person pushes configuration of the session."""
    action = {"type": "session/configChanged", "config": values}
    await one.probe.perform(one.session, action)


async def configures_host(probe, **values):
    """A person pushes configuration of the host. One that changes nothing has no answer."""
    probe.dispatch(ROOT, {"type": "root/configChanged", "config": values})
    await probe.ping()
    held = probe.state(ROOT)["config"]["values"]
    assert {key: held[key] for key in values} == values


async def leaves(daemon, probe):
    """A client goes, and is gone when this returns."""
    probe.close()
    await daemon.until(lambda: not probe.connected, f"{probe.client_id}'s end")


def ends_of(probe):
    """How often each turn ended, as this client is told, by turn id."""
    ends = {}

    def heard(envelope):
        if envelope.action["type"] in ENDS and envelope.rejection is None:
            turn = envelope.action["turnId"]
            ends[turn] = ends.get(turn, 0) + 1

    probe.on_action(heard)
    return ends


# -- calls, as an ACP agent asks about them -----------------------------------------------


def shell(name, command):
    """A question about a command line."""
    return {
        "toolCallId": name,
        "title": command,
        "kind": "execute",
        "rawInput": {"command": command},
    }


def file(name, kind, path):
    """A question about a file: `read` or `edit`."""
    where = {"locations": [{"path": str(path)}], "rawInput": {"path": str(path)}}
    return {"toolCallId": name, "title": f"{kind} {path}", "kind": kind, **where}


def fetch(name, url):
    """A question about a fetch."""
    return {"toolCallId": name, "title": url, "kind": "fetch", "rawInput": {"url": url}}
