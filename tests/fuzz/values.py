"""Values made from the declared shapes, and the ways in which they are then broken.

`Maker` makes what fits a shape, out of words that mean something to the host where a key
has such words; `broken` breaks a value somewhere; `text_of` writes it as JSON, in which a
`Token` stands for text no encoder would write.
"""

import copy
import json
from typing import Any, get_args, get_origin

from ahpd.protocol.shapes.notation import Minimum, OncePerKind
from ahpd.protocol.shapes.reading import (
    fields_of,
    is_literal,
    is_object,
    is_union,
    members_of,
    split_annotated,
)
from ahpd.protocol.uris import default_chat

from .names import CHANNELS, EXTRA, FILES, GONE, ODD_URIS, ONE, TWO

DEEP = 4

_TIMES = ["2026-01-01T00:00:00.000Z", "2026-01-01T00:00:00+02:00"]
_TURNS = ["t-done", "t-run", *(f"t-{number}" for number in range(8)), "nothing"]
_MESSAGES = ["q-1", "q-2", "nothing"]
_TEXTS = ["hello", "wait", "fail", "tool", "slow", "!ls", "!", "", " ", "\x00\x1b[2J", "é" * 300]

#: What a string under a key is likely to be, so that the host finds something by it.
_WORDS_BY_KEY = {
    "channel": CHANNELS,
    "session": [ONE, TWO, GONE],
    "chat": ["ahp-chat:/fresh", "ahp-chat:/fresher", EXTRA, "ahp-chat:/id-2", default_chat(TWO)],
    "resource": CHANNELS,
    "uri": ["file:///tmp", ONE, *FILES],
    "source": FILES,
    "destination": FILES,
    "cwd": ["file:///", "file:///nowhere", "http://x/", "/", ""],
    "data": ["hello", "aGVsbG8=", "", "\x03", "exit\r", "é" * 300, "\x1b[6n"],
    "ifMatch": ["", "1", "nothing"],
    "items": ["**/*.py", "er", "*", "[", "", "../**", "{a,b}"],
    "workingDirectory": ["file:///tmp", "file:///", "http://x/"],
    "turnId": _TURNS,
    "queuedMessageId": _MESSAGES,
    "toolCallId": ["call-1", "nothing"],
    "partId": ["p-1", "nothing"],
    "annotationId": ["a-1", "nothing"],
    "entryId": ["e-1", "nothing"],
    "id": [*_MESSAGES, "a-1", "e-1", "x"],
    "clientId": ["fuzz-1", "fuzz-2", "healthy", "nobody"],
    "startedAt": _TIMES,
    "timestamp": _TIMES,
    "createdAt": _TIMES,
    "cursor": ["before:t-done", "before:nothing", "before:", "1:2:3", "nan:nan:nan"],
    "provider": ["scripted", "nobody"],
    "text": _TEXTS,
    "title": ["A title", "", "  "],
    "locale": ["de-CH", "en"],
    "order": _MESSAGES,
    "protocolVersions": ["1.0.0", "0.10.0", "0.9.0", "0.1.0", "2.0.0"],
    "subscriptions": CHANNELS,
    "initialSubscriptions": CHANNELS,
    "workingDirectories": ["file:///tmp", "file:///", "http://x/"],
}
#: Keys of open maps this host acts on.
_MAP_KEYS = ["clientQueueBytes", "replayBytes", "approvals", "ahpd.locale", "a", "b c", ""]
_PLAIN_WORDS = ["", "a", "b c", "session", "é", "t-run", "q-1"]

#: Numbers at the ends of what JSON, floats and clocks can say.
EXTREMES = [10**400, -(10**400), 2**64, 2**63, -(2**63), 1e308, -1e308, 5e-324, -0.0, 0, -1, 0.5]
_NUMBERS = [0, 1, 2, 7, -1, 0.5, 1.0, 50, 1048576, 2**31, 2**53, 2**64, 1e15]
_HUGE = EXTREMES[:9]


