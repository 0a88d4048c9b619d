"""What people are offered, and what is kept of their answer."""

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.interfaces.turns import Permission
from ahpd.permissions import Judge
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tools import ConfirmationOption

from .permission_questions import fetch, file, ids, lists, project, question, shell

JUDGE = Judge(home="/home/nobody")


def test_any_other_question_offers_the_three_of_every_tool():
    verdict = JUDGE.judge(question(Permission(kind="mcp"), "server__tool"))
    assert verdict.options == (
        {"id": "allow-session", "label": "Allow in this Session", "kind": "approve", "group": 1},
        {"id": "allow-once", "label": "Allow Once", "kind": "approve"},
        {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
    )
    (grant,) = verdict.grants.values()
    assert (grant.scope, grant.rules) == ("session", ("server__tool",))


def test_any_other_question_offers_what_its_backend_put():
    given = [
        {"id": "plan", "label": "Approve", "kind": "approve"},
        {"id": "no", "label": "No", "kind": "deny"},
    ]
    verdict = JUDGE.judge(question(Permission(kind="custom-tool"), options=given))
    assert (list(verdict.options), verdict.grants) == (given, {})


def test_a_line_offers_its_commands_by_prefix_and_exactly():
    verdict = JUDGE.judge(
        shell("npm run build --x && ls && git push 2>&1 | tail -1", options=[{"id": "theirs"}])
    )
    assert [(each["id"], each["label"], each["kind"], each.get("group")) for each in verdict.options] == [
        ("allow-once", "Allow Once", "approve", None),
        ("allow-commands-session", "Allow Commands `npm run build …`, `git push …` in this Session", "approve", 1),
        ("allow-commands-always", "Always Allow Commands `npm run build …`, `git push …`", "approve", 1),
        ("allow-exact-session", "Allow Exactly These Commands in this Session", "approve", 1),
        ("allow-exact-always", "Always Allow Exactly These Commands", "approve", 1),
        ("skip", "Skip", "deny", 2),
    ]  # fmt: skip
    prefixes, exact = (
        ("Shell(npm run build *)", "Shell(git push *)"),
        ("Shell(npm run build --x)", "Shell(git push)"),
    )
    assert {key: (grant.scope, grant.rules) for key, grant in verdict.grants.items()} == {
        "allow-commands-session": ("session", prefixes),
        "allow-commands-always": ("host", prefixes),
        "allow-exact-session": ("session", exact),
        "allow-exact-always": ("host", exact),
    }


COMMANDS, EXACT, LINE = "allow-commands-session", "allow-exact-session", "allow-line-session"


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("make", [COMMANDS, EXACT]),
        ("python3 x.py", [EXACT]),
        ("bash -c 'x'", [EXACT]),
        ("make; sudo x", [EXACT]),
        ("git", [EXACT]),
        ("git --version", [EXACT]),
        ("git $X", [EXACT]),
        ("rm x", [EXACT]),
        ("find . -delete", [EXACT]),
        ("cd /etc", [EXACT]),
        ("'make' x", [EXACT]),
        ("X=1 make", [LINE]),
        ("for i in a; do b; done", [LINE]),
        ("$x y", [LINE]),
        ("make > /etc/x", []),
        ("X=1 make > /etc/x", []),
        ("case x in a) b;; esac", []),
        ("a 'b", []),
    ],
)
def test_only_what_would_answer_the_question_is_offered(line, offered):
    found = [each for each in ids(JUDGE.judge(shell(line))) if each.endswith("-session")]
    assert found == offered


def test_nothing_is_offered_that_an_ask_rule_would_ask_about_again():
    assert ids(JUDGE.judge(shell("make", ask=["Shell(make)"]))) == ["allow-once", "skip"]


def test_a_fetch_offers_its_host(tmp_path):
    verdict = JUDGE.judge(fetch("https://docs.example.com:8080/a/b?c"))
    assert ids(verdict) == ["allow-once", "allow-host-session", "allow-host-always", "skip"]
    assert verdict.options[1]["label"] == "Allow Fetching from docs.example.com in this Session"
    assert verdict.grants["allow-host-session"].rules == (
        "WebFetch(https://docs.example.com:8080)",
    )
    assert ids(JUDGE.judge(fetch("https://a@b/"))) == ["allow-once", "skip"]


@pytest.mark.parametrize(("kind", "family"), [("read", "Read"), ("write", "Edit")])
def test_a_file_and_a_folder_are_offered_by_both_their_paths(tmp_path, kind, family):
    folder = project(tmp_path)
    folders = [str(folder)]
    verdict = JUDGE.judge(file(kind, folder / "out" / "secret", folders=folders))
    assert ids(verdict) == ["allow-once", f"allow-{kind}-session", f"allow-{kind}-always", "skip"]
    assert verdict.grants[f"allow-{kind}-always"].rules == (
        f"{family}({folder}/out/secret)", f"{family}({tmp_path}/outside/secret)",
    )  # fmt: skip
    verdict = JUDGE.judge(file(kind, tmp_path / "outside", folders=folders))
    assert verdict.grants[f"allow-{kind}-session"].rules == (f"{family}({tmp_path}/outside/**)",)


def granted(asked, grant):
    """The question asked again, with what was picked kept where it is kept."""
    scope = "session_values" if grant.scope == "session" else "host_values"
    values = getattr(asked, scope)
    held = values.get("permissions", lists())
    kept = {**held, "allow": [*held["allow"], *grant.rules]}
    return attrs.evolve(asked, **{scope: {**values, "permissions": kept}})


NAMES = st.text("ab*?[]{}()!,. '\"$\\-\u00e9\n", min_size=1, max_size=8)
LINES = st.lists(
    st.sampled_from(
        [
            "make",
            "'a b'",
            "$x",
            "*.py",
            "/bin/x",
            "/",
            "git",
            "push",
            "&&",
            ";",
            "X=1",
            ">",
            "out",
            "\\*",
            "a\\",
            "(x)",
            "commandLine:x",
        ]
    ),
    min_size=1,
    max_size=6,
).map(" ".join)
QUESTIONS = st.one_of(
    LINES.map(shell),
    NAMES.map(lambda name: file("read", f"/nowhere/{name}")),
    NAMES.map(lambda name: file("write", f"/nowhere/.vscode/{name}.json")),
    NAMES.map(lambda name: fetch(f"https://host.example/{name}")),
    st.just(question(Permission(kind="mcp"), "tool")),
)


@settings(max_examples=400, deadline=None)
@given(asked=QUESTIONS)
def test_a_question_is_not_asked_again_once_any_grant_of_it_was_picked(asked):
    verdict = JUDGE.judge(asked)
    if verdict.decision != "ask":
        return
    assert set(verdict.grants) <= set(ids(verdict))
    for option in verdict.options:
        check_strict(option, ConfirmationOption)
    for grant in verdict.grants.values():
        assert JUDGE.judge(granted(asked, grant)).decision == "approve", grant


@settings(max_examples=300, deadline=None)
@given(asked=LINES.map(shell), other=LINES)
def test_a_grant_for_exactly_a_line_approves_no_other(asked, other):
    verdict = JUDGE.judge(asked)
    grant = verdict.grants.get("allow-line-session")
    if grant is None or asked.permission.command.split() == other.split():
        return
    before = JUDGE.judge(shell(other)).decision
    assert JUDGE.judge(shell(other, allow=grant.rules)).decision == before
