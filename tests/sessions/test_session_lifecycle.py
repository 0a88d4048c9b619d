"""Sessions made, announced, failed and disposed of (AHP.txt, Commands and `session/ready`)."""

import contextlib

import pytest
from twisted.internet.defer import CancelledError, Deferred

from ahpd.interfaces import AgentFailure
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.status import IDLE
from ahpd.protocol.uris import ROOT
from ahpd.sessions.service import LONGEST_CLOSE
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent

S1 = "ahp-session:/s1"


@pytest.fixture
def host(sessions_host):
    return sessions_host()


def test_a_new_session_is_held_for_its_client_and_announced_to_nobody(host):
    host.session(workingDirectories=["file:///w"], activeClient={"clientId": "client-1"})
    state = host.state(S1)
    [row] = state.pop("chats")
    assert state.pop("config")["values"] == {}
    assert state == {
        "provider": "scripted",
        "title": "",
        "status": IDLE,
        "lifecycle": "creating",
        "activeClients": [{"clientId": "client-1"}],
        "defaultChat": row["resource"],
        "workingDirectories": ["file:///w"],
    }
    assert row["resource"].startswith("ahp-chat:/")
    assert host.state(row["resource"])["origin"] == {"kind": "user"}
    assert host.listing({}) == {"items": []}
    assert host.told() == []
    assert host.said() == []


def test_its_first_turn_announces_it_and_then_makes_it_ready(host):
    host.session()
    chat = host.chat()
    host.agent.then(_seen(host))
    host.turn(chat, "Do it")
    [added] = host.told("root/sessionAdded")
    assert added["channel"] == "ahp-root://"
    assert added["summary"]["resource"] == S1
    assert added["summary"]["title"] == "Do it"
    assert added["summary"]["defaultChat"] == chat
    assert [row["resource"] for row in added["summary"]["chats"]] == [chat]
    assert host.kinds(S1).count("session/ready") == 1
    assert host.state(S1)["lifecycle"] == "ready"
    host.turn(chat)
    assert len(host.told("root/sessionAdded")) == 1
    assert host.kinds(S1).count("session/ready") == 1


def _seen(host):
    async def script(turn):
        assert host.told("root/sessionAdded") != []
        assert host.state(S1)["lifecycle"] == "ready"

    return script


def test_a_first_message_its_backend_never_had_fails_the_creation(host):
    host.session()
    host.agent.open_failure = AgentFailure("no program", "agentMissing")
    host.turn(host.chat())
    kinds = host.kinds()
    assert kinds.index("chat/error") < kinds.index("session/creationFailed")
    assert host.state(S1)["lifecycle"] == "failed"
    assert host.state(S1)["creationError"] == {
        "errorType": "agentMissing",
        "message": "no program",
    }
    assert len(host.told("root/sessionAdded")) == 1
    host.agent.open_failure = None
    host.turn(host.chat())
    assert host.state(S1)["lifecycle"] == "ready"
    assert len(host.told("root/sessionAdded")) == 1


def test_asked_for_again_it_is_kept_as_it_is(host):
    host.session()
    host.turn(host.chat())
    before = host.state(S1)
    host.session()
    host.session(provider="scripted", config={"no": 1})
    assert host.state(S1) == before


@pytest.mark.parametrize(
    ("uri", "provider"),
    [("scripted:/s1", None), ("ahp-session:/s1", "other"), ("ahp-session:s1", None)],
)
def test_an_id_held_under_another_name_or_agent_is_refused(sessions_host, uri, provider):
    host = sessions_host(agents={"scripted": ScriptedAgent(), "other": ScriptedAgent("other")})
    host.session(provider="scripted")
    with pytest.raises(RpcError) as refused:
        host.session(uri, provider=provider)
    assert refused.value.code == errors.SESSION_ALREADY_EXISTS


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"provider": "none"}, errors.PROVIDER_NOT_FOUND, "'none'"),
        (
            {"activeClient": {"clientId": "client-2"}},
            errors.INVALID_PARAMS,
            "activeClient.clientId",
        ),
        ({"activeClient": {}}, errors.INVALID_PARAMS, "activeClient.clientId"),
        ({"workingDirectories": ["file:///a", "/b"]}, errors.INVALID_PARAMS, "Directories[1]"),
        ({"config": {"what": 1}}, errors.INVALID_PARAMS, "config.what"),
    ],
)
def test_a_wrong_request_makes_nothing(host, params, code, words):
    with pytest.raises(RpcError, match=words.replace("[", r"\[")) as refused:
        host.session(**params)
    assert refused.value.code == code
    assert len(host.service) == 0


