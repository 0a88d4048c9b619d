"""What a shell line is found to run, and what keeps it from being read."""

import time

import pytest

from ahpd.permissions.shell_reading import MOST_BYTES, ShellReader

READER = ShellReader()


def commands(line):
    return [command.raw for command in READER.read(line).commands]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("ls -la", ["ls -la"]),
        ("a && b || c; d & e | f |& g", ["a", "b", "c", "d", "e", "f", "g"]),
        ("a\nb\n\nc", ["a", "b", "c"]),
        ("(a; b) && { c; d; }", ["a", "b", "c", "d"]),
        ("if a; then b; elif c; then d; else e; fi", ["a", "b", "c", "d", "e"]),
        ("while a; do b; done", ["a", "b"]),
        ("! a", ["a"]),
        ("echo $(a) `b` <(c) >(d)", ["echo $(a) `b` <(c) >(d)", "a", "b", "c", "d"]),
        ('echo "x $(a "$(b)")"', ['echo "x $(a "$(b)")"', 'a "$(b)"', "b"]),
        ("cat <<EOF\n$(a)\nEOF\nb", ["cat", "b", "a"]),
        ("cat <<'EOF'\n$(a)\nEOF\nb", ["cat", "b"]),
        ("a <<< $(b)", ["a", "b"]),
        ("a # b\nc", ["a", "c"]),
        ("a '#c'", ["a '#c'"]),
        ("a \\\n  b", ["a b"]),
        ("sudo rm x", ["sudo rm x"]),
        ("a 2>&1 >/dev/null", ["a"]),
    ],
)
def test_commands_are_found_wherever_they_stand(line, found):
    reading = READER.read(line)
    assert reading.whole
    assert reading.because is None
    assert sorted(command.raw for command in reading.commands) == sorted(found)


@pytest.mark.parametrize(
    ("line", "writes"),
    [
        ("a > f", ["f"]),
        ("a >> f", ["f"]),
        ("a >| f", ["f"]),
        ("a &> f", ["f"]),
        ("a &>> f", ["f"]),
        ("a >& f", ["f"]),
        ("a 2>f 3>'g h'", ["f", "g h"]),
        ("a 2>&1 >&2 1>&-", []),
        ("> f", ["f"]),
        ("exec > f", ["f"]),
        ("a > $x", [None]),
        ("a > *.txt", [None]),
        ("a > >(b)", [None]),
        ("a > ~b/x", [None]),
        ("a > ~'/x'", [None]),
        ("{ a; } > f", ["f"]),
        ("(a) > f", ["f"]),
        ("echo $(a > f)", ["f"]),
        ("a 'x > f'", []),
        ("a \\> f", []),
    ],
)
def test_redirects_that_write_are_found_in_every_form(line, writes):
    reading = READER.read(line)
    assert reading.whole
    found = [redirect.path for redirect in reading.redirects if redirect.writes]
    assert sorted(found, key=str) == sorted(writes, key=str)


@pytest.mark.parametrize(
    "line",
    [
        "f() { a; }; f",
        "for i in a b; do c $i; done",
        "for PATH in /tmp; do ls; done",
        "X=1 a",
        "X=1",
        "export X=1",
        "declare -x X=1",
        "$a b",
        "`a` b",
        "time a",
        "coproc a",
    ],
)
def test_a_line_that_does_more_than_run_commands_says_so(line):
    reading = READER.read(line)
    assert reading.whole
    assert reading.because is not None


@pytest.mark.parametrize(
    "line",
    [
        "a > f -delete",
        "a <> f",
        "a#b",
        "r\\\nm x",
        "case x in a) b;; esac",
        "((a=1))",
        "a $((b))",
        "a $((b[$(c)]))",
        "a ${b:-$(c)}",
        "a ${!b}",
        "a ${b@P}",
        "a $[1]",
        'a $"b"',
        "a $'\\'; b; c \\''",
        "a $'\\x00'",
        "a $'\\u0041'",
        "!b",
        "a !b",
        "{a,b}",
        "a 'b",
        'a "b',
        "a `b",
        "a $(b",
        "a (b)",
        "a <<E\nb",
        "a )",
        "a \\",
        "a \\ -b",
        "a b\x00c",
        "a\x1bb",
        "a\rb",
        "a\u00a0b",
        "a\u200bb",
        "a\u202eb",
        "a\u2028b",
        "a\ud800b",
        "{x}> f a",
        "a ;;",
        "a && && b",
        "a `b \\`c\\``",
        "function f { a; }",
        "x=(a b)",
    ],
)
def test_a_line_that_is_not_read_for_certain_is_not_read(line):
    assert not READER.read(line).whole


@pytest.mark.parametrize(
    "line",
    [
        "a" * (MOST_BYTES + 1),
        "\u00e9" * (MOST_BYTES // 2 + 1),
        "a;" * 4000,
        "a;" * 101,
        "$(" * 3000 + "a" + ")" * 1000,
        "echo " + "$(" * 400 + "a" + ")" * 400,
        "(" * 4000 + ")" * 4000,
        "`" * 8001,
        "((" * 2000,
        "a <<E\n" * 1000,
        "{a," * 2000 + "}" * 2000,
        "'" + "\\" * 8000,
        "[[ " * 2000,
        "a|" * 4000,
        "${" * 2000,
    ],
    ids=lambda line: line[:10],
)
def test_long_and_deep_lines_cost_little_and_are_not_read(line):
    began = time.process_time()
    assert not READER.read(line).whole
    assert time.process_time() - began < 2


def test_a_line_that_is_not_read_still_tells_the_commands_that_were_seen():
    assert "rm x" in commands("case x in a) rm x;; esac")


def test_words_are_known_without_their_quotes():
    (command,) = READER.read("r''m -\"rf\" $'x'").commands
    assert (command.name, command.text) == ("rm", "rm -rf x")


@pytest.mark.parametrize(
    ("word", "may"),
    [
        ("$x", True), ('"$x"', True), ("*", True), ("*.py", True), ("{-a,-b}", True),
        ("a/$x", True), ('"a/$x"', False), ("a/*.py", False), ("-$x", True), ("plain", False),
        ("<(a)", False), ("$((1))", True), ('"$(a)"', True), ("~/x", False),
    ],
)  # fmt: skip
def test_a_word_only_bash_knows_may_be_an_option_unless_it_begins_otherwise(word, may):
    command = READER.read(f"cmd {word}").commands[0]
    assert command.words[1].may_be_an_option is may
