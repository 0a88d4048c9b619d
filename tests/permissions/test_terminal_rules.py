"""The table of commands that run unasked, and what it means beyond its keys."""

import time

import pytest

from ahpd.permissions import Judge
from ahpd.permissions.terminal_rules import compiled
from ahpd.permissions.terminal_table import DEFAULT_TERMINAL_RULES

from .permission_questions import project, shell


@pytest.fixture
def decided(tmp_path):
    judge = Judge(home=str(tmp_path / "home"))
    folder = project(tmp_path)
    (folder / "out2").symlink_to("/etc")

    def decision(line, table=None, **known):
        host = {} if table is None else {"terminalAutoApproveRules": table}
        return judge.judge(
            shell(line, host={**host, **known.pop("host", {})}, folders=[str(folder)], **known)
        ).decision

    return decision


@pytest.mark.parametrize(
    "line",
    [
        "ls -la", "cd sub && ls | head -3", "git status", "git -C sub --no-pager log --oneline",
        "git diff HEAD~1 -- src/*.py", "grep -rn 'a|b' . 2>/dev/null", "find . -name '*.py' -print",
        "sed -n '1,20p' a.py", "sed 's/a/b/g; s#c#d#' a.py", "sort -k 2 a.py | head", "cat a.py; echo done",
        "npm ls --depth 0", "docker ps -a", "echo hi > new.txt", "echo hi 2>&1 >> a.py", "(cd sub; ls)",
        "cat <<'EOF' > notes.md\n$(rm x)\nEOF", "echo $(cat a.py)", "git branch -a", "git branch --list 'x*'",
        "if ls; then echo yes; fi", "date +%s", "xxd a.py", "sort -t, -k2n a.py", "echo \"it's $HOME\"",
        "yarn install --frozen-lockfile", "npm ci", "rg foo src/", "ls *.py", "cat $FILE",
        "npm ls --depth=0 --json", "npm view x version", "npm outdated --long", "pnpm ls -r", "yarn list --depth 0", "date -d yesterday +%s",
        "date -u +%F", "date --date tomorrow", "git branch --merged main", "git branch -vv", "git log --output-indicator-new=+",
        "docker compose config", "docker logs -f x", "tree -L 2", "xxd -g1 a.py", "echo a!", "echo hi > 'a!'",
    ],
)  # fmt: skip
def test_ordinary_lines_run_unasked(decided, line):
    assert decided(line) == "approve"


