"""What has to be so by what was said: a model of sessions and chats that no reducer is part of.

An `Account` hears everything a host says, in its order, and keeps of each chat what a careful
reader would: which turns run and how each ended, what became of every pending message, what
has to be said next, and what each read bit is. What contradicts it is kept in `wrong`.

Sources: CHATS.txt, Turns; AHP.txt, the `chat/*` table, `session/isReadChanged`.
"""

from collections import Counter

from zope.interface import implementer

from ahpd.interfaces import ISubscriber
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.testing.differences import first_difference
from ahpd.wire.codec import decode

IS_READ, IS_ARCHIVED = 32, 64
ENDS = {
    "chat/turnComplete": "complete",
    "chat/turnCancelled": "cancelled",
    "chat/error": "error",
}


class ChatAccount:
    """One chat, as far as what was said of it goes."""

    def __init__(self, uri, state):
        self.uri = uri
        self.worker = state.get("origin", {}).get("kind") == "tool"
        self.turns = [(turn["id"], turn["state"], resumable(turn)) for turn in state["turns"]]
        self.active = state.get("activeTurn", {}).get("id")
        self.running = set() if self.active is None else {self.active}
        """Turns whose start was said and whose end is still to come."""
        self.steering = state.get("steeringMessage", {}).get("id")
        self.queue = [each["id"] for each in state.get("queuedMessages") or ()]
        self.displaced = set()
        """Steering messages another one took the place of: one may come back, queued."""
        self.read = bool(state["status"] & IS_READ)
        self.archived = bool(state["status"] & IS_ARCHIVED)
        self.starts_next = False
        """Whether what waits has to start now."""
        self.unread_owed = False
        self.taken_out = None
        """The steering message whose removal has to be the very next thing said."""

    @property
    def next(self):
        """The message that runs next."""
        return self.steering if self.steering is not None else next(iter(self.queue), None)

    @property
    def held_up(self):
        """Whether the latest turn ended in an error that can be resumed."""
        return bool(self.turns) and self.turns[-1][2]

    @property
    def waiting(self):
        return {*self.queue, *([] if self.steering is None else [self.steering])}


def resumable(turn):
    last = (turn["responseParts"] or [{}])[-1]
    return turn["state"] == "error" and last.get("resumable") is True


@implementer(ISubscriber)
class Ear:
    """Hears one host for an account, for as long as that is the host it is about."""

    def __init__(self, account, store):
        self.account = account
        self.store = store

    def deliver(self, envelope):
        if self.account.store is self.store:
            self.account.heard(decode(envelope.body))

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


