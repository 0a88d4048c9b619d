"""What a program prints: said in order, gathered, marked, and never faster than it is read."""

import pytest

from ahpd.terminals.gather import WINDOW

URI = "ahp-terminal:/t1"
MARK = "\x1b]133;{}\x07"


@pytest.fixture
def opened(host):
    host.create(URI)
    return host


def marks(*words):
    return "".join(MARK.format(word) if len(word) < 6 else word for word in words)


def test_an_echo_is_said_in_the_moment_it_comes(opened):
    reader = opened.reader(URI)
    opened.program.prints("a")
    assert reader.text() == "a"
    opened.clock.advance(WINDOW)
    opened.program.prints("b")
    assert reader.text() == "ab"


def test_a_late_subscriber_reads_what_was_printed_before(opened):
    early = opened.reader(URI)
    opened.program.prints("one ")
    opened.program.prints("two ")
    late = opened.reader(URI)
    opened.program.prints("three")
    opened.clock.advance(1)
    assert early.text() == "one two three"
    assert (
        late.agrees()
        == early.agrees()
        == [
            {"type": "unclassified", "value": "one two three"},
        ]
    )


def test_a_character_cut_by_a_read_arrives_whole(opened):
    reader = opened.reader(URI)
    for byte in "né\U0001f600".encode():
        opened.program.prints(bytes([byte]))
        opened.clock.advance(WINDOW)
    assert reader.text() == "né\U0001f600"


def test_bytes_that_are_no_text_are_replaced(opened):
    reader = opened.reader(URI)
    opened.program.prints(b"a\xffb\xc3")
    opened.program.exits()
    assert reader.text() == "a�b�"


def test_a_command_is_said_where_its_marks_stood(opened):
    reader = opened.reader(URI)
    opened.program.prints(marks("A", "$ prompt ", "B", "ls the files\r\n", "C", "file\r\n more"))
    opened.clock.advance(2.5)
    opened.program.prints(marks("and more", "D;3", "A", "$ prompt "))
    opened.clock.advance(1)
    kinds = [kind for kind in reader.kinds() if kind != "data"]
    assert kinds == ["commandDetectionAvailable", "commandExecuted", "commandFinished"]
    executed, finished = reader.actions("commandExecuted")[0], reader.actions("commandFinished")[0]
    assert executed["timestamp"] == 1767323045000
    assert finished["commandId"] == executed["commandId"]
    assert (finished["exitCode"], finished["durationMs"]) == (3, 2500)
    parts = opened.state(URI)["content"]
    assert [part["type"] for part in parts] == ["unclassified", "command", "unclassified"]
    assert parts[1]["output"] == "file\r\n moreand more"
    assert parts[1]["isComplete"] is True
    assert opened.state(URI)["supportsCommandDetection"] is True
    assert "\x1b]133" not in reader.text()
    assert reader.agrees() == parts


def test_a_code_the_shell_did_not_say_is_not_said(opened):
    reader = opened.reader(URI)
    opened.program.prints(marks("A", "C", "output", "D"))
    assert "exitCode" not in reader.actions("commandFinished")[0]


def test_detection_is_said_once_and_before_anything_it_detects(opened):
    reader = opened.reader(URI)
    for _ in range(3):
        opened.program.prints(marks("A", "$ prompt ", "C", "output", "D;0"))
        opened.clock.advance(1)
    assert reader.kinds().count("commandDetectionAvailable") == 1
    assert reader.kinds()[0] == "commandDetectionAvailable"
    ids = [action["commandId"] for action in reader.actions("commandExecuted")]
    assert len(set(ids)) == 3


def test_the_folder_is_said_where_it_moved(opened):
    reader = opened.reader(URI)
    opened.program.prints("\x1b]7;file:///tmp\x07")
    assert reader.said == [], "that is where it started"
    for _ in range(2):
        opened.program.prints("\x1b]7;file://localhost/usr/a%20b\x07")
    assert reader.actions("cwdChanged") == [
        {"type": "terminal/cwdChanged", "cwd": "file:///usr/a%20b"},
    ]
    assert opened.state(URI)["cwd"] == "file:///usr/a%20b"
    assert reader.kinds() == ["cwdChanged"], "a folder is no sign of command detection"


def test_on_pipes_no_mark_is_said(host):
    host.open(URI, pty=False)
    reader = host.reader(URI)
    host.program.prints("a" + marks("A", "C", "output", "D;0") + "\x1b]7;file:///usr\x07b")
    host.clock.advance(1)
    assert set(reader.kinds()) == {"data"}
    assert host.state(URI)["supportsCommandDetection"] is False