@pytest.mark.parametrize(
    "line",
    [
        "rm x", "ls; rm x", "ls | xargs rm", "ls && $(rm x)", "echo `rm x`", "cat <(rm x)", "cat <<EOF\n$(rm x)\nEOF",
        "ls\nrm x", "ls & rm x", "ls |& rm x", "ls || rm x", "ls # x\nrm x", "sudo ls", "command ls", "env ls",
        "X=1 ls", "PATH=. ls", "ls() { rm x; }; ls", "alias ls=rm; ls", "eval ls", "bash -c ls", ". ./x", "exec ls",
        "./ls", "ls/../x", "ls.sh", "cat-x", "l''s", "'ls'", "\\ls",
        "python3 x.py", "make", "npm test", "npm ci --foreground-scripts", "curl http://x",
        "find . -delete", "find . -del''ete", "find . -exec rm {} +", "find . -fprint0 x", "find . $X", "find . *",
        "find . \"$X\"", "find {.,-delete}", "sort -o x a", "sort -ox a", "sort -uo x a", "sort --output=x a",
        "sort --o=x a", "sort --comp=x a", "sort a -o b", "tree -ao x", "date -us 1", "date --se 1", "file -C -m x",
        "rg --pre=x a", "sed -i s/a/b/ x", "sed -ni p x", "sed --in-p=x p x", "sed -e p x", "sed --expr=1w x",
        "sed 's|a|b|w x' y", "sed 's/a/b/e' y", "sed '1e id' y", "sed '1!w x' y", "sed \"$X\" y", "sed 'p;w x' y",
        "git diff --output=x", "git diff --ext-diff", "git diff *", "git diff $X", "git log --output x",
        "git show 'a\nb' --output=x", "git grep -O x", "git grep --open-files x", "git branch -D x",
        "git branch --del x", "git branch -fv x", "git branch --edit-description", "git -c core.pager=x log",
        "git -C /tmp log", "git -C $X log", "git push", "git",
        "cd /etc && ls", "cd", "cd -", "cd ~", "cd ..", "cd $X", "cd out2", "cd sub && echo x > y", "cd sub; (echo x >> y)",
        "echo x > /etc/x", "echo x > ../x", "echo x > out2/x", "echo x > dangling", "echo x > $X", "echo x > ~/x",
        "echo x > ~+/x", "echo x > package.json", "echo x > .git/config", "echo x > .vscode/settings.json",
        "echo x &> /etc/x", "echo x >| /etc/x", "echo x >& /etc/x", "ls 3> /etc/x", "> /etc/x",
        "echo x > /dev/tcp/1.2.3.4/80", "cat < /dev/tcp/1.2.3.4/80", "cat < /dev//tcp/1.2.3.4/80", "cat < $X",
        "echo x > /dev/sda", "for i in a; do ls; done", "while read x; do ls; done", "echo ${X:-$(rm x)}", "echo $((a[$(rm)]))",
        "time ls", "", "# nothing", "ls\x00", "ls \u00a0", "echo !x", "ls '", "xxd a b",
        "echo " + "a" * 3000, "sed " + "p;" * 400, "yarn audit --fix",
        "xxd in${IFS}out", "xxd in$X", "xxd {in,out}", "xxd *", "xxd f?", "xxd `ls`", "xxd -r a b",
        "npm docs --browser=./x", "npm repo --browser ./x", "npm help x --viewer=./x", "npm ls --node-options=--require=./x.js",
        "npm view x --prefix=/", "npm docs a${IFS}--browser=./x", "npm ls --script-shell=./x", "npm ls -C /", "npm ls --glo", "npm ls-x",
        "yarn why x --cwd /", "pnpm why -C /tmp x", "pnpm ls --dir /tmp", "pnpm ls --config.x=y", "npm config list --userconfig=x",
        "docker compose config -o /etc/x", "docker compose config --output=/etc/x", "docker compose config -qo x", "docker ps-x",
        "date 010112002026", "date -u 0101", "date --debug 0101", "date $X", "git log-x", "git show-ref", "git status-x", "git ls-files-x",
        "git branch x", "git branch -v x", "git branch -a x y", "git diff --ext-d", "git diff --no-ind a b", "git log --textc",
        "git grep --open=x a", "tree -Lo 2 x", "tree -Po a x", "echo x >! /etc/x", "echo x >>! y", "echo x >&! y",
    ],
)  # fmt: skip
def test_lines_that_do_or_may_do_more_are_asked_about(decided, line):
    assert decided(line) == "ask"


def test_a_pushed_table_replaces_the_default_one(decided):
    assert decided("make all", {"make": True}) == "approve"
    assert decided("ls", {"make": True}) == "ask"
    assert decided("ls", {}) == "ask"
    assert decided("ls", {"ls": None}) == "ask"
    assert decided("ls", {"ls": "yes", "/^ls/": {"approve": "yes"}}) == "ask"
    assert decided("ls", ["ls"]) == "ask"
    assert decided("ls", host={"terminalAutoApproveEnabled": False}) == "ask"
    assert (
        decided("make", host={"terminalAutoApproveEnabled": False}, allow=["Shell(make)"])
        == "approve"
    )


def test_without_a_default_table_nothing_runs_for_it(tmp_path):
    judge = Judge(home=str(tmp_path), default_table=False)
    assert judge.judge(shell("ls")).decision == "ask"


def test_a_key_that_asks_goes_before_one_that_approves(decided):
    assert decided("make all", {"make": True, "/\\ball\\b/": False}) == "ask"
    assert decided("make", {"make": True, "/\\ball\\b/": False}) == "approve"
    assert decided("make 'a\nall'", {"make": True, "/^make.*all/": False}) == "ask"
    assert decided("make al''l", {"make": True, "/\\ball\\b/": False}) == "ask"
    assert decided("MAKE", {"/^make$/i": True}) == "approve"


