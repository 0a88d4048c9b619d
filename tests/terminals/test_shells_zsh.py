"""A zsh that marks its commands is the person's own in everything else."""

import pytest

from ahpd.terminals.shells import integration_folder

from .sitting import Sitting, commands, program

PLAIN = "PS1='> '\nunsetopt prompt_sp\n"


@pytest.fixture(autouse=True)
def zsh():
    return program("zsh")


def sitting(home, text="", **more):
    (home / ".zshrc").write_text(PLAIN + text)
    return Sitting("zsh", home, **more)


def lines(said):
    return [(line, output.replace("\r", ""), code) for line, output, code in said]


def test_their_folder_of_files_is_theirs_again(tmp_path):
    theirs = tmp_path / "their files"
    theirs.mkdir()
    (theirs / ".zshenv").write_text("IN_ENV=$ZDOTDIR\n")
    (theirs / ".zshrc").write_text(
        PLAIN + "HISTFILE=${ZDOTDIR:-$HOME}/.zsh_history\nIN_RC=$ZDOTDIR\n"
    )
    with Sitting("zsh", tmp_path, env={"ZDOTDIR": str(theirs)}) as it:
        it.prompt()
        ((_, output, _),) = it.run('print -l "$IN_ENV" "$IN_RC" "$ZDOTDIR" "$HISTFILE"')
        assert output.split("\r\n")[:4] == [str(theirs)] * 3 + [f"{theirs}/.zsh_history"]
        assert lines(it.run("env | grep ZDOTDIR")) == [
            ("env | grep ZDOTDIR", f"ZDOTDIR={theirs}\n", 0)
        ]


