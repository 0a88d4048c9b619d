"""Words for what went wrong in code that is not ours."""

from collections.abc import Sequence

from ahpd.config.redaction import scrub
from ahpd.schemas.striking import said


def failure_words(error: BaseException, secrets: Sequence[str] = ()) -> str:
    """What an exception says, on one line and without `secrets`; its class where that says more."""
    words = scrub(" ".join(said(error).split()), list(secrets))
    name = type(error).__name__
    if not words:
        return name
    # The words of a lookup or an import alone are a bare name.
    return (
        f"{name}: {words}" if isinstance(error, LookupError | TypeError | AttributeError) else words
    )
