"""What runs in the demo agent's own process. The standard library alone, and little of it.

`pipes.py` is the host as seen from there, `turn.py` a turn and what it may say,
`directives.py` what a message can ask for, `asking.py` those that need somebody,
`reading.py` how a message is read, `main.py` what puts them together. Imports here are
relative: the package is loaded by its folder, not as a part of `ahpd`.
"""
