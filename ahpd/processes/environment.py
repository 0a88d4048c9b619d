"""Which of the host's environment variables a child sees.

A child gets the host's environment, because an agent needs what a person set up for
it: `PATH`, `HOME`, proxies, an SSH agent, its own keys. Left out are

* every name beginning with `AHPD_`: the host's own settings, its connection token
  among them;
* what a service manager said to the host alone: socket activation, readiness, the
  watchdog and the journal;
* any variable, whatever it is called, whose value holds one of the host's secrets.

What the caller adds comes last; a value of None takes a variable away.
"""

from collections.abc import Collection, Mapping
from typing import Final

#: Names of the host's own, not inherited.
DENIED_PREFIX: Final = "AHPD_"

#: What systemd says to the process it started, wrong for any other.
DENIED: Final = frozenset(
    {
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "LISTEN_FDNAMES",
        "LISTEN_FDS",
        "LISTEN_PID",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
    }
)


def child_environment(
    host: Mapping[str, str],
    additions: Mapping[str, str | None] | None = None,
    secrets: Collection[str] = (),
) -> dict[str, str]:
    """The environment of a child of this host, by the rule above.

    `secrets` are whole values such as the connection token; an empty one is ignored.
    """
    hidden = [secret for secret in secrets if secret]
    environment = {
        name: value
        for name, value in host.items()
        if not name.startswith(DENIED_PREFIX)
        and name not in DENIED
        and not any(secret in value for secret in hidden)
    }
    for name, value_or_none in (additions or {}).items():
        if value_or_none is None:
            environment.pop(name, None)
        else:
            environment[name] = value_or_none
    return environment
