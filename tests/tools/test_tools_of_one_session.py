"""Tools that are another one for each session, and tools of several sources."""

import pytest

from ahpd.interfaces import HostTool, ToolCallContext, ToolFailure
from ahpd.tools.registry import ToolRegistry

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"


def tool(name="mail", **more):
    async def run(given, context):
        return f"{name} was given {sorted(given)}"

    return HostTool(definition={"name": name}, run=run, **more)


class Accounts:
    """A tool for the sessions whose configuration names accounts for it, or that `live` does."""

    def __init__(self):
        self.live = {}
        self.asked = []
        self.tool = HostTool(
            definition={"name": "mail"},
            run=self.run,
            for_session=self.seen,
            instructions="Mail somebody.",
        )

    def seen(self, session, config):
        names = [*config.get("connectors", {}), *self.live.get(session, ())]
        if "broken" in names:
            raise OSError("no")
        if not names:
            return None
        schema = {"type": "object", "properties": {"who": {"enum": names}}, "required": ["who"]}
        return {"name": "mail", "inputSchema": schema}

    async def run(self, given, context):
        self.asked.append((context.session, dict(given)))
        if given.get("who") == "gone":
            raise ToolFailure("gone: nobody by that name")
        return "sent"


@pytest.fixture
def hosted(tool_host):
    host = tool_host()
    host.accounts = Accounts()
    host.registry.register(host.accounts.tool)
    return host


def listed(host, session):
    tools = host.host.store.state(session)["serverTools"]
    return next((each for each in tools if each["name"] == "mail"), None)


def names(host, session):
    return listed(host, session)["inputSchema"]["properties"]["who"]["enum"]


def bound(*aliases):
    return {"connectors": {alias: f"connectors://mail/{alias}" for alias in aliases}}


def test_a_session_is_made_with_the_tool_as_its_configuration_has_it(hosted):
    hosted.session(S1, config=bound("work"))
    hosted.session(S2)
    assert names(hosted, S1) == ["work"]
    assert listed(hosted, S2) is None
    assert hosted.said(S1, "session/serverToolsChanged") == []
    start = hosted.agent.chats[0].start
    assert [each for each in start.server_tools if each["name"] == "mail"] == [listed(hosted, S1)]
    assert hosted.registry.instructions(S1).endswith("Mail somebody.")
    assert "Mail somebody." not in (hosted.registry.instructions(S2) or "")


def test_a_call_is_held_to_what_its_session_lists(hosted):
    hosted.session(S1, config=bound("work"))
    hosted.session(S2)
    call = {"at": hosted.chat(S1)}
    assert hosted.calls(("mail", {"who": "work"}), **call)[0]["success"]
    (wrong,) = hosted.calls(("mail", {"who": "home"}), **call)
    assert "expected one of work" in wrong["error"]["message"]
    (other,) = hosted.calls(("mail", {"who": "work"}), at=hosted.chat(S2))
    assert other["error"]["message"] == "This host has no tool named mail for this session."
    assert hosted.accounts.asked == [(S1, {"who": "work"})]


def test_what_moves_without_a_word_is_listed_from_the_next_turn(hosted):
    hosted.session(S1)
    assert listed(hosted, S1) is None
    hosted.accounts.live[S1] = ["late"]
    hosted.turn(hosted.chat(S1))
    assert names(hosted, S1) == ["late"]
    assert len(hosted.said(S1, "session/serverToolsChanged")) == 1
    # The conversation began again, with the list, within that turn.
    assert [each["name"] for each in hosted.agent.chats[-1].start.server_tools].count("mail") == 1
    began = len(hosted.agent.chats)
    hosted.turn(hosted.chat(S1))
    assert len(hosted.agent.chats) == began
    hosted.accounts.live[S1] = []
    hosted.turn(hosted.chat(S1))
    assert listed(hosted, S1) is None


def test_a_call_of_a_session_that_is_offered_it_no_more_is_the_tool_s_to_refuse(hosted):
    hosted.session(S1, config=bound())
    hosted.accounts.live[S1] = ["gone"]
    results = []

    async def script(turn):
        hosted.accounts.live[S1] = []
        results.append(await turn.host.run_tool("mail", {"who": "gone"}, "call-1"))

    hosted.turn(hosted.chat(S1), script=script)
    assert results[0]["error"]["message"] == "gone: nobody by that name"


def test_a_session_that_switched_it_off_has_it_off(hosted):
    hosted.session(S1, config={**bound("work"), "tools": {"mail": False}})
    assert listed(hosted, S1) is None
    (refused,) = hosted.calls(("mail", {"who": "work"}), at=hosted.chat(S1))
    assert not refused["success"]
    assert hosted.accounts.asked == []


