"""Rules before people: what answers a question about a tool call, and what a person is offered."""

from ahpd.permissions.judge import Judge
from ahpd.permissions.managed import ManagedPermissions, parse_managed
from ahpd.permissions.root_keys import ROOT_KEYS

__all__ = ["ROOT_KEYS", "Judge", "ManagedPermissions", "parse_managed"]
