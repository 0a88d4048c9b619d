"""Where the examples of the ACP SDK for Python are, and agents made of them."""

import os
import sys
from pathlib import Path

import pytest

#: The folder with `agent.py` and `echo_agent.py`: `fetch_examples.py` makes one.
FOLDER = "ACP_EXAMPLES"


@pytest.fixture
def sdk_program(acp):
    """Makes agents of a program that uses the SDK; skips where the SDK is not there."""
    pytest.importorskip("acp", reason="the ACP SDK for Python is not installed")

    def make(name, **fields):
        path = Path(__file__).with_name(name)
        if not path.exists():
            if FOLDER not in os.environ:
                pytest.skip(f"{FOLDER} names no folder with the SDK's examples")
            path = Path(os.environ[FOLDER]) / name
        return acp.agent(command=sys.executable, args=[str(path)], **fields)

    return make
