"""What is said when something cannot be installed: the installer's own reason."""

import re
from typing import Final

from ahpd.config import redaction

_ERROR: Final = re.compile(r"^(?:ERROR|error|fatal): *(.*\S)")
_CAUSES: Final = "The conflict is caused by:"
#: Says that there was a conflict, and not which.
_NO_REASON: Final = "ResolutionImpossible"
_LONGEST: Final = 600


class InstallFailure(Exception):
    """Something could not be installed, updated or removed; `str()` is one line that says why.

    A credential in an address it names is `<set>`. `asked` is whether what was asked for is wrong, rather than the work having failed.
    """

    def __init__(self, words: str, *, asked: bool = False) -> None:
        super().__init__(str(redaction.shown(words)))
        self.asked = asked


def last_words(output: str) -> str:
    """pip's reason: its last error, and what a conflict is between."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [found[1] for line in lines if (found := _ERROR.match(line))]
    reasons = [words for words in errors if not words.startswith(_NO_REASON)]
    words = (reasons or errors or lines or ["it ended without a word"])[-1]
    causes = _causes(lines)
    if causes:
        words = f"{words} ({'; '.join(causes)})"
    return words[:_LONGEST]


def _causes(lines: list[str]) -> list[str]:
    """The lines between pip's word of a conflict and what it advises."""
    if _CAUSES not in lines:
        return []
    found = []
    for line in lines[lines.index(_CAUSES) + 1 :]:
        if line.startswith("To fix this") or _ERROR.match(line):
            break
        found.append(line)
    return found
