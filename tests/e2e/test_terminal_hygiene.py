"""Nothing a terminal or a command started is left, however it comes to its end."""

import signal

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE

from .terminal_kit import Families, disposes, ended, gone, opens, prints, text_of, types, zombies_of

BASH = {"SHELL": "/bin/bash"}


@pytest.fixture
def families(tmp_path):
    """Makes families, and kills what a failing test leaves of them."""
    import os
    from contextlib import suppress

    families = Families(tmp_path)
    yield families
    for note in families.notes:
        for member in families.members(note):
            if member.there:
                with suppress(ProcessLookupError):
                    os.kill(member.pid, signal.SIGKILL)


async def nothing_unreaped(daemon):
    await daemon.until(lambda: not zombies_of(daemon.pid), "no child of the daemon's unreaped")


# -- a client's terminal ------------------------------------------------------------------


async def disposed(daemon, ann, uri):
    await disposes(ann, uri)


async def shell_exits(daemon, ann, uri):
    # A job that is stopped has it ask twice.
    types(ann, uri, "\x1a")
    await prints(ann, uri, "Stopped")
    types(ann, uri, "exit 3\r")
    await prints(ann, uri, "There are stopped jobs")
    types(ann, uri, "exit 3\r")
    assert await ended(ann, uri) == {"status": "exited", "exitCode": 3}


async def shell_is_killed(daemon, ann, uri):
    (shell,) = [pid for pid in daemon.children() if b"bash" in daemon.command_line(pid)][:1]
    daemon.send_signal_to(shell, signal.SIGKILL)
    assert await ended(ann, uri) == {"status": "exited"}


async def terminal_hangs_up_from_within(daemon, ann, uri):
    """Every process in front ends at a quit, but for those that do not hear it."""
    types(ann, uri, "\x1c")
    await prints(ann, uri, "Quit")
    types(ann, uri, "exec true\r")
    assert (await ended(ann, uri))["status"] == "exited"


async def host_is_told_to_stop(daemon, ann, uri):
    daemon.signal()
    assert await daemon.ended() == 0


async def host_is_killed(daemon, ann, uri):
    await daemon.kill()


async def client_is_gone(daemon, ann, uri):
    """A terminal outlives who opened it, so it is somebody else who ends it."""
    ann.abort()
    bob = await daemon.connect("bob", ROOT)
    await bob.subscribe(uri)
    assert bob.state(uri)["lifecycle"] == {"status": "running"}
    await disposes(bob, uri)


ENDS = [
    disposed,
    shell_exits,
    shell_is_killed,
    terminal_hangs_up_from_within,
    host_is_told_to_stop,
    host_is_killed,
    client_is_gone,
]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.__name__)
@pytest_twisted.ensureDeferred
async def test_nothing_is_left_of_what_a_shell_started(serve, families, end):
    daemon = await serve(preset=BASH)
    ann = await daemon.connect("ann", ROOT)
    uri = await opens(ann)
    types(ann, uri, families.line() + "\r")
    members = await families.grown(daemon)
    await end(daemon, ann, uri)
    await gone(daemon, members)
    if daemon.running:
        await nothing_unreaped(daemon)
    else:
        await daemon.start()
        late = await daemon.connect("late", ROOT)
        assert late.state(ROOT)["terminals"] == []
        assert not [member for member in members if member.there]


@pytest_twisted.ensureDeferred
async def test_nothing_is_left_of_a_terminal_its_session_claimed(serve, talk, families):
    daemon = await serve(preset=BASH)
    ann = await talk(await daemon.connect("ann", ROOT))
    claim = {"kind": "session", "session": ann.session, "chat": ann.chat}
    uri, other = await opens(ann.probe), await opens(ann.probe)
    types(ann.probe, uri, families.line("setsid -w ") + "\r")
    members = await families.grown(daemon)
    # It came to the session only now, and under another of its spellings.
    claim["session"] = ann.session.replace("ahp-session:/", "ahp-session:///")
    await ann.probe.perform(uri, {"type": "terminal/claimed", "claim": claim})
    for channel in (uri, ann.chat, ann.session):
        ann.probe.unsubscribe(channel)
    await ann.probe.request("disposeSession", channel=ann.session)
    await gone(daemon, members)
    await nothing_unreaped(daemon)
    assert [info["resource"] for info in ann.probe.state(ROOT)["terminals"]] == [other]
    types(ann.probe, other, "echo $((6*7))\r")
    await prints(ann.probe, other, "42")


