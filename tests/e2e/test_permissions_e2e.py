"""Rules before people, over real daemons: what runs, what is refused and what is asked."""

import base64
import os
from pathlib import Path

import attrs
import pytest
import pytest_twisted

from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon
from ahpd.testing.installed_engines import install_distribution

from .agent_kit import (
    Chat,
    Model,
    acp,
    again,
    calls_in,
    chat,
    configures,
    configures_host,
    confirmed,
    ends_of,
    fetch,
    file,
    leaves,
    llm,
    shell,
)
from .file_kit import look

ENGINE = Path(__file__).parent / "asking_engine.py"
#: What every question is answered from where nobody pushed anything.
PLAIN = {
    "permissions": {"allow": [], "deny": [], "ask": []},
    "globalAutoApproveEnabled": False,
    "autoApprovePolicyRestricted": False,
    "terminalAutoApproveEnabled": True,
    "editAutoApprovePatterns": {"**/*": True},
}


def rules(**lists):
    return {"permissions": {"allow": [], "deny": [], "ask": [], **lists}}


def asking(identifier="asking"):
    return {"id": identifier, "engine": "asking", "name": identifier.title()}


def installed(folder):
    """The environment in which a daemon finds the engine `asking`."""
    name = "ahpd_asking_engine"
    made = install_distribution(
        folder, "ahpd-asking", {"asking": f"{name}:AskingEngine"}, {name: ENGINE.read_text()}
    )
    path = os.environ.get("PYTHONPATH")
    return {"PYTHONPATH": str(made) if path is None else f"{made}{os.pathsep}{path}"}


@attrs.define(eq=False)
class Desk:
    """A daemon with an agent of each engine, and a person before a chat of each."""

    daemon: Daemon
    model: Model
    ann: object
    chats: dict

    async def plain(self):
        """Nothing is pushed, but in the sessions what a row says."""
        await configures_host(self.ann, **PLAIN)
        for name, one in self.chats.items():
            values = rules() | ({"autoApprove": "default"} if name == "asking" else {})
            await configures(one, **values)


@pytest_twisted.async_yield_fixture(scope="module")
async def desk(tmp_path_factory):
    """One daemon for the rows of the chain."""
    from twisted.internet import reactor

    where = tmp_path_factory.mktemp("permissions")
    model = Model(reactor)
    model.start()
    settings = {"agents": [acp(), llm(model), asking()]}
    daemon = Daemon(
        reactor,
        where / "daemon",
        "--port",
        "0",
        settings=settings,
        preset=installed(where / "engine"),
    )
    await daemon.start()
    ann = await daemon.connect("ann", ROOT)
    chats = {}
    for name in ("acp", "llm", "asking"):
        chats[name] = await chat(ann, name, daemon.work / name)
    yield Desk(daemon, model, ann, chats)
    try:
        await daemon.leave()
    finally:
        await model.stop()


# -- the chain --------------------------------------------------------------------------

S, H = "session", "host"
LS_RM = "ls && rm -rf x"
#: What is pushed (to the session, to the host), the line, and what becomes of it.
LINES = {
    "unknown": ({}, {}, "./x", "asked"),
    "the table": ({}, {}, "ls -l", "ran"),
    "a list is its parts": ({}, {}, LS_RM, "asked"),
    "a pipe is its parts": ({}, {}, "ls | xargs rm", "asked"),
    "a substitution": ({}, {}, "ls $(rm x)", "asked"),
    "a write inside": ({}, {}, "ls > made", "ran"),
    "a write outside": ({}, {}, "ls > /tmp/ahpd-e2e-never", "asked"),
    "a write that is checked": ({}, {}, "ls > .vscode/tasks.json", "asked"),
    "all parts allowed": (rules(allow=["Shell(rm *)"]), {}, LS_RM, "ran"),
    "allowed by the host": ({}, rules(allow=["Shell(rm *)"]), LS_RM, "ran"),
    "one part allowed": (rules(allow=["Shell(ls *)"]), {}, LS_RM, "asked"),
    "the whole line": (rules(allow=[f"Shell(commandLine:{LS_RM})"]), {}, LS_RM, "ran"),
    "denied": (rules(deny=["Shell(rm)"]), {}, LS_RM, "refused"),
    "denied by the host": ({}, rules(deny=["Shell(rm)"]), LS_RM, "refused"),
    "denied by path": (rules(deny=["Shell(rm)"]), {}, "/bin/rm x", "refused"),
    "denied in quotes": (rules(deny=["Shell(rm)"]), {}, "r''m x", "refused"),
    "denied over allowed": (
        rules(allow=["Shell"], deny=["Shell(rm)"]), rules(allow=["Shell(rm *)"]), LS_RM, "refused",
    ),
    "denied over everything": (
        rules(deny=["Shell(rm)"]), {"globalAutoApproveEnabled": True}, LS_RM, "refused",
    ),
    "asked over allowed": (rules(allow=["Shell"], ask=["Shell(rm)"]), {}, LS_RM, "asked"),
    "everything": ({}, {"globalAutoApproveEnabled": True}, LS_RM, "ran"),
    "everything over asked": (
        rules(ask=["Shell(rm)"]), {"globalAutoApproveEnabled": True}, LS_RM, "ran",
    ),
    "everything is restricted": (
        {}, {"globalAutoApproveEnabled": True, "autoApprovePolicyRestricted": True}, LS_RM,
        "asked",
    ),
    "the table is off": ({}, {"terminalAutoApproveEnabled": False}, "ls", "asked"),
}  # fmt: skip


