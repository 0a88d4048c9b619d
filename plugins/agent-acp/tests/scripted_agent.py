"""An ACP agent that does what its prompt says: the program of the tests, run by itself.

It speaks over its standard streams and keeps its conversations in the folder of `store`. The
first argument is a JSON object of what it can and how it misbehaves:

    can         its agentCapabilities
    methods     ids of the sign-ins it offers; with `locked` it works after one alone
    modes       ids of its modes; options: its configOptions
    store       the folder of its conversations
    at          {method: what it does in place of an answer}: `hang`, `exit <n>`, `error <code>`;
                `rows` lists conversations that are none
    late        it replays a conversation once it has answered that it was loaded
    deaf        it ignores the end of its input
    version     the protocol version it answers

Each line of a prompt is one act, in order; a word that is no act is said back. The turn ends
`end_turn` unless an act ends it otherwise.
"""

import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

OPTIONS = json.loads(sys.argv[1]) if len(sys.argv) > 1 else {}
CAN = OPTIONS.get("can", {"loadSession": True, "sessionCapabilities": {"close": {}}})
STORE = Path(OPTIONS["store"]) if "store" in OPTIONS else None

ODD_ROWS = [
    5,
    {},
    {"sessionId": ""},
    {"sessionId": "good", "cwd": "/w", "title": "Good", "updatedAt": "0001-01-01T00:00:00+09:00"},
    {"sessionId": "good", "cwd": "/other"},
    {"sessionId": "bare", "cwd": 5, "additionalDirectories": 7, "updatedAt": "yesterday"},
]

incoming = queue.Queue()
sessions = {}
state = {"signed_in": False, "asked": 0, "client": None}
answers = {}


def write(message):
    os_write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")


def os_write(data):
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def read_input():
    for line in sys.stdin.buffer:
        incoming.put(json.loads(line))
    if OPTIONS.get("deaf"):
        signal.pause()
    os._exit(0)


def update(session, kind, **fields):
    params = {"sessionId": session["id"], "update": {"sessionUpdate": kind, **fields}}
    write({"method": "session/update", "params": params})


def say(session, text):
    session["said"].append(text)
    update(session, "agent_message_chunk", content={"type": "text", "text": text})


class Refused(Exception):
    pass


class Cancelled(Exception):
    pass


class Ended(Exception):
    pass


# -- conversations -----------------------------------------------------------------------


def keep(session):
    if STORE is not None:
        STORE.mkdir(exist_ok=True)
        (STORE / f"{session['id']}.json").write_text(json.dumps(session))


def kept(identifier):
    path = STORE / f"{identifier}.json" if STORE is not None else None
    if path is None or not path.exists():
        raise Refused(-32002, f"there is no session {identifier}")
    return json.loads(path.read_text())


def make(params, **fields):
    identifier = f"s{os.getpid()}-{len(sessions) + 1}"
    session = {"id": identifier, "turns": [], "said": [], **fields}
    return open_session(session, params)


def open_session(session, params):
    session.update(
        cwd=params["cwd"],
        servers=params.get("mcpServers"),
        folders=params.get("additionalDirectories"),
        said=[],
    )
    session.setdefault("set", {option["id"]: option["currentValue"] for option in options()})
    session.setdefault("mode", (OPTIONS.get("modes") or [None])[0])
    sessions[session["id"]] = session
    keep(session)
    return session


def options(session=None):
    found = [dict(option) for option in OPTIONS.get("options", [])]
    for option in found:
        if session is not None:
            option["currentValue"] = session["set"][option["id"]]
    return found


def told(session):
    answer = {}
    if OPTIONS.get("modes"):
        answer["modes"] = {
            "currentModeId": session["mode"],
            "availableModes": [{"id": mode, "name": mode.title()} for mode in OPTIONS["modes"]],
        }
    if OPTIONS.get("options"):
        answer["configOptions"] = options(session)
    return answer


def replay(session):
    for turn in session["turns"]:
        content = {"type": "text", "text": turn["asked"]}
        update(session, "user_message_chunk", content=content)
        content = {"type": "text", "text": turn["answered"]}
        update(session, "agent_message_chunk", content=content)


def replay_slowly(session):
    for turn in session["turns"]:
        replay({**session, "turns": [turn]})
        time.sleep(0.1)


# -- methods -----------------------------------------------------------------------------


def initialize(params):
    state["client"] = params
    methods = [{"id": name, "name": name} for name in OPTIONS.get("methods", [])]
    return {
        "protocolVersion": OPTIONS.get("version", 1),
        "agentCapabilities": CAN,
        "authMethods": methods,
        "agentInfo": {"name": "scripted", "version": "9"},
    }


def authenticate(params):
    state["signed_in"] = True
    return {}


