"""The `routes:` of a configuration file: a listener of its own for what plugins serve."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from ahpd.config.endpoints import tcp_endpoint
from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_keys, check_mapping
from ahpd.config.kinds import HostName, Integer, Structured


@attrs.frozen(kw_only=True)
class RoutesListener:
    """Where `/plugins/*` is served, and nothing else."""

    port: int
    """0 picks a free one."""
    host: str = "127.0.0.1"

    @property
    def endpoint(self) -> str:
        """The Twisted endpoint string to listen on."""
        return tcp_endpoint(self.host, self.port)


_CHECKS: Mapping[str, Any] = {"port": Integer(0, 65535), "host": HostName()}


@attrs.frozen
class Routes(Structured):
    """A port, and perhaps a host; it comes out as a `RoutesListener`."""

    allowed: str = "a mapping with port, and host where it is not 127.0.0.1"
    metavar: str = ""

    def check(self, value: object, base: Path) -> RoutesListener | None:
        if value is None:
            return None
        fields = check_mapping(value, self.allowed, "")
        check_keys(fields, tuple(_CHECKS), "")
        if "port" not in fields:
            raise WrongValue("a host without a port" if fields else "no port", self.allowed)
        checked: dict[str, Any] = {}
        for key, held in fields.items():
            try:
                checked[key] = _CHECKS[key].check(held, base)
            except WrongValue as wrong:
                raise WrongValue(wrong.found, wrong.allowed, f".{key}") from None
        return RoutesListener(**checked)

    def parse(self, text: str, base: Path) -> Any:
        """No flag takes it."""
        raise WrongValue(text, self.allowed)

    def shown(self, value: RoutesListener | None) -> Any:
        return None if value is None else {"port": value.port, "host": value.host}

    def secrets(self, value: RoutesListener | None) -> list[str]:
        return []
