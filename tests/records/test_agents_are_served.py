"""The channels, the commands and the operations of agents, as a host serves them."""

import pytest

from ahpd.app.agent_records import serve_agent_records
from ahpd.channels.store import ChannelStore
from ahpd.extensions.operations import Invocations
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import Owned

from .record_desk import Desk, MadeEngine


@pytest.fixture
def served():
    desk = Desk()
    extensions = Extensions(ChannelStore(), desk.access)
    serve_agent_records(desk.service, extensions, Invocations(desk.access))
    return desk, extensions


def test_they_are_described_with_their_grants(served):
    described = served[1].described()
    channels = {each["scheme"]: each["grant"] for each in described["ahpd.channels"]}
    assert channels == {"x-ahpd-agents": "agent:list", "x-ahpd-engines": "agent:list"}
    methods = {each["method"] for each in described["ahpd.methods"]}
    assert methods == {
        f"x-ahpd/agents/{verb}" for verb in ("put", "remove", "check", "enable", "pause", "disable")
    }


def test_rows_are_said_on_their_channels(served):
    desk, extensions = served
    assert extensions.handle("x-ahpd-agents") is not None
    row = desk.put()
    assert row["operations"] == ["pause", "disable", "check", "remove"]
    desk.wait(desk.service.contributed_engines({"other": Owned("acme", MadeEngine("other"))}))
    assert desk.row()["state"] == "unavailable"