def new(params):
    if OPTIONS.get("locked") and not state["signed_in"]:
        raise Refused(-32000, "Authentication required")
    session = make(params)
    commands = [{"name": "review", "description": "Looks at it", "input": {"hint": "what"}}]
    update(session, "available_commands_update", availableCommands=commands)
    return {"sessionId": session["id"], **told(session)}


def load(params):
    session = open_session(kept(params["sessionId"]), params)
    if OPTIONS.get("late"):
        threading.Timer(0.1, replay_slowly, [session]).start()
    else:
        replay(session)
    return told(session)


def resume(params):
    return told(open_session(kept(params["sessionId"]), params))


def fork(params):
    source = kept(params["sessionId"])
    session = make(params, turns=source["turns"], forked=source["id"])
    return {"sessionId": session["id"], **told(session)}


def listed(params):
    found = sorted(STORE.glob("*.json")) if STORE is not None and STORE.exists() else []
    at, size = int(params.get("cursor") or 0), OPTIONS.get("page", 2)
    page = [json.loads(path.read_text()) for path in found[at : at + size]]
    rows = [
        {"sessionId": one["id"], "cwd": one["cwd"], "updatedAt": "2026-03-04T05:06:07Z"}
        for one in page
    ]
    more = {"nextCursor": str(at + size)} if at + size < len(found) else {}
    return {"sessions": rows, **more}


def close(params):
    sessions.pop(params["sessionId"], None)
    if STORE is not None:
        (STORE / f"{params['sessionId']}.closed").write_text("")
    return {}


def delete(params):
    kept(params["sessionId"])
    (STORE / f"{params['sessionId']}.json").unlink()
    return {}


def set_mode(params):
    sessions[params["sessionId"]]["mode"] = params["modeId"]
    return {}


def set_option(params):
    session = sessions[params["sessionId"]]
    session["set"][params["configId"]] = params["value"]
    return {"configOptions": options(session)}


def prompt(params, identifier):
    session = sessions[params["sessionId"]]
    text = "\n".join(block.get("text", "") for block in params["prompt"])
    session["said"] = []
    session["blocks"] = params["prompt"]
    reason = "end_turn"
    try:
        for line in text.split("\n"):
            act(session, line, identifier)
    except Cancelled:
        reason = "cancelled"
    except Ended as ended:
        reason = ended.args[0]
    session["turns"].append({"asked": text, "answered": "".join(session["said"])})
    keep(session)
    return {"stopReason": reason, **session.pop("more", {})}


METHODS = {
    "initialize": initialize,
    "authenticate": authenticate,
    "session/new": new,
    "session/load": load,
    "session/resume": resume,
    "session/fork": fork,
    "session/list": listed,
    "session/close": close,
    "session/delete": delete,
    "session/set_mode": set_mode,
    "session/set_config_option": set_option,
}


# -- acts --------------------------------------------------------------------------------


