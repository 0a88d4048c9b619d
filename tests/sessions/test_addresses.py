"""Which session a channel belongs to, asked without waking any (`IAddresses`)."""

import pytest

from ahpd.protocol.uris import default_chat

S1 = "ahp-session:/s1"
SECOND = "ahp-chat:/second"


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session()
    host.service.create_chat({"channel": S1, "chat": SECOND})
    host.turn(host.chat())
    return host


def channels(host):
    return (S1, "scripted:/s1", S1 + "/annotations", S1 + "/changeset/session", SECOND)


def test_a_channel_is_its_session_s_awake_or_asleep(host):
    lead = host.chat()
    for channel in (*channels(host), lead):
        assert host.service.addresses.session_of(channel) == (S1, lead)
    host.crash()
    for channel in (*channels(host), lead):
        assert host.service.addresses.session_of(channel) == (S1, lead)
    assert host.service.registry.awake(S1) is None


@pytest.mark.parametrize(
    "channel",
    ["ahp-root://", "ahp-session:/no", "ahp-chat:/no", default_chat(S1), "ahp-terminal:/1", "x"],
)
def test_what_belongs_to_no_session_is_none_s(host, channel):
    assert host.service.addresses.session_of(channel) is None
