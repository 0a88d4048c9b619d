"""What a conversation is to be set to, held against what it is set to.

An agent is told of a value when it changes, once: what it moves by itself - out of a mode
that plans, to another model at a limit - stays until somebody chooses anew.
"""

from collections.abc import Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.interfaces import AgentFailure
from ahpd_agent_acp.modes import Heard, Setting
from ahpd_agent_acp.session import Session

log = Logger()

MODEL_FAILED: Final = "modelSelectionFailed"
INVALID_CONFIG: Final = "invalidConfig"


def check_values(heard: Heard, values: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Raises `AgentFailure` for a value that changes to one the agent does not take."""
    for setting in heard.settings:
        value = values.get(setting.key)
        if value is not None and value != before.get(setting.key) and not setting.takes(value):
            raise AgentFailure(
                f"{setting.key} is one of {_taken(setting)}, not {value!r}", INVALID_CONFIG
            )


class Applied:
    """What a conversation was told last: its options by key, and its model."""

    def __init__(self, model: str | None = None) -> None:
        self._options: dict[str, Any] = {}
        self._initial = model
        self._model = model

    @classmethod
    def of(cls, heard: Heard) -> "Applied":
        """For one that has just been opened."""
        model = None if heard.model is None else heard.model.current
        return cls(model if isinstance(model, str) else None)

    async def settle(
        self,
        session: Session,
        values: Mapping[str, Any],
        model: Mapping[str, Any] | None,
        configured: str | None,
    ) -> None:
        """Have it run on this model and these values. Raises `AgentFailure`."""
        wanted = configured if model is None else model["id"]
        await self._set_model(session, wanted or self._initial)
        await self.set_options(session, values)

    async def _set_model(self, session: Session, wanted: str | None) -> None:
        if wanted is None or wanted == self._model:
            return
        setting = session.heard.model
        if setting is None:
            log.debug("there is no model to choose; {wanted} is left out", wanted=wanted)
            return
        if not setting.takes(wanted):
            raise AgentFailure(
                f"There is no model {wanted!r}; there is {_taken(setting)}", MODEL_FAILED
            )
        if setting.current != wanted:
            await session.set(setting, wanted)
        self._model = wanted

    async def set_options(self, session: Session, values: Mapping[str, Any]) -> None:
        """Tell it of every value that changed since it was told last."""
        for key in [setting.key for setting in session.heard.settings]:
            value = values.get(key)
            # What one option is set to may take others away, or change what they take.
            setting = session.heard.find(key)
            if setting is None or value is None or self._options.get(key) == value:
                continue
            if not setting.takes(value):
                log.warn(
                    "{key} is one of {taken}, so {value!r} was left out",
                    key=key,
                    taken=_taken(setting),
                    value=value,
                )
            elif setting.current != value:
                await session.set(setting, value)
            self._options[key] = value


def _taken(setting: Setting) -> str:
    if setting.choices is None:
        return "true and false"
    return ", ".join(choice.id for choice in setting.choices)
