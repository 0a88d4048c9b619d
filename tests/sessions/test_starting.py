"""Sessions and chats that plugins start for an owner (PLUGINS.txt, "Starting a session as an
owner" and "Starting a chat on a backend")."""

import pytest
from zope.interface import implementer

from ahpd.extensions.access import OpenAccess
from ahpd.interfaces import (
    AgentAbilities,
    ChatRequest,
    IAccess,
    Owned,
    SessionConfigKey,
    StoreFailure,
)
from ahpd.interfaces import SessionRequest as Request
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.sessions.starting import SessionStarts, begin_session, begin_turn
from ahpd.testing.agents import ConversationsAgent, ScriptedAgent
from ahpd.testing.failing_store import FailingStore

S1 = "ahp-session:/s1"
ABILITIES = AgentAbilities(reopens=True)


@implementer(IAccess)
class Directory(OpenAccess):
    """A directory of users who may do nothing but what `grants` says."""

    def __init__(self, **grants):
        self.grants = grants
        self.asked = []

    def owner(self, reader):
        return "root:here"

    def may(self, owner, grant):
        self.asked.append((owner, grant))
        name = "" if owner is None else owner.partition(":")[2]
        return None if grant in self.grants.get(name, ()) else f"{name} may not {grant} here"


def agent_of(name, **properties):
    agent = ConversationsAgent(name, abilities=ABILITIES)
    agent.keeps_as = lambda start: f"{name}-{start.chat}"
    agent.schema = {"type": "object", "properties": properties}
    return agent


VOICE = {"type": "string", "title": "Voice", "enum": ["plain", "warm"], "default": "warm"}
MODE = {"type": "string", "title": "Mode", "default": "ask", "sessionMutable": True}


@pytest.fixture
def host(sessions_host):
    agents = {"first": agent_of("first", mode=MODE), "other": agent_of("other", voice=VOICE)}
    host = sessions_host(agents=agents)
    host.first, host.other = agents["first"], agents["other"]
    return host


@pytest.fixture
def starts(host):
    return SessionStarts(host.service, OpenAccess())


def start(host, starts, **request):
    return host.wait(starts.start_session(Request(**{"owner": "user:ada", **request}), "motion"))


def start_chat(host, starts, session, **request):
    return host.wait(starts.start_chat(session, ChatRequest(**request), "motion"))


# -- sessions ---------------------------------------------------------------------------


def test_a_session_is_started_with_its_first_turn_its_model_and_its_title(host, starts):
    uri = start(
        host,
        starts,
        provider="other",
        working_directory="/srv/bots/mo tion",
        config={"voice": "plain"},
        model={"id": "m1"},
        title=" Motion ",
        prompt="You review.",
    )
    state = host.state(uri)
    assert uri.startswith("ahp-session:/id-")
    assert state["provider"] == "other"
    assert state["title"] == "Motion"
    assert state["workingDirectories"] == ["file:///srv/bots/mo%20tion"]
    assert state["config"]["values"]["voice"] == "plain"
    [turn] = host.turns(host.chat(uri))
    assert turn["message"]["text"] == "You review."
    assert host.other.turns[0].model == {"id": "m1"}
    assert [row["resource"] for row in host.listing({})["items"]] == [uri]


def test_what_is_left_out_is_what_a_session_with_nothing_said_has(host, starts):
    uri = start(host, starts)
    assert host.state(uri)["provider"] == "first"
    assert "workingDirectories" not in host.state(uri)
    assert host.turns(host.chat(uri)) == []
    assert host.first.chats == []


def test_a_file_uri_is_a_working_directory_too(host, starts):
    uri = start(host, starts, working_directory="file:///srv/x")
    assert host.state(uri)["workingDirectories"] == ["file:///srv/x"]


@pytest.mark.parametrize("directory", ["srv/x", "https://x/y", ""])
def test_another_working_directory_is_refused(host, starts, directory):
    with pytest.raises(RpcError, match="is no absolute path and no file: URI"):
        start(host, starts, working_directory=directory)
    assert len(host.service) == 0


def test_the_owner_is_asked_about_first_in_the_words_of_the_door(host):
    access = Directory(grace=["session:create"])
    starts = SessionStarts(host.service, access)
    with pytest.raises(RpcError) as refused:
        start(host, starts, provider="unknown")
    assert refused.value.code == errors.PERMISSION_DENIED
    assert refused.value.message == "ada may not session:create here"
    assert access.asked == [("user:ada", "session:create")]
    assert start(host, starts, owner="user:grace").startswith("ahp-session:/")


