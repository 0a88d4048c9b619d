"""An engine for tests, copied into a distribution of its own. What it does is in the record."""

import contextlib
import sys

from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, IAgent
from ahpd.interfaces.agents import Finding
from ahpd.interfaces.engines import IEngine, RecordFailure, Template

IMPORTED = True
OPENED = []


@implementer(IAgent)
class FakeAgent:
    abilities = AgentAbilities()

    def __init__(self, record, ports):
        self.provider = record.config.get("provider", record.id)
        self.record, self.ports = record, ports

    def info(self):
        return {
            "provider": self.provider,
            "displayName": self.record.name,
            "description": self.record.description,
            "models": [],
        }

    def config_schema(self, working_directory, values):
        return {"type": "object", "properties": {}}

    async def open_chat(self, start):
        raise AgentFailure("it opens none")


@implementer(IEngine)
class FakeEngine:
    name = "fake"
    title = "Fake"
    description = "Does what its record says."
    host_only = ("command",)
    key_variables = ("FAKE_KEY",)

    def schema(self):
        return {
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "level": {"enum": ["low", "high"]},
                "apiKey": {"type": "string", "writeOnly": True},
                "phrase": {"type": "string", "secret": True},
                "env": {"type": "object", "additionalProperties": {"type": "string"}},
                "hosts": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
                "provider": {"type": "string"},
                "does": {"type": "string"},
            },
            "additionalProperties": False,
        }

    def templates(self):
        return (
            Template(
                id="shell",
                name="Shell Agent",
                program="sh",
                config={"command": "sh", "env": {"FAKE_KEY": "", "MODE": "quiet"}},
            ),
            Template(
                id="nowhere",
                name="Nowhere",
                program="no-such-program-at-all",
                install=("npm i -g nowhere",),
                page="https://nowhere.example/install",
                config={"command": "no-such-program-at-all"},
            ),
            Template(id="hosted", name="Hosted", description="Needs no program."),
        )

    def open(self, record, ports):
        OPENED.append(record)
        match record.config.get("does"):
            case "refuse":
                raise RecordFailure("config.command: is not where it was")
            case "tell":
                raise RecordFailure(f"config.apiKey: {record.config['apiKey']} was refused")
            case "break":
                raise RuntimeError(f"with {record.config.get('apiKey')}")
            case "nothing":
                return None
        return FakeAgent(record, ports)

    async def check(self, record, ports):
        match record.config.get("does"):
            case "hang":
                await Deferred()
            case "hang hard":
                while True:
                    with contextlib.suppress(CancelledError):
                        await Deferred()
            case "block":
                import time

                await ports.run_blocking(time.sleep, 3600)
            case "break":
                raise RuntimeError(f"with {record.config['apiKey']}")
            case "tell":
                key = record.config["apiKey"]
                return [
                    Finding(about="sign-in", ok=False, words=f"{key} is\nold", mend=f"set {key}")
                ]
            case "sign out":
                return [
                    Finding(about="program", ok=True, words="/bin/fake 1.2", mend="reinstall it"),
                    Finding(about="sign-in", ok=False, words="nobody is", mend="fake login"),
                ]
        return [Finding(about="program", ok=True, words=f"found, {sys.platform}")]


def make():
    return FakeEngine()


INSTANCE = FakeEngine()


class Nameless(FakeEngine):
    name = "other"


class NoEngine:
    name = "noengine"


def breaks():
    raise ValueError("not today")


def leaves():
    raise SystemExit(3)
