"""Secrets are struck out of words in whatever form these have them."""

import json
from urllib.parse import quote, quote_plus

import pytest

from ahpd.unspoken import Unspoken, struck

ODD = 'a "quoted" \\ key/with?odd=letters'
LINES = "-----BEGIN KEY-----\nfirst-line-of-a-key\nsecond-line-of-a-key\n-----END KEY-----\n"


@pytest.mark.parametrize("secret", ["plain-0123456789", ODD, LINES, "with\ttabs and  spaces"])
@pytest.mark.parametrize(
    "written",
    [
        str,
        repr,
        json.dumps,
        lambda secret: json.dumps(secret, ensure_ascii=False),
        lambda secret: " ".join(secret.split()),
        lambda secret: " | ".join(line for line in secret.splitlines() if line),
        quote,
        lambda secret: quote(secret, safe=""),
        quote_plus,
        lambda secret: repr({"config": {"key": secret}}),
    ],
)
def test_a_secret_is_struck_in_every_form_it_is_quoted_in(secret, written):
    said = struck(f"it failed with {written(secret)} behind it", [secret])
    assert "<set>" in said
    for piece in (*secret.split(), quote(secret, safe="")):
        assert len(piece) < 8 or piece not in said
    assert said.startswith("it failed with ")
    assert said.endswith(" behind it")


def test_a_line_of_a_secret_of_several_is_struck_by_itself():
    assert struck("program says: second-line-of-a-key", [LINES]) == "program says: <set>"


@pytest.mark.parametrize("end", ["", "...", " ..."])
def test_a_secret_that_was_cut_short_is_struck_where_words_end(end):
    secret = "plain-0123456789-plain-0123456789"
    for length in range(8, len(secret)):
        assert struck(f"it knows {secret[:length]}{end}", [secret]) == f"it knows <set>{end}"
    assert struck("it knows plain-0 and goes on", [secret]) == "it knows plain-0 and goes on"
    assert struck("plain-01", [secret]) == "<set>"


def test_the_longest_is_struck_first_and_a_short_one_where_it_stands_alone():
    assert struck("hunter2-long hunter2", ["hunter2", "hunter2-long"]) == "<set> <set>"
    assert struck("no word knows it: no", ["no"]) == "<set> word knows it: <set>"
    assert struck("as it is", ["", "gone"]) == "as it is"


def test_half_a_character_is_no_reason_to_fail():
    assert struck("x \ud800-half-of-it y", ["\ud800-half-of-it"]) == "x <set> y"


def test_what_is_said_can_be_sent():
    said = struck("caf\xe9 \ud800 and sk-live-0123", ["sk-live-0123"])
    assert said == "caf\xe9 \\ud800 and <set>"
    assert said.encode()


def test_what_is_learned_later_is_not_spoken_from_then_on():
    held, other = Unspoken(["tok"]), Unspoken()
    held.join(other)
    assert held.struck("tok key-0123 key-4567 short") == "<set> key-0123 key-4567 short"
    held.add("key-0123", "short", 5)
    other.add("key-4567")
    assert held.struck("tok key-0123 key-4567 short") == "<set> <set> <set> short"
    assert sorted(held) == ["key-0123", "key-4567", "tok"]
