"""A credential in the address of a source: handed to pip and git beside it, and kept nowhere.

What stands in a program's arguments every user of the machine can read, and pip writes an address
it installed from into what it installs. So an address goes without what signs in at it: pip reads
that from a file for this user alone, which is there for as long as pip runs, and git from its
environment.
"""

from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

import attrs

from ahpd.whole_files import replace

_FILE: Final = "netrc"
_GIT: Final = "git+"


@attrs.frozen
class Credential:
    """What signs in at one host."""

    host: str
    port: int | None
    user: str = attrs.field(repr=False)
    password: str = attrs.field(repr=False)


def parted(address: str) -> tuple[str, Credential | None]:
    """An address over HTTPS without its credential, and that; any other address as it is.

    Raises `ValueError` for one that no host can be read of.
    """
    parts = urlsplit(address)
    userinfo, at, place = parts.netloc.rpartition("@")
    if not at or not parts.scheme.lower().endswith("https") or parts.hostname is None:
        return address, None
    user, _, password = userinfo.partition(":")
    credential = Credential(parts.hostname, parts.port, unquote(user), unquote(password))
    return parts._replace(netloc=place).geturl(), credential


def environ_for(
    credential: Credential | None, address: str, folder: Path, environ: Mapping[str, str]
) -> dict[str, str]:
    """What programs that fetch `address` are started with beside `environ`, to sign in there.

    `folder` is for this user alone, and goes when they ended. Raises `OSError`.
    """
    if credential is None:
        return {}
    if address.lower().startswith(_GIT):
        return _for_git(credential, environ)
    file = folder / _FILE
    replace(
        file,
        f"machine {_quoted(credential.host)} login {_quoted(credential.user)} "
        f"password {_quoted(credential.password)}\n".encode(),
    )
    return {"NETRC": str(file)}


def _for_git(credential: Credential, environ: Mapping[str, str]) -> dict[str, str]:
    port = "" if credential.port is None else f":{credential.port}"
    basic = b64encode(f"{credential.user}:{credential.password}".encode()).decode()
    count = environ.get("GIT_CONFIG_COUNT", "0")
    place = int(count) if count.isdecimal() else 0
    return {
        "GIT_CONFIG_COUNT": str(place + 1),
        f"GIT_CONFIG_KEY_{place}": f"http.https://{credential.host}{port}/.extraHeader",
        f"GIT_CONFIG_VALUE_{place}": f"Authorization: Basic {basic}",
    }


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
