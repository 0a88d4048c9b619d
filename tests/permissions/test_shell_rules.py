"""`Shell(...)` rules over lines."""

import pytest

from ahpd.permissions import Judge

from .permission_questions import project, shell

JUDGE = Judge(home="/home/nobody", default_table=False)


@pytest.mark.parametrize(
    ("rule", "line", "decision"),
    [
        ("Shell(make)", "make", "approve"),
        ("Shell(make)", "make all", "ask"),
        ("Shell(make *)", "make", "approve"),
        ("Shell(make *)", "make all -j", "approve"),
        ("Shell(make *)", "makefoo", "ask"),
        ("Shell(make*)", "makefoo", "approve"),
        ("Shell(*)", "anything at all", "approve"),
        ("Shell(*)", "a; b | c", "approve"),
        ("Shell(*)", "a > /etc/x", "ask"),
        ("Shell(*)", "X=1 a", "ask"),
        ("Shell(*)", "$a b", "ask"),
        ("Shell(*)", "a 'b", "ask"),
        ("Shell(make *)", "make; rm x", "ask"),
        ("Shell(make *)", "make $(rm x)", "ask"),
        ("Shell(make *)", "make `make`", "approve"),
        ("Shell(make *)", "make\nrm x", "ask"),
        ("Shell(make *)", "ma\\ke x", "ask"),
        ("Shell(make x && rm y)", "make x && rm y", "approve"),
        ("Shell(make x && rm y)", "make x && rm y && z", "ask"),
        ("Shell(npm run test:*)", "npm run test:unit", "approve"),
        ("Shell(npm run test:*)", "npm run build", "ask"),
        ("Shell(ls \\*.py)", "ls *.py", "approve"),
        ("Shell(ls \\*.py)", "ls a.py", "ask"),
        ("Shell(git commit -m 'a b')", "git commit -m 'a b'", "approve"),
        ("Shell(git commit -m 'a b')", "git commit -m a b", "ask"),
        ("Shell(git log)", "git  log", "approve"),
        ("Shell(commandLine:X=1 make)", "X=1 make", "approve"),
        ("Shell(commandLine:X=1 make)", "X=1 make; rm x", "ask"),
        ("Shell(commandLine:a*)", "a; rm x", "ask"),
        ("Shell(commandLine:/^a( b)?$/)", "a b", "approve"),
        ("Shell(commandLine:/^a( b)?$/)", "a b\n", "approve"),
        ("Shell(commandLine:/^a( b)?$/)", "a b\nc", "ask"),
        ("Shell(commandLine:/^a/)", "a > /etc/x", "ask"),
        ("Shell()", "make", "ask"),
        ("Shell(make", "make", "ask"),
        ("Bash(make *)", "make", "ask"),
        ("shell(make)", "make", "ask"),
    ],
)
def test_what_an_allow_rule_approves(rule, line, decision):
    assert JUDGE.judge(shell(line, allow=[rule])).decision == decision


@pytest.mark.parametrize(
    ("rule", "line", "decision"),
    [
        ("Shell(rm)", "rm -rf x", "deny"),
        ("Shell(rm)", "rmdir x", "approve"),
        ("Shell(rm -rf)", "rm -rf x", "deny"),
        ("Shell(rm -rf)", "rm x", "approve"),
        ("Shell(rm * x)", "rm -r y x", "deny"),
        ("Shell(git push *)", "a && git push origin", "deny"),
        ("Shell(git push --force)", "git push $X", "ask"),
        ("Shell(git push --force)", "git pull $X", "approve"),
        ("Shell(git push --force)", "$X push", "ask"),
        ("Shell(*secret*)", "a; cat 'my secret'", "deny"),
        ("Shell(commandLine:a && b)", "a && b", "deny"),
        ("Shell(commandLine:*&& b)", "a && b", "deny"),
        ("Shell(commandLine:/b$/)", "a && b", "deny"),
        ("Shell(commandLine:/b$/)", "b a", "approve"),
        ("Shell(commandLine:/(/)", "a", "ask"),
        ("Shell(rm)", "echo 'rm x'", "approve"),
        ("Shell(rm)", "echo " + "x" * 5000, "ask"),
    ],
)
def test_what_a_deny_rule_refuses(rule, line, decision):
    asked = shell(line, allow=["Bash"], deny=[rule], host={"globalAutoApproveEnabled": True})
    assert JUDGE.judge(asked).decision == decision


@pytest.mark.parametrize(
    ("rules", "decision"),
    [
        ({"allow": ["Shell"]}, "approve"),
        ({"allow": ["Shell(commandLine:Remove-Item x; ls)"]}, "approve"),
        ({"allow": ["Shell(Remove-Item x; ls)"]}, "approve"),
        ({"allow": ["Shell(Remove-Item *)", "Shell(ls)", "Shell(*)"]}, "ask"),
        ({"allow": ["Shell"], "deny": ["Shell(Remove-Item)"]}, "deny"),
        ({"allow": ["Shell"], "deny": ["Shell(x)"]}, "ask"),
        ({}, "ask"),
    ],
)
def test_a_line_in_another_language_is_approved_as_a_whole_or_not_at_all(rules, decision):
    asked = shell("Remove-Item x; ls", language="powershell", **rules)
    assert Judge(home="/home/nobody").judge(asked).decision == decision


def test_a_redirect_goes_where_rules_for_edits_let_it(tmp_path):
    folder = project(tmp_path)
    target = tmp_path / "outside" / "new"

    def decided(line, **rules):
        return JUDGE.judge(shell(line, folders=[str(folder)], **rules)).decision

    assert decided(f"a > {target}", allow=["Shell(a)"]) == "ask"
    assert decided(f"a > {target}", allow=["Shell(a)", f"Edit({target})"]) == "approve"
    assert decided("a > new", allow=["Shell(a)"]) == "approve"
    assert decided("a > new", allow=["Shell(a)"], deny=["Edit(new)"]) == "ask"
    assert decided("a > .vscode/x.json", allow=["Shell(a)", "Edit(**)"]) == "ask"
    assert decided("a > .vscode/x.json", allow=["Shell(a)", "Edit(.vscode/x.json)"]) == "approve"
    assert decided("a > /dev/null 2>&1", allow=["Shell(a)"]) == "approve"
    assert decided("cd sub && a > x", allow=["Shell(*)"]) == "ask"
    assert decided(f"cd sub && a > {folder}/x", allow=["Shell(*)"]) == "approve"
