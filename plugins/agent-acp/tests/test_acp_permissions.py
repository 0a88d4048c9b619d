"""What a call asks for, said to the host as it is: whatever the agent titles it."""

import pytest

from ahpd.interfaces import Permission
from ahpd_agent_acp.call import Call
from ahpd_agent_acp.permissions import permission_of
from ahpd_agent_acp.tool_names import NamedTool

DIRECTORY = "/w/project"


def permission(kind, tool="tool", **update):
    call = Call("c", NamedTool(name=tool))
    call.take({"kind": kind, **update})
    return permission_of(call, DIRECTORY)


def at(*paths):
    return [{"path": path} for path in paths]


def diff(path):
    return {"type": "diff", "path": path, "oldText": "a", "newText": "b"}


@pytest.mark.parametrize(
    ("named", "path"),
    [
        ("/a/b", "/a/b"), ("a/b", "/w/project/a/b"), ("./a", "/w/project/./a"), ("../x", "/w/project/../x"),
        ("file:///a/b%20c", "/a/b c"), ("FILE:///a/b", "/a/b"), ("file:/a", "/a"), ("file://localhost/a", "/a"),
        # What only the agent knows the meaning of is no file of the folder.
        ("~/.ssh/id", "~/.ssh/id"), ("~root/x", "~root/x"), ("file://elsewhere/a", "file://elsewhere/a"),
        ("vscode-remote://h/a", "vscode-remote://h/a"), ("C:/a", "C:/a"), ("file:a", "file:a"),
    ],
)  # fmt: skip
def test_a_path_is_the_one_it_names_or_none_of_the_folder_s(named, path):
    assert permission("read", locations=at(named)).path == path


@pytest.mark.parametrize(
    ("kind", "family"), [("read", "read"), ("search", "read"), ("edit", "write"), ("delete", "write"), ("move", "write")]
)  # fmt: skip
def test_every_file_a_call_is_of_is_told_of(kind, family):
    found = permission(kind, locations=at("a", "/etc/x", "a"), content=[diff("/etc/y"), diff("a")])
    assert found == Permission(kind=family, path="/w/project/a", more_paths=("/etc/x", "/etc/y"))


def test_a_diff_alone_says_what_is_written():
    assert permission("edit", content=[diff("b")]).path == "/w/project/b"
    assert permission("edit", content=[{"type": "diff", "path": 3}]).path is None


def test_a_call_of_no_file_says_none():
    assert permission("edit") == Permission(kind="write")


@pytest.mark.parametrize(
    ("raw", "command", "directory"),
    [
        ({"command": "ls"}, "ls", None),
        ({"command": ["bash", "-lc", "ls; rm x"]}, "ls; rm x", None),
        ({"command": "ls", "cwd": "/elsewhere"}, "ls", "/elsewhere"),
        ({"command": "ls", "workdir": "sub"}, "ls", "/w/project/sub"),
        ({"command": "ls", "cwd": "~"}, "ls", "~"),
        ({"command": "ls", "cwd": "/a", "workdir": "/a"}, "ls", "/a"),
        ({"command": "ls", "cwd": "/a", "workdir": "/b"}, None, None),
        ({"command": "ls", "cmd": "rm x"}, None, None),
        ({}, None, None),
    ],
)
def test_a_command_is_told_of_with_where_it_runs(raw, command, directory):
    found = permission("execute", rawInput=raw, title="Nothing at all")
    assert (found.kind, found.command, found.directory) == ("shell", command, directory)


@pytest.mark.parametrize("kind", ["read", "search"])
def test_a_program_is_a_command_though_the_agent_calls_it_a_read(kind):
    raw = {"command": ["bash", "-lc", "cat a; rm x"], "cwd": "/w/project"}
    found = permission(kind, rawInput=raw, locations=at("a"))
    assert (found.kind, found.command) == ("shell", "cat a; rm x")
    edits = permission(kind, rawInput={"command": "view", "path": "a"}, locations=at("a"))
    assert (edits.kind, edits.path) == ("read", "/w/project/a")
