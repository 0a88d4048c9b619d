"""`createTerminal` and `disposeTerminal`: what is opened, where, and what is refused."""

import pytest
from twisted.logger import globalLogPublisher

from ahpd.interfaces import RpcError, TerminalExit
from ahpd.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NOT_FOUND,
    SESSION_ALREADY_EXISTS,
)
from ahpd.protocol.uris import ChannelKind, kind_of

URI = "ahp-terminal:/t1"
CLIENT = {"kind": "client", "clientId": "client-1"}
SESSION = {"kind": "session", "session": "ahp-session:/s1", "chat": "ahp-chat:/c1"}


def refused(work, *args, **kwargs):
    with pytest.raises(RpcError) as failed:
        work(*args, **kwargs)
    return failed.value.code, failed.value.message


def test_a_terminal_opens_under_the_uri_its_client_chose(host):
    host.create(URI, cols=132, rows=50)
    assert host.state(URI) == {
        "title": "sh",
        "cwd": "file:///tmp",
        "cols": 132,
        "rows": 50,
        "content": [],
        "lifecycle": {"status": "running"},
        "claim": CLIENT,
        "supportsCommandDetection": False,
        "isPty": True,
    }
    row = {"resource": URI, "title": "sh", "claim": CLIENT, "lifecycle": {"status": "running"}}
    assert host.lists == [[row]]
    assert (host.program.program.cols, host.program.program.rows) == (132, 50)


def test_a_terminal_is_80_by_24_where_nobody_says_otherwise(host):
    host.create(URI)
    host.create("ahp-terminal:/hidden", cols=0, rows=0)
    for started in host.terminals.started:
        assert (started.program.cols, started.program.rows) == (80, 24)


@pytest.mark.parametrize("size", [-1, 0.5, 65536, float("inf"), float("nan")])
def test_a_size_no_terminal_has_is_refused_and_named(host, size):
    for member in ("cols", "rows"):
        code, words = refused(host.create, URI, **{member: size})
        assert code == INVALID_PARAMS
        assert words.startswith(f"params.{member}: found {size!r}, expected a whole number")
    assert host.terminals.started == []


def test_a_whole_number_written_as_a_fraction_is_one(host):
    host.create(URI, cols=100.0)
    assert host.program.program.cols == 100


def test_the_name_a_client_gives_is_the_title(host):
    host.create(URI, name="build")
    host.create("ahp-terminal:/t2", name="")
    assert host.state(URI)["title"] == "build"
    assert host.state("ahp-terminal:/t2")["title"] == "sh"


def test_the_reference_hosts_own_scheme_names_a_terminal(host):
    host.create("agenthost-terminal:/one")
    assert kind_of("agenthost-terminal:/one") is ChannelKind.TERMINAL
    assert host.service.find("agenthost-terminal:/one") is not None


@pytest.mark.parametrize(
    "uri", ["ahp-session:/s", "file:///tmp", "ahp-terminal:", "ahp-terminal://", "nothing", ""]
)
def test_what_names_no_terminal_is_refused(host, uri):
    code, words = refused(host.create, uri)
    assert code == INVALID_PARAMS
    assert words.startswith("params.channel: ")


def test_a_uri_in_use_is_refused(host):
    host.create(URI)
    wanted = (SESSION_ALREADY_EXISTS, f"Terminal already exists: {URI}")
    assert refused(host.create, URI) == wanted
    host.program.exits()
    assert refused(host.create, URI) == wanted, "it is still open"
    host.run(host.service.dispose_of(URI))
    host.create(URI)


def test_the_uri_of_a_terminal_that_is_kept_is_in_use(host):
    host.kept[URI] = b"{}"
    assert refused(host.create, URI)[0] == SESSION_ALREADY_EXISTS


@pytest.mark.parametrize(
    ("claim", "path"),
    [
        ({}, "params.claim.kind"),
        ({"kind": "robot"}, "params.claim.kind"),
        ({"kind": ["client"]}, "params.claim.kind"),
        ({"kind": "client"}, "params.claim.clientId"),
        ({"kind": "client", "clientId": ""}, "params.claim.clientId"),
        ({"kind": "client", "clientId": 7}, "params.claim.clientId"),
        ({"kind": "session", "chat": "ahp-chat:/c"}, "params.claim.session"),
        ({"kind": "session", "session": "ahp-session:/s"}, "params.claim.chat"),
        ({**SESSION, "turnId": 1}, "params.claim.turnId"),
        ({**SESSION, "toolCallId": None}, "params.claim.toolCallId"),
        ("client", "params.claim"),
        (None, "params.claim"),
    ],
)
def test_a_claim_that_is_neither_kind_is_refused_where_it_is_wrong(host, claim, path):
    code, words = refused(host.create, URI, claim=claim)
    assert (code, words.partition(":")[0]) == (INVALID_PARAMS, path)
    assert host.terminals.started == []
    assert host.lists == []


