"""Who may do what: the one question every extension channel and command asks first.

A grant is `<subject>:<operation>`, such as `connector:put`. A host without a directory of
users asks nobody who they are, and there every grant is held (`OpenAccess` in
`ahpd/extensions/access.py`). Sources: PLUGINS.txt, "Registering grants", "A plugin is a client of
its own host", "A command of your own".
"""

from collections.abc import Sequence

import attrs
from zope.interface import Interface

from ahpd.interfaces.clients import IClientConnection


@attrs.frozen(kw_only=True)
class Reader:
    """Somebody who is signed in, as channels and commands are told of them."""

    principal: str
    """`user:<id>` or `plugin:<id>`."""
    teams: Sequence[str] = ()
    """The teams this person is in."""
    grants: Sequence[str] = ()
    """What is held beside what the directory says: a plugin's, as its entry has them."""


class IAccess(Interface):
    """Says who is on a connection and what they may do."""

    def reader(connection: IClientConnection) -> Reader | None:
        """Who is on a connection; None for the root connection, and where there are no users."""

    def holds(reader: Reader | None, grant: str) -> bool:
        """Whether `reader` holds `grant` (`connector:put`). Cheap and synchronous."""

    def owns(reader: Reader | None, owner: str) -> bool:
        """Whether what belongs to `owner` is `reader`'s to change, the grant aside.

        `host` is everybody's who holds the subject's `host` grant, `team:<id>` is its members',
        `user:<id>` that person's.
        """

    def owner(reader: Reader | None) -> str | None:
        """Whose work a request is: a principal, or `root:<host>`; None where there are no users."""

    def may(owner: str | None, grant: str) -> str | None:
        """None where `owner` (`user:ada`) holds `grant`, else words such as
        `ada may not session:create here`."""
