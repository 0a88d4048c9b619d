"""A process's limit of open files is raised as far as it may be."""

import resource

import pytest

from ahpd.daemon.limits import raise_open_files


@pytest.fixture
def limits(monkeypatch):
    held = {"now": (1024, 4096), "set": []}

    def put(which, value):
        if value[0] > 100_000:
            raise ValueError("too many")
        held["set"].append(value)

    monkeypatch.setattr(resource, "getrlimit", lambda which: held["now"])
    monkeypatch.setattr(resource, "setrlimit", put)
    return held


def test_it_goes_as_far_as_the_hard_limit(limits):
    assert raise_open_files(65536) == 4096
    assert limits["set"] == [(4096, 4096)]


def test_what_is_enough_is_left_alone(limits):
    assert raise_open_files(512) == 1024
    limits["now"] = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    assert raise_open_files(65536) == 65536
    assert limits["set"] == []


def test_a_refusal_leaves_what_there_was(limits):
    limits["now"] = (256, resource.RLIM_INFINITY)
    assert raise_open_files(200_000) == 256
