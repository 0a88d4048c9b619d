"""What a check lets through, what it refuses, and where it says the fault is."""

import math
import sys
from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import pytest

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import ShapeError, check, check_strict
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS
from ahpd.protocol.shapes import shape
from ahpd.protocol.shapes.notation import JsonObject, Minimum, OncePerKind, Open, open_keys
from ahpd.protocol.text import GrowingText


class Cat(TypedDict):
    kind: Literal["cat"]
    lives: Annotated[int, Minimum(1)]


class Dog(TypedDict):
    kind: Literal["dog"]
    name: NotRequired[str]


Pet = Open[Cat | Dog]
Breed = Open[Literal["terrier", "collie"]]


class House(TypedDict):
    address: str
    pets: NotRequired[list[Pet]]
    guard: NotRequired[Dog | Cat]
    breed: NotRequired[Breed]
    notes: NotRequired[JsonObject]
    rooms: NotRequired[dict[str, float]]
    owner: NotRequired[str | None]
    label: NotRequired[str | Cat]


@open_keys
class Tree(TypedDict):
    value: float
    left: NotRequired["Tree"]
    right: NotRequired["list[Tree]"]


def refused(checker, value, declared=House, at="params"):
    with pytest.raises(ShapeError) as caught:
        checker(value, declared, at=at)
    return caught.value


both = pytest.mark.parametrize("checker", [check, check_strict])


@both
@pytest.mark.parametrize(
    ("value", "path", "expected", "found"),
    [
        ([], "params", "an object", "a list"),
        (None, "params", "an object", "null"),
        ({}, "params.address", "a string", "nothing"),
        ({"address": 3}, "params.address", "a string", "a number"),
        ({"address": True}, "params.address", "a string", "a boolean"),
        ({"address": "x", "pets": {}}, "params.pets", "a list", "an object"),
        ({"address": "x", "pets": [{"kind": "dog"}, 3]}, "params.pets[1]", "an object", "a number"),
        (
            {"address": "x", "pets": [{"kind": "cat", "lives": "9"}]},
            "params.pets[0].lives",
            "a whole number",
            "a string",
        ),
        (
            {"address": "x", "pets": [{"kind": "cat", "lives": 0}]},
            "params.pets[0].lives",
            "at least 1",
            "0",
        ),
        (
            {"address": "x", "pets": [{"kind": 5}]},
            "params.pets[0].kind",
            "one of 'cat', 'dog'",
            "a number",
        ),
        ({"address": "x", "pets": [{}]}, "params.pets[0].kind", "one of 'cat', 'dog'", "nothing"),
        (
            {"address": "x", "guard": {"kind": "fox"}},
            "params.guard.kind",
            "one of 'dog', 'cat'",
            "'fox'",
        ),
        (
            {"address": "x", "rooms": {"hall way": "big"}},
            "params.rooms['hall way']",
            "a number",
            "a string",
        ),
        ({"address": "x", "rooms": {"a": True}}, "params.rooms.a", "a number", "a boolean"),
        ({"address": "x", "rooms": {"a": math.nan}}, "params.rooms.a", "a number", "nan"),
        ({"address": "x", "rooms": {"a": math.inf}}, "params.rooms.a", "a number", "inf"),
        ({"address": "x", "owner": 1}, "params.owner", "a string or null", "a number"),
        ({"address": "x", "label": []}, "params.label", "an object or a string", "a list"),
        (
            {"address": "x", "label": {"kind": "cat"}},
            "params.label.lives",
            "a whole number",
            "nothing",
        ),
        ({"address": "x", "breed": 4}, "params.breed", None, "a number"),
    ],
)
def test_a_fault_is_named_by_its_path_what_was_expected_and_what_was_found(
    checker, value, path, expected, found
):
    error = refused(checker, value)
    assert error.path == path
    assert error.found == found
    if expected is not None:
        assert error.expected == expected
    assert str(error) == f"{path}: expected {error.expected}, found {found}"


def test_the_value_itself_has_the_name_it_is_given():
    assert refused(check, {"pets": []}, at="action").path == "action.address"
    assert refused(check, {"pets": []}, at="").path == "address"


