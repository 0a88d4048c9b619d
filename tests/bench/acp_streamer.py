"""An ACP agent that says prebuilt chunks as fast as its pipe takes them.

A prompt of `burst:N` is answered with N chunks of about five characters; they are made ahead
where N is the program's argument.
"""

import json
import sys
import time


def chunk(session: str, text: str) -> bytes:
    """One update."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    params = {"sessionId": session, "update": update}
    message = {"jsonrpc": "2.0", "method": "session/update", "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def burst(session: str, tokens: int) -> bytes:
    """That many chunks."""
    return b"".join(chunk(session, f"t{number % 1000:03d} ") for number in range(tokens))


def paced(session: str, rate: int, tokens: int) -> None:
    """That many at that rate, each stamped with the moment it was written."""
    due = time.monotonic()
    for _ in range(tokens):
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        sys.stdout.buffer.write(chunk(session, f"@{time.monotonic_ns()}@"))
        sys.stdout.buffer.flush()


def main() -> None:
    """Answer requests until the end of input; `--bare N` writes one burst and ends."""
    out = sys.stdout.buffer
    if sys.argv[1] == "--bare":
        out.write(burst("s", int(sys.argv[2])))
        return
    ahead = {sys.argv[1]: burst("s", int(sys.argv[1]))}
    for line in sys.stdin.buffer:
        message = json.loads(line)
        method, result = message.get("method"), {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {}, "authMethods": []}
        elif method == "session/new":
            result = {"sessionId": "s"}
        elif method == "session/prompt":
            kind, *numbers = message["params"]["prompt"][-1]["text"].split()[-1].split(":")
            if kind == "burst":
                out.write(ahead.get(numbers[0]) or burst("s", int(numbers[0])))
            else:
                paced("s", int(numbers[0]), int(numbers[1]))
            result = {"stopReason": "end_turn"}
        if "id" in message:
            answer = {"jsonrpc": "2.0", "id": message["id"], "result": result}
            out.write(json.dumps(answer).encode() + b"\n")
            out.flush()


if __name__ == "__main__":
    main()
