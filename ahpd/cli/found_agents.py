"""The agents that installed engines know how to make, and which of them this machine has."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from ahpd.cli.output import remark
from ahpd.config.records import WrittenRecord, is_slug
from ahpd.interfaces.engines import RecordFailure, Template
from ahpd.records.building import prepare
from ahpd.records.engines import DISTRIBUTIONS, Engines, install_command
from ahpd.records.words import failure_words


@attrs.frozen(kw_only=True)
class Offer:
    """A template, and whether what it needs is here."""

    engine: Any
    """`IEngine`."""
    template: Template
    path: str | None
    """Its program, where it was found on `PATH`."""

    @property
    def found(self) -> bool:
        """Whether its program is on this machine."""
        return self.path is not None

    @property
    def missing(self) -> bool:
        """Whether it needs a program that is not on this machine."""
        return self.template.program is not None and self.path is None

    @property
    def how_to_install(self) -> str:
        """One line: its first command, else its page, else what it needs."""
        ways = [*self.template.install[:1], *([self.template.page] if self.template.page else [])]
        return ways[0] if ways else f"needs {self.template.program} on PATH"

    def record(self) -> dict[str, Any]:
        """The record made of it, as the file has it."""
        config = dict(self.template.config)
        variables = config.get("env")
        if isinstance(variables, Mapping):
            # A template names a key it wants with nothing in it; the environment has it or not.
            kept = {
                name: value
                for name, value in variables.items()
                if value != "" or name not in self.engine.key_variables
            }
            config.pop("env")
            config |= {"env": kept} if kept else {}
        row: dict[str, Any] = {
            "id": self.template.id,
            "engine": self.engine.name,
            "name": self.template.name,
        }
        return {**row, "config": config} if config else row


def offers(engines: Engines, environ: Mapping[str, str], taken: Sequence[str]) -> list[Offer]:
    """One for each template whose id is not taken; an engine that fails is said and passed over."""
    found: dict[str, Offer] = {}
    for engine in _loaded(engines):
        for template in _templates(engine):
            if template.id not in taken and is_slug(template.id):
                path = template.program and shutil.which(template.program, path=environ.get("PATH"))
                offer = Offer(engine=engine, template=template, path=path)
                found.setdefault(template.id, offer)
    return list(found.values())


def missing_engines(engines: Engines) -> list[tuple[str, str]]:
    """The engines this project publishes that are not installed, each with its command."""
    names = engines.names()
    return [(name, str(install_command(name))) for name in DISTRIBUTIONS if name not in names]


def _loaded(engines: Engines) -> Iterator[Any]:
    for name in engines.names():
        try:
            yield engines.get(name)
        except RecordFailure as failure:
            remark(f"ahpd: warning: {failure}")


def _templates(engine: Any) -> Sequence[Template]:
    try:
        return tuple(engine.templates())
    except Exception as error:
        remark(f"ahpd: warning: the engine {engine.name} failed: {failure_words(error)}")
        return ()


class _AnyVariable(dict[str, str]):
    """An environment that has every variable: a record is checked for a daemon's, not this one."""

    def get(self, key: str, default: Any = None) -> Any:
        return "a-value-from-the-environment"


def check(record: Mapping[str, Any], engines: Engines, defaults: Mapping[str, Any]) -> None:
    """Raises `RecordFailure` for a record its engine would not take."""
    written = WrittenRecord(
        id=record["id"],
        engine=record["engine"],
        name=record["name"],
        model=record.get("model"),
        config=record.get("config", {}),
    )
    prepare(written, engines, defaults, _AnyVariable())
