"""Where the protocol's own data is, for the tests that compare with it."""

import os
from pathlib import Path

import pytest

_CHECKOUT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def protocol_folder() -> Path:
    """The folder with the protocol's schema, tables and fixtures; the test is skipped without it."""
    folder = Path(os.environ.get("AHP_PROTOCOL_DIR") or _CHECKOUT.parent / "shared" / "protocol")
    if not (folder / "methods.json").is_file():
        pytest.skip(
            f"NOT COMPARED WITH THE PROTOCOL: {folder} is not there."
            " Set AHP_PROTOCOL_DIR to the folder with ahp-1.0.0.schema.json and methods.json."
        )
    return folder
