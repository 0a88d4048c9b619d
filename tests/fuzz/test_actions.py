"""Every action, dispatched right and wrong, on every kind of channel.

A client's are said back or refused, the host's own are refused as what they are; either
way the host's state is what it has said, and it serves the next client as before.
"""

from random import Random

import pytest
from hypothesis import given

from .messages import CLIENT_ACTIONS, HOST_ACTIONS, any_action, call, dispatch_of
from .profile import examples, marks, steps
from .rig import Rig
from .values import broken, text_of

pytestmark = marks


def throw_actions(rig, end, spec, seeds):
    for seed in seeds:
        random = Random(seed)
        params = dispatch_of(spec, random)
        if random.random() < 0.4:
            params = broken(params, random, random.choice([1, 1, 3]))
        rig.throw(end, text_of(call("dispatchAction", params)).encode())
        if random.random() < 0.1:
            rig.let_agents_go_on()
        if random.random() < 0.1:
            rig.let_programs_go_on()


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
        throw_actions(rig, random.choice(ends), any_action(random), [seed])
    rig.finish()
