"""Tells twistd of `ahpd`. There is no `__init__.py` beside this file: Twisted finds it so."""

from twisted.application.service import ServiceMaker

ahpd = ServiceMaker(
    "ahpd",
    "ahpd.tap",
    "Hosts coding agents and serves them over the Agent Host Protocol.",
    "ahpd",
)
