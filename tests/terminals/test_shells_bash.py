"""A bash that marks its commands is the person's own in everything else."""

import re

import pytest

from ahpd.terminals.marks import PromptEnded
from ahpd.terminals.shells import integration_folder

from .sitting import Sitting, commands, program

pytestmark = pytest.mark.usefixtures("bash")


@pytest.fixture
def bash():
    return program("bash")


def sitting(home, text="", prompt="> ", **more):
    (home / ".bashrc").write_text(f"PS1='{prompt}'\n" + text)
    return Sitting("bash", home, **more)


@pytest.fixture(params=["array", "string"])
def scripts(request, tmp_path):
    """The scripts as they are, and as a bash before 5.1 runs them, whose PROMPT_COMMAND is one
    string."""
    if request.param == "array":
        return None
    folder = tmp_path / "scripts"
    folder.mkdir()
    script = (integration_folder() / "bash.sh").read_text()
    assert script.count(">= 501") == 1
    (folder / "bash.sh").write_text(script.replace(">= 501", ">= 9999"))
    return folder


def lines(said):
    return [(line, output.replace("\r", ""), code) for line, output, code in said]


HOOKS = {
    "string": "PROMPT_COMMAND='echo \"<$?>\"'\n",
    "string with a semicolon": "PROMPT_COMMAND='echo \"<$?>\";  '\n",
    "string with a comment": "PROMPT_COMMAND='echo \"<$?>\" # said'\n",
    "array": "PROMPT_COMMAND=('echo \"<$?>\"' ':')\n",
    "array with a hole": "PROMPT_COMMAND=([3]='echo \"<$?>\"' [7]='')\n",
    "function": 'said() { echo "<$?>"; return 9; }\nPROMPT_COMMAND=said\n',
    "exported": "export PROMPT_COMMAND='echo \"<$?>\"'\n",
}


@pytest.mark.parametrize("hook", HOOKS)
def test_prompt_commands_run_and_see_the_commands_status(tmp_path, scripts, hook):
    if scripts and hook.startswith("array"):
        pytest.skip("no array in a bash that knows none")
    with sitting(tmp_path, HOOKS[hook], scripts=scripts) as it:
        it.prompt()
        assert lines(it.run("(exit 7)")) == [("(exit 7)", "", 7)]
        assert "<7>" in it.all_text()
        it.run("true")
        assert it.all_text().count("<0>") == 2  # and one at the first prompt


def test_an_array_of_prompt_commands_stays_in_order(tmp_path):
    text = (
        "PROMPT_COMMAND=('echo \"1=$?\"' 'echo \"2=$?\"; false' 'echo \"3=$? ${PIPESTATUS[*]}\"')\n"
    )
    with sitting(tmp_path, text) as it:
        it.prompt()
        it.run("true | (exit 5)")
        it.run("true")
        assert "1=5\r\n2=5\r\n3=5 0 5\r\n" in it.all_text()


def test_a_prompt_that_shows_the_status_shows_the_commands(tmp_path, scripts):
    with sitting(tmp_path, prompt="[$?]> ", scripts=scripts) as it:
        it.prompt()
        it.shows("[0]> ")
        it.run("(exit 7)")
        it.shows("[7]> ")


def test_a_prompt_made_anew_each_time_is_marked_each_time(tmp_path, scripts):
    with sitting(tmp_path, "PROMPT_COMMAND='PS1=\"$((++n))> \"'\n", scripts=scripts) as it:
        for number in (1, 2, 3):
            it.prompt()
            it.until(lambda new: PromptEnded() in new)
            assert it.text().endswith(f"{number}> ")
            it.type("true\r")
        assert lines(commands(it.prompt())) == [("true", "", 0)]


def test_a_prompt_set_while_it_runs_is_marked(tmp_path, scripts):
    with sitting(tmp_path, scripts=scripts) as it:
        it.prompt()
        for line in ("PS1='other> '", 'PS1="more $PS1"', "PS1+='! '", "unset PS1"):
            it.run(line)
            it.until(lambda new: PromptEnded() in new)
        it.run("PS1='last> '")
        it.until(lambda new: PromptEnded() in new)
        assert it.text().endswith("last> ")
        assert "ahpd" not in it.all_text()


