"""What clients alone have, while they are slow, lie, and go in the middle of an answer."""

import json

import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.client import RpcError
from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import permission_denied
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd.testing.served_files import serve_files

from .file_kit import ask, refusal

FILES = {"file:///work/a": "the words of a", "mem:/b": bytes(range(256))}
A = "file:///work/a"


def started(work):
    """Begin it; it is to be waited for."""
    return Deferred.fromCoroutine(work)


def read(client, uri, owner="editor"):
    return ask(client, "resourceRead", uri=wrapped(owner, uri))


@pytest_twisted.ensureDeferred
async def test_what_a_client_has_is_read_and_changed_through_the_host(serve):
    daemon = await serve()
    editor, ann = await daemon.connect("editor", ROOT), await daemon.connect("ann", ROOT)
    files = serve_files(editor, FILES)
    assert await read(ann, A) == {"data": "the words of a", "encoding": "utf-8"}
    await ask(ann, "resourceWrite", uri=wrapped("editor", A), data="new", encoding="utf-8")
    await ask(
        ann,
        "resourceCopy",
        source=wrapped("editor", "mem:/b"),
        destination=wrapped("editor", "mem:/c d%20"),
    )
    assert files.files[A] == b"new"
    assert files.files["mem:/c d%20"] == bytes(range(256))
    files.refuse(A, permission_denied("Nobody reads this."))
    error = await refusal(read(ann, A))
    assert (error.code, error.message) == (-32009, "Nobody reads this.")
    line = await daemon.logged("client editor refused resourceRead")
    assert f"{A}: -32009" in line
    # Its own, and what is nested, go the same way, and not round and round.
    assert (await read(editor, "mem:/b"))["encoding"] == "base64"
    nested = wrapped("editor", wrapped("editor", "mem:/b"))
    assert (await refusal(ask(ann, "resourceRead", uri=nested))).code == -32008


@pytest_twisted.ensureDeferred
async def test_a_client_that_never_answers_holds_up_nobody_else(serve):
    """A hundred and more wait for it; everybody else is served, and its own requests are too."""
    daemon = await serve()
    mute, editor = await daemon.connect("mute", ROOT), await daemon.connect("editor", ROOT)
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    asked = []
    mute.serve("resourceRead", lambda params: asked.append(params) or Deferred())
    serve_files(editor, FILES)
    waiting = [started(refusal(read(ann, f"mem:/{number}", "mute"))) for number in range(150)]
    await mute.wait_for(lambda: len(asked) >= 32, PATIENCE, "the first of the requests")
    for _ in range(100):
        assert (await read(bob, A))["data"] == "the words of a"
    assert (await read(ann, A))["data"] == "the words of a"
    assert (await read(mute, A))["data"] == "the words of a"
    await ann.ping()
    assert not [each for each in waiting if each.called]
    mute.abort()
    for error in await gatherResults(waiting):
        assert error.code == -32603
    assert (await refusal(read(ann, "mem:/late", "nobody"))).code == -32603


@pytest_twisted.ensureDeferred
async def test_more_than_may_wait_for_one_client_is_refused_at_once(serve):
    daemon = await serve()
    mute, ann = await daemon.connect("mute", ROOT), await daemon.connect("ann", ROOT)
    mute.serve("resourceRead", lambda params: Deferred())
    works = [started(refusal(read(ann, f"mem:/{number}", "mute"))) for number in range(1100)]
    await ann.wait_for(lambda: [w for w in works if w.called], PATIENCE, "a refusal")
    await ann.ping()
    refused = [each.result for each in works if each.called]
    assert len(refused) == 1100 - 1032
    assert all(
        error.code == -32603 and "wait for client mute" in error.message for error in refused
    )
    mute.abort()
    await gatherResults(works)


@pytest_twisted.ensureDeferred
async def test_a_client_that_dies_in_its_answer_and_comes_back_is_asked_again(serve):
    daemon = await serve()
    editor, ann = await daemon.connect("editor", ROOT), await daemon.connect("ann", ROOT)
    dying = []

    def dies(params):
        dying.append(params)
        editor.abort()
        return Deferred()

    editor.serve("resourceRead", dies)
    editor.serve("resourceWrite", dies)
    reading = started(read(ann, A))
    await daemon.until(lambda: dying, "the question")
    serve_files(editor, FILES)
    await daemon.attach(editor)
    await editor.reconnect()
    assert (await reading)["data"] == "the words of a"
    # What changes something is not asked twice: nobody knows whether it was done.
    dying.clear()
    editor.serve("resourceWrite", dies)
    uri = wrapped("editor", A)
    writing = started(refusal(ask(ann, "resourceWrite", uri=uri, data="x", encoding="utf-8")))
    await daemon.until(lambda: dying, "the question")
    await daemon.attach(editor)
    await editor.reconnect()
    assert (await writing).code == -32603
    assert len(dying) == 1


