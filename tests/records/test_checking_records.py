"""Each record is looked at by its engine, within a bound and without a secret in any word."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces.agents import Finding
from ahpd.records.checking import CHECK_BOUND, Checker
from ahpd.records.words import failure_words
from ahpd.testing.planted import planted

SECRET = planted("the key of a record")


def check(world, *rows, wait=0.0):
    checker = Checker(world.engines, world.defaults, world.ports, world.clock)
    results = []
    Deferred.fromCoroutine(checker.check_all(world.records(*rows))).addCallback(results.append)
    if wait:
        world.clock.advance(wait)
    if not results:
        return None
    assert world.clock.getDelayedCalls() == []
    return {record.id: list(found) for record, found in results[0]}


def test_what_an_engine_finds_is_handed_on_in_the_records_order(world):
    found = check(world, {"id": "z", "config": {"does": "sign out"}}, {"id": "a", "engine": "demo"})
    assert list(found) == ["z", "a"]
    assert [(each.about, each.ok) for each in found["z"]] == [("program", True), ("sign-in", False)]
    assert found["a"] == [Finding(about="program", ok=True, words="part of ahpd")]


def test_a_disabled_one_is_not_asked_and_a_paused_one_is(world):
    found = check(world, {"mode": "disabled"}, {"mode": "paused"})
    assert [each.words for each in found["agent-1"]][1:] == ["paused: no new session on it"]
    assert list(found) == ["agent-1"]


@pytest.mark.parametrize("does", ["hang", "hang hard"])
def test_one_that_hangs_is_given_up_and_holds_nobody(world, does):
    rows = ({"config": {"does": does}}, {})
    assert check(world, *rows) is None
    assert check(world, *rows, wait=CHECK_BOUND - 0.1) is None
    found = check(world, *rows, wait=CHECK_BOUND)
    assert found["agent-0"][0].words == "not known after 20 s: the check was given up"
    assert not found["agent-0"][0].ok
    assert found["agent-1"][0].ok


def test_no_word_holds_a_secret_or_a_line_break(world):
    config = {"apiKey": SECRET}
    rows = ({"config": {**config, "does": "break"}}, {"config": {**config, "does": "tell"}})
    found = check(world, *rows)
    assert found["agent-0"] == [
        Finding(about="agent", ok=False, words="the check failed: with <set>")
    ]
    assert found["agent-1"] == [
        Finding(about="sign-in", ok=False, words="<set> is old", mend="set <set>")
    ]


def test_a_record_that_would_not_open_is_said_as_the_start_would(world):
    found = check(world, {"config": {"level": "loud"}}, {"engine": "acp"}, {"engine": "nobody"})
    assert [found[f"agent-{i}"][0].about for i in range(3)] == ["record"] * 3
    assert found["agent-0"][0].words == "config.level must be one of low, high"
    assert found["agent-1"][0].words == 'the engine "acp" is not installed'
    assert found["agent-1"][0].mend == "pip install ahpd-agent-acp"
    assert found["agent-2"][0].words == 'there is no engine "nobody" here; installed: demo, fake'


def test_a_secret_is_read_from_the_vault_where_there_is_one(world):
    from ahpd.vault import MemoryVault, Secrets

    records = world.records({"config": {"apiKey": {"$secret": "host:x"}}})
    words = []
    for secrets in (None, Secrets(MemoryVault()), Secrets(MemoryVault({"host:x": "a-key-12345"}))):
        checker = Checker(world.engines, {}, world.ports, world.clock, secrets=secrets)
        done = []
        Deferred.fromCoroutine(checker.check_all(records)).addCallback(done.append)
        words.append(done[0][0][1][0].words)
    assert words[0].startswith(
        'config.apiKey: names the secret "host:x", and no vault is read here'
    )
    assert words[1] == 'config.apiKey: names the secret "host:x": the vault holds no host:x'
    assert words[2].startswith("found, ")


class Unsayable(Exception):
    """One whose words cannot be read."""

    def __str__(self):
        raise ValueError


def test_what_an_exception_says_is_words_that_can_be_sent():
    assert failure_words(RuntimeError("half \ud800")) == "half \\ud800"
    assert failure_words(Unsayable()) == "Unsayable"
