"""What a text that clients are shown is cleared of."""

import pytest

from ahpd.plugins.cleared import cleared


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://a.test/x?key=abc#top failed", "GET https://a.test/x?<redacted>#top failed"),
        ("postgres://me:pw@db.test:5432/x", "postgres://<redacted>@db.test:5432/x"),
        ("ws://127.0.0.1:1/?tkn=abcdef said no", "ws://127.0.0.1:1/?tkn=*** said no"),
        ("see /x?tkn=abc&y=1", "see /x?tkn=***&y=1"),
        ("X-Amz-Signature=abc&y=1", "X-Amz-Signature=<redacted>&y=1"),
        ("nothing of the kind: a@b.test, 1?2", "nothing of the kind: a@b.test, 1?2"),
        ("https://a.test/path", "https://a.test/path"),
    ],
)
def test_urls_lose_their_credentials(text, shown):
    assert cleared(text) == shown


def test_values_that_are_secret_are_answered_set_the_longest_first():
    assert cleared("Bearer hunter2-long and hunter2", ["hunter2", "hunter2-long"]) == (
        "Bearer <set> and <set>"
    )


def test_a_value_too_short_to_tell_is_left():
    assert cleared("on port 1", ["1", "on"]) == "on port 1"
