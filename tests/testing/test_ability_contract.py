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


def refuses_what_is_kept(chat, start):
    if start.resume is not None:
        raise AgentFailure("no such conversation")


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
