"""What zsh draws where an output ended within a line is none of the command's."""

import re

import pytest

from .sitting import Sitting, commands, program


@pytest.fixture(autouse=True)
def zsh():
    return program("zsh")


def sitting(home, text):
    (home / ".zshrc").write_text("PS1='> '\n" + text)
    return Sitting("zsh", home)


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("", "#"),
        ("PROMPT_EOL_MARK='<%#>'\n", "<#>"),
        ("PROMPT_EOL_MARK=\n", ""),
        ("setopt prompt_subst prompt_bang no_unset ksh_arrays all_export\n", "#"),
        ("unsetopt prompt_percent\n", "#"),
    ],
)
def test_it_is_drawn_behind_the_commands_end(tmp_path, text, mark):
    printed = {"echo one": ("one\r\n", 0), "printf ab": ("ab", 0), "(exit 3)": ("", 3)}
    with sitting(tmp_path, text) as it:
        it.prompt()
        for line, (output, code) in printed.items():
            it.type(line + "\r")
            events = it.prompt()
            assert commands(events) == [(line, output, code)]
            shown = re.sub(r"\x1b\[\d*m", "", "".join(e for e in events if isinstance(e, str)))
            assert f"{mark}{' ' * 100}" in shown
        # Without a command there is no end of one.
        it.type("\r")
        assert not [event for event in it.prompt() if not isinstance(event, str)]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("", "none"),
        ("PROMPT_EOL_MARK=mine\n", "mine"),
        ("typeset -r PROMPT_EOL_MARK=mine\n", "mine"),
        ("export PROMPT_EOL_MARK=mine\n", "mine"),
    ],
)
def test_it_is_the_persons_own_at_the_prompt(tmp_path, text, kept):
    text += 'theirs() { print "<${PROMPT_EOL_MARK-none}>" }\nprecmd_functions+=(theirs)\n'
    with sitting(tmp_path, text) as it:
        for times in (1, 2, 3):
            it.until(lambda _, times=times: it.all_text().count(f"<{kept}>\r\n") == times)
            it.prompt()
            it.type("true\r")
        assert "<%" not in it.all_text()


def test_what_a_command_makes_of_it_is_kept(tmp_path):
    with sitting(tmp_path, "") as it:
        it.prompt()
        it.run("PROMPT_EOL_MARK=new")
        ((_, output, code),) = it.run("print $PROMPT_EOL_MARK | tail -c 4; unset PROMPT_EOL_MARK")
        assert (output.startswith("new\r\n"), code) == (True, 0)
        ((_, output, _),) = it.run("printf ab")
        assert output == "ab"


def test_one_that_is_exported_is_in_no_environment_with_ours(tmp_path):
    with sitting(tmp_path, "export PROMPT_EOL_MARK=mine\n") as it:
        it.prompt()
        ((_, output, code),) = it.run("env | grep EOL")
        assert output.startswith("PROMPT_EOL_MARK=mine\r\n")
        assert code == 0
