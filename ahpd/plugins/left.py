"""One thing that a plugin left running."""

from collections.abc import Callable
from typing import Any

import attrs


def _nothing() -> None:
    """There is nothing more to do."""


@attrs.frozen(eq=False, repr=False)
class Left:
    """What it is, in words too, and what ends it: `force` where `end` fails or takes too long."""

    thing: Any
    what: str
    end: Callable[[], object]
    force: Callable[[], object] = _nothing
