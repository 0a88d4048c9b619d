"""A record is the bytes of a file and back, whatever its texts are."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ahpd.interfaces import RecordOptions
from ahpd.record_store.formats import JSON, format_of, read_markdown, write_markdown
from ahpd.testing.records_contract import TEXTS

BODY = format_of(RecordOptions(body="text"))
CHARACTERS = st.characters(exclude_categories=["Cs"])
AWKWARD = st.text(st.sampled_from("-\n\r \t:#\ufeff\0x"))
BODIES = st.text(CHARACTERS) | AWKWARD
RECORDS = st.dictionaries(
    (st.text(CHARACTERS) | AWKWARD).filter(lambda key: key != "text"), st.text() | st.integers()
).map(lambda fields: {**fields, "id": "one"})


def every_text(test):
    for text in TEXTS:
        test = example({"id": "one", "field": text, "list": [text]}, text)(test)
    return test


@every_text
@given(RECORDS, BODIES)
def test_a_body_and_the_fields_above_it_read_back_the_same(fields, text):
    record = {**fields, "text": text}
    assert BODY.read(BODY.write(record)) == record


@given(RECORDS)
def test_a_record_without_a_body_reads_back_the_same(record):
    record = {key: value for key, value in record.items() if not isinstance(value, str)}
    record["id"] = "one"
    assert read_markdown(write_markdown(record, None), None) == record


@given(BODIES)
def test_json_reads_back_the_same(text):
    record = {"id": "one", "text": text, text: [text]}
    assert JSON.read(JSON.write(record)) == record


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"{", "line 1: not JSON"),
        (b"[]", "it holds no JSON object"),
        (b'{"a": NaN}', "NaN is no JSON"),
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b"\xff", "not UTF-8"),
        (b'{"a":' * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "digit"),
    ],
)
def test_what_is_no_json_record_is_refused_in_words(data, words):
    with pytest.raises(ValueError, match=words):
        JSON.read(data)
