"""What is asked of a server and what it answers, without what it takes to ask."""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

#: How many redirects are followed, unless a request says otherwise.
MOST_REDIRECTS: Final = 5


@attrs.frozen(kw_only=True)
class Answer:
    """What a server answered."""

    url: str
    """Of the last hop."""
    status: int
    kind: str
    """The media type, in lower case; empty where none was said."""
    charset: str | None
    data: bytes
    """Unpacked; the start of it where `cut`."""
    cut: bool = False
    """More than is taken came, or the connection broke in the middle."""
    leads_to: str | None = None
    """Of a redirect to another host, which is not followed: where it leads."""


@attrs.frozen(kw_only=True)
class Ask:
    """What to ask for."""

    url: str
    method: str = "GET"
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    body: bytes | None = None
    redirects: int = MOST_REDIRECTS
    """How many are followed."""
    wanted: Callable[[str], bool] = lambda kind: True
    """Whether content of a media type is read at all."""
