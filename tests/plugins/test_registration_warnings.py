"""What of a registered schema its plugin is warned of."""

from zope.interface import implementer

from ahpd.connectors.adapters import adapter_warnings, check_adapter
from ahpd.interfaces import Adapter, IEngine
from ahpd.plugins.contribution import Contribution
from ahpd.plugins.registering import Checks, Registrar
from ahpd.schemas import gaps, write_only_paths

SCHEMA = {
    "type": "object",
    "properties": {
        "apiKey": {"type": "string", "writeOnly": True},
        "token": {"type": "string", "secret": True},
        "env": {"type": "object"},
    },
}


@implementer(IEngine)
class Engine:
    name = "acme"
    title = "Acme"
    description = "An agent of Acme's."
    host_only = ()
    key_variables = ()

    def schema(self):
        return SCHEMA

    def templates(self):
        return ()

    def open(self, record, ports):
        raise AssertionError("it is not opened")

    async def check(self, record, ports):
        return ()


def registrar(lines):
    checks = Checks(
        adapter=check_adapter,
        gaps=gaps,
        adapter_warnings=adapter_warnings,
        write_only=write_only_paths,
    )
    contribution = Contribution(plugin="acme")
    return Registrar(contribution, checks, lambda kind, name: None, lines.append)


def test_a_vault_field_that_does_not_say_secret_is_one_line_for_an_adapter():
    lines = []
    made = registrar(lines)
    made.register_adapter(
        Adapter(name="acme", title="Acme", schema=SCHEMA, open=lambda connector, view: None)
    )
    assert lines == [
        "adapter acme env: object with no properties",
        "adapter acme apiKey: writeOnly kept in the vault; mark it secret",
    ]
    assert list(made.contribution.adapters) == ["acme"]


def test_and_for_an_engine():
    lines = []
    made = registrar(lines)
    made.register_engine(Engine())
    assert lines == [
        "engine acme env: object with no properties",
        "engine acme apiKey: writeOnly kept in the vault; mark it secret",
    ]
    assert list(made.contribution.engines) == ["acme"]
