"""Hosts with plugins, stopped and checked when a test is over."""

import gc
import sys

import pytest

from .hosted import Hosted


@pytest.fixture
def hosted(tmp_path):
    before = set(sys.modules)
    made = Hosted(tmp_path)
    yield made
    made.stop()
    gc.collect()
    left = [name for name in set(sys.modules) - before if name.startswith("_ahpd_plugin_")]
    assert not left, f"modules of plugins are left behind: {left}"
