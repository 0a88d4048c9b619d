"""What a backend holds that declares more: each ability, as its interface has it."""

from typing import Any, Final

from twisted.internet.defer import Deferred, ensureDeferred
from zope.interface.interface import InterfaceClass
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    AgentFailure,
    ConversationPoint,
    IAgent,
    IAgentChat,
    IConfiguredChat,
    ICustomizedChat,
    IDelegatingChat,
    IMcpChat,
    InputAnswer,
    IResumingChat,
    ISteeredChat,
    ToolAnswer,
)
from ahpd.testing.agent_contract.contract import (
    AgentContract,
    Watched,
    check_goes_on,
    ended,
    message,
    open_chat,
    request,
)
from ahpd.testing.agent_contract.said import check_said, expect
from ahpd.testing.agents import RecordedHost, RecordedOutput
from ahpd.testing.agents.recorded import ANSWERED, CLIENT_RESULT

#: What each ability has its chats provide.
_PROVIDED: Final[dict[str, InterfaceClass]] = {
    "steering": ISteeredChat,
    "resume": IResumingChat,
    "live_config": IConfiguredChat,
    "workers": IDelegatingChat,
    "customizations": ICustomizedChat,
    "mcp": IMcpChat,
}


async def check_abilities(agent: IAgent, contract: AgentContract) -> None:
    """Every ability the agent declares, and what any turn may await."""
    abilities = agent.abilities
    await _check_provided(agent, contract)
    for text in contract.asking:
        await _check_asking(agent, contract, text)
    if abilities.steering:
        await _check_steering(agent, contract)
    if abilities.resume:
        await _check_resume(agent, contract)
    if abilities.live_config:
        await _check_live_config(agent, contract)
    if abilities.workers:
        await _check_workers(agent, contract)
    if abilities.reopens:
        await _check_reopening(agent, contract)


async def _check_provided(agent: IAgent, contract: AgentContract) -> None:
    chat = await open_chat(agent, contract, "provided")
    for ability, interface in _PROVIDED.items():
        if getattr(agent.abilities, ability):
            expect(
                interface.providedBy(chat),
                f"the agent declares {ability} and its chats provide no {interface.__name__}",
            )
            verifyObject(interface, chat)
    await contract.within("close()", chat.close())


# -- what a turn awaits ---------------------------------------------------------------


class _Asking:
    """A turn that has asked and waits."""

    def __init__(self, chat: IAgentChat, contract: AgentContract, turn_id: str, text: str) -> None:
        self.output = Watched(turn_id)
        self.run: Deferred[None] = ensureDeferred(
            chat.run(request(turn_id, text, contract), self.output)
        )
        self._contract = contract

    async def asked(self) -> tuple[str, str]:
        """The method it waits with, and the id it gave."""
        waits: Deferred[None] = Deferred()

        def look(result: Any = None) -> Any:
            if not waits.called:
                waits.callback(None)
            return result

        self.output.awaited.on_wait(look)
        self.run.addBoth(look)
        await self._contract.within("the question of a turn that asks", waits)
        if self.run.called:
            await self.run
        expect(bool(self.output.awaited.waiting), "a turn that should ask ended without asking")
        return self.output.awaited.waiting[0]


async def _check_asking(agent: IAgent, contract: AgentContract, text: str) -> None:
    """Either answer is lived with; a stop and a close end a turn that waits."""
    chat = await open_chat(agent, contract, "asking")
    said: list[Any] = []
    for number, yes in enumerate((True, False)):
        asking = _Asking(chat, contract, f"asking-{number}", text)
        what, name = await asking.asked()
        asking.output.awaited.give(what, name, _answer(what, yes))
        words = "allowed" if yes else "refused"
        await contract.within(f"the end of a turn whose question was {words}", asking.run)
        said += [asking.output.history, asking.output.turn_id]
    check_said(*said)
    for number, tells in enumerate((True, False)):
        asking = _Asking(chat, contract, f"stopped-{number}", text)
        await asking.asked()
        if tells:
            asking.output.over()
        await contract.within("stop() of a turn that waits", chat.stop(asking.output.turn_id))
        await contract.within("the end of a stopped turn that waited", ended(asking.run))
    await check_goes_on(chat, contract, "after-asking")
    asking = _Asking(chat, contract, "closed", text)
    await asking.asked()
    ending = ensureDeferred(ended(asking.run))
    await contract.within("close() with a turn that waits", chat.close())
    await contract.within("the end of a waiting turn whose chat was closed", ending)


def _answer(what: str, yes: bool) -> Any:
    if what == ANSWERED:
        return InputAnswer(response="accept" if yes else "cancel", answers={})
    if what == CLIENT_RESULT:
        failure = {} if yes else {"error": {"message": "it did not work"}}
        return {"success": yes, "pastTenseMessage": "Did it", "content": [], **failure}
    return ToolAnswer(approved=yes, reason=None if yes else "denied")


# -- abilities ------------------------------------------------------------------------


