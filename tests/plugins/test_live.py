"""Plugins loaded, unloaded and reloaded: in what order, with what left, and what is refused."""

import gc
import sys
import weakref

import attrs
import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred

from ahpd import whose_code
from ahpd.config.plugins import PluginEntry
from ahpd.interfaces import PluginError, SecretFailure
from ahpd.plugins.belongings import file_of
from ahpd.plugins.fold import TwoAgents
from ahpd.plugins.loading import APPLY_BOUND, Loader
from ahpd.plugins.running import GRACE
from tests.plugins.live_kit import LiveKit
from tests.plugins.made import install

#: A plugin that writes down what happens to it, in a list the test reads.
DIARY = """
    from twisted.application.service import Service
    from ahpd.interfaces import Method

    diary = []

    class Diarist(Service):
        def startService(self):
            super().startService()
            diary.append("service started")

        def stopService(self):
            super().stopService()
            diary.append("service stopped")

    def apply(host, options):
        diary.append(("applied", dict(options)))
        host.register_service(Diarist())
        host.register_close(lambda: diary.append("first closer"))

        async def second():
            diary.append("second closer")

        host.register_close(second)
        host.on("listening", lambda event, context: diary.append(("listening", event["port"])))
        host.on("stopping", lambda event, context: diary.append("stopping"))
        host.register_method("x-diary/read", Method(grant="", handle=lambda params, caller: diary))
"""


@pytest.fixture
def kit(tmp_path):
    made = LiveKit(tmp_path, **{"host:stripe": "planted-secret-hunter2"})
    yield made
    made.forget()


def module_of(kit, plugin):
    return kit.plugins.running_plugins[plugin].imported.module


@ensureDeferred
async def test_a_plugin_lives_from_apply_to_its_last_closer_in_order(kit):
    entry = kit.write("diary", DIARY)
    await kit.start(entry, listening={"port": 7})
    diary = module_of(kit, "diary").diary
    assert diary == [("applied", {}), ("listening", 7), "service started"]
    assert list(kit.takes[-1].methods) == ["x-diary/read"]
    outcome = await kit.run(kit.plugins.apply([]))
    assert (outcome.restart, outcome.lines) == (False, ())
    assert diary[3:] == ["stopping", "service stopped", "first closer", "second closer"]
    assert kit.told == [("sessions ended",), ("gone", "diary"), ("unloaded", "diary")]
    assert kit.takes[-1].methods == {}


#: Says when it is imported and applied; its `apply` waits where its options say so.
SAYS = """
    from twisted.internet.defer import Deferred
    from tests.plugins import test_live

    NAME = __name__.split(".")[0].rpartition("_")[2]
    test_live.SAID.append(f"import {NAME}")
    if NAME == "bad":
        raise OSError("no device")

    async def apply(host, options):
        test_live.SAID.append(f"apply {NAME}")
        if options.get("waits"):
            await Deferred()
"""
#: What the plugins above said.
SAID = []


@ensureDeferred
async def test_a_start_imports_every_plugin_before_it_applies_one(kit):
    SAID.clear()
    entries = [kit.write(plugin, SAYS) for plugin in ("one", "bad", "off", "two")]
    entries[2] = attrs.evolve(entries[2], enabled=False)
    await kit.start(*entries)
    assert SAID == ["import one", "import bad", "import two", "apply one", "apply two"]
    assert (kit.loaded, len(kit.skips)) == (["one", "two"], 1)
    assert "OSError: no device" in kit.skips[0]
    whose = {name.split(".")[0] for name in modules_in(kit.folder)}
    assert sorted(name.rpartition("_")[2] for name in whose) == ["one", "two"]


@ensureDeferred
async def test_a_start_that_is_stopped_lets_go_of_what_it_imported_and_did_not_load(kit):
    SAID.clear()
    entries = [kit.write(plugin, SAYS) for plugin in ("one", "bad", "two")]
    entries[0] = attrs.evolve(entries[0], options={"waits": True})
    starting = Deferred.fromCoroutine(kit.plugins.load_first(entries))
    assert SAID[-1] == "apply one"
    held = modules_in(kit.folder)
    assert held
    kit.plugins.stop_loading()
    await kit.run(wait_for(starting))
    assert not modules_in(kit.folder)
    assert not any(place.is_relative_to(kit.folder) for place in whose_code._THEIRS)
    assert (kit.loaded, len(kit.skips), dict(kit.plugins.running_plugins)) == ([], 1, {})


