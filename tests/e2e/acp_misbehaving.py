"""An ACP agent that does what it should not. The prompt's first word says what.

`say WORDS` is the one turn that goes well. What it writes to `pids` in its folder are the ids
of the processes it started.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = sys.stdout.buffer
SESSION = "s"


def send(message):
    """One message."""
    OUT.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    OUT.flush()


def said(text):
    """A piece of the answer."""
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    send({"method": "session/update", "params": {"sessionId": SESSION, "update": update}})


def ended(number, reason="end_turn"):
    """The prompt's answer."""
    send({"id": number, "result": {"stopReason": reason}})


def ask(number):
    """A permission, asked under an id of its own."""
    options = [
        {"optionId": "yes", "name": "Allow", "kind": "allow_once"},
        {"optionId": "no", "name": "Reject", "kind": "reject_once"},
    ]
    call = {"toolCallId": f"call-{number}", "title": "Run it", "kind": "execute"}
    params = {"sessionId": SESSION, "toolCall": call, "options": options}
    send({"id": f"ask-{number}", "method": "session/request_permission", "params": params})


def child(*code):
    """A process that outlives whoever does not look after it."""
    started = subprocess.Popen([sys.executable, "-c", "\n".join(code)])
    with Path("pids").open("a") as pids:
        pids.write(f"{started.pid}\n")


def exits(number):
    """It ends in the middle of a turn."""
    said("half of ")
    os._exit(7)


def dies_of_a_signal(number):
    """It is killed."""
    said("half of ")
    os.kill(os.getpid(), signal.SIGKILL)


def closes_its_pipe(number):
    """It says nothing any more and goes on running."""
    said("half of ")
    os.close(1)
    time.sleep(600)


def says_garbage(number):
    """Lines that are no messages."""
    OUT.write(b"\xff\xfe not json\n[1,2\n42\n{}\nnull\n")
    OUT.flush()
    said("in spite of it")
    ended(number)


def half_a_line(number):
    """It ends in the middle of a message."""
    OUT.write(b'{"jsonrpc":"2.0","method":"session/upd')
    OUT.flush()
    os._exit(0)


def answers_twice(number):
    """Two ends of one prompt, of which the first counts."""
    said("once")
    ended(number)
    ended(number, "refusal")
    send({"id": number, "error": {"code": -32000, "message": "and an error"}})


def answers_another(number):
    """The end of a prompt nobody made, then its own."""
    ended(99_999)
    send({"id": "no such", "result": {}})
    said("its own")
    ended(number)


def answers_with_an_error(number):
    """The prompt fails."""
    send({"id": number, "error": {"code": -32603, "message": "the model is away"}})


def answers_nonsense(number):
    """A result of no shape anybody knows."""
    send({"id": number, "result": {"stopReason": 17}})


def speaks_after_the_end(number):
    """Words that come when the turn is over."""
    said("in time")
    ended(number)
    time.sleep(0.5)  # what comes in one breath with the end is of its turn
    said("too late")
    ask(number)


def hangs(number):
    """Nothing, for ever: the stop, too, is not heard."""
    said("and then")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def leaves_a_child(number):
    """A process of its own goes on when it ends, and hears no signal."""
    child("import signal, time", "signal.signal(signal.SIGTERM, signal.SIG_IGN)", "time.sleep(600)")
    said("look after it")
    os._exit(0)


def asks_and_dies(number):
    """Its question is on somebody's screen when it ends."""
    ask(number)
    time.sleep(0.3)
    os._exit(1)


def asks_and_goes_on(number):
    """It ends its turn with its question open."""
    ask(number)
    time.sleep(0.2)
    ended(number)


def floods_its_errors(number):
    """More on stderr than anybody reads."""
    for _ in range(2_000):
        sys.stderr.write("e" * 999 + "\n")
    said("heard")
    ended(number)


def one_line_too_long(number):
    """A message over every limit, between two that are fine."""
    said("before ")
    OUT.write(b'{"jsonrpc":"2.0","method":"session/update","params":{"x":"')
    for _ in range(70):
        OUT.write(b"x" * 1_000_000)
    OUT.write(b'"}}\n')
    said("after")
    ended(number)


DEEDS = {
    deed.__name__: deed
    for deed in (
        exits, dies_of_a_signal, closes_its_pipe, says_garbage, half_a_line, answers_twice,
        answers_another, answers_with_an_error, answers_nonsense, speaks_after_the_end, hangs,
        leaves_a_child, asks_and_dies, asks_and_goes_on, floods_its_errors, one_line_too_long,
    )
}  # fmt: skip


def main():
    """Answer until the end of input."""
    for line in sys.stdin.buffer:
        message = json.loads(line)
        number, method = message.get("id"), message.get("method")
        if method == "initialize":
            capable = {"loadSession": True}
            send({"id": number, "result": {"protocolVersion": 1, "agentCapabilities": capable}})
        elif method == "session/new":
            send({"id": number, "result": {"sessionId": SESSION}})
        elif method == "session/prompt":
            deed, _, words = message["params"]["prompt"][-1]["text"].partition(" ")
            if deed == "say":
                said(words)
                ended(number)
            else:
                DEEDS[deed](number)
        elif number is not None and method is not None:
            send({"id": number, "result": {}})


if __name__ == "__main__":
    main()
