"""Whatever happens in whatever order: what was said makes what is held, and nothing is lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.terminals.gather import WINDOW

from .conftest import TerminalsHost

URI = "ahp-terminal:/t1"
CLAIMS = (
    {"kind": "client", "clientId": "two"},
    {"kind": "session", "session": "ahp-session:/s", "chat": "ahp-chat:/c", "turnId": "t"},
)

TEXT = st.text(alphabet="ab\r\né\U0001f600 ", min_size=1, max_size=8)
STEPS = st.one_of(
    st.tuples(st.just("prints"), TEXT),
    st.tuples(st.just("floods"), st.integers(1, 40)),
    st.tuples(st.just("cut"), TEXT),
    st.tuples(st.just("runs"), TEXT),
    st.tuples(st.just("moves"), st.sampled_from(["/tmp", "/usr", "/usr/a b"])),
    st.tuples(st.just("types"), TEXT),
    st.tuples(st.just("sizes"), st.integers(1, 300)),
    st.tuples(st.just("titles"), TEXT),
    st.tuples(st.just("claims"), st.sampled_from(CLAIMS)),
    st.tuples(st.just("clears"), st.just(None)),
    st.tuples(st.just("waits"), st.sampled_from([0.0, WINDOW / 2, WINDOW, 1.0])),
    st.tuples(st.just("joins"), st.just(None)),
    st.tuples(st.just("lags"), st.booleans()),
)


class Play:
    """Plays steps on a host, and notes what they have to come to."""

    def __init__(self):
        self.host = TerminalsHost()
        self.host.create(URI)
        self.program = self.host.program
        self.first = self.host.reader(URI)
        self.printed = ""
        self.typed = ""
        self.outputs = []
        self.folders = ["/tmp"]
        self.actions = []

    def prints(self, text):
        self.printed += text
        self.program.prints(text)

    def floods(self, thousands):
        self.prints("0123456789" * 100 * thousands)

    def cut(self, text):
        """The same in pieces of a byte, as unlucky reads make them."""
        self.printed += text
        for byte in text.encode():
            self.program.prints(bytes([byte]))

    def runs(self, text):
        """A command whose marks come in one read with its output."""
        self.printed += text
        self.outputs.append(text)
        self.program.prints(f"\x1b]133;A\x07\x1b]133;C\x07{text}\x1b]133;D;0\x07")

    def moves(self, folder):
        self.folders.append(folder)
        self.program.prints(f"\x1b]7;file://{folder.replace(' ', '%20')}\x07")

    def does(self, kind, **fields):
        assert self.host.dispatch(URI, kind, **fields) is None
        self.actions.append({"type": f"terminal/{kind}", **fields})

    def types(self, text):
        self.typed += text
        self.does("input", data=text)

    def sizes(self, cols):
        self.does("resized", cols=cols, rows=cols)

    def titles(self, title):
        self.does("titleChanged", title=title)

    def claims(self, claim):
        self.does("claimed", claim=claim)

    def clears(self, _):
        self.does("cleared")

    def waits(self, seconds):
        self.host.clock.advance(seconds)

    def joins(self, _):
        self.host.reader(URI)

    def lags(self, behind):
        self.first.behind = behind

    def ends(self):
        self.first.behind = False
        self.program.exits(0)
        self.host.clock.advance(WINDOW)


@settings(max_examples=120, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_what_is_said_is_what_was_printed_and_makes_what_is_held(steps):
    play = Play()
    for name, value in steps:
        getattr(play, name)(value)
    play.ends()
    first, host = play.first, play.host
    assert first.text() == play.printed
    assert first.kinds()[-1] == "exited"
    assert play.program.typed.decode() == play.typed
    assert [e["action"] for e in first.said if "origin" in e] == play.actions

    executed = [action["commandId"] for action in first.actions("commandExecuted")]
    finished = [action["commandId"] for action in first.actions("commandFinished")]
    assert executed == finished
    assert len(executed) == len(play.outputs)
    assert outputs_said(first) == play.outputs

    moved = [a for a, b in zip(play.folders[1:], play.folders, strict=False) if a != b]
    assert [a["cwd"] for a in first.actions("cwdChanged")] == [
        f"file://{folder.replace(' ', '%20')}" for folder in moved
    ]

    state = host.state(URI)
    row = host.lists[-1][0]
    assert {key: state[key] for key in ("title", "claim", "lifecycle")} == {
        key: row[key] for key in ("title", "claim", "lifecycle")
    }
    for reader in host.readers:
        reader.agrees()
    host.stop()


def outputs_said(reader):
    """What was said between each command's start and its end."""
    outputs, running = [], False
    for envelope in reader.said:
        action = envelope["action"]
        kind = action["type"].partition("/")[2]
        if kind == "commandExecuted":
            outputs.append("")
            running = True
        elif kind == "commandFinished":
            running = False
        elif kind == "data" and running:
            outputs[-1] += action["data"]
    return outputs