@ensureDeferred
async def test_what_cannot_be_imported_is_skipped_before_another_is_applied(kit):
    """What it left running would run on until then."""
    SAID.clear()
    ticks = """
        from tests.plugins.test_live import KITS, SAID

        KITS[-1].clock.callLater(0, lambda: SAID.append("ticked"))
        raise OSError("no device")
    """
    KITS.append(kit)
    entries = [kit.write("one", SAYS), kit.write("bad", ticks)]
    entries[0] = attrs.evolve(entries[0], options={"waits": True})
    starting = Deferred.fromCoroutine(kit.plugins.load_first(entries))
    assert SAID == ["import one", "apply one"]
    assert len(kit.skips) == 1
    kit.clock.advance(1)
    assert "ticked" not in SAID
    kit.plugins.stop_loading()
    await kit.run(wait_for(starting))


#: What a test's plugins find their kit by.
KITS = []


@ensureDeferred
async def test_what_a_plugin_leaves_in_sys_modules_is_in_the_way_of_no_other(kit, monkeypatch):
    leaves = """
        import sys, types

        class Lazy(types.ModuleType):
            def __getattr__(self, name):
                raise ImportError(f"{self.__name__} is not installed")

        sys.modules["acme_optional"] = Lazy("acme_optional")
        sys.modules[7] = types.ModuleType("seven")
        sys.modules["acme_slotted"] = object()

        def apply(host, options):
            pass
    """
    for name in ("acme_optional", 7, "acme_slotted"):
        monkeypatch.setitem(sys.modules, name, None)  # so that it is as it was behind this
    entries = [kit.write("leaves", leaves), kit.write("diary", DIARY)]
    await kit.start(*entries)
    outcome = await kit.run(kit.plugins.reload("diary"))
    assert (outcome.restart, outcome.lines) == (False, ())
    diary = module_of(kit, "diary").diary
    await kit.run(kit.plugins.apply(entries[:1]))
    assert diary[-2:] == ["first closer", "second closer"]
    assert list(kit.plugins.running_plugins) == ["leaves"]


@ensureDeferred
async def test_one_whose_manifest_cannot_be_read_runs_on_whatever_else_changed(kit):
    entry = kit.write("diary", DIARY)
    await kit.start(entry)
    diary = module_of(kit, "diary").diary
    (kit.folder / "diary" / "plugin.yaml").write_text("titel: Diary")
    changed = attrs.evolve(entry, options={"new": 1})
    outcome = await kit.run(kit.plugins.apply([changed]))
    assert "it runs on as it was" in outcome.problems["diary"]
    assert "titel" in outcome.problems["diary"]
    assert module_of(kit, "diary").diary is diary
    assert "service stopped" not in diary
    kit.write("diary", DIARY)
    outcome = await kit.run(kit.plugins.apply([changed]))
    assert (outcome.problems, diary[-1]) == ({}, "second closer")
    assert module_of(kit, "diary").diary[0] == ("applied", {"new": 1})
    await kit.run(kit.plugins.apply([]))
    assert dict(kit.plugins.running_plugins) == {}


@pytest.mark.logs_failures
@ensureDeferred
async def test_code_that_cannot_be_let_go_of_holds_up_no_other_plugin(kit, monkeypatch):
    entries = [kit.write("one", DIARY.replace("x-diary", "x-one")), kit.write("diary", DIARY)]
    await kit.start(*entries)
    diaries = [module_of(kit, plugin).diary for plugin in ("one", "diary")]

    real = Loader.forget

    async def forget(loader, plugin):
        await real(loader, plugin)
        raise OSError("in the way")

    monkeypatch.setattr(Loader, "forget", forget)
    await kit.run(kit.plugins.apply(entries[1:]))
    assert ("unloaded", "one") in kit.told
    await kit.run(kit.plugins.close())
    assert [diary[-1] for diary in diaries] == ["second closer"] * 2


