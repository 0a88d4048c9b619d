"""The names of channels: which kind a URI is, and the spellings taken as another.

Sources: AHP.txt, Commands (opening), "Session URIs" and "Chat URIs".
"""

import base64
import re
from enum import Enum
from typing import Final
from urllib.parse import quote, unquote

ROOT: Final = "ahp-root://"
AUTOMATIONS: Final = "ahp-automations://"
#: What clients of the weeks before 1.0.0 called the automations catalogue.
AUTOMATIONS_WITH_AUTHORITY: Final = "ahp-automations://catalog"

_DEFAULT_CHAT: Final = "ahp-chat://default/"
_OPAQUE_CHAT: Final = "ahp-chat:/"
_SHAPED_CHAT: Final = re.compile(r"ahp-chat://[^/]+/([^/]+)(?:/.*)?", re.DOTALL)
_WORKER_CHAT: Final = "ahp-chat://subagent/"
_CANVAS: Final = "ahp-canvas:/"

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
# What derives a default chat's URI pads nothing; a client that pads is understood.
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+={0,2}")


class ChannelKind(Enum):
    """What a channel holds; the value is the prefix of its actions' types."""

    ROOT = "root"
    SESSION = "session"
    CHAT = "chat"
    TERMINAL = "terminal"
    CHANGESET = "changeset"
    ANNOTATIONS = "annotations"
    CANVAS = "canvas"
    AUTOMATIONS = "automation"
    AUTOMATION_RUN = "automationRun"
    RESOURCE_WATCH = "resourceWatch"
    EXTENSION = "x-"
    """Beside the protocol: its actions' types begin with its scheme, and its state is any object."""

    # There is one of each: told apart by which it is, without hashing its name each time.
    __hash__ = object.__hash__


_BY_SCHEME: Final = {
    "ahp-root": ChannelKind.ROOT,
    "ahp-session": ChannelKind.SESSION,
    "ahp-chat": ChannelKind.CHAT,
    "ahp-terminal": ChannelKind.TERMINAL,
    # What VS Code calls the terminals it opens itself.
    "agenthost-terminal": ChannelKind.TERMINAL,
    "ahp-canvas": ChannelKind.CANVAS,
    "ahp-automations": ChannelKind.AUTOMATIONS,
    "ahp-automation-run": ChannelKind.AUTOMATION_RUN,
    "ahp-resource-watch": ChannelKind.RESOURCE_WATCH,
}


def scheme(uri: str) -> str:
    """The scheme of a URI, lower case, or "" for a string that begins with none."""
    match = _SCHEME.match(uri)
    return match[1].lower() if match is not None else ""


def kind_of(uri: str) -> ChannelKind | None:
    """What a channel URI names by its spelling alone.

    `<session>/changeset/...` and `<session>/annotations` hang off a session's URI;
    a scheme that begins with `x-` is an extension's, and any other that is not one of the
    protocol's own is a session's, because a client chooses the scheme of the sessions it
    creates. None for a string that is
    no URI, and for the stateless `ahp-otlp:` channels.
    """
    name = scheme(uri)
    if not name or name == "ahp-otlp":
        return None
    kind = _BY_SCHEME.get(name)
    if kind is None:
        kind = ChannelKind.EXTENSION if name.startswith("x-") else ChannelKind.SESSION
    if kind is ChannelKind.SESSION:
        session, inside, _ = uri[len(name) + 1 :].partition("/changeset/")
        if inside and session.strip("/"):
            return ChannelKind.CHANGESET
        # A session may itself be called "annotations": then nothing is before it.
        if session.endswith("/annotations") and session[: -len("/annotations")].strip("/"):
            return ChannelKind.ANNOTATIONS
    return kind


def canonical(uri: str) -> str:
    """The one spelling a well-known channel is held under; any other URI as it is."""
    if uri in ("ahp-root:", "ahp-root:/", "ahp-root:///"):
        return ROOT
    if uri in ("ahp-automations:", "ahp-automations:/", AUTOMATIONS_WITH_AUTHORITY):
        return AUTOMATIONS
    return uri


def session_id(session: str) -> str:
    """The id inside a session's URI, which every spelling of that session shares."""
    rest = session.partition(":")[2].lstrip("/")
    return unquote(rest) if "%" in rest else rest


def default_chat(session: str) -> str:
    """The chat URI a client can compute from a session's URI."""
    return _DEFAULT_CHAT + _encoded(session)


def worker_chat(session: str, tool_call_id: str) -> str:
    """The URI of the worker one call spawned, where it says which session it is of."""
    return f"{_WORKER_CHAT}{_encoded(session)}/{quote(tool_call_id, safe='')}"


def _encoded(session: str) -> str:
    # A lone surrogate is no text, but a name made of one must not raise either.
    raw = session.encode(errors="surrogatepass")
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def opaque_chat(identifier: str) -> str:
    """A chat URI that says nothing about its session."""
    return _OPAQUE_CHAT + identifier


def canvas(chat: str, identifier: str) -> str:
    """The URI of a canvas drawn on a chat."""
    return f"{_CANVAS}{_encoded(chat)}/{identifier}"


def session_of_default_chat(chat: str) -> str | None:
    """The session a derived default-chat URI names; None for any other chat URI.

    A malformed one names no session: this never raises.
    """
    if not chat.startswith(_DEFAULT_CHAT):
        return None
    return _decoded(chat[len(_DEFAULT_CHAT) :])


def session_of_chat(chat: str) -> str | None:
    """The session a chat's URI says it was made in; None for one that says nothing of it.

    A default chat's, a worker's and any other that carries a session's URI after its
    authority. A chat that was moved still names the session it came from.
    """
    match = _SHAPED_CHAT.fullmatch(chat)
    session = None if match is None else _decoded(match[1])
    return session if session is not None and scheme(session) else None


def _decoded(encoded: str) -> str | None:
    if _BASE64URL.fullmatch(encoded) is None:
        return None
    digits = encoded.rstrip("=")
    try:
        return base64.urlsafe_b64decode(digits + "=" * (-len(digits) % 4)).decode() or None
    except ValueError:  # a length no bytes have, or bytes that are no UTF-8
        return None
