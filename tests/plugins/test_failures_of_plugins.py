"""What happens when a plugin fails, in every way there is: who goes on, and what is said."""

import sys
import textwrap

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.app.plugged import PluggedHost
from ahpd.app.plugin_side import make_plugin_side
from ahpd.config.plugins_file import PluginsFile
from ahpd.config.settings import Settings
from ahpd.plugins.fold import TwoAgents
from ahpd.plugins.live import STOP_BOUND
from ahpd.plugins.loading import APPLY_BOUND
from ahpd.plugins.running import CLOSE_BOUND
from ahpd.protocol.uris import ROOT

from .hosted import TALKS


@pytest.fixture
def diary():
    """A list that plugins of a test write to."""
    sys.modules["ahpd_test_diary"] = lines = []
    yield lines
    del sys.modules["ahpd_test_diary"]


DIARY = "import sys\ndiary = sys.modules['ahpd_test_diary']\n"


def code(text):
    return DIARY + textwrap.dedent(text)


ANYTHING = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

#: What fails, how, and what is said of it behind `plugin bad skipped: `.
TABLE = {
    "does not resolve": (None, {}, "is not there"),
    "has a wrong manifest": ("def apply(host, options): pass\n", {"icons": 3}, "icons"),
    "raises when it is imported": ("raise RuntimeError('oh')\n", {}, "RuntimeError: oh"),
    "has no apply": ("x = 1\n", {}, "does not export an apply function"),
    "is given options that do not fit": (
        "def apply(host, options): pass\n",
        {"optionsSchema": ANYTHING},
        "plugins.bad.options",
    ),
    "raises in apply": ("def apply(host, options): raise ValueError('no')\n", {}, "ValueError: no"),
    "raises in an awaited apply": (
        "async def apply(host, options): raise ValueError('no')\n",
        {},
        "ValueError: no",
    ),
    "makes a registration that is no good": (
        "def apply(host, options): host.register_tool(3)\n",
        {},
        "HostTool",
    ),
    "raises SystemExit": (
        "import sys\ndef apply(host, options): sys.exit(3)\n",
        {},
        "SystemExit: 3",
    ),
    "raises SystemExit later": (
        "import sys\nasync def apply(host, options): sys.exit(3)\n",
        {},
        "SystemExit: 3",
    ),
    "raises KeyboardInterrupt": (
        "def apply(host, options): raise KeyboardInterrupt\n",
        {},
        "KeyboardInterrupt",
    ),
    "interrupts its import": ("raise KeyboardInterrupt\n", {}, "KeyboardInterrupt"),
    "exhausts the stack": (
        "def apply(host, options): apply(host, options)\n",
        {},
        "RecursionError: maximum recursion depth exceeded",
    ),
    "exhausts the stack in its import": (
        "def deeper(): deeper()\ndeeper()\n",
        {},
        "RecursionError: maximum recursion depth exceeded",
    ),
    "cancels itself": (
        """
        from twisted.internet.defer import Deferred
        async def apply(host, options):
            waiting = Deferred()
            host.reactor.callLater(0, waiting.cancel)
            await waiting
        """,
        {},
        "its apply failed: CancelledError (main.py:",
    ),
    "raises what cannot be put into words": (
        """
        class Odd(Exception):
            def __str__(self): raise RuntimeError("twice")
        def apply(host, options): raise Odd
        """,
        {},
        "its apply failed: Odd",
    ),
    "raises what looks like a time that is over": (
        "def apply(host, options): raise TimeoutError('slow server')\n",
        {},
        "TimeoutError: slow server",
    ),
}


