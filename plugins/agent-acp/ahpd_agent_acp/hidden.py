"""Values a program was given that no words about it may hold: keys, and the tokens of servers.

What a program says goes wrong is shown to clients, and programs repeat what they were given.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

#: The shortest value that is taken for a secret.
SHORTEST: Final = 8
#: Names of inherited variables whose values are taken for secrets.
_CREDENTIAL: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)


class Hidden:
    """What one program was given that is kept out of what is shown.

    `env` are the variables of its record, every one of them; `inherited` those it has of the
    host's, of which the names say what they hold.
    """

    def __init__(self, env: Mapping[str, str], inherited: Mapping[str, str]) -> None:
        self._values: set[str] = set()
        self.add(env.values())
        self.add(value for name, value in inherited.items() if _CREDENTIAL.search(name))

    def add(self, values: Iterable[str]) -> None:
        """It was given these, too."""
        self._values.update(value for value in values if len(value) >= SHORTEST)

    def left_out(self, text: str) -> str:
        """`text` with `***` in place of each of them, the longest first."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, "***")
        return text
