"""Options that name a value in place of holding it: where they are, and what they read as.

`{"$secret": "host:stripe"}` names the vault, `{"fromEnv": "TOKEN"}` and `{"$env": "TOKEN"}` a
variable of this process. Source: PLUGINS.txt, "Naming a secret instead of holding one".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces.vault import ISecrets, SecretFailure
from ahpd.plugins.skipped import Skipped
from ahpd.protocol.read_only import read_only
from ahpd.schemas.documents import Unknown, of_item, of_key, parts
from ahpd.schemas.vaulted import is_of_a_record, parse_name

_VAULT: Final = "$secret"
_KINDS: Final = (_VAULT, "fromEnv", "$env")
#: The keyword of a field that is handed over as it is written.
_AT_USE: Final = "secretAtUse"


@attrs.frozen
class OptionReference:
    """A reference in a plugin's options."""

    path: tuple[str | int, ...]
    value: Mapping[str, Any]
    at_use: bool
    """Whether the schema has it handed over as it is written."""

    @property
    def words(self) -> str:
        """Where it stands below the options: `servers[0].key`."""
        return path_words(self.path)


def path_words(path: tuple[str | int, ...]) -> str:
    """A path below the options, as people write it."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]


def references_in(schema: Any, value: Any) -> list[OptionReference]:
    """Every reference in `value`, in its order; `schema` says which are read at use."""
    return list(_walk(schema, [schema], value, ()))


def _walk(
    document: Any, schemas: list[Any], value: Any, path: tuple[str | int, ...]
) -> Iterator[OptionReference]:
    """References in `value`, which each of `schemas` may apply to."""
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _KINDS:
        at_use = any(part.get(_AT_USE) is True for part in _applying(document, schemas))
        yield OptionReference(path, value, at_use)
        return
    inner = _nested(value)
    if not inner:  # what holds no other holds no reference, and its schema is not read for one
        return
    applying = _applying(document, schemas)
    said_of: Callable[[Any, Any], Iterator[Any]] = of_key if isinstance(value, Mapping) else of_item
    for step, held in inner:
        below = [schema for part in applying for schema in said_of(part, step)]
        yield from _walk(document, below, held, (*path, step))


def _nested(value: Any) -> list[tuple[Any, Any]]:
    """What of `value` may hold a reference, each by its key or its index."""
    if isinstance(value, Mapping):
        steps: Iterable[tuple[Any, Any]] = value.items()
    else:
        steps = enumerate(value) if isinstance(value, list | tuple) else ()
    return [
        (step, held) for step, held in steps if held and isinstance(held, Mapping | list | tuple)
    ]


def _applying(document: Any, schemas: list[Any]) -> list[Mapping[str, Any]]:
    try:
        return [part for schema in schemas for part in parts(document, schema)]
    except Unknown:  # then nothing is known to be read later
        return []


async def resolved(
    options: Mapping[str, Any],
    schema: Any,
    plugin: str,
    secrets: ISecrets,
    environ: Mapping[str, str],
    read: list[str] | None = None,
) -> dict[str, Any]:
    """A copy of `options` in which each reference is replaced by what it names.

    One whose field says `secretAtUse` stays, read-only. What was read is added to `read`, so
    that it can be kept out of logs. Raises `Skipped`, naming the option and what it names.
    """
    copy: dict[str, Any] = _copied(options)
    for reference in references_in(schema, options):
        if why := refusal(reference):
            raise Skipped(f"plugins.{plugin}.options.{reference.words}{why}", plugin)
        if reference.at_use:
            value: Any = read_only(reference.value)
        else:
            value = await read_reference(reference, plugin, secrets, environ)
            if read is not None:
                read.append(value)
        _put(copy, reference.path, value)
    return copy


def refusal(reference: OptionReference) -> str | None:
    """Why an option may not name what it names, in words to go behind its own; None where it may,
    as far as that can be told without reading anything.

    What is no name is not repeated: it may be a secret that was written in a name's place. Whoever
    may set an option may not therefore have a plugin show what a connector signs in with.
    """
    kind, name = next(iter(reference.value.items()))
    if not isinstance(name, str) or not name:
        return f".{kind} must be text: the name of what is read"
    if kind != _VAULT:
        return None
    try:
        parsed = parse_name(name)
    except SecretFailure as failure:
        return f" names no secret: {failure}"
    if reference.at_use:  # for whose work it is read is the plugin's to say then
        return None
    if parsed.scope != "host":
        # A vault may hold it: a plugin is loaded for nobody, so it is nobody's to read here.
        return (
            f" names {name}: a plugin is loaded for no team and for no person; name a secret "
            "of the host (host:<name>)"
        )
    return of_a_record(name)


def of_a_record(name: str) -> str | None:
    """Why no option may name this secret, in words to go behind its own; None where one may."""
    if not is_of_a_record(parse_name(name)):
        return None
    return f" names {name}, which is kept for a record: no option reads it"


async def read_reference(
    reference: OptionReference, plugin: str, secrets: ISecrets, environ: Mapping[str, str]
) -> str:
    """What an option names. Raises `Skipped`, naming the option and what it names."""
    kind, name = next(iter(reference.value.items()))
    at = f"plugins.{plugin}.options.{reference.words}"
    if kind != _VAULT:
        text = environ.get(name)
        if not text:
            found = "is empty in" if text == "" else "is not in"
            raise Skipped(f"{at} names the variable {name}, which {found} the environment", plugin)
        return text
    try:
        return await secrets.read(name)
    except SecretFailure as failure:
        why = str(failure)
    raise Skipped(f"{at} names {name}: {why}", plugin)


def _put(value: Any, path: tuple[str | int, ...], held: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = held


def _copied(value: Any) -> Any:
    """A JSON value as dicts and lists of its own."""
    if isinstance(value, Mapping):
        return {key: _copied(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_copied(item) for item in value]
    return value
