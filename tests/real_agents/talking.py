"""Clients that talk to real agents: turns, questions and their answers, stops, and times."""

import itertools
import json
import time

from ahpd.protocol.uris import ROOT

#: Seconds for anything that happens by itself. A program of these takes seconds to start.
PATIENCE = 90.0

ENDS = ("chat/turnComplete", "chat/turnCancelled", "chat/error")

_numbers = itertools.count(1)


class Talk:
    """One client in one chat."""

    def __init__(self, daemon, probe, session, chat):
        self.daemon = daemon
        self.probe = probe
        self.session = session
        self.chat = chat

    # -- turns ------------------------------------------------------------------------

    async def begin(self, text, **fields):
        """Start a turn and wait for its echo; its id."""
        turn_id = f"turn-{next(_numbers)}"
        message = {"text": text, "origin": {"kind": "user"}, **fields}
        await self.probe.perform(
            self.chat,
            {
                "type": "chat/turnStarted",
                "turnId": turn_id,
                "startedAt": "2026-01-02T03:04:05.000Z",
                "message": message,
            },
        )
        return turn_id

    async def finished(self, turn_id):
        """The turn, once it has ended; asked about nothing more than once."""
        await self.probe.wait_for(lambda: self.turn(turn_id), PATIENCE, f"{turn_id}'s end")
        assert len(self.ends(turn_id)) == 1
        return self.turn(turn_id)

    async def say(self, text, **fields):
        """Run a turn to its end; the turn."""
        return await self.finished(await self.begin(text, **fields))

    async def asked(self):
        """The call that somebody is asked about, once there is one."""
        return await self.probe.wait_for(self._pending, PATIENCE, "a question")

    async def answer(self, turn_id, call, approved):
        """Allow a call, or refuse it."""
        verdict = {"confirmed": "user-action"} if approved else {"reason": "denied"}
        await self.probe.perform(
            self.chat,
            {
                "type": "chat/toolCallConfirmed",
                "turnId": turn_id,
                "toolCallId": call["toolCallId"],
                "approved": approved,
                **verdict,
            },
        )

    async def decide(self, text, approved):
        """Run a turn in which one question is asked, and answer it; the turn and the question."""
        turn_id = await self.begin(text)
        call = await self.asked()
        await self.answer(turn_id, call, approved)
        return await self.finished(turn_id), call

    async def allow_all(self, text):
        """Run a turn and allow whatever it asks; the turn."""
        turn_id = await self.begin(text)
        await self.allowed_until(turn_id, lambda turn: None)
        return await self.finished(turn_id)

    async def allowed_until(self, turn_id, found):
        """Allow whatever a turn asks, until `found` finds something in it or it is over."""
        answered = set()

        def stands():
            turn = self.running()
            if turn is None:
                return self.turn(turn_id)
            return found(turn) or self._pending(answered)

        while True:
            call = await self.probe.wait_for(stands, PATIENCE, "a question, a call or the end")
            if call.get("status") != "pending-confirmation":
                return call
            answered.add(call["toolCallId"])
            await self.answer(turn_id, call, True)

    async def stop(self, turn_id):
        """Cancel a turn."""
        await self.probe.perform(
            self.chat, {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
        )

    # -- reading ----------------------------------------------------------------------

    def turn(self, turn_id):
        """A turn that has ended, or None."""
        turns = self.probe.state(self.chat)["turns"]
        if not any(turn["id"] == turn_id for turn in turns):
            return None
        turns = self.probe.plain_state(self.chat)["turns"]
        return next(turn for turn in turns if turn["id"] == turn_id)

    def running(self):
        """The turn that runs, or None."""
        return self.probe.plain_state(self.chat).get("activeTurn")

    def answered(self):
        """What the running turn has answered by now."""
        return text_of(self.running() or {"responseParts": []})

    def ends(self, turn_id):
        """Every end that was said of a turn, or of its answer."""
        return [
            said.type
            for said in self.probe.envelopes(self.chat)
            if said.type in ENDS and said.rejection is None and said.action["turnId"] == turn_id
        ]

    def questions(self):
        """How often somebody was asked about a call in this chat."""
        return sum(
            said.type == "chat/toolCallReady" and "confirmed" not in said.action
            for said in self.probe.envelopes(self.chat)
        )

    def _pending(self, answered=()):
        calls = calls_of(self.running() or {"responseParts": []})
        waiting = (call for call in calls if call["status"] == "pending-confirmation")
        return next((call for call in waiting if call["toolCallId"] not in answered), None)


def text_of(turn):
    """The text of a turn's answer."""
    parts = turn["responseParts"]
    failed = [part["error"] for part in parts if part["kind"] == "error"]
    assert not failed, failed
    return "".join(part["content"] for part in parts if part["kind"] == "markdown")


def calls_of(turn):
    """The tool calls of a turn."""
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


async def talk_in(daemon, probe, provider, **params):
    """A new session of an agent, and its chat, watched by `probe`."""
    session = f"ahp-session:/real-{next(_numbers)}"
    await probe.request("createSession", channel=session, provider=provider, **params)
    return await talk_about(daemon, probe, session)


async def talk_about(daemon, probe, session):
    """The default chat of a session there is, watched by `probe`."""
    await probe.subscribe(session)
    await probe.wait_for(lambda: probe.state(session).get("defaultChat"), PATIENCE, "a chat")
    chat = probe.state(session)["defaultChat"]
    await probe.subscribe(chat)
    return Talk(daemon, probe, session, chat)


def agent_in(probe, provider):
    """What clients are shown of an agent."""
    agents = json.loads(json.dumps(probe.plain_state(ROOT)["agents"]))
    return next(agent for agent in agents if agent["provider"] == provider)


class Figures:
    """How long things took, to be printed at the end of the run."""

    def __init__(self):
        self.lines = []
        self._rows = {}

    def say(self, line):
        """A line of its own."""
        self.lines.append(line)

    def note(self, who, what, seconds):
        """One measurement."""
        self._rows.setdefault(who, []).append(f"{what} {seconds:.1f} s")

    def taking(self, who, what):
        """Measures what is done while it is entered."""
        return _Taking(self, who, what)

    def report(self):
        """All of it, a line for each program."""
        rows = [f"{who}: {', '.join(taken)}" for who, taken in self._rows.items()]
        return [*self.lines, *rows]


class _Taking:
    def __init__(self, figures, who, what):
        self._note = lambda seconds: figures.note(who, what, seconds)

    def __enter__(self):
        self._began = time.monotonic()

    def __exit__(self, kind, error, trace):
        if kind is None:
            self._note(time.monotonic() - self._began)
