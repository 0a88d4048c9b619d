"""The file a manifest is written in: `plugin.yaml`, or `plugin.json`, beside what it is of."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ahpd.config import document
from ahpd.config.document import Document
from ahpd.config.errors import ConfigError
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.manifest_fields import manifest_of
from ahpd.plugins.skipped import Skipped

NAMES: Final = ("plugin.yaml", "plugin.json")

#: How a plugin that has none comes to one.
HOW: Final = (
    "a standalone plugin writes one in a plugin.yaml, with an id and a main, or in its "
    "configuration entry, which carries one when it has an id"
)


def manifest_file(folder: Path, plugin: str) -> Path | None:
    """The manifest's file in `folder`; None where there is none. Raises `Skipped` for two."""
    there = [folder / name for name in NAMES if os.path.isfile(f"{folder}/{name}")]  # noqa: PTH113
    if len(there) > 1:
        raise Skipped(f"{there[0]} and {there[1].name} are both its manifest: keep one", plugin)
    return there[0] if there else None


def read_manifest(
    path: Path,
    called: str,
    *,
    id_if_none: str | None = None,
    reader: Callable[[Path], Document] = document.read,
    version: str | None = None,
) -> Manifest:
    """The manifest a file holds, as `reader` reads it; see `manifest_of`. Raises `Skipped`."""
    try:
        read = reader(path)
    except ConfigError as error:
        raise Skipped(str(error), id_if_none or called) from None
    return manifest_of(
        read.values,
        str(path),
        called=called,
        id_if_none=id_if_none,
        lines=read.place,
        version=version,
    )
