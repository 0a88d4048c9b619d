"""Flags over the file over the defaults, and options that contradict one another."""

from pathlib import Path

import pytest

from ahpd.config.errors import ConfigError
from ahpd.config.load import Source
from ahpd.config.settings import Settings


def test_each_value_knows_who_said_it(place):
    place.write("port: 1\ndeltaWindowMs: 2\n")
    read = place.load(port="3")
    assert (read.get("port"), read.values["port"].source) == (3, Source.FLAG)
    assert (read.get("delta_window_ms"), read.values["delta_window_ms"].source) == (2, Source.FILE)
    assert read.values["host"].source is Source.DEFAULT


def test_the_default_directory_is_where_it_was_started(place, tmp_path):
    assert place.load().settings()[0].default_directory == place.work
    place.write(f"paths: [{tmp_path}, /]\n")
    settings = place.load().settings()[0]
    assert settings.default_directory == tmp_path
    assert len(settings.paths) == 2


def test_sessions_are_kept_in_the_data_directory_of_the_person(place, tmp_path):
    settings = place.load().settings()[0]
    assert (settings.sessions, settings.sessions_sync) == ("file", "process")
    assert settings.data_directory == place.home / ".local" / "share" / "ahpd"
    assert not settings.data_directory.exists()
    place.environ["XDG_DATA_HOME"] = "/data"
    assert place.load().get("data_directory") == Path("/data/ahpd")
    place.write("dataDirectory: kept\nsessions: memory\nsessionsSync: power\n")
    settings = place.load().settings()[0]
    assert settings.data_directory == place.directory / "kept"
    assert (settings.sessions, settings.sessions_sync) == ("memory", "power")
    assert place.load(data_directory="here").get("data_directory") == place.work / "here"


def test_a_switch_in_the_file_is_turned_off_by_its_flag(place):
    place.write("stdio: true\ndemo: true\n")
    assert place.load(stdio=False).get("stdio") is False
    assert place.load(demo=False).get("demo") is False
    assert place.load().get("demo") is True


def test_settings_made_by_hand_have_the_documented_defaults():
    settings = Settings()
    assert (settings.host, settings.port, settings.endpoint) == (
        "127.0.0.1",
        9187,
        "tcp:9187:interface=127.0.0.1",
    )
    assert (settings.delta_window_ms, settings.demo) == (75, None)
    assert (settings.client_queue_bytes, settings.replay_bytes) == (16 << 20, 32 << 20)
    assert settings.listens


def test_the_token_is_in_no_repr():
    assert "s3cret" not in repr(Settings(connection_token="s3cret"))


# -- the token -------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "connectionToken: a\nwithoutConnectionToken: true\n",
        "connectionToken: a\nconnectionTokenFile: b\n",
        "connectionTokenFile: b\nwithoutConnectionToken: true\n",
    ],
)
def test_two_answers_to_one_question_are_refused_and_named(place, text):
    place.write(text)
    with pytest.raises(ConfigError) as caught:
        place.load()
    for line in text.splitlines():
        assert line.split(":")[0] in str(caught.value)
    assert "allowed: one of" in str(caught.value)


def test_two_flags_that_contradict_are_refused(place):
    with pytest.raises(ConfigError, match="--connection-token and --without-connection-token"):
        place.load(connection_token="a", without_connection_token=True)


def test_a_flag_puts_aside_what_the_file_says_of_its_group(place):
    place.write("withoutConnectionToken: true\n")
    read = place.load(connection_token="a")
    assert read.get("without_connection_token") is False
    assert read.settings()[0].connection_token == "a"
    place.write("connectionToken: a\n")
    assert place.load(without_connection_token=True).settings()[0].connection_token is None


def test_without_connection_token_false_contradicts_nothing(place):
    place.write("connectionToken: a\nwithoutConnectionToken: false\n")
    assert place.load().settings()[0].connection_token == "a"


def test_no_token_at_all_makes_a_file_in_the_configuration_directory(place):
    read = place.load()
    path = place.directory / "token"
    assert read.token_file == path
    assert not path.exists(), "looking makes nothing"
    settings, warnings = read.settings()
    assert settings.connection_token == path.read_text().strip()
    assert settings.connection_token_file == path
    assert warnings == []


def test_a_host_without_a_listener_makes_no_token(place):
    settings = place.load(stdio=True).settings()[0]
    assert settings.connection_token is None
    assert not place.directory.exists()


# -- where it listens -------------------------------------------------------------


def test_over_stdio_nothing_listens_unless_it_is_asked_to(place):
    assert not place.load(stdio=True).settings()[0].listens
    assert place.load(stdio=True, port="0").settings()[0].listens
    assert place.load().settings()[0].listens
    place.write("port: 4\n")
    assert place.load(stdio=True).settings()[0].listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "build.example"])
def test_off_loopback_without_a_token_is_refused(place, host):
    with pytest.raises(ConfigError) as caught:
        place.load(host=host, without_connection_token=True)
    assert host in str(caught.value)
    assert "--without-connection-token" in str(caught.value)
    assert place.load(host=host).settings()[0].connection_token


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_on_loopback_no_token_is_needed(place, host):
    assert place.load(host=host, without_connection_token=True).settings()[0].local


def test_an_endpoint_and_a_port_contradict(place):
    with pytest.raises(ConfigError, match="--listen and --port: found an endpoint and a port"):
        place.load(listen="tcp:1", port="0")
    place.write("port: 1\nhost: 127.0.0.1\n")
    settings = place.load(listen="unix:/tmp/x:mode=600").settings()[0]
    assert settings.endpoint == "unix:/tmp/x:mode=600"
    place.write("listen: unix:/tmp/x:mode=600\n")
    assert place.load(port="0").settings()[0].endpoint == "tcp:0:interface=127.0.0.1"


def test_an_endpoint_others_may_reach_is_refused_without_a_token(place):
    with pytest.raises(ConfigError, match="--listen is systemd:domain=INET:index=0"):
        place.load(listen="systemd:domain=INET:index=0", without_connection_token=True)
