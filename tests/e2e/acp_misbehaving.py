"""An ACP agent that does what it should not. The prompt's first word says what.

`say WORDS` is the one turn that goes well. What it writes to `pids` in its folder are the ids
of the processes it started, `ran` holds what it was allowed to do, and `outcomes` what became
of what it asked.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

OUT = sys.stdout.buffer
SESSION = "s"
HOME = Path.cwd()
DEAF = "import signal, time\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\ntime.sleep(600)"


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


def note(name, line):
    """A line for the test, in its folder."""
    with (HOME / name).open("a") as file:
        file.write(f"{line}\n")


def child(code=DEAF, **how):
    """A process that outlives whoever does not look after it."""
    started = subprocess.Popen([sys.executable, "-c", code], **how)
    note("pids", started.pid)


def heard(wanted):
    """The next message that is `wanted`; the others are lost. None at the end of input."""
    for line in iter(sys.stdin.buffer.readline, b""):
        message = json.loads(line)
        if wanted(message):
            return message
    return None


def answer_to(number):
    """What became of a permission that was asked for `number`."""
    return heard(lambda message: message.get("id") == f"ask-{number}" and "method" not in message)


def stop_of(number):
    """The host has taken the turn back."""
    return heard(lambda message: message.get("method") == "session/cancel")


def chosen(answer):
    """The option that was picked; `cancelled` where none was."""
    outcome = (answer or {}).get("result", {}).get("outcome", {})
    return outcome.get("optionId", outcome.get("outcome", "nothing"))


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
    note("outcomes", chosen(answer_to(number)))


def hangs(number):
    """Nothing, for ever: the stop, too, is not heard."""
    said("and then")
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(600)


def leaves_a_child(number):
    """A process of its own goes on when it ends, and hears no signal."""
    child()
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


def leaves_one_of_another_session(number):
    """What it leaves leads a session and a group of its own, and is nobody's child."""
    code = f"import subprocess, sys\nprint(subprocess.Popen([sys.executable, '-c', {DEAF!r}]"
    code += ", start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).pid)"
    started = subprocess.run(
        [sys.executable, "-c", code], start_new_session=True, capture_output=True, check=True
    )
    note("pids", int(started.stdout))
    said("find it")
    ended(number)


def hears_nothing(number):
    """No signal and no end of input ends it."""
    for each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE):
        signal.signal(each, signal.SIG_IGN)
    note("pids", os.getpid())
    said("and on")
    while True:
        time.sleep(600)


def answers_late_after_a_stop(number):
    """It ends the turn long after it was stopped, and has more to say before."""
    said("before ")
    stop_of(number)
    time.sleep(0.7)
    said("after")
    ended(number, "cancelled")


def asks_while_it_is_stopped(number):
    """The stop has it ask for more."""
    said("before ")
    stop_of(number)
    ask(number)
    answer = chosen(answer_to(number))
    note("outcomes", answer)
    if answer == "yes":
        note("ran", number)
    ended(number, "cancelled")


def runs_if_allowed(number):
    """It does what it was allowed, and nothing else."""
    ask(number)
    answer = chosen(answer_to(number))
    note("outcomes", answer)
    if answer == "yes":
        note("ran", number)
    said(answer)
    ended(number)


def pours(number):
    """More than anybody reads, as fast as it is taken."""
    said("begun ")
    for at in range(200_000):
        said("." * 1000)
        if at % 1000 == 0:
            (HOME / "poured").write_text(str(at * 1000))
    ended(number)


def closes_its_ear(number):
    """It hears nothing more and lives on."""
    said("heard")
    ended(number)
    os.close(0)
    note("pids", os.getpid())
    time.sleep(600)


def goes_elsewhere(number):
    """Its folder is another one, and its name that of somebody else."""
    os.chdir("/")
    ctypes.CDLL(None).prctl(15, b"kworker/0:1", 0, 0, 0)
    child()
    said("elsewhere")
    ended(number)


def forgets_who_started_it(number):
    """What it leaves has nothing in its environment that says whose it is."""
    child(env={}, start_new_session=True)
    said("a stranger")
    ended(number)


DEEDS = {
    deed.__name__: deed
    for deed in (
        exits, dies_of_a_signal, closes_its_pipe, says_garbage, half_a_line, answers_twice,
        answers_another, answers_with_an_error, answers_nonsense, speaks_after_the_end, hangs,
        leaves_a_child, asks_and_dies, asks_and_goes_on, floods_its_errors, one_line_too_long,
        leaves_one_of_another_session, hears_nothing, answers_late_after_a_stop,
        asks_while_it_is_stopped, runs_if_allowed, pours, closes_its_ear, goes_elsewhere,
        forgets_who_started_it,
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