async def outcome(desk, one, begun, name):
    """What becomes of one call: asked, ran or refused. Nobody answers what is asked."""
    since = len(desk.ann.envelopes(one.chat))
    turn = await begun()

    def settled():
        state = desk.ann.state(one.chat).get("activeTurn")
        pending = state is not None and any(
            part["kind"] == "toolCall" and part["toolCall"]["status"] == "pending-confirmation"
            for part in state["responseParts"]
        )
        return "asked" if pending else "over" if one.turn(turn) else None

    found = await desk.ann.wait_for(settled, what=f"what becomes of {name}")
    if found == "asked":
        (open_call,) = one.open()
        await desk.ann.wait_for(lambda: desk.ann.state(one.session).get("inputNeeded"))
        assert await one.answers(open_call, False)
        await one.finished(turn)
        return "asked", turn
    # Nobody was shown a question.
    said = desk.ann.envelopes(one.chat)[since:]
    ready = [each.action for each in said if each.type == "chat/toolCallReady"]
    assert all(action.get("confirmed") for action in ready), ready
    (call,) = calls_in(one.turn(turn))
    return ("ran" if call["success"] else "refused"), turn


@pytest.mark.parametrize("provider", ["acp", "llm"])
@pytest.mark.parametrize("row", LINES)
@pytest_twisted.ensureDeferred
async def test_a_shell_line(desk, row, provider):
    session, host, line, wanted = LINES[row]
    one = desk.chats[provider]
    await desk.plain()
    await configures_host(desk.ann, **host)
    await configures(one, **session)
    name = f"{row}-{provider}".replace(" ", "-")
    deed = ["ask", shell(name, line)]
    if provider == "llm":
        deed = ["tools", ["shell_exec", {"command": line}]]
        (one.folder / "x").write_text("there")
    found, _ = await outcome(desk, one, lambda: one.begin(deed), name)
    assert found == wanted
    if provider == "acp":
        word = "ran" if wanted == "ran" else "refused"
        assert one.deeds()[-1] == [word, name]
    elif "rm" in line:
        assert (one.folder / "x").exists() == (wanted != "ran")


FILES = {
    "a read inside": ({}, {}, "read", "a.txt", "ran"),
    "a read outside": ({}, {}, "read", "/etc/hostname", "asked"),
    "a read through a link": ({}, {}, "read", "out/hostname", "asked"),
    "a read up and out": ({}, {}, "read", "../other/a", "asked"),
    "a read outside, allowed": (rules(allow=["Read(/etc/**)"]), {}, "read", "/etc/hostname", "ran"),
    "a read inside, denied": (rules(deny=["Read(**/a.txt)"]), {}, "read", "a.txt", "refused"),
    "a write inside": ({}, {}, "edit", "a.txt", "ran"),
    "a write outside": ({}, {}, "edit", "/tmp/ahpd-e2e-never", "asked"),
    "a write through a link": ({}, {}, "edit", "out/ahpd-e2e-never", "asked"),
    "a write that is checked": ({}, {}, "edit", ".vscode/settings.json", "asked"),
    "one checked file": (
        lambda folder: rules(allow=[f"Edit({folder}/.vscode/settings.json)"]), {}, "edit",
        ".vscode/settings.json", "ran",
    ),
    "all checked files": (rules(allow=["Edit"]), {}, "edit", ".vscode/settings.json", "asked"),
    "a pattern asks": (
        {}, {"editAutoApprovePatterns": {"**/*": True, "**/*.lock": False}}, "edit", "a.lock",
        "asked",
    ),
    "a write denied by the host": ({}, rules(deny=["Edit(**/a.txt)"]), "edit", "a.txt", "refused"),
}  # fmt: skip


