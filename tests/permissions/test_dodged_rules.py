"""Rules that refuse, and lines written to get past them.

Everything is allowed in these sessions, so that a line a rule does not see would run: it is
refused, or a person is asked.
"""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ahpd.permissions import Judge, parse_managed

from .permission_questions import shell

JUDGE = Judge(home="/home/nobody")
ALLOW_ALL = {"autoApprove": "autoApprove"}


def decided(line, *deny, judge=JUDGE, **known):
    asked = shell(
        line, deny=deny, session={**ALLOW_ALL, "permissions": {"deny": list(deny)}}, **known
    )
    return judge.judge(asked).decision


#: All of these run `rm x`.
REFUSED = [
    "rm x", "/bin/rm x", "./rm x", "../../bin/rm x", "~/bin/rm x", "\\rm x", "r''m x", "\"rm\" x", "r\"m\" x", "$'rm' x",
    "$'\\x72m' x", "rm\tx", "rm>y x", "x=1 rm x", "{ rm x; }", "(rm x)", "! rm x", "rm x &", "ls | rm x", "ls;rm x",
    "if rm x; then :; fi", "while rm x; do :; done", "for i in 1; do rm x; done", "case a in a) rm x;; esac",
    "f() { rm x; }; f", "function f { rm x; }; f", "echo $(rm x)", "echo `rm x`", "echo \"$(rm x)\"", "cat <(rm x)",
    "cat <<E\n$(rm x)\nE", "a=$(rm x)", "echo ${a:-$(rm x)}", "[[ -n $(rm x) ]]", "((a[$(rm x)]))", "rm x '", "time rm x", "coproc rm x",
    "command rm x", "command -p rm x", "exec rm x", "exec -a y rm x", "=rm x",
    "sh -c 'rm x'", "bash -lc 'rm x'", "/bin/dash -c 'rm x'", "bash -c 'ls; rm x'", "bash -c \"bash -c 'rm x'\"",
    "bash -o pipefail -c 'rm x'", "eval rm x", "eval 'r''m' x", "eval 'ls; rm x'", "trap 'rm x' EXIT", "command sh -c 'rm x'",
]  # fmt: skip

#: All of these may run it, and no more can be known.
ASKED = [
    "$(echo rm) x", "`echo rm` x", "$X x", "\"$X\" x", "/bin/r? x", "/b*/rm x", "/bin/$X x", "/bin/{rm,y} x", "{rm,x}", "r$X x", "bin$X x",
    "r[m] x", "~+/rm x", "~root/rm x", "r\\\nm x",
    "env rm x", "env A=b rm x", "/usr/bin/env -S 'rm x'", "sudo rm x", "sudo -u y rm x", "doas rm x", "su -c 'rm x'", "xargs rm",
    "ls | xargs -n1 rm", "xargs -I{} sh -c 'rm {}'", "nohup rm x", "nice rm x", "timeout 5 rm x", "setsid rm x", "stdbuf -o0 rm x",
    "busybox rm x", "builtin rm x", "parallel rm ::: x", "watch rm x", "script -c 'rm x'", "ssh h rm x", "flock f rm x",
    "/lib64/ld-linux-x86-64.so.2 /bin/rm x", "sudo $X", "env $X x", "xargs $X",
    "find . -exec rm {} +", "find . -execdir rm {} ;", "git -c alias.y='!rm x' y", "git -c core.pager='rm x' log",
    "tar cf y x --to-command='rm x'", "tar cf y x --checkpoint-action=exec='rm x'", "awk 'BEGIN{system(\"rm x\")}'",
    "vim -c '!rm x'", "python3 -c 'import os; os.system(\"rm x\")'", "python3.11 -c 'import os; os.system(\"rm x\")'",
    "perl -e 'system \"rm x\"'", "node -e 'require(\"child_process\").execSync(\"rm x\")'", "make SHELL='rm x'", "sed '1e rm x' f",
    "alias ls=rm; ls x", "hash -p /bin/rm ls; ls x", "printf -v 'a[$(rm x)]' y", "test -v 'a[$(rm x)]'", "declare 'a[$(rm x)]=1'",
    "[ -v 'a[$(rm x)]' ]", "rsync -e 'rm x' a b", "GIT_SSH_COMMAND='rm x' sh", "crontab -e rm",
    "sh", "ls | sh", "bash -s", "echo 'rm x' | sh", "sh <<E\nrm x\nE", "cat <<E | sh\nrm x\nE", "sh -c $X", "bash -c \"$X\"", "eval $X",
    "PS4='$(rm x)' bash -xc ls", "sh -c \"$(echo rm x)\"", "PATH=. ls", "LD_PRELOAD=./y ls",
    "BASH_ENV=y bash -c ls", "env PATH=. ls", "export GIT_SSH_COMMAND=./y", "IFS=x ls", "PAGER=rm git log", "y=rm z",
]  # fmt: skip

#: No rule can know of these, and docs/permissions.md says so.
UNSEEN = ["sh x.sh", "python3 x.py", "make", ". ./x", "find . -delete", "X=1 make"]

#: None of these runs it.
OTHERS = ["rmdir x", "ls", "echo rm x", "grep rm f", "cat rm", "find . -name farm", "sh -c 'ls rm'", "command -v rm", "sudo apt install rm-z",
          "env farm x", "xargs ls", "git log", "bash -c 'echo farm'"]  # fmt: skip


@pytest.mark.parametrize("line", REFUSED)
def test_what_runs_it_is_refused_however_it_is_written(line):
    assert decided(line, "Shell(rm)") == "deny"


@pytest.mark.parametrize("line", ASKED)
def test_what_may_run_it_is_asked_about_where_everything_is_allowed(line):
    assert decided(line, "Shell(rm)") == "ask"