@ensureDeferred
async def test_a_plugin_that_fails_leaves_its_sibling_of_one_piece(kit, tmp_path, monkeypatch):
    site = tmp_path / "site"
    files = {
        "acme_kit/__init__.py": "",
        "acme_kit/errors.py": "class KitError(Exception): pass\n",
        "acme_kit/a/__init__.py": """
            from acme_kit.errors import KitError

            def apply(host, options):
                if options.get("fails"):
                    raise KitError("no")
        """,
        "acme_kit/a/plugin.yaml": "",
        "acme_kit/b/__init__.py": """
            from acme_kit.errors import KitError

            def whole():
                from acme_kit.b import later
                return later.KitError is KitError

            def apply(host, options):
                pass
        """,
        "acme_kit/b/later.py": "from acme_kit.errors import KitError\n",
        "acme_kit/b/plugin.yaml": "",
    }
    install(site, "acme-kit", {"kit-a": "acme_kit.a", "kit-b": "acme_kit.b"}, files)
    monkeypatch.syspath_prepend(str(site))
    a, b = (PluginEntry(source=name) for name in ("kit-a", "kit-b"))
    await kit.start(attrs.evolve(a, options={"fails": True}), b)
    assert list(kit.plugins.running_plugins) == ["kit-b"]
    kit_b = module_of(kit, "kit-b")
    assert kit_b.whole()
    assert sys.modules["acme_kit.b"] is kit_b
    await kit.run(kit.plugins.apply([a, b]))
    await kit.run(kit.plugins.apply([b]))
    del sys.modules["acme_kit.b.later"]
    assert kit_b.whole()
    assert "acme_kit.a" not in sys.modules
    # What changed on disk is run, of what the two share as well.
    errors = site / "acme_kit" / "errors.py"
    errors.write_text("class KitError(Exception): pass\nNEW = 'new'\n")
    used = site / "acme_kit" / "a" / "__init__.py"
    used.write_text("from acme_kit.errors import NEW\ndef apply(host, options): pass\n")
    outcome = await kit.run(kit.plugins.apply([a, b]))
    assert (outcome.problems, module_of(kit, "kit-a").NEW) == ({}, "new")
    for word in ("bug", "mended"):  # what failed is run as it is mended
        failing = "raise ValueError" if word == "bug" else "pass"
        errors.write_text(f"NEW = 'new'\ndef go(): {failing}\n")
        used.write_text("from acme_kit import errors\ndef apply(host, options): errors.go()\n")
        outcome = await kit.run(kit.plugins.reload("kit-a"))
        assert list(outcome.problems) == (["kit-a"] if word == "bug" else [])
    assert module_of(kit, "kit-b") is kit_b
    await kit.run(kit.plugins.apply([]))
    assert not [name for name in sys.modules if name.startswith("acme_kit")]


def modules_in(folder):
    """The names of what is imported from a folder."""
    held = sys.modules.copy()
    return {name for name, one in held.items() if str(file_of(one)).startswith(str(folder))}


async def wait_for(deferred):
    return await deferred


@ensureDeferred
async def test_each_loaded_copy_hears_one_listening_and_one_stopping(kit):
    entry = kit.write("diary", DIARY)
    await kit.start()
    await kit.run(kit.plugins.apply([entry]))
    first = module_of(kit, "diary").diary
    await kit.run(kit.plugins.reload("diary"))
    second = module_of(kit, "diary").diary
    await kit.run(kit.plugins.apply([]))
    for diary in (first, second):
        assert diary.count("stopping") == 1
        assert [one for one in diary if one[0] == "listening"] == [("listening", 1)]


DEAF = """
    from twisted.application.service import Service
    from twisted.internet.defer import Deferred

    diary = []

    class Diarist(Service):
        def startService(self):
            diary.append("service started")

        def stopService(self):
            diary.append("service stopped")

    def apply(host, options):
        async def listening(event, context):
            diary.append("listening")
            await Deferred()

        host.on("listening", listening)
        host.on("stopping", lambda event, context: diary.append("stopping"))
        host.register_service(Diarist())
"""


@pytest.mark.logs_failures
@ensureDeferred
async def test_a_listener_of_listening_that_does_not_answer_holds_the_start_up_for_its_grace(kit):
    entries = [kit.write("deaf", DEAF), kit.write("deafer", DEAF), kit.write("diary", DIARY)]
    began = kit.clock.seconds()
    await kit.start(*entries)
    assert kit.clock.seconds() - began == pytest.approx(GRACE, abs=0.1)
    diary = module_of(kit, "diary").diary
    assert diary == [("applied", {})]
    # Each is left behind after its time, and the next one is told.
    for _ in range(2):
        kit.clock.advance(30)
        kit.clock.advance(0)
    assert diary[1:] == [("listening", 1), "service started"]
    assert module_of(kit, "deaf").diary == ["listening", "service started"]