def test_a_key_about_the_line_is_compared_with_the_line(decided):
    whole = {"approve": True, "matchCommandLine": True}
    assert decided("make && rm x", {"/^make && rm x$/": whole}) == "approve"
    assert decided("make && rm x\nrm y", {"/^make && rm x$/": whole}) == "ask"
    assert decided("make && rm x", {"/^make/": whole, "rm": False}) == "ask"
    assert decided("make > /etc/x", {"/^make/": whole}) == "ask"
    assert decided("X=1 make", {"/make/": whole}) == "ask"
    assert (
        decided("make", {"make": True, "/make/": {"approve": False, "matchCommandLine": True}})
        == "ask"
    )


def test_a_key_nobody_can_read_approves_nothing_and_has_every_line_asked_about(decided):
    for key in ("/(/", "/a(?<n>b)/", "/\\p{L}/", "/a++/", "/\\cA/"):
        assert decided("make", {"make": True, key: True}) == "approve"
        assert decided("make", {"make": True, key: False}) == "ask"


def test_a_key_with_a_slash_names_a_path(decided):
    for line, decision in (
        ("bin/x a", "approve"),
        ("./bin/x a", "approve"),
        ("bin/xy", "ask"),
        ("x", "ask"),
    ):
        assert decided(line, {"bin/x": True}) == decision


def test_a_table_that_changes_in_place_is_read_again(tmp_path):
    judge = Judge(home=str(tmp_path))
    table = {"make": True}
    assert (
        judge.judge(shell("make", host={"terminalAutoApproveRules": table})).decision == "approve"
    )
    table["make"] = False
    assert judge.judge(shell("make", host={"terminalAutoApproveRules": table})).decision == "ask"
    table["make"] = {"approve": True}
    assert (
        judge.judge(shell("make", host={"terminalAutoApproveRules": table})).decision == "approve"
    )


def test_every_key_of_the_default_table_can_be_read():
    table = compiled(DEFAULT_TERMINAL_RULES)
    assert table.unreadable is None
    read = len(table.approving) + len(table.asking)
    left_to_guards = sum(key.startswith("/^sed") for key in DEFAULT_TERMINAL_RULES)
    assert read == len(DEFAULT_TERMINAL_RULES) - left_to_guards


@pytest.mark.parametrize(
    "line",
    [
        "sed " + "-" + "e" * 1900, "sed " + "s/" * 900, "sed '" + "/a/," * 400 + "'", "git" + " -C a" * 350 + " x",
        "sed " + "-a " * 600 + "'" + ";" * 100 + "'", "npm" + " " * 1900, "yarn audit " + "fix" * 500,
        "grep " + "-" * 1900, "git grep " + "--" * 900, "find " + "-exe " * 380, "sed 's" + "/\\" * 140 + "'",
    ],
    ids=lambda line: line[:12],
)  # fmt: skip
def test_no_line_takes_the_table_long(decided, line):
    began = time.process_time()
    decided(line)
    assert time.process_time() - began < 1


# -- sensitive locations -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("echo x > sub/y", "ask"), ("echo x >> 'sub/y'", "ask"), ("echo x > sub/../sub/new", "ask"),
        ("echo x > a.py", "ask"), ("echo x > other", "approve"), ("cat < a.py", "approve"), ("ls", "approve"),
        ("echo x > $X", "ask"), ("case x in a) ls;; esac", "ask"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("allow", [[], ["Bash"], ["Shell"], ["Shell(*)"]])
def test_a_redirect_into_a_sensitive_location_asks_whatever_allows_it(
    tmp_path, line, decision, allow
):
    folder = project(tmp_path)
    locations = [
        {"path": str(folder / "sub"), "isDirectory": True}, {"path": str(folder / "a.py"), "isDirectory": False},
    ]  # fmt: skip
    asked = shell(
        line, allow=allow, session={"sensitiveEditLocations": locations}, folders=[str(folder)]
    )
    assert Judge(home=str(tmp_path / "home")).judge(asked).decision == decision


def test_sensitive_locations_with_one_wrong_entry_are_none(tmp_path):
    folder = project(tmp_path)
    locations = [{"path": str(folder / "sub"), "isDirectory": True}, {"path": str(folder)}]
    asked = shell(
        "echo x > sub/y", session={"sensitiveEditLocations": locations}, folders=[str(folder)]
    )
    assert Judge(home=str(tmp_path / "home")).judge(asked).decision == "approve"
