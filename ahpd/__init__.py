"""ahpd hosts coding agents on a machine and serves them over the Agent Host Protocol."""


def __getattr__(name: str) -> str:
    # Read when asked for: the metadata machinery takes longer to import than this whole package.
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415

    try:
        found = version("ahpd")
    except PackageNotFoundError:  # a source tree that was never installed
        found = "0.0.0"
    globals()[name] = found
    return found