class Account:
    """What was said by one host after another on the same store.

    `read` are the ids of steering messages a script has read; the machine adds them.
    """

    def __init__(self):
        self.wrong = []
        self.chats = {}
        self.sessions = {}
        """By URI: the chats it lists, as they were said, whether it is read, and archived."""
        self.read = set()
        self.started = Counter()
        """How often a turn was started for a pending message, by its id."""
        self.known = set()
        """Every pending message clients were told of."""
        self.gone = set()
        """Those that wait no longer, whatever became of them."""
        self.taken = Counter()
        """How often a client's action was said, by who sent it and its number."""
        self.asleep = {}
        """By channel: the state it has to come back with."""
        self.owners = {}
        self.follows = {}
        """By chat: the read bit its session, which has no other, was just marked with."""
        self.store = None

    def says(self, wrong):
        self.wrong.append(wrong)

    # -- listening ------------------------------------------------------------------

    def listen(self, store):
        """Hear what is said on every channel of `store` that is opened from now on."""
        self.store = store
        opened, closed, released, watchers = store.open, store.close, store.release, store.watchers

        ear = Ear(self, store)

        def open_(channel, kind, state, observer=None, journal=None):
            opened(channel, kind, state, observer, journal)
            store.subscribe(channel, ear)
            if self.store is store:
                self.opened(channel, kind, plain(state))

        def close(channel):
            if store.is_open(channel) and self.store is store:
                self.closed(channel)
            store.unsubscribe(channel, ear)
            closed(channel)

        def release(channel):
            if store.is_open(channel) and self.store is store:
                self.asleep[channel] = plain(store.state(channel))
            released(channel)  # and heard all the same: a stop is said to nobody's waking

        store.open, store.close, store.release = open_, close, release
        for channel in self.asleep:
            store.subscribe(channel, ear)
        # This reader keeps no session awake.
        store.watchers = lambda channel: tuple(w for w in watchers(channel) if w is not ear)

    def opened(self, channel, kind, state):
        before = self.asleep.pop(channel, None)
        if before is not None:
            difference = first_difference(filled(before, state), state)
            if difference is not None:
                self.says(f"{channel} came back otherwise: {difference}")
        if kind is ChannelKind.CHAT:
            if channel not in self.chats:
                self.chats[channel] = ChatAccount(channel, state)
            self.agrees(channel, state)
        elif kind is ChannelKind.SESSION:
            bits = [bool(state["status"] & bit) for bit in (IS_READ, IS_ARCHIVED)]
            if channel in self.sessions and self.sessions[channel][1:] != bits:
                self.says(f"{channel}: its read and archived bits came back as {bits}")
            self.sessions[channel] = [[row["resource"] for row in state["chats"]], *bits]
            for row in state["chats"]:
                self.owners[row["resource"]] = channel

    def closed(self, channel):
        self.chats.pop(channel, None)
        self.sessions.pop(channel, None)
        if self.owners.get(channel) is not None:
            del self.owners[channel]

    def agrees(self, channel, state):
        """A chat's state is what was said of it."""
        chat = self.chats[channel]
        told = [turn[0] for turn in chat.turns]
        held = [turn["id"] for turn in state["turns"]]
        pairs = {
            "turns": (told, held),
            "ends": (
                [turn[1:] for turn in chat.turns],
                [(turn["state"], resumable(turn)) for turn in state["turns"]],
            ),
            "active turn": (chat.active, state.get("activeTurn", {}).get("id")),
            "steering": (chat.steering, state.get("steeringMessage", {}).get("id")),
            "queue": (chat.queue, [each["id"] for each in state.get("queuedMessages") or ()]),
            "read": (chat.read, bool(state["status"] & IS_READ)),
            "archived": (chat.archived, bool(state["status"] & IS_ARCHIVED)),
        }
        for what, (one, other) in pairs.items():
            if one != other:
                self.says(f"{channel}: {what} by what was said {one}, in its state {other}")

    # -- what is said -----------------------------------------------------------------

    def heard(self, said):
        """An envelope (schema: ActionEnvelope), in its place among all of them."""
        if "rejectionReason" in said or said["channel"] == ROOT:
            return
        action, origin = said["action"], said.get("origin")
        if origin is not None:
            self.taken[origin["clientId"], origin["clientSeq"]] += 1
        chat = self.chats.get(said["channel"])
        if chat is not None:
            self._on_chat(chat, action["type"], action, origin)
        elif said["channel"] in self.sessions:
            self._on_session(said["channel"], action["type"], action, origin)

    def _on_chat(self, chat, kind, action, origin):
        if chat.taken_out is not None and (
            kind != "chat/pendingMessageRemoved" or action["id"] != chat.taken_out
        ):
            self.says(f"{chat.uri}: {kind} is said before {chat.taken_out} is taken out")
        chat.taken_out = None
        if kind == "chat/turnStarted":
            self._started(chat, action, origin)
        elif kind == "chat/turnResume":
            self._resumed(chat, action)
        elif kind in ENDS:
            self._ended(chat, ENDS[kind], action, origin)
        elif kind == "chat/truncated":
            self._truncated(chat, action.get("turnId"))
        elif kind == "chat/pendingMessageSet":
            self._set(chat, action, origin)
        elif kind == "chat/pendingMessageRemoved":
            self._removed(chat, action, origin)
        elif kind == "chat/queuedMessagesReordered":
            named = [each for each in action["order"] if each in chat.queue]
            chat.queue = [*named, *(each for each in chat.queue if each not in named)]
            self._touched(chat, origin)
        elif kind == "chat/inputRequested":
            chat.read = False  # the protocol's reducers say so
        elif kind == "chat/isReadChanged":
            self._read_bit(chat, action["isRead"])
        elif kind == "chat/isArchivedChanged":
            chat.archived = action["isArchived"]

    def _started(self, chat, action, origin):
        turn, queued = action["turnId"], action.get("queuedMessageId")
        if turn in chat.running or turn in [each[0] for each in chat.turns]:
            self.says(f"{chat.uri}: {turn} is started twice")
        if origin is None and queued is None and chat.turns and not chat.worker:
            self.says(f"{chat.uri}: {turn} is started by nobody")
        if queued is not None:
            if not chat.starts_next or queued != chat.next:
                self.says(f"{chat.uri}: {queued} is started out of its turn")
            self.started[queued] += 1
            if self.started[queued] > 1 or queued in self.gone:
                self.says(f"{chat.uri}: {queued} runs though it waits no longer")
            self._take_out(chat, queued)
        # What a client asked for while a turn nobody sees held a steering message is owed still.
        chat.starts_next = chat.starts_next and queued is None and bool(chat.running)
        chat.active, chat.read = turn, False
        chat.running.add(turn)

    def _resumed(self, chat, action):
        turn = action["turnId"]
        if chat.active is not None or not chat.held_up or chat.turns[-1][0] != turn:
            self.says(f"{chat.uri}: {turn} is resumed and cannot be")
            return
        chat.turns.pop()
        chat.active, chat.read, chat.starts_next = turn, False, False
        chat.running.add(turn)

    def _ended(self, chat, how, action, origin):
        turn = action["turnId"]
        if turn not in chat.running:
            if origin is None:
                self.says(f"{chat.uri}: an end of {turn} is said, which does not run")
            return
        if origin is not None and turn != chat.active:
            return  # it stops nothing
        chat.running.discard(turn)
        chat.unread_owed = True
        if turn == chat.active:
            chat.active = None
            chat.turns.append((turn, how, action.get("part", {}).get("resumable") is True))
            if how == "cancelled":
                chat.running.clear()  # what it had replaced is stopped with it, and unsaid
                chat.taken_out = chat.steering
        if how == "complete":
            self._may_start(chat)

    def _truncated(self, chat, turn):
        places = [place for place, each in enumerate(chat.turns) if each[0] == turn]
        if turn is not None and not places:
            return
        del chat.turns[0 if turn is None else places[-1] + 1 :]
        chat.active = None
        chat.running.clear()  # what runs unseen, its place taken by a turn that is over, too

    def _set(self, chat, action, origin):
        identifier = action["id"]
        if action["kind"] == "steering":
            if chat.steering not in (None, identifier):
                chat.displaced.add(chat.steering)
                self.gone.add(chat.steering)
            chat.steering = identifier
        else:
            if origin is None and identifier not in chat.displaced:
                self.says(f"{chat.uri}: {identifier} is queued by nobody")
            if identifier not in chat.queue:
                chat.queue.append(identifier)
        self.known.add(identifier)
        self.gone.discard(identifier)
        self._touched(chat, origin)

    def _removed(self, chat, action, origin):
        identifier = action["id"]
        held = chat.steering == identifier or identifier in chat.queue
        stopped = chat.active is None and chat.turns and chat.turns[-1][1] == "cancelled"
        if origin is None and held and not stopped and identifier not in self.read:
            self.says(f"{chat.uri}: {identifier} is taken out by nobody")
        if action["kind"] == "steering" and chat.steering == identifier:
            chat.steering = None
            self.gone.add(identifier)
        elif action["kind"] == "queued" and identifier in chat.queue:
            chat.queue.remove(identifier)
            self.gone.add(identifier)
        self._touched(chat, origin)

    def _take_out(self, chat, identifier):
        if chat.steering == identifier:
            chat.steering = None
        elif identifier in chat.queue:
            chat.queue.remove(identifier)
        self.gone.add(identifier)

    def _touched(self, chat, origin):
        """What a client does to what waits starts it while nothing runs."""
        if chat.next is None:
            chat.starts_next = False
        if origin is not None:
            self._may_start(chat)

    def _may_start(self, chat):
        if chat.active is None and chat.next is not None and not chat.held_up:
            chat.starts_next = True

    # -- read bits ------------------------------------------------------------------------

    def counted(self, session):
        """The chats a session's read bit is made of."""
        chats = self.sessions[session][0]
        held = [self.chats[uri] for uri in chats if uri in self.chats]
        return [chat for chat in held if not chat.worker]

    def _read_bit(self, chat, read):
        before, chat.read = chat.read, read
        if not read:
            chat.unread_owed = False
        session = self.owners.get(chat.uri)
        if session not in self.sessions or chat.worker:
            return
        counted = self.counted(session)
        if not read:
            self.sessions[session][1] = False
        elif (not before or len(counted) == 1) and all(each.read for each in counted):
            self.sessions[session][1] = True

    def _on_session(self, session, kind, action, origin):
        held = self.sessions[session]
        if kind == "session/chatAdded":
            uri = action["summary"]["resource"]
            held[0].append(uri)
            self.owners[uri] = session
        elif kind == "session/chatRemoved":
            held[0].remove(action["chat"])
        elif kind == "session/chatsReordered":
            if sorted(held[0]) != sorted(action["chats"]):
                self.says(f"{session}: {held[0]} reordered to {action['chats']}")
            held[0] = list(action["chats"])
        elif kind == "session/isArchivedChanged":
            held[2] = action["isArchived"]
        elif kind == "session/isReadChanged" and origin is not None:
            counted = self.counted(session)
            if action["isRead"] and len(counted) > 1 and not all(each.read for each in counted):
                self.says(f"{session} is marked read, and one of its chats is unread")
            held[1] = action["isRead"]
            if len(counted) == 1:
                self.follows[counted[0].uri] = action["isRead"]

    def moved(self, chat, source, target):
        """A move across sessions was made: an unread chat takes the unread with it."""
        if source == target or self.chats[chat].read:
            return
        self.sessions[target][1] = False
        rest = self.counted(source)
        if all(each.read for each in rest):
            self.sessions[source][1] = True

    # -- when nothing is on its way ---------------------------------------------------------

    def settled(self):
        """Nothing is on its way: what was owed was said. Raises for all that was wrong."""
        for chat in self.chats.values():
            if self.store.is_open(chat.uri):
                self.agrees(chat.uri, plain(self.store.state(chat.uri)))
            if chat.starts_next and not chat.running:
                self.says(f"{chat.uri}: {chat.next} has to start, and does not")
            if chat.unread_owed:
                self.says(f"{chat.uri}: a turn ended, and it was not said to be unread")
            if chat.taken_out is not None:
                self.says(f"{chat.uri}: {chat.taken_out} stays behind a stop")
            for identifier in chat.waiting & self.gone:
                self.says(f"{chat.uri}: {identifier} waits, and is gone")
        for chat, read in self.follows.items():
            if chat in self.chats and self.chats[chat].read != read:
                self.says(f"{chat} is alone in its session, which is marked read: {read}")
        self.follows.clear()
        for uri, (chats, *bits) in self.sessions.items():
            state = self.store.find(uri)
            if state is None:
                continue
            listed = [row["resource"] for row in state["chats"]]
            if listed != chats:
                self.says(f"{uri} lists {listed}, not {chats}")
            held = [bool(state["status"] & bit) for bit in (IS_READ, IS_ARCHIVED)]
            if held != bits:
                self.says(f"{uri}: read and archived are {held}, not {bits}")
        assert not self.wrong, "\n".join(self.wrong)

    def is_done(self):
        """No agent has anything to do any more: every turn has its end."""
        self.settled()
        for chat in self.chats.values():
            assert not chat.running, f"{chat.uri}: {chat.running} never ended"
            assert not chat.starts_next, f"{chat.uri}: {chat.next} never started"

    def begins_again(self):
        """The host ended. What every channel has to come back with is kept until it does."""
        self.taken.clear()  # clients count anew
        states = dict(self.asleep)
        for channel in (*self.chats, *self.sessions):
            if self.store.is_open(channel):
                states[channel] = plain(self.store.state(channel))
        self.asleep = {channel: came_back(state, states) for channel, state in states.items()}
        for chat in self.chats.values():
            if chat.active is not None:
                chat.turns.append((chat.active, "error", True))
                chat.active = None
            chat.running.clear()
            chat.displaced.clear()
            chat.starts_next = chat.unread_owed = False
        self.store = None


