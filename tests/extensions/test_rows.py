"""Channels of rows: what each reader is told of which row."""

import pytest

from ahpd.extensions.rows import Rows

from .conftest import caller

SCHEME = "x-lists"
URI = "x-lists://"
MINE = "x-lists://?owner=me"


def readable(reader, row):
    return reader is None or row.get("owner") in ("host", reader.principal)


def served(rig, **options):
    options.setdefault("grant", "list:read")
    rows = Rows(SCHEME, title="Lists", description="All of them", **options)
    rows.attach(rig.extensions.add_channel(SCHEME, rows.channel))
    return rows


@pytest.fixture
def people(rig, access):
    for person in ("ada", "bob"):
        access.give(person, "list:read")
    return rig.client("ada"), rig.client("bob")


def test_the_state_is_the_rows_in_the_order_they_came(rig):
    rows = served(rig)
    rows.put({"id": "b", "n": 1})
    rows.put({"id": "a", "n": 2})
    rows.put({"id": "b", "n": 3})
    assert rig.client("root").watch(URI) == {"rows": [{"id": "b", "n": 3}, {"id": "a", "n": 2}]}
    assert rows.get("a") == {"id": "a", "n": 2}
    assert rows.get("c") is None


def test_what_moves_is_said_and_what_is_as_it_was_is_not(rig):
    rows = served(rig)
    client = rig.client("root")
    client.watch(URI)
    rows.put({"id": "a", "n": 1})
    rows.put({"id": "a", "n": 1})
    rows.put({"id": "a", "n": 2})
    rows.say("viewData", {"surface": "main", "path": "/", "value": 1}, "a")
    rows.remove("a")
    rows.remove("a")
    rows.say("viewData", {"value": 1}, "a")
    assert [action for _, action in client.actions] == [
        {"type": "x-lists/added", "row": {"id": "a", "n": 1}},
        {"type": "x-lists/changed", "row": {"id": "a", "n": 2}},
        {"type": "x-lists/viewData", "id": "a", "surface": "main", "path": "/", "value": 1},
        {"type": "x-lists/removed", "id": "a"},
    ]


def test_a_row_is_known_by_the_channels_own_key(rig):
    rows = served(rig, key="name")
    client = rig.client("root")
    client.watch(URI)
    rows.put({"name": "mail", "id": 3})
    rows.remove("mail")
    assert client.actions[-1][1] == {"type": "x-lists/removed", "id": "mail"}


@pytest.mark.parametrize("row", [{}, {"id": 3}, {"id": ""}, [], {"id": None}])
def test_a_row_without_an_id_is_refused(rig, row):
    with pytest.raises(ValueError, match="a row needs its id"):
        served(rig).put(row)


def test_rows_are_held_before_the_channel_is_served_and_said_from_then_on(rig):
    rows = Rows(SCHEME, title="Lists", grant="")
    rows.put({"id": "a"})
    rows.attach(rig.extensions.add_channel(SCHEME, rows.channel))
    assert rig.client("root").watch(URI) == {"rows": [{"id": "a"}]}


def test_a_row_that_is_held_is_not_the_one_that_was_put(rig):
    rows = served(rig)
    row = {"id": "a", "list": []}
    rows.put(row)
    row["list"].append(1)
    assert rows.get("a") == {"id": "a", "list": []}


def test_a_uri_of_the_scheme_that_lists_nothing_is_not_found(rig):
    served(rig)
    error = rig.client("root").refused("subscribe", channel="x-lists://other")
    assert (error["code"], error["message"]) == (-32001, "Resource not found: x-lists://other")


# -- who reads which row -----------------------------------------------------------------------


def test_a_reader_reads_and_is_told_of_the_rows_it_may_read(rig, people):
    rows = served(rig, readable=readable)
    ada, bob = people
    rows.put({"id": "h", "owner": "host"})
    rows.put({"id": "a", "owner": "user:ada"})
    assert [row["id"] for row in ada.watch(URI)["rows"]] == ["h", "a"]
    assert [row["id"] for row in bob.watch(URI)["rows"]] == ["h"]
    rows.put({"id": "b", "owner": "user:bob"})
    rows.put({"id": "a", "owner": "user:ada", "n": 1})
    rows.say("viewData", {"value": 1}, "a")
    rows.remove("a")
    assert ada.types == ["x-lists/changed", "x-lists/viewData", "x-lists/removed"]
    assert bob.types == ["x-lists/added"]


def test_a_row_that_moves_to_another_owner_leaves_one_list_and_joins_another(rig, people):
    rows = served(rig, readable=readable)
    ada, bob = people
    root = rig.client("root")
    for client in (ada, bob, root):
        client.watch(URI)
    rows.put({"id": "a", "owner": "user:ada"})
    rows.put({"id": "a", "owner": "user:bob"})
    assert ada.types == ["x-lists/added", "x-lists/removed"]
    assert bob.types == ["x-lists/added"]
    assert root.types == ["x-lists/added", "x-lists/changed"]


def test_who_comes_back_is_replayed_the_rows_it_may_read(rig, people):
    rows = served(rig, readable=readable)
    ada, _ = people
    ada.watch(URI)
    rows.put({"id": "h", "owner": "host"})
    ada.hang_up()
    rows.put({"id": "b", "owner": "user:bob"})
    rows.put({"id": "a", "owner": "user:ada"})
    _, answer = rig.back("ada", 1, URI)
    assert [one["action"]["row"]["id"] for one in answer["actions"]] == ["a"]


