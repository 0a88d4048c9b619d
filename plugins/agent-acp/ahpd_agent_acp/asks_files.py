"""An agent's files: read and written through this host's resources.

Whatever path the host serves, the agent may name: whether it should touch one is asked
about by the agent, ahead of it. Source: PLUGINS.txt, "What the server may ask the host
for"; agentclientprotocol.com, "File System".
"""

import binascii
from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import IResources, RpcError
from ahpd.protocol import State
from ahpd.protocol.errors import INVALID_PARAMS as AHP_INVALID_PARAMS
from ahpd.protocol.errors import METHOD_NOT_FOUND as AHP_METHOD_NOT_FOUND
from ahpd.protocol.errors import NOT_FOUND
from ahpd.protocol.file_uris import file_uri, shown
from ahpd.protocol.uris import ROOT
from ahpd_agent_acp.connection import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    RequestError,
)
from ahpd_agent_acp.params import count_param, invalid, path_param

#: Agents that read a file before they write it and take every error for a file they may not
#: write, whatever it says (seen of 0.61): they are answered an empty file.
_EMPTY_WHERE_MISSING: Final = frozenset({"gemini-cli", "Gemini CLI"})

#: What a refusal of the resources is to an agent. The words of a file that is not there begin
#: `Resource not found`, and the code is ACP's own: agents that look before they write a new file
#: go by the one or by the other.
_CODES: Final = {
    NOT_FOUND: RESOURCE_NOT_FOUND,
    AHP_INVALID_PARAMS: INVALID_PARAMS,
    AHP_METHOD_NOT_FOUND: METHOD_NOT_FOUND,
}


def reads_missing_as_empty(agent: str) -> bool:
    """Whether the agent that calls itself so has to be told that a missing file is empty."""
    return agent in _EMPTY_WHERE_MISSING


async def read_text_file(
    resources: IResources, params: Mapping[str, Any], missing_is_empty: bool = False
) -> State:
    """`fs/read_text_file`: the whole, or `limit` lines from `line` on, counted from 1.

    A line ends at its newline, which belongs to it. Lines past the end are none. A file that
    is not there is -32002, or with `missing_is_empty` an empty one.
    """
    path = path_param(params, "path")
    line, limit = count_param(params, "line"), count_param(params, "limit")
    params = {"channel": ROOT, "uri": file_uri(path), "encoding": "utf-8"}
    try:
        text = _text(await _asked(resources, "resourceRead", params), path)
    except RequestError as refused:
        if refused.code != RESOURCE_NOT_FOUND or not missing_is_empty:
            raise
        text = ""
    if line is None and limit is None:
        return {"content": text}
    return {"content": _lines(text, max(1, line or 1), limit)}


def _text(read: Mapping[str, Any], path: str) -> str:
    """What was read (schema: ResourceReadResult), as the text it has to be."""
    data: str = read["data"]
    if read["encoding"] == "utf-8":
        return data
    try:
        return binascii.a2b_base64(data).decode()
    except ValueError:
        raise invalid(f"Not a text file: {shown(path)} is not UTF-8") from None


def _lines(text: str, line: int, limit: int | None) -> str:
    """`limit` lines of a text, all there are for None, from the `line`th on."""
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
        if start == 0:
            return ""
    if limit is None:
        return text[start:]
    end = start
    for _ in range(limit):
        end = text.find("\n", end) + 1
        if end == 0:
            return text[start:]
    return text[start:end]


async def write_text_file(resources: IResources, params: Mapping[str, Any]) -> State:
    """`fs/write_text_file`: the file holds `content` and nothing else.

    The folders it needs are made, as agents expect of a new file.
    """
    path = path_param(params, "path")
    content = params.get("content")
    if not isinstance(content, str):
        raise invalid("params.content: expected a text")
    try:
        content.encode()
    except UnicodeEncodeError:
        raise invalid("params.content: holds half a surrogate pair, which is no text") from None
    write = {"channel": ROOT, "uri": file_uri(path), "data": content, "encoding": "utf-8"}
    try:
        await _asked(resources, "resourceWrite", write)
    except RequestError as refused:
        folder = path.rstrip("/").rpartition("/")[0]
        if refused.code != RESOURCE_NOT_FOUND or not folder:
            raise
        await _asked(resources, "resourceMkdir", {"channel": ROOT, "uri": file_uri(folder)})
        await _asked(resources, "resourceWrite", write)
    return {}


async def _asked(resources: IResources, method: str, params: State) -> Any:
    try:
        return await resources.ask(method, params)
    except RpcError as refused:
        code = _CODES.get(refused.code, INTERNAL_ERROR)
        data = {"uri": params["uri"]} if code == RESOURCE_NOT_FOUND else None
        raise RequestError(code, refused.message, data) from refused