#: Stands for whatever a field comes back as.
ANY = object()

IDLE, ERROR, ACTIVITY = 1, 2, 1 | 2 | 24


def came_back(state, states):
    """What a state clients were told has to be after a restart; `states` has its chats'."""
    expected = plain(state)
    if "turns" in state:
        for field in ("activity", "backgroundWork", "canvases", "turnsNextCursor"):
            expected.pop(field, None)
        expected["movable"] = ANY
        active = expected.pop("activeTurn", None)
        if active is not None:
            fields = {"duration": ANY, "responseParts": ANY, "usage": ANY, "state": "error"}
            expected["turns"].append({**active, **fields})
            expected["status"] = expected["status"] & ~ACTIVITY | ERROR
            expected["modifiedAt"] = ANY
        return expected
    if "chats" not in state:
        return expected
    for field in ("activity", "inputNeeded"):
        expected.pop(field, None)
    expected["activeClients"] = []
    expected["status"] = expected["customizations"] = expected["creationError"] = ANY
    for row in expected["chats"]:
        row["status"] = row["modifiedAt"] = row["activity"] = row["movable"] = ANY
    held = [states.get(row["resource"]) or {} for row in state["chats"]]
    began = any("activeTurn" in chat or chat.get("turns") for chat in held)
    if state["lifecycle"] == "creating" and began:
        expected["lifecycle"] = "failed"
    return expected


def filled(expected, found):
    """`expected` with what was found in the place of every `ANY`."""
    if isinstance(expected, dict) and isinstance(found, dict):
        return {
            key: found[key] if value is ANY else filled(value, found.get(key))
            for key, value in expected.items()
            if value is not ANY or key in found
        }
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        return [filled(one, other) for one, other in zip(expected, found, strict=True)]
    return expected
