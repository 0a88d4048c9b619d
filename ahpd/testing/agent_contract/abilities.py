"""What a backend's chats can do beyond a turn: each ability, as its interface has it."""

from typing import Any, Final

from twisted.internet.defer import Deferred
from zope.interface.interface import InterfaceClass

from ahpd.interfaces import (
    IAgent,
    IConfiguredChat,
    ICustomizedChat,
    IDelegatingChat,
    IMcpChat,
    IResumingChat,
    ISignedInChat,
    ISteeredChat,
)
from ahpd.protocol import Action
from ahpd.testing.agent_contract.contract import AgentContract, SignIn
from ahpd.testing.agent_contract.said import check_said, expect, provides
from ahpd.testing.agent_contract.steering import check_steering
from ahpd.testing.agent_contract.talking import (
    Running,
    Watched,
    check_goes_on,
    ended,
    judge,
    open_chat,
    request,
)
from ahpd.testing.agents import RecordedHost, RecordedOutput

#: What each ability has its chats provide.
_PROVIDED: Final[dict[str, InterfaceClass]] = {
    "steering": ISteeredChat,
    "resume": IResumingChat,
    "live_config": IConfiguredChat,
    "workers": IDelegatingChat,
    "customizations": ICustomizedChat,
    "mcp": IMcpChat,
}
_UNKNOWN: Final = "no-such-id"


async def check_abilities(agent: IAgent, contract: AgentContract) -> None:
    """Every ability the agent declares."""
    abilities = agent.abilities
    signs_in = await _check_provided(agent, contract)
    if abilities.steering:
        await check_steering(agent, contract)
    if abilities.resume:
        await _check_resume(agent, contract)
    if abilities.live_config:
        await _check_live_config(agent, contract)
    if abilities.workers:
        await _check_workers(agent, contract)
    if abilities.customizations:
        await _check_customizations(agent, contract)
    if abilities.mcp:
        await _check_mcp(agent, contract)
    if signs_in:
        await _check_sign_in(agent, contract, contract.needed("sign_in"))


async def _check_provided(agent: IAgent, contract: AgentContract) -> bool:
    """Whether its chats wait for sign-ins, which is declared nowhere else."""
    chat = await open_chat(agent, contract, "provided")
    for ability, interface in _PROVIDED.items():
        if getattr(agent.abilities, ability):
            expect(
                interface.providedBy(chat),
                f"the agent declares {ability} and its chats provide no {interface.__name__}",
            )
            provides(interface, chat, "a chat of it")
    signs_in = bool(ISignedInChat.providedBy(chat))
    if signs_in:
        provides(ISignedInChat, chat, "a chat of it")
    await contract.within("close()", chat.close())
    return signs_in


async def _check_resume(agent: IAgent, contract: AgentContract) -> None:
    """A turn that failed and said so runs on where it was; what it had said stands."""
    chat: Any = await open_chat(agent, contract, "resume")
    turn = request("resumed", contract.needed("failing"))
    first, second = RecordedOutput("resumed"), RecordedOutput("resumed")
    failure = await contract.tried("a turn that fails", chat.run(turn, first))
    expect(failure is not None, "the turn that should fail completed")
    assert failure is not None
    expect(failure.resumable, "the failure that should be resumable does not say so")
    await contract.within("resume()", chat.resume(turn, second))
    expect(bool(second.actions), "a resumed turn completed and said nothing")
    judge(contract, first, second)
    await check_goes_on(chat, contract, "after-resume")
    await contract.within("close()", chat.close())


async def _check_live_config(agent: IAgent, contract: AgentContract) -> None:
    """Values are taken while nothing runs and while a turn does, and the turn goes on."""
    chat: Any = await open_chat(agent, contract, "config")
    await _configure(chat, contract)
    running = await Running(chat, contract, "configured", contract.endless).begun()
    await _configure(chat, contract)
    expect(not running.run.called, "a change of configuration ended the running turn")
    await contract.tried("configure() with a key of no schema", _strange(chat))
    expect(not running.run.called, "a strange key ended the running turn")
    await running.stopped()
    await check_goes_on(chat, contract, "after-config")
    await contract.within("close()", chat.close())


async def _configure(chat: Any, contract: AgentContract) -> None:
    async def told() -> None:
        chat.configure(dict(contract.config))

    failure = await contract.tried("configure()", told())
    expect(
        failure is None,
        f"configure() did not take AgentContract.config: {failure and failure.message}",
    )


async def _strange(chat: Any) -> None:
    chat.configure({_UNKNOWN: {"of": ["no", "type"]}})


