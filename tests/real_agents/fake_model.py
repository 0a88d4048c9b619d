"""A model that does what it is told, behind the two APIs that real coding agents speak.

OpenAI's chat completions and Gemini's `generateContent`, on 127.0.0.1. The newest text of the
user says what is answered (`wanted`): a call of a tool that was offered, a stream that takes
its time, what it was once asked to remember, or a greeting. What follows a tool's result
begins with what the tool said, so that a client reads there what reached the model.
"""

import json
import re
import time
import uuid

import attrs
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

GREETING = ("Good ", "morning, ", "says ", "the ", "model.")

#: Seconds between the words of a stream that takes its time.
PACE = 0.1

#: How much of a tool's result is said back.
SAID_BACK = 4000

_MARK = re.compile(r"\bCALL (?P<name>\S+) (?P<arguments>\{.*\})|\bSLOW (?P<words>\d+)|\bRECALL\b")
_REMEMBER = re.compile(r"REMEMBER (\w+)")


@attrs.frozen
class Words:
    """An answer in words, `pace` seconds apart."""

    pieces: tuple
    pace: float = 0


@attrs.frozen
class Call:
    """An answer that calls one tool."""

    name: str
    arguments: dict


@attrs.frozen
class Asked:
    """One request that reached the model. `tools` are the names of what it was offered."""

    path: str
    body: dict
    tools: tuple

    @property
    def text(self):
        """All of it, to look for a word in."""
        return json.dumps(self.body)


def wanted(text, result, tools, everything):
    """What to answer: `text` is the user's newest, `result` that of a tool that ran since.

    The last mark counts: what a person said while a turn was stopped may stand in one message
    with what they say now.
    """
    if result is not None:
        return Words(("The tool said: ", result[:SAID_BACK]))
    *_, mark = [None, *_MARK.finditer(text)]
    if mark is None:
        return Words(GREETING)
    if mark["name"]:
        name = mark["name"]
        found = next((tool for tool in tools if tool == name or tool.endswith(f"_{name}")), None)
        if found is None:
            return Words((f"There is no tool {name}.",))
        return Call(found, json.loads(mark["arguments"]))
    if mark["words"]:
        return Words(tuple(f"word{number} " for number in range(int(mark["words"]))), PACE)
    return Words(("I was told: ", ", ".join(dict.fromkeys(_REMEMBER.findall(everything)))))


def _texts(content):
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text") or "" for part in content or () if isinstance(part, dict))


# -- OpenAI's chat completions ---------------------------------------------------------


def openai_tools(body):
    return tuple(tool["function"]["name"] for tool in body.get("tools") or ())


def openai_wanted(asked):
    messages = asked.body["messages"]
    last = messages[-1]
    if last["role"] == "tool":
        return wanted("", _texts(last["content"]), asked.tools, asked.text)
    text = _texts(last["content"]) if last["role"] == "user" else ""
    return wanted(text, None, asked.tools, asked.text)


def _chunk(asked, delta=None, finish=None, **more):
    choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": finish}]
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": asked.body.get("model"),
        "choices": choices,
        **more,
    }


_USED = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}


def _openai_call(answer):
    function = {"name": answer.name, "arguments": json.dumps(answer.arguments)}
    return {"id": f"call_{uuid.uuid4().hex[:12]}", "type": "function", "function": function}


def openai_stream(asked, answer):
    """Its chunks, and the seconds to wait ahead of each."""
    yield 0, _chunk(asked, {"role": "assistant", "content": ""})
    if isinstance(answer, Call):
        yield 0, _chunk(asked, {"tool_calls": [{"index": 0, **_openai_call(answer)}]})
        yield 0, _chunk(asked, {}, "tool_calls")
    else:
        for piece in answer.pieces:
            yield answer.pace, _chunk(asked, {"content": piece})
        yield 0, _chunk(asked, {}, "stop")
    yield 0, _chunk(asked, usage=_USED)
    yield 0, None


def openai_whole(asked, answer):
    if isinstance(answer, Call):
        message = {"content": None, "tool_calls": [_openai_call(answer)]}
    else:
        message = {"content": "".join(answer.pieces)}
    choice = {
        "index": 0,
        "message": {"role": "assistant", **message},
        "finish_reason": "tool_calls" if isinstance(answer, Call) else "stop",
    }
    return {
        **_chunk(asked),
        "object": "chat.completion",
        "choices": [choice],
        "usage": _USED,
    }


