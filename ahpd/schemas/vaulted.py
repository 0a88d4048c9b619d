"""A record's secret fields, kept in the vault while the record holds their names.

A record is a connector, an agent or a tunnel; its owner is `host`, `team:<id>` or `user:<id>`.
The secret of its field is kept as `<owner>:<subject>/<id>/<field>`: `host:connector/x/apiKey`,
`team:backend/agent/build/env.ANTHROPIC_API_KEY`. Source: PLUGINS.txt, "An adapter of your own",
"An engine of your own", `x-ahpd-agents`, `x-ahpd-connectors`.
"""

from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred, gatherResults
from twisted.logger import Logger

from ahpd.interfaces.vault import ISecrets, MissingSecret, SecretFailure
from ahpd.schemas.documents import plain
from ahpd.schemas.filling import Field, fields_of, filled
from ahpd.schemas.references import SECRET, VARIABLES, is_reference, named_by
from ahpd.vault import names
from ahpd.vault.values import check_text

log = Logger()

_T = TypeVar("_T")

#: What names of records' secrets begin with, behind the owner.
SUBJECTS: Final = ("agent", "connector", "tunnel")


class Unread(Exception):
    """References that could not be read; none of its words holds a value.

    `missing` has `(kind, name)` of each, the kind `env` or `secret`, and `reasons` a line of
    each, in the same order.
    """

    def __init__(self, missing: Sequence[tuple[str, str]], reasons: Sequence[str] = ()) -> None:
        said = list(reasons) or [f"{kind}:{name} could not be read" for kind, name in missing]
        super().__init__("; ".join(said))
        self.missing = list(missing)
        self.reasons = said


def prefix(owner: str, subject: str, identifier: str) -> str:
    """What the names of one record's secrets begin with. Raises `SecretFailure`."""
    scope, colon, of = owner.partition(":")
    known = owner == "host" or (scope in ("team", "user") and colon and of and "/" not in of)
    if not known:
        raise SecretFailure("an owner is host, team:<id> or user:<id>, with no / in the id")
    if subject not in SUBJECTS or not identifier or "/" in identifier:
        raise SecretFailure("secrets are kept for an agent, a connector or a tunnel by its id")
    return f"{'host:' if owner == 'host' else f'{owner}/'}{subject}/{identifier}/"


