"""Values a configuration key may take, from the agent that knows them.

Source: AHP.txt, `sessionConfigCompletions`.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.calling import asked
from ahpd.interfaces import AgentFailure, IAgent, IConfigCompletions
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.errors import RpcError, internal_error
from ahpd.protocol.shapes.config import SessionConfigValueItem

log = Logger()

#: How long a form waits for the values of one of its keys, in seconds.
LONGEST_SEED: Final = 5.0


async def completed(agent: IAgent, params: Mapping[str, Any]) -> list[State]:
    """The values that match (schema: SessionConfigValueItem); none from an agent that has none.

    `params` are a request's (schema: SessionConfigCompletionsParams). Raises `RpcError`
    in the agent's words where it fails.
    """
    if not IConfigCompletions.providedBy(agent):
        return []
    key = params["property"]
    try:
        found: Sequence[State] = await asked(
            IConfigCompletions(agent).complete_config, key, params.get("query") or "", params
        )
        for index, item in enumerate(found):
            check(item, SessionConfigValueItem, at=f"{key}[{index}]")
    except AgentFailure as failure:
        raise internal_error(failure.message) from None
    except ShapeError as error:
        raise internal_error(
            f"Agent {agent.provider} answered no value of a setting: {error}"
        ) from None
    return list(found)


async def seeded(
    clock: IReactorTime,
    agent: IAgent,
    params: Mapping[str, Any],
    form: State,
    others: Collection[str] = (),
) -> State:
    """`form` (schema: ResolveSessionConfigResult) with the first values of its dynamic keys.

    `others` are those somebody else than the agent answers.

    So a client can label the value it holds before it opens anything. Each key is asked
    for once; one that fails or takes too long stays as its schema has it.
    """
    if not IConfigCompletions.providedBy(agent):
        return form
    declared: Mapping[str, State] = form["schema"]["properties"]
    dynamic = [
        key for key, one in declared.items() if one.get("enumDynamic") is True and key not in others
    ]
    if not dynamic:
        return form
    properties = dict(declared)
    for key in dynamic:
        found = await _first_values(clock, agent, {**params, "property": key, "query": ""})
        if found:
            properties[key] = with_values(properties[key], found)
    return {**form, "schema": {**form["schema"], "properties": properties}}


async def _first_values(
    clock: IReactorTime, agent: IAgent, params: Mapping[str, Any]
) -> list[State]:
    asking = Deferred.fromCoroutine(completed(agent, params)).addTimeout(LONGEST_SEED, clock)
    why: str
    try:
        return await asking
    except RpcError as failure:
        why = failure.message
    except TookTooLong:
        why = f"no answer in {LONGEST_SEED:g} s"
    except Exception as failure:
        why = f"{type(failure).__name__}: {failure}"
    log.warn(
        "agent {agent} has no first values for {key}: {why}",
        agent=agent.provider,
        key=params["property"],
        why=why,
    )
    return []


def with_values(declared: State, found: Sequence[State]) -> State:
    """The property's schema with `found` in front of what it lists itself."""
    values = [item["value"] for item in found]
    labels = [item["label"] for item in found]
    words = [item.get("description", "") for item in found]
    own = declared.get("enum") or []
    own_labels = declared.get("enumLabels") or []
    own_words = declared.get("enumDescriptions") or []
    for index, value in enumerate(own):
        if value not in values:
            values.append(value)
            labels.append(own_labels[index] if index < len(own_labels) else str(value))
            words.append(own_words[index] if index < len(own_words) else "")
    seeded_property = {**declared, "enum": values, "enumLabels": labels}
    if any(words):
        seeded_property["enumDescriptions"] = words
    return seeded_property
