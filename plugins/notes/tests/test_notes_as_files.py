"""The scheme `notes:`: what is read, listed, written and watched, and what is not there."""

import base64

import pytest
from pytest_twisted import ensureDeferred

import ahpd_notes.plugin
from ahpd.interfaces import Caller, Reader, RpcError, Wanted, WatchRequest
from ahpd.protocol.check import check_strict
from ahpd.protocol.methods import COMMANDS
from ahpd.testing import RecordingPluginHost

NOT_FOUND, DENIED, EXISTS, CONFLICT, INVALID = -32008, -32009, -32010, -32011, -32602


@pytest.fixture
def host():
    return RecordingPluginHost(ahpd_notes.plugin, "notes")


@pytest.fixture
def notes(host):
    """Makes the provider of `notes:` of a host that listens, with notes in it."""

    async def make(options=None, **texts):
        await host.apply(options)
        await host.listening()
        for identifier, text in texts.items():
            await host.call("x-notes/put", {"id": identifier, "text": text})
        return host.contribution.resource_providers["notes"]

    return make


async def hide(host, identifier, text="a secret"):
    """A private note of Ada's."""
    ada = Caller(client="ada", reader=Reader(principal="user:ada", grants=["notes:put"]))
    ada = Caller(client="ada", reader=ada.reader, owner="user:ada")
    await host.call("x-notes/put", {"id": identifier, "text": text, "private": True}, ada)


def writing(uri, data, encoding="utf-8", **more):
    return {"channel": "ahp-root://", "uri": uri, "data": data, "encoding": encoding, **more}


async def text_of(provider, uri):
    read = await provider.read(uri, Wanted())
    assert read["encoding"] == "utf-8"
    return read["data"]


async def fails(call, code):
    with pytest.raises(RpcError) as failed:
        await call
    assert failed.value.code == code, failed.value
    return failed.value.message


# -- reading -------------------------------------------------------------------------------------


@pytest.mark.parametrize("root", ["notes:/", "notes:", "notes://", "notes:///"])
@ensureDeferred
async def test_the_folder_lists_the_notes(host, notes, root):
    provider = await notes(b="two", a="one")
    await hide(host, "adas")
    entries = await provider.list(root)
    assert entries == [{"name": "a.md", "type": "file"}, {"name": "b.md", "type": "file"}]
    check_strict({"entries": entries}, COMMANDS["resourceList"].result)
    assert await provider.resolve(root, True) == {"uri": "notes:/", "type": "directory"}


@pytest.mark.parametrize("uri", ["notes:/milk.md", "notes:///milk.md", "notes:milk.md"])
@ensureDeferred
async def test_a_note_is_read_as_markdown(notes, uri):
    provider = await notes(milk="Buy é")
    read = await provider.read(uri, Wanted())
    assert read == {"data": "Buy é", "encoding": "utf-8", "contentType": "text/markdown"}
    check_strict(read, COMMANDS["resourceRead"].result)
    read = await provider.read(uri, Wanted(encoding="base64"))
    assert base64.b64decode(read["data"]).decode() == "Buy é"


@ensureDeferred
async def test_a_part_is_read_and_is_bytes_where_it_ends_within_a_character(notes):
    provider = await notes(milk="Buy é!")
    read = await provider.read("notes:/milk.md", Wanted(offset=1, length=2))
    assert (read["data"], read["encoding"]) == ("uy", "utf-8")
    read = await provider.read("notes:/milk.md", Wanted(encoding="utf-8", offset=4, length=1))
    assert (base64.b64decode(read["data"]), read["encoding"]) == (b"\xc3", "base64")
    read = await provider.read("notes:/milk.md", Wanted(offset=99))
    assert (read["data"], read["encoding"]) == ("", "utf-8")


@ensureDeferred
async def test_a_note_is_resolved_with_its_size_and_what_tells_that_it_changed(host, notes):
    provider = await notes(milk="é")
    found = await provider.resolve("notes:///milk.md", False)
    check_strict(found, COMMANDS["resourceResolve"].result)
    assert (found["uri"], found["type"], found["size"]) == ("notes:/milk.md", "file", 2)
    await host.call("x-notes/put", {"id": "milk", "text": "other"})
    assert (await provider.resolve("notes:/milk.md", False))["etag"] != found["etag"]