@pytest.mark.logs_failures
@ensureDeferred
async def test_a_reload_waits_for_a_listener_that_does_not_answer_for_its_grace(kit):
    entry = kit.write("coded", "def apply(host, options):\n    pass\n")
    await kit.start(entry)
    kit.write("coded", DEAF)
    began = kit.clock.seconds()
    await kit.run(kit.plugins.reload("coded"))
    assert kit.clock.seconds() - began == pytest.approx(GRACE, abs=0.1)


@pytest.mark.logs_failures
@ensureDeferred
async def test_a_plugin_that_goes_while_it_is_told_that_the_host_listens_begins_nothing_more(kit):
    await kit.start(kit.write("deaf", DEAF))
    diary = module_of(kit, "deaf").diary
    going = Deferred.fromCoroutine(kit.plugins.apply([]))
    for _ in range(4):
        kit.clock.advance(10)
    await going
    assert diary == ["listening", "stopping"]


@ensureDeferred
async def test_two_copies_of_a_plugin_never_run_at_once(kit):
    kit.running = 0
    entry = kit.write(
        "alone",
        """
        import sys

        def apply(host, options):
            held = sys.modules["ahpd_test_alone"]
            assert held["running"] == 0
            held["running"] += 1

            async def close():
                held["running"] -= 1

            host.register_close(close)
        """,
    )
    sys.modules["ahpd_test_alone"] = held = {"running": 0}
    try:
        await kit.start(entry)
        for number in range(3):
            changed = attrs.evolve(entry, options={"n": number})
            outcome = await kit.run(kit.plugins.apply([changed]))
            assert outcome.lines == ()
        assert (await kit.run(kit.plugins.reload("alone"))).lines == ()
        assert held["running"] == 1
    finally:
        del sys.modules["ahpd_test_alone"]


@ensureDeferred
async def test_a_reload_runs_the_code_that_is_on_disk_now_and_the_old_code_is_gone(kit):
    entry = kit.write("coded", "def apply(host, options):\n    host.log('one')\nversion = 1\n")
    await kit.start(entry)
    old = weakref.ref(module_of(kit, "coded"))
    kit.write("coded", "def apply(host, options):\n    host.log('two')\nversion = 2\n")
    await kit.run(kit.plugins.reload("coded"))
    assert module_of(kit, "coded").version == 2
    gc.collect()
    assert old() is None
    await kit.run(kit.plugins.apply([]))
    assert not [name for name in sys.modules if "plugin_coded" in name]


@ensureDeferred
async def test_an_entry_that_says_what_it_said_is_left_alone(kit):
    entry = kit.write("diary", DIARY)
    await kit.start(entry)
    module = module_of(kit, "diary")
    await kit.run(kit.plugins.apply([attrs.evolve(entry, place="plugins[3]", name="Other")]))
    assert module_of(kit, "diary") is module
    assert len(module.diary) == 3


@pytest.mark.parametrize("holding", ["port", "scheme"])
@ensureDeferred
async def test_what_holds_a_port_or_a_scheme_waits_for_the_next_start(kit, holding):
    code = {
        "port": """
            def apply(host, options):
                host.register_bindings(lambda session: {})
            """,
        "scheme": """
            from zope.interface import implementer
            from ahpd.interfaces import IResourceProvider

            @implementer(IResourceProvider)
            class Notes:
                async def read(self, uri, wanted):
                    return {}

            def apply(host, options):
                host.register_resource_provider("memo", Notes())
            """,
    }[holding]
    entry = kit.write("holder", code)
    await kit.start(entry)
    held = kit.plugins.running_plugins["holder"]
    for change in (
        lambda: kit.plugins.apply([]),
        lambda: kit.plugins.apply([attrs.evolve(entry, options={"a": 1})]),
        lambda: kit.plugins.apply([attrs.evolve(entry, enabled=False)]),
        lambda: kit.plugins.reload("holder"),
    ):
        assert (await kit.run(change())).restart
        assert kit.plugins.running_plugins["holder"] is held
    kit.forget()
    late = LiveKit(kit.folder)
    await late.start()
    outcome = await late.run(late.plugins.apply([entry]))
    assert outcome.restart
    assert late.plugins.running_plugins == {}
    assert not [
        name for name in sys.modules if "plugin_holder" in name and "holder" not in kit.loaded
    ]


