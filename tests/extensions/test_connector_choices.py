"""Fields that name a connector, and `x-ahpd/completions` (PLUGINS.txt, "Connector choices")."""

import pytest

from ahpd.extensions.completions import NAME, Choices

ROWS = [
    {"id": "work", "adapter": "mail", "owner": "host", "title": "Work mail"},
    {"id": "spare", "adapter": "mail", "owner": "host"},
    {"id": "mine", "adapter": "mail", "owner": "user:ada", "title": "Ada's"},
    {"id": "his", "adapter": "mail", "owner": "user:bob", "title": "Bob's"},
    {"id": "tunnel", "adapter": "devtunnel", "owner": "host", "title": "T"},
]
MARK = {"x-ahpd-connector": {"adapter": "mail"}}


@pytest.fixture
def rows():
    return list(ROWS)


@pytest.fixture
def choices(rig, access, rows):
    choices = Choices(access)
    choices.connectors = lambda: rows
    rig.extensions.add_method(NAME, choices.method)
    return choices


def test_a_marked_field_lists_the_hosts_connectors_and_no_persons(choices):
    schema = {"type": "object", "properties": {"account": {"type": "string", **MARK}}}
    stamped = choices.stamped(schema, dynamic=False)
    assert stamped["properties"]["account"] == {
        "type": "string",
        **MARK,
        "enum": ["work", "spare"],
        "enumLabels": ["Work mail", "spare"],
    }
    assert "enum" not in schema["properties"]["account"]


def test_a_dynamic_field_says_where_more_are_asked_for(choices):
    stamped = choices.stamped({"type": "string", **MARK}, dynamic=True)
    assert stamped["enumDynamic"] is True
    assert stamped["x-ahpd-completions"] == {"command": NAME, "ref": "connector:mail"}


def test_a_list_marks_its_items_and_fields_may_lie_deep(choices):
    field = {"type": "array", "items": {"type": "string", **MARK}}
    schema = {
        "properties": {"a": {"anyOf": [{"type": "null"}, {"properties": {"b": field}}]}},
        "additionalProperties": {"type": "string", **MARK},
    }
    stamped = choices.stamped(schema, dynamic=False)
    inner = stamped["properties"]["a"]["anyOf"][1]["properties"]["b"]["items"]
    assert inner["enum"] == stamped["additionalProperties"]["enum"] == ["work", "spare"]


def test_a_field_of_an_adapter_without_a_host_connector_has_no_enum(choices):
    field = {"type": "string", "x-ahpd-connector": {"adapter": "none"}}
    assert "enum" not in choices.stamped(field, dynamic=True)
    assert choices.stamped(field, dynamic=False) is field or "enum" not in field


def test_a_property_that_is_called_like_the_mark_is_none(choices):
    schema = {"properties": {"x-ahpd-connector": {"type": "string", "default": "mail"}}}
    assert choices.stamped(schema, dynamic=True) is schema


def ask(client, **params):
    return [(one["value"], one["label"]) for one in client.call(NAME, **params)["items"]]


def test_a_person_is_offered_the_hosts_and_its_own(rig, choices, access):
    access.give("ada", "connector:list")
    assert ask(rig.client("ada"), ref="connector:mail") == [
        ("work", "Work mail"),
        ("spare", "spare"),
        ("mine", "Ada's"),
    ]
    assert ask(rig.client("root"), ref="connector:mail") == [
        ("work", "Work mail"),
        ("spare", "spare"),
    ]


@pytest.mark.parametrize(
    ("query", "found"), [("MAIL", ["work"]), ("spar", ["spare"]), ("'s", ["mine"]), ("zzz", [])]
)
def test_a_query_is_held_by_an_id_or_a_title_in_any_case(rig, choices, access, query, found):
    access.give("ada", "connector:list")
    answered = ask(rig.client("ada"), ref="connector:mail", query=query)
    assert [value for value, _ in answered] == found


@pytest.mark.parametrize("ref", ["connector:none", "engine:mail", ""])
def test_a_ref_nobody_knows_offers_nothing(rig, choices, ref):
    assert ask(rig.client("root"), ref=ref) == []


@pytest.mark.parametrize("params", [{}, {"ref": 3}, {"ref": "connector:mail", "query": 3}])
def test_params_of_another_type_are_refused(rig, choices, params):
    assert rig.client("root").refused(NAME, **params)["code"] == -32602


def test_it_needs_one_of_two_grants(rig, choices, access):
    access.give("bob", "connector:all")
    assert rig.client("ada").refused(NAME, ref="connector:mail")["code"] == -32009
    assert ask(rig.client("bob"), ref="connector:mail")[-1] == ("his", "Bob's")


def test_other_choices_are_told_of_once(choices, rows):
    told = []
    choices.listen(lambda: told.append([row["id"] for row in rows]))
    choices.moved()
    choices.moved()
    rows.append({"id": "new", "adapter": "mail", "owner": "user:ada"})
    choices.moved()
    rows[1] = {**rows[1], "title": "Spare"}
    choices.moved()
    del rows[0]
    choices.moved()
    assert len(told) == 3
