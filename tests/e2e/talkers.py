"""Clients of a crash test, each doing whatever comes to its mind until its connection is gone."""

import base64
import contextlib
from datetime import UTC, datetime

from twisted.internet.task import deferLater

from ahpd.protocol.timestamps import stamp
from ahpd.sessions.annotations import annotations_of as annotations

from .ledger import GONE

PROVIDER = "demo"

#: How many sessions there are before no more are made, and chats of each.
MOST_SESSIONS = 6
MOST_CHATS = 5


def user(text, **more):
    """A message of a person's."""
    return {"text": text, "origin": {"kind": "user"}, **more}


def texts_of(number):
    """What a turn may be asked for. Each names its number, so that no two are alike."""
    say = f"/say the words of {number}"
    return [
        say,
        say,
        f"/think about {number}\n/stream 40 30\n{say}",
        f"{say}\n/stream 3000 20\n/sleep 50",
        f"/stream 20000 30\n{say}",
        f"/fail the words of {number}",
        f"/say first of {number}\n/retry 1\n/say then {number}",
        f"/tool list_files {number}\n{say}\n/usage 12 {number}",
        f"/confirm remove {number}\n{say}",
        f"/confirm remove {number}\n{say}",
        f"/ask Which of {number}? | red | blue\n{say}",
        f"/sleep 300\n{say}\n/sleep 300\n{say}",
        f"/task worker {say}\n{say}",
    ]


def waits(found):
    """Whether a part of a turn, with the turn's id, waits for a person."""
    _, part = found
    return part.get("toolCall", {}).get("status") in (None, "pending-confirmation")