@pytest.mark.parametrize(
    "uri",
    [
        "notes:/",
        "notes:/none.md",
        "notes:/milk",
        "notes:/.md",
        "notes:/milk.md/",
        "notes:/a/milk.md",
        "notes:/..%2Fmilk.md",
        "notes://host/milk.md",
        "notes:/milk.md?x",
        "notes:/adas.md",
    ],
)
@ensureDeferred
async def test_what_is_no_note_is_not_found(host, notes, uri):
    provider = await notes(milk="x")
    await hide(host, "adas")
    await fails(provider.read(uri, Wanted()), NOT_FOUND)
    if uri != "notes:/":
        await fails(provider.resolve(uri, True), NOT_FOUND)
        await fails(provider.list(uri), NOT_FOUND)


# -- writing -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "more", "text"),
    [
        ("new", {}, "new"),
        ("new", {"mode": "truncate", "position": 2}, "henew"),
        ("new", {"mode": "append"}, "hellonew"),
        ("new", {"mode": "append", "position": 1}, "hellnewo"),
        ("new", {"mode": "append", "position": 99}, "newhello"),
        ("new", {"mode": "insert"}, "newhello"),
        ("new", {"mode": "insert", "position": 2.0}, "henewllo"),
    ],
)
@ensureDeferred
async def test_a_note_is_written_in_each_way(notes, data, more, text):
    provider = await notes(milk="hello")
    await provider.write(writing("notes:/milk.md", data, **more))
    assert await text_of(provider, "notes:/milk.md") == text


@ensureDeferred
async def test_a_note_is_made_by_writing_it(host, notes):
    provider = await notes()
    data = base64.b64encode("é".encode()).decode()
    await provider.write(writing("notes:/fresh.md", data, "base64", createOnly=True))
    state = await host.subscribe("x-notes://")
    assert state["notes"] == [{"id": "fresh", "title": "é", "text": "é"}]


@ensureDeferred
async def test_a_note_that_is_written_stays_whose_it_is(host, notes):
    provider = await notes()
    ada = Caller(client="ada", owner="user:ada")
    await host.call("x-notes/put", {"id": "plan", "text": "one"}, ada)
    await provider.write(writing("notes:/plan.md", "two"))
    (note,) = (await host.subscribe("x-notes://"))["notes"]
    assert (note["owner"], note["text"]) == ("user:ada", "two")


@ensureDeferred
async def test_a_write_that_does_not_hold_with_what_is_there_is_refused(notes):
    provider = await notes(milk="hello")
    etag = (await provider.resolve("notes:/milk.md", True))["etag"]
    await fails(provider.write(writing("notes:/milk.md", "x", createOnly=True)), EXISTS)
    await fails(provider.write(writing("notes:/milk.md", "x", ifMatch="other")), CONFLICT)
    await fails(provider.write(writing("notes:/none.md", "x", ifMatch=etag)), CONFLICT)
    await provider.write(writing("notes:/milk.md", "x", ifMatch=etag))
    await fails(provider.write(writing("notes:/milk.md", "y", ifMatch=etag)), CONFLICT)
    assert await text_of(provider, "notes:/milk.md") == "x"


@pytest.mark.parametrize(
    "params",
    [
        writing("notes:/milk.md", "*", "base64"),
        writing("notes:/milk.md", base64.b64encode(b"\xff").decode(), "base64"),
        writing("notes:/milk.md", "\ud800"),
        writing("notes:/milk.md", "x", position=-1),
        writing("notes:/milk.md", "x", position=1.5),
        writing("notes:/milk.md", "x", position=6, mode="insert"),
        writing("notes:/milk.md", "x", position=1e400),
        writing("notes:/Not a slug.md", "x"),
        writing("notes:/milk.md", "x" * 100),
    ],
)
@ensureDeferred
async def test_what_cannot_be_written_is_refused_and_changes_nothing(notes, params):
    provider = await notes({"largest": 50}, milk="hello")
    await fails(provider.write(params), INVALID)
    assert await text_of(provider, "notes:/milk.md") == "hello"


