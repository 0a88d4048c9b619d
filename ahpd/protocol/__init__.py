"""AHP 1.0.0 itself, pure: shapes, tables, URIs, versions, errors and reducers.

Nothing here knows Twisted, a clock, an id source or I/O.
"""

from collections.abc import Mapping
from typing import Any

#: A channel's state: a JSON object whose growing text may be a `GrowingText`.
State = dict[str, Any]
#: One state action as it travels: a JSON object with a `type`. Never mutated once dispatched.
Action = Mapping[str, Any]

__all__ = ["Action", "State"]
