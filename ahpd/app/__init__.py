"""The composition root: builds the parts of a host and hands each what it needs."""

from ahpd.app.host import Host, make_host
from ahpd.app.plugged import open_host

__all__ = ["Host", "make_host", "open_host"]