@ensureDeferred
async def test_a_private_note_is_out_of_reach(host, notes):
    provider = await notes(milk="hello")
    await hide(host, "adas")
    for call in (
        provider.write(writing("notes:/adas.md", "x")),
        provider.move("notes:/milk.md", "notes:/adas.md", False),
        provider.copy("notes:/milk.md", "notes:/adas.md", False),
    ):
        assert "secret" not in await fails(call, DENIED)
    await fails(provider.delete("notes:/adas.md", False), NOT_FOUND)
    await fails(provider.move("notes:/adas.md", "notes:/other.md", False), NOT_FOUND)
    assert await text_of(provider, "notes:/milk.md") == "hello"


@ensureDeferred
async def test_a_note_is_deleted_and_the_folder_stays(notes):
    provider = await notes(milk="x")
    await provider.delete("notes:/milk.md", False)
    await fails(provider.delete("notes:/milk.md", False), NOT_FOUND)
    await fails(provider.delete("notes:/", True), DENIED)
    await provider.mkdir("notes:/")
    await fails(provider.mkdir("notes:/sub"), DENIED)
    await fails(provider.write(writing("notes:/", "x")), DENIED)


@ensureDeferred
async def test_a_note_is_moved_and_copied(notes):
    provider = await notes(a="one", b="two")
    await fails(provider.move("notes:/a.md", "notes:/b.md", True), EXISTS)
    await fails(provider.copy("notes:/a.md", "notes:/b.md", True), EXISTS)
    await provider.copy("notes:/a.md", "notes:/c.md", True)
    await provider.move("notes:/a.md", "notes:/b.md", False)
    await provider.move("notes:/b.md", "notes:/b.md", False)
    assert [entry["name"] for entry in await provider.list("notes:/")] == ["b.md", "c.md"]
    assert await text_of(provider, "notes:/b.md") == "one"


# -- watching ------------------------------------------------------------------------------------


@ensureDeferred
async def test_a_watch_tells_of_what_moves_from_then_on(host, notes):
    provider = await notes(milk="x")
    told = []
    watcher = await provider.watch(WatchRequest(root="notes:/"), told.extend)
    await provider.write(writing("notes:/fresh.md", "x"))
    await provider.write(writing("notes:/milk.md", "y"))
    await provider.delete("notes:/milk.md", False)
    assert [(change["type"], change["uri"]) for change in told] == [
        ("added", "notes:/fresh.md"),
        ("updated", "notes:/milk.md"),
        ("deleted", "notes:/milk.md"),
    ]
    await watcher.release()
    await watcher.release()
    await provider.delete("notes:/fresh.md", False)
    assert len(told) == 3


@ensureDeferred
async def test_a_watch_of_one_note_tells_of_it_alone(notes):
    provider = await notes()
    told = []
    await provider.watch(WatchRequest(root="notes:/milk.md"), told.extend)
    await provider.write(writing("notes:/other.md", "x"))
    await provider.write(writing("notes:/milk.md", "x"))
    assert told == [{"uri": "notes:/milk.md", "type": "added"}]


@ensureDeferred
async def test_a_watch_tells_what_its_globs_let_through(notes):
    provider = await notes()
    told = []
    request = WatchRequest(root="notes:/", includes=["a*"], excludes=["ab.md"])
    await provider.watch(request, told.extend)
    for name in ("a", "ab", "b"):
        await provider.write(writing(f"notes:/{name}.md", "x"))
    assert told == [{"uri": "notes:/a.md", "type": "added"}]
    with pytest.raises(RpcError):
        await provider.watch(WatchRequest(root="notes:/", includes=["[" * 30_000]), told.extend)


@ensureDeferred
async def test_a_note_that_becomes_private_is_deleted_for_a_watch(host, notes):
    provider = await notes()
    ada = Caller(
        client="ada", reader=Reader(principal="user:ada", grants=["notes:put"]), owner="user:ada"
    )
    await host.call("x-notes/put", {"id": "plan", "text": "x"}, ada)
    told = []
    await provider.watch(WatchRequest(root="notes:/"), told.extend)
    await host.call("x-notes/put", {"id": "plan", "text": "y", "private": True}, ada)
    await host.call("x-notes/put", {"id": "plan", "text": "z"}, ada)
    assert told == [{"uri": "notes:/plan.md", "type": "deleted"}]
