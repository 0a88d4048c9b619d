"""One answer, in the manner of each server that people run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.wire.codec import encode
from ahpd_agent_openai.completion import BadStream, CallSaid, CompletionReader, Said, Usage
from ahpd_agent_openai.testing import call_delta, chunk, sse, usage_chunk


def read(*pieces):
    reader = CompletionReader()
    said = [one for piece in pieces for one in reader.feed(piece)]
    return reader, said + reader.finish()


def made(*values, done=True):
    reader, _ = read(sse(*values, done=done))
    assert reader.error is None
    return reader.completion()


def test_text_and_reasoning_are_told_apart_by_their_fields():
    values = [
        chunk({"reasoning": "so"}),
        chunk({"reasoning_content": " be it"}),
        chunk({"content": "<think>no</think>"}),
        chunk({}, "stop"),
    ]
    reader, said = read(sse(*values))
    assert said == [
        Said("reasoning", "so"),
        Said("reasoning", " be it"),
        Said("text", "<think>no</think>"),
    ]
    assert reader.completion().reasoning == "so be it"


@pytest.mark.parametrize("done", [True, False])
def test_an_answer_is_whole_with_its_finish_reason_or_its_done(done):
    reader, _ = read(sse(chunk({"content": "a"}), chunk({}, "stop"), done=done))
    assert reader.is_whole
    reader, _ = read(sse(chunk({"content": "a"}), done=done))
    assert reader.is_whole is done


@pytest.mark.parametrize(
    "values",
    [
        [chunk({"content": "a"}, "stop"), usage_chunk(10, 2)],
        [chunk({"content": "a"}, "stop", usage={"prompt_tokens": 10, "completion_tokens": 2})],
        [
            chunk({"content": "a"}, usage={"prompt_tokens": 10, "completion_tokens": 1}),
            chunk({}, "stop", usage={"prompt_tokens": 10, "completion_tokens": 2}),
            chunk({}, None, usage=None),
        ],
    ],
)
def test_usage_comes_in_any_chunk_and_the_last_counts(values):
    assert made(*values).usage == Usage(input=10, output=2)


@pytest.mark.parametrize(
    "usage", [None, {}, "much", {"prompt_tokens": -1}, {"prompt_tokens": True}]
)
def test_usage_that_is_none_is_not_invented(usage):
    assert made(chunk({"content": "a"}, "stop", usage=usage)).usage is None


def test_a_json_body_is_read_as_an_answer():
    body = {
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": "hi",
            "tool_calls": [{"id": "x", "function": {"name": "look", "arguments": {"at": 1}}}],
        }}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 4},
    }  # fmt: skip
    data = b" \r\n" + encode(body) + b"\n"
    reader, said = read(*(data[at : at + 1] for at in range(len(data))))
    assert said == [Said("text", "hi"), CallSaid(0, "look", True, '{"at":1}')]
    made = reader.completion()
    assert made.calls[0].arguments == {"at": 1}
    assert made.usage == Usage(input=3, output=4)
    assert reader.is_whole


def calls_of(*deltas):
    values = [chunk(delta) for delta in deltas]
    found = made(*values, chunk({}, "tool_calls")).calls
    return [(call.name, call.arguments) for call in found]


A, B = ("look", {"at": 1}), ("find", {"for": "x"})


def fragment(index=None, id=None, name=None, arguments=None):  # noqa: A002
    function = {}
    if name is not None:
        function["name"] = name
    if arguments is not None:
        function["arguments"] = arguments
    call = {"function": function}
    if index is not None:
        call["index"] = index
    if id is not None:
        call["id"] = id
    return {"tool_calls": [call]}


@pytest.mark.parametrize(
    "deltas",
    [
        # As it is meant: an index for each, arguments in pieces.
        [fragment(0, "a", "look", ""), fragment(0, None, None, '{"at"'), fragment(0, None, None, ":1}"),
         fragment(1, "b", "find", '{"for":'), fragment(1, None, None, '"x"}')],
        # Interleaved.
        [fragment(0, "a", "look", ""), fragment(1, "b", "find", '{"for":'),
         fragment(0, None, None, '{"at":1}'), fragment(1, None, None, '"x"}')],
        # Each with index 0, each whole.
        [fragment(0, "a", "look", '{"at":1}'), fragment(0, "b", "find", '{"for":"x"}')],
        # Index 0 and no ids.
        [fragment(0, None, "look", '{"at":1}'), fragment(0, None, "find", '{"for":"x"}')],
        # No index.
        [fragment(None, "a", "look", '{"at":1}'), fragment(None, "b", "find", '{"for":"x"}')],
        [fragment(None, "a", "look", '{"at"'), fragment(None, None, None, ":1}"),
         fragment(None, "b", "find", '{"for":"x"}')],
        # No index and no id.
        [fragment(None, None, "look", '{"at":1}'), fragment(None, None, "find", '{"for":"x"}')],
        # The name and the id again with every piece.
        [fragment(0, "a", "look", '{"at"'), fragment(0, "a", "look", ":1}"),
         fragment(1, "b", "find", '{"for":"x"}')],
        # Another id with every piece of one call.
        [fragment(0, "a", "look", '{"at"'), fragment(0, "z", None, ":1}"),
         fragment(1, "b", "find", '{"for":"x"}')],
        # Arguments as an object; an empty piece behind.
        [fragment(0, "a", "look", {"at": 1}), fragment(0, None, None, ""),
         fragment(1, "", "find", {"for": "x"})],
        # Both in one delta.
        [{"tool_calls": [call_delta("look", '{"at":1}')["tool_calls"][0],
                         call_delta("find", '{"for":"x"}', index=1, id="b")["tool_calls"][0]]}],
        # Encoded twice; blanks about.
        [fragment(0, "a", "look", '"{\\"at\\":1}"'), fragment(1, "b", "find", ' {"for":"x"} ')],
        # An id before the name.
        [fragment(0, "a"), fragment(0, None, "look", '{"at":1}'),
         fragment(1, "b", "find", '{"for":"x"}')],
    ],
)  # fmt: skip
def test_calls_are_put_together_however_they_come(deltas):
    assert calls_of(*deltas) == [A, B]


def test_what_came_before_tool_calls_is_one_call():
    deltas = [
        {"function_call": {"name": "look", "arguments": ""}},
        {"function_call": {"arguments": '{"at":1}'}},
    ]
    assert calls_of(*deltas) == [A]


def test_calls_without_ids_or_with_the_same_have_ids_of_their_own():
    found = made(
        chunk(fragment(0, None, "look", "{}")),
        chunk(fragment(1, "x", "look", "{}")),
        chunk(fragment(2, "x", "find", "{}")),
        chunk({}, "tool_calls"),
    ).calls
    assert len({call.id for call in found}) == len(found) == 3
    assert "x" in [call.id for call in found]


@pytest.mark.parametrize("raw", ['{"at":', "[1]", "3", '"x"', "{}{}", "{'at': 1}"])
def test_arguments_that_are_no_object_are_none(raw):
    assert calls_of(fragment(0, "a", "look", raw)) == [("look", None)]


def test_no_arguments_are_an_empty_object():
    assert calls_of(fragment(0, "a", "look")) == [("look", {})]


@pytest.mark.parametrize(
    "body",
    [
        sse({"error": {"message": "no", "code": 502}}, done=False),
        sse(chunk({"content": "a"}), {"error": "no"}, done=False),
        sse({"object": "error", "message": "no", "code": 400}, done=False),
        sse(chunk({}, "error", error={"message": "no"})),
        b'event: error\ndata: {"message": "no"}\n\n',
        b"event: error\ndata: no\n\n",
        b'error: {"message": "no"}\n\n',
        encode({"error": {"message": "no"}}),
        encode([{"error": {"message": "no"}}]),
        encode({"detail": "no"}),
    ],
)
def test_an_error_in_a_good_answer_is_found(body):
    reader, _ = read(body)
    assert reader.error is not None


@pytest.mark.parametrize(
    "body",
    [b"", b"   ", b"<html><body>Hi</body></html>", b"data: {nonsense\n\n", b"{", b"data: 3\n\n",
     b'{"ok": true}', b": nothing\n\n", b"data: [DONE]\n\n"],
)  # fmt: skip
def test_what_is_no_answer_is_said(body):
    with pytest.raises(BadStream):
        read(body)


def test_content_in_parts_and_a_refusal_are_text():
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "x"}]
    found = made(
        chunk({"content": parts}), chunk({"refusal": "c"}), chunk({"content": None}, "stop")
    )
    assert found.text == "abc"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(
            ["choices", "delta", "message", "content", "tool_calls", "function", "name", "index",
             "arguments", "id", "usage", "error", "finish_reason", "prompt_tokens", "reasoning"]
        ),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip


@given(st.lists(JSON, max_size=5))
def test_any_json_is_read_or_refused_in_words(values):
    words = "read"
    try:
        reader, _ = read(sse(*values))
        reader.completion()
    except BadStream as bad:
        words = str(bad)
    assert words


def test_a_call_is_never_taken_for_whole_before_its_end_was_said():
    """Cut anywhere: either the answer is not whole, or nothing of the call is missing."""
    arguments = '{"command":"rm -r build","in":{"a":[1]}}'
    values = [chunk(call_delta("shell", ""))]
    values += [
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": one}}]}) for one in arguments
    ]
    data = sse(*values, chunk({}, "tool_calls"))
    for cut in range(1, len(data)):
        reader = CompletionReader()
        try:
            reader.feed(data[:cut])
            reader.finish()
        except BadStream:
            continue
        if reader.is_whole:
            assert [call.raw for call in reader.completion().calls] == [arguments]
