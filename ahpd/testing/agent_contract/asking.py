"""What a turn awaits: every answer is lived with, and nothing is done before one says yes."""

from collections.abc import Callable
from pathlib import PurePath
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred, ensureDeferred

from ahpd.interfaces import IAgent, IAgentChat, InputAnswer, Permission, ToolAnswer
from ahpd.protocol import Action, State
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
from ahpd.testing.agents import RecordedOutput
from ahpd.testing.agents.recorded import ANSWERED, CLIENT_RESULT, CONFIRMED, RESULT_CONFIRMED

#: What a call may ask for (`Permission.kind`).
_KINDS: Final = frozenset({"shell", "read", "write", "url", "memory", "mcp", "hook", "custom-tool"})


class Asking(Running):
    """A turn that asks."""

    async def asked(self) -> tuple[str, str]:
        """The method it waits with, and the id it gave; it said before what it waits for."""
        waits: Deferred[None] = Deferred()

        def look(result: Any = None) -> Any:
            if not waits.called:
                waits.callback(None)
            return result

        awaited = self.output.awaited
        awaited.on_wait(look)
        self.run.addBoth(look)
        await self._contract.within("the question of a turn that asks", waits)
        if self.run.called:
            await self._contract.within("a turn that should ask", self.run)
        expect(bool(awaited.waiting), "a turn that should ask ended without asking")
        what, name = awaited.waiting[0]
        check_asked(self.output, what, name)
        return what, name


def check_asked(output: RecordedOutput, what: str, name: str) -> None:
    """What is waited for was said: the call or the question, and what a call asks for."""
    found = next((said for said in reversed(output.actions) if _asks(said, what, name)), None)
    expect(found is not None, f"{what}() waits for {name}, of which nothing said that it asks")
    if what == CONFIRMED:
        permission = output.permissions.get(name)
        expect(permission is not None, f"the call {name} asks and says no permission that it asks")
        assert permission is not None
        _check_permission(name, permission)


def _asks(said: Action, what: str, name: str) -> bool:
    kind = said["type"]
    if what == ANSWERED:
        return kind == "chat/inputRequested" and bool(said["request"]["id"] == name)
    if said.get("toolCallId") != name:
        return False
    if what == CONFIRMED:
        return kind == "chat/toolCallReady" and said.get("confirmed") is None
    if what == RESULT_CONFIRMED:
        return kind == "chat/toolCallComplete" and bool(said.get("requiresResultConfirmation"))
    return (said.get("contributor") or {}).get("kind") == "client"


def _check_permission(name: str, permission: Permission) -> None:
    kind, path = permission.kind, permission.path
    expect(kind in _KINDS, f"the call {name} asks for {kind!r}, which is no kind of permission")
    if path is not None:
        expect(PurePath(path).is_absolute(), f"the call {name} asks for the relative path {path}")
    said = {"path": ("read", "write"), "url": ("url",), "command": ("shell",)}
    for field, kinds in said.items():
        if getattr(permission, field) is not None:
            expect(kind in kinds, f"the call {name} asks for a {field} and is of the kind {kind}")


# -- answers ---------------------------------------------------------------------------


def answers_to(output: RecordedOutput, what: str, name: str) -> list[tuple[str, bool, Any]]:
    """The answers there may be, each in a word for a message, and whether it is a yes."""
    if what == ANSWERED:
        asked = next(said["request"] for said in output.actions if _asks(said, what, name))
        return [
            ("accepted", True, InputAnswer(response="accept", answers=_answered(asked))),
            ("accepted as it is", True, InputAnswer(response="accept", answers={})),
            ("declined", False, InputAnswer(response="decline", answers={})),
            ("cancelled", False, InputAnswer(response="cancel", answers={})),
        ]
    if what == CLIENT_RESULT:
        done = {"success": True, "pastTenseMessage": "Did it", "content": []}
        return [
            ("done", True, done),
            ("failed", False, _failed("it did not work")),
            ("left by its client", False, CLIENT_LEFT),
        ]
    refused = ToolAnswer(approved=False, reason="denied", message="Not now")
    skipped = ToolAnswer(approved=False, reason="skipped", suggestion=message("another way"))
    if what == RESULT_CONFIRMED:
        return [("allowed", True, ToolAnswer(approved=True)), ("refused", False, refused)]
    return [
        ("allowed", True, ToolAnswer(approved=True)),
        ("allowed as it was edited", True, _edited(output, name)),
        ("allowed by the host's rules", True, BY_RULES),
        ("refused", False, refused),
        ("skipped", False, skipped),
        ("refused by the host's rules", False, AGAINST_RULES),
    ]


#: What the host's own rules answer, of which nobody was asked.
BY_RULES: Final = ToolAnswer(approved=True, decided_by="not-needed", decision_source="host_policy")
AGAINST_RULES: Final = ToolAnswer(approved=False, decision_source="host_policy")


def _failed(words: str) -> State:
    return {"success": False, "pastTenseMessage": words, "error": {"message": words}}


#: What a call of a client's comes to whose client is gone.
CLIENT_LEFT: Final = _failed("It could not run: the client that provides it has left.")


