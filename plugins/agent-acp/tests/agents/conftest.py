"""Where the ACP SDK for Python and its examples are, and agents made of them."""

import os
from pathlib import Path

import pytest

#: The folder that `fetch_examples.py` made.
FOLDER = "ACP_EXAMPLES"


@pytest.fixture
def sdk_program(acp):
    """Makes agents of a program that uses the SDK; skips where the SDK is not there."""
    if FOLDER not in os.environ:
        pytest.skip(f"{FOLDER} names no folder with the SDK and its examples")
    folder = Path(os.environ[FOLDER])

    def make(name, **fields):
        path = Path(__file__).with_name(name)
        if not path.exists():
            path = folder / name
        return acp.agent(command=str(folder / "env" / "bin" / "python"), args=[str(path)], **fields)

    return make
