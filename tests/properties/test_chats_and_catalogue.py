"""Whatever is made, moved and closed: a session lists the chats it has, each once, and no other."""

import itertools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent


async def spawns_at_times(turn):
    """Answers; a message of `spawn` has a worker do it, which goes on behind the turn."""
    turn.markdown("answer")
    turn.point(turn.request.turn_id)
    if turn.request.text == "spawn":
        worker = turn.worker(turn.running("task"), "go")
        worker.markdown("at it")


class ChatsAndCatalogue(RuleBasedStateMachine):
    """Client-named sessions and chats, and what a model says of whose they are."""

    chats = Bundle("chats")

    @initialize()
    def start(self):
        agent = ScriptedAgent(
            always=spawns_at_times,
            capabilities={"multipleChats": {"fork": True, "sideChat": True}},
            abilities=AgentAbilities(reopens=True, workers=True),
        )
        conversations = itertools.count(1)
        agent.keeps_as = lambda start: f"conversation-{next(conversations)}"
        self.host = self.make_host(agents={"scripted": agent})
        self.names = itertools.count(1)
        self.sessions = []
        self.owners = {}
        for number in range(2):
            uri = self.host.session(
                f"ahp-session:/s{number}", workingDirectories=[f"file:///{number}"]
            )
            self.sessions.append(uri)
            self.host.turn(self.host.chat(uri))
            self.owners[self.host.chat(uri)] = uri
        self.turn_moves_on()

    def turn_moves_on(self):
        pushed = {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
        self.host.store.dispatch(ROOT, pushed, {"clientId": "w", "clientSeq": 1})

    def session(self, number):
        return self.sessions[number % len(self.sessions)]

    @rule(target=chats, number=st.integers(0, 9), starts=st.booleans())
    def create(self, number, starts):
        chat = f"ahp-chat:/c{next(self.names)}"
        params = {"channel": self.session(number), "chat": chat}
        if starts:
            params["initialMessage"] = {"text": "go", "origin": {"kind": "user"}}
        self.host.service.create_chat(params)
        self.owners[chat] = self.session(number)
        return chat

    @rule(target=chats, source=chats, kind=st.sampled_from(["fork", "sideChat"]))
    def create_out_of_another(self, source, kind):
        chat = f"ahp-chat:/c{next(self.names)}"
        held = self.host.service.find_chat(source)
        turns = [] if held is None else held.state["turns"]
        turn = turns[-1]["id"] if turns else "nobody"
        session = self.owners.get(source, self.sessions[0])
        made_of = {"kind": kind, "chat": source, "turnId": turn}
        params = {"channel": session, "chat": chat, "source": made_of}
        try:
            self.host.service.create_chat(params)
        except RpcError:
            assert not turns
        else:
            self.owners[chat] = session
        return chat

    @rule(chat=chats, text=st.sampled_from(["hello", "spawn"]))
    def talk(self, chat, text):
        if chat in self.owners:
            self.host.turn(chat, text)

    @rule(chat=chats)
    def dispose(self, chat):
        default = chat in self.owners and self.host.chat(self.owners[chat]) == chat
        self.host.wait(self.host.service.dispose_chat(chat))
        if not default:
            self.owners.pop(chat, None)

    @rule(chat=chats, number=st.integers(0, 9), anchor=st.none() | chats)
    def move(self, chat, number, anchor):
        destination = {"kind": "session", "session": self.session(number)}
        if anchor is not None:
            destination["after"] = anchor
        refusal = self.refusal_of(chat, destination)
        assert refusal in (None, "notMovable", "notStarted", "invalidAnchor")
        if refusal is None:
            self.owners[chat] = self.session(number)
            order = self.listed(self.session(number))
            place = order.index(chat)
            assert place == 0 if anchor is None else order[place - 1] == anchor

    @rule(ends=st.sampled_from(["crash", "restart"]))
    def begin_again(self, ends):
        getattr(self.host, ends)()
        self.turn_moves_on()

    @rule()
    def let_time_pass(self):
        self.host.pass_time(2000)

    @rule(chat=chats)
    def move_to_a_session_of_its_own(self, chat):
        if len(self.sessions) > 5:
            return
        refusal = self.refusal_of(chat, {"kind": "newSession"})
        assert refusal in (None, "notMovable", "notStarted")
        if refusal is None:
            self.sessions.append(self.moved_to)
            self.owners[chat] = self.moved_to
            assert self.host.chat(self.moved_to) == chat

    def refusal_of(self, chat, destination):
        """The reason a move is refused for, None where it was made."""
        params = {"channel": chat, "destination": destination}
        try:
            self.moved_to = self.host.service.move_chat(params)["session"]
        except RpcError as refused:
            return refused.data["reason"]
        return None

    def listed(self, session):
        return [row["resource"] for row in self.host.state(session)["chats"]]

    @invariant()
    def a_session_lists_the_chats_it_has(self):
        found = {}
        for uri in self.sessions:
            session = self.host.service.find(uri)
            listed = self.listed(uri)
            assert len(listed) == len(set(listed))
            assert list(session.chats) == listed
            assert session.default_chat == session.state["defaultChat"]
            for chat in listed:
                assert chat not in found
                held = self.host.service.find_chat(chat)
                assert held.owner is session
                assert self.host.store.is_open(chat)
                found[chat] = (uri, held.state.get("origin", {}))
        workers = {chat for chat, (_, origin) in found.items() if origin.get("kind") == "tool"}
        assert {chat: uri for chat, (uri, _) in found.items() if chat not in workers} == self.owners
        for chat in workers:
            uri, origin = found[chat]
            assert found[origin["chat"]][0] == uri

    @invariant()
    def what_may_be_moved_says_so(self):
        for chat, uri in self.owners.items():
            state = self.host.state(chat)
            may = bool(state["turns"]) and "activeTurn" not in state
            assert state.get("movable", False) is (may and chat != self.host.chat(uri))
            [row] = [row for row in self.host.state(uri)["chats"] if row["resource"] == chat]
            assert row.get("movable", False) is state.get("movable", False)

    def teardown(self):
        if hasattr(self, "host"):
            self.host.forget()


def test_a_session_lists_the_chats_it_has_whatever_is_done_with_them(sessions_host):
    class Bound(ChatsAndCatalogue):
        make_host = staticmethod(sessions_host)

    run_state_machine_as_test(
        Bound, settings=settings(max_examples=40, stateful_step_count=20, deadline=None)
    )