def test_no_string_is_repeated_unless_it_had_to_be_one_of_a_few_words():
    error = refused(check, {"address": "x", "pets": ["s3cret"]})
    assert "s3cret" not in str(error)
    long = refused(check, {"address": "x", "guard": {"kind": "w" * 5000}})
    assert len(str(long)) < 200


@pytest.mark.parametrize(
    "value",
    [
        {"address": "x", "undeclared": {"deep": [1]}},
        {"address": "x", "pets": [{"kind": "newt", "gills": 2}]},
        {"address": "x", "breed": "poodle"},
        {"address": "x", "notes": None, "pets": None, "breed": None, "guard": None},
    ],
)
def test_what_others_may_send_passes_a_lenient_check_and_no_strict_one(value):
    check(value, House)
    refused(check_strict, value)


def test_an_undeclared_key_is_named():
    error = refused(check_strict, {"address": "x", "pets": [{"kind": "dog", "tail": 1}]})
    assert error.path == "params.pets[0].tail"
    assert error.expected == "no such key"


@both
def test_null_is_no_value_of_a_required_key(checker):
    assert refused(checker, {"address": None}).found == "null"


@both
def test_a_key_declared_nullable_may_be_null(checker):
    checker({"address": "x", "owner": None}, House)


@both
@pytest.mark.parametrize("number", [9, 9.0, 2**70])
def test_a_whole_number_may_arrive_with_a_point(checker, number):
    checker({"kind": "cat", "lives": number}, Cat)


@both
@pytest.mark.parametrize("number", [9.5, math.inf, True, "9", None])
def test_what_is_no_whole_number(checker, number):
    assert refused(checker, {"kind": "cat", "lives": number}, Cat).path == "params.lives"


@both
def test_growing_text_is_a_string(checker):
    checker({"address": GrowingText("a street")}, House)
    checker({"address": "x", "label": GrowingText("home")}, House)


@both
def test_true_is_not_one_and_one_is_not_true(checker):
    confirmed = ACTIONS["chat/toolCallConfirmed"].shape
    action = {
        "type": "chat/toolCallConfirmed",
        "turnId": "t",
        "toolCallId": "c",
        "approved": 1,
        "confirmed": "user-action",
    }
    assert refused(checker, action, confirmed).path == "params.approved"
    checker({**action, "approved": True}, confirmed)
    denied = {key: value for key, value in action.items() if key != "confirmed"}
    checker({**denied, "approved": False, "reason": "denied"}, confirmed)
    error = refused(checker, {**denied, "approved": False, "reason": "because"}, confirmed)
    assert error.path == "params.reason"
    assert error.found == "'because'"


@both
def test_a_list_that_holds_each_kind_once(checker):
    declared = Annotated[list[Cat | Dog], OncePerKind()]
    checker([{"kind": "dog"}, {"kind": "cat", "lives": 9}], declared)
    error = refused(checker, [{"kind": "dog"}, {"kind": "dog"}], declared)
    assert error.path == "params[1]"
    assert refused(checker, [{"kind": "dog"}, {}], declared).path == "params[1].kind"


@both
def test_open_keys_are_open_in_a_strict_check_too(checker):
    checker({"value": 1, "colour": "red"}, Tree)


@both
def test_a_shape_that_holds_itself(checker):
    assert refused(
        checker, {"value": 1, "left": {"value": 2, "right": [{"value": 3}, {"left": {}}]}}, Tree
    ).path == ("params.left.right[1].value")


@both
def test_nesting_past_what_the_interpreter_follows_is_a_fault_like_another(checker):
    value: dict[str, Any] = {"value": 1}
    for _ in range(sys.getrecursionlimit() * 2):
        value = {"value": 1, "left": value}
    error = refused(checker, value, Tree)
    assert "level" in error.found


@both
def test_what_is_below_an_open_map_is_nobodys_to_check(checker):
    value: dict[str, Any] = {}
    for _ in range(sys.getrecursionlimit() * 2):
        value = {"inside": value}
    checker({"address": "x", "notes": value}, House)


def test_any_mapping_is_an_object_and_a_tuple_is_a_list():
    class Frozen(Mapping):
        def __init__(self, **items):
            self._items = items

        def __getitem__(self, key):
            return self._items[key]

        def __iter__(self):
            return iter(self._items)

        def __len__(self):
            return len(self._items)

    check_strict(Frozen(address="x", pets=(Frozen(kind="dog"),), rooms=Frozen(a=1)), House)
    assert refused(check, Frozen(address="x", pets=(Frozen(kind=1),))).path == "params.pets[0].kind"


