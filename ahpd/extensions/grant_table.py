"""The subjects a grant may name on this host, with their operations: the host's own.

A grant is `<subject>:<operation>`. `read` and `write` are groups of a subject's operations and
never operations themselves; what is in neither group is held by its own name or by the subject's
`*`. Source: PLUGINS.txt, "Registering grants", and the tables that name what each channel and
command asks.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import attrs

#: What a scheme of resources may be asked, in the words of grants, by group.
RESOURCE_GROUPS: Final[Mapping[str, frozenset[str]]] = {
    "read": frozenset({"get", "list", "resolve", "watch"}),
    "write": frozenset({"put", "delete", "mkdir", "move", "copy", "request"}),
}
#: What a grant is made of and no subject has as an operation.
GROUPS: Final = frozenset({"read", "write", "*"})


@attrs.frozen(kw_only=True)
class Subject:
    """One subject: the words for it, and its operations, which group each is in."""

    title: str
    description: str = ""
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    neither: tuple[str, ...] = ()
    """Held by name, or by the subject's `*`."""

    @property
    def operations(self) -> tuple[str, ...]:
        """Every operation, those that read first."""
        return (*self.read, *self.write, *self.neither)


def grouped(operations: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]:
    """Operations somebody named, as (read, write, neither): the group is the host's answer."""
    named = tuple(dict.fromkeys(operations))
    read = tuple(name for name in named if name in RESOURCE_GROUPS["read"])
    write = tuple(name for name in named if name in RESOURCE_GROUPS["write"])
    return read, write, tuple(name for name in named if name not in read and name not in write)


#: The host's own, by subject.
SUBJECTS: Final[Mapping[str, Subject]] = {
    "session": Subject(
        title="Sessions",
        description="The conversations this host keeps.",
        read=("list", "get", "watch"),
        write=("create", "change", "dispose"),
    ),
    "chat": Subject(
        title="Chats",
        description="What is said in a session.",
        read=("get", "turns"),
        write=(
            *("create", "send", "cancel", "answer", "draft", "mark", "truncate"),
            *("folders", "tool", "move", "dispose"),
        ),
    ),
    "terminal": Subject(
        title="Terminals",
        description="Shells this host runs.",
        read=("list", "get"),
        write=("create", "claim", "input", "dispose"),
    ),
    "file": Subject(
        title="Files",
        description="Files of this machine.",
        read=tuple(sorted(RESOURCE_GROUPS["read"])),
        write=tuple(sorted(RESOURCE_GROUPS["write"])),
    ),
    "config": Subject(
        title="Settings",
        description="The configuration of the host, for everybody.",
        read=("get",),
        write=("change",),
    ),
    "trust": Subject(
        title="Trust",
        description="Which folders agents may be sent into without a question.",
        write=("push",),
    ),
    "agent": Subject(
        title="Agents",
        description="The agents of this host, and the records they are made of.",
        read=("list",),
        write=("put", "remove"),
        neither=("host", "all"),
    ),
    "connector": Subject(
        title="Connectors",
        description="Accounts and services that agents and tools use.",
        read=("list",),
        write=("put", "remove"),
        neither=("host", "all"),
    ),
    "tunnel": Subject(
        title="Tunnels",
        description="What makes a port of this host reachable from elsewhere.",
        read=("list",),
        write=("put", "delete"),
    ),
    "plugin": Subject(
        title="Plugins",
        description="What extends this host. To install one is to run its code.",
        read=("list",),
        write=("enable", "options", "reload"),
        neither=("install",),
    ),
    "client": Subject(
        title="Clients",
        description="The connections this host serves.",
        read=("list",),
        write=("drop",),
    ),
    "operation": Subject(
        title="Operations",
        description="What channels list as operations, whatever each asks by itself.",
        write=("invoke",),
    ),
}
