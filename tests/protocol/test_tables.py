"""The tables of actions, commands and notifications, without the protocol's own data."""

import subprocess
import sys

import pytest

from ahpd.protocol.actions import ACTIONS, belongs_on, introduced_in
from ahpd.protocol.methods import COMMANDS, NOTIFICATIONS, is_extension
from ahpd.protocol.shapes import MODULES, every_shape, shape
from ahpd.protocol.shapes.reading import fields_of, is_object, members_of
from ahpd.protocol.uris import ChannelKind


def test_the_sizes_of_the_tables():
    assert len([spec for spec in ACTIONS.values() if not spec.extension]) == 106
    assert len(COMMANDS) == 31
    assert len(NOTIFICATIONS) == 11


@pytest.mark.parametrize("spec", ACTIONS.values(), ids=lambda spec: spec.type)
def test_an_action_s_shape_has_its_type_and_its_channel_its_kind(spec):
    shapes, _ = members_of(spec.shape)
    for declared in shapes:
        assert fields_of(declared)["type"].__args__ == (spec.type,)
    assert spec.type.startswith(f"{spec.kind.value}/")


@pytest.mark.parametrize("spec", COMMANDS.values(), ids=lambda spec: spec.name)
def test_a_command_s_params_name_its_channel(spec):
    channel = fields_of(spec.params)["channel"]
    assert (channel is str) is (spec.channel is None)
    if spec.channel is not None:
        assert channel.__args__ == (spec.channel,)
    assert spec.result is None or spec.result_declared_at is not None


@pytest.mark.parametrize("spec", NOTIFICATIONS.values(), ids=lambda spec: spec.name)
def test_a_notification_has_a_shape(spec):
    assert is_object(spec.params)


def test_twenty_commands_have_one_channel_and_ten_go_both_ways():
    assert len([spec for spec in COMMANDS.values() if spec.channel is not None]) == 20
    assert len([spec for spec in COMMANDS.values() if spec.direction == "both"]) == 10


def test_the_tables_cannot_be_written():
    with pytest.raises(TypeError):
        ACTIONS["x"] = None
    with pytest.raises(AttributeError):
        ACTIONS["chat/delta"].client_dispatchable = True


def test_where_an_action_belongs():
    assert belongs_on("chat/delta", ChannelKind.CHAT)
    assert not belongs_on("chat/delta", ChannelKind.SESSION)
    assert belongs_on("session/titleChanged", ChannelKind.CHAT)
    assert belongs_on("session/configChanged", ChannelKind.CHAT)
    assert not belongs_on("session/isReadChanged", ChannelKind.CHAT)
    assert not belongs_on("future/thing", ChannelKind.CHAT)


def test_since_when_an_action_is_known():
    assert introduced_in("canvas/stateChanged") == "0.10.0"
    assert introduced_in("chat/configChanged") is None
    assert introduced_in("future/thing") is None


@pytest.mark.parametrize(
    ("method", "outside"),
    [
        ("vscode/stopBackgroundWork", True),
        ("x-mine/thing", True),
        ("shutdown", True),
        ("initialize", False),
        ("noSuchThing", False),
        ("xylophone", False),
    ],
)
def test_which_methods_lie_outside_the_protocol(method, outside):
    assert is_extension(method) is outside


def test_every_module_of_shapes_is_listed_and_a_name_is_one_shape():
    import pkgutil

    import ahpd.protocol.shapes as package

    found = {module.name for module in pkgutil.iter_modules(package.__path__)}
    assert found == {*MODULES, "notation", "reading"}
    names, homes = every_shape(), {}
    for module in MODULES:
        for name, value in vars(sys.modules[f"{package.__name__}.{module}"]).items():
            if name in names:
                homes.setdefault(name, []).append(value)
    assert all(all(value == values[0] for value in values) for values in homes.values())


def test_the_tables_alone_import_no_shapes():
    """A start that checks nothing pays for none of them."""
    code = (
        "import sys; import ahpd.protocol.actions, ahpd.protocol.methods, ahpd.protocol.check;"
        "print(*[name for name in sys.modules if name.startswith('ahpd.protocol.shapes.')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["ahpd.protocol.shapes.notation", "ahpd.protocol.shapes.reading"]
    assert shape("messages.Message").__name__ == "Message"
