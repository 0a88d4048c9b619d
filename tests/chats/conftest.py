"""One chat on its own: its owner and its store are the test's, so everything can be set."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.chats.actions import ChatActions
from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.chats.rows import row_of
from ahpd.interfaces import AgentAbilities, AgentFailure, ISubscriber, Refusal, StoreFailure
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import check_strict
from ahpd.protocol.merge_patch import merge
from ahpd.protocol.status import IDLE
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind
from ahpd.testing.agents import ConversationsAgent
from ahpd.wire.codec import decode

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
URI = "ahp-chat:/lone"


class Owner:
    """A session with one chat. What it was told is in lists."""

    def __init__(self, agent):
        self.uri = "ahp-session:/lone"
        self.agent = agent
        self.closing = self.archived = self.paused = False
        self.working_directories = ("file:///w",)
        self.config_values = {"mode": "plan"}
        self.client_tools = ()
        self.server_tools = ({"name": "list_chats"},)
        self.refusal = None
        self.preparation = None
        self.told = []
        self.failures = []

    def chat_config(self, chat):
        return self.config_values

    def config_refused(self, action):
        return None

    def mcp_server(self, customization_id):
        return None

    def granted(self, grant):
        self.told.append(("granted", grant))

    def turn_refused(self, chat_archived):
        return self.refusal

    def turn_admitted(self, chat, message):
        pass

    def command_admitted(self, chat, command):
        self.told.append(("command", command))

    async def prepare_turn(self, chat, request):
        if self.preparation is not None:
            return await self.preparation(request)
        return request

    def turn_handed(self):
        self.told.append("handed")

    def turn_unhanded(self, failure):
        self.failures.append(failure)

    def chat_moved(self, chat, envelope):
        pass

    def activity_moved(self):
        pass

    def session_activity(self, words):
        self.told.append(("activity", words))

    def customizations_found(self, chat, found):
        self.told.append(("customizations", chat, found))

    def mcp_server_moved(self, server_id, state):
        self.told.append(("server", server_id, state))

    def linked(self, chat, action):
        return action

    def workers_over(self, chat, turn_id):
        pass

    def workers_run(self, chat):
        return False

    def open_worker(self, chat, turn_id, tool_call_id, message, title):
        raise AgentFailure("no workers here")


class FailingJournal:
    """A journal that cannot keep what `fails` says it cannot; the chat is told of that."""

    def __init__(self):
        self.fails = lambda action: False
        self.lone = None
        self.unkept = 0

    def record(self, envelope):
        if self.fails(envelope.action):
            raise StoreFailure("/data/sessions.db: No space left on device")

    def lost(self, envelope, failure):
        self.lone.chat.unsaved(envelope, failure)
        return False

    def said_unsaved(self):
        self.unkept += 1

    def amended(self, fields):
        pass


@implementer(ISubscriber)
class Reader:
    """Keeps what is said; `on` is called with each action, in the delivery itself."""

    def __init__(self):
        self.said = []
        self.on = lambda action: None

    def deliver(self, envelope):
        body = decode(envelope.body)
        action = body["action"]
        if "rejectionReason" not in body and "origin" not in body:
            check_strict(action, ACTIONS[action["type"]].shape, action["type"])
        self.said.append(body)
        self.on(action)

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


class LoneChat:
    """A chat, with what a test asks of it in short words."""

    def __init__(self, facts=None, turns=(), idle_release=0, journal=None, **abilities):
        self.agent = ConversationsAgent(abilities=AgentAbilities(**abilities))
        self.owner = Owner(self.agent)
        self.clock = Clock()
        self.store = ChannelStore()
        self.notes = []
        self.note_failure = None
        ids = itertools.count(1)
        self._seqs = itertools.count(1)
        self._turns = itertools.count(1)
        self.world = Surroundings(
            store=self.store,
            clock=self.clock,
            now=lambda: START + timedelta(seconds=self.clock.seconds()),
            ids=lambda: f"id-{next(ids)}",
            idle_release=idle_release,
            note=self._note,
        )
        state = {
            "resource": URI,
            "title": "",
            "status": IDLE,
            "modifiedAt": self.now(),
            "turns": list(turns),
        }
        self.chat = Chat(self.world, self.owner, URI, row_of(state), facts)
        if journal is not None:
            journal.lone = self
        self.store.open(URI, ChannelKind.CHAT, state, self.chat.observe, journal)
        self.reader = Reader()
        self.store.subscribe(URI, self.reader)
        self.actions = ChatActions(self.store, lambda uri: self.chat, lambda chat: True)

    def _note(self, channel, facts):
        assert channel == URI
        if self.note_failure is not None:
            raise self.note_failure
        self.notes.append((facts, len(self.reader.said)))

    def now(self):
        moment = START + timedelta(seconds=self.clock.seconds())
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    # -- what clients do ---------------------------------------------------------

    def dispatch(self, kind, /, **fields):
        """A client's action; the words of its refusal, or None."""
        origin = {"clientId": "client-1", "clientSeq": next(self._seqs)}
        try:
            self.actions.handle(URI, {"type": kind, **fields}, origin)
        except Refusal as refusal:
            return refusal.reason
        return None

    def message(self, text="hello"):
        return {"text": text, "origin": {"kind": "user"}}

    def turn(self, text="hello", turn_id=None):
        turn_id = turn_id or f"turn-{next(self._turns)}"
        refused = self.dispatch(
            "chat/turnStarted", turnId=turn_id, startedAt=self.now(), message=self.message(text)
        )
        return turn_id if refused is None else refused

    def stop(self, turn_id=None, duration=1):
        turn_id = turn_id or self.state["activeTurn"]["id"]
        return self.dispatch("chat/turnCancelled", turnId=turn_id, duration=duration)

    def resume(self, turn_id):
        return self.dispatch("chat/turnResume", turnId=turn_id)

    def steer(self, identifier, text="steer"):
        return self.pend(identifier, text, "steering")

    def pend(self, identifier, text="queued", kind="queued"):
        return self.dispatch(
            "chat/pendingMessageSet", kind=kind, id=identifier, message=self.message(text)
        )

    def take_back(self, identifier, kind="steering"):
        return self.dispatch("chat/pendingMessageRemoved", kind=kind, id=identifier)

    def truncate(self, turn_id=None):
        named = {} if turn_id is None else {"turnId": turn_id}
        return self.dispatch("chat/truncated", **named)

    # -- what there is to read ---------------------------------------------------

    @property
    def state(self):
        return plain(self.store.state(URI))

    @property
    def turns(self):
        return self.state["turns"]

    @property
    def backend(self):
        """The conversation that was opened last."""
        return self.agent.chats[-1]

    def said(self, *kinds):
        return [
            envelope["action"]
            for envelope in self.reader.said
            if "rejectionReason" not in envelope and envelope["action"]["type"] in kinds
        ]

    def kinds(self):
        return [envelope["action"]["type"].removeprefix("chat/") for envelope in self.reader.said]

    def texts(self):
        """What the backend was asked, turn by turn."""
        return [turn.text for turn in self.agent.turns]

    def steered(self):
        """The ids of what each conversation was offered, in order."""
        return [steered.id for chat in self.agent.chats for steered in chat.steered]

    def facts(self):
        """What was noted, laid over each other."""
        facts = {}
        for changes, _ in self.notes:
            merge(facts, changes)
        return facts

    def wait(self, coroutine):
        results = []
        Deferred.fromCoroutine(coroutine).addBoth(results.append)
        assert results, "not done yet"
        return results[0]


@pytest.fixture
def failing_journal():
    """Makes journals for `lone_chat(journal=...)`."""
    return FailingJournal


@pytest.fixture
def lone_chat():
    """Makes chats on their own: `lone_chat(facts=..., steering=True, ...)`, abilities by name."""
    return LoneChat
