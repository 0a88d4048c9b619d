"""No question takes long to judge, whatever the line, the path, the rules and the table."""

import gc
import re
import time
from itertools import cycle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.permissions import Judge
from ahpd.permissions.patience import ENDLESS, OutOfTime, Patience
from ahpd.permissions.patterns import javascript
from ahpd.permissions.terminal_rules import TerminalTables

from .permission_questions import fetch, file, ids, shell

#: Expressions that Python's own engine tries for longer than anybody lives.
FOR_EVER = [
    ("/^zz (a+)+$/", "a" * 1000 + "b"),
    ("/^zz (a|a)*$/", "a" * 1000 + "b"),
    ("/^zz (a|aa)+$/", "a" * 1000 + "b"),
    ("/^zz ((a{1,40}){1,40})+$/", "a" * 1000 + "b"),
    ("/(x+x+)+y/", "x" * 1000),
    ("/(.*?,){11}P/", "1," * 600),
    ("/zz (?:a?){60}a{60}$/", "a" * 59 + "b"),
]
#: One of which no engine that goes back finds anything out in time; of the others some do.
UNKNOWN = "/(x+x+)+y/"
MANY = "; ".join(f"zz -la a{number}" for number in range(100))


def took(judge, asked):
    began = time.thread_time()
    verdict = judge.judge(asked)
    return time.thread_time() - began, verdict


@pytest.fixture
def judge(tmp_path):
    made = Judge(home=str(tmp_path))
    for asked in (shell("ls"), shell("zz", allow=["Shell(commandLine:/zz(x+)*/)"])):
        made.judge(asked)  # what is loaded once
    return made


@pytest.mark.parametrize(("expression", "text"), FOR_EVER)
@pytest.mark.parametrize(
    "known",
    [
        lambda e: {"allow": [f"Shell(commandLine:{e})"]},
        lambda e: {"host": {"terminalAutoApproveRules": {"echo": True, e: True}}},
        lambda e: {"host": {"terminalAutoApproveRules": {"echo": True, e: {"approve": True, "matchCommandLine": True}}}},
        lambda e: {"host": {"terminalAutoApproveRules": {f"{e[:-1]}|{number}/": True for number in range(50)}}},
    ],
    ids=["rule", "table", "line", "fifty"],
)  # fmt: skip
def test_an_expression_that_takes_for_ever_approves_nothing(judge, expression, text, known):
    seconds, verdict = took(judge, shell(f"zz {text}", **known(expression)))
    assert verdict.decision == "ask"
    assert seconds < 0.5


@pytest.mark.parametrize(("expression", "text"), FOR_EVER)
def test_one_that_refuses_or_asks_has_it_asked_about(judge, expression, text):
    everything = {"globalAutoApproveEnabled": True}
    asked = shell(f"zz {text}", deny=[f"Shell(commandLine:{expression})"], host=everything)
    seconds, verdict = took(judge, asked)
    assert verdict.decision in ("ask", "approve"), "none matches"
    assert seconds < 0.5
    table = {"zz": True, expression: False}
    seconds, verdict = took(judge, shell(f"zz {text}", host={"terminalAutoApproveRules": table}))
    assert verdict.decision in ("ask", "approve")
    assert seconds < 0.5


@pytest.mark.parametrize(
    "asked",
    [
        shell(MANY, host={"terminalAutoApproveRules": {f"k{n}": True for n in range(2000)}}),
        shell(MANY, host={"terminalAutoApproveRules": {f"/^k{n}\\b.*x/": True for n in range(2000)}}),
        shell(MANY, host={"terminalAutoApproveRules": {f"k{n}": True for n in range(100_000)}}),
        shell(MANY, allow=[f"Shell(k{n} *)" for n in range(20_000)]),
        shell(MANY, deny=[f"Shell(k{n} *)" for n in range(20_000)]),
        shell(MANY, allow=[f"Shell(z*k{n} *)" for n in range(20_000)]),
        shell("sudo " + " ".join(f"w{n}" for n in range(900)), deny=[f"Shell(k{n} m)" for n in range(5000)]),
        shell("eval " * 1000 + "x", deny=["Shell(rm)"]), shell("command " * 1000 + "x", deny=["Shell(rm)"]), shell("sh -c '" + "eval " * 1000 + "x'", deny=["Shell(rm)"]),
        shell("zz" + " >a" * 700, folders=[f"/work/p{n}" for n in range(50)]),
        shell("zz" + "".join(f" >a{n}" for n in range(700)), folders=[f"/work/p{n}" for n in range(50)]),
        shell("zz " + "$(" * 4000), shell("zz " + " a" * 4000), shell("zz '" + "a" * 5_000_000), shell("\n" * 8000 + "x"),
        shell("cd a; " * 99 + "git log"), shell("; ".join(["git -C a log"] * 100)),
        file("read", "/a" * 500_000), file("read", "/" + "a" * 5_000_000), file("write", "/work/project/" + "../" * 1300),
        file("write", "/work/project/a", deny=[f"Edit(/x/**/a{n}/*b*)" for n in range(20_000)]),
        file("write", "/work/project/" + "a/" * 2000, deny=["Edit(**/a/**/a/**/a/**/b)"]),
        file("write", "/work/project/a", deny=["Edit(/w/" + "{a,b}" * 20 + ")"]),
        file("write", "/work/project/a", host={"editAutoApprovePatterns": {f"**/{n}/*": n % 2 == 0 for n in range(20_000)}}),
        fetch("https://" + "a." * 900 + "com/x", deny=["WebFetch(*a*a*a.com/*/x)"]),
        fetch("https://e.com/" + "a" * 1900, deny=[f"WebFetch(*{n}.com/*a*b*c)" for n in range(20_000)]),
        fetch("https://" + "a" * 5_000_000),
    ],
    ids=lambda asked: str(asked.permission)[:60],
)  # fmt: skip
def test_whatever_is_asked_costs_little(judge, asked):
    costs, verdicts = zip(*(took(judge, asked) for _ in range(3)), strict=True)
    because = verdicts[-1].because
    assert min(costs) < 0.05, because  # what else a busy machine does is no work of its
    assert verdicts[-1].decision == "ask" or "edit patterns" in because or "git" in because


