"""The contract of a turn: what one says, awaits and leaves, missed by each agent that errs."""

import os
import subprocess
import sys

import attrs
import pytest
import pytest_twisted

from ahpd.interfaces import AgentAbilities, AgentFailure, Permission, TurnOver
from ahpd.testing.agent_contract import check_agent, files_of
from ahpd.testing.agents import echo

from .able import able, changed, contract, with_fields, with_methods

NOTHING = AgentAbilities()
PLAIN = {
    "failing": None,
    "steered": None,
    "delegating": None,
    "delegating_endlessly": None,
    "customization": None,
    "mcp_server": None,
    "asking": (),
}


def plain(**fields):
    return contract(**{**PLAIN, **fields})


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


async def finds(make, checked, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, checked)


# -- output and slow clients ---------------------------------------------------------------


async def floods(turn):
    """Much, and only while there is room."""
    part = turn.markdown()
    for _ in range(200):
        turn.delta(part, "x" * 100)
        await turn.output.drained()


async def gushes(turn):
    """Much, room or not."""
    part = turn.markdown()
    for _ in range(200):
        turn.delta(part, "x" * 100)


async def gushes_on(turn):
    await gushes(turn)
    await turn.forever()


class Source:
    """What makes more than is taken, and keeps it somewhere."""

    def __init__(self):
        self.made = 0

    async def pours(self, turn):
        self.made += 1_000_000
        await floods(turn)


@pytest_twisted.ensureDeferred
async def test_output_that_waits_for_clients_holds_it():
    fields = {"flooding": "flood", "most_ahead": 5000, "flooded": lambda: 5000}
    await check_agent(lambda: able(NOTHING, flood=floods), plain(**fields))


