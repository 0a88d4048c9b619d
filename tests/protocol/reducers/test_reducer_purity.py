"""What holds for every reducer, whatever is said in whatever order."""

import copy
import runpy
from collections import defaultdict
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import GrowingText, plain
from ahpd.protocol.uris import ChannelKind

_STATES = defaultdict(list)
_ACTIONS = defaultdict(list)
for _loaded in map(runpy.run_path, sorted(map(str, Path(__file__).parent.glob("cases/*.py")))):
    for _state, _said, _reduced in _loaded["CASES"].values():
        _STATES[_loaded["KIND"]] += [_state, _reduced]
        _ACTIONS[_loaded["KIND"]] += _said

_TURN = st.sampled_from(["t", "first", "other"])
_ID = st.sampled_from(["m", "r", "k", "q", "t"])
_WORDS = st.text(max_size=8)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | _WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_WORDS, inner, max_size=2),
    max_leaves=4,
)


def _maybe(**fields):
    return st.fixed_dictionaries({}, optional=fields)


def _action(action_type, optional=None, **fields):
    fixed = st.fixed_dictionaries({"type": st.just(action_type), **fields})
    return st.builds(
        lambda said, more: {**said, **more}, fixed, st.just({}) if optional is None else optional
    )


_META = {"_meta": st.dictionaries(_WORDS, _ANYTHING, max_size=1)}
_TIME = (
    st.datetimes().map(lambda moment: moment.isoformat() + "Z")
    | st.datetimes().map(lambda moment: moment.isoformat() + "+05:30")
    | _WORDS
)
_DURATION = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
_PART = (
    st.fixed_dictionaries(
        {"kind": st.sampled_from(["markdown", "reasoning"]), "id": _ID, "content": _WORDS}
    )
    | st.fixed_dictionaries({"kind": st.just("future"), "x": _ANYTHING})
    | st.fixed_dictionaries(
        {"kind": st.just("inputRequest"), "request": st.fixed_dictionaries({"id": _ID})}
    )
    | st.fixed_dictionaries(
        {
            "kind": st.just("error"),
            "error": st.just({"errorType": "e", "message": "m"}),
            "resumable": st.booleans(),
        }
    )
)
_CALL = {"turnId": _TURN, "toolCallId": _ID}
_GENERATED = {
    ChannelKind.CHAT: st.one_of(
        _action("chat/turnStarted", turnId=_TURN, startedAt=_TIME, message=st.just({"text": "x"})),
        _action("chat/responsePart", turnId=_TURN, part=_PART),
        _action("chat/delta", turnId=_TURN, partId=_ID, content=_WORDS),
        _action("chat/reasoning", turnId=_TURN, partId=_ID, content=_WORDS),
        _action("chat/toolCallStart", toolName=_WORDS, displayName=_WORDS, **_CALL),
        _action("chat/toolCallDelta", _maybe(content=_WORDS, **_META), **_CALL),
        _action(
            "chat/toolCallReady",
            _maybe(confirmed=st.just("setting"), toolInput=_WORDS, **_META),
            invocationMessage=_WORDS,
            **_CALL,
        ),
        _action(
            "chat/toolCallComplete",
            _maybe(requiresResultConfirmation=st.booleans()),
            result=st.fixed_dictionaries({"success": st.booleans(), "pastTenseMessage": _WORDS}),
            **_CALL,
        ),
        _action("chat/turnComplete", turnId=_TURN, duration=_DURATION),
        _action("chat/turnCancelled", turnId=_TURN, duration=_DURATION),
        _action("chat/turnResume", turnId=_TURN),
        _action(
            "chat/error",
            turnId=_TURN,
            duration=_DURATION,
            part=st.builds(
                lambda resumable: {
                    "kind": "error",
                    "error": {"errorType": "e", "message": "m"},
                    "resumable": resumable,
                },
                st.booleans(),
            ),
        ),
    ),
    ChannelKind.TERMINAL: st.one_of(
        _action("terminal/data", data=_WORDS),
        _action(
            "terminal/commandExecuted", commandId=_ID, commandLine=_WORDS, timestamp=st.just(1)
        ),
        _action("terminal/commandFinished", commandId=_ID),
    ),
}


@st.composite
def _scenes(draw, kinds=tuple(REDUCERS)):
    """A kind of channel, a state of it, and actions well formed for it."""
    kind = draw(st.sampled_from(kinds))
    said = st.sampled_from(_ACTIONS[kind])
    if kind in _GENERATED:
        said |= _GENERATED[kind]
    return kind, draw(st.sampled_from(_STATES[kind])), draw(st.lists(said, max_size=24))


def _reduced(kind, state, actions):
    for action in actions:
        state = REDUCERS[kind](state, action)
    return state


# One test for all kinds: pytest-twisted wraps a parametrized Hypothesis test once per parameter.
@settings(max_examples=300, deadline=None)
@given(scene=_scenes())
def test_the_same_actions_make_the_same_state_and_stay_as_they_were(scene):
    kind, state, actions = scene
    before = copy.deepcopy(actions)

    first = _reduced(kind, copy.deepcopy(state), actions)
    shown = plain(first)
    second = _reduced(kind, copy.deepcopy(state), actions)

    assert plain(second) == shown
    assert plain(first) == shown, "two states share something that one of them changed"
    assert actions == before


@settings(max_examples=150, deadline=None)
@given(scene=_scenes((ChannelKind.CHAT,)))
def test_text_grows_only_in_the_active_turn(scene):
    kind, state, actions = scene
    reduced = _reduced(kind, copy.deepcopy(state), actions)

    def growing(value):
        if isinstance(value, dict):
            return any(map(growing, value.values()))
        if isinstance(value, list):
            return any(map(growing, value))
        return isinstance(value, GrowingText)

    reduced.pop("activeTurn", None)
    assert not growing(reduced)
