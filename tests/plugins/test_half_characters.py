"""A text with half a character, which can be sent to nobody: a plugin's costs the plugin, and
nobody else anything. Python reads a byte of a file name that is no UTF-8 as one."""

import json

import pytest

from ahpd.interfaces import Alert
from ahpd.plugins.shown import Shown
from ahpd.protocol.characters import is_whole, is_whole_json, whole, whole_json
from ahpd.protocol.uris import ROOT

from .hosted import PLUGINS

HALF = "note-\udcff"
WRITTEN = r"note-\udcff"


def test_what_is_half_a_character_is_written_as_python_does():
    assert whole("plain") == "plain"
    assert whole("größe 😀") == "größe 😀"
    assert whole(HALF) == WRITTEN
    assert whole_json({HALF: [HALF, 1, None]}) == {WRITTEN: [WRITTEN, 1, None]}
    assert is_whole("größe 😀")
    assert not is_whole(HALF)
    assert is_whole_json({"a": [1, None, "b"]})
    assert not is_whole_json({"a": [{HALF: 1}]})


SAYS = """
    from ahpd.interfaces import Alert, Method
    HALF = "note-\\udcff"
    HOST = []

    def apply(host, options):
        host.say(HALF)
        host.log(HALF)
        host.problem(HALF)
        host.alert(Alert(level="warning", text=HALF, ref="r"))
        host.register_method("x-says/it", Method(grant="", handle=lambda params, caller: {}))
        HOST.append(host)
"""


def test_what_a_plugin_says_with_one_is_shown_and_stops_nobody(hosted, log_lines):
    hosted.start(hosted.write("says", SAYS), hosted.write("other"))
    texts = [alert["text"] for alert in hosted.rows()["says"]["alerts"]]
    assert texts == [WRITTEN, WRITTEN]
    assert f"says: {WRITTEN}" in log_lines()
    assert hosted.call("x-says/it") == {}
    hosted.module("says").HOST[0].problem(HALF)
    assert hosted.ask("disable", id="other") == {"id": "other"}
    assert hosted.ask("enable", id="other") == {"id": "other"}


def test_what_is_raised_with_one_skips_the_plugin_alone(hosted):
    raises = 'def apply(host, options): raise ValueError("note-\\udcff")\n'
    hosted.start(hosted.write("raises", raises), hosted.write("other"))
    (alert,) = hosted.rows()["raises"]["alerts"]
    assert f"its apply failed: ValueError: {WRITTEN} (main.py:1)" in alert["text"]
    assert hosted.rows()["other"]["loaded"]


REGISTERED = {
    "a method's grant": 'host.register_method("x-a/b", Method(grant=HALF, handle=print))',
    "a channel's grant": 'host.register_channel("x-a", Channel(grant=HALF, snapshot=print))',
    "the title of grants": 'host.register_grants("a", HALF, ["take"])',
    "the description of grants": 'host.register_grants("a", "A", ["take"], HALF)',
    "a setting's title": 'host.register_session_config("mood", {"type": "string", "title": HALF})',
    "a setting's key": 'host.register_session_config(HALF, {"type": "string", "title": "t"})',
    "a tool's description": "host.register_tool(HostTool(definition=dict(name='a_b', title='T', "
    "description=HALF, inputSchema={'type': 'object', 'properties': {}}), run=print))",
    "a key of a tool's schema": "host.register_tool(HostTool(definition=dict(name='a_b', title='T', "
    "description='d', inputSchema={'type': 'object', 'properties': {HALF: {'type': 'string'}}}), "
    "run=print))",
    "a trigger's title": "host.register_trigger_type(TriggerType(type='a', title=HALF, "
    "events=({'id': 'e', 'title': 'E'},)))",
}


@pytest.mark.parametrize("registers", REGISTERED.values(), ids=REGISTERED)
def test_what_is_registered_with_one_is_refused_to_the_plugin_alone(hosted, registers):
    code = f"""
        from ahpd.interfaces import *
        HALF = "note-\\udcff"

        def apply(host, options):
            {registers}
    """
    hosted.start(hosted.write("half", code), hosted.write("other"))
    (alert,) = hosted.rows()["half"]["alerts"]
    assert "half a character" in alert["text"] or "found 'note-" in alert["text"]
    late = hosted.host.connect("late", ROOT, PLUGINS, foreign=True)
    hosted.call("createSession", late, channel="ahp-session:/s1")


@pytest.mark.logs_failures
def test_what_describes_itself_with_one_is_called_by_its_name(hosted):
    code = """
        from ahpd.interfaces import Description, Method

        def apply(host, options):
            described = lambda: Description(title="note-\\udcff")
            host.register_method(
                "x-half/it", Method(grant="", handle=lambda params, caller: {}, describe=described)
            )
    """
    hosted.start(hosted.write("half", code))
    late = hosted.host.connect("late", ROOT, foreign=True)
    (described,) = [
        one for one in late.state(ROOT)["_meta"]["ahpd.methods"] if one["method"] == "x-half/it"
    ]
    assert described["title"] == "x-half/it"


def test_a_manifest_with_one_is_wrong_and_a_catalog_with_one_is_left_out(hosted):
    entry = hosted.write("half")
    (hosted.folder / "half" / "plugin.yaml").unlink()
    said = {"id": "half", "main": "main.py", "title": "x \ud83d"}
    (hosted.folder / "half" / "plugin.json").write_text(json.dumps(said))
    catalog = {"i18n/pt.json": json.dumps({"meta": {"title": HALF}})}
    told = hosted.write("told", files=catalog, i18n="i18n")
    hosted.start(entry, told, hosted.write("other"))
    rows = {row["id"].rpartition("/")[2]: row for row in hosted.rows().values()}
    assert "title: found half a character (a lone surrogate)" in rows["half"]["alerts"][0]["text"]
    assert "holds half a character" in rows["told"]["alerts"][0]["text"]
    assert rows["other"]["loaded"]


# -- alerts -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("alert", "words"),
    [
        ({"text": OSError("gone")}, "an alert has a text, found OSError"),
        ({"text": "t", "ref": 5}, "an alert's ref is a text, found int"),
        ({"text": "t", "at": 5}, "an alert's at is a text, found int"),
        ({"text": "t", "level": "bad"}, "an alert has a level"),
    ],
)
def test_an_alert_that_is_none_is_refused_where_it_is_raised(alert, words):
    shown = Shown("it", None, lambda: None, lambda *_: None, tuple)
    with pytest.raises(ValueError, match=words):
        shown.alert(Alert(**{"level": "warning", **alert}))
    assert shown.alerts.shown == []