class Token:
    """A piece of JSON text, as it is to be sent."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return f"Token({self.text[:60]!r})"

    def __deepcopy__(self, memo):
        return self


def nested(depth, opening="[", closing="]", inside="1"):
    return opening * depth + inside + closing * depth


TOKENS = [
    Token("1" + "0" * 400),
    Token("1" + "0" * 6000),
    Token("1e400"),
    Token("-1E+999"),
    Token("1.7976931348623159e308"),
    Token("NaN"),
    Token("Infinity"),
    Token("01"),
    Token("+1"),
    Token("'x'"),
    Token("undefined"),
    Token('"\\ud800"'),
    Token('"\\udc00\\ud800"'),
    Token('"\\ud83d\\ude00"'),
    Token('"\\\\ud800"'),
    Token('"\\u0000"'),
    Token('"\\x00"'),
    Token('"\x00"'),
    Token('"\n"'),
    Token('"' + "x" * 100_000 + '"'),
    Token(nested(150)),
    Token(nested(199)),
    Token(nested(300)),
    Token(nested(5000)),
    Token(nested(250, '{"a":', "}")),
    Token(nested(250, '[{"a":', "}]")),
    Token("{}" + " " * 50),
    Token('{"a":1,"a":2}'),
    Token("[1,]"),
    Token("[" + "0," * 20_000 + "0]"),
    Token("/*x*/1"),
]

STRAYS = [
    None,
    True,
    False,
    0,
    -3,
    2.5,
    "x",
    "",
    [],
    [1],
    {},
    {"a": 1},
    [None],
    [[]],
    [{}],
    {"kind": "x"},
    {"type": None},
    "\ufeff",
    "\u2028",
    *_HUGE,
]


class Maker:
    """Makes what fits a shape. `random` decides, `share` is how often an optional key is there."""

    def __init__(self, random, share=None):
        self._random = random
        self._share = random.choice([0.0, 0.1, 0.3, 0.6]) if share is None else share

    def made(self, annotation, key="", depth=0):
        """A value of `annotation`, which stands under `key`."""
        random = self._random
        inner, marks = split_annotated(annotation)
        if is_object(inner):
            return self._object(inner, depth)
        if is_union(inner):
            members, _ = members_of(inner)
            return self.made(random.choice(members), key, depth)
        if is_literal(inner):
            words = get_args(inner)
            # Most of what a client sends is a person's.
            return "user" if "user" in words and random.random() < 0.8 else random.choice(words)
        if get_origin(inner) is list:
            return self._list(get_args(inner)[0], marks, key, depth)
        if get_origin(inner) is dict:
            return self._map(get_args(inner)[1], depth)
        return self._plain(inner, marks, key)

    def _object(self, shape, depth):
        share = self._share if depth < DEEP else 0.0
        return {
            key: self.made(annotation, key, depth + 1)
            for key, annotation in fields_of(shape).items()
            if key in shape.__required_keys__ or self._random.random() < share
        }

    def _list(self, item, marks, key, depth):
        count = 0 if depth > DEEP else self._random.randrange(4)
        items = [self.made(item, key, depth + 1) for _ in range(count)]
        if any(isinstance(mark, OncePerKind) for mark in marks):
            items = list({one["kind"]: one for one in items}.values())
        return items

    def _map(self, item, depth):
        count = 0 if depth > DEEP else self._random.randrange(3)
        return {
            self._random.choice(_MAP_KEYS): self.made(item, "", depth + 1) for _ in range(count)
        }

    def _plain(self, annotation, marks, key):
        random = self._random
        if annotation is Any:
            return copy.deepcopy(random.choice(STRAYS))
        if annotation is str:
            odd = random.random() < 0.05
            return random.choice(ODD_URIS if odd else _WORDS_BY_KEY.get(key, _PLAIN_WORDS))
        if annotation is bool:
            return random.random() < 0.5
        if annotation in (int, float):
            least = next((mark.least for mark in marks if isinstance(mark, Minimum)), None)
            numbers = [n for n in _NUMBERS if annotation is float or n == int(n)]
            if random.random() < 0.1:
                numbers = [n for n in _HUGE if annotation is float or n == int(n)]
            numbers = [n for n in numbers if least is None or n >= least] or [least]
            return random.choice(numbers)
        assert annotation in (None, type(None)), annotation
        return None


def _places(value, path=()):
    """Every object and list inside `value`, by its path."""
    if isinstance(value, (dict, list)):
        yield path
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in inside:
            yield from _places(item, (*path, key))


def broken(value, random, times=1):
    """A copy of `value` with something wrong in it, or something odd."""
    value = copy.deepcopy(value)
    for _ in range(times):
        if not isinstance(value, (dict, list)):
            return copy.deepcopy(random.choice([*STRAYS, *TOKENS]))
        place = value
        for key in random.choice(list(_places(value))):
            place = place[key]
        _break(place, random)
    return value


def _break(place, random):
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    key = random.choice(keys) if keys else None
    change = random.choice(["drop", "null", "type", "type", "token", "uri", "add", "grow"])
    if keys and change == "drop":
        del place[key]
    elif keys and change == "null":
        place[key] = None
    elif keys and change == "token":
        place[key] = random.choice(TOKENS)
    elif keys and change == "uri":
        place[key] = random.choice(ODD_URIS)
    elif keys and change == "grow":
        _grow(place, key, random)
    elif keys and change == "type":
        place[key] = copy.deepcopy(random.choice(STRAYS))
    elif isinstance(place, dict):
        added = random.choice(["undeclared", "type", "kind", "_meta", "__proto__", "", "x" * 300])
        place[added] = copy.deepcopy(random.choice([*STRAYS, *TOKENS]))
    else:
        place.append(copy.deepcopy(random.choice(STRAYS)))


def _grow(place, key, random):
    value = place[key]
    if isinstance(value, str):
        place[key] = value * random.choice([2, 1000]) or "z" * 3000
    elif isinstance(value, list):
        place[key] = value * random.choice([2, 200])
    elif isinstance(value, dict) and len(value) < 50:
        value.update({f"more-{number}": number for number in range(200)})
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        place[key] = random.choice(_HUGE)


def text_of(value):
    """The value as JSON text."""
    if isinstance(value, Token):
        return value.text
    if isinstance(value, dict):
        members = (f"{json.dumps(key)}:{text_of(item)}" for key, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(text_of, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
