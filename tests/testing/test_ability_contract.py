"""The contract of what an agent declares: held by one that does all, missed by each that errs."""

import pytest
import pytest_twisted
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, IAgentChat
from ahpd.testing.agent_contract import check_agent
from ahpd.testing.agents import echo, never_ends

from .able import able, changed, contract, reads_steering, with_fields, with_methods


@pytest.mark.parametrize("endless", [never_ends, reads_steering])
@pytest_twisted.ensureDeferred
async def test_an_agent_that_does_all_it_declares_holds_it(endless):
    await check_agent(lambda: able(endless=endless), contract())


@pytest_twisted.ensureDeferred
async def test_what_is_not_declared_is_not_asked_for():
    await check_agent(
        lambda: able(AgentAbilities()),
        contract(
            failing=None,
            steered=None,
            delegating=None,
            delegating_endlessly=None,
            customization=None,
            mcp_server=None,
            asking=(),
        ),
    )


# -- agents that err ------------------------------------------------------------------


@implementer(IAgentChat)
class Plain:
    """A chat that runs turns and nothing else."""

    def __init__(self, chat):
        self.run, self.stop, self.close = chat.run, chat.stop, chat.close


def takes_at_any_time(chat):
    steer = chat.steer
    return lambda name, message: steer(name, message) or chat._turn_id is None


def tells_twice(chat):
    withdraw = chat.withdraw

    def lying(name):
        given = withdraw(name)
        if given:
            chat.start.host.steering_returned(name)
        return given

    return lying


def tells_of_strangers(chat):
    steer = chat.steer

    def told(name, message):
        chat.start.host.steering_taken("nobody's")
        return steer(name, message)

    return told


def gives_back_what_was_read(chat):
    withdraw = chat.withdraw
    return lambda name: withdraw(name) or name in chat.start.host.taken


def gives_back_again(chat):
    withdraw, given = chat.withdraw, set()

    def again(name):
        if withdraw(name):
            given.add(name)
        return name in given

    return again


def takes_late(chat):
    steer = chat.steer
    return lambda name, message: steer(name, message) or name == "late"


async def reads_in_silence(turn):
    turn.markdown("waiting")
    await turn.steering()


async def reads_and_does_not_say_so(turn):
    turn.markdown("waiting")
    turn.markdown((await turn.steering(read=False)).text)


async def reads_nothing(turn):
    turn.markdown("no time")


async def reads_the_last_first(turn):
    turn.markdown("waiting")
    await turn.steering(read=False)
    await turn.steering(read=False)
    turn.host.steering_taken("two")
    turn.host.steering_taken("one")
    await turn.forever()


def stumbles_over_values(chat):
    def configure(values):
        if "pace" not in values:
            raise KeyError("pace")

    return configure


def takes_any(name):
    def make(chat):
        async def taking(*arguments):
            pass

        return taking

    return lambda: with_methods(**{name: make})


def tells_of_no_server(chat):
    async def start_server(server_id):
        chat.start.host.mcp_server_state(server_id, {"status": "running"})
        if server_id != "a server":
            raise AgentFailure("no such server")

    return start_server


async def delegates_unsaid(turn):
    worker = turn.worker("a call nobody said", "look around")
    worker.markdown("seen")
    worker.done()


def stops_no_worker_twice(chat):
    stop = chat.stop_worker

    async def stop_worker(call):
        if call not in chat.workers or chat.workers[call].output.ended is not None:
            raise KeyError(call)
        await stop(call)

    return stop_worker


def refuses_what_is_kept(chat, start):
    if start.resume is not None:
        raise AgentFailure("no such conversation")


def takes_no_steering():
    agent = able(steered=reads_nothing)
    agent.takes_steering = False
    return agent


def gives_none_back(chat, start):
    chat.withdraw = lambda name: False


async def completes_anyway(turn):
    call = turn.ask("run", "Running")
    await turn.confirmed(call)
    turn.complete(call, "ran")


async def asks_twice(turn):
    request = turn.question("Sure?")
    turn.question("Sure?", id=request)
    await turn.answered(request)


async def answers_itself_twice(turn):
    request = turn.question("Sure?")
    await turn.answered(request)
    turn.output.emit({"type": "chat/inputCompleted", "requestId": request, "response": "cancel"})


async def asks_nobody(turn):
    turn.markdown("no question")


async def fails_for_good(turn):
    raise AgentFailure("never")


async def fails_silently(turn):
    if not turn.resumed:
        raise AgentFailure("not yet", resumable=True)


async def repeats_itself(turn):
    turn.say("chat/responsePart", part={"kind": "markdown", "id": "same", "content": ""})
    if not turn.resumed:
        raise AgentFailure("not yet", resumable=True)


async def delegates_and_forgets(turn):
    call = turn.running("task")
    turn.worker(call, "look around").markdown("seen")
    turn.complete(call, "seen")


