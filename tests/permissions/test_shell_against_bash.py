"""The readers of shell lines against bash itself: what they say a line runs is what it runs."""

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ahpd.permissions.shell_reading import ShellReader
from ahpd.permissions.shell_tokens import Word, as_written, in_bytes
from ahpd.permissions.shell_words import scan

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash to ask")
QUIET = settings(
    max_examples=200,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)

#: Every command that is not found writes its words to descriptor 3 in one piece, a separator last.
LISTENS = r"""command_not_found_handle() { printf '%s\0' "$@" $'\037' >&3; return 1; }
"""


def ran(line, folder):
    """The commands bash ran for `line`, each the list of its words, and the files it made."""
    log = folder.parent / "ran"
    with log.open("wb") as heard:
        subprocess.run(
            [
                BASH,
                "--norc",
                "-c",
                f'exec 3>&{heard.fileno()}\n{LISTENS}\nPATH=/nowhere\neval "$1"',
                "bash",
                line,
            ],
            cwd=folder,
            env={"LC_ALL": "C.UTF-8", "PATH": "/nowhere"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[heard.fileno()],
            timeout=20,
            check=False,
        )
    commands = [
        tuple(word.decode("utf-8", "replace") for word in one.split(b"\0")[:-1])
        for one in log.read_bytes().split(b"\x1f\0")[:-1]
    ]
    files = {path.name for path in folder.iterdir()}
    for path in folder.iterdir():
        path.unlink()
    return commands, files


PLAIN = st.text("ab\u00e9-=.:,@%+~/", min_size=1, max_size=4)
INNER = st.text("ab c\t\n;&|<>()#*?[]{}$'\"\\!~`\u00e9=", max_size=5)


@st.composite
def quoted(draw):
    """A word, written in some of the ways a word can be quoted."""
    pieces = []
    for _ in range(draw(st.integers(1, 3))):
        text = draw(INNER)
        match draw(st.sampled_from(["plain", "single", "double", "ansi", "escaped"])):
            case "plain":
                pieces.append(draw(PLAIN))
            case "single":
                pieces.append("'" + text.replace("'", "") + "'")
            case "double":
                escaped = "".join("\\" + c if c in '$`"\\' else c for c in text.replace("!", ""))
                pieces.append('"' + escaped + '"')
            case "ansi":
                ascii_text = text.encode("ascii", "ignore").decode().replace("'", "")
                made = ascii_text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\x09")
                pieces.append("$'" + made + "'")
            case "escaped":
                pieces.append("".join("\\" + c for c in text if c != "\n"))
    return "x" + "".join(pieces)


@QUIET
@given(words=st.lists(quoted(), min_size=1, max_size=4))
@example(words=["x$'a\\tb'", 'x"a\\$b\\c"', "x\\ ", "x'a'\"b\"c"])
def test_quoted_words_are_the_words_bash_hands_over(tmp_path, words):
    folder = tmp_path / "cwd"
    folder.mkdir(exist_ok=True)
    line = "nobody " + " ".join(words)
    tokens = [token for token in scan(in_bytes(line))[0] if isinstance(token, Word)]
    if not all(token.known for token in tokens):
        return  # a word bash may expand: only what is known is promised
    assert ran(line, folder)[0] == [tuple(as_written(token.text) for token in tokens)]


PIECES = st.sampled_from(
    ['aa', 'bb', 'cc', "'a", "a'", '"b', 'b"', '\\\\', '\\;', "$'c\\n'", 'x=1', "'x=1'", '{a,b}', '{}', '{', '}', '(', ')', ';', '&', '&&', '||', '|', '|&', '!', '#', '#c', '\\#', 'a#b', '>', 'f1', '>f2', '2>', 'f3', '>>', '>|', 'f2', '&>', '2>&1', '>&2', '1>&f4', '<>', 'f4', '<', '/dev/null', '<<<', '$(', '$(aa)', '$(aa;', '`', '`bb`', '"$(cc)"', '"$(aa', '\'b)\')"', '<(aa)', '$v', '"$v"', '*', 'if', 'then', 'else', 'fi', 'while', 'do', 'done', 'for', 'in', 'case', 'esac', '$((1+2))', '[', ']', 'function', 'f()', ';}', 'time', '\\', '<<E', "<<'E'", 'E', '~', '-x', '\\aa', 'a\\a', "'a'a", ';;', 'coproc', '\\\t', '\\\n', '\\ ']
)  # fmt: skip
JOINTS = st.sampled_from([" ", " ", " ", "", "\n", "\t", " ; ", "\\\n"])


@st.composite
def lines(draw):
    """Pieces of shell, put together with no regard for what comes of it."""
    return "".join(draw(PIECES) + draw(JOINTS) for _ in range(draw(st.integers(1, 7))))


@settings(QUIET, max_examples=600)
@given(line=lines())
@example(line="aa > f1 bb")
@example(line="aa # bb\ncc")
@example(line="aa \\\nbb")
@example(line="a\\\na b")
@example(line="aa <<E\n$(bb)\nE\ncc")
@example(line="aa \\ bb")
@example(line="aa $(bb # )\n)")
@example(line="{aa,bb}")
@example(line="aa ; } bb")
def test_what_a_line_was_read_to_run_is_what_it_runs(tmp_path, line):
    folder = tmp_path / "cwd"
    folder.mkdir(exist_ok=True)
    reading = ShellReader().read(line)
    if reading.because is not None:
        return
    commands, files = ran(line, folder)
    known = {
        tuple(as_written(word.text) for word in command.words)
        for command in reading.commands
        if command.known
    }
    fixed = [command for command in reading.commands if not command.known]
    for words in commands:
        assert words in known or any(
            command.name == words[0] or command.name is None for command in fixed
        ), (line, words, known)
    writes = {redirect.path for redirect in reading.redirects if redirect.writes}
    assert files <= writes or None in writes, line
