"""The status bit set of sessions and chats (schema: SessionStatus).

The low bits say what is going on, exactly one of the activities; `IS_READ` and
`IS_ARCHIVED` are independent of them. Bits this host does not know survive.
"""

from typing import Final

IDLE: Final = 1
ERROR: Final = 2
IN_PROGRESS: Final = 8
#: Carries `IN_PROGRESS`: a turn that waits for a person is still in progress.
INPUT_NEEDED: Final = 24
IS_READ: Final = 32
IS_ARCHIVED: Final = 64

ACTIVITY_MASK: Final = IDLE | ERROR | INPUT_NEEDED


def with_activity(status: int, activity: int) -> int:
    """`status` with its activity bits replaced by `activity`, all others kept."""
    return (status & ~ACTIVITY_MASK) | activity


def with_flag(status: int, flag: int, on: bool) -> int:
    """`status` with `flag` set or cleared."""
    return status | flag if on else status & ~flag
