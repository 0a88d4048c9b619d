"""What a session of an agent can be set to: its mode, its model, its other options.

An agent says it in up to three ways: `configOptions`, which is ACP's own; `modes`, which ACP
is leaving; `models`, which came before options had categories. An option wins over the other
two where both are said. Source: ACP, "Session Config Options" and "Session Modes".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.protocol import State
from ahpd_agent_acp.rows import Mode

#: The key of the session's configuration that holds the mode: the approvals control.
MODE: Final = "permissionMode"

#: Keys that are the host's own, and the mode's; an option called so is written behind a prefix.
_TAKEN: Final = frozenset({MODE, "permissions", "sensitiveEditLocations"})
_PREFIX: Final = "option-"

_MODE_CATEGORY: Final = "mode"
_MODEL_CATEGORY: Final = "model"


@attrs.frozen(kw_only=True)
class Choice:
    """One value something can be set to."""

    id: str
    name: str
    description: str = ""


@attrs.frozen(kw_only=True)
class Setting:
    """One thing a session can be set to, and how the agent is told.

    `how` is `option`, `mode` or `model`: the request that sets it. `choices` are None for one
    that is true or false.
    """

    key: str
    """Its key in a session's configuration."""
    id: str
    """The agent's own id of it."""
    how: str
    name: str
    current: str | bool
    choices: tuple[Choice, ...] | None
    description: str = ""

    def takes(self, value: Any) -> bool:
        """Whether it can be set to that."""
        if self.choices is None:
            return isinstance(value, bool)
        return any(choice.id == value for choice in self.choices)


@attrs.frozen(kw_only=True)
class Heard:
    """All that an agent said a session can be set to. `mode` and `model` are not in `options`."""

    mode: Setting | None = None
    model: Setting | None = None
    options: tuple[Setting, ...] = ()

    @property
    def settings(self) -> Iterator[Setting]:
        """Those a session's configuration has: all but the model."""
        if self.mode is not None:
            yield self.mode
        yield from self.options

    def find(self, key: str) -> Setting | None:
        """The one of that key."""
        return next((one for one in self.settings if one.key == key), None)


# -- what an agent said ----------------------------------------------------------------


def heard_in(answer: Any, before: Heard | None = None) -> Heard:
    """What an answer or an update says; what it says nothing of is as it was `before`."""
    said = answer if isinstance(answer, Mapping) else {}
    heard = before or Heard()
    mode = _legacy_mode(said.get("modes"))
    if mode is not None and not (heard.mode is not None and heard.mode.how == "option"):
        heard = attrs.evolve(heard, mode=mode)
    model = _legacy_model(said.get("models"))
    if model is not None and not (heard.model is not None and heard.model.how == "option"):
        heard = attrs.evolve(heard, model=model)
    options = said.get("configOptions")
    if isinstance(options, list):
        heard = _with_options(heard, tuple(_options(options)))
    return heard


def _with_options(heard: Heard, settings: Sequence[tuple[str, Setting]]) -> Heard:
    """All options anew: the list is always the whole one."""
    mode = _first(settings, _MODE_CATEGORY)
    model = _first(settings, _MODEL_CATEGORY)
    taken = [one for one in (mode, model) if one is not None]
    if mode is None and heard.mode is not None and heard.mode.how != "option":
        mode = heard.mode
    if model is None and heard.model is not None and heard.model.how != "option":
        model = heard.model
    return Heard(
        mode=None if mode is None else attrs.evolve(mode, key=MODE),
        model=model,
        options=tuple(one for _, one in settings if one not in taken),
    )


def _first(settings: Sequence[tuple[str, Setting]], category: str) -> Setting | None:
    return next(
        (one for kind, one in settings if kind == category and one.choices is not None), None
    )


def _options(options: Sequence[Any]) -> Iterator[tuple[str, Setting]]:
    """Each option with its category; one of a kind nobody here knows is left to the agent."""
    seen: set[str] = set()
    for option in options:
        if not isinstance(option, Mapping) or not isinstance(option.get("id"), str):
            continue
        current, identifier = option.get("currentValue"), option["id"]
        kind = option.get("type", "select")
        if identifier in seen:
            continue
        if kind == "boolean" and isinstance(current, bool):
            choices = None
        elif kind == "select" and isinstance(current, str):
            choices = tuple(_choices(option.get("options")))
        else:
            continue
        seen.add(identifier)
        yield (
            str(option.get("category") or ""),
            Setting(
                key=_PREFIX + identifier if identifier in _TAKEN else identifier,
                id=identifier,
                how="option",
                name=str(option.get("name") or identifier),
                description=str(option.get("description") or ""),
                current=current,
                choices=choices,
            ),
        )