@pytest.mark.parametrize("uri", ["ahp-chat:/x", "no uri", "ahp-session:/", "ahp-root://", ""])
def test_a_uri_that_can_name_no_session_is_refused(host, uri):
    with pytest.raises(RpcError, match="names no session"):
        host.session(uri)


def test_the_agent_is_the_schemes_or_the_first_where_none_is_named(sessions_host):
    host = sessions_host(agents={"one": ScriptedAgent("one"), "two": ScriptedAgent("two")})
    host.session("two:/a")
    host.session("mine:/b")
    assert host.state("two:/a")["provider"] == "two"
    assert host.state("mine:/b")["provider"] == "one"


def test_a_host_with_no_agent_says_so(sessions_host):
    with pytest.raises(RpcError, match="none") as refused:
        sessions_host(agents={}).session()
    assert refused.value.code == errors.PROVIDER_NOT_FOUND


def test_every_spelling_of_its_id_names_the_session(host):
    host.session("mine:/s%201")
    for uri in ("mine:/s%201", "mine:s 1", "ahp-session:/s%201", "scripted:/s%201"):
        assert host.service.channels.resolve(uri) == "mine:/s%201"
    assert host.service.channels.resolve("file:/s%201") is None
    assert host.service.channels.resolve("ahp-session:/other") is None
    assert (
        host.service.channels.resolve("ahp-session:/s%201/annotations") == "mine:/s%201/annotations"
    )
    host.dispatch("ahp-session:/s%201", "session/titleChanged", title="T")
    assert host.kinds("mine:/s%201")[0] == "session/titleChanged"


def test_a_derived_name_is_no_chat_of_a_session_whose_chat_is_opaque(host):
    from ahpd.protocol.uris import default_chat

    host.session()
    assert host.service.channels.resolve(default_chat(S1)) is None
    assert host.service.channels.resolve(default_chat("ahp-session:/nobody")) is None
    assert host.service.channels.resolve(host.chat()) == host.chat()


def test_marks_are_held_from_the_first_time_they_are_asked_for(host):
    host.session()
    marks = S1 + "/annotations"
    host.service.channels.ready(marks)
    assert host.state(marks) == {"annotations": []}
    host.service.channels.ready("ahp-session:/nobody/annotations")


# -- disposing --------------------------------------------------------------------


def test_a_disposed_session_ends_its_turns_and_is_gone(host):
    host.session()
    chat = host.chat()
    host.agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.forget()
    host.wait(host.service.dispose(S1))
    assert host.kinds(chat)[0] == "chat/turnCancelled"
    assert host.told("root/sessionRemoved") == [{"channel": "ahp-root://", "session": S1}]
    assert host.said("ahp-root://")[-1]["activeSessions"] == 0
    assert host.agent.chats[0].stops == [turn]
    assert host.agent.chats[0].closed
    for uri in (S1, chat):
        assert not host.store.is_open(uri)
        assert host.service.channels.resolve(uri) is None
    host.clock.advance(10)
    assert host.told("root/sessionSummaryChanged") == []
    assert host.clock.getDelayedCalls() == []


def test_a_session_never_announced_goes_without_a_word(host):
    host.session()
    host.wait(host.service.dispose(S1))
    assert host.told() == []
    host.session()
    assert host.state(S1)["lifecycle"] == "creating"


def test_a_session_nobody_has_is_not_disposed_of(host):
    with pytest.raises(RpcError, match="Session not found: ahp-session:/s1") as refused:
        host.wait(host.service.dispose(S1))
    assert refused.value.code == errors.SESSION_NOT_FOUND


def test_disposing_waits_for_the_backend_and_is_over_for_everybody_else(host):
    host.session()
    host.turn(host.chat())
    host.agent.close_gate = Gate()
    done = Deferred.fromCoroutine(host.service.dispose(S1))
    assert not done.called
    with pytest.raises(RpcError):
        host.wait(host.service.dispose(S1))
    host.agent.close_gate.open()
    assert done.called


# -- the end ----------------------------------------------------------------------