@pytest.mark.parametrize("how", TABLE)
@pytest.mark.parametrize("when", ["at the start", "while the host runs"])
def test_a_plugin_that_fails_is_skipped_and_the_next_one_is_tried(hosted, how, when):
    text, manifest, words = TABLE[how]
    bad = hosted.write("bad", text or "", **manifest)
    if text is None:
        bad = {"source": bad["source"] + "-gone"}
    if how == "is given options that do not fit":
        bad["options"] = {"n": "many"}
    good = hosted.write("good", TALKS)
    if when == "at the start":
        hosted.start(bad, good)
    else:
        hosted.start()
        hosted.list(bad, good)
        (line,) = hosted.ask("apply")["problems"]
        assert words in line
    assert hosted.call("x-talks/say") == {}
    assert list(hosted.plugins.running_plugins) == ["good"]
    bad_row = next(row for row in hosted.rows().values() if row["id"] != "good")
    assert bad_row["loaded"] is False
    assert words in bad_row["problem"]
    assert "\n" not in bad_row["problem"]
    assert "Traceback" not in repr(hosted.probe.frames)
    assert hosted.ask("disable", id=bad_row["id"]) == {"id": bad_row["id"]}
    assert "Traceback" not in repr(hosted.rows())


def test_a_bad_registration_loses_everything_the_plugin_registered(hosted):
    bad = hosted.write(
        "bad",
        TALKS + "        host.register_tool(3)\n",
    )
    hosted.start(bad)
    with pytest.raises(Exception, match="x-talks/say"):
        hosted.call("x-talks/say")


# -- two agents -------------------------------------------------------------------------------

AGENT = """
    from ahpd.testing.agents import ScriptedAgent

    agent = ScriptedAgent(provider="acme")

    def apply(host, options):
        host.register_agent(agent)
"""


def plugged(hosted, *entries, **settings):
    """A host that loads when it starts, as a process makes it; nothing is started."""
    hosted.list(*entries)
    clock = Clock()
    made = Settings(
        listens=False,
        stdio=False,
        paths=(hosted.folder,),
        plugins=PluginsFile(hosted.file).read().entries,
        config_directory=hosted.config,
        **settings,
    )
    side = make_plugin_side(made, clock, environ={})
    return PluggedHost(made, clock, side), clock, side


def settled(clock, seconds=0):
    clock.advance(seconds)
    while any(call.getTime() <= clock.seconds() for call in clock.getDelayedCalls()):
        clock.advance(0)


def test_two_agents_of_one_name_refuse_the_start_and_what_was_applied_is_closed(hosted, diary):
    closing = code(AGENT) + "    host.register_close(lambda: diary.append('closed'))\n"
    host, clock, side = plugged(hosted, hosted.write("one", closing), hosted.write("two", closing))
    host.startService()
    failures = []
    host.ready.addErrback(failures.append)
    settled(clock)
    (failure,) = failures
    assert failure.check(TwoAgents)
    assert str(failure.value) == (
        "the plugins one and two both register the agent acme: turn one of them off"
    )
    assert diary == ["closed", "closed"]
    assert side.plugins.running_plugins == {}
    stopped = host.stopService()
    settled(clock)
    assert stopped.called


def test_an_agent_that_comes_later_gives_way_wherever_it_is_listed(hosted):
    two = hosted.write("two", AGENT)
    hosted.start(two)
    module = hosted.module("two")
    hosted.list(hosted.write("one", AGENT), two, hosted.write("good", TALKS))
    (line,) = hosted.ask("apply")["problems"]
    assert line.startswith("plugin one skipped: the plugins one and two both register")
    assert hosted.module("two") is module
    assert list(hosted.plugins.running_plugins) == ["two", "good"]
    assert hosted.row("one")["problem"] == line


# -- an apply that takes its time -------------------------------------------------------------

NEVER = """
    from twisted.internet.defer import CancelledError, Deferred

    async def apply(host, options):
        while True:
            try:
                await Deferred()
            except CancelledError:
                diary.append("cancelled")
"""


def test_an_apply_that_never_returns_and_is_not_cancelled_either_is_left_behind(hosted, diary):
    host, clock, side = plugged(
        hosted, hosted.write("never", code(NEVER)), hosted.write("good", TALKS)
    )
    host.startService()
    settled(clock)
    settled(clock, APPLY_BOUND - 1)
    assert side.plugins.running_plugins == {}
    settled(clock, 1)
    assert list(side.plugins.running_plugins) == ["good"]
    assert diary == ["cancelled"]
    assert side.announced().skipped == (
        f"plugin never skipped: its apply did not return within {APPLY_BOUND:g} s (main.py:9)",
    )
    stopped = host.stopService()
    settled(clock)
    assert stopped.called


