"""Folders for their owner alone, and nobody else's way into them."""

from pathlib import Path


def make_private(folder: Path) -> None:
    """Make `folder` where it is missing, and every folder above it that is, with mode 0700.

    The standard library gives the ones above what the umask leaves of 0777: whoever may
    write there may put another folder in the place of ours. One that is there already stays
    as it is. Raises `OSError`, `FileExistsError` where something else is there.
    """
    if not folder.parent.exists():
        make_private(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)
