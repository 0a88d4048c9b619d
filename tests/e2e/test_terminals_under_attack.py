"""Terminals that are flooded, taken away too early, and asked for what nobody can have."""

import json
import os
import random

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults
from twisted.internet.task import deferLater

from ahpd.client import ActionRefused, RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import AHPD, PATIENCE

from .terminal_kit import disposes, ended, opens, prints, text_of, types, zombies_of

MIB = 1024 * 1024
SETTINGS = {"clientQueueBytes": 4 * MIB, "replayBytes": 2 * MIB}


@pytest.fixture
def shells(serve):
    """Starts a daemon whose terminals are `shell`s."""

    async def shells(shell="/bin/sh", **options):
        options.setdefault("settings", SETTINGS)
        return await serve(preset={"SHELL": shell}, **options)

    return shells


def pause(daemon, seconds):
    return deferLater(daemon.reactor, seconds, lambda: None)


def pauses(probe):
    probe._link.connection.transport.pauseProducing()


def resumes(probe):
    probe._link.connection.transport.resumeProducing()


def together(*works):
    return gatherResults([Deferred.fromCoroutine(work) for work in works], consumeErrors=True)


async def refused(work):
    with pytest.raises(RpcError) as caught:
        await work
    return caught.value


# -- many clients -----------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_what_everybody_types_reaches_the_program_whole_and_everybody(shells):
    daemon = await shells()
    clients = [await daemon.connect(f"c{number}", ROOT) for number in range(5)]
    uri = await opens(clients[0])
    for client in clients[1:]:
        await client.subscribe(uri)
    types(clients[0], uri, "stty -echo; PS1=; echo ready\r")
    await prints(clients[0], uri, "ready\r\n")

    async def work(client):
        for number in range(20):
            line = f"echo {client.client_id}-{number}-$((40+2))\r"
            await client.perform(uri, {"type": "terminal/input", "data": line})

    await together(*map(work, clients))
    expected = {f"{client.client_id}-{number}-42" for client in clients for number in range(20)}
    for client in clients:
        await client.wait_for(
            lambda client=client: expected <= set(text_of(client, uri).split()), PATIENCE, "it all"
        )
        typed = [
            said.action["data"]
            for said in client.envelopes(uri)
            if said.type == "terminal/input" and said.action["data"].startswith("echo c")
        ]
        assert len(typed) == len(set(typed)) == 100


@pytest_twisted.ensureDeferred
async def test_a_flood_nobody_can_read_costs_a_bounded_memory_and_nobody_a_round_trip(shells):
    """One client stops reading `yes`; who reads elsewhere is answered all the while."""
    daemon = await shells()
    ann, deaf = await daemon.connect("ann", ROOT), await daemon.connect("deaf", ROOT)
    quiet = await opens(ann)
    uri = await opens(deaf)
    before = daemon.memory()
    types(deaf, uri, "yes\r")
    await prints(deaf, uri, "y\r\ny\r\n")
    closed = deaf.closed
    pauses(deaf)
    trips = 0
    end = daemon.reactor.seconds() + 4
    while daemon.reactor.seconds() < end or "is not reading" not in daemon.log:
        assert daemon.reactor.seconds() < end + PATIENCE, "nobody said who is not reading"
        types(ann, quiet, f"echo $(({trips}+1000000))\r")
        await prints(ann, quiet, str(trips + 1_000_000))
        trips += 1
    assert trips > 10
    assert daemon.memory("VmHWM") - before < 100 * MIB
    assert "client deaf" in await daemon.logged("is not reading")
    resumes(deaf)
    await closed
    # The flood goes on, and what it says is now nobody's but who asks.
    late = await daemon.connect("late", ROOT)
    await late.subscribe(uri)
    assert len(text_of(late, uri)) <= 400_000
    types(late, uri, "\x03")
    await disposes(late, uri)
    await daemon.until(lambda: not zombies_of(daemon.pid), "no child unreaped")


@pytest_twisted.ensureDeferred
async def test_a_client_that_comes_back_in_a_flood_holds_what_everybody_holds(shells):
    daemon = await shells()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    uri = await opens(ann)
    await bob.subscribe(uri)
    types(ann, uri, "while :; do echo $((n=n+1)) a line of a flood; done\r")
    await prints(bob, uri, "a line of a flood\r\n")
    chance = random.Random(20260102)
    kinds = set()
    for _ in range(8):
        await pause(daemon, chance.random() / 10)
        bob.abort()
        await pause(daemon, chance.random() / 10)
        await daemon.attach(bob)
        kinds.add((await bob.reconnect()).type)
        assert uri in bob.subscriptions
    assert kinds
    types(bob, uri, "\x03")
    types(bob, uri, "echo over-$((6*7))\r")
    for client in (ann, bob):
        await prints(client, uri, "over-42\r\n")
    # `serve` compares what each holds with what a late subscriber reads.


