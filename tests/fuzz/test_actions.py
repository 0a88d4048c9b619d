"""Every action, dispatched right and wrong, on every kind of channel.

A client's are said back or refused, the host's own are refused as what they are; either
way the host's state is what it has said, and it serves the next client as before.
"""

import itertools
from random import Random

import pytest
from hypothesis import given

from ahpd.protocol.actions import ACTIONS

from .messages import CLIENT_ACTIONS, HOST_ACTIONS, call, dispatch_of
from .profile import examples, marks, steps
from .rig import Rig
from .values import CHANNELS, ODD_URIS, broken, text_of

pytestmark = marks


def own_channels(rig, spec):
    """The channels of the rig an action of this type belongs on."""
    annotations = [f"{s}/annotations" for s in ("ahp-session:/one", "ahp-session:/two")]
    return {
        "root": ["ahp-root://"],
        "session": ["ahp-session:/one", "ahp-session:/two"],
        "chat": [rig.one, rig.two, "ahp-chat:/extra"],
        "annotations": annotations,
    }.get(spec.kind.value, CHANNELS)


def throw_actions(rig, end, spec, seeds):
    numbers = itertools.count(100)
    for seed in seeds:
        random = Random(seed)
        roll = random.random()
        own = own_channels(rig, spec)
        channel = random.choice(own if roll < 0.7 else ODD_URIS if roll < 0.8 else CHANNELS)
        params = dispatch_of(spec, random, channel)
        params["clientSeq"] = next(numbers)
        if random.random() < 0.4:
            params = broken(params, random, random.choice([1, 1, 3]))
        rig.throw(end, text_of(call("dispatchAction", params)).encode())
        if random.random() < 0.1:
            rig.let_agents_go_on()


@pytest.mark.parametrize("spec", CLIENT_ACTIONS, ids=lambda spec: spec.type)
def test_what_a_client_may_send_is_said_or_refused(spec):
    @examples(5)
    @given(seeds=steps(15))
    def thrown(seeds):
        rig = Rig()
        throw_actions(rig, rig.open(), spec, seeds)
        rig.finish()

    thrown()


@examples(40)
@given(seeds=steps(20))
def test_what_is_the_hosts_to_say_is_refused(seeds):
    rig = Rig()
    end = rig.open()
    for seed in seeds:
        spec = Random(seed).choice(HOST_ACTIONS)
        throw_actions(rig, end, spec, [seed])
        for message in end.received:
            params = message.get("params", {})
            if message.get("method") == "action" and "origin" in params:
                assert "Server-only action" in params["rejectionReason"], params
    rig.finish()


@examples(150)
@given(seeds=steps(40))
def test_any_mix_of_actions(seeds):
    rig = Rig()
    ends = [rig.open(), rig.open()]
    for seed in seeds:
        random = Random(seed)
        spec = random.choice(CLIENT_ACTIONS if random.random() < 0.9 else list(ACTIONS.values()))
        throw_actions(rig, random.choice(ends), spec, [seed])
    rig.finish()
