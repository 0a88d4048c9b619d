"""Finding and reading the configuration file, and what is said of one that is wrong."""

import os

import pytest

from ahpd.config.errors import ConfigError
from ahpd.config.load import Source


def refused(place, text, name="config.yaml"):
    path = place.write(text, name)
    with pytest.raises(ConfigError) as caught:
        place.load()
    words = str(caught.value)
    assert str(path) in words
    assert "\n" not in words
    return words.replace(str(path), "FILE")


def test_a_wrong_value_names_the_file_its_line_the_key_and_both_sides(place):
    words = refused(place, "# mine\nhost: 127.0.0.1\nport: many\n")
    assert words == 'FILE:3: port: found "many", allowed: a whole number from 0 to 65535'


def test_a_wrong_item_of_a_list_names_its_place(place):
    words = refused(place, "paths:\n  - /\n  - /no/such/place\n")
    assert words.startswith('FILE:3: paths[1]: found "/no/such/place", allowed: ')


def test_json_is_read_too(place):
    place.write('{"port": 1234}', "config.json")
    assert place.load().get("port") == 1234
    words = refused(place, '{"port": null}', "config.json")
    assert words == "FILE: port: found nothing, allowed: a whole number from 0 to 65535"


def test_two_files_are_refused(place):
    place.write("port: 1\n")
    place.write("{}", "config.json")
    with pytest.raises(ConfigError, match=r"found both config.yaml and config.json"):
        place.load()


def test_no_file_is_no_error(place):
    read = place.load()
    assert not read.found
    assert read.file == place.directory / "config.yaml"
    assert all(value.source is Source.DEFAULT for value in read.values.values())


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "---\n", "null\n"])
def test_an_empty_file_says_nothing(place, text):
    place.write(text)
    assert place.load().get("port") == 9187


def test_a_named_file_is_read_in_place_of_the_usual_one(place, tmp_path):
    place.write("port: 1\n")
    other = tmp_path / "other.yml"
    other.write_text("port: 2\n")
    assert place.load(config_file=other).get("port") == 2
    with pytest.raises(ConfigError, match=r"gone.yaml: found no such file"):
        place.load(config_file=tmp_path / "gone.yaml")
    (tmp_path / "x.toml").write_text("port = 2")
    with pytest.raises(ConfigError, match=r'"\.toml", allowed: \.yaml, \.yml or \.json'):
        place.load(config_file=tmp_path / "x.toml")


def test_the_directory_follows_xdg_and_a_relative_one_is_ignored(place, tmp_path):
    elsewhere = tmp_path / "elsewhere" / "ahpd"
    elsewhere.mkdir(parents=True)
    (elsewhere / "config.yaml").write_text("port: 3\n")
    place.environ["XDG_CONFIG_HOME"] = str(tmp_path / "elsewhere")
    assert place.load().get("port") == 3
    place.environ["XDG_CONFIG_HOME"] = "elsewhere"
    assert place.load().file == place.directory / "config.yaml"


@pytest.mark.parametrize(
    ("key", "near"),
    [
        ("prot", "port"),
        ("connection_token_file", "connectionTokenFile"),
        ("connection-token", "connectionToken"),
        ("PATHS", "paths"),
        ("deltaWindow", "deltaWindowMs"),
    ],
)
def test_an_unknown_key_is_a_warning_that_names_the_near_one(place, key, near):
    path = place.write(f"port: 5\n{key}: 1\n")
    read = place.load()
    assert read.warnings == (f"{path}:2: unknown key {key!r}, ignored; did you mean {near!r}?",)
    assert read.get("port") == 5


def test_an_unknown_key_near_to_nothing_suggests_nothing(place):
    path = place.write("3: x\n")
    assert place.load().warnings == (f"{path}:1: unknown key '3', ignored",)


def test_a_key_that_stands_twice_is_an_error_naming_both_lines(place):
    words = refused(place, "port: 1\nhost: ::1\nport: 2\n")
    assert words == 'FILE:3: found the key "port" again (first on line 1), allowed: once'
    words = refused(place, "x:\n  - a: 1\n    b: 2\n    a: 3\n")
    assert words == 'FILE:4: found the key "a" again (first on line 2), allowed: once'


