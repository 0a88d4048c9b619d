"""`ahp_terminals` and `ahp_terminals_control`: terminals that a person watches, for an agent."""

import pytest

from ahpd.tools.terminals import MOST_CHARACTERS, MOST_RUNNING, USUAL_CHARACTERS

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
MINE = "ahp-terminal:/mine"


def look(host, at=None, **more):
    return host.call("ahp_terminals", at, **more)


def control(host, action, at=None, **more):
    return host.call("ahp_terminals_control", at, action=action, **more)


def opened(host, read, **more):
    """The URI of a terminal the session's agent opened."""
    words = read.text(control(host, "open", **more))
    return words.removeprefix("Opened ").rstrip(".")


@pytest.fixture
def person(tools):
    """A terminal that a person opened."""
    tools.host.run(
        tools.probe.request(
            "createTerminal",
            channel=MINE,
            claim={"kind": "client", "clientId": "person"},
            name="Mine",
        )
    )
    return tools.programs.started[-1]


def test_a_host_without_any_says_so(tools, read):
    assert read.text(look(tools)) == "This host has no terminal open."


def test_every_terminal_is_listed_as_the_root_lists_it(tools, read, person):
    uri = opened(tools, read, command="make test", title="Tests", cwd="/work/a")
    rows = [line.split("\t") for line in read.text(look(tools)).splitlines()]
    assert [row[0] for row in rows] == [MINE, uri]
    root = tools.probe.plain_state("ahp-root://")["terminals"]
    assert [(info["resource"], info["title"]) for info in root] == [(r[0], r[1]) for r in rows]
    assert rows[0][1] == "Mine"
    assert rows[1][1:] == ["Tests", "file:///work/a", "running"]
    tools.programs.started[-1].exits(3)
    tools.host.settle()
    assert read.text(look(tools)).splitlines()[1].endswith("exited with 3")


def test_one_it_opened_is_the_session_s_and_everybody_s_to_watch(tools, read):
    uri = opened(tools, read, command="make test")
    state = tools.state(uri)
    claim = state["claim"]
    assert claim == {
        "kind": "session",
        "session": S1,
        "chat": tools.chat(),
        "turnId": tools.said(tools.chat(), "chat/turnStarted")[-1]["turnId"],
        "toolCallId": "call-0",
    }
    program = tools.programs.started[-1]
    assert "make test" in program.program.argv
    program.prints("all green\r\n")
    tools.host.advance(1)
    assert read.text(look(tools, action="read", terminal=uri)) == "running\nall green\r\n"


def test_it_starts_in_the_session_s_first_folder(tool_host, read):
    host = tool_host()
    host.session(workingDirectories=["file:///work/a"])
    opened(host, read, command="ls")
    assert host.programs.started[-1].program.cwd == "/work/a"
    assert "absolute local path" in read.failure(control(host, "open", cwd="work"))


def test_it_is_typed_into_and_ended(tools, read):
    uri = opened(tools, read)
    program = tools.programs.started[-1]
    assert read.text(control(tools, "write", terminal=uri, text="ls\r")) == f"Typed into {uri}."
    assert program.typed == b"ls\r"
    assert "text is missing" in read.failure(control(tools, "write", terminal=uri))
    assert read.text(control(tools, "kill", terminal=uri)) == f"Ended {uri}."
    tools.host.settle()
    assert not program.runs
    for action in ("write", "kill"):
        words = read.failure(control(tools, action, terminal=uri, text="x"))
        assert words == f"The program of {uri} has exited."
    assert read.text(look(tools, action="read", terminal=uri)).startswith("exited")


def test_a_terminal_the_session_does_not_hold_is_neither_read_nor_touched(tools, read, person):
    tools.session(S2)
    theirs = opened(tools, read)
    person.prints("password: hunter2\n")
    tools.host.advance(1)
    for uri, at in ((MINE, None), (theirs, tools.chat(S2))):
        words = f"{uri} is no terminal of this session"
        assert words in read.failure(look(tools, at, action="read", terminal=uri))
        for action in ("write", "kill"):
            assert words in read.failure(control(tools, action, at, terminal=uri, text="x"))
    assert person.typed == b""
    assert person.runs
    assert "no terminal at" in read.failure(look(tools, action="read", terminal="ahp-terminal:/x"))
    assert "terminal is missing" in read.failure(look(tools, action="read"))


def test_one_a_person_lets_the_session_have_is_its_own(tools, read, person):
    claim = {"kind": "session", "session": "scripted:/s1", "chat": tools.chat()}
    tools.watch(MINE)
    tools.probe.dispatch(MINE, {"type": "terminal/claimed", "claim": claim})
    tools.host.settle()
    read.text(control(tools, "write", terminal=MINE, text="hi"))
    assert person.typed == b"hi"


def test_much_output_is_read_from_its_end(tools, read):
    uri = opened(tools, read)
    tools.programs.started[-1].prints("x" * 150_000 + "end")
    tools.host.advance(1)
    kept = len(tools.state(uri)["content"][0]["value"])
    for asked, most in ((None, USUAL_CHARACTERS), (10, 10), (10**9, MOST_CHARACTERS)):
        more = {} if asked is None else {"characters": asked}
        state, cut, text = read.text(look(tools, action="read", terminal=uri, **more)).split("\n")
        assert (state, len(text)) == ("running", most)
        assert text.endswith("end")
        assert cut == f"… {kept - most} characters before that"


def test_a_session_has_so_many_running_at_a_time(tools, read):
    for _ in range(MOST_RUNNING):
        opened(tools, read)
    assert "the most it may" in read.failure(control(tools, "open"))
    tools.programs.started[0].exits()
    tools.host.settle()
    opened(tools, read)


def test_they_go_with_the_session(tools, read):
    tools.session(S2)
    words = read.text(control(tools, "open", tools.chat(S2)))
    assert words.startswith("Opened ")
    read.text(tools.call("delete_session", session=S2))
    tools.host.settle()
    assert not tools.programs.started[-1].runs
    assert read.text(look(tools)) == "This host has no terminal open."


def test_running_things_is_offered_where_the_operator_lets_it_alone(tool_host, read):
    host = tool_host(advanced=False)
    host.session()
    assert read.text(look(host)) == "This host has no terminal open."
    assert "no tool named" in read.failure(control(host, "open"))
    assert host.programs.started == []
    names = [tool["name"] for tool in host.state(S1)["serverTools"]]
    assert "ahp_terminals_control" not in names
    assert "ahp_resource_edit" not in names
    host.advanced = ["ahp_terminals_control"]
    host.registry.changed()
    host.host.settle()
    names = [tool["name"] for tool in host.state(S1)["serverTools"]]
    assert "ahp_terminals_control" in names
    opened(host, read)
