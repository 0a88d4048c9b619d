"""How many files the process may hold open: every connection and every child takes some."""

import resource
from typing import Final

from twisted.logger import Logger

_log = Logger()

#: What a host asks for: its connections, its children's pipes and its own files.
WANTED: Final = 16384


def raise_open_files(wanted: int = WANTED) -> int:
    """Raise the soft limit towards `wanted`, as far as the hard one lets; the limit then.

    Many systems start a process with 1024, fewer than the connections a host admits.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    goal = wanted if hard == unlimited else min(wanted, hard)
    if soft == unlimited or soft >= goal:
        return wanted if soft == unlimited else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (goal, hard))
    except (OSError, ValueError) as error:  # macOS refuses more than its kernel's own limit
        _log.warn("open files stay limited to {soft}: {error}", soft=soft, error=error)
        return soft
    return goal