def _choices(options: Any) -> Iterator[Choice]:
    """The values of a select, those of its groups among them."""
    for option in options if isinstance(options, list) else ():
        if not isinstance(option, Mapping):
            continue
        if isinstance(option.get("options"), list):
            yield from _choices(option["options"])
        elif isinstance(option.get("value"), str):
            yield _choice(option, "value")


def _choice(option: Mapping[str, Any], key: str) -> Choice:
    return Choice(
        id=option[key],
        name=str(option.get("name") or option[key]),
        description=str(option.get("description") or ""),
    )


def _legacy_mode(state: Any) -> Setting | None:
    return _legacy(state, "mode", MODE, "Mode", "availableModes", "id", "currentModeId")


def _legacy_model(state: Any) -> Setting | None:
    return _legacy(state, "model", "model", "Model", "availableModels", "modelId", "currentModelId")


def _legacy(
    state: Any, how: str, key: str, name: str, listed: str, each: str, current: str
) -> Setting | None:
    if not isinstance(state, Mapping) or not isinstance(state.get(listed), list):
        return None
    choices = tuple(
        _choice(one, each)
        for one in state[listed]
        if isinstance(one, Mapping) and isinstance(one.get(each), str)
    )
    now = state.get(current)
    if not choices:
        return None
    return Setting(
        key=key,
        id=how,
        how=how,
        name=name,
        current=now if isinstance(now, str) else choices[0].id,
        choices=choices,
    )


# -- how an agent is told --------------------------------------------------------------


def request_to_set(setting: Setting, value: str | bool, session: str) -> tuple[str, State]:
    """The method and the params that set it."""
    match setting.how:
        case "mode":
            return "session/set_mode", {"sessionId": session, "modeId": value}
        case "model":
            return "session/set_model", {"sessionId": session, "modelId": value}
    params: State = {"sessionId": session, "configId": setting.id, "value": value}
    if isinstance(value, bool):
        params["type"] = "boolean"
    return "session/set_config_option", params


def with_value(heard: Heard, setting: Setting, value: str | bool) -> Heard:
    """What was heard, with that set to `value`."""
    changed = attrs.evolve(setting, current=value)
    if heard.mode == setting:
        return attrs.evolve(heard, mode=changed)
    if heard.model == setting:
        return attrs.evolve(heard, model=changed)
    options = tuple(changed if one == setting else one for one in heard.options)
    return attrs.evolve(heard, options=options)


# -- what clients are shown ------------------------------------------------------------


def preset(modes: Sequence[Mode]) -> Heard:
    """What is shown of an agent that nothing was heard of: the modes its row names."""
    if not modes:
        return Heard()
    choices = tuple(
        Choice(id=mode.id, name=mode.name, description=mode.description) for mode in modes
    )
    setting = Setting(
        key=MODE, id="mode", how="mode", name="Mode", current=choices[0].id, choices=choices
    )
    return Heard(mode=setting)


def config_schema(heard: Heard) -> State:
    """What a session can be configured with (schema: SessionConfigSchema)."""
    return {
        "type": "object",
        "properties": {setting.key: _property(setting) for setting in heard.settings},
    }


def _property(setting: Setting) -> State:
    shown: State = {"type": "boolean" if setting.choices is None else "string"}
    shown["title"] = setting.name
    if setting.description:
        shown["description"] = setting.description
    if setting.choices is not None:
        shown["enum"] = [choice.id for choice in setting.choices]
        shown["enumLabels"] = [choice.name for choice in setting.choices]
        if any(choice.description for choice in setting.choices):
            shown["enumDescriptions"] = [choice.description for choice in setting.choices]
    if setting.takes(setting.current):
        shown["default"] = setting.current
    return shown | {"sessionMutable": True, "chatMutable": True}


def model_infos(heard: Heard, provider: str, configured: str | None) -> list[State]:
    """The models (schema: SessionModelInfo), the configured one first where it is not listed."""
    choices: list[Choice] = []
    if heard.model is not None and heard.model.choices is not None:
        choices += {choice.id: choice for choice in heard.model.choices}.values()
    if configured is not None:
        first = [one for one in choices if one.id == configured]
        choices = (first or [Choice(id=configured, name=configured)]) + [
            one for one in choices if one.id != configured
        ]
    return [{"id": one.id, "provider": provider, "name": one.name} for one in choices]


def same_choices(heard: Heard, other: Heard) -> bool:
    """Whether both can be set to the same, whatever they are set to."""
    return _choices_of(heard) == _choices_of(other)


def _choices_of(heard: Heard) -> list[Any]:
    found = [*heard.settings, *([] if heard.model is None else [heard.model])]
    return [attrs.evolve(setting, current=False) for setting in found]