@ensureDeferred
async def test_a_plugin_that_failed_is_tried_again_at_the_next_change(kit):
    bad = kit.write("bad", "raise RuntimeError('not today')\n")
    other = kit.write("other", "def apply(host, options): pass\n")
    await kit.start(bad, other)
    assert kit.loaded == ["other"]
    assert "RuntimeError: not today" in kit.skips[0]
    kit.write("bad", "def apply(host, options): pass\n")
    await kit.run(kit.plugins.apply([bad, other]))
    assert list(kit.plugins.running_plugins) == ["bad", "other"]


@ensureDeferred
async def test_two_agents_with_one_provider_refuse_the_start_and_name_both(kit):
    agent = """
        from ahpd.agents.demo.agent import DemoAgent

        def apply(host, options):
            host.register_agent(DemoAgent(host.reactor, None))
        """
    one, two = kit.write("one", agent), kit.write("two", agent)
    with pytest.raises(TwoAgents, match="the plugins one and two both register the agent"):
        await kit.plugins.load_first([one, two])


@ensureDeferred
async def test_an_agent_that_is_taken_is_left_out_of_a_host_that_runs_with_its_plugin(kit):
    agent = """
        from ahpd.agents.demo.agent import DemoAgent

        def apply(host, options):
            host.register_agent(DemoAgent(host.reactor, None))
        """
    one, two = kit.write("one", agent), kit.write("two", agent)
    await kit.start(one)
    outcome = await kit.run(kit.plugins.apply([one, two]))
    assert "both register the agent" in outcome.lines[0]
    assert list(kit.plugins.running_plugins) == ["one"]
    await kit.run(kit.plugins.apply([]))
    assert ("sessions ended", "demo") in kit.told


FAILING = {
    "raises": ("def apply(host, options):\n    raise ValueError('no key')\n", "ValueError: no key"),
    "raises later": (
        "async def apply(host, options):\n    raise ValueError('no key')\n",
        "ValueError: no key",
    ),
    "exports no apply": ("name = 'failing'\n", "does not export an apply function"),
    "does not import": ("import nothing_of_this_name\n", "ModuleNotFoundError"),
    "is no Python": ("def apply(:\n", "SyntaxError"),
    "leaves the interpreter": ("raise SystemExit(3)\n", "SystemExit"),
    "has another name": (
        "name = 'other'\ndef apply(host, options): pass\n",
        "exports the name 'other', and its id is 'failing'",
    ),
    "registers twice": (
        """
        from ahpd.interfaces import Method
        def apply(host, options):
            method = Method(grant="", handle=lambda params, caller: None)
            host.register_method("x-a/b", method)
            host.register_method("x-a/b", method)
        """,
        "methods: x-a/b is registered twice",
    ),
    "registers a port twice": (
        """
        def apply(host, options):
            host.register_bindings(dict)
            host.register_bindings(dict, replace=True)
        """,
        "the port bindings is registered twice",
    ),
    "asks for the host too early": (
        "def apply(host, options):\n    host.connect()\n",
        "connect is there from the event listening on",
    ),
}


@pytest.mark.parametrize("how", FAILING)
@ensureDeferred
async def test_a_plugin_that_fails_is_skipped_in_one_line_and_leaves_nothing(kit, how):
    code, words = FAILING[how]
    other = kit.write("other", "def apply(host, options): pass\n")
    await kit.start(kit.write("failing", code), other)
    (line,) = kit.skips
    assert line.startswith("plugin failing skipped: ")
    assert words in line
    assert "\n" not in line
    assert "Traceback" not in line
    assert kit.loaded == ["other"]
    assert not [name for name in sys.modules if "plugin_failing" in name]
    assert kit.takes[-1].methods == {}


@ensureDeferred
async def test_what_a_plugin_opened_before_it_failed_it_closes(kit):
    entry = kit.write(
        "half",
        """
        import sys
        def apply(host, options):
            host.register_close(lambda: sys.modules["ahpd_test_half"].append("closed"))
            raise ValueError("half way")
        """,
    )
    sys.modules["ahpd_test_half"] = closed = []
    try:
        await kit.start(entry)
    finally:
        del sys.modules["ahpd_test_half"]
    assert closed == ["closed"]