@pytest.mark.parametrize("field", ["prompt", "title"])
def test_words_that_are_blank_are_refused(host, starts, field):
    with pytest.raises(RpcError, match=f"{field}: is blank"):
        start(host, starts, **{field: " \n"})
    assert len(host.service) == 0


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"provider": "none"}, "No agent of provider 'none'"),
        ({"provider": "other", "config": {"voice": "loud"}}, "config.voice: found 'loud'"),
        ({"config": {"pitch": 3}}, "config.pitch: is no key of agent first"),
    ],
)
def test_what_a_client_would_be_refused_is_refused(host, starts, request_, words):
    with pytest.raises(RpcError, match=words):
        start(host, starts, **request_)
    assert len(host.service) == 0


HALF = "half a character"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"prompt": "bad \ud800 text"}, f"prompt: .*{HALF}"),
        ({"title": "t\ud800"}, f"title: .*{HALF}"),
        ({"working_directory": "/srv/\ud800"}, f"workingDirectory: .*{HALF}"),
        ({"working_directory": "file:///srv/\ud800"}, f"workingDirectory: .*{HALF}"),
        ({"config": {"mode": "\ud800"}}, rf"config\.mode: .*{HALF}"),
        ({"config": {"\ud800": 1}}, f"a key of config: .*{HALF}"),
        ({"config": {"permissions": {"deny": ["\ud800"]}}}, r"config\.permissions\.deny\[0\]"),
        ({"config": {"mode": object()}}, r"config\.mode: expected a JSON value"),
        ({"config": [1]}, "config: expected an object, found a list"),
        ({"model": {"id": "\ud800"}}, rf"model\.id: .*{HALF}"),
        ({"model": {"x": 1}}, r"model\.id: expected a string"),
        ({"model": "m1"}, "model: expected an object"),
        ({"prompt": 5}, "prompt: expected a string, found a number"),
        ({"title": 5}, "title: expected a string, found a number"),
        ({"working_directory": 5}, "workingDirectory: expected a string, found a number"),
        ({"provider": 5}, "provider: expected a string, found a number"),
        ({"owner": ""}, "owner: found '', expected user:<id> or root:<host>"),
        ({"owner": "bogus"}, "owner: found 'bogus'"),
        ({"owner": "user:"}, "owner: found 'user:'"),
        ({"owner": "team:ops"}, "owner: found 'team:ops'"),
        ({"owner": 5}, "owner: expected a string, found a number"),
        ({"owner": "user:\ud800"}, f"owner: .*{HALF}"),
    ],
)
def test_a_field_that_cannot_be_said_or_read_is_refused_by_its_name(host, starts, request_, words):
    with pytest.raises(RpcError, match=words) as refused:
        start(host, starts, **{"prompt": "hi", **request_})
    assert refused.value.code == errors.INVALID_PARAMS
    refused.value.message.encode()
    assert len(host.service) == 0
    assert host.first.chats == []


def test_a_session_is_started_with_a_request_and_nothing_else(host, starts):
    with pytest.raises(RpcError, match="is started with a SessionRequest, found dict"):
        host.wait(starts.start_session({"owner": "user:ada"}, "motion"))
    assert len(host.service) == 0


def test_a_folder_whose_name_is_no_utf_8_is_a_working_directory(host, starts):
    uri = start(host, starts, working_directory="/srv/\udc80")
    assert host.state(uri)["workingDirectories"] == ["file:///srv/%80"]


def test_what_a_plugin_does_to_its_request_later_moves_nothing(host, starts):
    rules = {"deny": ["bash"]}
    uri = start(host, starts, config={"permissions": rules})
    rules["deny"].clear()
    assert host.state(uri)["config"]["values"]["permissions"] == {"deny": ["bash"]}


def test_a_message_that_cannot_be_said_begins_no_turn(host):
    session = host.session()
    chat = host.service.find_chat(host.chat(session))
    with pytest.raises(RpcError, match="message: cannot be said"):
        begin_turn(chat, {"text": "\ud800", "origin": {"kind": "user"}})
    assert not chat.runs
    assert host.first.chats == []


@pytest.mark.parametrize("session", [5, None, "ahp-session:/\ud800"])
def test_what_names_no_session_is_refused_in_words(host, starts, session):
    for call in (
        starts.session_kept(session),
        starts.session_owner(session),
        starts.start_chat(session, ChatRequest(), "motion"),
    ):
        with pytest.raises(RpcError, match="session: expected a") as refused:
            host.wait(call)
        assert refused.value.code == errors.INVALID_PARAMS