@pytest.mark.parametrize("line", [*ASKED, *REFUSED])
def test_the_same_holds_for_an_operator_s_rule(line):
    judge = Judge(parse_managed({"deny": ["Shell(rm)"]}), home="/home/nobody")
    assert decided(line, judge=judge) in ("ask", "deny")


@pytest.mark.parametrize("line", [*ASKED, *REFUSED])
def test_and_for_a_rule_that_asks(line):
    session = {**ALLOW_ALL, "permissions": {"allow": ["Bash"], "ask": ["Shell(rm)"]}}
    asked = shell(line, session={"permissions": session["permissions"]})
    assert JUDGE.judge(asked).decision == "ask"


@pytest.mark.parametrize("line", [*OTHERS, *UNSEEN])
def test_what_does_not_run_it_is_no_business_of_the_rule_s(line):
    assert decided(line, "Shell(rm)") == "approve"


@pytest.mark.parametrize(
    ("rule", "line", "decision"),
    [
        ("Shell(git push)", "git push origin", "deny"),
        ("Shell(git push)", "/usr/bin/git push", "deny"),
        ("Shell(git push)", "git -C x push", "ask"),
        ("Shell(git push)", "git --no-pager push", "ask"),
        ("Shell(git push)", "git -c a=b push", "ask"),
        ("Shell(git push)", "git -C $X push", "ask"),
        ("Shell(git push)", "git $X", "ask"),
        ("Shell(git push)", "/usr/bin/git $X", "ask"),
        ("Shell(git push)", "git -C x $X", "ask"),
        ("Shell(git push)", "sudo git push", "ask"),
        ("Shell(git push)", "sudo git -C x push", "ask"),
        ("Shell(git push)", "sudo git pull", "approve"),
        ("Shell(git push)", "git pull", "approve"),
        ("Shell(git push)", "git pull $X", "approve"),
        ("Shell(git push --force)", "git push origin --force", "ask"),
        ("Shell(git push --force)", "git push origin", "approve"),
        ("Shell(rm -rf)", "rm -rf x", "deny"),
        ("Shell(rm -rf)", "rm -fr x", "ask"),
        ("Shell(rm -rf)", "rm -r -f x", "ask"),
        ("Shell(rm -rf)", "rm -r x", "approve"),
        ("Shell(rm -rf /)", "rm -rf --no-preserve-root /", "ask"),
        ("Shell(npm publish *)", "npm --prefix x publish", "ask"),
        ("Shell(npm publish *)", "npm run publisher", "approve"),
        ("Shell(*secret*)", "cat secret", "deny"),
        ("Shell(*secret*)", "cat sec''ret", "deny"),
        ("Shell(curl)", "sh -c 'curl y | sh'", "deny"),
        ("Shell(curl)", "eval eval eval curl", "deny"),
        ("Shell(curl)", "eval eval eval eval eval eval curl", "ask"),
    ],
)
def test_a_rule_of_several_words_is_about_them_with_others_between(rule, line, decision):
    assert decided(line, rule) == decision


# -- bash itself, and what it ran ------------------------------------------------------------------

BASH = shutil.which("bash")
NAMES = st.sampled_from(
    ["rm", "r''m", "\\rm", "'rm'", "./rm", "$X", "${X}", "r?", "./r*", "$(echo rm)", "{rm,y}", "$'\\x72m'", "ls"]
)  # fmt: skip
BEFORE = st.sampled_from(
    [
        "", "", "command ", "exec ", "env ", "nice ", "nohup ", "timeout 5 ", "eval ", "xargs ", "xargs -n1 ", "time ", "! ",
        "env -i PATH=$PATH ", "setsid -w ", "stdbuf -o0 ", "A=1 ", "find . -maxdepth 0 -exec ", "sh -c ", "bash -c ", "eval -- ",
        "command -p ", "builtin command ", "trap ", "printf -v ", "{ ", "coproc ", "sudo ", "PATH=.:$PATH ", "alias y=",
    ]
)  # fmt: skip
AFTER = st.sampled_from(["", "", " x", " 'a b'", " {} ;", " {} \\;", " +", " EXIT", "; }", " </dev/null", "|cat", "&", "\ny", " y z"])  # fmt: skip
AROUND = st.sampled_from(
    ["{}", "{}", "ls; {}", "echo $({})", "sh -c '{}'", "bash -c \"{}\"", "eval '{}'", "echo '{}' | sh", "sh <<E\n{}\nE",
     "if {}; then :; fi", "f() {{ {}; }}; f", "({})", "cat <({})", "trap '{}' EXIT", "ls && {}"]
)  # fmt: skip


@st.composite
def lines(draw):
    inner = draw(BEFORE) + draw(BEFORE) + draw(NAMES) + draw(AFTER)
    return draw(AROUND).format(draw(AROUND).format(inner))


@pytest.mark.skipif(BASH is None, reason="there is no bash to ask")
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=lines())
def test_what_ran_it_was_not_let_through(tmp_path, line):
    """Each line is run with an `rm` of our own on its path and in its folder, which tells."""
    folder, heard = tmp_path / "project", tmp_path / "heard"
    if not folder.exists():
        folder.mkdir()
        stub = folder / "rm"
        stub.write_text(f'#!/bin/sh\necho ran >> "{heard}"\n')
        stub.chmod(0o755)
    decision = decided(line, "Shell(rm)", folders=[str(folder)])
    if decision != "approve":
        return
    subprocess.run(
        [BASH, "--norc", "-c", line],
        cwd=folder,
        env={"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(tmp_path), "X": "rm", "LC_ALL": "C"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=20,
        check=False,
    )
    assert not heard.exists(), line
