"""What goes wrong with an endpoint, in words for a person.

No word here holds a key: what an endpoint says about one that it refuses is not repeated,
and what it says otherwise is cut short, with whatever looks like a key left out.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

from ahpd.interfaces import AgentFailure

UNREACHABLE: Final = "endpointUnreachable"
TLS: Final = "endpointTls"
AUTH: Final = "authRequired"
NOT_FOUND: Final = "modelNotFound"
OVERFLOW: Final = "contextOverflow"
RATE_LIMITED: Final = "rateLimited"
REFUSED: Final = "endpointRefused"
SERVER: Final = "endpointFailed"
CUT: Final = "endpointCut"
SILENT: Final = "endpointSilent"
PROTOCOL: Final = "endpointBrokeProtocol"
FILTERED: Final = "contentFilter"
OUTPUT_LIMIT: Final = "outputLimit"

#: How much of what an endpoint said of an error is repeated, in characters.
_MOST_QUOTED: Final = 300
#: What looks like a key: a long run of its characters behind one of the usual beginnings.
_KEYLIKE: Final = re.compile(r"\b(?:sk|gsk|xai|hf|nvapi|Bearer)[-_ ][\w.*-]{6,}|[\w-]{32,}")

_OVERFLOW: Final = re.compile(
    r"context[ _](?:length|window|size)|maximum context|exceeds? the (?:available )?context"
    r"|prompt is too long|too many tokens|input is too long|context_length_exceeded|exceed_context",
    re.IGNORECASE,
)
_NO_TOOLS: Final = re.compile(
    r"(?:not|n't) support (?:tool|function)|support tool use|tool[ _]use is not supported"
    r"|tools?['\"`]? (?:is|are) not supported|--enable-auto-tool-choice"
    r"|(?:unsupported|unknown|unrecognized)\b[^.]{0,40}['\"`]tools['\"`]",
    re.IGNORECASE,
)
_NO_IMAGES: Final = re.compile(
    r"(?:not|n't) support (?:image|vision|multimodal)|image input is not supported"
    r"|support image input|image_url.{0,3} is only supported|unknown variant .{0,2}image_url"
    r"|not a multimodal|image(?:_url|s)?['\"`]? (?:is|are|parts are) not supported",
    re.IGNORECASE,
)
_NO_USAGE: Final = re.compile(r"stream_options|include_usage", re.IGNORECASE)
_NOT_FOUND: Final = re.compile(r"model\b.{0,200}\bnot (?:found|exist|loaded)|no such model|unknown model|model_not_found", re.I | re.S)  # fmt: skip

#: What a request may do without, by what a refusal of it names.
_DISPENSABLE: Final = (("usage", _NO_USAGE), ("tools", _NO_TOOLS), ("images", _NO_IMAGES))


class EndpointFailure(AgentFailure):
    """One request that failed.

    `retry` says that the same request may work later, `after` in how many seconds where the
    endpoint said so. `without` names what the endpoint would not have in the request:
    `usage`, `tools` or `images`.
    """

    def __init__(
        self,
        message: str,
        error_type: str,
        *,
        status: int | None = None,
        retry: bool = False,
        after: float | None = None,
        without: str | None = None,
        resumable: bool = True,
    ) -> None:
        super().__init__(message[:1].upper() + message[1:], error_type, resumable)
        self.status = status
        self.retry = retry
        self.after = after
        self.without = without


def quoted(said: str, *secrets: str | None) -> str:
    """What an endpoint said, in one bounded line in which no key is left."""
    for secret in secrets:
        if secret:
            said = said.replace(secret, "***")
    line = _KEYLIKE.sub("***", " ".join(said.split()))
    return line if len(line) <= _MOST_QUOTED else line[: _MOST_QUOTED - 1] + "…"


def words_of(value: Any) -> tuple[str, str, int | None]:
    """What an error object says: its words, its code or type, and the status it names.

    Servers differ: `{"error": {"message", "code", "type"}}`, `{"error": "..."}`,
    `{"object": "error", "message"}`, `{"detail": ...}`, and a list of one of them.
    """
    if isinstance(value, list):
        value = value[0] if value else {}
    if isinstance(value, Mapping) and value.get("error") is not None:
        value = value["error"]
    elif isinstance(value, Mapping) and "detail" in value and "message" not in value:
        value = value["detail"]
    if not isinstance(value, Mapping):
        return (value if isinstance(value, str) else str(value)), "", None
    message = value.get("message")
    code = value.get("code")
    kind = code if isinstance(code, str) else value.get("type")
    status = code if isinstance(code, int) and not isinstance(code, bool) else None
    metadata = value.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
        message = f"{message}: {metadata['raw']}"  # what stands behind a router's own words
    return (
        message if isinstance(message, str) else "it gave no reason",
        kind if isinstance(kind, str) else "",
        status,
    )


def of_status(
    where: str,
    status: int,
    value: Any,
    *,
    model: str = "",
    retry_after: float | None = None,
    key_hint: str = "",
    secrets: tuple[str | None, ...] = (),
) -> EndpointFailure:
    """The failure an answer with this status is, or an error object inside a good answer.

    `value` is the error as it was sent; `key_hint` says where the key is to be put.
    """
    words, code, _ = words_of(value)
    said = quoted(words, *secrets)
    facts = f"{words} {code}"
    if status in (401, 403):
        return EndpointFailure(
            f"{where} refused the key ({status}). {key_hint}".rstrip(), AUTH, status=status
        )
    if status == 402:
        return EndpointFailure(f"{where} wants to be paid first (402): {said}", REFUSED, status=402)
    if status in (400, 413, 422, 500) and _OVERFLOW.search(facts):
        return EndpointFailure(
            f"The conversation is longer than the context of {model or 'the model'}: {said}",
            OVERFLOW,
            status=status,
        )
    if status in (400, 404, 422, 500, 501):
        for name, pattern in _DISPENSABLE:
            if pattern.search(facts):
                return EndpointFailure(
                    f"{where} does not take {name} ({status}): {said}",
                    REFUSED,
                    status=status,
                    without=name,
                )
    if status == 404 or (status == 400 and _NOT_FOUND.search(facts)):
        named = f"{where} has no model {model!r}" if model else f"{where} answered 404"
        return EndpointFailure(
            f"{named}: {said}. Check the model's id, and that baseUrl ends where /models and "
            "/chat/completions begin.",
            NOT_FOUND,
            status=status,
        )
    if status == 429:
        return EndpointFailure(
            f"{where} is asked too often (429): {said}",
            RATE_LIMITED,
            status=status,
            retry=code not in ("insufficient_quota", "billing_hard_limit_reached"),
            after=retry_after,
        )
    if 300 <= status < 400:
        return EndpointFailure(
            f"{where} answered {status}, a redirection, which is not followed with a key in "
            "hand. Put the address it leads to into baseUrl.",
            REFUSED,
            status=status,
        )
    if status >= 500 or status in (408, 409, 425):
        return EndpointFailure(
            f"{where} failed ({status}): {said}",
            SERVER,
            status=status,
            retry=status != 501,
            after=retry_after,
        )
    return EndpointFailure(
        f"{where} refused the request ({status}): {said}", REFUSED, status=status
    )


def of_error_object(where: str, value: Any, **about: Any) -> EndpointFailure:
    """The failure an error object inside a good answer is."""
    words, code, status = words_of(value)
    if status is None or not 400 <= status < 600:
        facts = f"{words} {code}".lower()
        if _OVERFLOW.search(facts):
            status = 400
        elif "rate" in facts and "limit" in facts:
            status = 429
        elif code in ("invalid_api_key", "authentication_error") or "api key" in facts:
            status = 401
        elif (
            any(pattern.search(facts) for _, pattern in _DISPENSABLE)
            or "invalid_request" in code
            or _NOT_FOUND.search(facts)
        ):
            status = 400
        else:
            status = 500
    return of_status(where, status, value, **about)


def seconds_of(header: str | None, now: datetime) -> float | None:
    """What a `Retry-After` says, in seconds from `now`; None for none that can be read."""
    if header is None:
        return None
    text = header.strip()
    try:
        return max(0.0, float(text)) if text[:1].isdigit() else _until(text, now)
    except (ValueError, TypeError, OverflowError):
        return None


def _until(text: str, now: datetime) -> float:
    moment = parsedate_to_datetime(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
