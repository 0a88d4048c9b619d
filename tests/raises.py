"""What code of others may raise: errors, what is no `Exception`, and what cannot be said."""

import asyncio

from twisted.internet.defer import CancelledError


class Odd(BaseException):
    """An exception of somebody's own that is no `Exception`."""


class Wordless(Exception):
    """It fails to say what it is."""

    def __str__(self):
        raise RuntimeError("no words")


class Leaving(Exception):
    """To say what it is leaves the interpreter."""

    def __str__(self):
        raise SystemExit(1)


#: What makes one, by what it is.
RAISES = {
    "an error": lambda: RuntimeError("boom"),
    "SystemExit": lambda: SystemExit("boom"),
    "KeyboardInterrupt": KeyboardInterrupt,
    "GeneratorExit": GeneratorExit,
    "asyncio.CancelledError": lambda: asyncio.CancelledError("boom"),
    "a cancellation nobody asked for": CancelledError,
    "a BaseException": lambda: Odd("boom"),
    "an error without words": Wordless,
    "an error whose words leave": Leaving,
}
