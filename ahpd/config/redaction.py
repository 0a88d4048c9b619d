"""What of a configured value is secret, told by the names it stands under.

An engine's schema says better what its own secrets are; this is for those who show or log a
configuration without loading engines, and errs towards hiding. A reference to a variable or
to a vault (`{"$env": NAME}`) says where a secret is and is none itself.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from ahpd import unspoken

#: What stands for a secret wherever one would be shown.
SET: Final = unspoken.SET

#: The keys of a mapping that says where a value comes from, in place of the value.
REFERENCES: Final = ("$env", "fromEnv", "$secret")

#: Mappings of which every value is a credential: a free environment keeps them.
_MAPS: Final = frozenset({"env", "headers"})
_NAMES: Final = re.compile(
    r"key|token|secret|passw|passphrase|authorization|credential|cookie|bearer", re.IGNORECASE
)
#: Names that hold one of those words and say how many or where, never what.
_HARMLESS: Final = re.compile(
    r"(tokens|_?file|_?path|_?env|_?id|variables?|keys?only)$", re.IGNORECASE
)
#: Names of what says where a credential is: in a variable, or in a file that is named for it.
_VARIABLES: Final = re.compile(r"(env|environment|variables?)$", re.IGNORECASE)
_FILES: Final = re.compile(r"(file|path)$", re.IGNORECASE)
#: A password may hold an `@` that nobody encoded: the last one ends it.
_USER_IN_URL: Final = re.compile(r"(?<=://)[^/?#\s]+(?=@)")
_QUERY: Final = re.compile(
    r"([?&][^=&\s]*(?:key|token|secret|sig)[^=&\s]*=)[^&\s#]+", re.IGNORECASE
)
_ARGUMENT: Final = re.compile(r"--?[A-Za-z0-9_.-]+")
_ASSIGNED: Final = re.compile(r"(-{0,2}[A-Za-z0-9_.-]+)=(.+)", re.DOTALL)
#: Shorter ones are words such as `1` or `true`, which a log is full of.
SHORTEST_SECRET: Final = 8
#: Folders that an environment names without a secret's name: a log is full of them too.
_FOLDER: Final = re.compile(r"~?/[^+=]*")


def is_reference(value: object) -> bool:
    """Whether `value` says where a value comes from: `{"$env": "NAME"}`."""
    return isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in REFERENCES


def is_secret_name(name: str) -> bool:
    """Whether what stands under `name` is a credential, as far as a name can say."""
    return bool(_NAMES.search(name)) and not _HARMLESS.search(name)


def leads_to_secret(name: str) -> bool:
    """Whether what stands under `name` is a credential, may hold one, or says where one is."""
    if name in _MAPS or is_secret_name(name) or _VARIABLES.search(name):
        return True
    return bool(_NAMES.search(name) and _FILES.search(name))


def shown(value: Any) -> Any:
    """A JSON value as it may be shown: every secret in it is `<set>`."""
    return _walk(value, "", hidden=False, found=None)


def secrets_of(value: Any) -> Iterator[str]:
    """The texts `shown` would hide that a log can do without: neither words nor folders."""
    found: list[str] = []
    _walk(value, "", hidden=False, found=found)
    yield from (text for text in dict.fromkeys(found) if len(text) >= SHORTEST_SECRET)


def scrub(words: str, secrets: "list[str] | tuple[str, ...]") -> str:
    """`words` without any of `secrets`, the longest first."""
    long = (secret for secret in secrets if len(secret) >= unspoken.SHORT)
    return unspoken.struck(words, long)


def _walk(value: Any, name: str, *, hidden: bool, found: list[str] | None) -> Any:
    if is_reference(value):
        return dict(value)
    if isinstance(value, Mapping):
        return {
            key: _walk(
                held,
                str(key),
                hidden=hidden or key in _MAPS or is_secret_name(str(key)),
                found=found,
            )
            for key, held in value.items()
        }
    if isinstance(value, list | tuple):
        return _items(value, name, hidden, found)
    if hidden and value is not None and not isinstance(value, bool):
        text = str(value)
        if is_secret_name(name) or not _FOLDER.fullmatch(text):
            _note(found, text)
        return SET
    return _text(value, found) if isinstance(value, str) else value


def _items(
    items: "list[Any] | tuple[Any, ...]", name: str, hidden: bool, found: list[str] | None
) -> list[Any]:
    """A list's values; one behind an argument such as `--api-key` is that argument's."""
    out: list[Any] = []
    behind = ""
    for item in items:
        out.append(_walk(item, behind or name, hidden=hidden or bool(behind), found=found))
        names = isinstance(item, str) and _ARGUMENT.fullmatch(item) and is_secret_name(item)
        behind = item if names else ""
    return out


def _text(text: str, found: list[str] | None) -> str:
    assigned = _ASSIGNED.fullmatch(text)
    if assigned is not None and is_secret_name(assigned[1]):
        _note(found, assigned[2])
        return f"{assigned[1]}={SET}"
    for match in _USER_IN_URL.finditer(text):
        _note(found, match[0])
    for match in _QUERY.finditer(text):
        _note(found, match[0][len(match[1]) :])
    return _QUERY.sub(rf"\1{SET}", _USER_IN_URL.sub(SET, text))


def _note(found: list[str] | None, text: str) -> None:
    if found is not None:
        found.append(text)
