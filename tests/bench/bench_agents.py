"""(l) Real agents: tokens through one to a client, the first of them, and fifty at once.

The agents are the two that are shipped: one over an OpenAI-compatible endpoint, which is a
local server of prebuilt tokens, and one over ACP, a program that says prebuilt chunks. The
daemon runs as its users have it, with its own `deltaWindowMs`; its client is one blocking
socket that reads every frame.

`bare` reads the same bytes without a host (`bare_reader.py`): a program on Twisted that reads the
endpoint through treq, or the pipe through a process protocol, and splits and decodes each event
or line. Both are timed from the request to the end. `first` is the time from
the moment the agent's first token was written to the moment its client has the delta, less
`deltaWindowMs`. `fifty` starts as many turns together, each at its own pace, and looks at how
evenly they went on: the longest time any chat waited between two of its deltas, and how long
the slowest took against the fastest.
"""

import contextlib
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from host import Client, Host, dispatched, home, listening, turn_started
from processes import HERE, cpu_seconds, program
from report import Bound, Figure, NotMeasured, Skipped, ratio_of_rounds

NAME = "agents"
TITLE = "(l) real agents: tokens to a client, the first one, and fifty at once"
TOKENS = 40_000
ROUNDS = 5
FIRSTS = 30
#: What `deltaWindowMs` is where nobody says otherwise.
WINDOW_MS = 75.0
RATE_BOUND = Bound(0.7, at_least=True)
FIRST_BOUND = Bound(5.0)
FIFTY = 50
#: The longest a chat may wait between two deltas, over what its pace and the window explain.
STARVED_BOUND = Bound(1_000.0)
COMMAND = (sys.executable, "-m", "ahpd", "--port", "0", "--without-connection-token")


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """Both agents' rates and first tokens, then fifty streams."""
    tokens, rounds = (TOKENS // 4, 3) if quick else (TOKENS, ROUNDS)
    firsts = FIRSTS // 3 if quick else FIRSTS
    return [
        partial(_rate, "openai", tokens, rounds),
        partial(_rate, "acp", tokens, rounds),
        partial(_first, "openai", firsts),
        partial(_first, "acp", firsts),
        partial(_fifty, 100 if quick else 400),
    ]


@contextlib.contextmanager
def serving(ahead: int = 1) -> Iterator[tuple[Host, int]]:
    """A daemon with both agents, and the port of the endpoint one of them uses.

    `ahead` is how many tokens the program has ready when it is asked for so many.
    """
    with contextlib.ExitStack() as stack:
        tokens = stack.enter_context(program([sys.executable, str(HERE / "token_server.py")]))
        port = int(tokens.line(20))
        env = stack.enter_context(home())
        folder = Path(env["XDG_CONFIG_HOME"]) / "ahpd"
        folder.mkdir(mode=0o700)
        (folder / "config.json").write_text(json.dumps(configuration(port, ahead)))
        running = stack.enter_context(program(COMMAND, env, cwd=Path(env["HOME"])))
        yield Host(running, listening(running)), port


def configuration(port: int, ahead: int) -> dict[str, Any]:
    """The daemon's configuration file."""
    endpoint = {"baseUrl": f"http://127.0.0.1:{port}/v1", "model": "tokens", "apiKey": "none"}
    streamer = {"command": sys.executable, "args": [str(HERE / "acp_streamer.py"), str(ahead)]}
    return {
        "agents": [
            {"id": "openai", "engine": "openai", "name": "Tokens", "config": endpoint},
            {"id": "acp", "engine": "acp", "name": "Chunks", "config": streamer},
        ]
    }


def connected(host: Host, provider: str) -> tuple[Client, str]:
    """A client that watches a new chat of that agent."""
    client = Client(host.address)
    try:
        chat = client.new_chat(provider)
    except NotMeasured as failed:
        raise Skipped(f"the agent {provider} is not served: {failed}") from None
    client.request("subscribe", {"channel": chat})
    return client, chat


# -- the rate -----------------------------------------------------------------------


def _rate(provider: str, tokens: int, rounds: int) -> list[Figure]:
    """Tokens a second to a client, against the same stream read bare."""
    ours, theirs, cpu = [], [], []
    with serving(tokens) as (host, port):
        for _ in range(rounds):
            # A chat of its own, so that no answer is part of the next request.
            client, chat = connected(host, provider)
            through(client, chat, "burst:100")  # starts the agent's program
            before = cpu_seconds(host.pid)
            ours.append(tokens / through(client, chat, f"burst:{tokens}", tokens * 5))
            cpu.append((cpu_seconds(host.pid) - before) / tokens * 1e6)
            client.close()
            words = ("http", str(port)) if provider == "openai" else ("pipe",)
            theirs.append(tokens / bare(*words, str(tokens), characters=tokens * 5))
    value, ratios = ratio_of_rounds(ours, theirs)
    raw = {
        "tokens/s": statistics.median(ours),
        "bare tokens/s": statistics.median(theirs),
        "host CPU µs a token": statistics.median(cpu),
    }
    return [Figure(NAME, f"{provider}: {tokens:,} tokens", value, "x", RATE_BOUND, ratios, raw)]


def through(client: Client, chat: str, text: str, characters: int | None = None) -> float:
    """Seconds from a turn's start to its end; that all of it came is checked."""
    began = time.perf_counter()
    client.start_turn(chat, text)
    seen = 0
    while True:
        message = msgspec.json.decode(client.message())
        if message.get("method") != "action":
            continue
        action = message["params"]["action"]
        kind = action["type"]
        if kind == "chat/delta":
            seen += len(action["content"])
        elif kind == "chat/responsePart" and action["part"]["kind"] == "markdown":
            seen += len(action["part"]["content"])
        elif kind == "chat/turnComplete":
            break
        elif kind == "chat/error":
            raise NotMeasured(f"the turn failed: {action}")
    if characters is not None and seen != characters:
        raise NotMeasured(f"{seen} characters came, {characters} were sent")
    return time.perf_counter() - began


def bare(*words: str, characters: int) -> float:
    """Seconds that `bare_reader.py` took; that all of it came is checked."""
    command = [sys.executable, str(HERE / "bare_reader.py"), *words]
    with program(command) as reader:
        seconds, seen = reader.line(120).split()
    if int(seen) != characters:
        raise NotMeasured(f"{seen} characters came, {characters} were sent")
    return float(seconds)


# -- the first token ----------------------------------------------------------------


def _first(provider: str, turns: int) -> list[Figure]:
    """Milliseconds from the first token's writing to its delta's reading, less the window."""
    waits = []
    with serving() as (host, _):
        client, chat = connected(host, provider)
        through(client, chat, "burst:100")
        for _ in range(turns):
            client.start_turn(chat, "paced:200:3")
            waits.append(first_delta(client) - WINDOW_MS)
            client.until("chat/turnComplete")
        client.close()
    raw = {"worst ms": max(waits)}
    value = statistics.median(waits)
    name = f"{provider}: first token, beyond the window"
    return [Figure(NAME, name, value, "ms", FIRST_BOUND, waits, raw)]


def first_delta(client: Client) -> float:
    """Milliseconds since the first token that is read was written."""
    while True:
        message = msgspec.json.decode(client.message())
        now = time.monotonic_ns()
        if message.get("method") != "action":
            continue
        action = message["params"]["action"]
        content = action.get("content") or action.get("part", {}).get("content") or ""
        if "@" in content:
            return (now - int(content.split("@")[1])) / 1e6


# -- fifty at once ------------------------------------------------------------------


def _fifty(tokens: int) -> list[Figure]:
    """How evenly fifty chats go on that stream at once."""
    rate = 50
    with serving() as (host, _):
        client = Client(host.address)
        chats = []
        for number in range(FIFTY):
            try:
                chats.append(client.new_chat("openai" if number % 2 else "acp"))
            except NotMeasured as failed:
                raise Skipped(f"the agents are not served: {failed}") from None
        for chat in chats:
            client.request("subscribe", {"channel": chat})
        before = cpu_seconds(host.pid)
        took, gaps = together(client, chats, f"paced:{rate}:{tokens}")
        cpu = cpu_seconds(host.pid) - before
        client.close()
    worst = max(max(times) for times in gaps.values())
    return [
        Figure(
            NAME,
            f"{FIFTY} chats: longest wait between two deltas",
            worst - 1000 / rate - WINDOW_MS,
            "ms",
            STARVED_BOUND,
            raw={
                "slowest/fastest": max(took.values()) / min(took.values()),
                "median wait ms": statistics.median(t for times in gaps.values() for t in times),
                "host CPU s": cpu,
            },
        )
    ]


def together(
    client: Client, chats: Sequence[str], text: str
) -> tuple[dict[str, float], dict[str, list[float]]]:
    """Start a turn in each chat; the seconds each took, and the ms between its deltas."""
    began = time.perf_counter()
    for number, chat in enumerate(chats):
        client.send(dispatched(chat, turn_started(text), number + 1))
    last: dict[str, float] = {}
    took: dict[str, float] = {}
    gaps: dict[str, list[float]] = {chat: [] for chat in chats}
    while len(took) < len(chats):
        message = msgspec.json.decode(client.message())
        now = time.perf_counter()
        if message.get("method") != "action":
            continue
        chat, action = message["params"]["channel"], message["params"]["action"]
        if action["type"] == "chat/delta":
            if chat in last:
                gaps[chat].append((now - last[chat]) * 1000)
            last[chat] = now
        elif action["type"] == "chat/turnComplete":
            took[chat] = now - began
        elif action["type"] == "chat/error":
            raise NotMeasured(f"the turn failed: {action}")
    return took, gaps
