"""Which texts are a language a client may ask for."""

from ahpd.protocol.locales import LONGEST_TAG, locale_of


def test_a_tag_that_is_too_long_is_none():
    assert locale_of("a" * 8 + "-b" * 13) is not None
    assert len("a" * 8 + "-b" * 13) < LONGEST_TAG
    assert locale_of("ab" + "-abcdefgh" * 4) is None
    assert locale_of({"pt": 1}) is None
