"""The chain a question goes down before anybody is asked."""

import pytest
from zope.interface.verify import verifyObject

from ahpd.interfaces.permissions import IJudge
from ahpd.interfaces.turns import Permission
from ahpd.permissions import Judge, parse_managed

from .permission_questions import fetch, file, ids, lists, project, question, shell


@pytest.fixture
def folder(tmp_path):
    return project(tmp_path)


@pytest.fixture
def judge(tmp_path):
    return Judge(home=str(tmp_path / "home"))


def managed(**document):
    return parse_managed(document)


def test_it_provides_the_interface(judge):
    verifyObject(IJudge, judge)


# -- what refuses -----------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["session", "host"])
@pytest.mark.parametrize(
    "rule", ["Bash", "Shell", "Shell(rm)", "Shell(rm *)", "Shell(commandLine:ls; rm x)"]
)
def test_a_deny_rule_of_either_scope_refuses_whatever_else_allows(judge, scope, rule):
    values = {"permissions": lists(allow=["Bash", "Shell"], deny=[rule])}
    asked = question(
        Permission(kind="shell", command="ls; rm x", sandbox_bypass=True),
        "Bash",
        **{scope: {**values, "globalAutoApproveEnabled": True}},
    )
    verdict = judge.judge(asked)
    assert verdict.decision == "deny"
    assert rule in verdict.because


@pytest.mark.parametrize(
    "line", ["r''m x", "\\rm x", "/bin/rm x", "ls && $(rm x)", "time rm x", "(rm x) &"]
)
def test_a_deny_rule_is_about_what_bash_runs_however_it_is_written(judge, line):
    assert judge.judge(shell(line, deny=["Shell(rm)"])).decision == "deny"


@pytest.mark.parametrize("line", ["$x y", "r\\\nm x", "case x in a) rm;; esac", "a ${b:-$(c)}"])
def test_a_line_that_may_be_refused_is_asked_about_even_where_everything_is_allowed(judge, line):
    asked = shell(line, deny=["Shell(rm)"], host={"globalAutoApproveEnabled": True})
    verdict = judge.judge(asked)
    assert verdict.decision in ("ask", "deny")
    assert (
        judge.judge(
            shell("ls", deny=["Shell(rm)"], host={"globalAutoApproveEnabled": True})
        ).decision
        == "approve"
    )


def test_a_write_to_what_came_with_a_message_is_refused_by_any_path_to_it(judge, folder):
    snapshots = [str(folder.parent / "outside")]
    for path in (folder / "out" / "secret", folder.parent / "outside" / "new", folder / "dangling"):
        for kind, expected in (("write", "deny"), ("read", "approve")):
            asked = file(
                kind, path, allow=["Edit"], host={"globalAutoApproveEnabled": True},
                folders=[str(folder)], snapshots=snapshots,
            )  # fmt: skip
            assert judge.judge(asked).decision == expected, path


def test_a_managed_rule_refuses_ahead_of_everything_where_it_is_checked():
    rules = managed(deny=["Shell(git push *)", "Domain(evil.example)"])
    asked = shell("git push", allow=["Bash"], host={"globalAutoApproveEnabled": True})
    assert Judge(rules).judge(asked).decision == "deny"
    assert Judge(rules, checked=False).judge(asked).decision == "approve"
    assert (
        Judge(rules).judge(fetch("http://evil.example:81/x", allow=["WebFetch"])).decision == "deny"
    )


def test_a_fetch_from_a_host_no_boundary_names_is_refused():
    judge = Judge(managed(limitTo=["Domain(*.example.com)"]))
    decisions = {
        url: judge.judge(fetch(url, allow=["WebFetch"])).decision
        for url in (
            "https://a.example.com/x", "http://example.com", "https://example.org",
            "https://example.com.evil.org", "https://example.com@evil.org", "not a url",
            "https://evil.org\\@example.com",
        )
    }  # fmt: skip
    assert [url for url, decision in decisions.items() if decision != "deny"] == [
        "https://a.example.com/x", "http://example.com",
    ]  # fmt: skip
    assert Judge(managed(limitTo=[])).judge(fetch("https://a.b")).decision == "deny"
    assert Judge(managed(limitTo=["Domain"])).judge(fetch("https://a.b")).decision == "ask"


# -- what only a person answers --------------------------------------------------------------


