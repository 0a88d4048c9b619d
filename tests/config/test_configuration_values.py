"""Each option's own check, as the file and as a flag meets it."""

import pytest

from ahpd.config import flags
from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.settings import BY_KEY, OPTIONS

MIB = 1024 * 1024

TAKEN = [
    ("host", "127.0.0.1", "127.0.0.1"),
    ("host", "::1", "::1"),
    ("host", "build.example", "build.example"),
    ("port", 0, 0),
    ("port", 65535, 65535),
    ("listen", "tcp:0:interface=127.0.0.1", "tcp:0:interface=127.0.0.1"),
    ("connectionToken", "a", "a"),
    ("withoutConnectionToken", True, True),
    ("stdio", False, False),
    ("deltaWindowMs", 0, 0),
    ("deltaWindowMs", 1000, 1000),
    ("clientQueueBytes", 0, 0),
    ("clientQueueBytes", MIB, MIB),
    ("replayBytes", 64 * MIB, 64 * MIB),
    ("demo", True, True),
    ("allowedOrigins", [], ()),
    ("allowedOrigins", ["https://a.example:8443", "vscode-file://x"], None),
    ("allowedHosts", ["a.example", "a.example:1", "[::1]:9187"], None),
]

REFUSED = [
    ("host", "", "", "an address"),
    ("host", "127.0.0.1:80", "", "without a port"),
    ("host", "999.1.1.1", "", "an address"),
    ("host", "a b", "", "an address"),
    ("host", 127, "", "found 127"),
    ("port", -1, "", "from 0 to 65535"),
    ("port", 65536, "", "found 65536"),
    ("port", True, "", "found true"),
    ("port", 1.5, "", "found 1.5"),
    ("port", "9187", "", 'found "9187"'),
    ("port", None, "", "found nothing"),
    ("listen", "9187", "", "a Twisted endpoint"),
    ("paths", [], "", "at least one directory"),
    ("paths", "src", "", 'found "src"'),
    ("paths", ["/", "/nowhere/at/all"], "[1]", "a directory that exists"),
    ("paths", ["/", 3], "[1]", "found 3"),
    ("connectionToken", "two words", "", "without spaces"),
    ("connectionToken", "", "", "at least one"),
    ("connectionToken", 12345678, "", "quote it"),
    ("connectionTokenFile", "/", "", "which is a directory"),
    ("withoutConnectionToken", "yes", "", "true or false"),
    ("stdio", 1, "", "true or false"),
    ("wire", {}, "", "found a mapping"),
    ("wire", "a\0b", "", "the path of a file"),
    ("deltaWindowMs", 1001, "", "from 0 to 1000"),
    ("clientQueueBytes", 1, "", "at least 1048576, or 0 for no limit"),
    ("clientQueueBytes", -1, "", "at least 1048576"),
    ("replayBytes", MIB - 1, "", "at least 1048576"),
    ("demo", "maybe", "", "true or false"),
    ("sessions", "disk", "", "file or memory"),
    ("sessions", True, "", "found true"),
    ("dataDirectory", "/dev/null", "", "which is no directory"),
    ("dataDirectory", "", "", "the path of a directory"),
    ("dataDirectory", ["/"], "", "found a list"),
    ("sessionsSync", "never", "", "process or power"),
    ("allowedOrigins", "https://a.example", "", "a list"),
    ("allowedOrigins", ["https://a.example", "a.example"], "[1]", "a web origin"),
    ("allowedOrigins", ["https://a.example/page"], "[0]", "a web origin"),
    ("allowedHosts", ["https://a.example"], "[0]", "a host name"),
]


@pytest.mark.parametrize(("key", "value", "kept"), TAKEN)
def test_a_good_value_is_taken(key, value, kept, tmp_path):
    found = BY_KEY[key].kind.check(value, tmp_path)
    assert found == (tuple(value) if kept is None else kept)
    assert type(found) is not list


@pytest.mark.parametrize(("key", "value", "at", "words"), REFUSED)
def test_a_wrong_value_names_what_was_found_and_what_is_allowed(key, value, at, words, tmp_path):
    with pytest.raises(WrongValue) as caught:
        BY_KEY[key].kind.check(value, tmp_path)
    assert caught.value.at == at
    assert words in str(caught.value)
    assert caught.value.found
    assert caught.value.allowed


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.key)
@pytest.mark.parametrize("value", [object(), 2j, {"a": [1]}, b"x", float("nan"), {1, 2}])
def test_no_value_of_any_type_raises_anything_else(option, value, tmp_path):
    with pytest.raises(WrongValue):
        option.kind.check(value, tmp_path)


@pytest.mark.parametrize("found", ["se cret", 421337421337, "s\u00e9cret"])
def test_a_secret_is_not_shown_when_it_is_wrong(found, tmp_path):
    with pytest.raises(WrongValue) as caught:
        BY_KEY["connectionToken"].kind.check(found, tmp_path)
    assert str(found) not in str(caught.value)


@pytest.mark.parametrize("text", ["0x10", "1_000", " 1", "\u0661", "", "1e3", "9" * 5000, "--1"])
def test_a_flag_takes_plain_decimal_numbers_alone(text, tmp_path):
    with pytest.raises(ConfigError, match=r"^--port: found "):
        flags.values({"port": text}, tmp_path)


def test_relative_paths_are_meant_from_where_they_were_said(tmp_path):
    (tmp_path / "src").mkdir()
    checked = flags.values({"paths": ["src", "."], "wire": "frames.jsonl"}, tmp_path)
    assert checked["paths"] == (tmp_path / "src", tmp_path)
    assert checked["wire"] == tmp_path / "frames.jsonl"


def test_the_home_of_a_user_nobody_knows_is_a_name_like_any_other(tmp_path):
    checked = flags.values({"connection_token_file": "~no-such-user-here/x"}, tmp_path)
    assert checked["connection_token_file"] == tmp_path / "~no-such-user-here" / "x"