def _edited(output: RecordedOutput, name: str) -> ToolAnswer:
    """Yes, with the first option that says so and the input as it was, where it may be edited."""
    ready = next(said for said in reversed(output.actions) if _asks(said, CONFIRMED, name))
    options = [option["id"] for option in ready.get("options") or () if option["kind"] == "approve"]
    return ToolAnswer(
        approved=True,
        option=options[0] if options else None,
        edited_input=ready.get("toolInput") if ready.get("editable") else None,
        decision_source="human_response",
    )


def _answered(request: State) -> dict[str, State]:
    """An answer to each question of a request (schema: ChatInputAnswer), by its id."""
    return {
        question["id"]: {"state": "submitted", "value": _value(question)}
        for question in request.get("questions") or ()
    }


def _value(question: State) -> State:
    kind = question["kind"]
    if kind == "boolean":
        return {"kind": "boolean", "value": True}
    if kind in ("number", "integer"):
        return {"kind": "number", "value": question.get("min", 1)}
    if kind == "text":
        return {"kind": "text", "value": "yes"}
    first = question["options"][0]["id"]
    if kind == "multi-select":
        return {"kind": "selected-many", "value": [first]}
    return {"kind": "selected", "value": first}


# -- the checks ------------------------------------------------------------------------


class _World:
    """What a call of one message does in the world, where the contract says how to see it."""

    def __init__(self, contract: AgentContract, text: str) -> None:
        self._look: Callable[[], Any] | None = contract.effects.get(text)
        self._before: Any = None

    def begin(self) -> None:
        self._before = None if self._look is None else self._look()

    def check(self, what: str, done: bool, when: str) -> None:
        if self._look is None:
            return
        expect(
            what == CONFIRMED,
            f"AgentContract.effects names a message whose turn waits with {what}(), and asks for "
            "nothing",
        )
        changed = self._look() != self._before
        words = "did nothing" if done else "was done"
        expect(changed is done, f"the call of a turn that asks {words} {when}")


async def check_asking(agent: IAgent, contract: AgentContract, text: str) -> None:
    """Each answer is lived with; a stop and a close end a turn that waits, and nothing is done."""
    chat = await open_chat(agent, contract, "asking")
    world = _World(contract, text)
    what = await _check_each_answer(chat, contract, text, world)
    if what == CONFIRMED:
        await _check_rules(chat, contract, text, world)
    for number, tells in enumerate((True, False)):
        await _check_stopped(chat, contract, text, world, number, tells)
    if what == CLIENT_RESULT:
        await _check_without_client(chat, contract, text)
    await check_goes_on(chat, contract, "after-asking")
    world.begin()
    asking = Asking(chat, contract, "closed", text)
    await asking.asked()
    ending = ensureDeferred(ended(asking.run))
    await contract.within("close() with a turn that waits", chat.close())
    await contract.within("the end of a waiting turn whose chat was closed", ending)
    world.check(what, False, "when its chat was closed")


async def _check_each_answer(
    chat: IAgentChat, contract: AgentContract, text: str, world: _World
) -> str:
    outputs: list[RecordedOutput] = []
    answers: list[tuple[str, bool, Any]] = []
    number = 0
    while True:
        world.begin()
        asking = Asking(chat, contract, f"asking-{number}", text)
        what, name = await asking.asked()
        answers = answers or answers_to(asking.output, what, name)
        words, yes, answer = answers[number]
        await contract.settled(0.01)
        world.check(what, False, "before it was answered")
        asking.output.awaited.give(what, name, answer)
        await contract.within(f"the end of a turn whose question was {words}", asking.run)
        world.check(what, yes, f"when it was {words}")
        outputs.append(asking.output)
        number += 1
        if number == len(answers):
            judge(contract, *outputs)
            return what


async def _check_rules(chat: IAgentChat, contract: AgentContract, text: str, world: _World) -> None:
    """The host's rules answer before the turn asks: `confirmed` does not wait."""
    for answer in (BY_RULES, AGAINST_RULES):
        world.begin()
        words = "allowed" if answer.approved else "refused"
        output = Watched(f"ruled-{words}")
        output.confirm(answer)
        running = Running(chat, contract, output.turn_id, text, output)
        await contract.within(f"the end of a turn whose call the rules {words}", running.run)
        judge(contract, running.output)
        world.check(CONFIRMED, answer.approved, f"when the host's rules {words} it at once")


async def _check_stopped(
    chat: IAgentChat, contract: AgentContract, text: str, world: _World, number: int, tells: bool
) -> None:
    """A stop ends it, whether or not what it waits for says first that the turn is over."""
    world.begin()
    asking = Asking(chat, contract, f"stopped-{number}", text)
    what, name = await asking.asked()
    if tells:
        asking.output.over()
    await contract.within("stop() of a turn that waits", chat.stop(asking.output.turn_id))
    await contract.within("the end of a stopped turn that waited", ended(asking.run))
    if not tells:  # a person was a moment late
        answers = answers_to(asking.output, what, name)
        asking.output.awaited.give(what, name, answers[0][2])
    await contract.settled()
    world.check(what, False, "after its turn was stopped")


async def _check_without_client(chat: IAgentChat, contract: AgentContract, text: str) -> None:
    """The client has left, and its tools with it: a turn that wants one ends."""
    output = Watched("without-client")
    output.return_result(CLIENT_LEFT)
    bare = attrs.evolve(contract, client_tools=())
    running = Running(chat, bare, output.turn_id, text, output)
    await contract.within("the end of a turn whose client had left", ended(running.run))
    judge(contract, output)
