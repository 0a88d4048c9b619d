"""Reading every declaration a host checks input against, ahead of the first input.

Shapes are imported and compiled when they are first used, which keeps the start
short. A host does it once it listens: the first client then waits for none of it, and
a program upgraded on disk under a running host is never read half old, half new.
"""

from collections.abc import Iterator
from typing import Any

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import prepare
from ahpd.protocol.methods import COMMANDS


def checked_shapes() -> Iterator[Any]:
    """The params of every command and the actions a client may send."""
    for command in COMMANDS.values():
        yield command.params
    for action in ACTIONS.values():
        if action.client_dispatchable:
            yield action.shape


def get_ready() -> Iterator[None]:
    """Prepare one shape at each step, so that a host can do other things in between."""
    for shape in checked_shapes():
        prepare(shape)
        yield