@pytest_twisted.ensureDeferred
async def test_terminals_disposed_of_in_a_flood_are_gone_and_say_nothing_more(shells):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    for _ in range(5):
        uri = await opens(ann)
        types(ann, uri, "yes\r")
        await prints(ann, uri, "y\r\ny\r\n")
        await ann.call("disposeTerminal", {"channel": uri})
        said = len(ann.envelopes(uri))
        for _ in range(3):
            await ann.ping()
        assert len(ann.envelopes(uri)) == said
        ann.unsubscribe(uri)
    assert ann.state(ROOT)["terminals"] == []
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the shells")


# -- the life of one ------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_two_hundred_opened_in_a_row_all_run(shells):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uris = [f"ahp-terminal:/many-{number}" for number in range(200)]
    await together(*(opens(ann, uri) for uri in uris))
    for number, uri in enumerate(uris):
        types(ann, uri, f"echo $(({number}+10000)); exit 4\r")
    for number, uri in enumerate(uris):
        assert await ended(ann, uri) == {"status": "exited", "exitCode": 4}
        assert str(number + 10_000) in text_of(ann, uri)
    assert [info["resource"] for info in ann.state(ROOT)["terminals"]] == uris
    await together(*(disposes(ann, uri) for uri in uris))
    assert ann.state(ROOT)["terminals"] == []


@pytest_twisted.ensureDeferred
async def test_one_disposed_of_before_it_could_start_leaves_nothing(shells):
    """Both requests are on the wire at once, again and again under one URI."""
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uri = "ahp-terminal:/short"
    for _ in range(20):
        await together(opens(ann, uri, watch=False), disposes(ann, uri))
    await together(*([opens(ann, uri, watch=False)]))
    error = await refused(opens(ann, uri, watch=False))
    assert error.code == -32003
    await disposes(ann, uri)
    error = await refused(disposes(ann, uri))
    assert error.code == -32008
    await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the shells")


@pytest_twisted.ensureDeferred
async def test_one_that_exited_can_be_read_and_typed_into_until_it_is_disposed_of(shells):
    daemon = await shells()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    uri = await opens(ann, name="mine")
    types(ann, uri, "echo $((6*7)); exit 5\r")
    await ended(ann, uri)
    await bob.subscribe(uri)
    state = bob.plain_state(uri)
    assert state["lifecycle"] == {"status": "exited", "exitCode": 5}
    assert "42" in text_of(bob, uri)
    await bob.perform(uri, {"type": "terminal/input", "data": "echo nobody\r"})
    await bob.perform(uri, {"type": "terminal/resized", "cols": 10, "rows": 10})
    await bob.perform(uri, {"type": "terminal/titleChanged", "title": "over"})
    await bob.perform(uri, {"type": "terminal/cleared"})
    assert text_of(bob, uri) == ""
    assert [info["title"] for info in ann.state(ROOT)["terminals"]] == ["over"]
    bob.unsubscribe(uri)
    await disposes(ann, uri)
    assert (await refused(bob.subscribe(uri))).code in (-32001, -32008)
    again = await opens(ann, uri)
    types(ann, again, "echo $((6*7))\r")
    await prints(ann, again, "42")
    assert ann.state(again)["lifecycle"] == {"status": "running"}


@pytest_twisted.ensureDeferred
async def test_who_held_one_that_was_made_anew_meanwhile_is_given_the_new_one(shells):
    daemon = await shells()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    uri = await opens(ann)
    await bob.subscribe(uri)
    types(ann, uri, "echo $((1111*3))\r")
    await prints(bob, uri, "3333")
    bob.abort()
    await disposes(ann, uri)
    await opens(ann, uri)
    types(ann, uri, "echo $((1111*4))\r")
    await prints(ann, uri, "4444")
    await daemon.attach(bob)
    await bob.reconnect()
    await prints(bob, uri, "4444")
    assert "3333" not in text_of(bob, uri)