def test_an_apply_that_blocks_holds_the_host_for_as_long_and_no_longer(hosted):
    """Nothing can interrupt code that blocks the reactor's thread: the bound is for what awaits."""
    hosted.start()
    hosted.list(hosted.write("slow", "import time\ndef apply(host, options): time.sleep(0.2)\n"))
    assert hosted.ask("apply") == {}
    assert list(hosted.plugins.running_plugins) == ["slow"]


def test_what_is_registered_late_is_refused_and_nothing_is_left_of_it(hosted):
    hosted.start(
        hosted.write(
            "late",
            """
            from ahpd.interfaces import Method
            raised = []
            def apply(host, options):
                def later():
                    try:
                        method = Method(grant="late:say", handle=lambda params, caller: 1)
                        host.register_method("x-late/say", method)
                    except Exception as error:
                        raised.append(str(error))
                host.reactor.callLater(1, later)
            """,
        )
    )
    hosted.host.advance(2)
    (words,) = hosted.module("late").raised
    assert "after apply returned" in words
    with pytest.raises(Exception, match="x-late/say"):
        hosted.call("x-late/say")


LEAKS = """
from ahpd.interfaces import Alert
def later(host):
    diary.append("it ran")
def apply(host, options):
    host.reactor.callLater(5, later, host)
    {then}
"""


@pytest.mark.logs_failures
@pytest.mark.parametrize(
    ("then", "end"),
    [
        ("pass", lambda hosted: hosted.ask("disable", id="leaks")),
        ("pass", lambda hosted: hosted.ask("reload", id="leaks")),
        ("raise ValueError", lambda hosted: None),
        ("async def apply(host, options): raise ValueError", lambda hosted: None),
    ],
    ids=["unloaded", "reloaded", "failed", "failed in a coroutine"],
)
def test_a_timer_that_a_plugin_leaves_behind_is_cancelled_and_said(
    hosted, diary, log_lines, then, end
):
    hosted.start(hosted.write("leaks", code(LEAKS.replace("{then}", then))))
    end(hosted)
    hosted.ask("remove", id="leaks", keep=True)
    hosted.host.advance(6)
    assert diary == []
    said = [line for line in log_lines() if "a timer of" in line]
    assert said
    assert all("plugin leaks: it left a timer of _ahpd_plugin_leaks.main" in one for one in said)


def test_what_is_left_behind_in_code_of_others_finds_a_host_that_does_nothing_for_it(hosted):
    """A timer whose code is the host's own is the host's, and comes to nothing."""
    hosted.start(
        hosted.write(
            "leaks",
            """
            from ahpd.interfaces import Alert
            def apply(host, options):
                host.reactor.callLater(5, host.alert, Alert(level="info", text="from beyond"))
            """,
        )
    )
    hosted.ask("disable", id="leaks")
    hosted.host.advance(6)
    assert hosted.row("leaks")["alerts"] == []


# -- its end -----------------------------------------------------------------------------------


@pytest.mark.logs_failures
def test_closers_that_raise_leave_or_never_return_hold_nobody_up(hosted, diary):
    hosted.start(
        hosted.write(
            "closing",
            code(
                """
                import sys
                from twisted.internet.defer import CancelledError, Deferred
                async def never():
                    while True:
                        try:
                            await Deferred()
                        except CancelledError:
                            diary.append("not cancelled")
                def broken(): raise RuntimeError("no")
                def apply(host, options):
                    host.register_close(broken)
                    host.register_close(lambda: sys.exit(1))
                    host.register_close(never)
                    host.register_close(lambda: diary.append("last"))
                """
            ),
        )
    )
    answers = []
    going = hosted.probe.call("x-ahpd/plugins/disable", {"channel": ROOT, "id": "closing"})
    Deferred.fromCoroutine(going).addBoth(answers.append)
    hosted.host.advance(CLOSE_BOUND - 1)
    assert answers == []
    hosted.host.advance(2)
    assert answers == [{"id": "closing"}]
    assert diary == ["not cancelled", "last"]


