"""The demo agent: deterministic and offline, in a process of its own like any other.

`program.py` starts what runs there, and `acts/` is what the directives do; `agent.py`,
`chat.py`, `run.py` and `background.py` are the host's side. They speak newline-delimited
JSON, and every line names the turn it is about.

The host writes

    {"type": "run", "turnId": T, "text": TEXT, "model": ID, "thinkingLevel": LEVEL or null,
     "pace": MS, "tools": [{"clientId", "name", "title"}], "preamble": TEXT,
     "attempt": N, "step": N, "ids": N}
    {"type": "stop", "turnId": T}
    {"type": "stopWorker", "turnId": T, "call": ID}
    {"type": "steered", "turnId": T}                      there is something to ask for
    {"type": "pace", "turnId": T, "ms": MS}
    {"type": "answer", "turnId": T, "id": N, "value": V}  to a demo/wait

and closes the program's input to end it. `pace` is the pause before each word of an
answer. The last five keys of a run are optional: `attempt`, `step` and `ids` are those of
a turn that is resumed: how often it was begun, with what step it goes on, and the number
of its next part. For each `run` the program writes the turn's actions, each a chat action
of AHP with its `turnId`, and what it needs:

    {"type": "demo/wait", "turnId": T, "id": N, "what": WHAT, "of": ID}
    {"type": "demo/background", "turnId": T, "id": ID, "label": NAME, "seconds": N}

WHAT is `confirmed` (a decided call), `client_result` (a call's result), `host_result` (that of
the host's tool `name`, called with `arguments`), `answered` (a
question's answers), `steering` (the messages said meanwhile) or `worker` (the worker chat
call ID spawned, with `prompt` and `title`). A line of a worker's turn has `"worker": CALL`
besides; `{"type": "demo/workerEnd", "worker": CALL, "errorType": WORD, "message": WORDS}`
is its end, without the two words where it is done. Then comes exactly one of

    {"type": "demo/end", "turnId": T, "stopped": true or false}
    {"type": "demo/failed", "turnId": T, "errorType": WORD, "message": WORDS,
     "resumable": true or false, "step": N, "ids": N}

It runs one turn at a time. What is about another turn means nothing to it.
"""
