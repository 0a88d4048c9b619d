"""The channel, the commands and the page: who is told of which note, and who may change it."""

import pytest
from pytest_twisted import ensureDeferred

import ahpd_notes.plugin
from ahpd.interfaces import Caller, PluginError, Reader, RpcError
from ahpd.testing import RecordingPluginHost

URI = "x-notes://"
ALL = ("notes:list", "notes:put", "notes:delete")


@pytest.fixture
def host():
    return RecordingPluginHost(ahpd_notes.plugin, "notes")


def person(name, *grants):
    """Somebody who is signed in, on a client called as they are."""
    who = f"user:{name}"
    return Caller(client=name, reader=Reader(principal=who, grants=grants), owner=who)


ADA, BOB = person("ada", *ALL), person("bob", *ALL)


async def started(host, options=None):
    await host.apply(options)
    await host.listening()


async def put(host, identifier, text="words", caller=None, **more):
    who = () if caller is None else (caller,)
    return await host.call("x-notes/put", {"id": identifier, "text": text, **more}, *who)


async def ids(host, caller=None):
    state = await host.subscribe(URI, *(() if caller is None else (caller,)))
    return [note["id"] for note in state["notes"]]


# -- without users -------------------------------------------------------------------------------


@ensureDeferred
async def test_a_note_that_is_put_is_in_the_channel_and_told(host):
    await started(host)
    assert await host.subscribe(URI) == {"notes": []}
    assert await put(host, "milk", "# Buy some\nsoon") == {"id": "milk"}
    note = {"id": "milk", "title": "Buy some", "text": "# Buy some\nsoon"}
    assert await host.subscribe(URI) == {"notes": [note]}
    assert [said.action for said in host.channel("x-notes").published] == [
        {"type": "x-notes/changed", "note": note}
    ]


@ensureDeferred
async def test_a_note_that_is_put_again_as_it_is_is_told_once(host):
    await started(host)
    await put(host, "milk")
    await put(host, "milk")
    assert len(host.channel("x-notes").published) == 1


@ensureDeferred
async def test_notes_are_in_the_order_of_their_ids(host):
    await started(host)
    for identifier in ("c", "a", "b"):
        await put(host, identifier)
    assert await ids(host) == ["a", "b", "c"]


@ensureDeferred
async def test_a_note_that_is_removed_is_gone_and_told(host):
    await started(host)
    await put(host, "milk")
    assert await host.call("x-notes/remove", {"id": "milk"}) == {}
    assert await ids(host) == []
    assert {"type": "x-notes/removed", "id": "milk"} in [
        said.action for said in host.channel("x-notes").published
    ]
    with pytest.raises(RpcError, match="no note milk"):
        await host.call("x-notes/remove", {"id": "milk"})


@ensureDeferred
async def test_a_file_a_person_edits_is_told_as_well(host):
    await started(host)
    records = host.records("notes", body="text")  # the folder, as an editor has it
    await records.put({"id": "milk", "text": "by hand", "owner": 7, "private": "yes", "more": 1})
    host.clock.advance(1)
    state = await host.subscribe(URI)
    assert state["notes"] == [{"id": "milk", "title": "by hand", "text": "by hand"}]
    await records.remove("milk")
    host.clock.advance(1)
    assert await ids(host) == []
    kinds = [said.action["type"] for said in host.channel("x-notes").published]
    assert kinds[0] == "x-notes/changed"
    assert kinds[-1] == "x-notes/removed"


@ensureDeferred
async def test_notes_that_were_there_before_are_there(host):
    await host.apply()
    await host.records("notes", body="text").put({"id": "old", "text": "words"})
    await host.listening()
    assert await ids(host) == ["old"]


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({}, "params.id"),
        ({"id": 1, "text": "x"}, "params.id"),
        ({"id": "a", "text": 1}, "params.text"),
        ({"id": "a"}, "params.text"),
        ({"id": "a", "text": "x", "private": "yes"}, "params.private"),
        ({"id": "a", "text": "x", "private": True}, "knows no users"),
        ({"id": "Not A Slug", "text": "x"}, "small letters"),
        ({"id": "../a", "text": "x"}, "small letters"),
        ({"id": "a", "text": "\ud800"}, "half a character"),
        ({"id": "a", "text": "é" * 6}, "10 bytes, and this has 12"),
    ],
)
@ensureDeferred
async def test_what_is_no_note_is_refused_in_words(host, params, words):
    await started(host, {"largest": 10})
    with pytest.raises(RpcError, match=words) as refused:
        await host.call("x-notes/put", params)
    assert refused.value.code == -32602
    assert await ids(host) == []


@ensureDeferred
async def test_the_channel_is_at_one_uri(host):
    await started(host)
    with pytest.raises(RpcError, match="the notes are at x-notes://"):
        await host.subscribe("x-notes:/milk")


@ensureDeferred
async def test_the_title_is_the_first_line_that_says_something(host):
    await started(host)
    for text in ("\n\n## Milk\nand bread", "Milk", "   Milk  "):
        await put(host, "a", text)
        assert (await host.subscribe(URI))["notes"][0]["title"] == "Milk"
    await put(host, "a", "\n # \n")
    assert (await host.subscribe(URI))["notes"][0]["title"] == "a"


# -- with users ----------------------------------------------------------------------------------


@ensureDeferred
async def test_each_reader_sees_what_is_shared_and_their_own(host):
    await started(host)
    await put(host, "shared", caller=ADA)
    await put(host, "adas", caller=ADA, private=True)
    await put(host, "bobs", caller=BOB, private=True)
    assert await ids(host, ADA) == ["adas", "shared"]
    assert await ids(host, BOB) == ["bobs", "shared"]
    assert await ids(host) == ["adas", "bobs", "shared"]  # the root connection


