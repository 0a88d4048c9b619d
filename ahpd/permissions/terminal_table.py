"""The commands that run unasked where no window said which: VS Code's table.

By key, whether a command it names is approved (True) or asked about (False). Source: the
defaults of `chat.tools.terminal.autoApprove`. What a key cannot say is in
`ahpd/permissions/guards.py`.
"""

from collections.abc import Mapping
from typing import Final

_GIT: Final = r"^git(\s+(-(?-i:C)\s+\S+|--no-pager))*\s+"
_SED: Final = r"^sed\b(?:\s+(?:(?:-l|--line-length)\s+\S+|--line-length=\S+|-\S+))*\s+"
_ADDRESS: Final = r"(?:\d+|\$|\/(?:\\.|[^\/])*\/)"
_ADDRESSES: Final = rf"(?:{_ADDRESS}(?:\s*,\s*{_ADDRESS})?)?\s*!?\s*[erRwW]"

_READS: Final = (
    "cd", "echo", "ls", "dir", "pwd", "cat", "head", "tail", "findstr", "wc", "tr", "cut", "cmp",
    "which", "basename", "dirname", "realpath", "readlink", "stat", "file", "od", "du", "df",
    "sleep", "nl", "grep",
)  # fmt: skip

_POWERSHELL: Final = (
    "Get-ChildItem", "Get-Content", "Get-Date", "Get-Random", "Get-Location", "Set-Location",
    "Write-Host", "Write-Output", "Out-String", "Split-Path", "Join-Path", "Start-Sleep",
    "Where-Object", "Select-Object", "Select-String", "Measure-Object", "Compare-Object",
    "Format-List", "Format-Table", "Sort-Object",
)  # fmt: skip

_ASKED: Final = (
    "rm", "rmdir", "del", "Remove-Item", "ri", "rd", "erase", "dd", "kill", "ps", "top",
    "Stop-Process", "spps", "taskkill", "taskkill.exe", "curl", "wget", "Invoke-RestMethod",
    "Invoke-WebRequest", "irm", "iwr", "chmod", "chown", "Set-ItemProperty", "sp", "Set-Acl",
    "jq", "xargs", "eval", "Invoke-Expression", "iex",
)  # fmt: skip

DEFAULT_TERMINAL_RULES: Final[Mapping[str, bool]] = {
    **dict.fromkeys(_READS, True),
    f"/{_GIT}status\\b/": True,
    f"/{_GIT}log\\b/": True,
    f"/{_GIT}log\\b.*\\s--output(=|\\s|$)/": False,
    f"/{_GIT}show\\b/": True,
    f"/{_GIT}show\\b.*\\s--output(=|\\s|$)/": False,
    f"/{_GIT}diff\\b/": True,
    f"/{_GIT}diff\\b.*\\s--output(=|\\s|$)/": False,
    f"/{_GIT}ls-files\\b/": True,
    f"/{_GIT}grep\\b/": True,
    f"/{_GIT}grep\\b.*\\s(?-i:-[aIivwhHEGPFnlLqzco]*[^\\w\\s]*O\\S*)(\\s|$)/": False,
    f"/{_GIT}grep\\b.*\\s(?-i:--[^\\w\\s]*o[^\\w\\s]*p\\S*)(\\s|$)/": False,
    f"/{_GIT}branch\\b/": True,
    f"/{_GIT}branch\\b.*\\s-(d|D|m|M|-delete|-force)\\b/": False,
    r"/^docker\s+(ps|images|info|version|inspect|logs|top|stats|port|diff|search|events)\b/": True,
    r"/^docker\s+(container|image|network|volume|context|system)\s+(ls|ps|inspect|history|show|df|info)\b/": True,
    r"/^docker\s+compose\s+(ps|ls|top|logs|images|config|version|port|events)\b/": True,
    **dict.fromkeys(_POWERSHELL, True),
    r"/^npm\s+(ls|list|outdated|view|info|show|explain|why|root|prefix|bin|search|doctor|fund|repo|bugs|docs|home|help(-search)?)\b/": True,
    r"/^npm\s+config\s+(list|get)\b/": True,
    r"/^npm\s+pkg\s+get\b/": True,
    r"/^npm\s+audit$/": True,
    r"/^npm\s+cache\s+verify\b/": True,
    r"/^yarn\s+(list|outdated|info|why|bin|help|versions)\b/": True,
    r"/^yarn\s+licenses\b/": True,
    r"/^yarn\s+audit\b(?!.*\bfix\b)/": True,
    r"/^yarn\s+config\s+(list|get)\b/": True,
    r"/^yarn\s+cache\s+dir\b/": True,
    r"/^pnpm\s+(ls|list|outdated|why|root|bin|doctor)\b/": True,
    r"/^pnpm\s+licenses\b/": True,
    r"/^pnpm\s+audit\b(?!.*\bfix\b)/": True,
    r"/^pnpm\s+config\s+(list|get)\b/": True,
    "npm ci": True,
    r"/^npm\s+ci\s+\S/": False,
    r"/^yarn\s+install\s+--frozen-lockfile\b/": True,
    r"/^yarn\s+install\s+--frozen-lockfile\s+\S/": False,
    r"/^pnpm\s+install\s+--frozen-lockfile\b/": True,
    r"/^pnpm\s+install\s+--frozen-lockfile\s+\S/": False,
    "column": True,
    r"/^column\b.*\s-c\s+[0-9]{4,}/": False,
    "date": True,
    r"/^date\b.*\s(-s|--set)\b/": False,
    "find": True,
    r"/^find\b.*\s-(delete|exec|execdir|fprint|fprintf|fls|ok|okdir)\b/": False,
    "rg": True,
    r"/^rg\b.*\s(--pre|--hostname-bin)\b/": False,
    "sed": True,
    r"/^sed\b.*\s(-[a-zA-Z]*(e|f)[a-zA-Z]*|--expression|--file)\b/": False,
    r"/^sed\b.*s\/.*\/.*\/[ew]/": False,
    rf"/{_SED}(['\"])\s*{_ADDRESSES}(?:\s|\1)/": False,
    rf"/{_SED}(['\"])(?:\\.|(?!\1).)*[;{{]\s*{_ADDRESSES}(?:\s|\1|[;}}])/": False,
    rf"/{_SED}{_ADDRESSES}(?:\s|$)/": False,
    r"/^sort\b(?!-)/": True,
    r"/^sort\b.*\s-(o|S)\b/": False,
    r"/^sort\b.*\s--co\S*/": False,
    "tree": True,
    r"/^tree\b.*\s-o\b/": False,
    r"/^xxd$/": True,
    r"/^xxd\b(\s+-\S+)*\s+[^-\s]\S*$/": True,
    **dict.fromkeys(_ASKED, False),
}  # fmt: skip
