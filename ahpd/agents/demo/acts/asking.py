"""Directives that need somebody: a person, a client, a worker."""

from __future__ import annotations

import json

from .pipes import WorkerStopped
from .turn import Failed, as_input, text_block

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from .turn import Turn

NO_SUCH_TOOL = "noSuchTool"


def ask(turn: Turn, text: str, choices: list[str]) -> None:
    """`/ask TEXT [| CHOICE]...`: a question with choices; the answer is echoed."""
    question: dict[str, Any] = {
        "id": "answer",
        "kind": "single-select",
        "message": text,
        "required": True,
        "options": [{"id": choice, "label": choice} for choice in choices],
        "allowFreeformInput": True,
    }
    request = turn.new_id()
    turn.say(
        "chat/inputRequested", request={"id": request, "message": text, "questions": [question]}
    )
    answered = turn.wait_for("answered", request)
    if answered["response"] != "accept":
        how = {"decline": "declined to answer", "cancel": "called the question off"}
        turn.markdown(f"You {how.get(answered['response'], 'did not answer')}.")
        return
    given = answered["answers"].get("answer") or {}
    value = given.get("value") or {}
    chosen = [value.get("value"), *(value.get("freeformValues") or given.get("freeformValues", []))]
    words = ", ".join(str(one) for one in chosen if one)
    turn.markdown(f"You answered: {words}" if words else "You answered nothing.")


def confirm(turn: Turn, name: str, text: str) -> None:
    """`/confirm NAME TEXT`: as `/tool`, but it asks first; says what was decided."""
    given = as_input(text=text)
    call, shown = turn.begin_call(name, given)
    turn.say(
        "chat/toolCallReady",
        toolCallId=call,
        invocationMessage=f"Run {shown}",
        confirmationTitle=f"Run {shown}?",
        toolInput=given,
        editable=True,
    )
    decided = turn.wait_for("confirmed", call)
    if decided["approved"]:
        text = _edited(decided["editedInput"], text)
        turn.end_call(call, shown, text_block(text))
        turn.markdown(f"{shown} was allowed.")
    else:
        _refused(turn, shown, decided)


def _refused(turn: Turn, shown: str, decided: dict[str, Any]) -> None:
    words = f"{shown} was {decided['reason'] or 'denied'}"
    if decided["message"]:
        words += f": {decided['message']}"
    if decided["suggestion"]:
        words += f" (you suggested: {decided['suggestion']})"
    turn.markdown(f"{words}.")


def _edited(given: str | None, text: str) -> str:
    """The text of the input as it was edited, or all of it where it is no such input any more."""
    if given is None:
        return text
    try:
        edited = json.loads(given)
    except ValueError:
        return given
    if isinstance(edited, dict) and isinstance(edited.get("text"), str):
        found: str = edited["text"]
        return found
    return given


def client(turn: Turn, name: str, given: str) -> None:
    """`/client TOOL [JSON]`: a tool of a connected client; says what it answered."""
    tool = next((tool for tool in turn.tools if tool["name"] == name), None)
    if tool is None:
        offered = ", ".join(sorted({tool["name"] for tool in turn.tools})) or "none"
        raise Failed(
            NO_SUCH_TOOL, f"/client: no client offers the tool {name}; offered are: {offered}"
        )
    call, shown = turn.begin_call(
        name,
        given,
        displayName=tool.get("title") or name,
        contributor={"kind": "client", "clientId": tool["clientId"]},
    )
    turn.run_call(call, shown, given)
    _answered(turn, shown, turn.wait_for("client_result", call))


def host(turn: Turn, name: str, given: str) -> None:
    """`/host TOOL [JSON]`: a tool of this host, a plugin's too; asks first, says what it answered."""
    call, shown = turn.begin_call(name, given)
    turn.say(
        "chat/toolCallReady",
        toolCallId=call,
        invocationMessage=f"Run {shown}",
        confirmationTitle=f"Run {shown}?",
        toolInput=given,
    )
    decided = turn.wait_for("confirmed", call)
    if not decided["approved"]:
        _refused(turn, shown, decided)
        return
    result = turn.wait_for("host_result", call, name=name, arguments=json.loads(given))
    turn.say("chat/toolCallComplete", toolCallId=call, result=result)
    _answered(turn, shown, result)


def _answered(turn: Turn, shown: str, result: dict[str, Any]) -> None:
    """What a tool answered (schema: ToolCallResult), in words."""
    if result["success"]:
        texts = [b["text"] for b in result.get("content") or () if b.get("type") == "text"]
        turn.markdown(f"{shown} answered: {' '.join(texts) or 'nothing'}")
    else:
        error = (result.get("error") or {}).get("message") or "it did not say why"
        turn.markdown(f"{shown} failed: {error}")


def task(turn: Turn, run: Callable[[Turn], None], name: str, text: str) -> None:
    """`/task NAME TEXT`: a worker is given TEXT as its message; `run` runs its turn."""
    given = as_input(name=name, prompt=text)
    meta = {"toolKind": "subagent", "subagentAgentName": name, "subagentDescription": text[:200]}
    call, _ = turn.begin_call("task", given, displayName="Task", _meta=meta)
    turn.run_call(call, name, given)
    chat = turn.wait_for("worker", call, prompt=text, title=name)
    link = {"type": "subagent", "resource": chat, "title": name, "agentName": name}
    worker = turn.for_worker(call, text)
    try:
        run(worker)
    except WorkerStopped as stopped:
        if stopped.call != call:
            raise
        turn.fail_call(call, name, f"{name} was stopped", link)
    except Failed as failed:
        worker.say("demo/workerEnd", errorType=failed.error_type, message=failed.message)
        turn.fail_call(call, name, failed.message, link)
    else:
        worker.say("demo/workerEnd")
        turn.end_call(call, name, text_block("".join(worker.answered)), link)