LIES = {
    "not an object": [7, None, "text", [], True],
    "no such fields": [{}, {"data": 7, "encoding": "utf-8"}, {"data": "x", "encoding": "rot13"}],
    "no base64": [{"data": "!!!", "encoding": "base64"}],
    "more than was asked": [{"data": "x" * 3_000_000, "encoding": "utf-8"}],
}


@pytest_twisted.ensureDeferred
async def test_answers_that_are_lies_reach_at_most_who_asked(serve):
    daemon = await serve()
    liar, ann = await daemon.connect("liar", ROOT), await daemon.connect("ann", ROOT)
    answers = [answer for kind in LIES.values() for answer in kind]
    for answer in answers:
        liar.serve("resourceRead", lambda params, answer=answer: answer)
        try:
            got = await read(ann, A, "liar")
        except RpcError as error:
            assert error.code == -32603, answer  # noqa: PT017 - either is right
        else:
            assert got == answer
    for answer in answers:
        liar.serve("resourceList", lambda params, answer=answer: answer)
        assert (await refusal(ask(ann, "resourceList", uri=wrapped("liar", A)))) is not None
    for answer in ({}, {"channel": 7}, {"channel": None}, [], 7):
        liar.serve("createResourceWatch", lambda params, answer=answer: answer)
        channel = (await ask(ann, "createResourceWatch", uri=wrapped("liar", A)))["channel"]
        assert await refusal(ann.subscribe(channel)) is not None, answer
    await ann.ping()
    await liar.ping()


@pytest_twisted.ensureDeferred
async def test_answers_to_nothing_and_twice_are_dropped(serve):
    daemon = await serve()
    liar, ann = await daemon.connect("liar", ROOT), await daemon.connect("ann", ROOT)

    def answers_much(params):
        for number in range(-5, 200):
            answer = {
                "jsonrpc": "2.0",
                "id": number,
                "result": {"data": "lie", "encoding": "utf-8"},
            }
            liar.send_raw(json.dumps(answer).encode())
        for odd in (None, "1", 1.5, [], {}, True, 2**70):
            answer = {"jsonrpc": "2.0", "id": odd, "result": {}}
            liar.send_raw(json.dumps(answer).encode())
        return {"data": "truth", "encoding": "utf-8"}

    liar.serve("resourceRead", answers_much)
    for _ in range(3):
        # It may lie to who asks; never to anybody else.
        assert (await read(ann, A, "liar"))["data"] in ("truth", "lie")
    await ann.ping()
    if not liar.connected:
        await daemon.attach(liar)
        await liar.reconnect()
    await liar.ping()


@pytest_twisted.ensureDeferred
async def test_a_watch_of_what_a_client_has_goes_from_end_to_end(serve):
    daemon = await serve()
    editor = await daemon.connect("editor", ROOT)
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    files = serve_files(editor, FILES)
    uri = wrapped("editor", "file:///work")
    params = {"uri": uri, "recursive": True, "excludes": {"items": ["**/out/**"]}}
    channel = (await ask(ann, "createResourceWatch", **params))["channel"]
    assert files.watches == {}
    for client in (ann, bob):
        await client.subscribe(channel)
    (watch,) = files.watches.values()
    assert watch.state["root"] == "file:///work"

    async def told(client, kind, *names):
        def found():
            return [
                [(item["type"], item["uri"]) for item in said.action["changes"]["items"]]
                for said in client.envelopes(channel)
            ]

        wanted = [(kind, wrapped("editor", name)) for name in names]
        await client.wait_for(lambda: wanted in found(), PATIENCE, str(wanted))

    files.change("updated", A, "mem:/b", "file:///work/b")
    for client in (ann, bob):
        await told(client, "updated", A, "file:///work/b")
    # What the client says on other channels, and of other kinds, is nobody's.
    for other in (ROOT, "ahp-session:/s", channel, "ahp-resource-watch:/made-up"):
        lie = {"type": "resourceWatch/changed", "changes": {"items": [{"uri": A, "type": "added"}]}}
        editor.say(other, lie)
    bob.unsubscribe(channel)
    editor.abort()
    await daemon.attach(editor)
    await editor.reconnect()
    await editor.wait_for(
        lambda: [each for each in files.watches.values() if each.subscribed], PATIENCE, "the watch"
    )
    files.change("deleted", A)
    await told(ann, "deleted", A)
    assert not [
        item
        for said in ann.envelopes(channel)
        for item in said.action["changes"]["items"]
        if item["type"] == "added"
    ]