@pytest.mark.logs_failures
@pytest.mark.parametrize("how", ["raises", "leaves", "hangs"])
def test_a_service_that_fails_to_start_or_stop_costs_nobody_else(hosted, diary, how):
    does = {
        "raises": "raise RuntimeError('no')",
        "leaves": "raise SystemExit(1)",
        "hangs": "return Deferred()",
    }[how]
    hosted.start(
        hosted.write(
            "served",
            code(
                f"""
                from twisted.application.service import Service
                from twisted.internet.defer import Deferred
                class Bad(Service):
                    def startService(self):
                        if {how != "hangs"}: {does}
                    def stopService(self): {does}
                class Good(Service):
                    def startService(self): diary.append("started")
                    def stopService(self): diary.append("stopped")
                def apply(host, options):
                    host.register_service(Good())
                    host.register_service(Bad())
                """
            ),
        )
    )
    assert diary == ["started"]
    if how != "hangs":
        (alert,) = hosted.row("served")["alerts"]
        assert "a service failed to start" in alert["text"]
    answers = []
    going = hosted.probe.call("x-ahpd/plugins/disable", {"channel": ROOT, "id": "served"})
    Deferred.fromCoroutine(going).addBoth(answers.append)
    hosted.host.advance(CLOSE_BOUND + 1)
    assert answers == [{"id": "served"}]
    assert diary == ["started", "stopped"]


@pytest.mark.logs_failures
def test_a_listener_that_raises_or_leaves_costs_no_other_its_events(hosted, diary):
    hosted.start(
        hosted.write(
            "hears",
            code(
                """
                import sys
                def broken(event, context): raise RuntimeError("no")
                async def left(event, context): sys.exit(1)
                def apply(host, options):
                    host.on("client_connect", broken)
                    host.on("client_connect", left)
                    host.on("client_connect", lambda event, context: diary.append(event["client"]))
                """
            ),
        )
    )
    hosted.host.connect("bo")
    hosted.host.settle()
    assert "bo" in diary


def test_a_listener_that_hangs_delays_the_others_and_no_stop(hosted, diary):
    hosted.start(
        hosted.write(
            "hangs",
            code(
                """
                from twisted.internet.defer import CancelledError, Deferred
                async def never(event, context):
                    while True:
                        try:
                            await Deferred()
                        except CancelledError:
                            diary.append("not cancelled")
                def apply(host, options):
                    host.on("client_connect", never)
                    host.register_close(lambda: diary.append("closed"))
                """
            ),
        ),
        hosted.write(
            "hears",
            code(
                """
                def apply(host, options):
                    host.on("client_connect", lambda event, context: diary.append(event["client"]))
                """
            ),
        ),
    )
    hosted.host.connect("bo")
    assert diary == []
    hosted.host.advance(31)
    assert diary[:2] == ["not cancelled", "ada"]
    before = hosted.host.clock.seconds()
    hosted.stop()
    assert "closed" in diary
    assert hosted.host.clock.seconds() - before <= 2 * STOP_BOUND + 2


# -- several at once -------------------------------------------------------------------------

WAITS = """
    from twisted.internet.task import deferLater
    async def apply(host, options):
        diary.append(("applies", options.get("n")))
        host.register_close(lambda: diary.append(("closes", options.get("n"))))
        await deferLater(host.reactor, 1)
        diary.append(("applied", options.get("n")))
"""


def asked(hosted, command, **params):
    answers = []
    going = hosted.probe.call(f"x-ahpd/plugins/{command}", {"channel": ROOT, **params})
    Deferred.fromCoroutine(going).addBoth(answers.append)
    return answers