class Talker:
    """One client. `sessions` are those it watches, all chats of them."""

    def __init__(self, ledger, probe, sessions, reactor):
        self.ledger = ledger
        self.random = ledger.random
        self.probe = probe
        self.sessions = sessions
        self.reactor = reactor
        self._acts = [
            *[self.turn] * 10,
            *[self.queue] * 4,
            *[self.steer] * 3,
            *[self.decide, self.answer] * 5,
            *[self.draft, self.title, self.name, self.archive, self.read] * 2,
            *[self.pace, self.stop, self.unqueue, self.reorder, self.resume] * 2,
            *[self.mark] * 4,
            *[self.make_chat, self.fork, self.end_chat, self.move, self.truncate],
            *[self.make_session, self.end_session, self.pause, self.pause, self.pause],
        ]

    async def talk(self):
        """Until the connection is gone."""
        with contextlib.suppress(*GONE):
            while True:
                session = self.random.choice(self.sessions)
                if session in self.ledger.gone:
                    self.sessions.remove(session)
                    if not self.sessions:
                        return
                elif chats := await self.chats_of(session):
                    await self.random.choice(self._acts)(session, self.random.choice(chats))

    async def chats_of(self, session):
        """The chats of a session that can be talked to, each watched."""
        found = []
        for row in list(self.probe.state(session)["chats"]):
            chat = row["resource"]
            self.ledger.owners[chat] = session
            if chat not in self.probe.subscriptions:
                await self.subscribe(chat)
            if chat in self.probe.subscriptions:
                found.append(chat)
        return found

    async def subscribe(self, channel):
        """Watch a channel; one that went meanwhile is left alone."""
        with self.ledger.sending(channel, "subscribe", {}):
            await self.probe.subscribe(channel)

    async def perform(self, channel, kind, /, **fields):
        """Say an action and wait for its answer."""
        with self.ledger.sending(channel, kind, fields):
            await self.probe.perform(channel, {"type": kind, **fields})

    async def request(self, method, channel, /, **params):
        """Ask for something and wait for its answer: in a list, which is empty for a refusal."""
        with self.ledger.sending(channel, method, params):
            return [await self.probe.request(method, channel=channel, **params)]
        return []

    def state(self, channel):
        return self.probe.state(channel)

    def parts(self, chat, kind):
        """The parts of one kind of the turn that runs, with its id."""
        turn = self.probe.plain_state(chat).get("activeTurn") or {"responseParts": []}
        return [(turn["id"], part) for part in turn["responseParts"] if part["kind"] == kind]

    async def pause(self, session, chat):
        await deferLater(self.reactor, self.random.uniform(0, 0.1), lambda: None)

    # -- turns ------------------------------------------------------------------------

    async def turn(self, session, chat):
        number = self.ledger.number()
        text = self.random.choice(texts_of(number))
        message = user(text)
        if self.random.random() < 0.2:
            data = self.ledger.pictures[text] = b"\x89PNG\r\n\x1a\n%d" % number
            encoded = base64.b64encode(data).decode()
            kind = {"type": "embeddedResource", "contentType": "image/png"}
            message["attachments"] = [{**kind, "label": f"{number}.png", "data": encoded}]
        turn_id = f"turn-{number}"
        started = stamp(datetime.now(UTC))
        begun = {"turnId": turn_id, "startedAt": started, "message": message}
        await self.perform(chat, "chat/turnStarted", **begun)
        asks = {"/confirm": self.decide, "/ask": self.answer}.get(text.split(" ")[0])
        if asks is not None and self.random.random() < 0.6:
            await asks(session, chat)
        elif self.random.random() < 0.3:
            with contextlib.suppress(TimeoutError):
                await self.probe.wait_for(lambda: "activeTurn" not in self.probe.state(chat), 0.4)

    async def stop(self, session, chat):
        running = self.state(chat).get("activeTurn")
        if running is not None:
            await self.perform(chat, "chat/turnCancelled", turnId=running["id"], duration=5)

    async def resume(self, session, chat):
        turns = self.state(chat)["turns"]
        if turns and turns[-1]["state"] == "error":
            await self.perform(chat, "chat/turnResume", turnId=turns[-1]["id"])

    async def truncate(self, session, chat):
        turns = self.state(chat)["turns"]
        if len(turns) > 3:
            await self.perform(chat, "chat/truncated", turnId=self.random.choice(turns)["id"])

    async def asked(self, chat, word, kind):
        """Give a turn that is to ask somebody the time to."""
        turn = self.state(chat).get("activeTurn") or {"message": user("")}
        if word in turn["message"]["text"]:
            with contextlib.suppress(TimeoutError):
                await self.probe.wait_for(lambda: any(map(waits, self.parts(chat, kind))), 0.3)

    async def decide(self, session, chat):
        await self.asked(chat, "/confirm", "toolCall")
        for turn_id, part in self.parts(chat, "toolCall"):
            call = part["toolCall"]
            if call["status"] == "pending-confirmation":
                approved = self.random.random() < 0.6
                verdict = {"confirmed": "user-action"} if approved else {"reason": "denied"}
                called = {"turnId": turn_id, "toolCallId": call["toolCallId"]}
                kind = "chat/toolCallConfirmed"
                await self.perform(chat, kind, **called, approved=approved, **verdict)
                return

    async def answer(self, session, chat):
        await self.asked(chat, "/ask", "inputRequest")
        for _, part in self.parts(chat, "inputRequest"):
            if "response" not in part:
                request = part["request"]["id"]
                value = {"state": "draft", "value": {"kind": "selected", "value": "red"}}
                asked = {"requestId": request, "questionId": "answer"}
                await self.perform(chat, "chat/inputAnswerChanged", **asked, answer=value)
                if self.random.random() < 0.7:
                    given = {"answer": {**value, "state": "submitted"}}
                    asked = {"requestId": request, "response": "accept"}
                    await self.perform(chat, "chat/inputCompleted", **asked, answers=given)
                return

    # -- what waits -------------------------------------------------------------------

    async def queue(self, session, chat):
        number = self.ledger.number()
        message = user(f"/say queued {number}")
        entry = {"id": f"queued-{number}", "message": message}
        await self.perform(chat, "chat/pendingMessageSet", kind="queued", **entry)

    async def steer(self, session, chat):
        if "activeTurn" in self.probe.state(chat):
            number = self.ledger.number()
            entry = {"id": f"steering-{number}", "message": user(f"/say steered {number}")}
            await self.perform(chat, "chat/pendingMessageSet", kind="steering", **entry)

    async def unqueue(self, session, chat):
        waiting = self.state(chat).get("queuedMessages") or []
        if waiting:
            identifier = self.random.choice(waiting)["id"]
            await self.perform(chat, "chat/pendingMessageRemoved", kind="queued", id=identifier)

    async def reorder(self, session, chat):
        waiting = [each["id"] for each in self.state(chat).get("queuedMessages") or []]
        if len(waiting) > 1:
            self.random.shuffle(waiting)
            await self.perform(chat, "chat/queuedMessagesReordered", order=waiting)

    async def draft(self, session, chat):
        draft = user(f"draft {self.ledger.number()}")
        await self.perform(chat, "chat/draftChanged", draft=draft)

    # -- names, flags, settings, marks ------------------------------------------------

    async def title(self, session, chat):
        self.ledger.named.add(session)
        title = f"title {self.ledger.number()}"
        await self.perform(session, "session/titleChanged", title=title)

    async def name(self, session, chat):
        if self.state(session).get("defaultChat") != chat:
            title = f"name {self.ledger.number()}"
            await self.perform(chat, "session/titleChanged", title=title)

    async def archive(self, session, chat):
        archived = self.random.random() < 0.5
        default = self.state(session).get("defaultChat") == chat
        if default or self.random.random() < 0.3:
            await self.perform(session, "session/isArchivedChanged", isArchived=archived)
            if archived and self.random.random() < 0.8:  # an archived one is a dull place
                await self.perform(session, "session/isArchivedChanged", isArchived=False)
        else:
            await self.perform(chat, "chat/isArchivedChanged", isArchived=archived)

    async def read(self, session, chat):
        kind = self.random.choice(["session", "chat"])
        channel = session if kind == "session" else chat
        await self.perform(channel, f"{kind}/isReadChanged", isRead=self.random.random() < 0.5)

    async def pace(self, session, chat):
        config = {"pace": self.random.choice(["normal", "instant", "instant"])}
        if self.random.random() < 0.5:
            await self.perform(session, "session/configChanged", config=config)
        else:
            await self.perform(chat, "chat/configChanged", config=config)

    async def mark(self, session, chat):
        number, channel = self.ledger.number(), annotations(session)
        if channel not in self.probe.subscriptions:
            await self.subscribe(channel)
            return
        held = self.state(channel)["annotations"]
        if held and self.random.random() < 0.6:
            identifier = self.random.choice(held)["id"]
            entry = {"id": f"entry-{number}", "text": f"about {number}"}
            kind, fields = self.random.choice(
                [
                    ("annotations/entrySet", {"entry": entry}),
                    ("annotations/updated", {"resolved": True}),
                    ("annotations/removed", {}),
                ]
            )
            await self.perform(channel, kind, annotationId=identifier, **fields)
            return
        mark = {"id": f"mark-{number}", "origin": {"session": session}, "resource": "file:///f"}
        mark.update(resolved=False, entries=[{"id": "first", "text": f"mark {number}"}])
        await self.perform(channel, "annotations/set", annotation=mark)

    # -- chats and sessions -----------------------------------------------------------

    async def make_chat(self, session, chat):
        if len(self.state(session)["chats"]) >= MOST_CHATS:
            return
        number = self.ledger.number()
        more = {}
        if self.random.random() < 0.4:
            more["initialMessage"] = user(f"/say the first of {number}")
        made = f"ahp-chat:/made-{number}"
        await self.request("createChat", session, chat=made, **more)

    async def fork(self, session, chat):
        turns = self.state(chat)["turns"]
        if turns and len(self.state(session)["chats"]) < MOST_CHATS:
            turn = self.random.choice(turns)["id"]
            source = {"kind": "fork", "chat": chat, "turnId": turn}
            made = f"ahp-chat:/forked-{self.ledger.number()}"
            await self.request("createChat", session, chat=made, source=source)

    async def end_chat(self, session, chat):
        if self.state(session).get("defaultChat") == chat:
            return
        if await self.request("disposeChat", chat):
            self.ledger.gone.add(chat)

    async def move(self, session, chat):
        others = [other for other in self.sessions if other not in self.ledger.gone]
        destination = {"kind": "session", "session": self.random.choice(others)}
        if self.random.random() < 0.2 and len(self.ledger.sessions) < MOST_SESSIONS:
            destination = {"kind": "newSession"}
        for moved in await self.request("moveChat", chat, destination=destination):
            self.ledger.owners[chat] = moved["session"]

    async def make_session(self, session, chat):
        if session is not None and len(self.ledger.sessions) >= MOST_SESSIONS:
            return
        made = f"ahp-session:/crash-{self.ledger.number()}"
        folders = [f"file:///work/{self.ledger.number()}"]
        config = {"pace": "instant"}
        asked = {"provider": PROVIDER, "workingDirectories": folders, "config": config}
        if not await self.request("createSession", made, **asked):
            return
        self.ledger.sessions[made] = False
        await self.subscribe(made)
        if made in self.probe.subscriptions:
            self.sessions.append(made)
            await self.chats_of(made)

    async def end_session(self, session, chat):
        if len(self.sessions) < 3 or self.random.random() < 0.5:
            return
        self.sessions.remove(session)
        if await self.request("disposeSession", session):
            self.ledger.sessions.pop(session, None)
            self.ledger.gone.add(session)