def test_a_call_that_leaves_its_sandbox_is_asked_about_and_keeps_nothing(judge):
    asked = question(
        Permission(kind="shell", command="ls", sandbox_bypass=True),
        "Bash",
        session={"permissions": lists(["Bash"]), "autoApprove": "autoApprove"},
        host={"globalAutoApproveEnabled": True},
    )
    verdict = judge.judge(asked)
    assert verdict.decision == "ask"
    assert verdict.options == (
        {"id": "allow-once", "label": "Allow", "kind": "approve"},
        {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
    )
    assert verdict.grants == {}
    assert verdict.meta == {"agentHost.sandboxBypass": True}


EVERYTHING = {"globalAutoApproveEnabled": True}


@pytest.mark.parametrize(
    ("judge", "changes"),
    [
        (Judge(), {"permission": Permission(kind="custom-tool", managed=True)}),
        (Judge(checked=False), {"permission": Permission(kind="custom-tool", managed=True)}),
        (Judge(eligible={"Tool": False}), {}),
        (Judge(eligible={"server/*": False}), {"eligibility": "server/tool"}),
        (Judge(eligible={"server/*": True, "server/tool": False}), {"eligibility": "server/tool"}),
        (
            Judge(parse_managed({"ask": ["Read(/etc/**)"]})),
            {"permission": Permission(kind="read", path="/etc/passwd")},
        ),
    ],
)
def test_a_managed_ask_offers_once_and_not_at_all_alone(judge, changes):
    changes = {"permission": Permission(kind="custom-tool"), **changes}
    permission = changes.pop("permission")
    given = [{"id": "mine", "label": "Mine", "kind": "approve"}]
    session = {"permissions": lists(["Tool"]), "autoApprove": "autoApprove"}
    asked = question(permission, session=session, host=EVERYTHING, options=given, **changes)
    verdict = judge.judge(asked)
    assert (verdict.decision, ids(verdict), verdict.grants) == ("ask", ["allow-once", "skip"], {})


@pytest.mark.parametrize(
    ("eligible", "key"),
    [
        ({"Tool": True}, "Tool"),
        ({"tool": False}, "Tool"),
        ({"server/*": False}, "server"),
        ({"server/*": False, "server/tool": True}, "server/tool"),
        ({"serv/*": False}, "server/tool"),
    ],
)
def test_a_tool_no_key_names_is_not_asked_about_for_its_eligibility(eligible, key):
    asked = question(Permission(kind="custom-tool"), host=EVERYTHING, eligibility=key)
    assert Judge(eligible=eligible).judge(asked).decision == "approve"
    asked = question(Permission(kind="custom-tool"), host=EVERYTHING, eligibility="Tool")
    assert Judge(eligible={"Tool": False}, checked=False).judge(asked).decision == "approve"


# -- allow all -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("session", "host", "lock", "decision"),
    [
        ({}, EVERYTHING, False, "approve"),
        ({"autoApprove": "autoApprove"}, {}, False, "approve"),
        ({"autoApprove": "assisted"}, {}, False, "ask"),
        ({}, {"globalAutoApproveEnabled": "yes"}, False, "ask"),
        ({}, {**EVERYTHING, "autoApprovePolicyRestricted": True}, False, "ask"),
        ({"autoApprove": "autoApprove"}, {"autoApprovePolicyRestricted": True}, False, "ask"),
        ({"autoApprove": "autoApprove"}, EVERYTHING, True, "ask"),
    ],
)
@pytest.mark.parametrize("checked", [True, False])
def test_allow_all_approves_unless_a_policy_takes_it_away(session, host, lock, decision, checked):
    rules = managed(disableBypassPermissionsMode="disable") if lock else None
    session = {"permissions": lists(ask=["Tool"]), **session}
    asked = question(Permission(kind="custom-tool"), session=session, host=host)
    assert Judge(rules, checked=checked).judge(asked).decision == decision


def test_nothing_is_read_of_a_line_that_nothing_depends_on(judge, monkeypatch):
    monkeypatch.setattr(judge._reader, "read", None)
    host = {"globalAutoApproveEnabled": True}
    assert judge.judge(shell("make; x", host=host)).decision == "approve"
    assert judge.judge(shell("make; x", allow=["Bash"])).decision == "approve"


# -- rules -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "family"),
    [("shell", "Shell"), ("read", "Read"), ("write", "Edit"), ("url", "WebFetch")],
)
def test_a_family_alone_is_about_all_of_its_kind_and_about_no_other(judge, kind, family):
    for other in ("shell", "read", "write", "url", "custom-tool"):
        asked = question(
            Permission(kind=other, path="/x/y", url="https://a.b/", command="make"),
            session={"permissions": lists([family])},
        )
        assert judge.judge(asked).decision == ("approve" if other == kind else "ask")


def test_an_ask_rule_asks_before_an_allow_rule_approves(judge):
    assert judge.judge(shell("ls", allow=["Bash"], ask=["Shell(ls)"])).decision == "ask"
    assert judge.judge(shell("ls", allow=["Bash"], ask=["Shell(cat)"])).decision == "approve"
    assert judge.judge(shell("$x", allow=["Bash"], ask=["Shell(cat)"])).decision == "ask"


