"""A place of its own for each test's configuration."""

from pathlib import Path

import pytest

from ahpd.config import flags, load


class Place:
    """A home directory with nothing in it, and a way to load from it."""

    def __init__(self, home: Path):
        self.home = home
        self.work = home / "work"
        self.work.mkdir()
        self.directory = home / ".config" / "ahpd"
        self.environ = {"HOME": str(home)}

    def write(self, text, name="config.yaml"):
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self.directory / name
        path.write_text(text)
        path.chmod(0o600)
        return path

    def load(self, config_file=None, **raw):
        return load.load(
            flags.values(raw, self.work),
            config_file=config_file,
            environ=self.environ,
            directory=self.work,
        )


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)