@pytest.mark.parametrize(
    ("member", "more"),
    [
        ("params.name", {"name": "x" * 1001}),
        ("params.claim.clientId", {"claim": {"kind": "client", "clientId": "x" * 4097}}),
        ("params.claim.turnId", {"claim": {**SESSION, "turnId": "x" * 4097}}),
    ],
)
def test_what_every_list_repeats_is_no_longer_than_a_name(host, member, more):
    code, words = refused(host.create, URI, **more)
    assert (code, words.partition(":")[0]) == (INVALID_PARAMS, member)
    assert host.terminals.started == []


def test_a_claim_is_kept_as_it_was_sent(host):
    claim = {**SESSION, "turnId": "t", "toolCallId": "c", "note": "mine"}
    host.create(URI, claim=claim)
    assert host.state(URI)["claim"] == claim


def test_it_starts_in_the_folder_it_names_and_at_home_where_there_is_none(host, tmp_path):
    spaced = tmp_path / "a folder"
    spaced.mkdir()
    (tmp_path / "file").touch()
    wanted = {
        spaced.as_uri(): str(spaced),
        str(spaced): str(spaced),
        (tmp_path / "file").as_uri(): "/tmp",
        (tmp_path / "missing").as_uri(): "/tmp",
        "vscode-remote://host/tmp": "/tmp",
        "file://elsewhere/usr": "/tmp",
        "file:///a%00b": "/tmp",
        f"file:///{'x' * 300}": "/tmp",
        "file:///": "/",
        "": "/tmp",
    }
    for number, (uri, path) in enumerate(wanted.items()):
        host.create(f"ahp-terminal:/{number}", cwd=uri)
        assert host.program.program.cwd == path, uri
    assert host.state("ahp-terminal:/0")["cwd"] == spaced.as_uri()


@pytest.mark.parametrize("command", ["rm -rf build", ["rm", "-rf", "build"]])
def test_a_command_is_run_in_no_folder_but_the_one_it_names(host, tmp_path, command):
    gone = tmp_path / "gone"
    host.open(cwd=str(gone), command=command)
    assert host.program.program.cwd == str(gone)
    host.open(command=command)
    assert host.program.program.cwd == "/tmp"


def test_a_home_that_is_no_folder_is_the_root_folder(make_host):
    host = make_host(environment={"HOME": "/nowhere/at/all"})
    host.create(URI)
    assert host.program.program.cwd == "/"


@pytest.mark.parametrize("shell", ["/usr/sbin/nologin", "/nowhere/sh", "sh", ""])
def test_programs_are_told_of_a_shell_they_can_run(make_host, shell):
    host = make_host(environment={"SHELL": shell, "HOME": "/tmp"}, default_shell=lambda: "/bin/cat")
    host.create(URI)
    assert host.program.program.env["SHELL"] == "/bin/sh"
    host.open(env={"SHELL": "/bin/mine"})
    assert host.program.program.env["SHELL"] == "/bin/mine"


def test_a_shell_of_the_hosts_that_runs_is_told_as_it_is(host):
    host.create(URI)
    assert "SHELL" not in host.program.program.env


def test_a_clients_terminal_opens_the_shell_that_was_pushed(make_host):
    host = make_host(default_shell=lambda: "/bin/cat")
    host.create(URI)
    assert host.program.program.argv[0] == "/bin/cat"
    assert host.state(URI)["title"] == "cat"
    host.open()
    assert host.program.program.argv[0] == "/bin/sh", "nobody's preference is the host's"


@pytest.mark.parametrize("shell", ["/nowhere/sh", "sh", "/etc/passwd", "/tmp", "/a\0b", ""])
def test_a_pushed_shell_that_cannot_run_is_logged_and_the_hosts_own_opened(make_host, shell):
    logged = []
    globalLogPublisher.addObserver(logged.append)
    try:
        host = make_host(default_shell=lambda: shell)
        host.create(URI)
    finally:
        globalLogPublisher.removeObserver(logged.append)
    assert host.program.program.argv[0] == "/bin/sh"
    assert [event["shell"] for event in logged if "shell" in event] == ([shell] if shell else [])