class Vaulted:
    """Moves the secrets of records into the vault, and reads them back.

    `known` is told of each variable that is read, as `Secrets` tells of what the vault holds.
    """

    def __init__(
        self,
        secrets: ISecrets,
        environ: Mapping[str, str],
        known: Callable[[str], object] = lambda value: None,
    ) -> None:
        self._secrets = secrets
        self._environ = environ
        self._known = known

    @asynccontextmanager
    async def moving(
        self,
        schema: Mapping[str, Any],
        owner: str,
        subject: str,
        identifier: str,
        config: Mapping[str, Any],
        held: Mapping[str, Any] | None,
        extra: Collection[str] = (),
    ) -> AsyncIterator[dict[str, Any]]:
        """`config` as the record keeps it: `{"$secret": name}` in each secret field.

        Secret is what the schema marks (`secret`, or `writeOnly` as it was once written) and
        each field that `extra` names (`env.ANTHROPIC_API_KEY`). What is sent empty keeps what
        `held`, the record's config until now, has; `filled`, called before, also keeps what was
        not sent. `held` is None for a new record and for another owner's. A reference stays as it is: `{"fromEnv": NAME}` for the host's
        records alone, `{"$secret": name}` where the owner may read it and it is no other
        record's. Raises `SecretFailure`, naming the field; the vault is as it was then.

        The record is written within: where that raises, the vault is put back to what it held, so
        that a record that stays has the secrets it had.
        """
        whole, moving = self._planned(schema, owner, subject, identifier, config, held, extra)
        before = [(name, await self._held(name, owner)) for _, name in moving]
        begun = 0
        try:
            for field, name in moving:
                begun += 1
                await self._secrets.keep(name, field.value)
                field.place[field.key] = {SECRET: name}
            yield whole
        except Exception:
            await self._put_back(before[:begun])
            raise

    async def _held(self, name: str, owner: str) -> str | None:
        """What the vault holds under a name that is about to be replaced; None for nothing."""
        try:
            return await self._secrets.read(name, **_work(owner))
        except MissingSecret:
            return None

    async def _put_back(self, before: Sequence[tuple[str, str | None]]) -> None:
        for name, value in reversed(before):
            try:
                if value is None:
                    await self._secrets.forget(name)
                else:
                    await self._secrets.keep(name, value)
            except SecretFailure as failure:
                log.error("{name} is not what it was: {words}", name=name, words=str(failure))

    def _planned(
        self,
        schema: Mapping[str, Any],
        owner: str,
        subject: str,
        identifier: str,
        config: Mapping[str, Any],
        held: Mapping[str, Any] | None,
        extra: Collection[str],
    ) -> tuple[dict[str, Any], list[tuple[Field, str]]]:
        """The config as it is to be kept, and each field whose value is still plain in it with
        the name its secret is to have."""
        begin = prefix(owner, subject, identifier)
        whole = filled(schema, config, held, extra, absent=False)
        fields = list(fields_of(schema, whole, extra))
        taken = {self._referred(field, owner, begin) for field in fields if field.refers}
        moving: list[tuple[Field, str]] = []
        for field in fields:
            if field.secret and not field.refers:
                name = _free(f"{begin}{field.path}", taken)
                taken.add(name)
                names.parse(name)
                check_text(field.path, field.value)
                moving.append((field, name))
        return whole, moving

    def _referred(self, field: Field, owner: str, begin: str) -> str:
        """The name a reference names, once it may stay. Raises `SecretFailure`."""
        keyword, name = _reference(field)
        if keyword in VARIABLES:
            if owner != "host":
                raise SecretFailure(f"{field.path} {_ENVIRONMENT}")
            if not is_reference(field.value):
                raise SecretFailure(f"{field.path} names no variable")
            return str(name)
        try:
            found = names.parse(name)
        except SecretFailure as failure:
            raise SecretFailure(f"{field.path} names no secret: {failure}") from None
        refused = names.refusal(found, **_work(owner)) or _of_another(found, name, begin)
        if refused is not None:
            raise SecretFailure(f"{field.path} names {name}: {refused}")
        return str(name)

    async def read(self, config: Mapping[str, Any], owner: str) -> dict[str, Any]:
        """A copy of `config` with each reference in it read, for the work of `owner`.

        Raises `Unread` naming every one that cannot be.
        """
        copy: dict[str, Any] = plain(config)
        fields = [field for field in fields_of({}, copy) if field.refers]
        missing: dict[tuple[str, str], str] = {}
        for why in await _together(self._fill(field, owner) for field in fields):
            if why is not None:
                missing.setdefault(why[0], why[1])
        if missing:
            raise Unread(list(missing), list(missing.values()))
        return copy

    async def _fill(self, field: Field, owner: str) -> tuple[tuple[str, str], str] | None:
        """Put what a reference names in its place; what cannot be read, and why, else."""
        keyword, name = _reference(field)
        kind = "env" if keyword in VARIABLES else "secret"
        try:
            if not is_reference(field.value):
                # What it names is not repeated: it may be a secret in a name's place.
                name = field.path
                raise SecretFailure(f"{field.path} names nothing that could be read")
            field.place[field.key] = (
                self._variable(name, owner)
                if kind == "env"
                else await self._secrets.read(name, **_work(owner))
            )
        except SecretFailure as failure:
            return (kind, name), str(failure)
        return None

    def _variable(self, name: str, owner: str) -> str:
        if owner != "host":
            raise SecretFailure(f"{name} {_ENVIRONMENT}")
        value = self._environ.get(name)
        if not value:
            raise SecretFailure(f"the environment holds no {name}")
        self._known(value)
        return value

    async def forget(self, config: Mapping[str, Any], *, under: str | None = None) -> None:
        """Forget the secrets a record names under its own prefix; `host:stripe` is not its own.

        `under` is that prefix (`prefix(owner, subject, id)`); without it every name that has
        the form of a record's secret is taken for its own. Each is tried, and the first
        `SecretFailure` raised.
        """
        await self._forget(self._own(config, under))

    async def forget_unnamed(
        self, held: Mapping[str, Any], config: Mapping[str, Any], *, under: str | None = None
    ) -> None:
        """Forget what `held` named of its own and `config`, which took its place, does not.

        For once the record is written. Raises `SecretFailure`.
        """
        kept = set(self._own(config, under))
        await self._forget([name for name in self._own(held, under) if name not in kept])

    def _own(self, config: Mapping[str, Any], under: str | None) -> list[str]:
        found = list(dict.fromkeys(_names_in(config)))
        if under is not None:
            return [name for name in found if name.startswith(under)]
        return [name for name in found if is_of_a_record(names.parse(name))]

    async def _forget(self, found: Sequence[str]) -> None:
        for failure in await _together(self._forgotten(name) for name in found):
            if failure is not None:
                raise failure

    async def _forgotten(self, name: str) -> SecretFailure | None:
        try:
            await self._secrets.forget(name)
        except SecretFailure as failure:
            return failure
        return None


async def _together(works: Iterable[Coroutine[Any, Any, _T]]) -> list[_T]:
    """What each comes to. The vault is asked all at once: one that does not answer takes its
    time once, however much is asked of it."""
    return await gatherResults([Deferred.fromCoroutine(work) for work in works])


_ENVIRONMENT: Final = "is of the daemon's environment, which the host's own records alone read"


def _reference(field: Field) -> tuple[str, Any]:
    return named_by(field.value) or ("", None)


def _work(owner: str) -> dict[str, str | None]:
    """Whose work reads the secrets of an owner's record."""
    if owner.startswith("team:"):
        return {"team": owner.removeprefix("team:"), "owner": None}
    return {"team": None, "owner": owner if owner.startswith("user:") else None}


def _of_another(name: names.SecretName, written: str, begin: str) -> str | None:
    """Why a record does not name this: else one who may not see a record's secret could have
    another record send it to where they choose."""
    if not is_of_a_record(name) or written.startswith(begin):
        return None
    return "it is kept for another record, or for another owner's; give the secret again"


#: The parts of a secret's name. Raises `SecretFailure`.
parse_name = names.parse


def is_of_a_record(name: names.SecretName) -> bool:
    """Whether a name has the form of a record's own secret: `host:agent/build/apiKey`."""
    subject, *rest = name.name.split("/", 2)
    return subject in SUBJECTS and len(rest) == 2 and all(rest)


def _names_in(config: Mapping[str, Any]) -> Iterator[str]:
    for field in fields_of({}, plain(config)):
        if field.refers and is_reference(field.value) and SECRET in field.value:
            yield field.value[SECRET]


def _free(name: str, taken: Collection[str]) -> str:
    """`name`, or with a number where a reference elsewhere in the record holds it already: an
    item of a list that moved keeps the name it was given at its first place."""
    number = 1
    free = name
    while free in taken:
        number += 1
        free = f"{name}~{number}"
    return free
