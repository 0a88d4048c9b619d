"""Messages that are steered into a running turn: each is read, handed back or withdrawn, once."""

from typing import Any

from twisted.internet.defer import ensureDeferred

from ahpd.interfaces import IAgent
from ahpd.protocol import Action
from ahpd.testing.agent_contract.contract import AgentContract
from ahpd.testing.agent_contract.said import expect
from ahpd.testing.agent_contract.talking import (
    Running,
    Watched,
    check_goes_on,
    ended,
    judge,
    message,
    open_chat,
)
from ahpd.testing.agents import RecordedHost


class _Steerer:
    """Asks as the host does: at each of the turn's actions, until the message is taken."""

    def __init__(self, chat: Any, output: Watched, name: str) -> None:
        self.taken = False
        self._chat = chat
        self._name = name
        self._output = output
        output.heard.append(self._look)

    def _look(self, action: Action) -> None:
        if not self.taken:
            self.taken = steer(self._chat, self._name)


def steer(chat: Any, name: str) -> bool:
    """Whether the chat took a message of this id into its turn."""
    taken: bool = chat.steer(name, message(name))
    expect(isinstance(taken, bool), f"steer() answered {taken!r}, expected True or False")
    return taken


def _withdraw(chat: Any, name: str) -> bool:
    given: bool = chat.withdraw(name)
    expect(isinstance(given, bool), f"withdraw() answered {given!r}, expected True or False")
    return given


async def check_steering(agent: IAgent, contract: AgentContract) -> None:
    """A message is taken or not; one that was ends up read, handed back, or withdrawn."""
    host = RecordedHost()
    chat: Any = await open_chat(agent, contract, "steering", host)
    expect(steer(chat, "early") is False, "steer() with no turn running took the message")
    expect(_withdraw(chat, "early") is False, "withdraw() gave back a message it had not taken")
    await _check_read(chat, host, contract)
    await _check_stopped(chat, host, contract)
    await _check_unread(chat, host, contract)
    await check_goes_on(chat, contract, "after-steering")
    await _check_closed(chat, host, contract)


async def _check_read(chat: Any, host: RecordedHost, contract: AgentContract) -> None:
    """One that is read is told of once, while its turn runs, and the turn has an answer to it."""
    text = contract.needed("steered")
    output = Watched("steered-read")
    steerer = _Steerer(chat, output, "read")
    answered_from: list[int] = []

    def look(action: Action) -> None:
        if "read" in host.taken and not answered_from:
            answered_from.append(len(output.actions))

    output.heard.append(look)
    running = Running(chat, contract, output.turn_id, text, output)
    await contract.within("a turn that reads what is steered into it", running.run)
    expect(steerer.taken, "a turn that should be steered took no message")
    _check_ends(host, ["read"])
    expect("read" in host.taken, "a turn that should read what is steered into it handed it back")
    expect(bool(answered_from), "a turn read what was steered into it and said nothing of it")
    expect(_withdraw(chat, "read") is False, "withdraw() gave back a message that was read")
    judge(contract, output)


async def _check_stopped(chat: Any, host: RecordedHost, contract: AgentContract) -> None:
    """Of two that a stopped turn took, each has one end; the later was withdrawn, if it could."""
    running = await Running(chat, contract, "steered", contract.endless).begun()
    expect(_withdraw(chat, "unknown") is False, "withdraw() gave back a message it was never given")
    taken = [name for name in ("one", "two") if steer(chat, name)]
    read = set(host.taken)
    withdrawn = [name for name in taken[-1:] if _withdraw(chat, name)]
    expect(not read & set(withdrawn), "withdraw() gave back a message that was read")
    expect(not any(_withdraw(chat, name) for name in withdrawn), "withdraw() gave one back twice")
    running.output.over()
    await running.stopped("a steered turn")
    _check_ends(host, [name for name in taken if name not in withdrawn], withdrawn)
    order = [name for name in host.taken if name in taken]
    expect(order == sorted(order), f"steered messages were read out of order: {order}")


async def _check_unread(chat: Any, host: RecordedHost, contract: AgentContract) -> None:
    """A turn that completes without reading one hands it back."""
    output = Watched("steered-unread")
    steerer = _Steerer(chat, output, "unread")
    running = Running(chat, contract, output.turn_id, contract.answered, output)
    await contract.within("a turn a message was steered into", running.run)
    _check_ends(host, ["unread"] if steerer.taken else [])
    expect(steer(chat, "late") is False, "steer() after its turn took the message")


async def _check_closed(chat: Any, host: RecordedHost, contract: AgentContract) -> None:
    """So does a chat that is closed."""
    running = await Running(chat, contract, "steered-closed", contract.endless).begun()
    taken = [name for name in ("left",) if steer(chat, name)]
    ending = ensureDeferred(ended(running.run))
    await contract.within("close() with a steered turn", chat.close())
    await contract.within("the end of a steered turn whose chat was closed", ending)
    _check_ends(host, taken)


def _check_ends(
    host: RecordedHost, expected: list[str], withdrawn: list[str] | None = None
) -> None:
    """Each of `expected`, of all that were steered so far, was read or handed back once."""
    gone = withdrawn or []
    for name in [*expected, *gone]:
        ends = [*host.taken, *host.returned, *gone].count(name)
        expect(
            ends == 1,
            f"the steering message {name} was taken, and read, handed back or withdrawn "
            f"{ends} times in all, expected once",
        )
    known = {"read", "one", "two", "unread", "left"}
    strangers = {*host.taken, *host.returned} - known
    expect(not strangers, f"steering messages it does not hold were told of: {strangers}")
