"""Whether an open connector works, as its service says.

Source: PLUGINS.txt, "An adapter of your own" (`check`).
"""

from typing import Final

from twisted.internet.interfaces import IReactorTime

from ahpd.calling import awaited
from ahpd.connectors.live import Opened
from ahpd.extensions.waiting import Late, within
from ahpd.interfaces import Check
from ahpd.schemas.striking import said, struck

#: Seconds a service has to answer; one that does not is unreachable.
PATIENCE: Final = 10.0

_SAID: Final = {
    "ok": "",
    "denied": "the service refused the credentials",
    "unreachable": "the service did not answer",
    "failed": "the check failed",
}


async def check(opened: Opened, clock: IReactorTime) -> Check | None:
    """What the check of a connector came to, its words without a secret; None without a check."""
    ask = opened.adapter.check
    if ask is None:
        return None

    async def asked() -> Check:
        answer = await awaited(ask(opened.connector))
        if not isinstance(answer, Check) or answer.result not in _SAID:
            return Check(result="failed", message="its adapter answered no Check")
        return answer

    try:
        answer: Check = await within(clock, PATIENCE, asked())
    except Late:
        answer = Check(result="unreachable", message=f"no answer within {PATIENCE:g} seconds")
    except Exception as failed:
        answer = Check(result="failed", message=said(failed))
    words = struck(answer.message, opened.secrets).strip() or _SAID[answer.result]
    return Check(result=answer.result, message=words)
