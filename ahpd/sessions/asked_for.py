"""What a plugin asks for when it starts a session or a chat, checked before anything is made.

What is wrong is -32602 by the name of its field, so that a start answers a URI or refuses: nothing
is made of what could not be said. Source: PLUGINS.txt, "Starting a session as an owner" and
"Starting a chat on a backend".
"""

import re
from pathlib import PurePosixPath
from typing import Any, Final

import attrs

from ahpd.interfaces import ChatRequest, SessionRequest
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.errors import RpcError, invalid_params
from ahpd.protocol.json_values import checked_text, json_copy, object_copy
from ahpd.protocol.shapes.common import ModelSelection
from ahpd.protocol.uris import scheme

_OWNER: Final = re.compile(r"(?:user|root):[^\s:/]+")


def checked_owner(request: Any) -> str:
    """Whose session a `SessionRequest` starts. Raises `RpcError` -32602 for what is none."""
    if not isinstance(request, SessionRequest):
        found = type(request).__name__
        raise invalid_params(f"a session is started with a SessionRequest, found {found}")
    owner = checked_name("owner", request.owner)
    if _OWNER.fullmatch(owner) is None:
        raise invalid_params(f"owner: found {owner[:100]!r}, expected user:<id> or root:<host>")
    return owner


def checked_session(request: SessionRequest) -> SessionRequest:
    """The request as it is acted on, its folder as a `file:` URI. Raises `RpcError` -32602."""
    try:
        return attrs.evolve(
            request,
            provider=_optional("provider", request.provider),
            working_directory=_folder(request.working_directory),
            config=object_copy(request.config, "config"),
            model=_model(request.model),
            title=_title(request.title),
            prompt=_said("prompt", request.prompt),
        )
    except ShapeError as wrong:
        raise invalid_params(str(wrong)) from None


def checked_chat(request: Any) -> ChatRequest:
    """The request as it is acted on. Raises `RpcError` -32602."""
    if not isinstance(request, ChatRequest):
        found = type(request).__name__
        raise invalid_params(f"a chat is started with a ChatRequest, found {found}")
    try:
        return attrs.evolve(
            request,
            provider=_optional("provider", request.provider),
            config=object_copy(request.config, "config"),
            model=_said("model", request.model),
            title=_title(request.title),
            prompt=_said("prompt", request.prompt),
        )
    except ShapeError as wrong:
        raise invalid_params(str(wrong)) from None


def checked_name(field: str, value: Any) -> str:
    """A text that names something, a session's URI for one. Raises `RpcError` -32602."""
    try:
        return checked_text(value, field)
    except ShapeError as wrong:
        raise invalid_params(str(wrong)) from None


def _optional(field: str, value: Any) -> str | None:
    return None if value is None else checked_text(value, field)


def _said(field: str, words: Any) -> str | None:
    """A text as it is said; -32602 for one that is there and blank."""
    said = _optional(field, words)
    if said is not None and not said.strip():
        raise _blank(field)
    return said


def _title(words: Any) -> str | None:
    said = _said("title", words)
    return None if said is None else said.strip()


def _blank(field: str) -> RpcError:
    return invalid_params(f"{field}: is blank; leave it out to have none")


def _model(selection: Any) -> State | None:
    """A ModelSelection, a copy of it; None for none."""
    if selection is None:
        return None
    check(selection, ModelSelection, "model")
    copied: State = json_copy(selection, "model")
    return copied


def _folder(directory: Any) -> str | None:
    """A working directory given as a path or as a `file:` URI, as the URI. -32602 for neither.

    A byte of a path that is no UTF-8 is a surrogate escape, and an escape of the URI.
    """
    if directory is None:
        return None
    if not isinstance(directory, str):
        return checked_text(directory, "workingDirectory")
    path = PurePosixPath(directory)
    if path.is_absolute():
        try:
            return path.as_uri()
        except UnicodeEncodeError:  # another half of a character than such a byte
            return checked_text(directory, "workingDirectory")
    if scheme(directory) != "file":
        raise invalid_params(
            f"workingDirectory: {directory!r} is no absolute path and no file: URI"
        )
    return checked_text(directory, "workingDirectory")