def test_out_of_time_a_person_is_asked_for_this_once():
    ticks = iter(range(10_000))
    judge = Judge(seconds=lambda: next(ticks) / 50)
    assert judge.judge(shell("ls")).decision == "ask", "a clock that runs"
    asked = shell("ls", session={"autoApprove": "autoApprove"}, deny=["Shell(rm)"])
    verdict = judge.judge(asked)
    assert (verdict.decision, ids(verdict)) == ("ask", ["allow-once", "skip"])
    assert "too long" in verdict.because


def test_the_time_python_looks_through_what_it_holds_is_none_of_a_questions():
    """It falls into any question, and takes a large host longer than one may take."""
    ticks, asked = [0.0], shell("ls && $(rm x)", deny=["Shell(rm)"])

    def judged(falls):
        def seconds():
            if next(falls, False):
                gc.collect()
                ticks[0] += 1
            return ticks[0]

        return Judge(seconds=seconds).judge(asked)

    once = iter([False, False, True])
    assert judged(once).decision == "deny"
    assert list(once) == [], "it fell into the question"
    verdict = judged(cycle([False, False, True]))
    assert (verdict.decision, ids(verdict)) == ("ask", ["allow-once", "skip"]), "tried twice"
    assert "too long" in verdict.because


def test_a_table_is_compiled_over_as_many_questions_as_it_takes():
    tables, pushed = TerminalTables(True), {f"k{number}": True for number in range(500)}
    ticks = [0.0]

    def seconds():
        ticks[0] += 1
        return ticks[0]

    given_up = 0
    while True:
        try:
            table = tables.table(pushed, Patience(seconds, 100))
        except OutOfTime:
            given_up += 1
            continue
        break
    assert given_up == 5
    assert len(table.approving) == 500


def test_what_was_not_found_out_is_neither_found_nor_missing(judge):
    assert javascript(UNKNOWN, True).found_in("x" * 1000, ENDLESS) is None
    everything = {"globalAutoApproveEnabled": True}
    asked = shell("zz " + "x" * 1000, deny=[f"Shell(commandLine:{UNKNOWN})"], host=everything)
    assert judge.judge(asked).decision == "ask"
    table = {"zz": True, UNKNOWN: False}
    asked = shell("zz " + "x" * 1000, host={"terminalAutoApproveRules": table})
    assert judge.judge(asked).decision == "ask"


# -- two engines that have to agree ------------------------------------------------------------------

ATOMS = st.sampled_from(
    ["a", "b", ".", "\\w", "\\s", "\\b", "\\d", "[ab]", "[^a]", "[a-]", "[-a]", "[+--]", "[--a]", "^", "$", "(a|b)", "(?:ab)", "(?=a)", "(?!b)", "{", "}", "{e}", "{1",
     "\\x61", "\\/", "[[]", "[&&]", "[a--b]", "(?i:A)", "\\n", "[]", "[^]", "{i<=1}", "(?<=a)", "A", "#", " ", "~~"]
)  # fmt: skip
COUNTS = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "{0,}", "*?", "+?"])


@settings(max_examples=400, deadline=None)
@given(
    source=st.lists(st.tuples(ATOMS, COUNTS).map("".join), min_size=1, max_size=5).map("".join),
    flags=st.sampled_from(["", "i", "s", "m", "is"]),
    text=st.text("abA {}1e\n-[&#~", max_size=8),
    dotall=st.booleans(),
)
def test_the_engine_that_can_be_stopped_reads_what_python_s_reads(source, flags, text, dotall):
    stoppable = javascript(f"/{source}/{flags}", dotall)
    known = javascript(f"/{source}/{flags}", dotall, True)
    assert (stoppable is None) == (known is None)
    if stoppable is not None:
        found = stoppable.found_in(text, ENDLESS)
        assert found == known.found_in(text, ENDLESS), stoppable.source


@pytest.mark.parametrize(
    "key",
    ["/(*FAIL)/", "/(*SKIP)x/", "/(?R)/", "/(?1)/", "/(?|a)/", "/\\L<x>/", "/a++/", "/(?>a)/"],
)
def test_what_only_one_of_them_has_is_not_read(key):
    assert javascript(key, False) is None


def test_braces_that_count_nothing_are_braces():
    expression = javascript("/^rm{i<=2}$/", False)
    assert expression.found_in("rm{i<=2}", ENDLESS)
    assert not expression.found_in("rn", ENDLESS)
    assert not re.search(r"\{i", "rn")
