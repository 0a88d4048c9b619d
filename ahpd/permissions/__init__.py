"""Rules before people: what answers a question about a tool call, and what a person is offered."""

from ahpd.permissions.judge import Judge
from ahpd.permissions.looking import Beside
from ahpd.permissions.managed import ManagedPermissions, parse_managed

__all__ = ["Beside", "Judge", "ManagedPermissions", "parse_managed"]
