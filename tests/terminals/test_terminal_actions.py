"""What clients do on a terminal's channel: said to everybody, and done to the program."""

import pytest

URI = "ahp-terminal:/t1"
CLIENT = {"kind": "client", "clientId": "client-1"}
SESSION = {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/c1"}


@pytest.fixture
def opened(host):
    host.create(URI)
    return host


@pytest.fixture
def piped(host):
    host.open(URI, pty=False)
    return host


def test_input_reaches_the_program_and_every_client(opened):
    one, two = opened.reader(URI), opened.reader(URI)
    assert opened.dispatch(URI, "input", data="ls é\r") is None
    assert opened.program.typed == "ls é\r".encode()
    for reader in (one, two):
        assert reader.said[0]["action"] == {"type": "terminal/input", "data": "ls é\r"}
        assert reader.said[0]["origin"]["clientId"] == "client-1"


def test_under_a_pseudo_terminal_a_control_c_is_a_byte(opened):
    opened.dispatch(URI, "input", data="a\x03b\r")
    assert opened.program.typed == b"a\x03b\r"
    assert opened.program.interrupts == 0


def test_on_pipes_a_control_c_interrupts_and_what_surrounds_it_is_written(piped):
    assert piped.state(URI)["isPty"] is False
    piped.dispatch(URI, "input", data="\x03")
    assert (piped.program.typed, piped.program.interrupts) == (b"", 1)
    piped.dispatch(URI, "input", data="a\x03\x03b")
    assert (piped.program.typed, piped.program.interrupts) == (b"ab", 3)


def test_on_pipes_a_return_ends_a_line(piped):
    piped.dispatch(URI, "input", data="one\rtwo\r\nthree\n")
    assert piped.program.typed == b"one\ntwo\nthree\n"


def test_input_to_a_program_that_exited_is_said_and_reaches_nothing(opened):
    opened.program.exits()
    reader = opened.reader(URI)
    assert opened.dispatch(URI, "input", data="x") is None
    assert reader.kinds() == ["input"]
    assert opened.program.typed == b""


def test_half_a_surrogate_pair_is_written_as_a_question_mark(opened):
    opened.service.find(URI).write("a\ud800")
    assert opened.program.typed == b"a?"


def test_a_size_is_said_as_it_was_sent_and_given_to_the_program(opened):
    reader = opened.reader(URI)
    for _ in range(2):
        assert opened.dispatch(URI, "resized", cols=100, rows=40.0) is None
    assert opened.program.sizes == [(100, 40)] * 2
    assert reader.kinds() == ["resized"] * 2, "also where it moves nothing"
    assert (opened.state(URI)["cols"], opened.state(URI)["rows"]) == (100, 40)


@pytest.mark.parametrize("size", [0, -1, 1.5, 65536, float("inf")])
def test_a_size_no_terminal_has_is_refused(opened, size):
    reader = opened.reader(URI)
    words = f"action.rows: found {size!r}, expected a whole number from 1 to 65535"
    assert opened.dispatch(URI, "resized", cols=80, rows=size) == words
    assert (reader.said, opened.program.sizes) == ([], [])


def test_a_title_as_long_as_a_book_is_refused(opened):
    reader = opened.reader(URI)
    words = "action.title: found 1001 characters, expected at most 1000"
    assert opened.dispatch(URI, "titleChanged", title="x" * 1001) == words
    assert reader.said == []
    assert opened.dispatch(URI, "titleChanged", title="x" * 1000) is None


def test_a_claim_goes_to_everybody_and_into_the_list(opened):
    reader = opened.reader(URI)
    assert opened.dispatch(URI, "claimed", claim=SESSION) is None
    assert opened.state(URI)["claim"] == SESSION
    assert opened.lists[-1][0]["claim"] == SESSION
    count = len(opened.lists)
    assert opened.dispatch(URI, "claimed", claim=SESSION) is None
    assert len(opened.lists) == count + 1
    assert reader.kinds() == ["claimed"] * 2


@pytest.mark.parametrize("claim", [{}, {"kind": "robot"}, {"kind": "client"}, {"kind": "session"}])
def test_a_claim_of_neither_kind_is_refused(opened, claim):
    reader, lists = opened.reader(URI), list(opened.lists)
    assert opened.dispatch(URI, "claimed", claim=claim).startswith("action.claim.")
    assert (reader.said, opened.lists) == ([], lists)


def test_a_title_goes_to_everybody_and_into_the_list_moved_or_not(opened):
    reader, count = opened.reader(URI), len(opened.lists)
    for _ in range(2):
        assert opened.dispatch(URI, "titleChanged", title="logs") is None
    assert reader.kinds() == ["titleChanged"] * 2
    assert [rows[0]["title"] for rows in opened.lists[count:]] == ["logs", "logs"]


def test_cleared_it_keeps_all_but_what_was_printed(opened):
    reader = opened.reader(URI)
    opened.program.prints("before")
    opened.program.prints(" and gathered")
    before = opened.state(URI)
    assert opened.dispatch(URI, "cleared") is None
    assert opened.state(URI) == {**before, "content": []}
    assert reader.kinds() == ["data", "data", "cleared"], "what came before it is cleared too"
    assert opened.program.written == []
    opened.program.prints("after")
    opened.clock.advance(1)
    assert opened.state(URI)["content"] == [{"type": "unclassified", "value": "after"}]
    assert reader.agrees()


def test_an_action_on_a_terminal_nobody_has_is_refused_in_words(host):
    for kind, fields in (
        ("input", {"data": "x"}),
        ("cleared", {}),
        ("titleChanged", {"title": ""}),
    ):
        assert host.dispatch(URI, kind, **fields) == f"No terminal at {URI}"


def test_sizes_after_the_end_are_kept_and_given_to_nobody(opened):
    opened.program.exits()
    assert opened.dispatch(URI, "resized", cols=20, rows=10) is None
    assert opened.program.sizes == []
    assert opened.state(URI)["cols"] == 20


def test_the_host_gives_a_size_and_types_without_saying_the_input(host):
    terminal = host.open()
    reader = host.reader(terminal.uri)
    terminal.resize(10, 5)
    terminal.write("yes\n")
    assert host.program.sizes == [(10, 5)]
    assert host.program.typed == b"yes\n"
    assert reader.kinds() == ["resized"]
