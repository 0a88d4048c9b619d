"""What a record says a machine needs to run its agent; a session on this host sees none of it.

`env` are variables set only inside the machine, `copy` are paths of this host copied in. This
host makes no machines: the record is checked, so that one which works here works on a host
that does, and no secret it names is read.  Source: PLUGINS.txt, "A record's `machine`".
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import InvalidRecord

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def check_machine(machine: Any, environ: Mapping[str, str]) -> None:
    """Raises `InvalidRecord` in one line for a machine that is wrongly written."""
    if machine is None:
        return
    if not isinstance(machine, Mapping):
        raise InvalidRecord("machine: expected an object with env and copy")
    for key in machine:
        if key not in ("env", "copy"):
            raise InvalidRecord(f"machine.{key}: is not a field; expected env and copy")
    env = machine.get("env", {})
    if not isinstance(env, Mapping):
        raise InvalidRecord("machine.env: expected variables by name")
    for name, value in env.items():
        _check_variable(f"machine.env.{name}", name, value, environ)
    copies = machine.get("copy", [])
    if not isinstance(copies, list | tuple):
        raise InvalidRecord("machine.copy: expected a list of source and target")
    targets: dict[str, int] = {}
    for index, copy in enumerate(copies):
        target = _check_copy(f"machine.copy[{index}]", copy)
        if target in targets:
            raise InvalidRecord(
                f"machine.copy[{index}].target: {target} is that of machine.copy[{targets[target]}]"
            )
        targets[target] = index


def _check_variable(at: str, name: str, value: Any, environ: Mapping[str, str]) -> None:
    if not _VARIABLE.fullmatch(name):
        raise InvalidRecord(f"{at}: is not the name of a variable")
    if isinstance(value, str):
        return
    kind, wanted = next(iter(value.items())) if _is_single(value) else (None, None)
    if kind in ("fromEnv", "$env") and isinstance(wanted, str):
        if wanted not in environ:
            raise InvalidRecord(f"{at}: the daemon's environment has no variable {wanted}")
    elif kind != "$secret" or not isinstance(wanted, str) or not wanted:
        raise InvalidRecord(f"{at}: expected a text, or a reference to one")


def _is_single(value: Any) -> bool:
    return isinstance(value, Mapping) and len(value) == 1


def _check_copy(at: str, copy: Any) -> str:
    if not isinstance(copy, Mapping) or set(copy) != {"source", "target"}:
        raise InvalidRecord(f"{at}: expected an object with source and target")
    for side in ("source", "target"):
        if not isinstance(copy[side], str) or not copy[side]:
            raise InvalidRecord(f"{at}.{side}: expected a path")
    if not copy["source"].startswith(("/", "~/")):
        raise InvalidRecord(f"{at}.source: expected an absolute path, or one under ~/")
    if not copy["target"].startswith("/"):
        raise InvalidRecord(f"{at}.target: expected an absolute path")
    target: str = copy["target"].rstrip("/")
    return target
