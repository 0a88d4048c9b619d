"""Engines that are installed for a test: a distribution of its own in a folder on the path."""

from collections.abc import Mapping
from pathlib import Path


def install_distribution(
    folder: Path, name: str, engines: Mapping[str, str], modules: Mapping[str, str]
) -> Path:
    """Make `folder` hold a distribution called `name`, as pip would have left it.

    `engines` are its entry points of the group `ahpd.engines`, by name: `module:attribute`.
    `modules` are the texts of its modules. `folder`, for `sys.path` or `PYTHONPATH`, is
    answered.
    """
    info = folder / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{engine} = {value}" for engine, value in engines.items()]
    (info / "entry_points.txt").write_text("\n".join(["[ahpd.engines]", *lines, ""]))
    for module, text in modules.items():
        (folder / f"{module}.py").write_text(text)
    return folder