# -- what nobody can have ---------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_storm_of_sizes_ends_in_the_last_one(shells):
    daemon = await shells("/bin/bash")
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    uri = await opens(ann)
    await bob.subscribe(uri)
    types(ann, uri, "trap 'changed=1' WINCH\r")
    for number in range(500):
        for client in (ann, bob):
            size = {"cols": 20 + number % 100, "rows": 5 + number % 50}
            client.dispatch(uri, {"type": "terminal/resized", **size})
    await ann.ping()
    await bob.ping()
    await ann.perform(uri, {"type": "terminal/resized", "cols": 91, "rows": 19})
    types(ann, uri, "stty size; echo changed-$changed\r")
    await prints(ann, uri, "19 91")
    await prints(ann, uri, "changed-1\r\n")
    for cols, rows in ((0, 5), (5, 0), (-1, 5), (65536, 5), (5, 1e300), (1.5, 5)):
        with pytest.raises(ActionRefused, match="expected a whole number"):
            await ann.perform(uri, {"type": "terminal/resized", "cols": cols, "rows": rows})
    await bob.ping()
    assert (bob.state(uri)["cols"], bob.state(uri)["rows"]) == (91, 19)


@pytest_twisted.ensureDeferred
async def test_a_megabyte_that_is_typed_reaches_the_program_whole(shells, tmp_path):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uri = await opens(ann)
    copy = tmp_path / "copy"
    types(ann, uri, f"stty raw -echo; echo ready; head -c {MIB} > {copy}; stty sane; echo 4''2\r")
    await prints(ann, uri, "ready\n")
    text = "".join(random.Random(7).choices("abcdefghij \t\x00é", k=MIB))
    data = text.encode()[:MIB].decode(errors="ignore")
    data += "." * (MIB - len(data.encode()))
    types(ann, uri, data)
    await prints(ann, uri, "42")
    assert copy.read_bytes() == data.encode()


@pytest_twisted.ensureDeferred
async def test_input_nobody_reads_is_dropped_and_the_host_goes_on(shells):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uri, other = await opens(ann), await opens(ann)
    types(ann, uri, "stty raw -echo; echo ready; sleep 1000\r")
    await prints(ann, uri, "ready\n")
    before = daemon.memory()
    for _ in range(40):
        types(ann, uri, "x" * MIB)
        await ann.ping()
    await daemon.logged("does not read what is typed")
    assert daemon.memory() - before < 40 * MIB
    types(ann, other, "echo $((6*7))\r")
    await prints(ann, other, "42")
    await disposes(ann, uri)


@pytest_twisted.ensureDeferred
async def test_half_a_surrogate_pair_is_typed_as_what_stands_for_it(shells, raw):
    """A client that cuts a string by its UTF-16 units writes one, and no text has it."""
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uri = await opens(ann)
    types(ann, uri, "stty -echo; cat -v\r")
    await prints(ann, uri, "cat -v\r\n")
    socket = raw(daemon)
    assert socket.upgrade("/", f"Authorization: Bearer {daemon.token}")[0] == 101
    socket.initialize("raw", uri)
    for number, spelled in enumerate((r"\ud800\r", r"a\udc00b\r", r"\udc00\ud800\r")):
        action = f'{{"type":"terminal/input","data":"{spelled}"}}'
        frame = (
            '{"jsonrpc":"2.0","method":"dispatchAction","params":'
            f'{{"channel":{json.dumps(uri)},"clientSeq":{number + 1},"action":{action}}}}}'
        )
        socket.send(frame.encode())
    half = "M-oM-?M-="  # U+FFFD, as `cat` spells its three bytes
    await prints(ann, uri, f"{half}\r\na{half}b\r\n{half}{half}\r\n")
    typed = [said.action["data"] for said in ann.envelopes(uri) if said.type == "terminal/input"]
    assert typed[1:] == ["\ufffd\r", "a\ufffdb\r", "\ufffd\ufffd\r"]
    types(ann, uri, "a\x00b\U0001f600\r")
    await prints(ann, uri, "a^@b")
    types(ann, uri, "\x04echo $((6*7))\r")
    await prints(ann, uri, "42")


CLAIMS = [
    {},
    {"kind": "nobody"},
    {"kind": "client"},
    {"kind": "client", "clientId": ""},
    {"kind": "client", "clientId": 7},
    {"kind": "session", "session": "ahp-session:/s"},
    {"kind": "session", "chat": "ahp-chat:/c"},
    {"kind": ["client"], "clientId": "ann"},
    {"kind": "session", "session": "ahp-session:/s", "chat": "ahp-chat:/c", "turnId": 3},
]


