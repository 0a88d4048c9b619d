"""Values that are kept elsewhere: `{"$env": "NAME"}` in place of a text.

`{"fromEnv": "NAME"}` says the same. `{"$secret": NAME}` names a secret of the vault, which is
read ahead, because a vault may take its time. Source: PLUGINS.txt, `x-ahpd-agents` (`fromEnv`),
"Naming a secret instead of holding one".
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal

import attrs

from ahpd.config.errors import WrongValue
from ahpd.config.kinds import describe
from ahpd.config.redaction import is_reference

_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
SECRET: Final = "$secret"  # noqa: S105 - the key of a reference


@attrs.frozen(kw_only=True)
class Missing:
    """One value that is not where it was said to be."""

    kind: Literal["env", "secret"]
    name: str
    words: str
    """Its place and what is missing there, without a secret."""


class Unresolved(Exception):
    """Values that are not where they were said to be: `missing`, at least one.

    `str()` is the words of the first and holds no secret.
    """

    def __init__(self, missing: Sequence[Missing]) -> None:
        super().__init__(missing[0].words)
        self.missing = tuple(missing)


def check_reference(value: Mapping[str, Any], at: str) -> None:
    """Refuse a reference that can name nothing. Raises `WrongValue`."""
    kind, name = next(iter(value.items()))
    if not isinstance(name, str) or not name:
        raise WrongValue(describe(name), "a name", f"{at}.{kind}")
    if kind != SECRET and not _VARIABLE.fullmatch(name):
        raise WrongValue(describe(name), "the name of a variable", f"{at}.{kind}")


def references_in(value: Any, at: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every reference in a JSON value: where it stands, its kind (`$secret`), what it names."""
    if is_reference(value):
        kind, name = next(iter(value.items()))
        yield at, kind, name
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from references_in(held, f"{at}.{key}" if at else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from references_in(item, f"{at}[{index}]")


def resolve(
    value: Any,
    environ: Mapping[str, str],
    at: str,
    read: list[str] | None = None,
    secrets: Mapping[str, str | Exception] | None = None,
) -> Any:
    """A copy of the JSON value `value` with every reference in it replaced by what it names.

    `at` is where it stands, for words. `secrets` are those that were read from the vault, each
    with how that failed where it did; without them none is read here. What was read is added to
    `read`, so that it can be kept out of logs. Raises `Unresolved`.
    """
    reading = _Reading(environ, secrets, [] if read is None else read)
    made = reading.walk(value, at)
    if reading.missing:
        raise Unresolved(reading.missing)
    return made


class _Reading:
    """Where references are read from, and what of them was missing."""

    def __init__(
        self,
        environ: Mapping[str, str],
        secrets: Mapping[str, str | Exception] | None,
        read: list[str],
    ) -> None:
        self._environ = environ
        self._secrets = secrets
        self._read = read
        self.missing: list[Missing] = []

    def walk(self, value: Any, at: str) -> Any:
        if is_reference(value):
            kind, name = next(iter(value.items()))
            text = self._secret(name, at) if kind == SECRET else self._variable(name, at)
            if text is not None:
                self._read.append(text)
            return text
        if isinstance(value, Mapping):
            return {key: self.walk(held, f"{at}.{key}") for key, held in value.items()}
        if isinstance(value, list | tuple):
            return [self.walk(item, f"{at}[{index}]") for index, item in enumerate(value)]
        return value

    def _variable(self, name: Any, at: str) -> str | None:
        text = self._environ.get(name) if isinstance(name, str) else None
        if text:
            return text
        found = "is empty in" if text == "" else "is not in"
        words = f"{at}: the variable {name} {found} the daemon's environment"
        self.missing.append(Missing(kind="env", name=str(name), words=words))
        return None

    def _secret(self, name: Any, at: str) -> str | None:
        named = f"{at}: names the secret {describe(name)}"
        if self._secrets is None:
            words = (
                f"{named}, and no vault is read here; "
                'write {"$env": NAME} to read a variable of the daemon'
            )
        else:
            found = self._secrets.get(name) if isinstance(name, str) else None
            if isinstance(found, str):
                return found
            words = f"{named}: {found if found is not None else 'it was not read'}"
        self.missing.append(Missing(kind="secret", name=str(name), words=words))
        return None
