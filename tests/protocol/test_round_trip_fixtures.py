"""What the protocol says must survive a decode and an encode passes a lenient check."""

import json

import pytest

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.shapes import every_shape, shape
from ahpd.protocol.uris import ChannelKind

#: JSON-RPC as a whole, which a fixture names by no shape.
_RPC = {
    "method+id": "rpc.JsonRpcRequest",
    "method": "rpc.JsonRpcNotification",
    "error": "rpc.JsonRpcErrorResponse",
    "result": "rpc.JsonRpcSuccessResponse",
}


def shape_of(fixture):
    value, name = fixture["input"], fixture["type"]
    if name == "JsonRpcMessage":
        kind = next(kind for kind in _RPC if all(part in value for part in kind.split("+")))
        return shape(_RPC[kind])
    if name == "StateAction" and value["type"] in ACTIONS:
        return ACTIONS[value["type"]].shape
    return every_shape()[name]


@pytest.fixture(scope="module")
def fixtures(protocol_folder):
    return {
        path.stem: json.loads(path.read_text())
        for path in sorted((protocol_folder / "fixtures" / "round-trips").glob("*.json"))
    }


def test_each_value_and_each_form_it_may_come_back_in_fits_its_shape(fixtures):
    assert len(fixtures) > 50
    refused = {}
    for name, fixture in fixtures.items():
        for value in (fixture["input"], *fixture["acceptableOutputs"]):
            try:
                check(value, shape_of(fixture), at=fixture["type"])
                if fixture["type"] == "ActionEnvelope":
                    action = value["action"]
                    check(action, ACTIONS[action["type"]].shape, at="ActionEnvelope.action")
            except ShapeError as error:
                refused[name] = str(error)
    assert refused == {}


#: Keys 1.0.0 requires and some reducer cases, written for earlier versions, leave out.
_LEFT_OUT = {
    "lifecycle": "a terminal's",
    "origin": "an annotation's",
    "chat": "a terminal claim's",
    "enabled": "a directory customization's",
}


def test_the_states_and_actions_of_the_reducers_cases_fit_their_shapes(protocol_folder):
    states = shape("envelopes.STATES")
    kinds = {kind.value.lower(): kind for kind in ChannelKind}
    refused, fitting = {}, 0
    for path in sorted((protocol_folder / "fixtures" / "reducers").glob("*.json")):
        case = json.loads(path.read_text())
        state = states[kinds[case["reducer"].lower()]]
        try:
            check(case["initial"], state, at="initial")
            check(case["expected"], state, at="expected")
            for index, action in enumerate(case["actions"]):
                if action["type"] in ACTIONS:
                    check(action, ACTIONS[action["type"]].shape, at=f"actions[{index}]")
            fitting += 1
        except ShapeError as error:
            if error.found != "nothing" or error.path.rpartition(".")[2] not in _LEFT_OUT:
                refused[path.stem] = str(error)
    assert refused == {}
    assert fitting > 200
