"""The contract of a backend, held over real HTTP."""

import pytest
import pytest_twisted

from ahpd.interfaces import ToolEffects
from ahpd.testing.agent_contract import AgentContract, check_agent
from ahpd.testing.planted import planted
from ahpd_agent_openai.testing import Answer, calls, chunk, refuses, says, sse

LOOK = {"clientId": "editor", "name": "look", "title": "Look"}
KEY = planted("the key of an endpoint")


class Model:
    """Answers by the newest words of a person: what was left unanswered comes before them."""

    def __init__(self):
        self.failed = False

    def __call__(self, asked):
        messages = asked.body["messages"]
        newest = messages[-1]
        content = newest["content"]
        said = content if isinstance(content, str) else content[0]["text"]
        text = said.rpartition("\n\n")[2]
        if newest["role"] == "tool":
            return says("Done")
        if text == "failing" and not self.failed:
            self.failed = True
            return refuses(400, "The model is being replaced")
        if text == "recall":
            sent = [one["content"] for one in messages if one["role"] == "user"]
            return says(f"I was sent {len(sent)}")
        return ANSWERS.get(text, says("You said: ", text))


FLOOD = sse(*[chunk({"content": "word " * 40})] * 12_000, chunk({}, "stop"))
ANSWERS = {
    "endless": Answer(endless=sse(chunk({"content": "word "}), done=False)),
    "flood": Answer(body=FLOOD),
    "ask": calls("shell", {"command": "ls"}),
    "look": calls("editor__look", {}),
    "look up": calls("look_up", {}),
    "steer": calls("wait", {}),
}


@pytest.mark.parametrize("folder", [True, False])
@pytest_twisted.ensureDeferred
async def test_the_engine_holds_it(bench, reactor, folder):
    ran = []
    bench.tools["shell"] = lambda arguments, call: ran.append(arguments) or "a b"
    bench.effects["shell"] = ToolEffects(writes=True, destructive=True)
    bench.tools["wait"] = lambda arguments, call: "waited"
    bench.endpoint.always = Model()
    await check_agent(
        lambda: bench.agent(memory=not folder, apiKey=KEY, maxRetries=0),
        AgentContract(
            reactor=reactor,
            endless="endless",
            flooding="flood",
            failing="failing",
            steered="steer",
            recalling="recall",
            asking=["ask", "look"],
            effects={"ask": lambda: len(ran)},
            host_tool="look up",
            client_tools=[LOOK],
            config={"permissionMode": "default"},
            secrets=[KEY],
            unchanged=lambda: len(bench.endpoint.completions),
            unusable=lambda: bench.agent(baseUrl="http://127.0.0.1:9/v1", maxRetries=0),
        ),
    )
    assert all(box.closed for box in bench.boxes)