def test_values_that_are_no_lists_of_rules_are_no_rules(judge):
    for broken in (
        "Bash",
        {"allow": "Bash"},
        {"allow": ["Bash", 1]},
        {"allow": ["Bash"], "deny": None},
        [],
    ):
        asked = question(
            Permission(kind="shell", command="make"), "Bash", session={"permissions": broken}
        )
        assert judge.judge(asked).decision == "ask", broken


# -- files ---------------------------------------------------------------------------------------------


def test_reads_and_writes_in_the_folders_are_approved_where_they_really_are_there(judge, folder):
    def decided(kind, path):
        return judge.judge(file(kind, path, folders=[str(folder)])).decision

    for kind in ("read", "write"):
        assert decided(kind, folder / "a.py") == "approve"
        assert decided(kind, folder / "new" / "deep.py") == "approve"
        assert decided(kind, folder.parent / "outside" / "secret") == "ask"
        assert decided(kind, folder / "out" / "secret") == "ask"
        assert decided(kind, folder / "out" / "new") == "ask"
        assert decided(kind, folder / "dangling") == "ask"
        assert decided(kind, f"{folder}/../outside/secret") == "ask"
        assert decided(kind, f"{folder}/out/../a.py") == "ask"  # the kernel follows `out` first
        assert decided(kind, f"{folder}-sibling/x") == "ask"
        assert decided(kind, "a.py") == "ask"
        assert decided(kind, f"{folder}/a\0.py") == "ask"
    (folder / "loop").symlink_to(folder / "loop")
    assert decided("write", folder / "loop") == "ask"


def test_a_link_from_one_folder_to_another_is_asked_about(judge, folder, tmp_path):
    folders = [str(folder), str(tmp_path / "outside")]
    assert (
        judge.judge(file("read", tmp_path / "outside" / "secret", folders=folders)).decision
        == "approve"
    )
    assert judge.judge(file("read", folder / "out" / "secret", folders=folders)).decision == "ask"


def test_reading_what_was_attached_is_approved_and_writing_it_is_not(judge, folder, tmp_path):
    attached = [str(tmp_path / "outside" / "secret")]
    path = tmp_path / "outside" / "secret"
    assert (
        judge.judge(file("read", path, folders=[str(folder)], attached=attached)).decision
        == "approve"
    )
    assert (
        judge.judge(file("write", path, folders=[str(folder)], attached=attached)).decision == "ask"
    )
    assert (
        judge.judge(file("read", f"{path}2", folders=[str(folder)], attached=attached)).decision
        == "ask"
    )


@pytest.mark.parametrize(
    ("name", "decision"),
    [
        ("src/a.py", "approve"), (".git/config", "ask"), ("package.json", "ask"), ("x/Cargo.toml", "ask"),
        ("yarn.lock", "ask"), ("package-lock.json", "ask"), ("a.csproj", "ask"), (".env", "ask"),
        (".vscode/settings.json", "ask"), (".claude/settings.local.json", "ask"),
        (".github/hooks/x/y", "ask"), (".github/workflows/x.yml", "approve"),
    ],
)  # fmt: skip
def test_the_edit_patterns_decide_in_the_folders(judge, folder, name, decision):
    assert judge.judge(file("write", folder / name, folders=[str(folder)])).decision == decision


def test_pushed_edit_patterns_replace_the_default_ones_but_those_always_checked(judge, folder):
    def decided(name, patterns):
        host = {"editAutoApprovePatterns": patterns}
        return judge.judge(file("write", folder / name, folders=[str(folder)], host=host)).decision

    assert decided(".env", {}) == "approve"
    assert decided(".vscode/settings.json", {"**/*": True}) == "ask"
    assert decided("a.py", {"**/*": True, "**/*.py": False}) == "ask"
    assert decided("a.py", {"**/*": False, "**/*.py": True}) == "approve"
    assert decided("a.py", {"**/[": False}) == "ask"
    assert decided("a.py", {"**/*": "yes"}) == "ask"


def test_what_is_always_checked_is_approved_by_a_rule_for_it_alone(judge, folder):
    path = folder / ".vscode" / "tasks.json"
    for rule, decision in (
        ("Edit", "ask"), ("Edit(**)", "ask"), (f"Edit({folder}/**)", "ask"),
        (f"Edit({folder}/.vscode/*.json)", "ask"), (f"Edit({path})", "approve"),
        ("Edit(.vscode/tasks.json)", "approve"),
    ):  # fmt: skip
        assert (
            judge.judge(file("write", path, allow=[rule], folders=[str(folder)])).decision
            == decision
        )


