"""Endpoints that misbehave: each turn has one end, in words for a person."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.ssl import KeyPair
from twisted.internet.task import Clock

from ahpd.interfaces import AgentFailure
from ahpd.testing.agents import RecordedOutput
from ahpd.testing.planted import planted
from ahpd.wire.codec import encode
from ahpd_agent_openai import failures
from ahpd_agent_openai.testing import Answer, calls, chunk, refuses, says, sse, usage_chunk

KEY = planted("the key of an endpoint")


async def failure_of(bench, *answers, **config):
    config.setdefault("maxRetries", 0)
    bench.endpoint.answers += answers
    chat = await bench.chat(bench.agent(apiKey=KEY, **config))
    output = RecordedOutput("t1")
    with pytest.raises(AgentFailure) as caught:
        await bench.turn(chat, output=output)
    await chat.close()
    failure = caught.value
    assert KEY not in failure.message
    return failure, output


CUT = sse(chunk({"content": "Hel"}), chunk({"content": "lo"}), done=False)
HALF_CALL = sse(
    chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "shell", "arguments": '{"comm'}}]}),
    done=False,
)  # fmt: skip
WHOLE_CALL = HALF_CALL + sse(
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'and": "rm"}'}}]}), done=False
)

ODD = {
    "a stream that is cut": (Answer(body=CUT), failures.CUT, True),
    "a connection that breaks": (Answer(body=CUT, end="break"), failures.CUT, True),
    "a whole call and no end": (Answer(body=WHOLE_CALL), failures.CUT, True),
    "a whole call and a break": (Answer(body=WHOLE_CALL, end="break"), failures.CUT, True),
    "half a call and no end": (Answer(body=HALF_CALL), failures.CUT, True),
    "an error in the stream": (
        Answer(body=CUT + sse({"error": {"message": "out of memory", "code": 502}})),
        failures.SERVER,
        True,
    ),
    "an error as the body": (
        Answer(body=encode({"error": "something broke"})), failures.SERVER, True,
    ),
    "a page": (Answer(body=b"<html><body>Welcome</body></html>"), failures.PROTOCOL, True),
    "nonsense": (Answer(body=b"data: {not json\n\n"), failures.PROTOCOL, True),
    "nothing": (Answer(body=b""), failures.PROTOCOL, True),
    "an endless event": (
        Answer(body=b"data: ", endless=b"x" * 65536), failures.PROTOCOL, True,
    ),
    "a filter": (
        Answer(body=sse(chunk({"content": "Well"}), chunk({}, "content_filter"))),
        failures.FILTERED,
        False,
    ),
    "a call cut by the limit": (
        Answer(body=WHOLE_CALL + sse(chunk({}, "length"))), failures.OUTPUT_LIMIT, True,
    ),
    "401": (refuses(401, f"Incorrect API key provided: {KEY}"), failures.AUTH, True),
    "403": (refuses(403, f"forbidden {KEY}"), failures.AUTH, True),
    "402": (refuses(402, f"no credits for {KEY}"), failures.REFUSED, True),
    "404": (refuses(404, "The model `fake` does not exist"), failures.NOT_FOUND, True),
    "a missing model": (refuses(400, "model 'fake' not found"), failures.NOT_FOUND, True),
    "a redirection": (
        Answer(status=301, headers={"Location": "http://127.0.0.1/"}), failures.REFUSED, True,
    ),
    "429": (refuses(429, "slow down"), failures.RATE_LIMITED, True),
    "500": (refuses(500, "oops"), failures.SERVER, True),
    "a page with 502": (
        Answer(status=502, body=b"<html>Bad Gateway</html>", headers={"Content-Type": "text/html"}),
        failures.SERVER,
        True,
    ),
    "a context that is too short": (
        refuses(400, "This model's maximum context length is 4096 tokens", "context_length_exceeded"),
        failures.OVERFLOW,
        True,
    ),
    "an answer of nothing": (Answer(body=sse(chunk({}, "stop"))), "emptyAnswer", True),
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
@pytest_twisted.ensureDeferred
async def test_a_misbehaving_endpoint_ends_its_turn_once_in_words(bench, name):
    answer, kind, resumable = ODD[name]
    ran = []
    bench.tools["shell"] = lambda arguments, call: ran.append(arguments) or "ran"
    failure, output = await failure_of(bench, answer)
    assert failure.error_type == kind
    assert failure.resumable is resumable
    assert len(failure.message) > 20
    assert "Traceback" not in failure.message
    assert not ran, "a call that was not whole was run"
    assert output.awaited.waiting == []


@pytest_twisted.ensureDeferred
async def test_the_chat_goes_on_after_each(bench):
    chat = await bench.chat(bench.agent(maxRetries=0))
    for number, (answer, kind, _) in enumerate(ODD.values()):
        if kind == failures.OVERFLOW:
            continue  # a chat this long is compacted and goes on by itself
        bench.endpoint.answers = [answer]
        with pytest.raises(AgentFailure):
            await bench.turn(chat, turn_id=f"bad-{number}")
        bench.endpoint.answers = []
        output = await bench.turn(chat, turn_id=f"good-{number}")
        assert output.text() == "Hello there"
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_refused_key_says_where_to_put_one(bench):
    failure, _ = await failure_of(bench, refuses(401, "bad"))
    assert '"apiKey"' in failure.message
    assert "openai" in failure.message


@pytest_twisted.ensureDeferred
async def test_a_refused_connection_names_the_endpoint(bench, reactor):
    port = reactor.listenTCP(0, Factory.forProtocol(Protocol), interface="127.0.0.1")
    number = port.getHost().port
    await port.stopListening()
    failure, _ = await failure_of(bench, baseUrl=f"http://127.0.0.1:{number}/v1", maxRetries=3)
    assert failure.error_type == failures.UNREACHABLE
    assert f"127.0.0.1:{number}" in failure.message
    assert "refused" in failure.message


@pytest_twisted.ensureDeferred
async def test_a_host_that_is_not_found_is_said(bench):
    failure, _ = await failure_of(bench, baseUrl="http://nowhere.invalid/v1")
    assert failure.error_type == failures.UNREACHABLE
    assert "nowhere.invalid" in failure.message


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest_twisted.ensureDeferred
async def test_a_certificate_nobody_vouches_for_is_a_tls_failure(bench, reactor):
    certificate = KeyPair.generate(size=2048).selfSignedCert(1, CN="localhost")
    port = reactor.listenSSL(
        0, Factory.forProtocol(Protocol), certificate.options(), interface="127.0.0.1"
    )
    url = f"https://127.0.0.1:{port.getHost().port}/v1"
    failure, _ = await failure_of(bench, baseUrl=url)
    assert failure.error_type == failures.TLS
    assert "127.0.0.1" in failure.message
    assert "certificate" in failure.message
    await port.stopListening()


WHOLE = {
    "no [DONE]": Answer(body=sse(chunk({"content": "Hi"}), chunk({}, "stop"), done=False)),
    "no finish reason": Answer(body=sse(chunk({"content": "Hi"}))),
    "a break after the finish reason": Answer(
        body=sse(chunk({"content": "Hi"}), chunk({}, "stop"), done=False), end="break"
    ),
    "a connection left open after [DONE]": Answer(
        body=sse(chunk({"content": "Hi"}), chunk({}, "stop")), end="hang"
    ),
    "a body of JSON": Answer(
        body=encode({"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}]}),
        headers={"Content-Type": "application/json"},
    ),
    "keep-alives and carriage returns": Answer(
        body=[b": keep\r\n\r\n", sse(chunk({"content": "Hi"}), chunk({}, "stop"), newline=b"\r\n")]
    ),
    "usage behind the end": Answer(
        body=sse(chunk({"content": "Hi"}), chunk({}, "stop"), usage_chunk(1, 1), done=False)
    ),
    "single bytes": Answer(
        body=[bytes([byte]) for byte in sse(chunk({"content": "Hi"}), chunk({}, "stop"))]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
@pytest_twisted.ensureDeferred
async def test_an_odd_answer_that_is_whole_completes(bench, name):
    bench.endpoint.answers.append(WHOLE[name])
    chat = await bench.chat()
    output = await bench.turn(chat)
    assert output.text() == "Hi"
    await chat.close()


# -- trying again -----------------------------------------------------------------------


class Ticking(Clock):
    """The reactor, whose time a test moves on."""

    def __init__(self, reactor):
        super().__init__()
        self._reactor = reactor

    def __getattr__(self, name):
        return getattr(self._reactor, name)


async def until(reactor, condition):
    for _ in range(500):
        if condition():
            return
        waiting = Deferred()
        reactor.callLater(0.002, waiting.callback, None)
        await waiting
    raise AssertionError("it did not happen")


@pytest.mark.parametrize(
    ("answer", "seconds"),
    [
        (refuses(429, "slow down", Retry_After="7"), 7),
        (refuses(429, "slow down", Retry_After="Fri, 02 Jan 2026 03:04:15 GMT"), 10),
        (refuses(429, "slow down"), 1),
        (refuses(503, "loading model"), 1),
        (Answer(body=b"", end="break"), 1),
        (Answer(body=sse({"error": {"message": "overloaded", "code": 503}})), 1),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_busy_endpoint_is_asked_again_after_a_wait(
    bench, reactor, running, answer, seconds
):
    clock = bench.clock = Ticking(reactor)
    bench.endpoint.answers += [answer, says("At last")]
    chat = await bench.chat(bench.agent())
    output = RecordedOutput("t1")
    run = running(chat, output)
    await until(reactor, lambda: [one for one in output.actions if one.get("activity")])
    activity = output.actions[-1]["activity"]
    assert f"{seconds} second" in activity
    clock.advance(seconds - 0.1)
    await until(reactor, lambda: True)
    assert len(bench.endpoint.completions) == 1
    clock.advance(0.1)
    await run
    assert output.text() == "At last"
    assert output.actions[-1]["type"] != "chat/activityChanged"
    cleared = [one for one in output.actions if one["type"] == "chat/activityChanged"]
    assert "activity" not in cleared[-1]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_the_number_of_tries_is_bounded(bench, reactor, running):
    clock = bench.clock = Ticking(reactor)
    bench.endpoint.always = lambda asked: refuses(500, "oops")
    chat = await bench.chat(bench.agent(maxRetries=3))
    output = RecordedOutput("t1")
    run = running(chat, output)
    failed = []
    run.addErrback(lambda failure: failed.append(failure.value))
    for tries in range(1, 4):
        await until(
            reactor,
            lambda tries=tries: (
                len(bench.endpoint.completions) == tries and "activity" in output.actions[-1]
                if output.actions
                else False
            ),
        )
        clock.advance(2 ** (tries - 1))
    await until(reactor, lambda: failed)
    assert len(bench.endpoint.completions) == 4
    assert failed[0].error_type == failures.SERVER
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_an_endpoint_that_wants_to_be_left_alone_for_long_is_not_waited_for(bench):
    failure, _ = await failure_of(
        bench, refuses(429, "come back later", Retry_After="7200"), maxRetries=3
    )
    assert failure.error_type == failures.RATE_LIMITED
    assert "120 minutes" in failure.message


@pytest_twisted.ensureDeferred
async def test_an_answer_that_broke_off_is_not_asked_for_again(bench):
    await failure_of(bench, Answer(body=CUT, end="break"), maxRetries=3)
    assert len(bench.endpoint.completions) == 1


@pytest_twisted.ensureDeferred
async def test_a_silent_endpoint_is_given_up(bench):
    failure, _ = await failure_of(bench, Answer(wait=Deferred()), idleTimeoutMs=50)
    assert failure.error_type == failures.SILENT
    failure, output = await failure_of(
        bench, Answer(body=sse(chunk({"content": "Hm"}), done=False), end="hang"), idleTimeoutMs=50
    )
    assert failure.error_type == failures.SILENT
    assert output.text() == "Hm"


# -- what an endpoint will not have --------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_what_an_endpoint_refuses_is_left_out_from_then_on(bench):
    bench.tools["shell"] = lambda arguments, call: ""
    bench.endpoint.answers += [
        refuses(400, "Unrecognized request argument: stream_options"),
        refuses(400, "registry.ollama.ai/library/fake:latest does not support tools"),
        says("Plain"),
        says("Again"),
    ]
    chat = await bench.chat()
    output = await bench.turn(chat)
    assert output.text() == "Plain"
    notices = [
        one["part"]["content"]
        for one in output.actions
        if one["type"] == "chat/responsePart" and one["part"]["kind"] == "systemNotification"
    ]
    assert notices == ["The model takes no tools, so it answers without them."]
    await bench.turn(chat, turn_id="t2")
    first, second, third, fourth = bench.endpoint.completions
    assert "stream_options" in first
    assert "stream_options" not in second
    assert "tools" in second
    assert "tools" not in third
    assert "tools" not in fourth
    await chat.close()


@pytest.mark.parametrize(
    ("words", "without"),
    [
        ("'tools' is not supported: the chat template declares no tool-call format", "tools"),
        ("Unsupported parameter: `tools`", "tools"),
        ("tools are not supported by this model", "tools"),
        ("'tool_choice' is not supported", None),
        ("'image_url' is not supported by this model", "images"),
        ("this line is not supported", None),
    ],
)
def test_what_a_refusal_names_is_told_from_other_refusals(words, without):
    failure = failures.of_status("The endpoint", 400, {"error": {"message": words}})
    assert failure.without == without


@pytest_twisted.ensureDeferred
async def test_arguments_that_are_no_json_are_told_to_the_model_and_not_run(bench):
    ran = []
    bench.tools["shell"] = lambda arguments, call: ran.append(arguments) or "ran"
    bench.endpoint.answers += [calls("shell", '{"command": "r'), calls("shell", '{"command":"ls"}'),
                               says("Done")]  # fmt: skip
    chat = await bench.chat()
    output = await bench.turn(chat)
    assert ran == [{"command": "ls"}]
    second = bench.endpoint.completions[1]["messages"]
    assert "no JSON object" in second[-1]["content"]
    assert second[-2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert output.text() == "Done"
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_call_cut_anywhere_ends_its_turn_once_and_runs_whole_or_not(bench):
    ran = []
    bench.tools["shell"] = lambda arguments, call: ran.append(dict(arguments)) or "ran"
    whole = calls("shell", {"command": "rm -r build"}, text="Let me").body
    chat = await bench.chat(bench.agent(maxRetries=0))
    for number, cut in enumerate(range(0, len(whole), 23)):
        end = "break" if number % 2 else "close"
        bench.endpoint.answers = [Answer(body=whole[:cut], end=end), says("Done")]
        ends = []
        try:
            await bench.turn(chat, turn_id=f"t{number}")
            ends.append("complete")
        except AgentFailure as failure:
            ends.append(failure.error_type)
        assert len(ends) == 1
        assert ran in ([], [{"command": "rm -r build"}])
        assert bool(ran) is (ends == ["complete"])
        ran.clear()
    await chat.close()
