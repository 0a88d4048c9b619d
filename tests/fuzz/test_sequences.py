"""Several rude clients at once: good and bad messages, drops and reconnects in any mix.

What was sent in one go is cut off anywhere, and connections go while their requests are
still being answered.
"""

import itertools
from random import Random

from hypothesis import given

from .messages import any_frame, any_message, call, params_of
from .profile import examples, marks, steps
from .rig import Rig
from .values import broken, text_of

pytestmark = marks


class Crowd:
    """Clients that come, go and come back under the same few names."""

    def __init__(self, rig):
        self.rig = rig
        self.numbers = itertools.count(1000)
        self.ends = [rig.open(client_id=f"crowd-{number}") for number in range(3)]

    def act(self, random):
        """One thing somebody does, as `random` decides."""
        which = random.randrange(len(self.ends))
        end = self.ends[which]
        if not end.connected:
            self.ends[which] = self.come_back(which, random)
            return
        what = random.choice(["message"] * 5 + ["broken"] * 3 + ["frame"] * 2 + ["burst", "burst"])
        what = random.choice([what] * 8 + ["cut", "hold", "go on", "print", "time"])
        if what == "message":
            end.send(text_of(self.good(random)).encode())
        elif what == "broken":
            end.send(text_of(broken(self.good(random), random)).encode())
        elif what == "frame":
            end.send(any_frame(random))
        elif what == "burst":
            for _ in range(random.randrange(1, 8)):
                end.send(text_of(self.good(random)).encode())
            if random.random() < 0.3:
                end.link.cut()
        elif what == "cut":
            end.link.cut()
        elif what == "hold":
            end.link.server.hold()
        elif what == "go on":
            self.rig.let_agents_go_on()
        elif what == "print":
            self.rig.let_programs_go_on()
        else:
            self.rig.host.advance(random.choice([0.001, 0.1, 6, 40]))
        if random.random() < 0.6:
            self.rig.step()

    def good(self, random):
        message = any_message(random)
        if "id" in message and "method" in message:
            message["id"] = next(self.numbers)
        return message

    def come_back(self, which, random):
        """A connection more: by `reconnect`, by `initialize`, or without either."""
        if random.random() < 0.3:
            return self.rig.open(client_id=f"crowd-{which}")
        end = self.rig.open(introduced=False)
        if random.random() < 0.8:
            params = {**params_of("reconnect", random), "clientId": f"crowd-{which}"}
            end.send(text_of(call("reconnect", params, "back")).encode())
        return end


@examples(150)
@given(seeds=steps(60))
def test_a_crowd_that_does_as_it_likes_harms_nobody(seeds):
    rig = Rig(replay_bytes=Random(seeds[0]).choice([0, 2000]))
    crowd = Crowd(rig)
    for seed in seeds:
        crowd.act(Random(seed))
    for end in crowd.ends:
        if end.connected:
            end.link.server.release()
    rig.step()
    rig.finish()
