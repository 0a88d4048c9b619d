"""The agents this package knows: how each is started, signed in to and installed.

A row is a fact of a vendor's documentation (its `page`), never a guess: what is not known
of one is left out. A record takes a row by its id, or by `base`. Source: PLUGINS.txt, "A
second worked example", "The shipped rows".
"""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs


@attrs.frozen(kw_only=True)
class SignIn:
    """A sign-in that is sent after the handshake (ACP: `authenticate`)."""

    method: str
    """The id of the method, as the agent offers it."""
    from_env: Sequence[str] = ()
    """Sent only where one of these variables is set for the agent; none sends it always."""


@attrs.frozen(kw_only=True)
class Mode:
    """A mode an agent is known to have."""

    id: str
    name: str
    description: str = ""


@attrs.frozen(kw_only=True)
class Row:
    """One agent as its vendor documents it."""

    id: str
    name: str
    description: str
    command: str
    args: Sequence[str] = ()
    keys: Sequence[str] = ()
    """Variables that hold its vendor's keys; a record made from the row has them, empty."""
    sign_in: SignIn | None = None
    honours_trust: bool = False
    """Whether it asks before it loads what a folder tells it to do."""
    modes: Sequence[Mode] = ()
    """What is listed until a session has heard the agent's own."""
    machine: Mapping[str, object] = attrs.field(factory=dict)
    install: Sequence[str] = ()
    """What installs it on Linux and macOS."""
    windows: Sequence[str] = ()
    """What installs it on Windows, where that is something else."""
    page: str


def _npm(package: str) -> tuple[str]:
    return (f"npm install -g {package}",)


_ROWS: Final = (
    Row(
        id="codex",
        name="Codex",
        description="OpenAI's coding agent, behind its ACP adapter",
        command="codex-acp",
        keys=("CODEX_API_KEY", "OPENAI_API_KEY"),
        sign_in=SignIn(method="api-key", from_env=("CODEX_API_KEY", "OPENAI_API_KEY")),
        install=_npm("@agentclientprotocol/codex-acp"),
        page="https://github.com/agentclientprotocol/codex-acp",
    ),
    Row(
        id="claude",
        name="Claude Code",
        description="Anthropic's coding agent, behind its ACP adapter",
        command="claude-agent-acp",
        keys=("ANTHROPIC_API_KEY",),
        install=_npm("@agentclientprotocol/claude-agent-acp"),
        page="https://github.com/agentclientprotocol/claude-agent-acp",
    ),
    Row(
        id="gemini",
        name="Gemini CLI",
        description="Google's coding agent",
        command="gemini",
        args=("--acp",),
        keys=("GEMINI_API_KEY",),
        sign_in=SignIn(method="gemini-api-key", from_env=("GEMINI_API_KEY",)),
        install=_npm("@google/gemini-cli"),
        page="https://github.com/google-gemini/gemini-cli",
    ),
    Row(
        id="copilot",
        name="GitHub Copilot",
        description="GitHub's coding agent",
        command="copilot",
        args=("--acp", "--stdio"),
        keys=("COPILOT_GITHUB_TOKEN",),
        install=_npm("@github/copilot"),
        page="https://docs.github.com/en/copilot/reference/copilot-cli-reference/acp-server",
    ),
    Row(
        id="opencode",
        name="OpenCode",
        description="An open source coding agent",
        command="opencode",
        args=("acp",),
        install=_npm("opencode-ai"),
        page="https://opencode.ai/docs/cli/acp",
    ),
    Row(
        id="kilo",
        name="Kilo",
        description="Kilo Code's coding agent",
        command="kilo",
        args=("acp",),
        install=_npm("@kilocode/cli"),
        page="https://github.com/Kilo-Org/kilocode",
    ),
    Row(
        id="goose",
        name="goose",
        description="An open source agent that runs on this machine",
        command="goose",
        args=("acp",),
        install=("curl -fsSL https://github.com/block/goose/raw/main/download_cli.sh | bash",),
        page="https://block.github.io/goose/docs/guides/acp-clients",
    ),
    Row(
        id="pi",
        name="pi",
        description="The pi coding agent, behind its ACP adapter",
        command="pi-acp",
        install=_npm("pi-acp"),
        page="https://github.com/svkozak/pi-acp",
    ),
    Row(
        id="dsh",
        name="DeepSeek Harness",
        description="DeepSeek's agent harness, driven over ACP",
        command="dsh",
        args=("--profile", "acp"),
        install=_npm("@deepseek-ai/dsh"),
        page="https://github.com/deepseek-ai/deepseek-harness",
    ),
    Row(
        id="devin",
        name="Devin",
        description="Cognition's coding agent",
        command="devin",
        args=("acp",),
        install=("curl -fsSL https://cli.devin.ai/install.sh | bash",),
        page="https://docs.devin.ai/cli",
    ),
    Row(
        id="cursor",
        name="Cursor",
        description="Cursor's coding agent",
        command="cursor-agent",
        args=("acp",),
        keys=("CURSOR_API_KEY",),
        sign_in=SignIn(method="cursor_login"),
        install=("curl https://cursor.com/install -fsS | bash",),
        windows=("irm 'https://cursor.com/install?win32=true' | iex",),
        page="https://cursor.com/docs/cli/acp",
    ),
    Row(
        id="amp",
        name="Amp",
        description="The Amp coding agent, behind an ACP adapter",
        command="amp-acp",
        keys=("AMP_API_KEY",),
        install=_npm("amp-acp"),
        page="https://github.com/tao12345666333/amp-acp",
    ),
    Row(
        id="qwen",
        name="Qwen Code",
        description="Alibaba's coding agent",
        command="qwen",
        args=("--acp",),
        keys=("OPENAI_API_KEY",),
        install=_npm("@qwen-code/qwen-code"),
        page="https://github.com/QwenLM/qwen-code",
    ),
    Row(
        id="cline",
        name="Cline",
        description="The Cline coding agent",
        command="cline",
        args=("--acp",),
        keys=("CLINE_API_KEY",),
        install=_npm("cline"),
        page="https://docs.cline.bot/usage/acp",
    ),
    Row(
        id="omp",
        name="oh-my-pi",
        description="A coding agent built on pi",
        command="omp",
        args=("acp",),
        install=("curl -fsSL https://omp.sh/install | sh",),
        windows=("irm https://omp.sh/install.ps1 | iex",),
        page="https://omp.sh",
    ),
)

#: The shipped rows by id.
ROWS: Final[Mapping[str, Row]] = {row.id: row for row in _ROWS}
