"""Whether a folder may be worked in, as the window says: in what it pushed, or asked.

A window pushes `workspaceTrust` into the root configuration: trust turned off trusts every
folder, and otherwise a folder is trusted when one the window names is it or above it. What
nobody vouched for is asked about, one question a folder, with the reference window's own
request.

Source: AHP.txt, `session/workingDirectorySet` and `root/configChanged`.
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import ICaller, RpcError
from ahpd.protocol.file_uris import path_of

#: The window's request: params name the folder, the result says `trusted`.
ASK: Final = "vscode/requestWorkspaceTrust"


def trusted(folder: str, root_values: Mapping[str, Any]) -> bool:
    """Whether nobody has to be asked about `folder` (a `file:` URI).

    `root_values` is the root configuration. Folders are compared as what they name on this
    machine, links followed; a value that cannot be read trusts nothing.
    """
    if root_values.get("globalAutoApproveEnabled") is True:
        return True  # the question would be answered by that setting, not by a person
    pushed = root_values.get("workspaceTrust")
    if not isinstance(pushed, dict):
        return False
    if pushed.get("enabled") is False:
        return True
    named, vouched = _real(folder), pushed.get("trustedUris")
    if pushed.get("enabled") is not True or named is None or not isinstance(vouched, list):
        return False
    parents = (_real(uri) for uri in vouched if isinstance(uri, str))
    return any(parent is not None and _is_under(named, parent) for parent in parents)


def _real(uri: str) -> str | None:
    path = path_of(uri)
    return None if path is None else os.path.realpath(path)


def _is_under(path: str, parent: str) -> bool:
    return path == parent or path.startswith(parent.rstrip("/") + "/")


async def granted(window: ICaller, folder: str) -> bool:
    """Ask the person at `window` about `folder`; anything but a clear yes is a no."""
    try:
        answer = await window.request(ASK, {"workspace": folder})
    except RpcError:
        return False
    return isinstance(answer, dict) and answer.get("trusted") is True