@ensureDeferred
async def test_an_apply_that_never_returns_is_skipped(kit):
    entry = kit.write(
        "endless",
        """
        from twisted.internet.defer import Deferred
        async def apply(host, options):
            await Deferred()
        """,
    )
    loading = Deferred.fromCoroutine(kit.plugins.load_first([entry]))
    kit.clock.advance(APPLY_BOUND - 1)
    assert not loading.called
    kit.clock.advance(1)
    await loading
    assert f"did not return within {APPLY_BOUND:g} s" in kit.skips[0]


@ensureDeferred
async def test_nothing_is_registered_after_apply_returned(kit):
    entry = kit.write(
        "late",
        """
        from ahpd.interfaces import Method
        kept = []
        heard = []
        def apply(host, options):
            kept.append(host)
        """,
    )
    await kit.start(entry)
    module = module_of(kit, "late")
    host = module.kept[0]
    for register in (
        lambda: host.register_close(print),
        lambda: host.register_method("x-late/a", None),
        lambda: host.register_bindings(dict),
        lambda: host.register_chat_preamble(print),
    ):
        with pytest.raises(PluginError):
            register()
    with pytest.raises(PluginError, match="late: nothing may be registered after apply returned"):
        host.register_close(print)
    host.on("message", lambda event, context: module.heard.append(event))
    kit.events.emit("message", {})
    kit.clock.advance(0)
    assert module.heard == []


@pytest.mark.logs_failures
@ensureDeferred
async def test_a_closer_that_fails_or_never_returns_costs_no_other(kit):
    entry = kit.write(
        "closing",
        """
        from twisted.internet.defer import Deferred
        done = []
        def broken():
            raise RuntimeError("no")
        async def endless():
            await Deferred()
        def apply(host, options):
            host.register_close(broken)
            host.register_close(endless)
            host.register_close(lambda: done.append("last"))
        """,
    )
    await kit.start(entry)
    done = module_of(kit, "closing").done
    going = Deferred.fromCoroutine(kit.plugins.apply([]))
    kit.clock.advance(1)
    assert done == []
    kit.clock.advance(10)
    await going
    assert done == ["last"]


@ensureDeferred
async def test_options_are_the_plugins_own_copy_with_secrets_read(kit):
    entry = kit.write(
        "keyed",
        """
        seen = []
        defaults = {"model": "fast"}
        def apply(host, options):
            seen.append(options)
            options["model"] = "mine"
        """,
        optionsSchema={
            "type": "object",
            "properties": {
                "apiKey": {"type": "string", "writeOnly": True},
                "model": {"type": "string"},
            },
            "required": ["apiKey", "model"],
        },
    )
    given = attrs.evolve(entry, options={"apiKey": {"$secret": "host:stripe"}})
    await kit.start(given)
    assert module_of(kit, "keyed").seen == [{"apiKey": "planted-secret-hunter2", "model": "mine"}]
    assert given.options == {"apiKey": {"$secret": "host:stripe"}}
    assert "planted-secret-hunter2" in kit.loader.read


@ensureDeferred
async def test_a_vault_that_a_plugin_supplies_holds_what_the_next_one_names(kit):
    vault = kit.write(
        "vault",
        """
        from zope.interface import implementer
        from ahpd.interfaces import IVault

        @implementer(IVault)
        class Vault:
            async def get(self, name):
                return f"value of {name}"
            async def set(self, name, value): ...
            async def delete(self, name):
                return False
            async def list(self):
                return []

        def apply(host, options):
            host.register_vault(Vault(), replace=True)
        """,
    )
    reader = kit.write("reader", "seen = []\ndef apply(host, options): seen.append(options)\n")
    reader = attrs.evolve(reader, options={"key": {"$secret": "host:any"}})
    await kit.start(vault, reader)
    assert module_of(kit, "reader").seen == [{"key": "value of host:any"}]


@ensureDeferred
async def test_a_plugin_that_supplies_the_vault_names_no_secret_in_its_options(kit):
    vault = kit.write(
        "vault",
        """
        from zope.interface import implementer
        from ahpd.interfaces import IVault

        @implementer(IVault)
        class Vault:
            async def get(self, name): ...
            async def set(self, name, value): ...
            async def delete(self, name): ...
            async def list(self): ...

        def apply(host, options):
            host.register_vault(Vault(), replace=True)
        """,
    )
    await kit.start(attrs.evolve(vault, options={"key": {"$secret": "host:stripe"}}))
    assert "its option key names a secret, and it supplies the vault" in kit.skips[0]