def test_a_check_changes_nothing():
    value = {"address": "x", "pets": [{"kind": "newt"}], "extra": None, "owner": None}
    before = repr(value)
    check(value, House)
    assert repr(value) == before


def test_what_is_no_declaration_is_the_programmers_fault():
    with pytest.raises(TypeError, match="declares no JSON value"):
        check({}, set[int])


def test_null_is_the_shape_of_an_empty_result():
    check_strict(None, COMMANDS["ping"].result)
    assert refused(check_strict, {}, COMMANDS["ping"].result).expected == "null"


# -- the protocol's own ----------------------------------------------------------

MESSAGE = {"text": "hello", "origin": {"kind": "user"}}
STARTED = {
    "type": "chat/turnStarted",
    "turnId": "t1",
    "startedAt": "2026-10-01T12:00:00.000Z",
    "message": MESSAGE,
}


@both
@pytest.mark.parametrize(
    ("message", "path"),
    [
        (None, "action.message"),
        ({"text": "x"}, "action.message.origin"),
        ({**MESSAGE, "text": None}, "action.message.text"),
        ({**MESSAGE, "model": "gpt"}, "action.message.model"),
        ({**MESSAGE, "model": {"id": "m", "config": {"a": []}}}, "action.message.model.config.a"),
        ({**MESSAGE, "attachments": [{"type": "chat"}]}, "action.message.attachments[0].label"),
    ],
)
def test_a_turn_whose_message_is_wrong(checker, message, path):
    error = refused(
        checker, {**STARTED, "message": message}, ACTIONS["chat/turnStarted"].shape, at="action"
    )
    assert error.path == path


@both
def test_a_turn_as_a_client_sends_it(checker):
    attachment = {"type": "simple", "label": "a.py", "_meta": {"uri": "file:///a.py"}}
    checker(
        {**STARTED, "message": {**MESSAGE, "attachments": [attachment]}, "queuedMessageId": "q"},
        ACTIONS["chat/turnStarted"].shape,
    )


@both
def test_a_wrong_version_list_is_named_by_its_entry(checker):
    params = {"channel": "ahp-root://", "clientId": "me", "protocolVersions": ["1.0.0", 1]}
    error = refused(checker, params, COMMANDS["initialize"].params)
    assert error.path == "params.protocolVersions[1]"


@both
def test_an_action_of_a_later_version_is_still_a_dispatch(checker):
    checker(
        {"channel": "ahp-chat:/1", "clientSeq": 1, "action": {"type": "future/thing", "a": 1}},
        NOTIFICATIONS["dispatchAction"].params,
    )
    for action, path in [(None, "params.action"), ({}, "params.action.type")]:
        params = {"channel": "ahp-chat:/1", "clientSeq": 1, "action": action}
        assert refused(checker, params, NOTIFICATIONS["dispatchAction"].params).path == path


def test_a_tool_call_state_nobody_declared_is_refused_where_this_host_says_it():
    part = {"kind": "toolCall", "toolCall": {"toolCallId": "c", "status": "failed"}}
    check(part, shape("turns.ToolCallResponsePart"))
    error = refused(check_strict, part, shape("turns.ToolCallResponsePart"))
    assert error.path == "params.toolCall.status"
    assert error.found == "'failed'"


def test_the_extensions_are_declared():
    check_strict(
        {"channel": "s:/1", "chat": "ahp-chat:/1", "title": "t"}, COMMANDS["createChat"].params
    )
    check_strict(
        {
            "channel": "ahp-root://",
            "resource": "r",
            "token": "",
            "target": {"kind": "mcpServer", "session": "s:/1", "id": "m"},
        },
        COMMANDS["authenticate"].params,
    )
    check_strict(
        {
            "channel": "ahp-root://",
            "session": "s:/1",
            "changes": {
                "activity": None,
                "chats": [{"resource": "c", "title": "", "archived": True}],
            },
        },
        NOTIFICATIONS["root/sessionSummaryChanged"].params,
    )
    check_strict(
        {"type": "chat/configChanged", "config": {"mode": "plan"}},
        ACTIONS["chat/configChanged"].shape,
    )
