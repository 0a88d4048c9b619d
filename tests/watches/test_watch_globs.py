"""Which paths a watch tells of, and which folders it looks into."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol import globs
from ahpd.protocol.globs import MOST_CHARACTERS, WatchFilter

MATCHES = [
    # a name stands for itself, a dot and all, and for what is below
    ("src", "src", True),
    ("src", "src/a.py", True),
    ("src", "srcs", False),
    ("src", "lib/src", False),
    ("./src/", "src/a", True),
    ("/src", "src/a", True),
    ("a.b", "axb", False),
    (".git", ".git/HEAD", True),
    ("a+(b)", "a+(b)", True),
    # a run within a segment
    ("*.ts", "a.ts", True),
    ("*.ts", ".ts", True),
    ("*.ts", "src/a.ts", False),
    ("*.ts", "a.tsx", False),
    ("*", ".hidden", True),
    ("*", "a/b", False),
    ("a*b*c", "abbcbc", True),
    ("a*b*c", "abbcb", False),
    ("*a*a", "aa", True),
    ("*a*a", "a", False),
    ("a**b", "axxb", True),
    ("a**b", "a/b", False),
    # one character
    ("?.py", "a.py", True),
    ("?.py", ".py", False),
    ("a?b", "a/b", False),
    ("caf?", "caf\udce9", True),
    # any number of segments
    ("**", "a/b/c", True),
    ("**/*.js", "a.js", True),
    ("**/*.js", "a/b/c.js", True),
    ("**/*.js", "a/b/c.jsx", False),
    ("src/**", "src", True),
    ("src/**", "src/a/b", True),
    ("src/**", "srcs/a", False),
    ("src/**/test", "src/test", True),
    ("src/**/test", "src/a/b/test", True),
    ("src/**/test", "src/atest", False),
    ("**/node_modules/**", "node_modules", True),
    ("**/node_modules/**", "a/node_modules/b/c", True),
    ("**/node_modules/**", "a/node_modules_old", False),
    ("**/a/**/b/**/c", "a/x/a/b/c/b/c", True),
    ("**/a/**/b/**/c", "b/a/c", False),
    ("**/a/b/**", "a/a/b", True),
    ("**/**/a", "a", True),
    ("a/**/**", "a", True),
    # either
    ("*.{ts,js}", "a.js", True),
    ("*.{ts,js}", "a.py", False),
    ("{src,test/{a,b}}/*.py", "test/b/x.py", True),
    ("{**/*.py,docs/**}", "docs/a/b", True),
    ("a{,b}", "a", True),
    ("{a}", "a", True),
    ("a,b}", "a,b}", True),
    # one of a set
    ("[ab].c", "a.c", True),
    ("[!ab].c", "c.c", True),
    ("[^ab].c", "a.c", False),
    ("[a-c-]x", "-x", True),
    ("[]]", "]", True),
    ("a[!x]b", "a/b", False),
    ("[.]git", ".git", True),
    ("[{,]", "{", True),
    (r"src\*.cs", "src/a.cs", True),
]


@pytest.mark.parametrize(("glob", "path", "matches"), MATCHES)
def test_a_pattern_means_what_it_means_in_vs_code(glob, path, matches):
    assert WatchFilter(excludes=[glob]).reports(path) is not matches
    assert WatchFilter(includes=[glob]).reports(path) is matches


@pytest.mark.parametrize(
    ("include", "entered", "not_entered"),
    [
        ("*.py", [], ["src", "a.py"]),
        ("src/*.py", ["src"], ["src/a", "lib"]),
        ("src/lib/*.py", ["src", "src/lib"], ["src/a", "src/lib/b"]),
        ("src/**/*.py", ["src", "src/a/b"], ["lib", "srcs"]),
        ("**/x", ["a", "a/b"], []),
        ("docs", ["docs", "docs/a"], ["doc"]),
        ("{a,b/c}/x", ["a", "b", "b/c"], ["c", "b/d"]),
        ("s*/t?/x", ["src", "src/t1"], ["lib", "src/u1"]),
    ],
)
def test_only_folders_on_the_way_to_what_is_included_are_entered(include, entered, not_entered):
    told = WatchFilter(includes=[include])
    assert [path for path in entered if not told.enters(path)] == []
    assert [path for path in not_entered if told.enters(path)] == []
    assert told.enters("")


def test_excluded_folders_are_not_entered_whatever_is_included():
    told = WatchFilter(includes=["**/*.py"], excludes=["**/node_modules", "out"])
    assert told.enters("src")
    assert not told.enters("src/node_modules")
    assert not told.enters("out")
    assert not told.reports("out")


def test_nothing_excludes_the_root_itself():
    told = WatchFilter(excludes=["**", "", "."])
    assert told.reports("")
    assert told.enters("")
    assert not told.reports("a")


def test_no_patterns_tell_of_everything():
    for told in (WatchFilter(), WatchFilter(includes=[])):
        assert told.reports("any/thing")
        assert told.enters("any")


@pytest.mark.parametrize(
    ("glob", "words"),
    [
        ("{a", "brace that is never closed"),
        ("a{b,{c}", "brace that is never closed"),
        ("[a", "set of characters"),
        ("[]", "set of characters"),
        ("[!]", "set of characters"),
        ("[z-a]", "set of characters"),
        ("a[b/c]d", "set of characters"),
        ("../a", "leads out"),
        ("a/{b,..}", "leads out"),
        ("{" * 60, "more than 50 braces"),
        ("{a,b}" * 30, f"more than {MOST_CHARACTERS} characters"),
        ("x" * (MOST_CHARACTERS + 1), f"more than {MOST_CHARACTERS} characters"),
        ("{" + "[" * MOST_CHARACTERS, f"more than {MOST_CHARACTERS} characters"),
        ("/".join("a" * 201), "more than 200 segments"),
        ("**/a/" * 101, "more than 200 segments"),
    ],
)
def test_a_pattern_nobody_can_read_is_refused_in_words(glob, words):
    with pytest.raises(ValueError, match=words):
        WatchFilter(excludes=[glob])
    with pytest.raises(ValueError, match=words):
        WatchFilter(includes=[glob])


@given(
    st.lists(st.text(st.sampled_from("ab*?[]!{},/.-\\"), max_size=12), max_size=4),
    st.text(st.sampled_from("ab/.-"), max_size=12),
)
def test_any_pattern_is_read_or_refused(globs, path):
    told = None
    with contextlib.suppress(ValueError):
        told = WatchFilter(globs, globs)
    if told is not None:
        told.reports(path)
        told.enters(path)


def test_no_pattern_takes_long_on_any_path():
    hard = ["*a" * 100 + "b", "**/a/" * 60 + "b", "**/*a*a*a/" * 30 + "**", "{*a,*aa,a*}" * 5 + "b"]
    told = WatchFilter(includes=hard)
    # It takes a millisecond. Tried every way it could be, none of it would ever end.
    for path in ("a" * 255, "a/" * 2000 + "a", ("a" * 200 + "/") * 20 + "c"):
        told.reports(path)
        told.enters(path)


def test_a_bracket_that_is_never_closed_is_looked_for_once(monkeypatch):
    looked = []
    end_of_set = globs._end_of_set

    def counted(pattern, start):
        looked.append(start)
        return end_of_set(pattern, start)

    monkeypatch.setattr(globs, "_end_of_set", counted)
    with pytest.raises(ValueError, match="nobody can read"):
        WatchFilter(["[" * 1000 + "{a,b}" * 3])
    assert len(looked) < 20


def test_as_many_segments_as_a_pattern_may_have_are_understood():
    path = "/".join("a" * 200)
    told = WatchFilter([path])
    assert told.reports(path)
    assert told.enters("/".join("a" * 199))
    assert not told.enters("b")
