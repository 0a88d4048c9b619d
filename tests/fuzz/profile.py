"""How long is fuzzed: a bounded, repeatable run among the tests, a long random one apart.

With `AHPD_LONG=1` in the environment (`tox -e long` sets it) each test runs `FACTOR` times
as many examples, other ones each time, and is marked `long`.
"""

import os

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

LONG = os.environ.get("AHPD_LONG", "") not in ("", "0")
FACTOR = int(os.environ.get("AHPD_LONG_FACTOR", "8"))

marks = [pytest.mark.long] if LONG else []

#: What decides one step: a `random.Random` is made of it.
SEEDS = st.integers(0, 2**32 - 1)


def steps(most):
    """Up to `most` steps; a failure is shrunk to the steps it needs."""
    return st.lists(SEEDS, min_size=1, max_size=most)


def examples(count):
    """Settings of a test of `count` examples.

    A test with parameters of its own gives them to a function inside it: pytest-twisted
    wraps the function under `given` anew for each parameter, and it blocks in itself.
    """
    return settings(
        max_examples=count * FACTOR if LONG else count,
        derandomize=not LONG,
        database=None,
        deadline=None,
        phases=(Phase.generate, Phase.shrink),
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
