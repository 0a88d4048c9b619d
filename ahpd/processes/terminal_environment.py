"""What a program in a terminal sees of the environment beyond what every child sees.

`TERM`, `COLUMNS` and `LINES` are the terminal's own and win. Taken away is what tells of
the terminal or the editor *the host* was started in, for programs act on it: a shell
loads that terminal's integration, an editor opens in that window, a prompt draws what
that terminal alone can draw. What a caller adds stays, whatever it is called.
"""

from collections.abc import Mapping
from typing import Final

from ahpd.processes.ptys import clamped

#: What is said under a pseudo-terminal: the commonest, and what clients draw.
TERM: Final = "xterm-256color"

#: What is said on pipes: no cursor, no colours.
NO_TERM: Final = "dumb"

#: Names that begin so belong to a terminal program, a multiplexer or an editor.
_FOREIGN_PREFIXES: Final = (
    "ALACRITTY_",
    "GHOSTTY_",
    "GNOME_TERMINAL_",
    "ITERM_",
    "KITTY_",
    "KONSOLE_",
    "TERM_",  # TERM_PROGRAM and its version; TERM_SESSION_ID, whose history macOS restores
    "VSCODE_",
    "WEZTERM_",
    "ZELLIJ",
)

_FOREIGN: Final = frozenset(
    {
        # Which terminal it is, and what it can show.
        "COLORTERM",
        "LC_TERMINAL",
        "LC_TERMINAL_VERSION",
        "TERMINAL_EMULATOR",
        "TERMINFO",  # kitty's and Ghostty's own; TERMINFO_DIRS is the system's and stays
        "TERMCAP",  # the description of the terminal itself
        "TILIX_ID",
        "VTE_VERSION",
        "WINDOWID",
        "WT_PROFILE_ID",
        "WT_SESSION",
        "XTERM_LOCALE",
        "XTERM_SHELL",
        "XTERM_VERSION",
        # A multiplexer a program would talk to, or refuse to run inside of.
        "STY",
        "TMUX",
        "TMUX_PANE",
        "WINDOW",
        # An editor that has a terminal of its own.
        "ELECTRON_RUN_AS_NODE",  # turns what is started from there into a bare interpreter
        "INSIDE_EMACS",
        "NVIM",
        "NVIM_LISTEN_ADDRESS",
        "VIM",
        "VIMRUNTIME",
        "VIM_TERMINAL",
        # The device or the shell the host was started on.
        "GPG_TTY",
        "OLDPWD",
        "SHLVL",
        "SSH_TTY",
        "_",
    }
)

#: Helpers of an editor, each with the name of what it cannot do without.
_HELPERS: Final = {
    "BROWSER": "VSCODE_IPC_HOOK_CLI",
    "GIT_ASKPASS": "VSCODE_GIT_ASKPASS_NODE",
    "SSH_ASKPASS": "VSCODE_GIT_ASKPASS_NODE",
}


def terminal_environment(
    host: Mapping[str, str],
    added: Mapping[str, str | None],
    *,
    cwd: str,
    cols: int,
    rows: int,
    pty: bool,
) -> dict[str, str | None]:
    """What to add to a child's environment; None takes a variable away.

    `host` is the host's own environment, `added` the caller's. `PWD` is the folder as it
    was named, so that a shell shows a path through a link as that path.
    """
    foreign = {name: None for name in host if _is_foreign(name, host)}
    return {
        **foreign,
        "PWD": cwd,
        **added,
        "TERM": TERM if pty else NO_TERM,
        "COLUMNS": str(clamped(cols)),
        "LINES": str(clamped(rows)),
    }


def _is_foreign(name: str, host: Mapping[str, str]) -> bool:
    return (
        name in _FOREIGN
        or name.startswith(_FOREIGN_PREFIXES)
        or (name in _HELPERS and _HELPERS[name] in host)
    )
