"""Kinds of tunnels: what makes a port of this host reachable from elsewhere.

The host owns the list and every grant; a kind owns what a tunnel of it is. Source: PLUGINS.txt,
"A tunnel kind of your own", `x-ahpd-tunnels`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import attrs

from ahpd.protocol import State


@attrs.frozen(kw_only=True)
class Tunnel:
    """One tunnel as its kind is handed it: every secret read back."""

    id: str
    kind: str
    plugin: str
    purpose: Literal["system", "person"]
    enabled: bool
    owner: str | None = None
    settings: Mapping[str, Any] = attrs.field(factory=dict, repr=False)


@attrs.frozen(kw_only=True)
class TunnelReport:
    """What changed of a tunnel; a member that is None says nothing."""

    status: Literal["running", "stopped", "error"] | None = None
    url: str | None = None
    """Where it is reached."""
    error: str | None = None
    """What is wrong, in words for its row."""
    settings: Mapping[str, Any] | None = attrs.field(default=None, repr=False)
    """Settings the kind changed while it worked; they are kept as an update is."""


Report = Callable[[TunnelReport], None]


@attrs.frozen(kw_only=True)
class TunnelOperation:
    """A verb of a kind's own."""

    id: str
    label: str
    description: str | None = None
    icon: str | None = None
    confirmation: str | None = None
    input: State | None = None
    """The JSON Schema an invocation's input is held to."""
    grant: str = "tunnel:put"
    offered: Callable[[State], bool] | None = None
    """Called with the row as a client reads it; None offers it on every tunnel of the kind."""


@attrs.frozen(kw_only=True)
class TunnelKind:
    """A kind of tunnel. Functions may be awaited."""

    name: str
    """A slug, unique on a host."""
    title: str
    schema: State
    """The JSON Schema of a tunnel's settings; a credential in it says `secret: true`."""
    create: Callable[[Tunnel, Report], Any]
    """Begin to forward. One that raises leaves nothing behind; one that returns and reported no
    status runs."""
    remove: Callable[[Tunnel], Any]
    """Stop forwarding, for good or until it is created again. It is also called for a tunnel that
    does not run, when its record is removed."""
    description: str = ""
    operations: Sequence[TunnelOperation] = ()
    invoke: Callable[[str, Tunnel, Report, Any], Any] | None = None
    """Runs one of `operations` by its id, with the input the host checked."""
    update: Callable[[Tunnel, Mapping[str, Any], Report], Any] | None = None
    """Applies changed settings live; a kind without it is stopped and begun again.

    `update(tunnel, given, report)`: the tunnel as it is to be, and the settings that were sent, a
    secret that was sent empty as it is held and one that is taken out as None. They are kept once
    it returned; one that raises changes nothing."""
    system: Callable[[int], Any] | None = None
    """`system(port)`: the settings of the host's own tunnel of this kind, or None for none."""