# -- ?owner=me -----------------------------------------------------------------------------------


def test_the_own_list_is_narrowed_to_the_readers_rows(rig, people):
    rows = served(rig, readable=readable)
    ada, bob = people
    rows.put({"id": "h", "owner": "host"})
    rows.put({"id": "a", "owner": "user:ada"})
    assert ada.watch(MINE) == {"rows": [{"id": "a", "owner": "user:ada"}]}
    assert bob.watch(MINE) == {"rows": []}
    assert rig.client("root").watch(MINE) == {"rows": []}
    rows.put({"id": "h", "owner": "host", "n": 1})
    rows.put({"id": "a", "owner": "user:ada", "n": 1})
    rows.put({"id": "a", "owner": "user:bob", "n": 1})
    rows.put({"id": "a", "owner": "host", "n": 1})
    assert [one for one in ada.actions if one[0] == MINE] == [
        (MINE, {"type": "x-lists/changed", "row": {"id": "a", "owner": "user:ada", "n": 1}}),
        (MINE, {"type": "x-lists/removed", "id": "a"}),
    ]
    assert [action["type"] for _, action in bob.actions] == ["x-lists/added", "x-lists/removed"]


def test_a_row_everybody_reads_leaves_the_own_list_of_whom_it_was(rig, people):
    rows = served(rig)
    ada, _ = people
    rows.put({"id": "a", "owner": "user:ada"})
    ada.watch(MINE)
    ada.watch(URI)
    rows.put({"id": "a", "owner": "user:bob"})
    assert [(channel, action["type"]) for channel, action in ada.actions] == [
        (URI, "x-lists/changed"),
        (MINE, "x-lists/removed"),
    ]


def test_a_list_of_the_hosts_has_nothing_of_ones_own(rig, people):
    rows = served(rig, own="none")
    rows.put({"id": "a", "owner": "user:ada"})
    ada, _ = people
    assert ada.watch(MINE) == {"rows": []}
    rows.put({"id": "b", "owner": "user:ada"})
    assert ada.actions == []


def test_a_list_may_refuse_to_be_narrowed(rig):
    served(rig, own="refused")
    error = rig.client("root").refused("subscribe", channel=MINE)
    assert error["code"] == -32602
    assert MINE[len(URI) :] in error["message"]


# -- rows in the reader's language ---------------------------------------------------------------------


def translated(row, caller):
    words = {"pt": "nome", "de": "Name"}.get(caller.locale, "name")
    return {**row, "label": words}


def test_each_reader_is_shown_rows_in_its_own_language(rig):
    rows = served(rig, shown=translated)
    rows.put({"id": "a"})
    clients = {}
    for name, locale in (("root:1", "pt"), ("root:2", "de"), ("root:3", "de"), ("root:4", None)):
        more = {} if locale is None else {"locale": locale}
        clients[name] = client = rig.client(name, **more)
        assert (
            client.watch(URI)["rows"][0]["label"] == translated({}, caller(locale=locale))["label"]
        )
    rows.put({"id": "a", "n": 1})
    told = {
        name: [action["row"]["label"] for _, action in one.actions] for name, one in clients.items()
    }
    assert told == {"root:1": ["nome"], "root:2": ["Name"], "root:3": ["Name"], "root:4": ["name"]}


def test_who_comes_back_is_replayed_its_own_language(rig):
    rows = served(rig, shown=translated)
    client = rig.client("root", locale="pt")
    client.watch(URI)
    rows.put({"id": "a"})
    seen = client.received[-1]["params"]["serverSeq"]
    client.hang_up()
    rig.client("root:other", locale="de").watch(URI)
    rows.put({"id": "a", "n": 1})
    _, answer = rig.back("root", seen, URI)
    assert [one["action"]["row"]["label"] for one in answer["actions"]] == ["nome"]


def test_past_so_many_languages_a_caller_is_shown_what_no_language_asks_for(rig):
    rows = served(rig, shown=lambda row, caller: {**row, "label": caller.locale})
    rows.put({"id": "a"})
    clients = [rig.client(f"root:{n}", locale=f"x-l{n}") for n in range(70)]
    shown = [client.watch(URI)["rows"][0]["label"] for client in clients]
    assert (shown[0], shown[-1]) == ("x-l0", None)
    rows.put({"id": "a", "n": 1})
    assert [client.actions[0][1]["row"]["label"] for client in clients] == shown


# -- operations ----------------------------------------------------------------------------------------


def test_operations_are_in_the_state_and_said_where_they_move(rig):
    rows = served(rig)
    rows.set_operations([{"id": "make", "label": "Make"}])
    client = rig.client("root")
    assert client.watch(URI) == {"rows": [], "operations": [{"id": "make", "label": "Make"}]}
    rows.set_operations([{"id": "make", "label": "Make"}])
    rows.set_operations([])
    assert [action for _, action in client.actions] == [
        {"type": "x-lists/operations", "operations": []}
    ]


@pytest.mark.logs_failures
def test_a_row_whose_offer_fails_offers_nothing(rig, caught_failures):
    rows = served(rig)
    rows.offer(lambda row: row["missing"])
    rows.put({"id": "a"})
    assert rows.get("a") == {"id": "a", "operations": []}
    assert caught_failures(KeyError)