class FailsOnce(FailingStore):
    """Refuses one write, the one that comes when `spare` is used up, and takes those after it."""

    def _take_space(self):
        if self.spare is not None:
            self.spare -= 1
            if self.spare == 0:
                self.spare = None
                raise StoreFailure(self.words)


def test_nothing_is_left_of_a_session_that_could_not_be_kept(sessions_host):
    refusals = 0
    for number in range(1, 9):
        store = FailsOnce()
        host = sessions_host(kept=store)
        starts = SessionStarts(host.service, OpenAccess())
        store.spare = number
        try:
            uri = start(host, starts, prompt="hello")
        except RpcError:
            refusals += 1
            assert len(host.service) == 0
            assert [row for row in store.sessions() if row.id] == []
        else:
            assert host.turns(host.chat(uri))[0]["message"]["text"] == "hello"
    assert 3 <= refusals < 8


def test_nothing_is_left_of_a_chat_whose_first_turn_could_not_be_kept(sessions_host):
    refusals = 0
    for number in range(1, 9):
        store = FailsOnce()
        host = sessions_host(kept=store)
        host.session()
        starts = SessionStarts(host.service, OpenAccess())
        store.spare = number
        try:
            chat = start_chat(host, starts, S1, prompt="hello")
        except RpcError:
            refusals += 1
            assert len(host.state(S1)["chats"]) == 1
            assert len(host.service.registry.chats()) == 1
        else:
            assert host.turns(chat)[0]["message"]["text"] == "hello"
    assert 2 <= refusals < 8


def test_whose_a_session_is_is_known_after_a_restart_and_shown_where_there_are_users(host, starts):
    uri = start(host, starts, prompt="hello")
    assert host.wait(starts.session_owner(uri)) == "user:ada"
    assert "_meta" not in host.state(uri)
    assert "_meta" not in host.turns(host.chat(uri))[0]["message"]
    host.restart()
    again = SessionStarts(host.service, OpenAccess())
    assert host.wait(again.session_owner(uri)) == "user:ada"


def test_a_host_that_knows_its_users_shows_whose_it_is_and_who_spoke(host):
    starts = SessionStarts(host.service, Directory(ada=["session:create"]))
    uri = start(host, starts, prompt="hello")
    assert host.state(uri)["_meta"] == {"ahpd.owner": "user:ada"}
    assert host.listing({})["items"][0]["_meta"] == {"ahpd.owner": "user:ada"}
    assert host.turns(host.chat(uri))[0]["message"]["_meta"] == {"ahpd.sender": "user:ada"}
    host.restart()
    assert host.state(uri)["_meta"] == {"ahpd.owner": "user:ada"}


def test_a_session_nobody_was_named_for_is_nobodys(host, starts):
    host.session()
    assert host.wait(starts.session_owner(S1)) is None
    assert host.wait(starts.session_owner("ahp-session:/none")) is None


def test_this_host_keeps_its_sessions_awake_or_asleep_and_no_others(host, starts):
    uri = start(host, starts, prompt="hello")
    assert host.wait(starts.session_kept(uri)) is True
    assert host.wait(starts.session_kept("ahp-session:/none")) is False
    host.restart()
    again = SessionStarts(host.service, OpenAccess())
    assert host.wait(again.session_kept(uri)) is True
    assert host.service.registry.chats() == ()


def test_a_start_from_inside_of_a_delivery_comes_behind_it(host, starts):
    host.session()
    found = []

    def begin():
        found.append(starts.start_session(Request(owner="user:ada", prompt="hi"), "motion"))

    host.store.behind(begin)
    uri = host.wait(found[0])
    assert host.turns(host.chat(uri))[0]["message"]["text"] == "hi"


def test_tools_and_plugins_take_the_one_road(host):
    session = host.wait(
        begin_session(
            host.service,
            {"channel": S1},
            title="T",
            message={"text": "hi", "origin": {"kind": "agent"}},
            facts={"spawned": {"depth": 1}},
        )
    )
    assert session.state["title"] == "T"
    assert host.service.registry.world.facts(S1) == {"spawned": {"depth": 1}}


# -- chats -------------------------------------------------------------------------------


@pytest.fixture
def session(host):
    return host.session(config={"mode": "act", "autoApprove": "autoApprove"})