async def delegates_to_nobody(turn):
    turn.tool("task", "done it myself")


async def has_a_worker_of_bad_manners(turn):
    call = turn.running("task")
    worker = turn.worker(call, "look around")
    worker.delta("nowhere", "seen")
    worker.done()


async def names_no_end(turn):
    await echo(turn)
    turn.point("")


def with_abilities(value):
    agent = able()
    agent.abilities = value
    return agent


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: with_abilities(None), "abilities is no AgentAbilities"),
        (lambda: changed(lambda chat, start: Plain(chat)), "declares steering and its chats"),
        (lambda: able(confirm=completes_anyway), "toolCallComplete of .* which is cancelled"),
        (lambda: able(question=asks_twice), "was asked twice"),
        (lambda: able(question=answers_itself_twice), "which is answered already"),
        (lambda: able(question=asks_nobody), "ended without asking"),
        (lambda: with_methods(steer=takes_at_any_time), "with no turn running took the message"),
        (lambda: with_methods(steer=lambda chat: lambda *_: None), "answered None, expected True"),
        (lambda: with_fields(takes_steering=lambda _: "yes"), "answered 'yes', expected True"),
        (lambda: with_fields(keeps_steering=True), "0 times in all, expected once"),
        (lambda: with_methods(withdraw=tells_twice), "2 times in all, expected once"),
        (lambda: with_methods(steer=tells_of_strangers), "nobody's"),
        (lambda: with_methods(withdraw=lambda chat: lambda _: True), "it had not taken"),
        (lambda: with_methods(withdraw=gives_back_what_was_read), "back a message that was read"),
        (lambda: with_methods(withdraw=gives_back_again), "gave one back twice"),
        (lambda: with_methods(steer=takes_late), "after its turn took the message"),
        (lambda: able(steered=reads_in_silence), "said nothing of it"),
        (lambda: able(steered=reads_and_does_not_say_so), "read was taken, .* 0 times in all"),
        (lambda: able(steered=reads_nothing), "should read what is steered into it handed it"),
        (takes_no_steering, "a turn that should be steered took no"),
        (
            lambda: changed(gives_none_back, endless=reads_the_last_first),
            "were read out of order: .'two', 'one'.",
        ),
        (lambda: with_methods(configure=stumbles_over_values), "no schema raised KeyError"),
        (takes_any("toggle"), "toggle.. took a customization it does not have"),
        (takes_any("start_server"), "start_server.. took a server it does not have"),
        (takes_any("stop_server"), "stop_server.. took a server it does not have"),
        (lambda: with_methods(start_server=tells_of_no_server), "the state of a server that is"),
        (lambda: able(delegating=delegates_unsaid), "of which the turn said nothing"),
        (lambda: with_methods(stop_worker=stops_no_worker_twice), "that is done raised KeyError"),
        (lambda: able(failing=echo), "the turn that should fail completed"),
        (lambda: able(failing=fails_for_good), "does not say so"),
        (lambda: able(failing=fails_silently), "a resumed turn completed and said nothing"),
        (lambda: able(failing=repeats_itself), "the part same was opened twice"),
        (lambda: with_fields(configure_failure=AgentFailure("no")), "configure.. did not take"),
        (lambda: able(delegating=delegates_and_forgets), "ended as None"),
        (lambda: able(delegating=delegates_to_nobody), "should spawn a worker did not"),
        (lambda: able(delegating=has_a_worker_of_bad_manners), "not open"),
        (
            lambda: changed(refuses_what_is_kept),
            "open_chat.. of the chat resumed-0 failed: no such",
        ),
        (lambda: with_fields(keeps_as=lambda start: ""), "'' names no conversation or point"),
        (lambda: able(answered=names_no_end), "'' names no conversation or point"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_an_able_agent_does_wrong_is_found(make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract())


def stops_no_turn_that_waits(chat):
    stop = chat.stop

    async def deaf(turn_id):
        if not turn_id.startswith("stopped"):
            await stop(turn_id)

    return deaf


async def ignores_its_worker(turn):
    call = turn.running("task")
    turn.worker(call, "look around")
    await turn.forever()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: with_methods(stop=stops_no_turn_that_waits),
            "a stopped turn that waited took more than",
        ),
        (lambda: able(delegating_endlessly=ignores_its_worker), "whose worker was stopped took"),
        (lambda: able(question=never_ends), "the question of a turn that asks took more than"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_never_ends_is_found(make, words):
    from twisted.internet import reactor

    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract(reactor=reactor, bound=0.2))


@pytest.mark.parametrize(
    "missing",
    [
        "failing",
        "steered",
        "delegating",
        "delegating_endlessly",
        "customization",
        "mcp_server",
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_ability_that_cannot_be_checked_is_told(missing):
    with pytest.raises(AssertionError, match=f"AgentContract.{missing}: name one"):
        await check_agent(able, contract(**{missing: None}))