def test_prompt_commands_set_while_it_runs_leave_the_marks(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        for line in ("PROMPT_COMMAND='echo mine'", "PROMPT_COMMAND+=('echo too')", "false"):
            ((said, _, code),) = it.run(line)
            assert (said, code) == (line, int(line == "false"))
        it.run("true")
        assert it.all_text().count("mine\r\n") == 4
        assert it.raw.count(b"]133;D") == 4


def test_something_of_the_persons_in_ps0_is_printed_once(tmp_path, scripts):
    with sitting(tmp_path, "PS0='\\[\\e[33m\\][$((++n))]\\n'\n", scripts=scripts) as it:
        it.prompt()
        it.run("true")
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert re.findall(r"\[\d+\]", it.all_text()) == ["[1]", "[2]"]


@pytest.mark.parametrize(
    "options", ["-u", "-e", "-eu", "-a", "-f", "-o noclobber", "-k", "-T", "-E"]
)
@pytest.mark.parametrize("when", ["in the file", "later"])
def test_options_are_kept_and_nothing_breaks(tmp_path, scripts, options, when):
    with sitting(
        tmp_path, f"set {options}\n" if when == "in the file" else "", scripts=scripts
    ) as it:
        it.prompt()
        it.run(f"set {options}" if when == "later" else "true")
        assert lines(it.run("echo one"))[0][1:] == ("one\n", 0)
        ((_, output, code),) = it.run("! set +o | grep -F ahpd; env | grep -c '^__' || :")
        assert (output, code) == ("0\r\n", 0)
        assert lines(it.run("! true"))[0][1:] == ("", 1)
        before = it.run("echo $-")[0][1]
        assert all(letter in before for letter in options[1:] if "o" not in options)
        assert "rror" not in it.all_text()
        assert "unbound" not in it.all_text()


def test_an_error_ends_a_shell_that_is_told_so_with_its_own_code(tmp_path, scripts):
    import os

    with sitting(tmp_path, "set -e\n", scripts=scripts) as it:
        it.prompt()
        it.run("true")
        it.type("(exit 9)\r")
        with pytest.raises(AssertionError, match="it ended"):
            it.prompt()
        assert (
            os.waitstatus_to_exitcode(
                os.waitid(os.P_PID, it.pid, os.WEXITED | os.WNOWAIT).si_status << 8
            )
            == 9
        )


def test_a_trace_shows_little_of_ours(tmp_path, scripts):
    with sitting(tmp_path, scripts=scripts) as it:
        it.prompt()
        it.run("set -x")
        it.run("echo one")
        it.run("set +x")
        traced = set(re.findall(r"\++ (.*__ahpd.*)\r", it.all_text()))
        assert len(traced) <= 6
        assert "__ahpd_after" in traced


def test_a_debug_trap_hears_of_the_persons_commands(tmp_path, scripts):
    text = "trap 'last=$BASH_COMMAND; [[ $last == *one* ]] && echo \"trapped: $last\"' DEBUG\n"
    with sitting(tmp_path, text, scripts=scripts) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "trapped: echo one\none\n", 0)]
        assert lines(it.run("(exit 3)")) == [("(exit 3)", "", 3)]
        it.run("trap - DEBUG")
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


def test_time_measured_by_a_debug_trap_is_the_commands_alone(tmp_path, scripts):
    """The well-known timer: the trap starts it where it does not run, the prompt stops it."""
    text = """
started() { timer=${timer:-started by $BASH_COMMAND}; }
stopped() { echo "{$timer}"; unset timer; }
trap started DEBUG
PROMPT_COMMAND=stopped
"""
    with sitting(tmp_path, text, scripts=scripts) as it:
        it.prompt()
        it.run("true 1")
        it.run("true 2")
        it.run("true 3")
        timers = re.findall(r"\{started by (.*?)\}", it.all_text())
        assert timers[1:3] == ["true 1", "true 2"]


def test_a_library_that_sets_its_trap_at_the_first_prompt_hears_of_every_command(tmp_path, scripts):
    """As bash-preexec does it: between its last prompt command and the next trap is a command."""
    text = """
bash_preexec_imported=defined
typed=
heard() { [[ -n $typed && $PROMPT_COMMAND != *"$BASH_COMMAND"* ]] && echo "heard: $BASH_COMMAND"; typed=; }
set_up() {
    PROMPT_COMMAND=${PROMPT_COMMAND//set_up/:}
    (( ${#PROMPT_COMMAND[@]} == 1 )) || PROMPT_COMMAND[1]=
    trap heard DEBUG
    PROMPT_COMMAND+=$'\\nlistening'
    typed=yes
}
listening() { typed=yes; }
PROMPT_COMMAND=set_up
"""
    with sitting(tmp_path, text, scripts=scripts) as it:
        it.prompt()
        for word in ("one", "two", "three"):
            ((line, output, code),) = it.run(f"echo {word}")
            assert (line, code) == (f"echo {word}", 0)
            assert output.replace("\r", "") == f"heard: echo {word}\n{word}\n"


def test_aliases_and_functions_of_common_names_are_none_of_its_concern(tmp_path, scripts):
    text = "".join(
        f"alias {name}='echo broken'\n"
        for name in ("local", "shopt", "set", "return", "trap", "declare", "test", "if")
    )
    text += "printf() { echo broken; }\nhistory() { echo broken; }\nalias printf=history\n"
    with sitting(tmp_path, text, scripts=scripts) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert "broken" not in it.all_text()