def test_a_chat_is_started_on_the_sessions_own_backend(host, starts, session):
    chat = start_chat(host, starts, session, title="Back", model="m2", prompt="Answer.")
    state = host.state(chat)
    assert state["title"] == "Back"
    assert "provider" not in state
    assert host.first.turns[0].model == {"id": "m2"}
    assert host.first.chats[0].start.config["mode"] == "act"
    assert chat in [row["resource"] for row in host.state(session)["chats"]]


def test_values_of_its_own_are_held_against_the_schema_and_laid_over(host, starts, session):
    with pytest.raises(RpcError, match=r"config\.mode: found 3, expected a value of type string"):
        start_chat(host, starts, session, config={"mode": 3})
    assert len(host.state(session)["chats"]) == 1
    start_chat(host, starts, session, config={"mode": "plan"}, prompt="x")
    assert host.first.chats[0].start.config["mode"] == "plan"
    assert host.state(session)["config"]["values"]["mode"] == "act"


def test_a_chat_of_another_backend_runs_there_with_its_own_settings(host, starts, session):
    host.service.keys.contributed(
        {
            "computer": Owned(
                "machines",
                SessionConfigKey(key="computer", schema={"type": "string", "title": "Computer"}),
            )
        }
    )
    uri = host.session("ahp-session:/s2", config={"mode": "act", "computer": "computer://box"})
    chat = start_chat(
        host,
        starts,
        uri,
        provider="other",
        config={"voice": "plain", "computer": "computer://elsewhere"},
        prompt="Answer.",
    )
    assert host.state(chat)["provider"] == "other"
    row = next(row for row in host.state(uri)["chats"] if row["resource"] == chat)
    assert row["provider"] == "other"
    [opened] = host.other.chats
    assert opened.start.config == {"voice": "plain", "computer": "computer://box"}
    assert host.first.chats == []
    assert host.state(uri)["provider"] == "first"


def test_the_defaults_of_the_other_backend_are_filled_in(host, starts, session):
    start_chat(host, starts, session, provider="other", prompt="x")
    assert host.other.chats[0].start.config == {"voice": "warm", "autoApprove": "autoApprove"}


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"provider": "none"}, "No agent of provider 'none'"),
        ({"provider": "other", "config": {"voice": "loud"}}, "config.voice: found 'loud'"),
        ({"provider": "other", "config": {"mode": "act"}}, "config.mode: is no key of agent other"),
        ({"prompt": " "}, "prompt: is blank"),
        ({"title": ""}, "title: is blank"),
        ({"prompt": "bad \ud800 text"}, f"prompt: .*{HALF}"),
        ({"title": "\ud800"}, f"title: .*{HALF}"),
        ({"title": 5}, "title: expected a string, found a number"),
        ({"model": {"id": "m"}, "prompt": "x"}, "model: expected a string, found an object"),
        ({"model": " ", "prompt": "x"}, "model: is blank"),
        ({"config": {"mode": "\ud800"}}, rf"config\.mode: .*{HALF}"),
        ({"config": 5}, "config: expected an object, found a number"),
        ({"provider": 5}, "provider: expected a string"),
    ],
)
def test_what_the_backend_refuses_makes_no_chat(host, starts, session, request_, words):
    with pytest.raises(RpcError, match=words):
        start_chat(host, starts, session, **request_)
    assert len(host.state(session)["chats"]) == 1


def test_every_start_of_it_goes_back_to_that_backend(host, starts, session):
    chat = start_chat(host, starts, session, provider="other", prompt="one")
    host.service.find_chat(chat).refresh_backend()
    host.turn(chat, "two")
    assert [turn.message["text"] for turn in host.other.turns] == ["one", "two"]
    assert host.other.chats[-1].start.resume.conversation == f"other-{chat}"
    host.restart()
    host.turn(chat, "three")
    assert [turn.message["text"] for turn in host.other.turns] == ["one", "two", "three"]
    assert host.other.chats[-1].start.resume.conversation == f"other-{chat}"
    assert host.other.chats[-1].start.config["voice"] == "warm"
    host.dispatch(chat, "chat/truncated", turnId=host.turns(chat)[0]["id"])
    host.turn(chat, "four")
    assert host.other.turns[-1].message["text"] == "four"
    assert host.first.chats == []


def test_what_moves_in_the_session_reaches_it_where_it_is_no_agents(host, starts, session):
    chat = start_chat(host, starts, session, provider="other", prompt="one")
    host.turn(host.chat(session), "hi")
    host.dispatch(session, "session/configChanged", config={"mode": "plan"})
    host.turn(chat, "two")
    assert len(host.other.chats) == 1  # a setting of the first agent's is nothing to it
    host.dispatch(session, "session/configChanged", config={"autoApprove": "default"})
    host.service.find_chat(chat).refresh_backend()
    host.turn(chat, "three")
    assert host.other.chats[-1].start.config == {"voice": "warm", "autoApprove": "default"}