@ensureDeferred
async def test_records_opened_in_apply_answer_once_the_store_is_known(kit):
    entry = kit.write(
        "keeper",
        """
        from twisted.internet.defer import Deferred, ensureDeferred
        seen = []
        changes = []
        async def fill(records):
            await records.put({"id": "one", "text": "hello"})
            seen.append(await records.get("one"))
        def apply(host, options):
            records = host.records("keepings", body="text")
            records.watch(changes.append)
            ensureDeferred(fill(records))
        """,
    )
    await kit.plugins.load_first([entry])
    module = module_of(kit, "keeper")
    assert module.seen == []
    from ahpd.record_store.memory import MemoryRecordStore

    kit.world.records_are(MemoryRecordStore())
    assert module.seen == [{"id": "one", "text": "hello"}]
    assert [(one.id, one.type) for one in module.changes] == [("one", "added")]


@ensureDeferred
async def test_a_collection_is_one_plugins_until_it_goes(kit):
    code = "def apply(host, options):\n    host.records('shared')\n"
    one, two = kit.write("one", code), kit.write("two", code)
    await kit.start(one, two)
    assert "the records shared are the plugin one's" in kit.skips[0]
    outcome = await kit.run(kit.plugins.apply([two]))
    assert outcome.lines == ()
    assert list(kit.plugins.running_plugins) == ["two"]


@ensureDeferred
async def test_a_plugin_that_went_is_answered_nothing(kit):
    entry = kit.write("gone", "kept = []\ndef apply(host, options): kept.append(host)\n")
    await kit.start(entry)
    host = module_of(kit, "gone").kept[0]
    await kit.run(kit.plugins.apply([]))
    with pytest.raises(PluginError, match="connect: the plugin gone was unloaded"):
        host.connect()
    host.show_view({})
    assert not [one for one in kit.told if one[0] == "view"]


@ensureDeferred
async def test_the_context_is_to_read(kit):
    entry = kit.write("reads", "kept = []\ndef apply(host, options): kept.append(host)\n")
    await kit.start(entry)
    host = module_of(kit, "reads").kept[0]
    assert (host.id, host.path, host.version, host.host_name) == (
        "reads",
        kit.folder,
        "0.1.0",
        "here",
    )
    for name in ("path", "paths", "version", "config_dir"):
        with pytest.raises(AttributeError):
            setattr(host.context, name, None)
    assert isinstance(host.paths, tuple)


@ensureDeferred
async def test_a_secret_is_read_by_name_and_scope(kit):
    entry = kit.write("secretive", "kept = []\ndef apply(host, options): kept.append(host)\n")
    await kit.start(entry)
    host = module_of(kit, "secretive").kept[0]
    assert await host.secret("host:stripe") == "planted-secret-hunter2"
    for name in ("stripe", "host:none", "team:a/b", "user:a/b"):
        with pytest.raises(SecretFailure) as refused:
            await host.secret(name)
        assert "hunter2" not in str(refused.value)


@ensureDeferred
async def test_a_registration_outside_of_the_contracts_fails_the_plugin(kit):
    code = """
        from ahpd.interfaces import Channel
        def apply(host, options):
            host.register_channel("x-note", Channel(grant="", snapshot=lambda uri, caller: {}))
        """
    entry = kit.write("notes", code, contracts={"channels": ["x-notes"]})
    await kit.start(entry)
    assert "channels needs x-note to be a name in contracts.channels" in kit.skips[0]


@ensureDeferred
async def test_a_gap_of_a_schema_is_a_line_and_no_failure(kit):
    entry = kit.write(
        "gappy",
        """
        def apply(host, options):
            host.register_session_config("files", {"type": "array", "title": "Files"})
        """,
        optionsSchema={"type": "object", "properties": {"env": {"type": "object"}}},
    )
    await kit.start(entry)
    assert kit.loaded == ["gappy"]
    lines = [line for _, line in kit.problems]
    assert any("env" in line and "object with no" in line for line in lines)
    assert any("files" in line for line in lines)
