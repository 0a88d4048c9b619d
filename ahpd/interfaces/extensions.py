"""What is served beside the protocol: channels and commands under `x-` names.

A channel's scheme and a command's name begin with `x-`, the protocol's prefix for an
extension. The host's own (`x-ahpd-plugins` ...) are the same objects a plugin registers.
Sources: PLUGINS.txt, "A channel of your own", "A command of your own", "x-ahpd/invokeOperation".
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

import attrs
from zope.interface import Interface

from ahpd.interfaces.access import Reader
from ahpd.protocol import Action, State


@attrs.frozen(kw_only=True)
class Description:
    """What a client shows of a channel or a command, in the root state's `_meta`
    (`ahpd.channels`, `ahpd.methods`)."""

    title: str
    description: str = ""


@attrs.frozen(kw_only=True)
class Caller:
    """Who asks."""

    client: str
    """The client's id."""
    reader: Reader | None = None
    """Who is signed in; None on a host without users, and for the root connection."""
    owner: str | None = None
    """Whose work the request is: `user:<id>`, `plugin:<id>`, `root:<host>`; None without users."""
    locale: str | None = None
    """The language the client asked for."""


@attrs.frozen(kw_only=True)
class Channel:
    """A channel clients may subscribe to and never dispatch on.

    `snapshot(uri, caller)` is the state a subscribe answers, at once or awaited. It raises
    `RpcError` to refuse that URI.
    """

    grant: str
    """What a subscribe needs: `notes:read`. On a host without users everybody holds it."""
    snapshot: Callable[[str, Caller], State | Awaitable[State]]
    authorize: Callable[[str, Caller], bool | Awaitable[bool]] | None = None
    """Asked only about a reader who does not hold the grant; True lets them in."""
    joined: Callable[[str], object] | None = None
    """Told of a URI that somebody began to watch whom nobody watched before."""
    left: Callable[[str], object] | None = None
    """Told of a client's id once it watches no URI of the scheme on any connection."""
    describe: Callable[[], Description] | None = None


@attrs.frozen(kw_only=True)
class Method:
    """A command clients send by its name."""

    grant: str
    """What a call needs; empty for one that decides itself."""
    handle: Callable[[Mapping[str, Any], Caller], Any]
    """The request's params and who sent it, to a JSON value or an awaitable of one. Raises
    `RpcError` in the words the caller is told."""
    authorize: Callable[[Mapping[str, Any], Caller], bool | Awaitable[bool]] | None = None
    """Asked only about a caller who does not hold the grant; True lets them in."""
    describe: Callable[[], Description] | None = None


@attrs.frozen(kw_only=True)
class Watching:
    """Somebody who watches a URI: a client, and the person on it."""

    client: str
    reader: Reader | None = None


class IChannelHandle(Interface):
    """What a registered channel is spoken on."""

    def publish(
        uri: str,
        action: Action,
        *,
        visible: Callable[[Reader | None, str], bool] | None = None,
        to: str | None = None,
    ) -> None:
        """Say `action` on a URI of the scheme; its type begins with `<scheme>/`.

        `visible(reader, client)` is asked for each subscriber now, and again when the action is
        replayed to a client that reconnects: one it answers False for, or raises for, is sent
        nothing. `to` names the one client that is. Raises `ValueError` for a URI or a type of
        another scheme, `RuntimeError` before the host is built and once the channel is gone.
        """

    def subscribers(uri: str) -> Sequence[Watching]:
        """Who watches a URI now, once for each client and person."""


# -- rows, their alerts, their operations ------------------------------------------------


Level = Literal["notice", "info", "warning", "error"]


@attrs.frozen(kw_only=True)
class Alert:
    """Something a person should know of a row; shown until it is cleared or replaced, or the
    plugin is loaded again."""

    level: Level
    text: str
    ref: str | None = None
    """What it is about, `<kind>:<id>`; another alert with it replaces this one."""
    at: str | None = None
    """When it was raised (ISO 8601); the host says it where it is None."""


@attrs.frozen(kw_only=True)
class Operation:
    """Something a client may do to a list or to one record of it."""

    id: str
    label: str
    scopes: Sequence[str]
    """`list`, or what a record of the channel is called: `tunnel`, `client`."""
    grant: str
    kind: str = "host"
    description: str | None = None
    icon: str | None = None
    confirmation: str | None = None
    """What a person is asked before it is invoked."""
    input: State | None = None
    """The JSON Schema of what it takes."""


class IViewHandle(Interface):
    """Shows a page of state for one plugin, connector or agent.

    A view is a small A2UI surface, `{root, components, dataModel?}`: `components` is an object of
    them by their ids, `root` the id of the first, and each is `{"id": ID, "component": KIND, ...}`
    with the id it stands under. docs/plugins.md ("A view") has the kinds and their fields, which
    are those of `ahpd/views/kinds.py`. `{"path": "/count"}` in place of a value reads it from
    `dataModel`; `"children": {"path": "/items", "componentId": "row"}` draws `row` once for each
    item of a list; a Button has `"action": {"event": {"name": "x-acme/take", "context": {...}}}`.
    `surface` is `main`, the only one there is. A refused call is logged and raises `ValueError`
    naming the rule; what was shown stays.
    """

    def show_view(view: State, surface: str = "main") -> None:
        """Show `view` in place of the surface's, components and data together."""

    def set_view_data(path: str, value: Any, surface: str = "main") -> None:
        """Set one value of the view's data; `/` replaces the whole model, with an object."""

    def clear_view(surface: str = "main") -> None:
        """Take the view away."""
