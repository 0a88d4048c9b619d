"""A backend a test writes turn by turn: in-process, deterministic, and as rude as wanted.

A test hands `ScriptedAgent` one script per turn, an async function that is given the
turn and says what it likes. A `Gate` holds a script until the test lets it pass, so
that nothing depends on time. `RecordedOutput` and `RecordedHost` are the host's side,
for a backend that is tested by itself.
"""

from ahpd.testing.agents.gates import Gate
from ahpd.testing.agents.keeping import CompletingAgent, ConversationsAgent
from ahpd.testing.agents.recorded import RecordedHost, RecordedOutput, RecordedWorker
from ahpd.testing.agents.scripted import ScriptedAgent, ScriptedChat
from ahpd.testing.agents.scripts import (
    Script,
    answers,
    echo,
    ends_itself,
    fails,
    never_ends,
    raises,
    speaks_after_the_end,
    speaks_of_another_turn,
    streams,
    waits_at,
)
from ahpd.testing.agents.turns import ScriptedTurn, ScriptedWorker, Steered

__all__ = [
    "CompletingAgent",
    "ConversationsAgent",
    "Gate",
    "RecordedHost",
    "RecordedOutput",
    "RecordedWorker",
    "Script",
    "ScriptedAgent",
    "ScriptedChat",
    "ScriptedTurn",
    "ScriptedWorker",
    "Steered",
    "answers",
    "echo",
    "ends_itself",
    "fails",
    "never_ends",
    "raises",
    "speaks_after_the_end",
    "speaks_of_another_turn",
    "streams",
    "waits_at",
]