# -- a command in a chat --------------------------------------------------------------------


async def turn_is_stopped(daemon, ann, turn_id):
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await ann.probe.perform(ann.chat, stop)
    assert (await ann.finished(turn_id))["state"] == "cancelled"


async def chat_is_disposed_of(daemon, ann, turn_id):
    ann.probe.unsubscribe(ann.chat)
    await ann.probe.request("disposeChat", channel=ann.chat)


async def session_is_disposed_of(daemon, ann, turn_id):
    for channel in (ann.chat, ann.session):
        ann.probe.unsubscribe(channel)
    await ann.probe.request("disposeSession", channel=ann.session)


async def terminal_is_disposed_of(daemon, ann, turn_id):
    (info,) = ann.probe.state(ROOT)["terminals"]
    await ann.probe.call("disposeTerminal", {"channel": info["resource"]})
    await ann.finished(turn_id)


async def command_is_killed(daemon, ann, turn_id):
    (shell,) = [pid for pid in daemon.children() if b"family-0" in daemon.command_line(pid)][:1]
    daemon.send_signal_to(shell, signal.SIGKILL)
    await ann.finished(turn_id)


async def everybody_is_gone(daemon, ann, turn_id):
    """A command goes on with nobody there; its turn is stopped by who comes next."""
    ann.probe.abort()
    bob = await ann.with_client(await daemon.connect("bob", ROOT))
    await turn_is_stopped(daemon, bob, turn_id)


async def host_stops(daemon, ann, turn_id):
    await host_is_told_to_stop(daemon, ann, None)


async def host_dies(daemon, ann, turn_id):
    await daemon.kill()


COMMAND_ENDS = [
    turn_is_stopped,
    chat_is_disposed_of,
    session_is_disposed_of,
    terminal_is_disposed_of,
    command_is_killed,
    everybody_is_gone,
    host_stops,
    host_dies,
]


@pytest.mark.parametrize("end", COMMAND_ENDS, ids=lambda end: end.__name__)
@pytest_twisted.ensureDeferred
async def test_nothing_is_left_of_what_a_command_started(serve, talk, families, end):
    daemon = await serve(preset=BASH)
    ann = await talk(await daemon.connect("ann", ROOT))
    if end is chat_is_disposed_of:  # a session's only chat stays
        chat = f"{ann.chat}-second"
        await ann.probe.request("createChat", channel=ann.session, chat=chat)
        await ann.probe.subscribe(chat)
        ann.chat = chat
    turn_id = await ann.begin("!" + families.line())
    members = await families.grown(daemon)
    await end(daemon, ann, turn_id)
    await gone(daemon, members)
    if daemon.running:
        await nothing_unreaped(daemon)
    else:
        await daemon.start()
        late = await ann.with_client(await daemon.connect("late", ROOT))
        (turn,) = late.probe.plain_state(late.chat)["turns"]
        assert turn["state"] in ("error", "cancelled")
        assert late.probe.state(ROOT)["terminals"] == []


