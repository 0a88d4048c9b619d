"""Signing in: `authenticate`."""

from collections.abc import Mapping
from typing import cast

from ahpd.credentials.service import Credentials
from ahpd.interfaces import Command, ICaller, IClientConnection
from ahpd.protocol import State


def authentication_commands(credentials: Credentials) -> Mapping[str, Command]:
    """`authenticate`."""

    def authenticate(caller: ICaller, params: State) -> State:
        credentials.authenticate(cast("IClientConnection", caller), params)
        return {}

    return {"authenticate": authenticate}
