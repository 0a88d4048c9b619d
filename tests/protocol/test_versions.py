"""Which version a connection agrees on, and what an older one is shown."""

import pytest

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.errors import INVALID_PARAMS, UNSUPPORTED_PROTOCOL_VERSION, RpcError
from ahpd.protocol.versions import SUPPORTED, negotiate, parse, shows


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (["1.0.0"], "1.0.0"),
        (["0.9.0", "1.0.0"], "1.0.0"),
        (["0.10.0"], "0.10.0"),
        (["0.9.0", "0.10.0"], "0.10.0"),
        (["0.9.0"], "0.9.0"),
        (["0.9.0", "0.8.0"], "0.9.0"),
        # An editor newer than this host.
        (["2.0.0", "1.1.0", "1.0.0"], "1.0.0"),
        (["1.1.0", "0.10.0"], "0.10.0"),
    ],
)
def test_the_highest_version_of_both_is_agreed_on(offered, agreed):
    assert negotiate(offered) == agreed


@pytest.mark.parametrize("offered", [[], ["2.0.0"], ["0.8.0", "0.11.0"], ["1.0.1"], ["0.9.1"]])
def test_nothing_in_common_is_refused_with_what_is_spoken_here(offered):
    with pytest.raises(RpcError) as refused:
        negotiate(offered)
    assert refused.value.code == UNSUPPORTED_PROTOCOL_VERSION
    assert refused.value.data == {"supportedVersions": ["1.0.0", "0.10.0", "0.9.0"]}


@pytest.mark.parametrize(
    "entry",
    [
        "1.0",
        "1",
        "",
        "v1.0.0",
        "1.0.0-beta",
        "1.0.0+b",
        " 1.0.0",
        "1.0.0\n",
        "01.0.0",
        "1.0.x",
        "\N{ARABIC-INDIC DIGIT ONE}.0.0",
    ],
)
def test_an_entry_that_is_no_version_is_named_even_beside_good_ones(entry):
    with pytest.raises(RpcError) as refused:
        negotiate(["1.0.0", entry])
    assert refused.value.code == INVALID_PARAMS
    assert refused.value.message.startswith("params.protocolVersions[1]: ")
    assert repr(entry) in refused.value.message


def test_a_refusal_repeats_no_more_than_it_needs_to():
    with pytest.raises(RpcError) as refused:
        negotiate(["3.0.0"] * 10_000)
    assert len(refused.value.message) < 300
    with pytest.raises(RpcError) as refused:
        negotiate(["x" * 10_000])
    assert len(refused.value.message) < 300


def test_versions_order_by_number_and_not_by_letter():
    assert sorted(SUPPORTED, key=parse) == ["0.9.0", "0.10.0", "1.0.0"]
    assert parse("0.10.0") > parse("0.9.0")
    assert parse("10.0") is None


def test_an_older_client_is_not_shown_what_came_after_it():
    hidden = {name for name in ACTIONS if not shows("0.9.0", name)}
    assert hidden == {"chat/canvasesChanged", "canvas/stateChanged"}
    for version in ("0.10.0", "1.0.0"):
        assert all(shows(version, name) for name in ACTIONS)


def test_a_type_no_version_has_is_shown_to_everyone():
    assert shows("0.9.0", "future/thing")
    assert shows("0.9.0", "chat/configChanged")
