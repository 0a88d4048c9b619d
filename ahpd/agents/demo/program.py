"""Starts the demo agent's own program, which is in `acts/`.

It runs by its path in a bare interpreter (`python -I -S program.py`), so that a chat's
first turn waits some 20 ms for it and not for this package and its dependencies: it
imports the standard library alone, and little of that. What it speaks is written down
in `ahpd/agents/demo/__init__.py`.
"""

import sys

if __name__ == "__main__":
    sys.path.append(__file__.rpartition("/")[0])
    # By its folder, from where its modules are compiled once: this file is each time.
    __import__("acts.main").main.main()
