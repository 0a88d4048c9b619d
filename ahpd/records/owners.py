"""What of a record only the host's own may say.

Source: PLUGINS.txt, "An engine of your own" (`hostOnly`, `keyVariables`).
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.config.references import SECRET, references_in
from ahpd.extensions.owners import HOST

#: The mapping of variables that a process is started with.
ENV: Final = "env"


def reading_for(owner: str) -> dict[str, str]:
    """For whose work the secrets of a record are read (`ISecrets.read`)."""
    if owner.startswith("team:"):
        return {"team": owner.removeprefix("team:")}
    return {} if owner == HOST else {"owner": owner}


def out_of_scope(engine: Any, owner: str, config: Mapping[str, Any]) -> str | None:
    """What `config` says that a record of `owner` may not, in words; None where it may say all.

    A command that is run, a free environment and the daemon's own variables and secrets are the
    host's to give. `engine` is the record's (`IEngine`).
    """
    if owner == HOST:
        return None
    for field in engine.host_only:
        if field in config:
            return f"{field}: only a record of the host's own may set it"
    variables = config.get(ENV)
    for variable in variables if isinstance(variables, Mapping) else ():
        if variable not in engine.key_variables:
            allowed = ", ".join(engine.key_variables) or "none"
            return (
                f"{ENV}.{variable}: only a record of the host's own may set it; of a key: {allowed}"
            )
    for at, kind, name in references_in(config):
        if kind != SECRET:
            return f"{at}: only a record of the host's own reads the daemon's environment"
        if not isinstance(name, str) or not name.startswith(f"{owner}/"):
            return f"{at}: names a secret that is not {owner}'s"
    return None
