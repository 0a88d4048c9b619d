"""A fish that marks its commands is the person's own in everything else."""

import re

import pytest

from ahpd.terminals.shells import integration_folder

from .sitting import Sitting, commands, program


@pytest.fixture(autouse=True)
def fish():
    return program("fish")


def sitting(home, text="", **more):
    folder = home / ".config" / "fish"
    folder.mkdir(parents=True)
    (folder / "config.fish").write_text(
        "set -g fish_greeting\nfunction fish_title; end\nfunction fish_prompt; printf '> '; end\n"
        + text
    )
    return Sitting("fish", home, **more)


def shown(output):
    return re.sub(r"\x1b(\[[0-9;?<>=]*[a-zA-Z]|\(B|[=>])|\r", "", output)


def test_a_prompt_sees_the_statuses_of_the_command(tmp_path):
    text = 'function fish_prompt; set -l all $pipestatus; echo "[$status|$all]> "; end\n'
    with sitting(tmp_path, text) as it:
        it.prompt()
        ((_, _, code),) = it.run("true | sh -c 'exit 5'")
        assert code == 5
        it.shows("|0 5]> ")


def test_hooks_of_theirs_run_and_see_the_status(tmp_path):
    text = """
function before --on-event fish_preexec; echo "before:$argv[1]"; end
function after --on-event fish_postexec; echo "after:$status"; end
function again --on-event fish_prompt; echo "prompt:$status"; end
"""
    with sitting(tmp_path, text) as it:
        it.prompt()
        ((line, _, code),) = it.run("sh -c 'exit 7'")
        assert (line, code) == ("sh -c 'exit 7'", 7)
        it.run("true")
        for words in ("before:sh -c 'exit 7'", "after:7", "prompt:7"):
            assert words in it.all_text()


def test_a_prompt_set_while_it_runs_is_theirs(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.run("function fish_prompt; echo 'other> '; end")
        it.shows("other> ")
        ((_, output, _),) = it.run("functions fish_prompt")
        assert "ahpd" not in output
        assert shown(it.run("echo one")[0][1]) == "one\n"


def test_a_loop_over_several_lines_is_one_command(tmp_path):
    with sitting(tmp_path) as it:
        it.prompt()
        it.type("for i in 1 2\recho $i\rend\r")
        ((line, output, code),) = commands(it.prompt())
        assert [part.strip() for part in line.split("\n")] == ["for i in 1 2", "echo $i", "end"]
        assert (shown(output), code) == ("1\n2\n", 0)


def test_only_the_folder_is_said_by_a_fish_that_marks_by_itself(tmp_path):
    """From 4.0 on it does; here its own marks are played."""
    scripts = tmp_path / "scripts"
    scripts.mkdir()
    script = (integration_folder() / "fish.fish").read_text()
    assert script.count("-- $version") == 1
    (scripts / "fish.fish").write_text(script.replace("-- $version", "-- 4.0.1"))
    text = r"""
function marks --on-event fish_prompt; printf '\e]133;A;special_key=1\a'; end
function marks_too --on-event fish_preexec
    printf '\e]133;C;cmdline_url=%s\a' (string escape --style=url -- $argv[1])
end
function marks_three --on-event fish_postexec; printf '\e]133;D;%s\a' $status; end
"""
    with sitting(tmp_path, text, scripts=scripts) as it:
        it.prompt()
        ((line, _, code),) = it.run("echo 'é;%' ; sh -c 'exit 3'")
        assert (line, code) == ("echo 'é;%' ; sh -c 'exit 3'", 3)
        assert b"633;" not in it.raw
        assert it.raw.count(b"]133;C") == 1
        assert b"]7;file://" in it.raw