async def _check_workers(agent: IAgent, contract: AgentContract) -> None:
    """A worker speaks in its own turn and ends once; a stopped one holds nothing up."""
    chat: Any = await open_chat(agent, contract, "workers")
    output = Watched("delegating")
    text = contract.needed("delegating")
    await contract.within("a turn with a worker", chat.run(request("delegating", text), output))
    expect(bool(output.workers), "a turn that should spawn a worker did not")
    judge(contract, output)
    for call, worker in output.workers.items():
        check_said(worker.history, worker.turn_id)
        expect(bool(worker.actions), f"the worker of {call} said nothing")
        expect(worker.ended == "complete", f"the worker of {call} ended as {worker.ended}")
        said = [one for one in output.actions if one["type"] == "chat/toolCallStart"]
        expect(
            any(one["toolCallId"] == call for one in said),
            f"a worker was opened for the call {call}, of which the turn said nothing",
        )
        await contract.tried("stop_worker() of one that is done", chat.stop_worker(call))
    text = contract.needed("delegating_endlessly")
    running = Running(chat, contract, "stopped-worker", text)
    call = await contract.within("the worker of a turn", running.output.delegated)
    await contract.tried("stop_worker() of none there is", chat.stop_worker(_UNKNOWN))
    expect(not running.run.called, "the stop of another worker ended the turn")
    await contract.within("stop_worker()", chat.stop_worker(call))
    await contract.within("the end of a turn whose worker was stopped", ended(running.run))
    await check_goes_on(chat, contract, "after-workers")
    running = Running(chat, contract, "worker-stopped-with-its-turn", text)
    await contract.within("the worker of a turn", running.output.delegated)
    running.output.over()
    await running.stopped("a turn whose worker runs")
    await check_goes_on(chat, contract, "after-stopped-workers")
    await contract.within("close()", chat.close())


async def _check_customizations(agent: IAgent, contract: AgentContract) -> None:
    """One that is there can be switched, one that is not is refused in words."""
    chat: Any = await open_chat(agent, contract, "customizations")
    known = contract.needed("customization")
    for enabled in (False, True):
        await contract.within("toggle()", chat.toggle(known, enabled))
    failure = await contract.tried("toggle()", chat.toggle(_UNKNOWN, True))
    expect(failure is not None, "toggle() took a customization it does not have")
    await check_goes_on(chat, contract, "after-customizations")
    await contract.within("close()", chat.close())


async def _check_mcp(agent: IAgent, contract: AgentContract) -> None:
    """A server stops and starts; one there is not is refused in words."""
    host = RecordedHost()
    chat: Any = await open_chat(agent, contract, "mcp", host)
    known = contract.needed("mcp_server")
    await contract.within("stop_server()", chat.stop_server(known))
    await contract.within("start_server()", chat.start_server(known))
    chat.leave_server_starting(known)
    chat.leave_server_starting(_UNKNOWN)
    for name in ("start_server", "stop_server"):
        failure = await contract.tried(f"{name}()", getattr(chat, name)(_UNKNOWN))
        expect(failure is not None, f"{name}() took a server it does not have")
    strangers = {server for server, _ in host.servers} - {known}
    expect(_UNKNOWN not in strangers, "the state of a server that is not there was told")
    await check_goes_on(chat, contract, "after-mcp")
    await contract.within("close()", chat.close())


async def _check_sign_in(agent: IAgent, contract: AgentContract, sign_in: SignIn) -> None:
    """What waits for a sign-in goes on with the one that was made, and with no other."""
    host = RecordedHost()
    chat: Any = await open_chat(agent, contract, "sign-in", host)
    chat.signed_in(sign_in.resource, sign_in.server)  # with no turn that waits
    output = Watched("sign-in")
    waits: Deferred[str] = Deferred()

    def look(action: Action) -> None:
        if action["type"] == "chat/toolCallAuthRequired" and not waits.called:
            waits.callback(action["toolCallId"])

    output.heard.append(look)
    running = Running(chat, contract, output.turn_id, sign_in.message, output)
    call = await contract.within("the wait for a sign-in", waits)
    chat.signed_in(_UNKNOWN, None)
    await contract.settled()
    expect(not running.run.called, "the sign-in to something else ended a turn that waits for one")
    host.credentials[sign_in.resource] = sign_in.token
    chat.signed_in(sign_in.resource, sign_in.server)
    await contract.within("the end of a turn that waited for a sign-in", running.run)
    resolved = [
        action["toolCallId"]
        for action in output.actions
        if action["type"] == "chat/toolCallAuthResolved"
    ]
    expect(call in resolved, f"the sign-in of the call {call} was not said to be over")
    judge(contract, output)
    host.credentials.clear()
    output, waits = Watched("sign-in-stopped"), Deferred()
    output.heard.append(look)
    running = Running(chat, contract, output.turn_id, sign_in.message, output)
    await contract.within("the wait for a sign-in", waits)
    await running.stopped("a turn that waits for a sign-in")
    await check_goes_on(chat, contract, "after-sign-in")
    await contract.within("close()", chat.close())
