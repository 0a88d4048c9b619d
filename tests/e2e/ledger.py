"""What a crash test's clients sent, and what they were told of it, over all lives of a daemon."""

import contextlib
import random
from collections import Counter, deque

from ahpd.client import ActionRefused, ConnectionGone, RpcError

#: How a client's call ends where the daemon was killed before its answer came.
GONE = (ConnectionGone, AssertionError, TimeoutError)

#: Streamed text that was told longer ago than this is on disk, in seconds: it is written
#: every quarter of a second, by a daemon that shares its machine with others.
TEXT_AGE = 1.5


class Sent:
    """An action or a request whose answer has not come."""

    def __init__(self, channel, kind, fields):
        self.channel = channel
        self.kind = kind
        self.fields = fields

    def __repr__(self):
        return f"{self.kind} on {self.channel}: {self.fields}"


class Ledger:
    """`random` decides what is done next. What is `open` was sent in this life and not answered.

    What was answered or seen is in what the clients hold. Kept here is what no state of
    a client's shows: which sessions and chats are gone for good, what was attached, when
    streamed text came.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seed = seed
        self.answered = Counter()
        """By kind: the actions and requests that were answered with a yes."""
        self.refused = Counter()
        self.reasons = {}
        """By kind: the words of its first refusal."""
        self.sessions = {}
        """By URI of each there is for certain: whether clients were told of it."""
        self.gone = set()
        """The sessions and chats whose end was answered, or told to all."""
        self.owners = {}
        """By chat: the session it was last seen in, or moved to."""
        self.settled = {}
        """By channel: its state as it was last read, for those nobody touched since."""
        self.named = set()
        """The sessions that a client has given a title."""
        self.pictures = {}
        """By text of a message: the bytes that came with it."""
        self.open = []
        self.texts = {}
        """By (chat, turn, part): when streamed text came, and how much."""
        self.lives = 0
        self.checked = Counter()
        """What was held against what was told, by what it is."""
        self.log = Counter()
        """What the daemons logged, without its numbers."""
        self._count = 0

    def number(self):
        """A number nothing else has."""
        self._count += 1
        return self._count

    @contextlib.contextmanager
    def sending(self, channel, kind, fields):
        """Around a call that ends with its answer."""
        sent = Sent(channel, kind, fields)
        self.open.append(sent)
        try:
            yield
        except (ActionRefused, RpcError) as refused:
            self.refused[kind] += 1
            self.reasons.setdefault(kind, str(refused))
        except GONE:
            raise  # nobody knows; it stays open
        else:
            self.answered[kind] += 1
        self.open.remove(sent)

    def unanswered(self, channel, *kinds):
        """What was sent on a channel, of these kinds or of any, and not answered."""
        sent = (sent for sent in self.open if sent.channel == channel)
        return [each for each in sent if not kinds or each.kind in kinds]

    def values(self, told, channel, kind, field):
        """What a field may read back as: what was told, or what was sent after it."""
        return [told, *(sent.fields.get(field) for sent in self.unanswered(channel, kind))]

    def watch(self, probe, seconds):
        """Note when streamed text comes to a client. `seconds` is the time."""

        def told(envelope):
            action = envelope.action
            if envelope.rejection is None and action["type"] in ("chat/delta", "chat/reasoning"):
                where = (envelope.channel, action["turnId"], action["partId"])
                came = self.texts.setdefault(where, deque(maxlen=10_000))
                came.append((seconds(), len(action["content"])))

        probe.on_action(told)

    def certain(self, chat, turn, part, killed):
        """How many characters of a part came so long before the kill that they are kept."""
        came = self.texts.get((chat, turn, part), ())
        return sum(size for at, size in came if at < killed - TEXT_AGE)