async def _check_steering(agent: IAgent, contract: AgentContract) -> None:
    """A message is taken or not; one that was ends up read, handed back, or withdrawn."""
    host = RecordedHost()
    chat: Any = await open_chat(agent, contract, "steering", host)
    expect(
        chat.steer("early", message("early")) is False,
        "steer() with no turn running took the message",
    )
    output = Watched("steered")
    run = ensureDeferred(chat.run(request("steered", contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    expect(chat.withdraw("unknown") is False, "withdraw() gave back a message it was never given")
    taken = [name for name in ("one", "two") if _steer(chat, name)]
    withdrawn = [name for name in taken[-1:] if _withdraw(chat, name)]
    output.over()
    await contract.within("stop() of a steered turn", chat.stop("steered"))
    await contract.within("the end of a stopped turn", ended(run))
    for name in taken:
        ends = [*host.taken, *host.returned, *withdrawn].count(name)
        expect(
            ends == 1,
            f"the steering message {name} was taken, and read, handed back or withdrawn "
            f"{ends} times in all, expected once",
        )
    strangers = {*host.taken, *host.returned} - set(taken)
    expect(not strangers, f"steering messages it does not hold were told of: {strangers}")
    await check_goes_on(chat, contract, "after-steering")
    await contract.within("close()", chat.close())


def _steer(chat: Any, name: str) -> bool:
    taken: bool = chat.steer(name, message(name))
    expect(isinstance(taken, bool), f"steer() answered {taken!r}, expected True or False")
    return taken


def _withdraw(chat: Any, name: str) -> bool:
    given: bool = chat.withdraw(name)
    expect(isinstance(given, bool), f"withdraw() answered {given!r}, expected True or False")
    return given


async def _check_resume(agent: IAgent, contract: AgentContract) -> None:
    """A turn that failed and said so runs on where it was; what it had said stands."""
    chat: Any = await open_chat(agent, contract, "resume")
    turn = request("resumed", contract.needed("failing"))
    first, second = RecordedOutput("resumed"), RecordedOutput("resumed")
    try:
        await contract.within("a turn that fails", chat.run(turn, first))
    except AgentFailure as failure:
        expect(failure.resumable, "the failure that should be resumable does not say so")
    else:
        raise AssertionError("the turn that should fail completed")
    await contract.within("resume()", chat.resume(turn, second))
    expect(bool(second.actions), "a resumed turn completed and said nothing")
    check_said(first.history, "resumed", second.history, "resumed")
    await check_goes_on(chat, contract, "after-resume")
    await contract.within("close()", chat.close())


async def _check_live_config(agent: IAgent, contract: AgentContract) -> None:
    """Values are taken while nothing runs and while a turn does, and the turn goes on."""
    chat: Any = await open_chat(agent, contract, "config")
    _configure(chat, contract)
    output = Watched("configured")
    run = ensureDeferred(chat.run(request("configured", contract.endless), output))
    await contract.within("the first word of an endless turn", output.begun)
    _configure(chat, contract)
    expect(not run.called, "a change of configuration ended the running turn")
    await contract.within("stop()", chat.stop("configured"))
    await contract.within("the end of a stopped turn", ended(run))
    await check_goes_on(chat, contract, "after-config")
    await contract.within("close()", chat.close())


def _configure(chat: Any, contract: AgentContract) -> None:
    try:
        chat.configure(dict(contract.config))
    except AgentFailure as failure:
        raise AssertionError(
            f"configure() did not take AgentContract.config: {failure.message}"
        ) from None


async def _check_workers(agent: IAgent, contract: AgentContract) -> None:
    """A worker speaks in its own turn and ends once; a stopped one holds nothing up."""
    chat: Any = await open_chat(agent, contract, "workers")
    output = Watched("delegating")
    text = contract.needed("delegating")
    await contract.within("a turn with a worker", chat.run(request("delegating", text), output))
    expect(bool(output.workers), "a turn that should spawn a worker did not")
    for call, worker in output.workers.items():
        check_said(worker.history, worker.turn_id)
        expect(bool(worker.actions), f"the worker of {call} said nothing")
        expect(worker.ended == "complete", f"the worker of {call} ended as {worker.ended}")
    output = Watched("stopped-worker")
    text = contract.needed("delegating_endlessly")
    run = ensureDeferred(chat.run(request("stopped-worker", text), output))
    call = await contract.within("the worker of a turn", output.delegated)
    await contract.within("stop_worker()", chat.stop_worker(call))
    await contract.within("the end of a turn whose worker was stopped", ended(run))
    await check_goes_on(chat, contract, "after-workers")
    await contract.within("close()", chat.close())


async def _check_reopening(agent: IAgent, contract: AgentContract) -> None:
    """A chat that was closed is opened on its conversation, and forked from it, and answers."""
    host = RecordedHost()
    chat = await open_chat(agent, contract, "kept", host)
    output = RecordedOutput("kept")
    await contract.within("a turn", chat.run(request("kept", contract.answered), output))
    for named in (*host.kept, *output.points):
        expect(bool(named) and isinstance(named, str), f"{named!r} names no conversation or point")
    await contract.within("close()", chat.close())
    at = None
    if host.kept:
        point = output.points[-1] if output.points else None
        at = ConversationPoint(conversation=host.kept[-1], point=point)
    history = [_turn("kept", contract.answered, output.text())]
    for how in ("resume", "fork"):
        start: dict[str, Any] = {"history": history, how: at}
        again = await open_chat(agent, contract, how, **start)
        await check_goes_on(again, contract, f"after-{how}")
        await contract.within("close()", again.close())


def _turn(turn_id: str, asked: str, answered: str) -> dict[str, Any]:
    """A finished turn (schema: Turn)."""
    return {
        "id": turn_id,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "duration": 1,
        "message": message(asked),
        "responseParts": [{"kind": "markdown", "id": f"{turn_id}:1", "content": answered}],
        "state": "complete",
    }