def test_files_that_are_hidden_at_home_are_asked_about_wherever_the_folders_are(tmp_path):
    judge = Judge(home=str(tmp_path))
    for name, decision in ((".bashrc", "ask"), (".config/x", "ask"), ("x/.hidden", "approve")):
        asked = file("write", tmp_path / name, folders=[str(tmp_path)])
        assert judge.judge(asked).decision == decision


def test_path_rules_name_a_file_by_either_of_its_paths(judge, folder, tmp_path):
    target = tmp_path / "outside" / "secret"
    for rule in (
        f"Read({target})",
        f"Read({tmp_path}/outside/**)",
        "Read(**/secret)",
        "Read(out/*)",
    ):
        assert (
            judge.judge(
                file("read", folder / "out" / "secret", deny=[rule], folders=[str(folder)])
            ).decision
            == "deny"
        )
    # To approve, both are named.
    asked = file("read", folder / "out" / "secret", allow=["Read(out/**)"], folders=[str(folder)])
    assert judge.judge(asked).decision == "ask"
    asked = file(
        "read",
        folder / "out" / "secret",
        allow=["Read(out/**)", f"Read({target})"],
        folders=[str(folder)],
    )
    assert judge.judge(asked).decision == "approve"


def test_home_is_what_a_tilde_means(tmp_path):
    judge = Judge(home=str(tmp_path))
    assert (
        judge.judge(file("read", tmp_path / ".ssh" / "id", deny=["Read(~/.ssh/**)"])).decision
        == "deny"
    )


def test_a_path_rule_nobody_can_read_refuses_nothing_and_has_it_asked(judge, folder):
    asked = file(
        "write", folder / "a.py", deny=["Edit(**/[)"], folders=[str(folder)], host=EVERYTHING
    )
    assert judge.judge(asked).decision == "ask"


# -- what fails ---------------------------------------------------------------------------------------------


@pytest.mark.logs_failures
def test_what_cannot_be_judged_is_asked_about(judge):
    asked = question(Permission(kind="read", path="/x"), folders=[3])
    verdict = judge.judge(asked)
    assert (verdict.decision, ids(verdict)) == ("ask", ["allow-once", "skip"])


# -- names that look like something else -----------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["Shell", "Edit", "Read", "WebFetch", "Shell(rm *)", "Edit(/etc/**)"]
)
def test_a_tool_that_is_called_like_a_rule_for_more_than_itself_is_allowed_once_alone(judge, name):
    verdict = judge.judge(question(Permission(kind="mcp"), name))
    assert ids(verdict) == ["allow-once", "skip"]
    assert verdict.grants == {}
    own = [
        {"id": "allow-session", "label": "Yes", "kind": "approve"},
        {"id": "x", "label": "X", "kind": "deny"},
    ]
    verdict = judge.judge(question(Permission(kind="mcp"), name, options=own))
    assert (ids(verdict), verdict.grants) == (["x"], {})


@pytest.mark.parametrize(
    ("eligible", "key", "eligible_then"),
    [
        ({"a/b/*": False}, "a/b/c", False),
        ({"a/*": False}, "a/b/c", False),
        ({"a/b/c": True, "a/*": False}, "a/b/c", True),
        ({"a/b/*": True, "a/*": False}, "a/b/c", False),
        ({"b/*": False}, "a/b/c", True),
        ({"a*": False, "*": False, "/*": False}, "a/b", True),
        ({"host/x": False}, "x", True),
        ({"Bash": False}, "bash", True),
    ],
)
def test_a_key_names_a_tool_or_every_tool_of_a_server(eligible, key, eligible_then):
    judge = Judge(eligible=eligible, home="/home/nobody")
    everything = {"globalAutoApproveEnabled": True}
    asked = question(Permission(kind="mcp"), eligibility=key, host=everything)
    assert judge.judge(asked).decision == ("approve" if eligible_then else "ask")
    handed = Judge(eligible=eligible, home="/home/nobody", checked=False)
    assert handed.judge(asked).decision == "approve", "handed on, this host checks none"


def test_handed_on_a_managed_rule_is_the_backend_s_but_for_the_lock():
    managed = parse_managed(
        {"deny": ["Shell(rm)"], "ask": ["Shell(ls)"], "limitTo": ["Domain(a.example)"], "disableBypassPermissionsMode": "disable"}
    )  # fmt: skip
    judge = Judge(managed, home="/home/nobody", checked=False)
    everything = {"globalAutoApproveEnabled": True}
    assert judge.judge(shell("ls")).decision == "approve", "the table"
    assert judge.judge(shell("rm x", host=everything)).decision == "ask", "the lock"
    assert judge.judge(fetch("https://b.example", allow=["WebFetch"])).decision == "approve"
    told = question(Permission(kind="shell", command="ls", managed=True))
    assert ids(judge.judge(told)) == ["allow-once", "skip"]