def test_it_is_not_movable_and_its_fork_stays_on_its_backend(host, starts, session):
    host.other.capabilities = {"multipleChats": {"fork": True}}
    host.store.dispatch(
        "ahp-root://", {"type": "root/configChanged", "config": {"chatMoves.enabled": True}}
    )
    chat = start_chat(host, starts, session, provider="other", prompt="one")
    assert not host.state(chat).get("movable")
    with pytest.raises(RpcError, match="another agent than its session"):
        host.service.move_chat({"channel": chat, "destination": {"kind": "newSession"}})
    turn = host.turns(chat)[0]["id"]
    source = {"kind": "fork", "chat": chat, "turnId": turn}
    host.service.create_chat({"channel": session, "chat": "ahp-chat:/fork", "source": source})
    host.turn("ahp-chat:/fork", "on")
    assert host.state("ahp-chat:/fork")["provider"] == "other"
    assert host.other.turns[-1].message["text"] == "on"


def test_its_conversation_is_deleted_at_its_own_backend(sessions_host):
    agents = {"first": agent_of("first"), "other": agent_of("other")}
    host = sessions_host(agents=agents, delete_closed=True)
    starts = SessionStarts(host.service, OpenAccess())
    host.session()
    one = start_chat(host, starts, S1, provider="other", prompt="one")
    two = start_chat(host, starts, S1, provider="other", prompt="two")
    host.turn(host.chat(), "hi")
    host.wait(host.service.dispose_chat(one))
    assert agents["other"].deleted == [f"other-{one}"]
    host.wait(host.service.dispose(S1))
    assert f"other-{two}" in agents["other"].deleted
    [own] = agents["first"].deleted
    assert own.startswith("first-")


def test_whose_session_it_is_is_asked_about_first(host):
    open_starts = SessionStarts(host.service, OpenAccess())
    uri = start(host, open_starts)
    access = Directory(ada=["session:create"])
    starts = SessionStarts(host.service, access)
    with pytest.raises(RpcError) as refused:
        start_chat(host, starts, uri, prompt="x")
    assert refused.value.code == errors.PERMISSION_DENIED
    assert refused.value.message == "ada may not chat:create here"
    assert access.asked == [("user:ada", "chat:create")]
    assert len(host.state(uri)["chats"]) == 1


def test_a_session_nobody_has_and_one_that_is_archived_get_no_chat(host, starts, session):
    with pytest.raises(RpcError) as refused:
        start_chat(host, starts, "ahp-session:/none", prompt="x")
    assert refused.value.code == errors.SESSION_NOT_FOUND
    host.dispatch(session, "session/isArchivedChanged", isArchived=True)
    with pytest.raises(RpcError, match="archived"):
        start_chat(host, starts, session, prompt="x")
    assert len(host.state(session)["chats"]) == 1


def test_a_session_that_is_asleep_is_woken_for_it(host, starts, session):
    host.turn(host.chat(session))
    host.restart()
    again = SessionStarts(host.service, OpenAccess())
    chat = start_chat(host, again, session, prompt="x")
    assert host.turns(chat)[0]["message"]["text"] == "x"


def test_an_agent_that_goes_ends_the_chats_that_are_on_it_and_no_others(sessions_host):
    agents = {"first": agent_of("first"), "other": agent_of("other")}
    host = sessions_host(agents=agents)
    starts = SessionStarts(host.service, OpenAccess())
    host.session()
    chat = start_chat(host, starts, S1, provider="other", prompt="one")
    host.turn(host.chat(), "hi")
    gone = agents.pop("other")
    host.wait(host.service.agents_moved.end_sessions_of("other"))
    assert gone.chats[0].closed
    assert not agents["first"].chats[0].closed
    host.turn(chat, "two")
    assert host.turns(chat)[-1]["state"] == "error"
    agents["other"] = agent_of("other")
    host.service.agents_moved.came("other")
    host.turn(chat, "three")
    assert agents["other"].turns[-1].message["text"] == "three"


def test_a_scripted_agent_without_a_second_chat_is_no_reason(sessions_host):
    host = sessions_host(agents={"scripted": ScriptedAgent()})
    host.session()
    starts = SessionStarts(host.service, OpenAccess())
    assert start_chat(host, starts, S1).startswith("ahp-chat:/")
