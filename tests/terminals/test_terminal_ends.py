"""How terminals end: killed, disposed of, with their session, with the host."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import TerminalExit

URI = "ahp-terminal:/t1"


def held_by(session, **more):
    return {"kind": "session", "session": session, "chat": "ahp-chat:/c", **more}


def uris(rows):
    return [row["resource"] for row in rows]


def test_whoever_opened_one_reads_what_it_printed_and_how_it_ended(host):
    terminal = host.open(command="make")
    ended = host.run(terminal.exited())
    host.program.prints("one\r\n")
    host.program.prints("two")
    assert terminal.output() == "one\r\ntwo"
    assert terminal.state()["content"] == [{"type": "unclassified", "value": "one\r\ntwo"}]
    assert ended == []
    host.program.exits(2)
    assert ended == [TerminalExit(2)]
    assert host.run(terminal.exited()) == [TerminalExit(2)], "again is no error"
    assert terminal.state()["lifecycle"] == {"status": "exited", "exitCode": 2}


def test_a_state_is_its_readers_own(host):
    terminal = host.open()
    host.program.prints("a")
    terminal.state()["content"].clear()
    terminal.state()["claim"]["kind"] = "nobody"
    assert terminal.output() == "a"
    assert terminal.state()["claim"]["kind"] == "client"


def test_output_is_the_commands_with_the_rest(host):
    terminal = host.open()
    host.program.prints("$ \x1b]133;C\x07out\x1b]133;D;0\x07$ ")
    assert terminal.output() == "$ out$ "


def test_one_that_waits_and_gives_up_costs_the_others_nothing(host):
    terminal = host.open()
    first = host.service.find(terminal.uri)
    ended = []
    waits = [Deferred.fromCoroutine(first.exited()) for _ in range(2)]
    waits[0].addErrback(lambda failure: None)
    waits[1].addCallback(ended.append)
    waits[0].cancel()
    host.program.exits(0)
    assert ended == [TerminalExit(0)]


def test_killed_it_stays_in_the_list_exited(host):
    terminal = host.open(URI)
    reader = host.reader(URI)
    terminal.kill()
    terminal.kill()
    assert reader.kinds() == ["exited"]
    assert host.lists[-1][0]["lifecycle"] == {"status": "exited"}
    assert host.store.is_open(URI)
    assert host.run(terminal.exited()) == [TerminalExit(None, "SIGHUP")]


def test_disposed_of_it_is_still_read_by_whoever_opened_it(host):
    host.terminals.stubborn = True
    terminal = host.open(URI)
    ended, gone = host.run(terminal.exited()), host.run(terminal.dispose())
    host.program.exits(1)
    assert gone == [None]
    assert ended == [TerminalExit(1)]
    assert terminal.state()["lifecycle"] == {"status": "exited", "exitCode": 1}
    assert terminal.output() == ""
    terminal.resize(1, 1)
    terminal.write("x")
    terminal.kill()
    assert host.run(terminal.dispose()) == [None], "again is no error"


def test_a_name_taken_anew_is_another_terminal(host):
    first = host.open(URI)
    host.run(first.dispose())
    second = host.open(URI)
    host.run(first.dispose())
    assert host.service.find(URI) is second


def test_a_sessions_terminals_go_one_at_a_time(host):
    for number, claim in enumerate(
        [held_by("ahp-session:/s1"), held_by("ahp-session:/s2"), held_by("ahp-session:/s1")]
    ):
        host.create(f"ahp-terminal:/{number}", claim=claim)
    host.create(URI)
    before = len(host.lists)
    gone = host.run(host.service.session_gone("ahp-session:/s1"))
    assert [uris(rows) for rows in host.lists[before:]] == [
        ["ahp-terminal:/1", "ahp-terminal:/2", URI],
        ["ahp-terminal:/1", URI],
    ]
    assert gone == [None]
    assert len(host.terminals.running) == 2


def test_a_sessions_terminals_are_waited_for_together(host):
    host.terminals.stubborn = True
    for number in range(3):
        host.create(f"ahp-terminal:/{number}", claim=held_by("ahp-session:/s1"))
    gone = host.run(host.service.session_gone("ahp-session:/s1"))
    assert host.lists[-1] == [], "gone from the list when it is called"
    programs = host.terminals.started
    assert [program.ends for program in programs] == [1, 1, 1]
    for program in reversed(programs):
        assert gone == []
        program.exits()
    assert gone == [None]


def test_what_a_session_claimed_since_goes_with_it_and_what_it_gave_up_does_not(host):
    host.create(URI)
    host.create("ahp-terminal:/t2", claim=held_by("ahp-session:/s1"))
    host.dispatch(URI, "claimed", claim=held_by("ahp-session:/s1", turnId="t"))
    client = {"kind": "client", "clientId": "c"}
    host.dispatch("ahp-terminal:/t2", "claimed", claim=client)
    host.run(host.service.session_gone("ahp-session:/s1"))
    assert uris(host.lists[-1]) == ["ahp-terminal:/t2"]


def test_a_session_is_known_under_any_of_its_names(host):
    host.create(URI, claim=held_by("scripted:/s1"))
    host.run(host.service.session_gone("ahp-session:/s1"))
    assert host.lists[-1] == []


def test_a_session_without_terminals_has_nothing_to_wait_for(host):
    host.create(URI)
    assert host.run(host.service.session_gone("ahp-session:/none")) == [None]
    assert len(host.lists) == 1


def test_the_host_ends_all_of_them_together_and_says_so(host):
    host.terminals.stubborn = True
    for number in range(3):
        host.create(f"ahp-terminal:/{number}")
    readers = [host.reader(f"ahp-terminal:/{number}") for number in range(3)]
    stopped = host.run(host.service.stopService())
    programs = host.terminals.started
    assert [program.ends for program in programs] == [1, 1, 1]
    for program in programs:
        assert stopped == []
        program.prints("bye")
        program.exits()
    assert stopped == [None]
    for reader in readers:
        assert reader.kinds() == ["data", "exited"]
    assert host.clock.getDelayedCalls() == []


def test_the_host_waits_for_what_was_disposed_of_before(host):
    host.terminals.stubborn = True
    host.create(URI)
    host.run(host.service.dispose_of(URI))
    stopped = host.run(host.service.stopService())
    assert stopped == []
    host.program.exits()
    assert stopped == [None]


@pytest.mark.logs_failures
def test_a_program_that_cannot_be_ended_holds_up_nothing(host):
    host.create(URI)

    def end():
        raise OSError("no such process")

    host.program.end = end
    assert host.run(host.service.dispose_of(URI)) == [None]
    assert host.service.find(URI) is None
