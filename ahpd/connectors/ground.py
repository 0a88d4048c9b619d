"""What every part of the connectors works with."""

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import Reader, ToolCallContext
from ahpd.protocol import State
from ahpd.schemas import Vaulted

log = Logger()

#: Whether an id names an automation of this host that `owner` may start.
Automations = Callable[[str, str], bool]
#: Replaces what a running call has produced so far; None where the host cannot say it.
Produced = Callable[[ToolCallContext], Callable[[Sequence[State]], None] | None]


def _nothing(*_: Any) -> None:
    return None


def _never(*_: Any) -> bool:
    return False


def logged(plugin: str, line: str) -> None:
    """Where nobody shows what was refused of a plugin's, the log does."""
    log.warn("{plugin}: {line}", plugin=plugin, line=line)


def unguessable() -> str:
    """43 characters that nobody can guess; what a PKCE verifier may be made of."""
    return secrets.token_urlsafe(32)


@attrs.frozen(kw_only=True)
class Ground:
    """The host's parts, as connectors use them."""

    vaulted: Vaulted
    clock: IReactorTime
    now: Callable[[], datetime]
    """The wall clock, aware."""
    token: Callable[[], str] = unguessable
    """A text nobody can guess, another at each call."""
    methods: Callable[[str], Collection[str]] = lambda plugin: ()
    """The commands a plugin registered, by its id: what a button of its views may name."""
    report: Callable[[str, str], None] = logged
    """`report(plugin, line)`: something of a plugin's was refused."""
    icons: Callable[[str, str], Sequence[State]] = lambda plugin, adapter: ()
    """`icons(plugin, adapter)`: what clients draw beside an adapter, as far as it is known by
    now (schema: Icon)."""
    automations: Automations | None = None
    """None on a host without automations: then no id names one."""
    callable_now: Callable[[Reader | None, State, str], bool] = _never
    """`callable_now(reader, row, model)`: whether somebody may call a model of a connector by
    the name a proxy knows it by. A host without a model proxy calls none."""
    session_owner: Callable[[str], str | None] = _nothing
    """Whose a session is (`user:ada`), by its URI; None for nobody's."""
    session_config: Callable[[str], Mapping[str, Any]] = lambda session: {}
    """The values of a session's configuration, by its URI."""
    bindings: Callable[[str], Mapping[str, str]] | None = None
    """The port `Bindings`: asked at each list and each call."""
    files: Callable[[str], Path | None] = _nothing
    """The folder a session's attachments are kept in; None where it has none."""
    produced: Produced = _nothing
