"""Messages a client may send, made from what the protocol declares, and bad copies of them."""

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS

from .names import CHANNELS, FILES, HOMES, ODD_URIS, RUDE_WATCH
from .values import TOKENS, Maker, Token, broken, nested, text_of

CLIENT_ACTIONS = [spec for spec in ACTIONS.values() if spec.client_dispatchable]
HOST_ACTIONS = [spec for spec in ACTIONS.values() if not spec.client_dispatchable]
#: The commands this host serves so far.
SERVED = {
    "initialize", "ping", "reconnect", "subscribe", "authenticate", "createSession",
    "disposeSession", "createChat",
    "disposeChat", "listSessions", "fetchTurns", "resolveSessionConfig",
    "completions", "moveChat", "sessionConfigCompletions", "createTerminal", "disposeTerminal",
    "resourceRead", "resourceList", "resourceResolve", "resourceWrite", "resourceDelete",
    "resourceMkdir", "resourceMove", "resourceCopy", "resourceRequest", "createResourceWatch",
    "listAutomationTriggerDefinitions",
}  # fmt: skip
#: What is asked of which kinds of channel.
_KINDS = {
    "subscribe": list(HOMES),
    "unsubscribe": list(HOMES),
    "createSession": ["session"],
    "disposeSession": ["session"],
    "createChat": ["session"],
    "disposeChat": ["chat"],
    "moveChat": ["chat"],
    "fetchTurns": ["chat"],
    "completions": ["session", "chat"],
    "createTerminal": ["terminal"],
    "disposeTerminal": ["terminal"],
}
_LIVELY = [
    ACTIONS[name]
    for name in [
        "root/configChanged",
        "session/titleChanged",
        "session/isReadChanged",
        "session/isArchivedChanged",
        "session/activeClientSet",
        "session/configChanged",
        "annotations/set",
        "annotations/updated",
        "annotations/entrySet",
        *["chat/turnStarted"] * 4,
        *["chat/turnCancelled"] * 2,
        *["chat/pendingMessageSet"] * 3,
        "chat/pendingMessageRemoved",
        "chat/queuedMessagesReordered",
        "chat/draftChanged",
        "chat/isReadChanged",
        "chat/isArchivedChanged",
        "chat/inputAnswerChanged",
        "chat/truncated",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "terminal/input",
        "terminal/resized",
        "terminal/claimed",
        "terminal/titleChanged",
        "terminal/cleared",
    ]
]
#: Beside AHP's own: a name of an extension, the host's own, and none at all.
STRANGE_METHODS = [
    "", "x-unknown", "vscode/unknown", "rpc.discover", "INITIALIZE", "initialize ", "ping\x00",
    "action", "root/sessionAdded", "__class__", "shutdown", "é" * 2000,
]  # fmt: skip


def call(method, params, identifier=None):
    """A request, or a notification where no id is given."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if identifier is not None:
        message["id"] = identifier
    return message


def params_of(method, random):
    """Params of a method as they are declared; the channel is often one that exists."""
    spec = COMMANDS.get(method) or NOTIFICATIONS[method]
    if method == "dispatchAction":
        return dispatch_of(any_action(random), random)
    params = Maker(random).made(spec.params)
    literal = getattr(spec, "channel", None)
    roll = random.random()
    if roll < 0.8 and literal is not None:
        params["channel"] = literal
    elif roll < 0.8 and method in _KINDS:
        params["channel"] = random.choice(HOMES[random.choice(_KINDS[method])])
    elif roll > 0.95:
        params["channel"] = random.choice(ODD_URIS)
    return params


def any_action(random):
    """A type of action: mostly one that this host may act on."""
    roll = random.random()
    return random.choice(_LIVELY if roll < 0.8 else CLIENT_ACTIONS if roll < 0.9 else HOST_ACTIONS)


def dispatch_of(spec, random):
    """The params of a dispatch of one type of action, mostly where actions of it belong."""
    roll = random.random()
    home = HOMES.get(spec.kind.value, CHANNELS)
    return {
        "channel": random.choice(home if roll < 0.8 else CHANNELS if roll < 0.95 else ODD_URIS),
        "clientSeq": random.choice([1, 2, 3, 3, 0, -1, 2.5, 2**60]),
        "action": Maker(random).made(spec.shape),
    }


def said_of(random):
    """The params of an `action` of a client's: a batch of the watch the host asked it for."""
    kinds = ["added", "updated", "deleted", "renamed"]
    items = [
        {"uri": random.choice([*FILES, "mem:/a/b"]), "type": random.choice(kinds)}
        for _ in range(random.randrange(3))
    ]
    params = {
        "channel": random.choice([RUDE_WATCH] * 4 + CHANNELS),
        "serverSeq": random.choice([1, 2, 2, 0, -1, 2.5, 2**60]),
        "action": {"type": "resourceWatch/changed", "changes": {"items": items}},
    }
    return broken(params, random) if random.random() < 0.4 else params