def test_without_one_there_is_none(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        assert lines(it.run("print ${ZDOTDIR-none}${ORIGINAL_ZDOTDIR-none}"))[0][1] == "nonenone\n"


def test_a_folder_their_first_file_names_is_where_the_rest_is_read(tmp_path):
    theirs = tmp_path / "config"
    theirs.mkdir()
    (tmp_path / ".zshenv").write_text("export ZDOTDIR=$HOME/config\n")
    (theirs / ".zshrc").write_text(PLAIN + "FOUND=here\n")
    with Sitting("zsh", tmp_path) as it:
        it.prompt()
        assert lines(it.run("print $FOUND $ZDOTDIR"))[0][1] == f"here {theirs}\n"


@pytest.mark.parametrize("text", ["return 3\n", "false\nno_such_command\n", "echo ${(broken\n"])
def test_a_first_file_that_fails_leaves_a_shell_that_marks(tmp_path, text):
    (tmp_path / ".zshenv").write_text(text)
    with sitting(tmp_path, text) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


def test_hooks_of_theirs_run_and_see_the_status(tmp_path):
    text = """
precmd() { print "first:$?"; }
autoload -Uz add-zsh-hook
mine() { print "mine:$?"; return 4; }
add-zsh-hook precmd mine
before() { print "before:$1"; }
add-zsh-hook preexec before
"""
    with sitting(tmp_path, text) as it:
        it.prompt()
        ((line, output, code),) = it.run("(exit 7)")
        assert (line, code) == ("(exit 7)", 7)
        assert output.replace("\r", "") in ("", "first:7\n")
        assert "before:(exit 7)" in it.all_text()
        it.run("true")
        assert "mine:7" in it.all_text()
        assert "first:7" in it.all_text()


def test_hooks_see_the_statuses_of_a_pipeline(tmp_path):
    text = 'precmd() { print "a:$pipestatus" }\nmine() { print "b:$pipestatus" }\n'
    with sitting(tmp_path, text + "precmd_functions+=(mine)\n") as it:
        it.prompt()
        it.run("true | false | (exit 3)")
        it.run("true")
        for words in ("a:0 1 3\r\n", "b:0 1 3\r\n"):  # what is typed may be shown in between
            assert words in it.all_text()


def test_hooks_that_are_set_anew_in_their_files_leave_the_marks(tmp_path):
    text = "mine() { :; }\nprecmd_functions=(mine)\npreexec_functions=()\n"
    with sitting(tmp_path, text) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


@pytest.mark.parametrize(
    "prompt",
    [
        "setopt prompt_subst; PS1='$(print -n sub)> '",
        'precmd() { PS1="$((++n))> " }',
        "PS1='%B%F{red}%n%f%b %(?.ok.bad)> '; RPROMPT='%T'",
        "unsetopt prompt_percent; PS1='100%> '",
        "PS1=$'two\\nlines> '",
        "zle-line-init() { zle reset-prompt }; zle -N zle-line-init",
    ],
)
def test_prompts_of_every_kind_are_drawn_as_they_are(tmp_path, prompt):
    with sitting(tmp_path, prompt + "\n") as it:
        it.prompt()
        it.shows("> ")
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert "ahpd" not in it.run("print -r -- $PS1")[0][1]
        assert "133" not in it.all_text()


@pytest.mark.parametrize(
    "option",
    ["no_unset", "err_exit", "err_return", "ksh_arrays", "sh_word_split", "all_export", "no_clobber",
     "ksh_glob", "null_glob", "extended_glob", "c_bases", "posix_builtins", "warn_create_global",
     "no_short_loops", "function_argzero", "no_function_argzero", "no_bare_glob_qual", "no_rcs",
     "no_multibyte", "hist_ignore_space", "no_bg_nice", "xtrace", "ksh_typeset", "rc_quotes",
     "no_banghist", "interactive_comments", "typeset_silent"],
)  # fmt: skip
@pytest.mark.parametrize("when", ["in the file", "later"])
def test_options_are_kept_and_nothing_breaks(tmp_path, option, when):
    with sitting(tmp_path, f"setopt {option}\n" if when == "in the file" else "") as it:
        it.prompt()
        it.run(f"setopt {option}" if when == "later" else "true")
        ((line, output, code),) = it.run(" echo one")
        assert (line.strip(), code) == ("echo one", 0)
        assert "one\r\n" in output
        ((_, output, _),) = it.run(f"[[ -o {option} ]] && echo kept")
        assert "kept\r\n" in output
        assert lines(it.run("! true"))[0][2] == 1
        ((_, output, _),) = it.run("env | grep -c '^__ahpd' || :")
        assert "0\r\n" in output
        for trouble in ("not found", "parameter not set", "bad ", "no matches", "created globally"):
            assert trouble not in it.all_text()


def test_options_in_their_first_file_break_nothing(tmp_path):
    (tmp_path / ".zshenv").write_text(
        "setopt no_unset ksh_arrays sh_word_split err_return all_export\n"
    )
    with sitting(tmp_path) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert lines(it.run("env | grep -c ahpd || :"))[0][1] == "0\n"


def test_a_trace_shows_little_of_ours(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.run("set -x")
        it.run("echo one")
        it.run("set +x")
        traced = [line for line in it.all_text().split("\n") if line.startswith("+__ahpd")]
        assert len({line.strip() for line in traced}) <= 6


def test_aliases_and_functions_of_common_names_are_none_of_its_concern(tmp_path):
    text = "".join(
        f"alias {name}='echo broken'\n"
        for name in ("printf", "local", "setopt", "emulate", "typeset", "sched", "if", "return")
    )
    (tmp_path / ".zshenv").write_text("alias -g C='| cat'\nalias sched='echo broken'\n")
    with sitting(tmp_path, text) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert "broken" not in it.all_text()


def test_a_line_is_said_where_there_is_no_history_too(tmp_path):
    with sitting(tmp_path, "HISTSIZE=0\nsetopt hist_ignore_space\n") as it:
        it.prompt()
        for line in ("echo one", " echo two"):
            ((said, _, _),) = it.run(line)
            assert said.strip() == line.strip()


def test_a_loop_over_several_lines_is_one_command(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.type("for i in 1 2\rdo echo $i\rdone\r")
        ((line, output, code),) = commands(it.prompt())
        assert line == "for i in 1 2\ndo echo $i\ndone"
        assert (output, code) == ("1\r\n2\r\n", 0)


def test_nothing_waits_in_their_schedule(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        assert lines(it.run("sched")) == [("sched", "", 0)]
        assert lines(it.run("print ${(k)functions[(I)__ahpd_install]}"))[0][1] == "\n"


def test_a_completion_dump_is_not_written_among_our_files(tmp_path):
    with sitting(tmp_path, "autoload -Uz compinit && compinit -u\n") as it:
        it.prompt()
        it.run("true")
    found = {path.name for path in integration_folder().rglob("*") if path.is_file()}
    assert found == {"bash.sh", "fish.fish", ".zshenv"}
    assert (tmp_path / ".zcompdump").exists()


def test_a_script_zsh_runs_knows_nothing_of_it(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        ((_, output, _),) = it.run("zsh -c 'print ${(k)functions[(I)__ahpd*]}+'")
        assert output == "+\r\n"
