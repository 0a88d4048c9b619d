"""Lines as a plugin's parser takes them apart (PLUGINS.txt, "What a command parser has to answer")."""

import attrs
import pytest

from ahpd.permissions import Judge

from .permission_questions import project, shell


def split(*commands, writes=(), unanalyzable=False):
    return {
        "subCommands": list(commands),
        "writeDests": list(writes),
        "unanalyzable": unanalyzable,
    }


def judge(answer, **more):
    """A judge whose parser answers `answer`, or what it answers of a line and its shell."""
    parser = answer if callable(answer) else lambda line, shell: answer
    return Judge(home="/home/nobody", split=parser, **more)


def test_every_command_the_parser_names_has_to_be_allowed():
    named = judge(split("make all", "git push"))
    assert named.judge(shell("anything", allow=["Shell(make *)"])).decision == "ask"
    both = ["Shell(make *)", "Shell(git push)"]
    assert named.judge(shell("anything", allow=both)).decision == "approve"


def test_the_parser_is_asked_in_place_of_the_reader_here():
    asked = []

    def parser(line, language):
        asked.append((line, language))
        return split("make")

    verdict = judge(parser).judge(shell(" for i in 1 2; do make; done ", allow=["Shell(make)"]))
    assert verdict.decision == "approve"
    assert asked == [("for i in 1 2; do make; done", "bash")]


def test_a_line_of_powershell_is_read_and_held_against_the_table():
    parser = judge(split("Get-ChildItem -Path .", "Select-Object Name"))
    line = "Get-ChildItem -Path . | Select-Object Name"
    assert parser.judge(shell(line, language="powershell")).decision == "approve"
    assert Judge().judge(shell(line, language="powershell")).decision == "ask"
    removes = judge(split("Get-ChildItem", "Remove-Item x"))
    assert removes.judge(shell("a", language="powershell")).decision == "ask"


def test_a_language_no_parser_is_for_is_read_by_nobody():
    def parser(line, language):
        raise AssertionError("it is not asked")

    assert judge(parser).judge(shell("dir", language="cmd")).decision == "ask"


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "make",
        [],
        {},
        {"subCommands": ["make"], "writeDests": []},
        {"subCommands": "make", "writeDests": [], "unanalyzable": False},
        {"subCommands": ["make", 3], "writeDests": [], "unanalyzable": False},
        {"subCommands": [""], "writeDests": [], "unanalyzable": False},
        {"subCommands": ["make"], "writeDests": [None], "unanalyzable": False},
        {"subCommands": ["make"], "writeDests": [], "unanalyzable": 0},
        split("make", unanalyzable=True),
    ],
)
def test_what_a_parser_could_not_read_is_asked_about(answer):
    verdict = judge(answer).judge(shell("make", allow=["Shell(make)", "Shell(*)"]))
    assert verdict.decision == "ask"


def test_a_line_that_runs_nothing_is_asked_about():
    assert judge(split()).judge(shell("# a", allow=["Shell(*)"])).decision == "ask"


def test_a_parser_that_raises_has_every_command_asked_about():
    def parser(line, language):
        raise ValueError("no")

    verdict = judge(parser).judge(shell("ls", allow=["Shell(ls)"]))
    assert verdict.decision == "ask"
    assert verdict.because == "its parser cannot read it"


def test_what_is_refused_may_be_in_a_line_no_parser_could_read():
    verdict = judge(None).judge(shell("ls", deny=["Shell(rm *)"]))
    assert verdict.decision == "ask"
    assert "may be about it" in verdict.because


def test_a_key_of_the_table_that_asks_has_what_the_parser_names_asked_about():
    assert judge(split("ls", "rm x")).judge(shell("ls")).decision == "ask"
    assert judge(split("ls", "cat x")).judge(shell("ls")).decision == "approve"


@pytest.mark.parametrize("command", ["sed -i s/a/b/ x", "FOO=1 ls"])
def test_what_writes_in_place_or_sets_a_variable_is_asked_about(command):
    assert judge(split(command)).judge(shell("ls")).decision == "ask"


def test_a_write_is_allowed_in_the_folders_where_the_edit_patterns_say_so(tmp_path):
    folders = [str(project(tmp_path))]

    def decided(path):
        return judge(split("echo x", writes=[path])).judge(shell("l", folders=folders)).decision

    assert decided("new.py") == "approve"
    assert decided(f"{folders[0]}/new.py") == "approve"
    assert decided("../outside.py") == "ask"
    assert decided("/etc/x") == "ask"
    assert decided("package.json") == "ask"
    assert decided("out/x") == "ask"
    assert decided("$HOME/x") == "ask"
    assert decided("~/x") == "ask"
    assert decided("") == "ask"


def test_a_redirect_inside_of_a_command_the_parser_names_counts_too():
    assert judge(split("echo x > /etc/passwd")).judge(shell("l")).decision == "ask"


def test_what_a_command_runs_inside_of_itself_is_asked_about_too():
    assert judge(split("echo $(rm -rf x)")).judge(shell("l")).decision == "ask"


def test_an_object_with_the_members_will_do():
    @attrs.frozen
    class Split:
        sub_commands: tuple = ("ls",)
        write_dests: tuple = ()
        unanalyzable: bool = False

    assert judge(Split()).judge(shell("anything")).decision == "approve"


def test_a_line_nobody_could_see_as_it_is_goes_to_no_parser():
    def parser(line, language):
        raise AssertionError("it is not asked")

    for line in ("ls \u200b", "l" * 9000):
        assert judge(parser).judge(shell(line)).decision == "ask"


def test_the_failure_of_a_parser_is_logged_without_the_line(log_lines):
    def parser(line, language):
        raise ValueError(line)

    judge(parser).judge(shell("curl -H 'token: s3cret'"))
    assert any("command parser failed" in words for words in log_lines())
    assert not any("s3cret" in words for words in log_lines())
