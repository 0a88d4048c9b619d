"""Protocol versions: what is offered, what is agreed, what an older client is shown.

Source: AHP.txt, its opening and the `initialize` row.
"""

import re
from collections.abc import Sequence
from typing import Final

from ahpd.protocol.actions import introduced_in
from ahpd.protocol.errors import invalid_params, unsupported_versions
from ahpd.protocol.validators import quoted

Version = tuple[int, int, int]

#: What this host speaks, newest first; a refusal lists exactly these.
SUPPORTED: Final = ("1.0.0", "0.10.0", "0.9.0")
NEWEST: Final = SUPPORTED[0]

# SemVer without leading zeros, its pre-release and build tags left out: AHP has none.
_SEMVER: Final = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})")


def parse(version: str) -> Version | None:
    """The three numbers of a MAJOR.MINOR.PATCH version, or None when it is not one."""
    match = _SEMVER.fullmatch(version)
    if match is None:
        return None
    major, minor, patch = match.groups()
    return int(major), int(minor), int(patch)


def negotiate(offered: Sequence[str]) -> str:
    """The highest version both sides speak.

    Raises `RpcError` -32602 naming an entry that is not a version, and -32005
    with `supportedVersions` when there is nothing in common.
    """
    for index, entry in enumerate(offered):
        if parse(entry) is None:
            raise invalid_params(
                f"params.protocolVersions[{index}]: expected a MAJOR.MINOR.PATCH version,"
                f" found {quoted(entry)}"
            )
    for version in SUPPORTED:
        if version in offered:
            return version
    raise unsupported_versions(offered, SUPPORTED)


def shows(version: str, action_type: str) -> bool:
    """Whether a connection that agreed on `version` is sent an action of this type.

    `version` is one that was negotiated. A type the table does not know is shown to
    everyone: it came after us, and a client that does not know it leaves its state
    unchanged.
    """
    since = introduced_in(action_type)
    if since is None:
        return True
    agreed, introduced = parse(version), parse(since)
    assert agreed is not None
    assert introduced is not None
    return introduced <= agreed