# -- Gemini's generateContent ----------------------------------------------------------


def gemini_tools(body):
    return tuple(
        declared["name"]
        for tool in body.get("tools") or ()
        for declared in tool.get("functionDeclarations") or ()
    )


def gemini_wanted(asked):
    parts = asked.body["contents"][-1].get("parts") or []
    answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
    # After a stop the next prompt stands behind the answer of the call that was stopped.
    text = _texts(parts)
    result = json.dumps(answers[-1].get("response")) if answers and not text else None
    return wanted(text, result, asked.tools, asked.text)


def _candidate(parts, finish=None):
    candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
    if finish is not None:
        candidate["finishReason"] = finish
    return {
        "candidates": [candidate],
        "usageMetadata": {
            "promptTokenCount": 10,
            "candidatesTokenCount": 5,
            "totalTokenCount": 15,
        },
        "modelVersion": "fake",
    }


def gemini_stream(asked, answer):
    """Its chunks, and the seconds to wait ahead of each."""
    if isinstance(answer, Call):
        call = {"functionCall": {"name": answer.name, "args": answer.arguments}}
        yield 0, _candidate([call], "STOP")
        return
    for piece in answer.pieces[:-1]:
        yield answer.pace, _candidate([{"text": piece}])
    yield answer.pace, _candidate([{"text": answer.pieces[-1]}], "STOP")


def gemini_whole(asked, answer):
    return next(chunk for _, chunk in gemini_stream(asked, answer))


# -- the endpoint ----------------------------------------------------------------------


class FakeModel:
    """The endpoint. `asked` is what came; `left` counts answers whose reader went before the end."""

    def __init__(self, reactor):
        self.reactor = reactor
        self.asked = []
        self.left = 0
        self._port = None
        self._open = set()

    def start(self):
        self._port = self.reactor.listenTCP(0, Site(_Everything(self)), interface="127.0.0.1")

    async def stop(self):
        await self._port.stopListening()
        for request in list(self._open):
            request.channel.transport.abortConnection()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._port.getHost().port}"

    @property
    def streaming(self):
        """How many answers are being written."""
        return len(self._open)

    def answer(self, request):
        """Answer one request."""
        path = request.path.decode()
        data = request.content.read()
        body = json.loads(data) if data else {}
        if path.endswith("/chat/completions"):
            asked = Asked(path, body, openai_tools(body))
            self._answer(request, asked, openai_wanted, openai_stream, openai_whole)
        elif path.endswith(("enerateContent",)):
            asked = Asked(path, body, gemini_tools(body))
            self._answer(request, asked, gemini_wanted, gemini_stream, gemini_whole)
        elif path.endswith(":countTokens"):
            self._whole(request, {"totalTokens": 10})
        elif path.endswith("/models"):
            model = {"id": "fake-model", "object": "model", "created": 0, "owned_by": "tests"}
            self._whole(request, {"object": "list", "data": [model]})
        else:
            self.asked.append(Asked(path, body, ()))
            request.setResponseCode(404)
            self._whole(request, {"error": {"message": f"nothing is served at {path}"}})
        return NOT_DONE_YET

    def _answer(self, request, asked, wants, stream, whole):
        self.asked.append(asked)
        answer = wants(asked)
        if not asked.body.get("stream") and ":streamGenerateContent" not in asked.path:
            self._whole(request, whole(asked, answer))
            return
        self._open.add(request)
        request.notifyFinish().addCallbacks(
            lambda _: self._open.discard(request), lambda _: self._lost(request)
        )
        request.setHeader("Content-Type", "text/event-stream")
        self._write(request, stream(asked, answer))

    def _lost(self, request):
        self._open.discard(request)
        self.left += 1

    def _whole(self, request, value):
        request.setHeader("Content-Type", "application/json")
        request.write(json.dumps(value).encode())
        request.finish()

    def _write(self, request, chunks):
        step = next(chunks, None)
        if step is None:
            request.finish()
            return
        pace, chunk = step
        self.reactor.callLater(pace, self._write_one, request, chunk, chunks)

    def _write_one(self, request, chunk, chunks):
        if request not in self._open:
            return
        data = "[DONE]" if chunk is None else json.dumps(chunk)
        request.write(f"data: {data}\n\n".encode())
        self._write(request, chunks)


class _Everything(Resource):
    """Every path of the endpoint."""

    isLeaf = True

    def __init__(self, model):
        super().__init__()
        self._model = model

    def render(self, request):
        return self._model.answer(request)
