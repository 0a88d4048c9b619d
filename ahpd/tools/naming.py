"""What a model's words name: a session, a chat, a model, a folder, a title."""

import html
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from ahpd.interfaces import IResources, RpcError, ToolCallContext, ToolFailure
from ahpd.protocol import State
from ahpd.protocol.errors import METHOD_NOT_FOUND
from ahpd.protocol.file_uris import file_uri, named_path
from ahpd.protocol.uris import scheme
from ahpd.tools.links import Named, chat_id, parsed
from ahpd.tools.ports import SeenChat, SessionReading

#: The longest title a tool gives, in characters.
LONGEST_TITLE: Final = 200


def invalid(tool: str, words: str) -> ToolFailure:
    """The refusal of an argument, in the words the model mends its call by."""
    return ToolFailure(f"Invalid {tool} input: {words}")


def said(tool: str, field: str, value: str) -> str:
    """`value`, which says something. Raises `ToolFailure`."""
    if not value.strip():
        raise invalid(tool, f"{field} must be a non-empty string.")
    return value


def title(tool: str, value: str, plain: bool = True) -> str:
    """A title as it is kept: one line, its spaces run together. Raises `ToolFailure`.

    One that is not `plain` names a project's session: quotes and marks around it go, and a
    name like `fix-login_page` is read as words.
    """
    words = html.unescape(value).strip()
    if not plain:
        words = words.strip("\"'`.,;:!?-— ")
        if not any(each.isspace() for each in words):
            words = words.replace("/", " ").replace("_", " ").replace("-", " ")
    words = " ".join(words.split())
    if not words:
        raise invalid(tool, "title must contain non-whitespace characters.")
    if len(words) > LONGEST_TITLE:
        raise invalid(tool, f"title must not exceed {LONGEST_TITLE} characters.")
    return words


# -- sessions and chats -----------------------------------------------------------------


def session(world: SessionReading, context: ToolCallContext, text: str) -> State | None:
    """The row of the session a model named by its URI or a link; None for one it cannot reach."""
    found = parsed(text)
    return None if found is None or found.session is None else _row(world, context, found)


def known_session(world: SessionReading, context: ToolCallContext, tool: str, text: str) -> State:
    """See `session`; raises `ToolFailure` for none."""
    row = session(world, context, text)
    if row is None:
        raise _unknown(tool)
    return row


async def known_chat(
    world: SessionReading, context: ToolCallContext, tool: str, text: str
) -> tuple[SeenChat, Named]:
    """The chat a model named, and what it named; a session's default chat where it named none.

    Raises `ToolFailure` for one it cannot reach.
    """
    found = parsed(text)
    if found is None:
        raise _unknown(tool)
    seen = await _chat(world, context, found)
    if seen is None:
        raise _unknown(tool, chat=found.chat is not None)
    return seen, found


async def _chat(world: SessionReading, context: ToolCallContext, found: Named) -> SeenChat | None:
    if found.session is None:
        assert found.chat is not None, "something was named"
        return await world.chat_of(context.session, found.chat)
    row = _row(world, context, found)
    if row is None:
        return None
    if found.chat is None:
        return await world.chat(context.session, row["resource"], None)
    for chat in row.get("chats", ()):
        if found.chat in (chat["resource"], chat_id(chat["resource"])):
            return await world.chat(context.session, row["resource"], chat["resource"])
    return await world.chat(context.session, row["resource"], found.chat)


def _row(world: SessionReading, context: ToolCallContext, found: Named) -> State | None:
    assert found.session is not None, "a session was named"
    row = world.find(context.session, found.session)
    if row is None or found.provider not in (None, row["provider"]):
        return None
    return row


def _unknown(tool: str, chat: bool = False) -> ToolFailure:
    if chat:
        return invalid(tool, "chat must name a chat of a known session (see list_sessions).")
    return invalid(tool, "session must match the URI of a known session (see list_sessions).")


# -- models ---------------------------------------------------------------------------------


def model(tool: str, models: Sequence[State], asked: str, provider: str | None = None) -> State:
    """The model (schema: SessionModelInfo) of this id, or else of this name.

    `provider` is the agent it has to be of. Raises `ToolFailure` for none and for several.
    """
    pool = [each for each in models if provider in (None, each["provider"])]
    found = [each for each in pool if each["id"] == asked]
    found = found or [each for each in pool if each["name"].lower() == asked.lower()]
    if not found:
        of = "" if provider is None else f' for provider "{provider}"'
        raise invalid(tool, f"model must match an available model id or name{of}.")
    if len(found) > 1:
        ids = ", ".join(f"{each['id']} ({each['provider']})" for each in found)
        raise invalid(tool, f'model "{asked}" is ambiguous; it is one of: {ids}.')
    return found[0]


# -- folders --------------------------------------------------------------------------------


def folder(tool: str, field: str, text: str) -> str:
    """The `file:` URI of a folder named by an absolute path or a `file:` URI.

    Dot segments are taken out, so that one folder has one name. Raises `ToolFailure`.
    """
    found = _folder(text)
    if found is None:
        raise invalid(tool, f"{field} must be an absolute local path or file URI.")
    return found


def workspace(tool: str, text: str, rows: Sequence[State]) -> str:
    """The folder a workspace names: a folder sessions work in, a project, or a path.

    A project's name has to be that of one alone. Raises `ToolFailure`.
    """
    found = _folder(text)
    projects = {
        row["project"]["uri"]: row["project"]["displayName"]
        for row in rows
        if isinstance(row.get("project"), dict)
    }
    if found is None or found not in {_folder(uri) for uri in projects}:
        named = [uri for uri, name in projects.items() if name.lower() == text.lower()]
        if len(named) > 1:
            uris = ", ".join(named)
            raise invalid(
                tool, f'workspace "{text}" is ambiguous; use one of these project URIs: {uris}.'
            )
        if named:
            found = _folder(named[0])
    if found is None:
        raise invalid(
            tool,
            "workspace must match a unique known project name, project URI, working directory, "
            "absolute path, or file URI.",
        )
    return found


def same_folder(one: str, other: str) -> bool:
    """Whether two names are of one folder, by their spelling."""
    return (_folder(one) or one) == (_folder(other) or other)


def _folder(text: str) -> str | None:
    uri = text
    if text.startswith("/"):
        uri = file_uri(str(PurePosixPath(text)))
    elif scheme(text) != "file":
        return None
    try:
        return file_uri(named_path(uri))
    except RpcError:
        return None


async def is_there(resources: IResources | None, tool: str, uri: str) -> None:
    """Raise `ToolFailure` where `uri` is known to be no folder.

    A host that serves no files cannot tell; whoever works there does then.
    """
    if resources is None:
        return
    try:
        found = await resources.ask("resourceResolve", {"channel": "ahp-root://", "uri": uri})
    except RpcError as error:
        if error.code == METHOD_NOT_FOUND:
            return
        raise invalid(tool, f"{uri} cannot be worked in: {error.message}") from None
    if found["type"] != "directory":
        raise invalid(tool, f"{uri} is no folder.")
