"""The example agents of the ACP SDK for Python, as they come with it, through a daemon."""

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon

from .talking import agent_in, talk_in, text_of

pytestmark = pytest.mark.agents

SDK, VERSION = "agent-client-protocol", "0.12.1"

#: Both say back what they were sent, the second behind `Client sent:`.
EXAMPLES = ("echo_agent.py", "agent.py")


def provider_of(name):
    """The example's agent here: `agent` alone is a name of the host's."""
    return f"sdk-{name.removesuffix('.py').replace('_', '-')}"


@pytest_twisted.async_yield_fixture(scope="module")
async def daemon(installer, installed, reactor, tmp_path_factory):
    """A daemon that offers every example."""
    python = installed(installer.pip, f"pip-{SDK}-{VERSION}", f"{SDK}=={VERSION}")
    folder = installed(installer.source, SDK, VERSION) / "examples"
    records = [
        {
            "id": provider_of(name),
            "engine": "acp",
            "name": name,
            "config": {"command": str(python), "args": [str(folder / name)], "hostTools": False},
        }
        for name in EXAMPLES
    ]
    made = Daemon(
        reactor,
        tmp_path_factory.mktemp("sdk") / "daemon",
        "--port",
        "0",
        settings={"agents": records},
    )
    await made.start()
    yield made
    await made.leave()


@pytest.mark.parametrize("name", EXAMPLES)
@pytest_twisted.ensureDeferred
async def test_it_answers_turn_after_turn(daemon, figures, name):
    provider = provider_of(name)
    probe = await daemon.connect(f"ann-{provider}", ROOT)
    ann = await talk_in(daemon, probe, provider)
    with figures.taking(f"{SDK} {name}", "start and first answer"):
        first = await ann.say("hello")
    assert text_of(first).endswith("hello")
    with figures.taking(f"{SDK} {name}", "next answer"):
        again = await ann.say("once more")
    assert text_of(again).removeprefix("Client sent:") == "once more"
    assert [turn["state"] for turn in probe.plain_state(ann.chat)["turns"]] == ["complete"] * 2
    assert agent_in(probe, provider)["displayName"] == name


@pytest_twisted.ensureDeferred
async def test_doctor_greets_each(daemon):
    done = daemon.run("doctor", "--json")
    for name in EXAMPLES:
        assert provider_of(name) in done.stdout
    assert done.stdout.count("Example Agent") >= 1