def test_a_key_that_stands_twice_in_json_is_an_error(place):
    words = refused(place, '{"port": 1, "port": 2}', "config.json")
    assert words == 'FILE: found the key "port" twice, allowed: once'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- a\n- b\n", "found a list, allowed: a mapping"),
        ("just words\n", "found text, allowed: a mapping"),
        ("a: 1\n---\nb: 2\n", "FILE:2: not YAML this host reads"),
        (
            "port: [1\n",
            "FILE:2: not YAML this host reads: expected ',' or ']', but got '<stream end>'",
        ),
        (
            "\tport: 1\n",
            "FILE:1: not YAML this host reads: found character '\\t' that cannot start any token",
        ),
        ("a: @sk-secret\n", "FILE:1: not YAML this host reads: found character '@' that cannot"),
        ("a: *sk-secret\n", "FILE:1: not YAML this host reads: found undefined alias ..."),
        ("port: !!python/object/apply:os.system ['true']\n", "FILE:1: not YAML this host reads"),
        ("port: *nobody\n", "FILE:1: not YAML this host reads"),
        ("port: 2024-13-45\n", "found a value that cannot be read"),
        ("port: 2024-01-02\n", "the date 2024-01-02"),
        ("port: 1:30\n", "port: 90"),
        ("paths: &x [*x]\n", "paths[0]: found a list"),
        ("? [a]\n: 1\n", "not YAML this host reads"),
    ],
)
def test_odd_yaml_is_words(place, text, words):
    if words == "port: 90":  # a number in base 60, as YAML 1.1 has it
        place.write(text)
        assert place.load().get("port") == 90
    else:
        assert words in refused(place, text)


def test_anchors_and_merges_are_read(place):
    place.write("x: &a {port: 7}\n<<: *a\ndeltaWindowMs: 9\n")
    read = place.load()
    assert (read.get("port"), read.get("delta_window_ms")) == (7, 9)


def test_a_wrong_value_that_was_merged_in_has_no_line_of_its_own(place):
    words = refused(place, "x: &a {port: no}\n<<: *a\n")
    assert words == "FILE: port: found false, allowed: a whole number from 0 to 65535"


@pytest.mark.parametrize(("name", "depth"), [("config.yaml", 2000), ("config.json", 200_000)])
def test_what_is_nested_without_end_is_words(place, name, depth):
    assert "nested too deeply" in refused(place, "[" * depth, name)


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "FILE:1: not JSON"), ("[]", "found an empty list"), ('{"port": NaN}', "found nan")],
)
def test_odd_json_is_words(place, text, words):
    assert words in refused(place, text, "config.json")


def test_bytes_that_are_no_text_are_words(place):
    path = place.write("")
    path.write_bytes(b"port: 1\n# \xff\n")
    with pytest.raises(ConfigError, match="found a byte that is not UTF-8 at offset 10"):
        place.load()


def test_a_directory_in_the_files_place_is_words(place):
    (place.directory / "config.yaml").mkdir(parents=True)
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        place.load()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_that_may_not_be_read_is_words(place):
    place.write("port: 1\n").chmod(0)
    with pytest.raises(ConfigError, match="cannot be read: Permission denied"):
        place.load()


def test_a_token_in_a_file_others_can_read_is_a_warning(place):
    path = place.write("connectionToken: abc\n")
    assert place.load().warnings == ()
    path.chmod(0o644)
    assert "can be read by others" in place.load().warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "connectionToken: *s3cret\n",
        "connectionToken: !s3cret\n",
        "connectionToken s3cret\n",
        "connectionToken: 's3cret\n",
        "- s3cret\n",
    ],
)
def test_a_mistyped_secret_is_not_repeated(place, text):
    words = refused(place, text)
    assert words.startswith("FILE")
    assert "s3cret" not in words


@pytest.mark.parametrize("text", ["port: 1\nhost: \x00\n", "# \x1b[31m\n"])
def test_a_character_yaml_does_not_take_is_named_with_its_line(place, text):
    line = text[: min(text.find(c) for c in "\x00\x1b" if c in text)].count("\n") + 1
    words = refused(place, text)
    assert words.startswith(f"FILE:{line}: found the character U+00")


def test_what_a_terminal_would_act_on_is_shown_escaped(place):
    words = refused(place, 'port: "\\x9b31m\\u202eabc\\e[31m"\n')
    assert words.isprintable()
    assert r"\x9b31m\u202eabc\u001b[31m" in words
