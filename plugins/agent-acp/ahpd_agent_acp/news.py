"""What a session's agent says of the session rather than of a turn."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from ahpd_agent_acp.content import objects_in, text_in


class SessionNews(Protocol):
    """Who hears it."""

    def commands_changed(self, commands: Sequence[Mapping[str, Any]]) -> None:
        """The slash commands there are now (ACP: AvailableCommand)."""

    def mode_changed(self, mode: str) -> None:
        """The id of the mode the session is in now."""

    def options_changed(self, options: Sequence[Mapping[str, Any]]) -> None:
        """The session's configuration now, all of it (ACP: SessionConfigOption)."""

    def title_changed(self, title: str | None) -> None:
        """What the agent calls the session; None takes it back."""


def tell(update: Mapping[str, Any], news: SessionNews | None) -> bool:
    """Tell what one `session/update` says of the session; False where it says nothing of it.

    It may come at any time: in a turn, between two, and while a conversation is replayed.
    """
    kind = text_in(update, "sessionUpdate")
    if kind not in _KINDS:
        return False
    if news is None:
        return True
    if kind == "available_commands_update":
        news.commands_changed(objects_in(update, "availableCommands"))
    elif kind == "config_option_update":
        news.options_changed(objects_in(update, "configOptions"))
    elif kind == "current_mode_update":
        mode = text_in(update, "currentModeId")
        if mode is not None:
            news.mode_changed(mode)
    elif "title" in update:
        news.title_changed(text_in(update, "title"))
    return True


_KINDS = frozenset(
    {
        "available_commands_update",
        "config_option_update",
        "current_mode_update",
        "session_info_update",
    }
)