def test_what_may_begin_a_mark_waits_a_moment_and_no_longer(opened):
    reader = opened.reader(URI)
    opened.program.prints("a\x1b")
    assert reader.text() == "a"
    opened.clock.advance(1)
    assert reader.text() == "a\x1b"
    opened.program.prints("\x1b")
    opened.program.prints("[31mred")
    opened.clock.advance(1)
    assert reader.text() == "a\x1b\x1b[31mred"


def test_the_end_is_said_once_behind_all_that_was_printed(opened):
    reader = opened.reader(URI)
    opened.program.prints("a")
    opened.program.prints("b\x1b]133;")
    opened.program.exits(7)
    assert reader.text() == "ab\x1b]133;"
    assert reader.kinds()[-1] == "exited"
    assert reader.actions("exited") == [{"type": "terminal/exited", "exitCode": 7}]
    assert opened.state(URI)["lifecycle"] == {"status": "exited", "exitCode": 7}
    assert opened.lists[-1][0]["lifecycle"] == {"status": "exited", "exitCode": 7}
    assert opened.clock.getDelayedCalls() == []


def test_a_program_a_signal_ended_has_no_exit_code(opened):
    reader = opened.reader(URI)
    opened.program.exits(signal="SIGKILL")
    assert reader.actions("exited") == [{"type": "terminal/exited"}]
    assert opened.state(URI)["lifecycle"] == {"status": "exited"}


def test_a_reader_that_is_behind_is_waited_for(opened):
    reader = opened.reader(URI)
    reader.behind = True
    opened.program.prints("a")
    assert opened.program.paused
    opened.program.prints("b")
    opened.clock.pump([0.1] * 10)
    assert (opened.program.paused, reader.text()) == (True, "a")
    reader.behind = False
    opened.clock.advance(0.1)
    assert not opened.program.paused
    opened.clock.advance(0.1)
    assert reader.text() == "ab"
    assert opened.clock.getDelayedCalls() == []


def test_a_terminal_nobody_watches_waits_for_nobody(opened):
    reader = opened.reader(URI)
    reader.behind = True
    opened.store.unsubscribe(URI, reader)
    opened.program.prints("a")
    assert not opened.program.paused


def test_one_that_is_behind_on_another_terminal_is_waited_for_there_alone(opened):
    opened.create("ahp-terminal:/t2")
    one, two = opened.terminals.started
    reader = opened.reader(URI)
    reader.behind = True
    one.prints("a")
    two.prints("b")
    assert (one.paused, two.paused) == (True, False)
    reader.behind = False


def test_a_program_that_exits_while_it_is_held_back_is_read_to_its_end(opened):
    reader = opened.reader(URI)
    reader.behind = True
    opened.program.prints("a")
    opened.program.prints("b")
    opened.program.exits()
    assert reader.kinds() == ["data"]
    reader.behind = False
    opened.clock.advance(1)
    assert reader.text() == "ab"
    assert reader.kinds()[-1] == "exited"


def test_a_program_that_is_held_back_can_be_ended(opened):
    opened.terminals.started[0].stubborn = True
    reader = opened.reader(URI)
    reader.behind = True
    opened.program.prints("a")
    opened.service.find(URI).kill()
    assert not opened.program.paused
    opened.program.prints("b")
    assert not opened.program.paused, "it is read to its end, whoever is behind"
    opened.program.exits()
    assert reader.text() == "ab"
    assert opened.clock.getDelayedCalls() == []


def test_what_a_terminal_keeps_is_bounded_and_the_newest(opened):
    reader = opened.reader(URI)
    for number in range(300):
        opened.program.prints(f"{number:05d}" * 1000)
        opened.clock.advance(WINDOW)
    kept = reader.agrees()
    assert 0 < sum(len(part["value"]) for part in kept) <= 200_000
    assert len(reader.text()) == 300 * 5000


def test_many_commands_are_bounded_too(opened):
    reader = opened.reader(URI)
    for _ in range(3000):
        opened.program.prints(marks("A", "C", "D;0"))
    kept = reader.agrees()
    assert 0 < len(kept) <= 2_000


def test_a_flood_nobody_watches_runs_on_and_what_is_held_of_it_is_bounded(make_host):
    host = make_host()
    host.store.replay.max_bytes = 1024 * 1024
    host.create(URI)
    for _ in range(2000):
        host.program.prints("0123456789abcdef" * 1024)
        assert not host.program.paused
        host.clock.advance(0.0001)
    held = sum(len(part["value"]) for part in host.state(URI)["content"])
    assert 50_000 < held <= 200_000
    assert host.store.replay.weight <= 1024 * 1024