def pause(session, seconds, deaf=False):
    """Wait; a cancel of the turn ends it, and what else comes is kept for later."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            message = incoming.get(timeout=left)
        except queue.Empty:
            return
        heed(message, deaf)


def heed(message, deaf=False):
    if message.get("method") == "session/cancel":
        if not deaf:
            raise Cancelled
    elif message.get("method") == "$/cancel_request":
        answers["cancelled"] = message["params"]["requestId"]
        if not deaf:
            raise Cancelled
    elif "method" not in message:
        answers[message["id"]] = message
    elif "id" in message:
        handle(message)


def ask(method, params):
    state["asked"] += 1
    identifier = f"a{state['asked']}"
    write({"id": identifier, "method": method, "params": params})
    return identifier


def answer_to(identifier):
    while identifier not in answers:
        heed(incoming.get())
    message = answers.pop(identifier)
    return message["result"] if "result" in message else message["error"]


def act(session, line, identifier):
    word, _, rest = line.partition(" ")
    acts = {
        "endless": lambda: endless(session),
        "ignore-cancel": lambda: endless(session, deaf=True),
        "hang": lambda: pause(session, 1e6, deaf=True),
        "exit": lambda: fall(rest),
        "close-stdout": lambda: (os.close(1), signal.pause()),
        "garbage": lambda: os_write(b"npm warn something\n\xff\xfe\n[1,2]\n{}\n"),
        "batch": lambda: os_write(b'[{"jsonrpc":"2.0","id":7,"method":"x"}]\n'),
        "wrong-id": lambda: [write({"id": one, "result": {}}) for one in (9999, "no", None)],
        "huge": lambda: say(session, "x" * int(rest)),
        "over": lambda: over(session, int(rest)),
        "over-answer": lambda: os_write(
            b'{"jsonrpc":"2.0","id":%d,"result":{"t":"%b"}}\n' % (identifier, b"x" * int(rest))
        ),
        "over-nameless": lambda: os_write(
            b'{"jsonrpc":"2.0","result":{"t":"%b"},"id":%d}\n' % (b"x" * int(rest), identifier)
        ),
        "flood": lambda: [say(session, f"{n} ") for n in range(int(rest))],
        "late": lambda: session.update(late=rest),
        "twice": lambda: write({"id": identifier, "result": {"stopReason": "end_turn"}}),
        "stop": lambda: end(rest),
        "error": lambda: refuse(rest),
        "permission": lambda: say(session, json.dumps(permission(session))),
        "permission-late": lambda: permission(session),
        "unknown": lambda: say(session, json.dumps(answer_to(ask("no/such", {})))),
        "notify": lambda: write({"method": rest, "params": {}}),
        "taken-back": lambda: say(session, json.dumps(taken_back(session))),
        "env": lambda: say(session, os.environ.get(rest, "(unset)")),
        "told": lambda: say(session, json.dumps(session.get(rest))),
        "client": lambda: say(session, json.dumps(state["client"])),
        "pid": lambda: say(session, str(os.getpid())),
        "count": lambda: say(session, str(len(session["turns"]))),
        "child": lambda: child(session),
        "stderr": lambda: print(rest, file=sys.stderr, flush=True),
        "usage": lambda: session.update(more={"usage": json.loads(rest)}),
        "update": lambda: update(session, **json.loads(rest)),
        "mode": lambda: switch(session, rest),
        "same-id": lambda: same_id(session),
    }
    if word in acts:
        acts[word]()
    elif line:
        say(session, line)


def endless(session, deaf=False):
    while True:
        say(session, "tick ")
        pause(session, 0.01, deaf)


def fall(rest):
    code, _, words = rest.partition(" ")
    if words:
        print(words, file=sys.stderr, flush=True)
    os._exit(int(code))


def over(session, size):
    params = b'{"sessionId":"%b","update":{"t":"%b"}}' % (session["id"].encode(), b"x" * size)
    os_write(b'{"jsonrpc":"2.0","method":"session/update","params":%b}\n' % params)


def end(reason):
    raise Ended(reason)


def refuse(rest):
    code, _, words = rest.partition(" ")
    raise Refused(int(code), words)


def permission(session):
    call = {"toolCallId": f"c{len(session['said'])}-{len(session['turns'])}", "title": "Do it"}
    choices = [
        {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
        {"optionId": "no", "name": "No", "kind": "reject_once"},
    ]
    params = {"sessionId": session["id"], "toolCall": call, "options": choices}
    return answer_to(ask("session/request_permission", params))


def taken_back(session):
    call = {"toolCallId": "taken", "title": "Do it"}
    params = {"sessionId": session["id"], "toolCall": call, "options": []}
    identifier = ask("session/request_permission", params)
    write({"method": "$/cancel_request", "params": {"requestId": identifier}})
    return answer_to(identifier)


def same_id(session):
    for _ in range(2):
        call = {"toolCallId": "same", "title": "Do it"}
        params = {"sessionId": session["id"], "toolCall": call, "options": []}
        write({"id": "same", "method": "session/request_permission", "params": params})
    say(session, json.dumps(answer_to("same")))


def child(session):
    left = subprocess.Popen(["sleep", "1000"], stdout=subprocess.DEVNULL)
    say(session, str(left.pid))


def switch(session, mode):
    session["mode"] = mode
    update(session, "current_mode_update", currentModeId=mode)


# -- the program ---------------------------------------------------------------------------


def handle(message):
    method, identifier = message["method"], message.get("id")
    misdeed = OPTIONS.get("at", {}).get(method, "")
    if misdeed == "hang":
        return
    if misdeed.startswith("exit"):
        fall(misdeed.partition(" ")[2])
    try:
        if misdeed == "rows":
            result = {"sessions": ODD_ROWS}
            write({"id": identifier, "result": result})
            return
        if misdeed.startswith("error"):
            refuse(misdeed.partition(" ")[2])
        if method == "session/prompt":
            result = prompt(message["params"], identifier)
        elif method in METHODS:
            result = METHODS[method](message["params"])
        else:
            raise Refused(-32601, f"Method not found: {method}")
    except Refused as refused:
        code, words = refused.args
        write({"id": identifier, "error": {"code": code, "message": words}})
        return
    late = b""
    if method == "session/prompt":
        session = sessions[message["params"]["sessionId"]]
        if "late" in session:
            content = {"type": "text", "text": session.pop("late")}
            said = {"sessionUpdate": "agent_message_chunk", "content": content}
            params = {"sessionId": session["id"], "update": said}
            late = json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": params})
            late = late.encode() + b"\n"
    answer = json.dumps({"jsonrpc": "2.0", "id": identifier, "result": result}).encode() + b"\n"
    os_write(answer + late)


threading.Thread(target=read_input, daemon=True).start()
while True:
    message = incoming.get()
    try:
        if "id" in message and "method" in message:
            handle(message)
    except Cancelled:
        pass
