"""ahpd hosts coding agents on a machine and serves them over the Agent Host Protocol."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ahpd")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0.0.0"
