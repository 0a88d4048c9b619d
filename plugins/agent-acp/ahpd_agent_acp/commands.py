"""The commands an agent offers, as clients are shown them: prompts of one plugin.

Source: ACP, "Slash Commands"; schema: PluginCustomization, PromptCustomization.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

from ahpd.protocol import State

#: Where a prompt carries what is to be typed behind it: its shape declares no place.
_HINT: Final = "vscode.skill.argumentHint"


def customizations(provider: str, name: str, commands: Any) -> list[State]:
    """What a conversation has loaded: its commands, in the order the agent named them."""
    shown: dict[str, State] = {}
    for command in commands if isinstance(commands, list) else ():
        if not isinstance(command, Mapping) or not isinstance(command.get("name"), str):
            continue
        called = command["name"].lstrip("/")
        if called and called not in shown:
            shown[called] = _prompt(provider, called, command)
    if not shown:
        return []
    return [
        {
            "type": "plugin",
            "id": f"acp:{provider}",
            "uri": f"acp-commands:/{provider}",
            "name": name,
            "children": list(shown.values()),
        }
    ]


def _prompt(provider: str, called: str, command: Mapping[str, Any]) -> State:
    prompt: State = {
        "type": "prompt",
        "id": f"acp:{provider}:{called}",
        "uri": f"acp-commands:/{provider}/{quote(called, safe='')}",
        "name": called,
    }
    described = command.get("description")
    if isinstance(described, str) and described:
        prompt["description"] = described
    hint = command["input"].get("hint") if isinstance(command.get("input"), Mapping) else None
    if isinstance(hint, str) and hint:
        prompt["_meta"] = {_HINT: hint}
    return prompt