@pytest.mark.parametrize("control", ["ignoreboth", "ignoredups", "ignorespace", "erasedups", ""])
def test_a_line_kept_out_of_the_history_is_read_off_the_screen(tmp_path, control):
    text = f"HISTCONTROL={control}\nHISTIGNORE='secret *'\nsecret() {{ :; }}\n"
    with sitting(tmp_path, text) as it:
        it.prompt()
        for line in ("echo one", "echo one", " echo two", "secret word", "echo one"):
            ((said, _, _),) = it.run(line)
            assert said.strip() == line.strip()
        ((_, output, _),) = it.run("history")
        assert "secret" not in output
        assert "ahpd" not in output


def test_a_line_brought_back_with_a_key_is_said(tmp_path):
    with sitting(tmp_path, "HISTCONTROL=ignoreboth\n") as it:
        it.prompt()
        it.run("echo one two")
        it.run("true")
        it.rest()
        it.type("\x1b[A\x1b[A")
        it.rest()
        assert lines(it.run("")) == [("echo one two", "one two\n", 0)]
        it.rest()
        it.type("\x1b[A\x7f\x7f\x7f")
        assert lines(it.run("six")) == [("echo one six", "one six\n", 0)]


def test_without_a_history_lines_are_read_off_the_screen(tmp_path):
    with sitting(tmp_path, "set +o history\n") as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]
        assert lines(it.run("echo two")) == [("echo two", "two\n", 0)]


def test_times_in_the_history_are_not_of_the_line(tmp_path):
    with sitting(tmp_path, "HISTTIMEFORMAT='%F %T '\n") as it:
        it.prompt()
        assert [said[0] for said in it.run("echo one")] == ["echo one"]
        ((_, output, _),) = it.run("history 1")
        assert re.search(r"\d\d:\d\d:\d\d history 1", output)


@pytest.mark.parametrize("options", ["set +B", "shopt -s nocasematch failglob nullglob", "IFS=:;"])
def test_a_line_with_controls_in_it_is_said(tmp_path, options):
    with sitting(tmp_path, options + "\n") as it:
        it.prompt()
        it.rest()
        # ^V has the next key taken as it is.
        it.type("printf '%s;' 'a\x16\tb\x16\x1bc\x16\x01' | cat -v\r")
        ((line, output, code),) = commands(it.prompt())
        assert line == "printf '%s;' 'a\tb\x1bc\x01' | cat -v"
        assert (output.replace("\r", ""), code) == ("a\tb^[c^A;", 0)


def test_a_bash_that_is_too_old_is_left_as_it_is(tmp_path):
    folder = tmp_path / "scripts"
    folder.mkdir()
    script = (integration_folder() / "bash.sh").read_text()
    assert script.count(">= 404") == 1
    (folder / "bash.sh").write_text(script.replace(">= 404", ">= 9999"))
    with sitting(tmp_path, "set -u\n", scripts=folder) as it:
        it.rest()
        it.plainly("echo $-; echo en''d", "end")
        assert "u" in it.text().split("\r\n")[1]
        it.plainly("declare -p PROMPT_COMMAND; echo en''d", "end")
        assert "not found" in it.text()
        assert b"\x1b]133;" not in it.raw


def test_a_loop_over_several_lines_is_one_command(tmp_path, scripts):
    with sitting(tmp_path, scripts=scripts) as it:
        it.prompt()
        it.type("for i in 1 2\rdo echo $i\rdone\r")
        ((line, output, code),) = commands(it.prompt())
        assert line == "for i in 1 2; do echo $i; done"
        assert (output, code) == ("1\r\n2\r\n", 0)


def test_a_prompt_that_expands_nothing_is_left_alone(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.run("shopt -u promptvars")
        assert it.run("echo it wo''rks") == []
        assert "it works" in it.all_text()
        it.run("shopt -s promptvars")
        assert "ahpd" not in it.all_text()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


def test_an_exported_prompt_marks_nothing_in_another_shell(tmp_path, scripts):
    with sitting(tmp_path, "export PS1 PS0 PROMPT_COMMAND\n", scripts=scripts) as it:
        it.prompt()
        it.run("true")
        it.type("bash --norc --noprofile\r")
        it.prints("> ")
        raw = len(it.raw)
        it.plainly("echo in''side", "inside")
        assert b"]133;" not in it.raw[raw:]
        assert "not found" not in it.all_text()


def test_output_sent_elsewhere_gets_no_marks(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.run("exec 3>&1 >log")
        it.run("echo one")
        it.run("exec >&3")
        assert (tmp_path / "log").read_text() == "one\n"


def test_a_file_that_fails_half_way_leaves_a_shell_that_marks(tmp_path, scripts):
    with sitting(tmp_path, "false\nno-such-command\nreturn 3\n", scripts=scripts) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


def test_without_files_of_their_own_it_marks_too(tmp_path):
    with Sitting("bash", tmp_path) as it:
        it.prompt()
        assert lines(it.run("echo one")) == [("echo one", "one\n", 0)]


def test_a_readonly_prompt_is_a_prompt_without_marks(tmp_path):
    with sitting(tmp_path, "readonly PS1\n") as it:
        it.shows("> ")
        it.plainly("echo it wo''rks", "it works")