@pytest.mark.parametrize(
    ("scripts", "fields", "words"),
    [
        ({"endless": gushes_on}, {}, "endless-2 said more than 5000 characters while clients"),
        ({"flood": gushes}, {"flooding": "flood"}, "flood said more than 5000 characters"),
        ({"flood": echo}, {"flooding": "flood"}, "ended while clients had no room"),
        (
            {"flood": floods},
            {"flooding": "flood", "most_ahead": 100_000},
            "says no more than most_ahead",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_output_that_outruns_its_clients_is_found(scripts, fields, words):
    await finds(lambda: able(NOTHING, **scripts), plain(**{"most_ahead": 5000, **fields}), words)


@pytest_twisted.ensureDeferred
async def test_a_source_that_is_read_ahead_of_its_clients_is_found():
    source = Source()
    checked = plain(flooding="flood", most_ahead=5000, flooded=lambda: source.made)
    await finds(lambda: able(NOTHING, flood=source.pours), checked, "made 1000000 characters")


# -- how turns end -------------------------------------------------------------------------


def raising(error):
    async def script(turn):
        raise error

    return script


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("model"), "the turn first raised KeyError"),
        (AgentFailure("not today"), "the turn first failed: not today"),
        (TurnOver(), "raised TurnOver although its turn was not over"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_turn_that_should_complete_and_does_not_is_found(error, words):
    await finds(lambda: able(NOTHING, answered=raising(error)), plain(), words)


def keeps_all_as_one():
    return with_fields(NOTHING, keeps_as=lambda start: "the one")


def ends_others(method):
    """A stop or a close of one chat ends the turns of all."""

    def change(chat, start):
        own = getattr(chat, method)

        async def wrapped(*arguments):
            if start.chat.endswith("quiet"):
                for each in chat.agent.chats:
                    each._end_run()
            await own(*arguments)

        setattr(chat, method, wrapped)

    return lambda: changed(change, NOTHING)


def speaks_in_others():
    """What the chat `quiet` is asked to stop says, it says once more."""

    def change(chat, start):
        if start.chat.endswith("quiet"):
            run, stop = chat.run, chat.stop
            outputs = []

            async def running(turn, output):
                outputs.append(output)
                await run(turn, output)

            async def stopping(turn_id):
                await stop(turn_id)
                outputs[-1].emit({"type": "chat/activityChanged", "activity": "stopping"})

            chat.run, chat.stop = running, stopping

    return changed(change, NOTHING)


def changed_close(change):
    """An agent whose `close` is what `change(chat, close)` makes of it."""

    def of_chat(chat, start):
        chat.close = change(chat, chat.close, start)

    return lambda: changed(of_chat, NOTHING)


def only_once(chat, close, start):
    async def wrapped():
        if chat.closed:
            raise RuntimeError("it is closed")
        await close()

    return wrapped


def fails_unused(chat, close, start):
    async def wrapped():
        if not chat.turns and start.chat.endswith("unused"):
            raise AttributeError("no process")
        await close()

    return wrapped


def speaks_when_closed():
    def change(chat, start):
        run = chat.run

        async def running(turn, output):
            if chat.closed:
                output.emit({"type": "chat/activityChanged", "activity": "none"})
            await run(turn, output)

        chat.run = running

    return changed(change, NOTHING)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (keeps_all_as_one, "two chats are kept as one conversation"),
        (ends_others("stop"), "the end of one chat ended the turn of another"),
        (ends_others("close"), "the end of one chat ended the turn of another"),
        (speaks_in_others, "what one chat said was said in another's turn"),
        (changed_close(only_once), "raised RuntimeError: it is closed"),
        (changed_close(fails_unused), "close.. of a chat that is unused raised AttributeError"),
        (speaks_when_closed, "a closed chat said something"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_one_chat_does_to_another_or_after_its_end_is_found(make, words):
    await finds(make, plain(), words)


def stops_with(behave, **scripts):
    """An agent whose `stop` is `behave(chat, stop, turn_id)`."""

    def change(chat, start):
        stop = chat.stop
        chat.stop = lambda turn_id: behave(chat, stop, turn_id)

    return lambda: changed(change, NOTHING, **scripts)


async def raises_twice(chat, stop, turn_id):
    if chat.stops.count(turn_id):
        raise RuntimeError("it was stopped already")
    await stop(turn_id)


async def misses_an_early_one(chat, stop, turn_id):
    if turn_id != "first-word":
        await stop(turn_id)


async def knows_no_ended_turn(chat, stop, turn_id):
    if chat._turn_id is None:
        raise KeyError(turn_id)
    await stop(turn_id)


@pytest.mark.parametrize(
    ("behave", "words"),
    [
        (raises_twice, "raised RuntimeError: it was stopped already"),
        (misses_an_early_one, "a turn stopped at its first word took more than"),
        (knows_no_ended_turn, "stop.. with no turn running raised KeyError"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_stop_that_does_not_do_is_found(reactor, behave, words):
    await finds(stops_with(behave), plain(reactor=reactor, bound=0.3), words)


# -- questions -----------------------------------------------------------------------------


class Effect:
    """What a call does: `done` counts. `when` is at what point of its turn it does it."""

    def __init__(self, when="allowed"):
        self.done = 0
        self.when = when

    def does(self, when):
        if self.when == when:
            self.done += 1

    async def script(self, turn):
        self.does("before it asks")
        call = turn.ask("run", "Running", permission=Permission(kind="shell", command="ls"))
        self.does("before the answer")
        try:
            answer = await turn.confirmed(call)
        except TurnOver:
            self.does("over")
            raise
        except GeneratorExit:
            raise
        except BaseException:
            self.does("stopped")
            raise
        by_rules = answer.decision_source == "host_policy"
        if not answer.approved:
            self.does("refused by rules" if by_rules else answer.reason)
            return
        if self.when not in ("never", "never by rules" if by_rules else None):
            self.done += 1
        turn.complete(call, "ran")


@pytest_twisted.ensureDeferred
async def test_a_call_that_waits_for_its_yes_holds_it():
    effect = Effect()
    checked = plain(asking=["confirm"], effects={"confirm": lambda: effect.done})
    await check_agent(lambda: able(NOTHING, confirm=effect.script), checked)
    assert effect.done


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("before it asks", "was done before it was answered"),
        ("before the answer", "was done before it was answered"),
        ("denied", "was done when it was refused"),
        ("skipped", "was done when it was skipped"),
        ("refused by rules", "was done when it was refused by the host's rules"),
        ("over", "was done after its turn was stopped"),
        ("stopped", "was done after its turn was stopped"),
        ("never", "did nothing when it was allowed"),
        ("never by rules", "did nothing when it was allowed by the host's rules"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_call_that_is_done_where_it_was_not_allowed_is_found(when, words):
    effect = Effect(when)
    checked = plain(asking=["confirm"], effects={"confirm": lambda: effect.done})
    await finds(lambda: able(NOTHING, confirm=effect.script), checked, words)


@pytest_twisted.ensureDeferred
async def test_effects_of_what_asks_for_nothing_are_refused():
    checked = plain(asking=["question"], effects={"question": lambda: 0})
    await finds(lambda: able(NOTHING), checked, "waits with answered.., and asks for nothing")


def asking_for(permission):
    async def script(turn):
        call = turn.ask("run", "Running", permission=permission)
        if (await turn.confirmed(call)).approved:
            turn.complete(call, "ran")

    return script


async def waits_for_what_runs(turn):
    await turn.confirmed(turn.running("run"))


async def waits_for_nothing(turn):
    await turn.answered("a question nobody asked")


async def waits_for_no_client(turn):
    await turn.client_result(turn.running("look"))


async def waits_for_no_review(turn):
    call = turn.running("read")
    turn.complete(call, "done")
    await turn.result_confirmed(call)


async def dislikes_suggestions(turn):
    call = turn.ask("run", "Running")
    answer = await turn.confirmed(call)
    if answer.approved:
        turn.complete(call, "ran")
    elif answer.suggestion:
        raise KeyError("suggestion")


async def goes_on_refused(turn):
    call = turn.ask("run", "Running")
    answer = await turn.confirmed(call)
    if answer.approved or answer.decision_source == "host_policy":
        turn.complete(call, "ran")


async def completes_twice(turn):
    call = turn.ask("run", "Running")
    answer = await turn.confirmed(call)
    if answer.approved:
        turn.complete(call, "ran")
        if answer.decision_source == "host_policy":
            turn.complete(call, "ran again")


async def wants_answers(turn):
    answer = await turn.answered(turn.question("Sure?", "yes", "no"))
    turn.markdown(answer.answers["q"]["value"]["value"])


async def wants_success(turn):
    result = await turn.client_result(turn.client_tool("editor", "look"))
    turn.markdown(result["content"][0]["text"] if result["content"] else "nothing")


async def wants_its_client(turn):
    if not turn.request.client_tools:
        raise IndexError("no client")
    await turn.client_result(turn.client_tool("editor", "look"))


@pytest.mark.parametrize(
    ("text", "script", "words"),
    [
        ("confirm", asking_for(None), "says no permission that it asks"),
        ("confirm", asking_for(Permission(kind="anything")), "which is no kind of permission"),
        ("confirm", asking_for(Permission(kind="write", path="a/b")), "relative path a/b"),
        (
            "confirm",
            asking_for(Permission(kind="shell", url="http://a")),
            "asks for a url and is of the kind shell",
        ),
        ("confirm", waits_for_what_runs, "of which nothing said that it asks"),
        ("question", waits_for_nothing, "of which nothing said that it asks"),
        ("client", waits_for_no_client, "of which nothing said that it asks"),
        ("review", waits_for_no_review, "of which nothing said that it asks"),
        ("confirm", dislikes_suggestions, "question was skipped raised KeyError"),
        ("confirm", completes_twice, "which is completed"),
        ("question", wants_answers, "question was accepted as it is raised KeyError"),
        ("client", wants_success, "question was failed raised KeyError"),
        ("client", wants_its_client, "whose client had left raised IndexError"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_question_put_or_taken_wrong_is_found(text, script, words):
    checked = plain(asking=[text])
    await finds(lambda: able(NOTHING, **{text: script}), checked, words)


@pytest_twisted.ensureDeferred
async def test_a_call_the_rules_refused_may_say_how_it_failed():
    checked = plain(asking=["confirm"])
    await check_agent(lambda: able(NOTHING, confirm=goes_on_refused), checked)


# -- models, attachments, tools of the host's --------------------------------------------------


def requesting(look):
    async def script(turn):
        look(turn.request)
        await echo(turn)

    return lambda: able(NOTHING, answered=script)


def knows_its_models(request):
    if request.model and request.model["id"] != "scripted-1":
        raise LookupError(request.model["id"])


def likes_no_model(request):
    if request.model and request.model["id"] == "scripted-1":
        raise AgentFailure("no such model")


def reads_attachments(request):
    for each in request.attachments:
        if each["type"] == "simple":
            each["modelRepresentation"].strip()


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (knows_its_models, "a model it does not list raised LookupError"),
        (likes_no_model, "a turn with a model it lists failed: no such model"),
        (reads_attachments, "several attachments raised KeyError"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_cannot_live_with_a_request_is_found(look, words):
    await finds(requesting(look), plain(), words)


async def looks_up(turn):
    call = turn.running("look_up")
    result = await turn.host.run_tool("look_up", {"what": "it"}, call)
    turn.say("chat/toolCallComplete", toolCallId=call, result=result)


async def looks_up_nothing(turn):
    turn.tool("look_up", "made up")


async def looks_up_twice(turn):
    await looks_up(turn)
    await looks_up(turn)


async def looks_up_in_secret(turn):
    await turn.host.run_tool("look_up", {}, "a call nobody said")
    turn.markdown("done")


async def looks_up_and_forgets(turn):
    await turn.host.run_tool("look_up", {}, turn.running("look_up"))


async def looks_up_and_lies(turn):
    call = turn.running("look_up")
    await turn.host.run_tool("look_up", {}, call)
    turn.complete(call, "found")


@pytest_twisted.ensureDeferred
async def test_a_call_of_the_hosts_tool_holds_it():
    checked = plain(host_tool="look up")
    await check_agent(lambda: able(NOTHING, look_up=looks_up), checked)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (looks_up_nothing, "called it 0 times"),
        (looks_up_twice, "called it 2 times"),
        (looks_up_in_secret, "which was not said"),
        (looks_up_and_forgets, "has no end"),
        (looks_up_and_lies, "failed and the call .* says otherwise"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_tool_of_the_hosts_called_wrong_is_found(script, words):
    checked = plain(host_tool="look up")
    await finds(lambda: able(NOTHING, look_up=script), checked, words)


# -- secrets -------------------------------------------------------------------------------


async def says_its_key(turn):
    turn.markdown("my key is sk-1")


@pytest.mark.parametrize(
    "make",
    [
        lambda: able(NOTHING, answered=says_its_key),
        lambda: with_fields(NOTHING, more_info={"description": "on sk-1"}),
        lambda: with_fields(NOTHING, open_failure=AgentFailure("bad key sk-1")),
        requesting(lambda asked: asked.model and _fail("no model for sk-1")),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_secret_that_is_said_is_found(make):
    await finds(make, plain(secrets=["sk-1"]), "holds a secret|sk-1")


def _fail(words):
    raise AgentFailure(words)


# -- what is left --------------------------------------------------------------------------


def leaving(leave):
    """An agent that leaves something behind when a chat of it is closed."""

    def change(chat, start):
        close = chat.close

        async def wrapped():
            await close()
            if start.chat.endswith("used") and not chat.__dict__.get("left"):
                chat.left = True
                leave()

        chat.close = wrapped

    return lambda: changed(change, NOTHING)


@pytest_twisted.ensureDeferred
async def test_a_timer_that_is_left_is_found():
    checked = plain()
    await finds(
        leaving(lambda: checked.reactor.callLater(3600, print)), checked, "timers were left"
    )


@pytest_twisted.ensureDeferred
async def test_a_process_that_is_left_is_found():
    started = []

    def leave():
        started.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

    try:
        await finds(leaving(leave), plain(), "left the processes|processes were left")
    finally:
        for each in started:
            each.communicate()


@pytest_twisted.ensureDeferred
async def test_a_file_that_is_left_open_is_found():
    opened = []
    try:
        await finds(
            leaving(lambda: opened.append(os.open("/dev/null", os.O_RDONLY))),
            plain(),
            "open files were left: .*/dev/null",
        )
    finally:
        for each in opened:
            os.close(each)


@attrs.frozen
class _Child:
    pid: int


class _Supervisor:
    def __init__(self):
        self.children = ()


@pytest_twisted.ensureDeferred
async def test_a_child_of_the_supervisors_that_is_left_is_found():
    supervisor = _Supervisor()

    def leave():
        supervisor.children = (_Child(pid=1),)

    await finds(leaving(leave), plain(supervisor=supervisor), "left the processes .1.")


def test_files_are_told_apart_by_name_and_content(tmp_path):
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a").write_text("1")
    before = files_of(tmp_path)
    assert before == {"deep/a": b"1"}
    (tmp_path / "deep" / "a").write_text("2")
    assert files_of(tmp_path) != before


async def misses_one_in_a_tool(chat, stop, turn_id):
    if turn_id != "host-tool-stopped":
        await stop(turn_id)


@pytest_twisted.ensureDeferred
async def test_a_stop_that_waits_for_the_hosts_tool_is_found(reactor):
    make = stops_with(misses_one_in_a_tool, look_up=looks_up)
    checked = plain(reactor=reactor, bound=0.3, host_tool="look up")
    await finds(make, checked, "a turn whose tool of the host's runs took more than")


@pytest_twisted.ensureDeferred
async def test_methods_that_an_interface_lacks_are_found():
    make = lambda: with_methods(steer=lambda chat: "no method")  # noqa: E731 - as the others are
    await finds(make, contract(), "ISteeredChat.*is not a method")