# -- many of them --------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_hundred_terminals_leave_no_descriptor_and_no_child(serve):
    daemon = await serve(preset={"SHELL": "/bin/sh"})
    ann = await daemon.connect("ann", ROOT)
    await disposes(ann, await opens(ann))  # what is made once, for all of them
    children, descriptors = daemon.children(), daemon.descriptors()
    for _ in range(10):
        uris = [await opens(ann, watch=number % 2 == 0) for number in range(10)]
        types(ann, uris[0], "exit\r")
        await ended(ann, uris[0])
        for uri in uris:
            await disposes(ann, uri)
    assert ann.state(ROOT)["terminals"] == []
    await daemon.until(lambda: daemon.children() == children, "the end of the shells")
    await daemon.until(lambda: daemon.descriptors() == descriptors, "as many descriptors as before")
    await nothing_unreaped(daemon)


@pytest_twisted.ensureDeferred
async def test_a_stop_ends_fifty_terminals_together(serve):
    """One after the other, with a second for each hangup, they would take a minute."""
    daemon = await serve(preset={"SHELL": "/bin/sh"})
    ann = await daemon.connect("ann", ROOT)
    uris = [await opens(ann) for _ in range(50)]
    for number, uri in enumerate(uris):
        deaf = "trap '' HUP TERM; " if number % 2 else ""
        types(ann, uri, f"{deaf}echo $((6*7)); sleep 1000\r")
    for uri in uris:
        await prints(ann, uri, "42")
    daemon.signal()
    assert await daemon.ended(seconds=PATIENCE / 2) == 0
    assert "cannot be ended" not in daemon.log


@pytest_twisted.ensureDeferred
async def test_a_host_killed_with_terminals_open_starts_with_none(serve):
    daemon = await serve(preset=BASH)
    ann = await daemon.connect("ann", ROOT)
    uris = [await opens(ann) for _ in range(5)]
    types(ann, uris[0], "yes\r")
    await prints(ann, uris[0], "y\r\ny\r\n")
    await daemon.kill()
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    assert bob.state(ROOT)["terminals"] == []
    again = await opens(bob, uris[0])  # its URI is free again
    types(bob, again, "echo $((6*7))\r")
    await prints(bob, again, "42")
    assert "y\r\ny" not in text_of(bob, again)


@pytest_twisted.ensureDeferred
async def test_a_host_killed_while_it_starts_programs_leaves_none(serve, tmp_path):
    """Between a program's start and the word of it to the guard there is no moment to lose it."""
    note, shell = tmp_path / "born", tmp_path / "deaf-shell"
    script = f"#!/bin/sh\ntrap '' HUP INT TERM\necho $$ >> {note}\nwhile :; do sleep 1000; done\n"
    shell.write_text(script)
    shell.chmod(0o755)
    daemon = await serve(preset={"SHELL": str(shell)})
    for number in range(3):
        ann = await daemon.connect(f"ann-{number}", ROOT)
        for each in range(100):
            params = {"channel": f"ahp-terminal:/{each}", "claim": {"kind": "client"}}
            params["claim"]["clientId"] = ann.client_id
            asked = Deferred.fromCoroutine(ann.call("createTerminal", params))
            asked.addErrback(lambda _: None)
        await daemon.until(lambda: note.exists() and note.read_text().count("\n") > 2, "a few")
        await daemon.kill()
        # Those that had no time to write anything down have its home in their environment.
        await daemon.until(lambda: not daemon.left(), "the end of every one of them")
        note.unlink()
        await daemon.start()


@pytest_twisted.ensureDeferred
async def test_commands_that_run_at_once_all_go_with_their_session(serve, talk, tmp_path):
    daemon = await serve(preset=BASH)
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("!true")
    children = daemon.children()
    note = tmp_path / "born"
    for number in range(30):
        await ann.begin(f"!trap '' HUP; echo {number} >> {note}; sleep 1000")
    await daemon.until(lambda: note.exists() and note.read_text().count("\n") == 30, "all of them")
    for channel in (ann.chat, ann.session):
        ann.probe.unsubscribe(channel)
    await ann.probe.request("disposeSession", channel=ann.session)
    await daemon.until(lambda: daemon.children() == children, "the end of the commands")
    assert ann.probe.state(ROOT)["terminals"] == []
    await nothing_unreaped(daemon)