@ensureDeferred
async def test_nobody_is_told_of_a_note_that_is_not_for_them(host):
    await started(host)
    await put(host, "adas", "a secret", caller=ADA, private=True)
    await put(host, "adas", "another", caller=ADA)  # private it stays
    await host.call("x-notes/remove", {"id": "adas"}, ADA)
    channel = host.channel("x-notes")
    assert [action["type"] for action in channel.seen_by(ADA)] == [
        "x-notes/changed",
        "x-notes/changed",
        "x-notes/removed",
    ]
    assert channel.seen_by(BOB) == []


@ensureDeferred
async def test_a_note_that_becomes_private_is_removed_for_everybody_else(host):
    await started(host)
    await put(host, "plan", caller=ADA)
    await put(host, "plan", "for me alone", caller=ADA, private=True)
    await put(host, "plan", "for all again", caller=ADA, private=False)
    channel = host.channel("x-notes")
    assert [action["type"] for action in channel.seen_by(BOB)] == [
        "x-notes/changed",
        "x-notes/removed",
        "x-notes/changed",
    ]
    assert "for me alone" not in str(channel.seen_by(BOB))
    assert [action["type"] for action in channel.seen_by(ADA)] == ["x-notes/changed"] * 3


@ensureDeferred
async def test_who_may_not_watch_does_not_unless_a_note_is_theirs(host):
    await started(host)
    carl = person("carl")
    with pytest.raises(RpcError) as refused:
        await host.subscribe(URI, carl)
    assert refused.value.code == -32009
    await put(host, "carls", caller=person("carl", "notes:put"), private=True)
    assert await ids(host, carl) == ["carls"]


@ensureDeferred
async def test_who_may_not_write_writes_their_own_alone(host):
    await started(host)
    await put(host, "adas", caller=ADA)
    await put(host, "carls", caller=person("carl", "notes:put"))
    carl = person("carl")
    await put(host, "carls", "more", caller=carl)
    for call in (put(host, "fresh", caller=carl), put(host, "adas", caller=carl)):
        with pytest.raises(RpcError) as refused:
            await call
        assert refused.value.code == -32009
    with pytest.raises(RpcError):
        await host.call("x-notes/remove", {"id": "adas"}, carl)
    await host.call("x-notes/remove", {"id": "carls"}, carl)


@ensureDeferred
async def test_a_note_stays_whose_it_is_whoever_writes_it(host):
    await started(host)
    await put(host, "plan", caller=ADA)
    await put(host, "plan", "bob was here", caller=BOB)
    (note,) = (await host.subscribe(URI, ADA))["notes"]
    assert (note["owner"], note["text"]) == ("user:ada", "bob was here")
    with pytest.raises(RpcError, match="Only its owner"):
        await put(host, "plan", caller=BOB, private=True)


@ensureDeferred
async def test_the_private_note_of_another_is_neither_written_nor_removed(host):
    await started(host)
    await put(host, "adas", "a secret", caller=ADA, private=True)
    with pytest.raises(RpcError, match="is taken") as refused:
        await put(host, "adas", caller=BOB)
    assert "secret" not in str(refused.value)
    with pytest.raises(RpcError, match="no note adas"):
        await host.call("x-notes/remove", {"id": "adas"}, BOB)
    assert await ids(host, ADA) == ["adas"]


# -- what it says of itself ----------------------------------------------------------------------


@ensureDeferred
async def test_what_it_registers_describes_itself(host):
    await host.apply()
    assert host.problems == ()
    registered = host.contribution
    assert registered.channels["x-notes"].describe().title == "Notes"
    assert registered.methods["x-notes/put"].describe().title == "Put a note"
    assert registered.methods["x-notes/remove"].describe().title == "Remove a note"
    assert registered.grants["notes"].operations == ("list", "put", "delete")
    needed = {method.grant for method in registered.methods.values()}
    assert needed | {registered.channels["x-notes"].grant} == set(ALL)


@ensureDeferred
async def test_its_page_lists_the_shared_notes_with_a_button_each(host):
    await started(host)
    assert host.view["dataModel"] == {"count": 0, "notes": [], "more": ""}
    await put(host, "adas", caller=ADA, private=True)
    await put(host, "milk", "Buy some")
    assert host.view["dataModel"]["notes"] == [{"id": "milk", "title": "Buy some"}]
    button = host.view["components"]["remove"]
    event = button["action"]["event"]
    # A click sends the request with the row's own values.
    await host.call(event["name"], {"id": host.view["dataModel"]["notes"][0]["id"]})
    assert host.view["dataModel"]["notes"] == []


@ensureDeferred
async def test_a_page_of_many_notes_says_how_many_more_there_are(host):
    await started(host)
    for number in range(60):
        await put(host, f"note-{number:02}", "é" * 300)
    data = host.view["dataModel"]
    assert (data["count"], len(data["notes"]), data["more"]) == (60, 50, "and 10 more")


@ensureDeferred
async def test_a_note_that_comes_before_the_page_is_shown_is_on_it(host):
    await host.apply()
    await put(host, "early")
    assert host.view is None
    await host.listening()
    assert host.view["dataModel"]["count"] == 1


@ensureDeferred
async def test_nothing_is_watched_once_the_plugin_is_gone(host):
    await started(host)
    records = host.records("notes", body="text")
    await host.unload()
    before = len(host.channel("x-notes").published)
    with pytest.raises(Exception, match="gone"):
        await records.put({"id": "late", "text": "x"})
    assert len(host.channel("x-notes").published) == before


@pytest.mark.parametrize("largest", [0, -1, "1", 1.5, 2**30])
@ensureDeferred
async def test_a_bound_that_is_none_is_refused(host, largest):
    with pytest.raises(PluginError, match="largest"):
        await host.apply({"largest": largest})
