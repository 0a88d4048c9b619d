"""What runs on behind a chat's turns: the host's rows, and stopping one (AHP.txt)."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.chats.background import BackgroundWork
from ahpd.commands.chats import chat_commands
from ahpd.interfaces import AgentFailure, BackgroundTask, RpcError
from ahpd.protocol.errors import INTERNAL_ERROR, INVALID_PARAMS
from ahpd.testing.agents import Gate

WHEN = "2026-01-02T03:04:05.000Z"
WORKER = "ahp-chat:/worker"


def shell(number=1, **fields):
    fields.setdefault("command", "make")
    return BackgroundTask(id=f"shell:{number}", label="Building", started_at=WHEN, **fields)


def subagent(number=1, **fields):
    fields.setdefault("worker", WORKER)
    return BackgroundTask(id=f"subagent:{number}", label="Looking", started_at=WHEN, **fields)


async def stops():
    pass


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session()
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def kinds(host, chat):
    return [kind for kind in host.kinds(chat) if "backgroundWork" in kind]


def reports(*lists, gate=None):
    """A script that reports each of `lists`, and then goes on for ever."""

    async def script(turn):
        for tasks in lists:
            turn.background(*tasks)
        await turn.forever()

    return script


def test_rows_have_one_shape_whoever_reports_them(host, chat):
    host.agent.then(reports([shell(stop=stops), subagent()]))
    host.turn(chat)
    assert host.state(chat)["backgroundWork"] == [
        {
            "id": "shell:1",
            "kind": "shell",
            "label": "Building",
            "startedAt": WHEN,
            "command": "make",
            "_meta": {"vscode.stopBackgroundWork": True},
        },
        {
            "id": "subagent:1",
            "kind": "subagent",
            "label": "Looking",
            "startedAt": WHEN,
            "chat": WORKER,
        },
    ]


def test_a_row_is_said_once_and_again_only_where_it_moved(host, chat):
    one, two = shell(1), shell(2)
    moved = shell(2, command="make test")
    host.agent.then(reports([one], [one], [one, two], [two, one], [one, moved], [moved], [], []))
    host.turn(chat)
    set_, removed = "chat/backgroundWorkSet", "chat/backgroundWorkRemoved"
    assert kinds(host, chat) == [set_, set_, set_, removed, removed]
    assert "backgroundWork" not in host.state(chat)


def test_work_of_no_kind_there_is_is_not_shown(host, chat):
    odd = BackgroundTask(id="cron:1", label="Odd", started_at=WHEN)
    host.agent.then(reports([odd, subagent(worker=None), shell()]))
    host.turn(chat)
    assert [row["id"] for row in host.state(chat)["backgroundWork"]] == ["shell:1"]


@pytest.mark.parametrize(
    "action",
    [
        {"type": "chat/backgroundWorkSet", "work": {"id": "shell:9", "kind": "shell"}},
        {"type": "chat/backgroundWorkRemoved", "id": "shell:1"},
    ],
)
def test_a_backend_that_says_a_row_itself_is_not_heard(host, chat, action):
    async def script(turn):
        turn.background(shell())
        turn.output.emit(action)
        await turn.forever()

    host.agent.then(script)
    host.turn(chat)
    assert kinds(host, chat) == ["chat/backgroundWorkSet"]
    assert [row["id"] for row in host.state(chat)["backgroundWork"]] == ["shell:1"]


def test_work_outlives_its_turn_and_ends_with_its_backend(host, chat):
    async def script(turn):
        turn.background(shell())

    host.agent.then(script)
    turn = host.turn(chat)
    assert host.turns(chat)[0]["id"] == turn
    assert len(host.state(chat)["backgroundWork"]) == 1
    host.turn(chat)
    assert len(host.state(chat)["backgroundWork"]) == 1
    host.dispatch(chat, "chat/truncated")
    host.turn(chat)
    assert len(host.agent.chats) == 2
    assert "backgroundWork" not in host.state(chat)


def test_a_stop_of_the_turn_leaves_the_work(host, chat):
    host.agent.then(reports([shell()]))
    host.stop(chat, host.turn(chat))
    assert len(host.state(chat)["backgroundWork"]) == 1


def test_rows_of_an_earlier_run_go_at_the_first_report():
    said = []
    old = {"id": "shell:0", "kind": "shell", "label": "x", "startedAt": WHEN, "command": ""}
    work = BackgroundWork(said.append, [old])
    work.report([shell()])
    assert [(action["type"], action.get("id")) for action in said] == [
        ("chat/backgroundWorkRemoved", "shell:0"),
        ("chat/backgroundWorkSet", None),
    ]
    work.clear()
    assert said[-1] == {"type": "chat/backgroundWorkRemoved", "id": "shell:1"}


# -- stopping one ------------------------------------------------------------------


@pytest.fixture
def stop(host, caller):
    command = chat_commands(host.service)["vscode/stopBackgroundWork"]
    return lambda **params: command(caller(), params)


def test_one_is_stopped_by_the_backend_that_reported_it(host, chat, stop):
    stopped = []

    async def end():
        stopped.append(True)

    host.agent.then(reports([shell(stop=end), subagent()]))
    host.turn(chat)
    assert host.wait(stop(chat=chat, id="shell:1")) == {"stopped": True}
    assert stopped == [True]
    assert len(host.state(chat)["backgroundWork"]) == 2, "it is the backend's to take down"


@pytest.mark.parametrize(
    ("chat_uri", "work"),
    [(None, "subagent:1"), (None, "shell:none"), ("ahp-chat:/none", "shell:1")],
)
def test_nothing_to_stop_is_no_error(host, chat, stop, chat_uri, work):
    host.agent.then(reports([shell(stop=stops), subagent()]))
    host.turn(chat)
    assert host.wait(stop(chat=chat_uri or chat, id=work)) == {"stopped": False}


@pytest.mark.parametrize(
    "params",
    [
        {"id": "shell:1"},
        {"chat": "ahp-session:/s1", "id": "shell:1"},
        {"chat": 3, "id": "shell:1"},
        {"chat": "ahp-chat:/c", "id": ""},
        {"chat": "ahp-chat:/c"},
        {"chat": "ahp-chat:/c", "id": ["shell:1"]},
    ],
)
def test_what_names_no_work_is_refused(host, stop, params):
    with pytest.raises(RpcError) as refused:
        host.wait(stop(**params))
    assert refused.value.code == INVALID_PARAMS


def test_a_stop_that_fails_fails_the_request_in_the_backends_words(host, chat, stop):
    async def end():
        raise AgentFailure("It does not die")

    host.agent.then(reports([shell(stop=end)]))
    host.turn(chat)
    with pytest.raises(RpcError) as failed:
        host.wait(stop(chat=chat, id="shell:1"))
    assert (failed.value.code, failed.value.message) == (INTERNAL_ERROR, "It does not die")


def test_a_stop_answers_once_the_backend_has_taken_it(host, chat, stop):
    gate = Gate()
    host.agent.then(reports([shell(stop=gate.passed)]))
    host.turn(chat)
    answers = []
    Deferred.fromCoroutine(stop(chat=chat, id="shell:1")).addCallback(answers.append)
    assert answers == []
    gate.open()
    assert answers == [{"stopped": True}]