def test_two_entries_of_one_id_are_one_plugin(hosted):
    first = hosted.write("talks", TALKS)
    other = hosted.folder / "other"
    other.mkdir()
    (other / "plugin.yaml").write_text("id: talks\nmain: main.py\n")
    (other / "main.py").write_text("def apply(host, options): pass\n")
    hosted.start(first, {"source": str(other)})
    assert list(hosted.plugins.running_plugins) == ["talks"]
    rows = hosted.rows()
    assert rows["talks"]["loaded"] is True
    assert rows[str(other)]["loaded"] is False
    assert "talks" in rows[str(other)]["problem"]
    assert hosted.call("x-talks/say") == {}


def test_a_change_waits_for_an_apply_that_is_awaited(hosted, diary):
    hosted.start(hosted.write("talks", TALKS))
    hosted.list(*hosted.listed, hosted.write("waits", code(WAITS)))
    coming = asked(hosted, "apply")
    going = asked(hosted, "disable", id="talks")
    hosted.host.settle()
    assert (coming, going) == ([], [])
    assert "talks" in hosted.plugins.running_plugins
    hosted.host.advance(1)
    assert (coming, going) == ([{}], [{"id": "talks"}])
    assert list(hosted.plugins.running_plugins) == ["waits"]


def test_a_reload_during_a_reload_is_another_one(hosted, diary):
    hosted.list(hosted.write("waits", code(WAITS)))
    hosted.start()
    hosted.list({"source": str(hosted.folder / "waits")})
    loading = asked(hosted, "apply")
    hosted.host.advance(1)
    assert loading == [{}]
    diary.clear()
    first, second = asked(hosted, "reload", id="waits"), asked(hosted, "reload", id="waits")
    hosted.host.advance(1)
    hosted.host.advance(1)
    assert (first, second) == ([{"id": "waits"}], [{"id": "waits"}])
    assert [what for what, _ in diary] == ["closes", "applies", "applied"] * 2


def test_twenty_changes_at_once_end_with_the_last_and_one_copy(hosted, diary):
    waits = code(WAITS.replace("reactor, 1)", "reactor, 0.1)"))
    hosted.start()
    hosted.list(hosted.write("waits", waits))
    asked(hosted, "apply")
    hosted.host.advance(1)
    answers = [asked(hosted, "options", id="waits", key="n", value=n) for n in range(20)]
    for _ in range(40):
        hosted.host.advance(0.1)
    assert answers == [[{"id": "waits"}]] * 20
    assert diary[-1] == ("applied", 19)
    copies = 0
    for what, _ in diary:
        copies += {"applies": 1, "closes": -1}.get(what, 0)
        assert copies in (0, 1)
    assert hosted.values["plugins.waits"] == {"n": "<set>"}
    assert hosted.listed[0]["options"] == {"n": 19}


def test_a_stop_while_plugins_load_closes_what_was_applied(hosted, diary):
    closing = (
        "def apply(host, options): host.register_close(lambda: diary.append('first closes'))\n"
    )
    first = hosted.write("first", code(closing))
    waits = hosted.write("waits", code(WAITS))
    host, clock, side = plugged(hosted, first, waits, hosted.write("good", TALKS))
    host.startService()
    settled(clock)
    assert diary == [("applies", None)]
    stopped = host.stopService()
    settled(clock)
    assert stopped.called
    assert diary == [("applies", None), ("closes", None), "first closes"]
    assert side.plugins.running_plugins == {}
    assert not host.ready.called
    assert clock.getDelayedCalls() == []


def test_a_stop_while_a_plugin_comes_later_ends_with_it(hosted, diary):
    hosted.start()
    hosted.list(hosted.write("waits", code(WAITS)), hosted.write("good", TALKS))
    asked(hosted, "apply")
    hosted.host.settle()
    assert diary == [("applies", None)]
    hosted.stop()
    assert diary == [("applies", None), ("closes", None)]
    assert hosted.plugins.running_plugins == {}