@pytest.mark.logs_failures
def test_one_that_cannot_say_is_offered_to_nobody(hosted):
    hosted.session(S1, config=bound("broken"))
    assert listed(hosted, S1) is None


def test_it_is_listed_once_it_is_registered_and_not_when_it_is_not(tool_host):
    host = tool_host()
    host.session(S1, config=bound("work"))
    assert listed(host, S1) is None
    accounts = Accounts()
    host.registry.replace("connectors", {"mail": accounts.tool})
    assert names(host, S1) == ["work"]
    host.registry.replace("connectors", {})
    assert listed(host, S1) is None


def test_what_every_session_is_offered_alike_leaves_it_out(hosted):
    assert "mail" not in [each["name"] for each in hosted.registry.definitions()]
    assert "mail" in [each["name"] for each in hosted.registry.offered(S1, bound("a"))]


def test_a_session_s_connectors_are_set_when_it_starts(hosted):
    hosted.make(S1, config=bound("work"))
    change = {"type": "session/configChanged", "config": bound("home")}
    hosted.probe.dispatch(S1, change)  # nothing was sent to it so far
    hosted.host.settle()
    assert names(hosted, S1) == ["home"]
    hosted.turn(hosted.chat(S1))
    hosted.probe.dispatch(S1, {"type": "session/configChanged", "config": bound("other")})
    hosted.host.settle()
    assert names(hosted, S1) == ["home"]
    values = hosted.state(S1)["config"]["values"]
    assert values["connectors"] == bound("home")["connectors"]


# -- several sources ------------------------------------------------------------------------


def test_each_source_replaces_its_own_tools_alone(tool_host):
    registry = tool_host().registry
    before = [each["name"] for each in registry.definitions()]
    told = []
    registry.changed = lambda: told.append(True)
    a, b, c = tool("a"), tool("b"), tool("c")
    assert registry.replace("one", {"a": a, "b": b}) == []
    assert registry.replace("two", {"c": c}) == []
    assert len(told) == 2
    assert registry.replace("one", {"a": a, "b": b}) == []
    assert len(told) == 2
    registry.replace("one", {"b": b})
    assert [each["name"] for each in registry.definitions()] == [*before, "b", "c"]
    registry.replace("two", {})
    assert [each["name"] for each in registry.definitions()] == [*before, "b"]
    assert len(told) == 4


def test_a_tool_whose_name_is_in_use_is_left_out_and_told(tool_host):
    registry = tool_host().registry
    registry.replace("one", {"a": tool("a")})
    theirs = tool("a")
    (line,) = registry.replace("two", {"a": theirs, "b": tool("b")})
    assert line == "the tool a is left out: a tool named a is registered already"
    assert registry.replace("two", {}) == []
    assert "a" in [each["name"] for each in registry.definitions()]
    bad = HostTool(definition={"name": "x y"}, run=theirs.run)
    (line,) = registry.replace("two", {"x y": bad})
    assert "is no tool's name" in line


def test_a_tool_that_is_another_one_under_its_name_takes_its_place(tool_host):
    host = tool_host()
    host.registry.replace("one", {"mail": tool("mail")})
    host.session(S1)
    host.registry.replace("one", {"mail": tool("mail", instructions="New.")})
    context = ToolCallContext(session=S1, chat=host.chat(S1), tool_call_id="1")
    assert host.host.run(host.registry.run("mail", {}, context))["success"]
    assert host.registry.instructions(S1).endswith("New.")


def test_a_model_is_told_of_a_tool_where_its_session_is_offered_it():
    accounts = Accounts()
    registry = ToolRegistry([accounts.tool], configured=lambda session: bound("a"))
    assert registry.instructions(S1) == "Mail somebody."
    assert ToolRegistry([accounts.tool]).instructions(S1) is None


def test_a_tool_that_is_asked_cannot_move_what_a_session_is_configured_with(hosted):
    asked = []

    def seen(session, config):
        for change in (
            lambda: config.__setitem__("permissions", {"allow": ["Shell"]}),
            config["connectors"].clear,
        ):
            with pytest.raises(TypeError, match="the host's own"):
                change()
        asked.append(session)
        return {"name": "writes"}

    hosted.registry.register(tool("writes", for_session=seen))
    hosted.session(S1, config=bound("work"))
    hosted.registry.definitions(S1)
    hosted.registry.instructions(S1)
    hosted.calls(("writes", {}), at=hosted.chat(S1))
    assert len(asked) >= 3
    assert hosted.host.store.state(S1)["config"]["values"] == bound("work")
