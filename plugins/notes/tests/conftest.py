"""What the tests of this plugin share."""

import pytest


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor
