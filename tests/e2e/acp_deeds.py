"""An ACP agent that does what its prompt lists, and writes down what it did.

The last block of a prompt that begins with `[` is a list of deeds, each a list: its name, then
what it takes. What was done is in `deeds.jsonl` of the session's folder, one list a line, written
before a word of it is said: what is not there was not done.
"""

import asyncio
import http.client
import json
import os
import sys
from urllib.parse import urlsplit

OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def write(message):
    """One message, whole; it waits while the pipe is full, as a program's write does."""
    view = memoryview(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    while view:
        view = view[os.write(1, view) :]


class Agent:
    """One program: its conversations, and what it waits for."""

    def __init__(self):
        self.sessions = {}
        self.waiting = {}
        self.asked = 0
        self.prompts = {}

    async def ask(self, method, params):
        """Ask the host, and wait for its answer."""
        self.asked += 1
        identifier = f"a{self.asked}"
        self.waiting[identifier] = asyncio.get_running_loop().create_future()
        write({"id": identifier, "method": method, "params": params})
        return await self.waiting[identifier]

    def take(self, message):
        """One message of the host's."""
        method, identifier = message.get("method"), message.get("id")
        if method is None:
            waiting = self.waiting.pop(identifier)
            if not waiting.done():  # its turn may have been cancelled meanwhile
                waiting.set_result(message.get("result"))
        elif method == "session/cancel":
            task = self.prompts.get(message["params"]["sessionId"])
            if task is not None:
                task.cancel()
        elif method == "session/prompt":
            session = message["params"]["sessionId"]
            task = asyncio.ensure_future(self.prompt(identifier, message["params"]))
            self.prompts[session] = task
        elif identifier is not None:
            write({"id": identifier, "result": self.answer(method, message["params"])})

    def answer(self, method, params):
        """What is asked of it but a prompt."""
        if method == "initialize":
            can = {"loadSession": True, "mcpCapabilities": {"http": True}}
            return {"protocolVersion": 1, "agentCapabilities": can}
        if method in ("session/new", "session/load"):
            name = params.get("sessionId") or f"c{os.getpid()}-{len(self.sessions)}"
            self.sessions[name] = Conversation(self, name, params)
            return {"sessionId": name} if method == "session/new" else {}
        return {}

    async def prompt(self, identifier, params):
        """Do what it lists."""
        conversation = self.sessions[params["sessionId"]]
        text = next(
            block["text"]
            for block in reversed(params["prompt"])
            if block.get("text", "").startswith("[")
        )
        reason = "end_turn"
        try:
            for name, *given in json.loads(text):
                await getattr(conversation, name)(*given)
        except asyncio.CancelledError:
            reason = "cancelled"
        write({"id": identifier, "result": {"stopReason": reason}})


class Conversation:
    """One session, and the deeds."""

    def __init__(self, agent, name, params):
        self.agent = agent
        self.name = name
        self.folder = params["cwd"]
        self.servers = params["mcpServers"]
        self.heard = 0

    def did(self, *what):
        """Write it down."""
        line = json.dumps(what).encode() + b"\n"
        out = os.open(f"{self.folder}/deeds.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(out, line)
        os.close(out)

    def update(self, kind, **fields):
        """Tell the host of something."""
        params = {"sessionId": self.name, "update": {"sessionUpdate": kind, **fields}}
        write({"method": "session/update", "params": params})

    # -- deeds --------------------------------------------------------------------------

    async def say(self, text):
        """Words of the answer."""
        self.update("agent_message_chunk", content={"type": "text", "text": text})

    async def ask(self, *calls):
        """Ask about all of them at once, and run each that is allowed."""
        await asyncio.gather(*(self.one(call) for call in calls))

    async def one(self, call):
        """One call: asked about, then run or not."""
        identifier = call["toolCallId"]
        params = {"sessionId": self.name, "toolCall": call, "options": OPTIONS}
        answer = await self.agent.ask("session/request_permission", params)
        outcome = (answer or {}).get("outcome", {"outcome": "error"})
        chosen = outcome.get("optionId")
        word = {"yes": "ran", "no": "refused"}.get(chosen, chosen or outcome["outcome"])
        self.did(word, identifier)
        status = "completed" if word == "ran" else "failed"
        self.update("tool_call_update", toolCallId=identifier, status=status)

    async def call(self, name, arguments, identifier=None):
        """Report a call of a tool of the host's server, and make it through the endpoint."""
        identifier = identifier or f"{name}-{self.agent.asked}-{os.getpid()}-{self.heard}"
        self.heard += 1
        self.update(
            "tool_call",
            toolCallId=identifier,
            title=f"mcp__host__{name}",
            rawInput=arguments,
            status="in_progress",
        )
        params = {"name": name, "arguments": arguments, "_meta": {"ahpd/toolCallId": identifier}}
        posting = asyncio.ensure_future(asyncio.to_thread(self.post, "tools/call", params))
        try:
            status, answer = await asyncio.shield(posting)
        except asyncio.CancelledError:
            # Its turn is not over before this is: a late call would be the next turn's.
            self.did("cancelled", name, *await posting)
            raise
        result = answer.get("result", answer) if isinstance(answer, dict) else answer
        self.did("answered", name, status, result)
        failed = status != 200 or result.get("isError", True)
        self.update(
            "tool_call_update",
            toolCallId=identifier,
            status="failed" if failed else "completed",
            rawOutput=json.dumps(result),
        )

    async def mcp(self, method, params):
        """Any request to the endpoint."""
        self.did("mcp", method, *await asyncio.to_thread(self.post, method, params))

    async def knock(self, url, token):
        """A listing at another endpoint, or with another token; None is its own."""
        status, answer = await asyncio.to_thread(self.post, "tools/list", {}, url, token)
        self.did("knocked", status, answer)

    async def listen(self):
        """Hold the endpoint's stream open, and write down what it says."""
        asyncio.get_running_loop().run_in_executor(None, self.stream)

    async def dump(self, what):
        """Write down its environment, or the servers it was given."""
        self.did(what, dict(os.environ) if what == "environ" else self.servers)

    async def exit(self, code):
        """End in the middle of it."""
        os._exit(code)

    async def form(self, schema):
        """Ask a person to fill in a form."""
        params = {"sessionId": self.name, "mode": "form", "message": "?", "requestedSchema": schema}
        self.did("filled", await self.agent.ask("elicitation/create", params))

    async def flood(self, size):
        """Words without end."""
        while True:
            await self.say("x" * size)
            await asyncio.sleep(0)

    # -- the endpoint -------------------------------------------------------------------

    def host(self):
        """Where the host's tools are, and the header that opens them."""
        (server,) = [server for server in self.servers if server["name"] == "host"]
        headers = {pair["name"]: pair["value"] for pair in server["headers"]}
        return server["url"], headers["Authorization"].removeprefix("Bearer ")

    def connection(self, url, token):
        """A connection to the endpoint, its path and the headers of each request."""
        own_url, own_token = self.host()
        parts = urlsplit(url or own_url)
        headers = {
            "Authorization": f"Bearer {token or own_token}",
            "Accept": "application/json, text/event-stream",
            "Content-Type": "application/json",
        }
        return http.client.HTTPConnection(parts.hostname, parts.port), parts.path, headers

    def post(self, method, params, url=None, token=None):
        """One request: its status, and its answer where that is JSON."""
        connection, path, headers = self.connection(url, token)
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        try:
            connection.request("POST", path, json.dumps(message), headers)
            response = connection.getresponse()
            body = response.read().decode()
        except OSError as error:
            return 0, str(error)
        finally:
            connection.close()
        return response.status, json.loads(body) if body.startswith("{") else body

    def stream(self):
        """Read the stream to its end."""
        connection, path, headers = self.connection(None, None)
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        self.did("listening", response.status)
        for line in response:
            if line.startswith(b"data: "):
                self.did("heard", json.loads(line[6:]))
        self.did("stream ended")


async def main():
    """Answer until the end of input."""
    agent = Agent()
    reader = asyncio.StreamReader(limit=1 << 26)
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        agent.take(json.loads(line))
    os._exit(0)


if __name__ == "__main__":
    asyncio.run(main())
