"""What a plugin's id looks like. Source: PLUGINS.txt, "The id"."""

import re
from typing import Final

_ID: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")

#: What an id is made of, for words.
RULE: Final = "small letters, digits and dashes, at most 40, a letter first"


def is_id(value: object) -> bool:
    """Whether `value` can be the id of a plugin."""
    return isinstance(value, str) and bool(_ID.fullmatch(value))


def not_a_slug(what: str) -> str:
    """Why a plugin whose id cannot be one is skipped; `what` is where it stands, and quotes it."""
    return f"its name is not a slug: {what} is to be {RULE}"
