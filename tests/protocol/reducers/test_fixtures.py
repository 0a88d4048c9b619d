"""The protocol's own reducer cases, run where they are to be had."""

import json
import os
import warnings
from pathlib import Path

import pytest

from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind

_CHECKOUT = Path(__file__).resolve().parents[3]
_PROTOCOL = Path(os.environ.get("AHP_PROTOCOL_DIR") or _CHECKOUT.parent / "shared" / "protocol")
_FOLDER = _PROTOCOL / "fixtures" / "reducers"
_CASES = sorted(_FOLDER.glob("*.json"))
_KINDS = {
    "root": ChannelKind.ROOT,
    "session": ChannelKind.SESSION,
    "chat": ChannelKind.CHAT,
    "terminal": ChannelKind.TERMINAL,
    "changeset": ChannelKind.CHANGESET,
    "annotations": ChannelKind.ANNOTATIONS,
    "resourceWatch": ChannelKind.RESOURCE_WATCH,
}


def _without_nulls(value):
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value


def test_the_protocol_cases_are_here():
    if not _CASES:
        reason = (
            f"THE PROTOCOL'S OWN REDUCER CASES WERE NOT RUN: no {_FOLDER}. "
            "Set AHP_PROTOCOL_DIR to the folder that holds fixtures/reducers."
        )
        warnings.warn(reason, stacklevel=1)
        pytest.skip(reason)
    assert {json.loads(case.read_text())["reducer"] for case in _CASES} <= _KINDS.keys()


@pytest.mark.parametrize("case", _CASES, ids=lambda case: case.stem)
def test_the_protocol_case_reduces_to_what_it_expects(case):
    said = json.loads(case.read_text())
    state = said["initial"]
    for action in said["actions"]:
        before = json.dumps(action)
        state = REDUCERS[_KINDS[said["reducer"]]](state, action)
        assert json.dumps(action) == before
    assert _without_nulls(plain(state)) == _without_nulls(said["expected"])
