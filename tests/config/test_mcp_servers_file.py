"""The MCP servers as the file has them now: an edit counts at once, a bad one costs itself."""

import os

import pytest

from ahpd.config.mcp_servers import McpServersFile


class Servers:
    def __init__(self, place):
        self.place = place
        self.said = []
        self.environ = {"KEY": "value-of-key"}
        self.count = 0
        settings = place.load().settings()[0]
        self.file = McpServersFile(
            settings.config_file, settings.mcp_servers, self.environ, self.said.append
        )

    def write(self, text):
        self.count += 1
        path = self.place.write(text)
        # Two edits within one tick of a coarse clock are two.
        os.utime(path, ns=(self.count, self.count))

    def names(self):
        return list(self.file.current())


@pytest.fixture
def servers(place):
    place.write("mcpServers: {first: {command: a}}\n")
    return Servers(place)


def test_an_edit_counts_for_who_asks_next(servers):
    assert servers.file.current() == {"first": {"type": "stdio", "command": "a"}}
    servers.write("mcpServers: {second: {url: 'http://x'}}\n")
    assert servers.names() == ["second"]
    servers.write("port: 1\n")
    assert servers.names() == []
    assert servers.said == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mcpServers: {x: {}}\n", ":1: mcpServers.x: found no command, allowed: a program to run"),
        ("mcpServers: [\n", "not YAML"),
    ],
)
def test_a_bad_edit_is_said_once_and_what_was_read_last_stays(servers, text, words):
    assert servers.names() == ["first"]
    servers.write(text)
    for _ in range(3):
        assert servers.names() == ["first"]
    assert len(servers.said) == 1
    assert words in servers.said[0]
    assert servers.said[0].endswith("; mcpServers stays as it was read last")
    servers.write("mcpServers: {mended: {command: a}}\n")
    assert servers.names() == ["mended"]
    servers.write(text)
    assert servers.names() == ["mended"]
    assert len(servers.said) == 2


def test_another_key_that_is_wrong_changes_nothing_here(servers):
    servers.write("port: many\nmcpServers: {second: {command: b}}\n")
    assert servers.names() == ["second"]
    assert servers.said == []


def test_a_file_that_goes_away_is_said_once_and_comes_back(servers):
    assert servers.names() == ["first"]
    path = servers.place.directory / "config.yaml"
    path.unlink()
    for _ in range(2):
        assert servers.names() == ["first"]
    assert servers.said == [
        f"{path}: No such file or directory; mcpServers stays as it was read last"
    ]
    servers.write("mcpServers: {back: {command: b}}\n")
    assert servers.names() == ["back"]


def test_a_file_that_comes_later_is_read(place):
    servers = Servers(place)
    assert (servers.names(), servers.said) == ([], [])
    servers.write("mcpServers: {new: {command: b}}\n")
    assert servers.names() == ["new"]


def test_settings_made_by_hand_have_no_file(place):
    file = McpServersFile(None, {"a": {"type": "stdio", "command": "x"}}, {}, pytest.fail)
    assert list(file.current()) == ["a"]


def test_references_are_read_and_one_that_cannot_be_costs_its_server(servers):
    servers.write(
        "mcpServers:\n"
        "  a: {command: x, env: {K: {$env: KEY}, L: {fromEnv: KEY}}}\n"
        "  b: {command: x, env: {K: {$env: GONE}}}\n"
        "  c: {url: 'http://x', headers: {A: {$secret: 'host:x'}}}\n"
    )
    for _ in range(2):
        assert servers.file.current() == {
            "a": {
                "type": "stdio",
                "command": "x",
                "env": {"K": "value-of-key", "L": "value-of-key"},
            }
        }
    assert len(servers.said) == 2
    assert servers.said[0] == (
        "mcpServers.b.env.K: the variable GONE is not in the daemon's environment; the server is "
        "left out"
    )
    assert servers.said[1].startswith('mcpServers.c.headers.A: names the secret "host:x"')
    assert "value-of-key" not in repr(servers.file)