def test_a_program_that_cannot_be_started_says_so_in_its_terminal(host):
    host.terminals.failure = "sh could not be started: there is no such program"
    terminal = host.open(URI)
    state = host.state(URI)
    assert state["content"] == [
        {"type": "unclassified", "value": f"{host.terminals.failure}\r\n"},
    ]
    assert state["lifecycle"] == {"status": "exited", "exitCode": 127}
    assert [rows[0]["lifecycle"]["status"] for rows in host.lists] == ["running", "exited"]
    assert host.run(terminal.exited()) == [TerminalExit(127)]
    terminal.kill()
    assert host.run(terminal.dispose()) == [None]
    assert host.service.find(URI) is None


def test_a_line_runs_in_the_shell_and_words_run_as_they_are(host):
    host.open(command="echo $HOME | cat")
    assert list(host.program.program.argv)[-1] == "echo $HOME | cat"
    host.open(command=["git", "log", "a b"], pty=False)
    assert not host.program.program.pty
    assert host.service.find(host.lists[-1][-1]["resource"]).state()["title"] == "git"


def test_a_program_without_a_name_opens_as_one_that_could_not_be_started(host):
    host.terminals.failure = "no program was named"
    terminal = host.open(command=[])
    assert terminal.output() == "no program was named\r\n"


def test_what_is_added_to_the_environment_reaches_the_program(host):
    host.open(command=["true"], env={"A": "1", "HOME": None})
    assert host.program.program.env["A"] == "1"
    assert host.program.program.env["HOME"] is None


def test_what_is_taken_from_the_environment_is_not_put_back_for_a_shell(make_host):
    host = make_host(environment={"HOME": "/tmp", "ZDOTDIR": "/the/hosts"})
    for env, theirs in (({}, "/the/hosts"), ({"ZDOTDIR": "/a"}, "/a"), ({"ZDOTDIR": None}, None)):
        host.open(shell="/bin/zsh", env=env)
        told = host.program.program.env
        assert theirs in told.values()
        assert not any(name.startswith("AHPD_") for name in told)


def test_one_terminal_too_many_is_refused_until_another_is_disposed_of(make_host):
    host = make_host(most=2)
    uris = [host.create(f"ahp-terminal:/{number}") for number in range(2)]
    host.program.exits()  # it is open still
    for _ in range(2):
        with pytest.raises(RpcError, match="2 terminals open") as failed:
            host.create("ahp-terminal:/more")
        assert failed.value.code == INTERNAL_ERROR
    assert len(host.terminals.started) == 2
    host.service.dispose_of(uris[1])
    host.create("ahp-terminal:/more")


def test_the_host_names_its_own_terminals(host):
    one, two = host.open(), host.open()
    assert one.uri != two.uri
    assert kind_of(one.uri) is ChannelKind.TERMINAL
    assert host.service.find(one.uri) is one


def test_a_disposed_terminal_is_gone_at_once_and_answered_when_its_processes_are(host):
    host.terminals.stubborn = True
    host.create(URI)
    reader = host.reader(URI)
    answered = host.run(host.service.dispose_of(URI))
    assert host.lists[-1] == []
    assert not host.store.is_open(URI)
    assert host.service.find(URI) is None
    assert answered == []
    host.program.prints("too late")
    host.program.exits()
    assert answered == [None]
    assert reader.said == []


def test_what_was_printed_before_it_was_disposed_of_is_said(host):
    host.create(URI)
    reader = host.reader(URI)
    host.program.prints("a")
    host.program.prints("b")
    host.run(host.service.dispose_of(URI))
    assert reader.text() == "ab"


def test_to_dispose_of_nothing_is_refused_in_words(host):
    assert refused(host.service.dispose_of, URI) == (NOT_FOUND, f"No terminal at {URI}")
    host.create(URI)
    host.run(host.service.dispose_of(URI))
    assert refused(host.service.dispose_of, URI) == (NOT_FOUND, f"No terminal at {URI}")


def test_to_give_up_waiting_for_a_disposal_does_not_stop_it(host):
    host.terminals.stubborn = True
    host.create(URI)
    gone = host.service.dispose_of(URI)
    gone.addErrback(lambda failure: None)
    gone.cancel()
    host.program.exits()
    host.stop()


def test_a_stopping_host_opens_nothing(host):
    host.stop()
    assert refused(host.create, URI) == (
        INTERNAL_ERROR,
        "The host is stopping and opens no terminal",
    )
