"""Where attachments are kept, and for how long."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from twisted.application.service import Service


class AttachmentsFolder(Service):
    """The folder of a host's attachments.

    `kept` is where they stay between two lives of the host; None is for a host that keeps
    its sessions in memory: then they are in a folder of this life alone, gone at its end.
    """

    name = "attachments"

    def __init__(self, kept: Path | None, ids: Callable[[], str]) -> None:
        self._temporary = kept is None
        self.path = kept or Path(tempfile.gettempdir()) / f"ahpd-attachments-{ids()}"

    def stopService(self) -> None:
        """Take away what nobody can come back for."""
        super().stopService()  # type: ignore[no-untyped-call]
        if self._temporary:
            shutil.rmtree(self.path, ignore_errors=True)
