"""Which files may be written without a question: VS Code's edit patterns.

Source of the tables: the defaults of `chat.tools.edits.autoApprove`.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.permissions.paths import Links, is_within, matcher
from ahpd.permissions.patience import ENDLESS, Patience

#: What is asked about whatever a window pushed: what is in them is run.
ALWAYS_CHECKED: Final[Mapping[str, bool]] = {
    "**/.vscode/*.json": False,
    "**/.github/agents/**": False,
    "**/.github/hooks/**": False,
    "**/.claude/agents/**": False,
    "**/.claude/settings.json": False,
    "**/.claude/settings.local.json": False,
}

DEFAULT_EDIT_PATTERNS: Final[Mapping[str, bool]] = {
    "**/*": True,
    "**/.git/**": False,
    "**/{package.json,server.xml,build.rs,web.config,.gitattributes,.env,Cargo.toml}": False,
    "**/{.npmrc,.yarnrc,.yarnrc.yml,.pnpmfile.js,.pnpmfile.cjs,.pnpmfile.mjs,pnpm-workspace.yaml}": False,
    "**/*.{code-workspace,csproj,fsproj,vbproj,vcxproj,proj,targets,props,gradle,gradle.kts}": False,
    "**/gradle.properties": False,
    "**/ruby_lsp/*/addon": False,
    "**/*.lock": False,
    "**/*-lock.{yaml,json}": False,
    **ALWAYS_CHECKED,
}


def always_checked(paths: Sequence[str]) -> str | None:
    """The pattern that has a write of any of `paths` asked about whatever is configured."""
    for pattern in ALWAYS_CHECKED:
        matches = matcher(pattern)
        if matches is not None and any(map(matches, paths)):
            return pattern
    return None


def patterns_approve(paths: Sequence[str], pushed: Any, patience: Patience = ENDLESS) -> bool:
    """Whether the patterns let all `paths` be written; `pushed` is `editAutoApprovePatterns`."""
    patterns = pushed if isinstance(pushed, Mapping) else DEFAULT_EDIT_PATTERNS
    return all(
        _approved(path, patterns, patience) and _approved(path, ALWAYS_CHECKED, patience)
        for path in paths
    )


def _approved(path: str, patterns: Mapping[str, Any], patience: Patience) -> bool:
    """The last pattern that says otherwise than those before it decides."""
    approved = True
    for pattern, value in patterns.items():
        patience.left()
        approves = value is True
        if approves == approved:
            continue
        matches = matcher(pattern)
        if matches is None:
            if not approves:
                return False  # it has something asked about, and nobody can read what
        elif matches(path):
            approved = approves
    return approved


def is_hidden_at_home(paths: Sequence[str], home: str, links: Links) -> bool:
    """Whether any of `paths` is in a file or folder of the home folder that begins with a dot."""
    roots = links.candidates(home) or (home,)
    for path in paths:
        for root in roots:
            if is_within(path, root) and path[len(root.rstrip("/")) + 1 :].startswith("."):
                return True
    return False
