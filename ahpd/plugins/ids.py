"""What a plugin's id looks like. Source: PLUGINS.txt, "The id"."""

import re
from typing import Final

_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")

NOT_A_SLUG: Final = "its name is not a slug"


def is_id(value: object) -> bool:
    """Whether `value` can be the id of a plugin."""
    return isinstance(value, str) and bool(_ID.fullmatch(value))