def any_message(random):
    """A message a client could send, of any kind."""
    kind = random.choice(["request"] * 4 + ["dispatch"] * 6 + ["unsubscribe", "response", "said"])
    if kind == "request":
        method = random.choice(sorted(SERVED) if random.random() < 0.9 else list(COMMANDS))
        if method.startswith("dispose") and random.random() < 0.7:
            method = method.replace("dispose", "create")
        return call(method, params_of(method, random), random.choice([1, "a", 2.5, -7, 0, ""]))
    if kind == "said":
        return call("action", said_of(random))
    if kind == "response":
        answer = random.choice([{"result": None}, {"error": {"code": 1, "message": "m"}}])
        return {"jsonrpc": "2.0", "id": random.choice([1, "a", 1.5]), **answer}
    method = "unsubscribe" if kind == "unsubscribe" else "dispatchAction"
    return call(method, params_of(method, random))


_IDS = [
    0, -1, -0.0, 1.5, 2**53 + 1, 2**64, -(2**70), 10**400, 1e308, 5e-324, "", "1", "x" * 2000, "\x00",
    None, True, [], [1], {}, {"id": 1}, *TOKENS,
]  # fmt: skip
_VERSIONS = [None, "", "1.0", "2.1", 2, 2.0, "2.0 ", ["2.0"], True]


def bent_message(random):
    """A message whose envelope is wrong or odd: its id, its version, its members."""
    message = any_message(random)
    for _ in range(random.choice([1, 1, 2])):
        change = random.choice(["id", "id", "version", "drop", "params", "method", "both", "deep"])
        if change == "id":
            message["id"] = random.choice(_IDS)
        elif change == "version":
            message["jsonrpc"] = random.choice(_VERSIONS)
        elif change == "drop":
            message.pop(random.choice(list(message)), None)
        elif change == "params":
            message["params"] = random.choice([None, [], [1], "x", 1, {}, *TOKENS])
        elif change == "method":
            message["method"] = random.choice([None, 1, [], {}, *STRANGE_METHODS])
        elif change == "both":
            message |= {"result": {}, "error": {"code": "x"}}
        else:
            depth = random.choice([100, 190, 197, 198, 199, 200, 201, 400])
            message["params"] = {"channel": "ahp-root://", "deep": Token(nested(depth))}
    return message


def bent_bytes(data, random):
    """The bytes of a frame after an accident, or after somebody meant harm."""
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 3])):
        at = random.randrange(len(data) + 1)
        end = min(len(data), at + random.choice([1, 1, 5, 40]))
        change = random.choice(
            ["cut", "flip", "insert", "delete", "double", "bom", "nul", "twice", "space", "swap"]
        )
        if change == "cut":
            del data[at:]
        elif change == "flip" and at < len(data):
            data[at] ^= 1 << random.randrange(8)
        elif change == "insert":
            data[at:at] = random.choice(_PIECES)
        elif change == "delete":
            del data[at:end]
        elif change == "double":
            data[at:at] = data[at:end]
        elif change == "bom":
            data[:0] = b"\xef\xbb\xbf"
        elif change == "nul":
            data += b"\x00"
        elif change == "twice":
            data += bytes(data)
        elif change == "space":
            data[:0] = b" \t\r\n"
        else:
            data[at:end] = random.randbytes(end - at)
    return bytes(data)


_PIECES = [
    b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x80\xa8", b"\x00", b'"', b"\\", b"{",
    b"}", b"[", b",", b":", b"\\u", b"\\ud800", b"\\udc00", b"1e999", b"null", b"-", b"\x1f", b"\x7f",
    b'"id":null,', b'"id":7,', b'"method":"ping",', b'"jsonrpc":"1.0",', b'"channel":1,', b"," * 50,
]  # fmt: skip


def any_frame(random):
    """Bytes of any kind a peer might be sent as one frame."""
    kind = random.randrange(10)
    if kind == 0:
        return random.randbytes(random.choice([0, 1, 2, 10, 100, 1000]))
    if kind == 1:
        return text_of(broken([any_message(random)], random)).encode(errors="surrogatepass")
    if kind == 2:
        return text_of(random.choice(TOKENS)).encode()
    if kind < 6:
        return text_of(bent_message(random)).encode(errors="surrogatepass")
    if kind == 6:
        return doubled_keys(any_message(random), random)
    if kind == 7:
        return text_of(broken(any_message(random), random, 2)).encode(errors="surrogatepass")
    return bent_bytes(text_of(any_message(random)).encode(), random)


def doubled_keys(message, random):
    """A message that says one of its members twice."""
    first, second = any_message(random), message
    text, other = text_of(first), text_of(second)
    return f"{text[:-1]},{other[1:]}".encode()