@pytest_twisted.ensureDeferred
async def test_a_claim_that_is_none_opens_nothing_and_is_not_taken(shells):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    uri = await opens(ann)
    for claim in CLAIMS:
        params = {"channel": "ahp-terminal:/claimed", "claim": claim}
        assert (await refused(ann.call("createTerminal", params))).code == -32602, claim
        with pytest.raises(ActionRefused):
            await ann.perform(uri, {"type": "terminal/claimed", "claim": claim})
        assert [info["resource"] for info in ann.state(ROOT)["terminals"]] == [uri]
        assert ann.state(uri)["claim"] == {"kind": "client", "clientId": "ann"}
    # Anybody may take one over, also for somebody who is not here.
    claim = {"kind": "client", "clientId": "nobody-here"}
    await ann.perform(uri, {"type": "terminal/claimed", "claim": claim})
    await ann.wait_for(
        lambda: ann.state(ROOT)["terminals"][0]["claim"] == claim, PATIENCE, "the claim in the list"
    )


@pytest_twisted.ensureDeferred
async def test_more_than_the_machine_has_descriptors_for_is_refused_and_comes_back(serve):
    """Every terminal takes three; one that cannot be had says so, and the host goes on."""
    program = ("/bin/sh", "-c", 'ulimit -n 150; exec "$0" "$@"', *AHPD)
    daemon = await serve(preset={"SHELL": "/bin/sh"}, program=program)
    ann = await daemon.connect("ann", ROOT)
    for _ in range(2):
        uris = [await opens(ann) for _ in range(80)]
        failed = [uri for uri in uris if ann.state(uri)["lifecycle"].get("exitCode") == 127]
        assert failed
        assert len(failed) < 70
        for uri in failed:
            await prints(ann, uri, "could not be started")
        for uri in uris:
            await disposes(ann, uri)
        await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the shells")
    uri = await opens(ann)
    types(ann, uri, "echo $((6*7))\r")
    await prints(ann, uri, "42")
    bob = await daemon.connect("bob", ROOT)
    await bob.ping()


@pytest_twisted.ensureDeferred
async def test_a_folder_however_it_is_named_is_where_it_starts_or_the_home_is(shells):
    daemon = await shells()
    ann = await daemon.connect("ann", ROOT)
    work = daemon.work
    (work / "inner" / "deep").mkdir(parents=True)
    (work / "with %25 percent").mkdir()
    strange = work / os.fsdecode(b"not-utf8-\xe9")
    strange.mkdir()
    (work / "file").write_text("")
    home, here = daemon.home, work
    uri = work.as_uri()
    cases = {
        f"{uri}/inner/deep/../..": here,
        f"{uri}/inner/..": here,
        f"{uri}/with%20%2525%20percent": here / "with %25 percent",
        f"{uri}/not-utf8-%E9": strange,
        f"{uri}/nowhere": home,
        f"{uri}/file": home,
        f"{uri}/nul%00": home,
        f"{uri}/{'x' * 300}": home,
        f"{uri}/{'x/' * 3000}": home,
        "file://elsewhere/usr": home,
        "file:///C:/Users": home,
        "vscode-remote://wsl/usr": home,
        "not a uri": home,
        "": home,
    }
    for number, (cwd, expected) in enumerate(cases.items()):
        note = work / f"note-{number}"
        terminal = await opens(ann, cwd=cwd)
        types(ann, terminal, f"pwd -P > '{note}'; exit\r")
        await ended(ann, terminal)
        found = os.fsdecode(note.read_bytes().rstrip(b"\n"))
        assert found == str(expected.resolve()), cwd
        await disposes(ann, terminal)


@pytest_twisted.ensureDeferred
async def test_odd_names_are_names_and_reach_no_log_and_no_program(shells):
    daemon = await shells()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    names = ["x" * 999, "two\r\nlines\x1b]0;title\x07\x00", "\u202e\ufeff\ud7ff", "  "]
    for name in names:
        uri = await opens(ann, name=name)
        assert ann.state(uri)["title"] == name
        await ann.perform(uri, {"type": "terminal/titleChanged", "title": name + "!"})
        await bob.wait_for(
            lambda name=name: [i["title"] for i in bob.state(ROOT)["terminals"]] == [name + "!"],
            PATIENCE,
            "the title in the list",
        )
        await disposes(ann, uri)
    odd = "ahp-terminal:/" + "%0d%0a%00" * 10 + "x" * 3000
    await opens(ann, odd)
    types(ann, odd, "echo $((6*7))\r")
    await prints(ann, odd, "42")
    for uri in ("ahp-terminal:", "ahp-terminal:/", "ahp-session:/t", "file:///t", "", "t"):
        params = {"channel": uri, "claim": {"kind": "client", "clientId": "ann"}}
        assert (await refused(ann.call("createTerminal", params))).code == -32602
    assert "\x1b" not in daemon.log
    assert max(map(len, daemon.log.splitlines()), default=0) < 5000
