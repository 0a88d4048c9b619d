"""What a line may run beside the commands that stand in it: for rules that refuse or ask.

Many programs run others: `sudo`, `xargs`, a shell with a line of its own, an editor. What
bash itself and other shells are given to run is read as a line is. Of the rest it is only
asked whether what a rule names stands anywhere in what they are given, in its order; then
they may run it, and a person decides. What comes out of a file, or is put together inside of
a program, is seen by nobody.
"""

import posixpath
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final

import attrs

from ahpd.permissions.patience import Patience
from ahpd.permissions.patterns import fixed_part
from ahpd.permissions.shell_reading import Command, Reading
from ahpd.permissions.shell_tokens import as_written

#: How deep a line inside of a line is read.
_MOST_DEPTH: Final = 4

_SHELLS: Final = frozenset(
    {"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "csh", "tcsh"}
)
#: What is given lines and commands that are read (`reached`).
_READ: Final = _SHELLS | {"eval", "trap", "command", "exec"}
#: Programs whose words are a command, behind options and settings of their own.
_WRAPPERS: Final = frozenset(
    {
        "command", "builtin", "exec", "env", "sudo", "doas", "su", "runuser", "pkexec", "nohup", "nice",
        "ionice", "chrt", "taskset", "timeout", "stdbuf", "setsid", "setarch", "time", "xargs", "parallel",
        "watch", "entr", "chroot", "unshare", "nsenter", "flock", "script", "strace", "ltrace", "gdb",
        "valgrind", "perf", "busybox", "toybox", "ssh", "mosh", "systemd-run", "firejail", "bwrap", "proot",
        "fakeroot", "dbus-run-session", "xvfb-run", "tmux", "screen", "faketime", "torsocks", "proxychains",
        "prlimit", "cgexec", "start-stop-daemon", "coproc", "noglob", "repeat", "trap", "alias", "hash",
        "eval", "source", ".", "enable", "fc", "complete", "mapfile", "readarray",
    }
)  # fmt: skip
#: Programs that are given code, and run it.
_INTERPRETERS: Final = frozenset(
    {
        "awk", "gawk", "mawk", "nawk", "perl", "python", "pypy", "ruby", "php", "lua", "luajit", "node", "nodejs",
        "deno", "bun", "tclsh", "expect", "guile", "emacs", "vi", "vim", "nvim", "ex", "npx", "uvx", "pipx",
        "sqlite3", "psql", "mysql", "osascript",
    }
)  # fmt: skip
#: Programs that run code or commands among much else that they do.
_HOSTS: Final = frozenset(
    {
        "git", "find", "fd", "fdfind", "tar", "bsdtar", "cpio", "rsync", "scp", "sftp", "zip", "sed",
        "emacsclient", "view", "ed", "nano", "less", "more", "man", "make", "gmake", "cmake", "ninja", "just",
        "npm", "yarn", "pnpm", "uv", "poetry", "pdm", "hatch", "tox", "nox", "cargo", "go", "docker", "podman",
        "nerdctl", "kubectl", "oc", "vagrant", "at", "batch", "crontab", "m4", "bc", "dc", "printf", "test", "[",
        "[[", "declare", "typeset", "export", "readonly", "local", "let", "unset", "read", "xterm", "open",
        "xdg-open", "nc", "ncat", "socat", "openssl", "rg", "split", "sort", "dd", "install", "mount", "apt",
        "apt-get", "dpkg", "pip", "gcc", "cc", "ld", "ansible", "salt",
    }
)  # fmt: skip
#: Interpreters with their version behind the name, and the loader of programs.
_LIKE: Final = re.compile(r"(?:python|pypy|perl|ruby|lua|php|node|tclsh|gawk)[\d.]*|ld[-.].*")
#: Variables, as they are set, that say what runs in another's place or beside it.
_MEANS_OTHERS: Final = re.compile(
    r"(?:PATH|LD_\w+|DYLD_\w+|BASH_\w+|ENV|ZDOTDIR|IFS|PS[0-4]|PROMPT_COMMAND|SHELL(?:OPTS)?|BASHOPTS|CDPATH|"
    r"GIT_\w+|SSH_\w+|\w*EDITOR|VISUAL|\w*PAGER|LESS\w*|BROWSER|\w+_COMMAND|\w*_OPTIONS|\w*_?OPTS?|"
    r"PYTHON\w+|PERL\w+|RUBY\w+|NODE_\w+|MAKE\w*|\w+FLAGS|XDG_\w+|HOME|TAR_\w+|RSYNC_\w+|GCONV_PATH)\+?="
)
#: What is given variables to set.
_SETS: Final = frozenset(
    {"env", "export", "declare", "typeset", "readonly", "local", "sudo", "doas", "make", "gmake"}
)
_EMBEDDED: Final = r"(?<![\w.-]){}(?![\w.-])"


def runs_anything(name: str) -> bool:
    """Whether a program of this name does nothing but run what it is given."""
    program = program_of(name).lower()
    return (
        program in _SHELLS
        or program in _WRAPPERS
        or program in _INTERPRETERS
        or _LIKE.fullmatch(program) is not None
    )


def _runs_others(program: str) -> bool:
    return program in _HOSTS or runs_anything(program)


def program_of(name: str) -> str:
    """The program a command's name leads to: the last name of a path."""
    return posixpath.basename(name.removeprefix("="))


@attrs.frozen
class Reached:
    """What shells inside of a line are given to run."""

    commands: tuple[Command, ...] = ()
    whole: bool = True
    """Whether that is all they are given."""


def reached(reading: Reading, read: Callable[[str], Reading], patience: Patience) -> Reached:
    """What the shells a line runs are given, those inside of that too. `read` reads a line."""
    commands: list[Command] = []
    waiting = [(each, 0) for each in reading.commands]
    whole = not any(map(_MEANS_OTHERS.match, reading.settings))
    while waiting:
        patience.left()
        command, depth = waiting.pop()
        found = None if _sets_meaning(command) else _inside(command)
        if found is None or (found.lines and depth >= _MOST_DEPTH):
            whole = False
            continue
        new = list(found.commands)
        for line in found.lines:
            patience.left()
            inner = read(line)
            whole = whole and inner.whole and not any(map(_MEANS_OTHERS.match, inner.settings))
            new += inner.commands
        commands += new
        waiting += [(each, depth + 1) for each in new]
    return Reached(tuple(commands), whole)


def _sets_meaning(command: Command) -> bool:
    """Whether a command is given variables that have others run something else."""
    if program_of(command.name or "") not in _SETS:
        return False
    return any(_MEANS_OTHERS.match(as_written(word.text)) for word in command.words[1:])


@attrs.frozen
class _Given:
    """What one command is given to run: lines to read, and commands that were taken apart."""

    lines: Sequence[str] = ()
    commands: Sequence[Command] = ()


def _inside(command: Command) -> _Given | None:
    """What a command that is a shell, or runs its words in this one, is given; None if unknown."""
    program, words = program_of(command.name or ""), command.words[1:]
    texts = [as_written(word.text) for word in words]
    known = all(word.known for word in words)
    if program in _SHELLS:
        return _of_shell(texts) if known else None
    if program in ("eval", "trap"):
        texts = texts[1:] if texts[:1] == ["--"] else texts
        line = " ".join(texts if program == "eval" else texts[:1])
        return _Given((line,)) if known else None
    if program in ("command", "exec"):
        at = 0
        while at < len(words) and texts[at].startswith("-"):
            if program == "command" and ("v" in texts[at] or "V" in texts[at]):
                return _Given()  # it only tells of it
            at += 2 if texts[at].endswith("a") and program == "exec" else 1
        return _Given(commands=(Command(words[at:]),)) if at < len(words) else _Given()
    return _Given()


def _of_shell(texts: Sequence[str]) -> _Given | None:
    """What a shell with these arguments runs; None for what it is told on its input."""
    operands = [text for text in texts if not text.startswith(("-", "+"))]
    options = "".join(text[1:] for text in texts if re.match(r"[-+][^-]", text))
    if "c" in options:
        return _Given(operands)  # one of them is the line, and no other means anything
    if not operands or "s" in options:
        return None
    return _Given()


# -- programs that run others --------------------------------------------------------------


def may_run(pattern: str, command: Command) -> bool:
    """Whether a command may run, or be, what a rule's pattern names, in another way of writing it."""
    name = command.name
    if name is None:
        return False  # what is not known at all is compared by what it begins with
    named, program = named_words(pattern), program_of(name)
    if not named:
        return False
    if program == named[0] and _in_order(named[1:], command):
        return True
    if not _runs_others(program):
        return False
    if program in _READ and _inside(command) is not None:
        return False  # what it is given was read
    rest = command.words[1:]
    if program in _WRAPPERS and not all(word.known for word in rest):
        return True
    return is_embedded(named, as_written(" ".join(word.text for word in rest)))


def is_embedded(named: tuple[str, ...], text: str) -> bool:
    """Whether the words a rule names stand in a text, in their order."""
    return bool(named) and _embedded(named).search(text) is not None


@lru_cache(maxsize=16384)
def named_words(pattern: str) -> tuple[str, ...]:
    """The plain words a pattern begins with, its program without the path to it."""
    words = fixed_part(pattern).split()
    return (program_of(words[0]), *words[1:]) if words else ()


@lru_cache(maxsize=16384)
def _embedded(named: tuple[str, ...]) -> re.Pattern[str]:
    """The words of a pattern, each somewhere behind the one before it."""
    words = [_EMBEDDED.format(re.escape(each)) for each in named if not each.startswith("-")]
    return re.compile("(?>.*?" + ")(?>.*?".join(words) + ")", re.DOTALL)


def _in_order(wanted: Sequence[str], command: Command) -> bool:
    """Whether the words behind a pattern's program stand in a command, with others between.

    `git -C x push` is `git push`, and `rm -fr` is `rm -rf`.
    """
    if not wanted:
        return True
    letters = set("".join(_letters(command)))
    plain = [each for each in wanted if not re.fullmatch(r"-[A-Za-z]+", each)]
    if not set("".join(wanted_letters for wanted_letters in _short(wanted))) <= letters:
        return False
    texts = [as_written(word.text) for word in command.words[1:]]
    at, settled = 0, False
    for place, text in enumerate(texts):
        if at == len(plain):
            break
        word = command.words[1 + place]
        if text == plain[at] or (not word.known and not settled):
            at += 1
        # The first word that neither is an option nor may be the value of one says what it does.
        behind = place > 0 and texts[place - 1].startswith("-")
        settled = settled or not (text.startswith("-") or behind)
    return at == len(plain)


def _short(words: Sequence[str]) -> Iterator[str]:
    return (each[1:] for each in words if re.fullmatch(r"-[A-Za-z]+", each))


def _letters(command: Command) -> Iterator[str]:
    return _short([as_written(word.text) for word in command.words[1:]])
