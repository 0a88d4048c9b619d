"""The coding agents that are driven, as their vendors publish them.

Each is served by its shipped row (`ahpd_agent_acp.rows`): a record names it, its program is on
`PATH`, and what is here beside that only leads it to a model on this machine and keeps it from
looking for anything else.
"""

import json

import attrs

#: What each is given as its model's key. It may not be said anywhere.
KEY = "a-key-that-nobody-may-say"


@attrs.frozen(kw_only=True)
class CodingAgent:
    """One of them. Names and arguments of tools are the agent's own."""

    id: str
    package: str
    version: str
    node: int
    """The major version of Node.js it wants at least."""
    variables: dict
    """More of its environment; `{model}` stands for the model's address."""
    files: dict = attrs.field(factory=dict)
    """Files of its home, as JSON values."""
    shell: str
    write: str
    path: str
    """What the tool that writes calls the path."""
    models: tuple
    """Models it lists; messages are sent to the last."""
    model_asked: str
    """What the endpoint is asked for then."""
    modes: tuple
    """Modes it lists, the one it begins in first; in `plan` it writes no file."""
    shows_lines: bool = True
    """Whether its questions about shell lines hold the line."""
    names_servers_tools: bool = True
    """Whether its questions about a server's tools name the tool."""
    lists: bool = True
    """Whether it lists the conversations it keeps."""
    forks: bool = False
    """Whether it copies a conversation."""
    loses_what_is_young: bool = False
    """Whether a conversation is lost that is loaded in the minute of the clock in which it was
    begun: the file it is read from is begun anew under the same name. (One that was loaded once
    is lost the next time: the file of that load holds nothing, and both are swept away.)"""
    reveals: str = ""
    """Its tool that has the model find a server's tools, which are not shown before."""

    def environment(self, model):
        return {name: text.replace("{model}", model) for name, text in self.variables.items()}

    def furnish(self, home):
        for name, value in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(value))

    def writing(self, path, content):
        """A prompt that has it write a file."""
        return f"CALL {self.write} {json.dumps({self.path: str(path), 'content': content})}"

    def revealing(self, tool):
        """A prompt that has it show its model a tool of the host's."""
        query = {"query": f"select:mcp__host__{tool}"}
        return f"CALL {self.reveals} {json.dumps(query)}"

    def running(self, line):
        """A prompt that has it run a shell line."""
        arguments = {"command": line, "description": "what a test wants"}
        return f"CALL {self.shell} {json.dumps(arguments)}"


_OPENCODE_CONFIG = {
    "provider": {
        "fake": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "Fake",
            "options": {"baseURL": "{model}/v1", "apiKey": KEY},
            "models": {
                name: {
                    "name": name.title(),
                    "tool_call": True,
                    "limit": {"context": 32000, "output": 4000},
                }
                for name in ("fake-model", "other-model")
            },
        }
    },
    "model": "fake/fake-model",
    "small_model": "fake/fake-model",
    "autoupdate": False,
    "share": "disabled",
    "permission": {"bash": "ask", "edit": "ask"},
    "agent": {"plan": {"permission": {"edit": "deny"}}},
}


def _settings(sign_in):
    return {
        "security": {"auth": {"selectedType": sign_in}},
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }


OPENCODE = CodingAgent(
    id="opencode",
    package="opencode-ai",
    version="1.18.33",
    node=18,
    variables={
        "OPENCODE_CONFIG_CONTENT": json.dumps(_OPENCODE_CONFIG),
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
    },
    shell="bash",
    write="write",
    path="filePath",
    models=("fake/fake-model", "fake/other-model"),
    model_asked="other-model",
    modes=("build", "plan"),
    forks=True,
)

QWEN = CodingAgent(
    id="qwen",
    package="@qwen-code/qwen-code",
    version="0.15.10",
    node=20,
    variables={
        "OPENAI_API_KEY": KEY,
        "OPENAI_BASE_URL": "{model}/v1",
        "OPENAI_MODEL": "fake-model",
    },
    files={".qwen/settings.json": _settings("openai")},
    shell="run_shell_command",
    write="write_file",
    path="file_path",
    models=("$runtime|openai|fake-model(openai)",),
    model_asked="fake-model",
    modes=("default", "auto-edit", "yolo", "plan"),
    reveals="tool_search",
    names_servers_tools=False,
)

GEMINI = CodingAgent(
    id="gemini",
    package="@google/gemini-cli",
    version="0.61.0",
    node=20,
    variables={
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": "{model}",
        "GEMINI_MODEL": "gemini-2.5-flash",
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    },
    files={".gemini/settings.json": _settings("gemini-api-key")},
    shell="run_shell_command",
    write="write_file",
    path="file_path",
    models=("auto", "gemini-2.5-pro"),
    model_asked="gemini-2.5-pro",
    modes=("default", "autoEdit", "yolo", "plan"),
    shows_lines=False,
    lists=False,
    loses_what_is_young=True,
)

CODING_AGENTS = (OPENCODE, QWEN, GEMINI)
