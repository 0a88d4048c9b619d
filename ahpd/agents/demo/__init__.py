"""The demo agent: deterministic and offline, in a process of its own like any other.

`program.py` is what runs there and says what the directives do; `agent.py` and
`chat.py` are the host's side. They speak newline-delimited JSON.

The host writes

    {"type": "run", "turnId": T, "text": TEXT, "model": ID, "thinkingLevel": LEVEL or null}
    {"type": "stop", "turnId": T}

and closes the program's input to end it. For each `run` the program writes the turn's
actions, each a chat action of AHP with its `turnId`, and then exactly one of

    {"type": "demo/end", "turnId": T, "stopped": true or false}
    {"type": "demo/failed", "turnId": T, "errorType": WORD, "message": WORDS}

It runs one turn at a time. A `stop` of another turn means nothing to it.
"""
