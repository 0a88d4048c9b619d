"""Params of every method, as declared and broken in every way.

A served method answers or says which parameter is wrong; one that is not served answers
-32601 whatever it is sent. What fails inside the host is a fault.
"""

import itertools
from random import Random

import pytest
from hypothesis import given

from ahpd.protocol.errors import INVALID_PARAMS, METHOD_NOT_FOUND
from ahpd.protocol.methods import COMMANDS
from ahpd.protocol.uris import ROOT

from .messages import SERVED, STRANGE_METHODS, call, params_of
from .names import ONE
from .profile import examples, marks, steps
from .rig import MESSAGE, STARTED, Rig
from .values import EXTREMES, broken, text_of

pytestmark = marks

HANDSHAKES = {"initialize", "reconnect"}


def throw_params(rig, end, method, seeds, may_break=True):
    numbers = itertools.count(100)
    for seed in seeds:
        random = Random(seed)
        params = params_of(method, random)
        if may_break and random.random() < 0.7:
            params = broken(params, random, random.choice([1, 1, 2, 4]))
        message = call(method, params, next(numbers) if method in COMMANDS else None)
        rig.throw(end, text_of(message).encode())
        if random.random() < 0.05:
            rig.let_programs_go_on()
        if method in HANDSHAKES and end.connected:
            rig.cut(end)
            end = rig.open(introduced=False)


@pytest.mark.parametrize("method", sorted(SERVED))
def test_a_served_method_answers_whatever_its_params_are(method):
    @examples(12)
    @given(seeds=steps(12))
    def thrown(seeds):
        rig = Rig()
        end = rig.open(introduced=method not in HANDSHAKES)
        throw_params(rig, end, method, seeds)
        rig.finish()

    thrown()


@pytest.mark.parametrize("method", ["unsubscribe", "dispatchAction"])
def test_a_notification_is_never_answered(method):
    @examples(20)
    @given(seeds=steps(15))
    def thrown(seeds):
        rig = Rig()
        throw_params(rig, rig.open(), method, seeds)
        rig.finish()

    thrown()


@pytest.mark.parametrize("method", sorted(COMMANDS.keys() - SERVED))
def test_a_method_that_is_not_served_says_so_whatever_its_params_are(method):
    @examples(2)
    @given(seeds=steps(8))
    def thrown(seeds):
        rig = Rig()
        end = rig.open()
        throw_params(rig, end, method, seeds)
        codes = {answer["error"]["code"] for answer in end.answers()[1:]}
        assert codes <= {METHOD_NOT_FOUND, -32700, -32600}
        rig.finish()

    thrown()


@pytest.mark.parametrize("method", STRANGE_METHODS)
def test_a_method_nobody_has_says_so(method):
    rig = Rig()
    end = rig.open()
    rig.throw(end, text_of(call(method, {"channel": 3}, 1)).encode())
    rig.throw(end, text_of(call(method, {"channel": 3})).encode())
    assert end.answers()[-1]["error"]["code"] == METHOD_NOT_FOUND
    rig.finish()


@pytest.mark.parametrize("method", sorted(SERVED - HANDSHAKES))
def test_wrong_params_are_named(method):
    rig = Rig()
    end = rig.open()
    rig.throw(end, text_of(call(method, {"channel": 3}, 1)).encode())
    answer = end.answers()[-1]
    if method == "ping":
        assert answer["result"] is None
    else:
        assert answer["error"]["code"] == INVALID_PARAMS
        assert answer["error"]["message"].startswith("params.")
    rig.finish()


@pytest.mark.parametrize("number", EXTREMES, ids=lambda number: f"{str(number)[:12]}")
def test_a_number_at_its_end_is_taken_or_refused(number):
    rig = Rig()
    end = rig.open()
    root, chat = {"channel": ROOT}, {"channel": rig.one}
    start = {"type": "chat/turnStarted", "turnId": "t", "startedAt": STARTED, "message": MESSAGE}
    requests = [
        ("subscribe", {**chat, "delivery": {"maxLatencyMs": number}}),
        ("subscribe", {**chat, "view": {"turns": number}}),
        ("subscribe", {**chat, "delivery": {"maxLatencyMs": number}, "view": {"turns": number}}),
        ("listSessions", {**root, "limit": number}),
        ("ping", {**root, "number": number}),
    ]
    actions = [
        ("ahp-root://", {"type": "root/configChanged", "config": {"replayBytes": number}}),
        ("ahp-root://", {"type": "root/configChanged", "config": {"clientQueueBytes": number}}),
        (ONE, {"type": "session/configChanged", "config": {"a": [number]}}),
        (rig.one, start),
        (rig.two, {"type": "chat/turnCancelled", "turnId": "t-run", "duration": number}),
    ]
    for identifier, (method, params) in enumerate(requests):
        rig.throw(end, text_of(call(method, params, identifier)).encode())
    for channel, action in actions:
        params = {"channel": channel, "clientSeq": number, "action": action}
        rig.throw(end, text_of(call("dispatchAction", params)).encode())
    rig.host.advance(61)
    assert any(turn["id"] == "t" for turn in rig.host.store.state(rig.one)["turns"])
    rig.cut(end)
    back = {**root, "clientId": "fuzz-1", "lastSeenServerSeq": number, "subscriptions": [rig.one]}
    rig.throw(rig.open(introduced=False), text_of(call("reconnect", back, number)).encode())
    rig.finish()
