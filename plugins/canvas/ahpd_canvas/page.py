"""One page as HTML: what a model wrote, which is never trusted to be more than text."""

import base64
import hashlib
import html
from typing import Final

from ahpd.interfaces import Response

_STYLE: Final = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem;"
    "color-scheme:light dark}pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit}"
)
_STYLE_HASH: Final = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()

#: The page loads nothing, runs nothing and sends nothing anywhere: of all that a browser might do
#: it is allowed its own style alone. Who may frame it is left open, because clients show it in one.
_HEADERS: Final = (
    ("Content-Type", "text/html; charset=utf-8"),
    (
        "Content-Security-Policy",
        f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; "
        "form-action 'none'",
    ),
    ("X-Content-Type-Options", "nosniff"),
    # The address is all that keeps the page private, and links go with it.
    ("Referrer-Policy", "no-referrer"),
    ("Cache-Control", "no-store"),
)


def page(title: str, text: str) -> Response:
    """The answer that is the page."""
    body = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head>"
        f"<body><h1>{html.escape(title)}</h1><pre>{html.escape(text)}</pre></body></html>"
    )
    # What a model wrote may hold half of a character, which no encoding has.
    return Response(200, body.encode(errors="replace"), _HEADERS)