def test_a_host_that_goes_interrupts_what_runs_and_starts_nothing(host):
    host.session()
    host.agent.then(scripts.never_ends)
    host.turn(host.chat())
    stopped = host.service.stopService()
    assert stopped.called
    first = host.turns(host.chat())[0]["responseParts"][-1]["error"]
    assert first["errorType"] == "executionInterrupted"
    assert host.agent.chats[0].closed
    host.turn(host.chat())
    second = host.turns(host.chat())[1]["responseParts"][-1]["error"]
    assert second["errorType"] == "hostClosing"
    assert len(host.agent.turns) == 1
    with pytest.raises(RpcError):
        host.session("ahp-session:/s2")


def test_a_stop_returns_when_every_backend_is_down(host):
    host.session()
    host.turn(host.chat())
    host.agent.close_gate = Gate()
    stopped = host.service.stopService()
    assert not stopped.called
    host.agent.close_gate.open()
    assert stopped.called


def what_came(host):
    """What a watcher of everything was told, notifications among the actions, in order."""
    order = []
    watcher = host.store.watcher
    deliver, notify = watcher.deliver, watcher.notify

    def delivered(envelope):
        order.append(envelope.type)
        deliver(envelope)

    def notified(channel, method, frame):
        order.append(method)
        notify(channel, method, frame)

    watcher.deliver, watcher.notify = delivered, notified
    return order


def test_a_queued_first_message_announces_a_session_that_has_its_title_and_its_turn(host):
    host.session()
    order = what_came(host)
    host.queue(host.chat(), "q1", "Mend the roof")
    assert order.index("chat/turnStarted") < order.index("root/sessionAdded")
    assert order.index("session/ready") == order.index("root/sessionAdded") + 1
    [added] = host.told("root/sessionAdded")
    assert added["summary"]["title"] == "Mend the roof"


def test_a_queued_first_message_that_fails_is_said_before_the_session_is_announced(host):
    host.session()
    host.agent.open_failure = AgentFailure("no program")
    order = what_came(host)
    host.queue(host.chat(), "q1")
    said = [kind for kind in order if kind in ("chat/error", "session/creationFailed")]
    assert said == ["chat/error", "session/creationFailed"]
    assert order.index("root/sessionAdded") == order.index("session/creationFailed") + 1


def test_an_agent_of_one_folder_works_in_the_first_that_is_named(host):
    host.session(workingDirectories=["file:///a", "file:///b"])
    assert host.state(S1)["workingDirectories"] == ["file:///a"]


def test_an_agent_of_several_folders_is_given_each_once(host):
    host.agent.capabilities["multipleWorkingDirectories"] = {}
    host.session(workingDirectories=["file:///a", "file:///b", "file:///a"])
    assert host.state(S1)["workingDirectories"] == ["file:///a", "file:///b"]


def test_an_agent_that_never_lets_go_holds_the_client_no_longer_than_its_bound(host):
    async def clings(turn):
        while True:
            with contextlib.suppress(CancelledError):
                await Deferred()

    host.session()
    host.agent.then(clings)
    host.agent.ignores_stop = True
    host.turn(host.chat())
    done = Deferred.fromCoroutine(host.service.dispose(S1))
    assert host.service.find(S1) is None
    for _ in range(int(LONGEST_CLOSE) - 1):
        host.clock.advance(1)
    assert not done.called
    host.clock.advance(2)
    assert done.called
    assert host.clock.getDelayedCalls() == []


@pytest.mark.parametrize("running", [("default",), ("peer",), ("default", "peer")])
def test_whichever_chats_run_a_disposed_session_ends_each_turn_before_it_is_gone(host, running):
    host.session()
    host.service.create_chat({"channel": S1, "chat": "ahp-chat:/peer"})
    chats = {"default": host.chat(), "peer": "ahp-chat:/peer"}
    host.agent.always = scripts.never_ends
    for name in running:
        host.turn(chats[name])
    host.forget()
    host.wait(host.service.dispose(S1))
    for name, chat in chats.items():
        ends = [kind for kind in host.kinds(chat) if kind == "chat/turnCancelled"]
        assert ends == ["chat/turnCancelled"] * (name in running)
    assert [a["activeSessions"] for a in host.said(ROOT)] == [0]
    assert all(chat.closed for chat in host.agent.chats)
    assert host.told("root/sessionRemoved") == [{"channel": ROOT, "session": S1}]