@pytest.mark.parametrize("row", FILES)
@pytest_twisted.ensureDeferred
async def test_a_file(desk, row):
    session, host, kind, path, wanted = FILES[row]
    one = desk.chats["acp"]
    out = one.folder / "out"
    if not out.is_symlink():
        out.symlink_to("/etc")
    await desk.plain()
    await configures_host(desk.ann, **host)
    await configures(one, **(session(one.folder) if callable(session) else session))
    name = row.replace(" ", "-")
    call = file(name, kind, one.folder / path)
    found, _ = await outcome(desk, one, lambda: one.begin(["ask", call]), name)
    assert found == wanted


@pytest.mark.parametrize(
    ("session", "wanted"),
    [
        ({}, "asked"),
        (rules(allow=["WebFetch(https://example.com)"]), "ran"),
        (rules(allow=["WebFetch(https://example.com:8443)"]), "asked"),
        (rules(deny=["WebFetch(https://*.com)"]), "refused"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_fetch(desk, session, wanted):
    await desk.plain()
    one = desk.chats["acp"]
    await configures(one, **session)
    call = fetch(f"fetch-{wanted}", "https://example.com/page")
    assert (await outcome(desk, one, lambda: one.begin(["ask", call]), "it"))[0] == wanted


# -- what only a person may answer ---------------------------------------------------------

OWN = [{"id": "forever", "label": "Forever", "kind": "approve"}]


@pytest.mark.parametrize(
    ("fields", "wanted"),
    [
        ({}, "ran"),
        ({"sandbox_bypass": True}, ["Allow", "Skip"]),
        ({"managed": True}, ["Allow Once", "Skip"]),
    ],
)
@pytest.mark.parametrize("where", [S, H])
@pytest_twisted.ensureDeferred
async def test_allow_all_answers_all_but_what_is_a_persons(desk, where, fields, wanted):
    await desk.plain()
    one = desk.chats["asking"]
    if where == S:
        await configures(one, autoApprove="autoApprove")
    else:
        await configures_host(desk.ann, globalAutoApproveEnabled=True)
    await configures(one, **rules(allow=["Shell", "Run"]))
    call = {"id": "c", "tool": "Run", "kind": "shell", "command": "rm x", "options": OWN, **fields}
    turn = await one.begin(call)
    if wanted == "ran":
        ended = await one.finished(turn)
        assert [each["status"] for each in calls_in(ended)] == ["completed"]
        return
    asked = (await one.asked("c"))["c"]
    assert [option["label"] for option in asked["options"]] == wanted
    marked = (asked.get("_meta") or {}).get("agentHost.sandboxBypass")
    assert marked is (True if fields.get("sandbox_bypass") else None)
    assert await one.answers("c", True, "allow-once")
    await one.finished(turn)
    # Nothing is kept of it: it is asked again.
    later = await one.begin(call)
    await one.asked("c")
    assert await one.answers("c", False)
    await one.finished(later)
    assert [each[0] for each in one.deeds()[-2:]] == ["ran", "refused"]


@pytest_twisted.ensureDeferred
async def test_what_came_with_a_message_is_read_freely_and_never_written(desk):
    await desk.plain()
    one = desk.chats["acp"]
    data = base64.b64encode(b"\x89PNG\r\n\x1a\nsnapshot").decode()
    picture = {"type": "embeddedResource", "contentType": "image/png", "label": "a.png"}
    attached = [{**picture, "data": data}]
    ended = await one.does(["say", "seen"], attachments=attached)
    path = Path(path_of(ended["message"]["attachments"][0]["uri"]))
    before = look(path.parent)
    for name in ("acp", "llm", "asking"):
        await configures(
            desk.chats[name], **rules(allow=["Edit", f"Edit({path})", "Shell", "Read"])
        )
    await configures_host(desk.ann, globalAutoApproveEnabled=True)
    calls = [file("over", "edit", path), file("into", "edit", path.parent / "new")]
    for call in calls:
        found = await outcome(desk, one, lambda call=call: one.begin(["ask", call]), "it")
        assert found[0] == "refused"
    link = one.folder / "link.png"
    link.symlink_to(path)
    through = file("through", "edit", link)
    assert (await outcome(desk, one, lambda: one.begin(["ask", through]), "it"))[0] == "refused"
    model = desk.chats["llm"]
    deed = ["tools", ["write_file", {"path": str(path), "content": "mine"}]]
    assert (await outcome(desk, model, lambda: model.begin(deed), "it"))[0] == "refused"
    await configures_host(desk.ann, globalAutoApproveEnabled=False)
    await configures(one, **rules())
    reads = file("reads", "read", path)
    assert (await outcome(desk, one, lambda: one.begin(["ask", reads]), "it"))[0] == "ran"
    assert look(path.parent) == before


# -- what an answer keeps --------------------------------------------------------------------


def option_of(call, words):
    (found,) = [each["id"] for each in call["options"] if words in each["label"]]
    return found


@pytest_twisted.ensureDeferred
async def test_a_grant_in_this_session_is_used_there_by_all_and_nowhere_else(desk):
    await desk.plain()
    ann = desk.ann
    one = await chat(ann, "acp", desk.daemon.work / "granted")
    bob = await desk.daemon.connect("bob", ROOT)
    seen = await one.seen_by(bob)
    turn = await one.begin(["ask", shell("a", "make all"), shell("b", "make clean")])
    asked = await one.asked("a", "b")
    chosen = option_of(asked["a"], "`make …` in this Session")
    assert await seen.answers("a", True, chosen)
    await ann.ping()  # who was told of it by now, too
    # What stands already stays with the person it was put to.
    assert list(one.open()) == ["b"]
    assert await one.answers("b", False)
    await one.finished(turn)
    assert (await one.does(["ask", shell("c", "make it")]))["state"] == "complete"
    # Another chat of it, and not another session.
    second = "ahp-chat:/second-granted"
    await ann.request("createChat", channel=one.session, chat=second)
    await ann.subscribe(second)
    await Chat(ann, one.session, second, one.folder).does(["ask", shell("d", "make it too")])
    other = await chat(ann, "acp", desk.daemon.work / "elsewhere")
    turn = await other.begin(["ask", shell("e", "make it")])
    await other.asked("e")
    assert await other.answers("e", False)
    await other.finished(turn)
    assert one.deeds("ran") == [["ran", "a"], ["ran", "c"], ["ran", "d"]]
    assert other.deeds() == [["refused", "e"]]
    assert bob.state(one.session)["config"]["values"]["permissions"]["allow"] == ["Shell(make *)"]
    await leaves(desk.daemon, bob)


@pytest_twisted.ensureDeferred
async def test_an_answer_that_came_too_late_grants_nothing(desk):
    await desk.plain()
    one = await chat(desk.ann, "acp", desk.daemon.work / "late-grant")
    bob = await desk.daemon.connect("bob2", ROOT)
    seen = await one.seen_by(bob)
    turn = await one.begin(["ask", shell("a", "make all"), shell("b", "./b")])
    asked = await one.asked("a", "b")
    await seen.asked("a", "b")
    assert await one.answers("a", False)
    for words in ("Always Allow `make …`", "`make …` in this Session"):
        # The turn goes on, and Bob's screen may still show what Ann turned down.
        bob.dispatch(one.chat, confirmed(turn, "a", True, option_of(asked["a"], words)))
    await bob.ping()
    await desk.ann.ping()
    for state in (desk.ann.state(ROOT), desk.ann.state(one.session)):
        assert not state["config"]["values"].get("permissions", {}).get("allow")
    assert await one.answers("b", False)
    await one.finished(turn)
    assert sorted(one.deeds()) == [["refused", "a"], ["refused", "b"]]
    await leaves(desk.daemon, bob)


@pytest_twisted.ensureDeferred
async def test_grants_over_backends_and_over_a_restart(make_daemon, tmp_path):
    """Always is every session's until the host ends; in this Session is kept with it."""
    from twisted.internet import reactor

    model = Model(reactor)
    model.start()
    settings = {"agents": [acp(), llm(model)]}
    daemon = await make_daemon("--port", "0", settings=settings).start()
    try:
        ann = await daemon.connect("ann", ROOT)
        program = await chat(ann, "acp", daemon.work / "p")
        other = await chat(ann, "llm", daemon.work / "m")
        turn = await program.begin(["ask", shell("a", "touch a"), shell("b", "mkdir b")])
        asked = await program.asked("a", "b")
        assert await program.answers("a", True, option_of(asked["a"], "Always Allow `touch …`"))
        chosen = option_of(asked["b"], "`mkdir …` in this Session")
        assert await program.answers("b", True, chosen)
        await program.finished(turn)
        # The host's grant is used by the other backend, the session's is not.
        await other.does(["tools", ["shell_exec", {"command": "touch granted"}]])
        assert (other.folder / "granted").exists()
        turn = await other.begin(["tools", ["shell_exec", {"command": "mkdir asked"}]])
        (name,) = await other.asked()
        assert await other.answers(name, False)
        await other.finished(turn)
        assert not (other.folder / "asked").exists()
        await daemon.kill()
        await daemon.start()
        bob = await daemon.connect("bob", ROOT)
        ends = ends_of(bob)
        program = await again(bob, program)
        turn = await program.begin(["ask", shell("c", "mkdir c"), shell("d", "touch d")])
        await program.asked("d")
        assert list(program.open()) == ["d"]
        assert await program.answers("d", False)
        await program.finished(turn)
        deeds = [tuple(each) for each in program.deeds()]
        assert sorted(deeds) == [("ran", "a"), ("ran", "b"), ("ran", "c"), ("refused", "d")]
        assert ends == {turn: 1}
    finally:
        await model.stop()


# -- operators -----------------------------------------------------------------------------

MANAGED = {
    "deny": ["Shell(curl)", "Write(/etc/**)"],
    "ask": ["Shell(git push *)"],
    "disableBypassPermissionsMode": "disable",
    "limitTo": ["Domain(*.example.com)"],
}
#: What each call comes to under `checked` and under `handed`, with everything allowed.
OPERATED = {
    "curl": (shell("curl", "curl x.example.com"), "refused", "ran"),
    "etc": (file("etc", "edit", "/etc/motd"), "refused", "ran"),
    "push": (shell("push", "git push origin"), "asked", "ran"),
    "limited": (fetch("limited", "https://elsewhere.net/a"), "refused", "ran"),
    "in the limits": (fetch("inside", "https://a.example.com/a"), "ran", "ran"),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["checked", "handed"])
@pytest_twisted.ensureDeferred
async def test_what_the_operator_manages(make_daemon, tmp_path, mode):
    settings = {
        "agents": [acp(), asking()],
        "managedSettingsPermissions": MANAGED,
        "eligibleForAutoApproval": {"Run": False},
        "managedRules": mode,
    }
    daemon = make_daemon("--port", "0", settings=settings, preset=installed(tmp_path / "engine"))
    await daemon.start()
    ann = await daemon.connect("ann", ROOT)
    desk = Desk(daemon, None, ann, {})
    one = await chat(ann, "acp", daemon.work / "p")
    allow = ["Shell", "Edit", "WebFetch", "Edit(/etc/motd)"]
    await configures(one, **rules(allow=allow))
    for name, (call, checked, handed) in OPERATED.items():
        found, _ = await outcome(desk, one, lambda c=call: one.begin(["ask", c]), name)
        assert found == (checked if mode == "checked" else handed), name
    # The lock on Allow All holds under either.
    await configures_host(ann, globalAutoApproveEnabled=True)
    await configures(one, **rules())
    call = shell("locked", "./anything")
    assert (await outcome(desk, one, lambda: one.begin(["ask", call]), "locked"))[0] == "asked"
    # The tool nobody but a person approves, and what the backends are handed.
    other = await chat(ann, "asking", daemon.work / "a")
    await configures(other, **rules(allow=["Run"]))
    turn = await other.begin({"id": "r", "tool": "Run", "kind": "custom-tool", "options": OWN})
    if mode == "checked":
        asked = (await other.asked("r"))["r"]
        assert [option["label"] for option in asked["options"]] == ["Allow Once", "Skip"]
        assert await other.answers("r", True)
    await other.finished(turn)
    (start,) = other.deeds("start")
    assert start[1] == {"permissions": MANAGED}


@pytest.mark.parametrize(
    ("managed", "words"),
    [
        ({"deny": ["Shell(ls", "Read"]}, "managedSettingsPermissions.deny[0]"),
        ({"ask": ["Fetch(x)"]}, "managedSettingsPermissions.ask[0]"),
        ({"limitTo": ["Shell"]}, "managedSettingsPermissions.limitTo[0]"),
        ({"disableBypassPermissionsMode": True}, "disableBypassPermissionsMode"),
        ({"allow": ["Shell"]}, "managedSettingsPermissions.allow"),
    ],
)
def test_a_rule_that_cannot_be_read_stops_the_start(make_daemon, managed, words):
    daemon = make_daemon(settings={"managedSettingsPermissions": managed})
    ended = daemon.run("--port", "0")
    assert ended.returncode == 2
    assert words in ended.stderr
    assert len(ended.stderr.strip().splitlines()) == 1, ended.stderr
