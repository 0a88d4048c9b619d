"""What a host serves beside the protocol: `x-` channels and commands, and what says so."""

import attrs

from ahpd.app.ground import Ground
from ahpd.extensions.clients import SCHEME as CLIENTS
from ahpd.extensions.clients import ConnectedClients
from ahpd.extensions.completions import NAME as COMPLETIONS
from ahpd.extensions.completions import Choices
from ahpd.extensions.described import KEYS, Described
from ahpd.extensions.dropped import Report, logged
from ahpd.extensions.grants import Grants
from ahpd.extensions.operations import NAME as INVOKE
from ahpd.extensions.operations import Invocations
from ahpd.extensions.registry import Extensions
from ahpd.extensions.restart import RestartNeeded
from ahpd.interfaces import IAccess
from ahpd.protocol import State
from ahpd.root.host_values import HostValue
from ahpd.root.service import RootService


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Beside:
    """The parts, each of which domains and plugins contribute to."""

    access: IAccess
    extensions: Extensions
    grants: Grants
    described: Described
    invocations: Invocations
    choices: Choices
    clients: ConnectedClients
    restart: RestartNeeded


def make_beside(
    ground: Ground,
    root: RootService,
    access: IAccess,
    choices: Choices,
    report: Report = logged,
) -> Beside:
    """The parts, with what this host serves of its own: the clients, and two commands.

    `report` is told what of a plugin's was dropped.
    """
    extensions = Extensions(ground.store, access, report)
    grants = Grants(report)
    described = Described(extensions, grants)
    invocations = Invocations(access)
    clients = ConnectedClients(ground.store, access, ground.scheduler, ground.now)

    def hold(key: str, schema: State, value: object) -> None:
        root.host_values("restart", {key: HostValue(schema=schema, value=value)})

    clients.attach(extensions.add_channel(CLIENTS, clients.channel))
    extensions.add_method(INVOKE, invocations.method)
    extensions.add_method(COMPLETIONS, choices.method)
    invocations.register(f"{CLIENTS}://", clients.operations)

    def say() -> None:
        root.set_meta({**dict.fromkeys(KEYS), **described.meta()})

    described.changed = say
    say()
    return Beside(
        access=access,
        extensions=extensions,
        grants=grants,
        described=described,
        invocations=invocations,
        choices=choices,
        clients=clients,
        restart=RestartNeeded(ground.store, hold),
    )
