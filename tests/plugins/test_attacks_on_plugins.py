"""What people without the grants, and plugins' neighbours, try: each is refused where it stands."""

import json
import os
import time

import pytest
from zope.interface import implementer

from ahpd.client.failures import ActionRefused
from ahpd.interfaces import IAccess, RpcError
from ahpd.protocol.errors import INVALID_PARAMS, PERMISSION_DENIED
from ahpd.protocol.uris import ROOT
from ahpd.testing.planted import planted

from .hosted import People

KEYED = {
    "type": "object",
    "properties": {
        "apiKey": {"type": "string", "writeOnly": True},
        "count": {"type": "integer"},
        "unit": {"type": "string"},
    },
}
KEY = planted("of an option")
INSTALLING = ("install", "remove", "update", "write", "source")


@implementer(IAccess)
class Guarded(People):
    """As `People`; nobody but whoever holds a grant has it."""

    def may(self, owner, grant):
        return f"{owner[5:]} may not {grant} here"


def push(hosted, probe, plugin, value, **more):
    action = {"type": "root/configChanged", "config": {f"plugins.{plugin}": value}, **more}
    try:
        hosted.host.run(probe.perform(ROOT, action))
    except ActionRefused as refused:
        return refused.envelope.rejection
    return None


# -- the root's configuration ---------------------------------------------------------------------


def test_a_push_of_options_takes_the_grant_that_setting_one_takes(hosted):
    people = Guarded(ada={"plugin:list"}, bob={"plugin:list", "plugin:options"})
    hosted.start(hosted.write("keyed", optionsSchema=KEYED), access=people)
    eve = hosted.host.connect("eve", ROOT, foreign=True)
    bob = hosted.host.connect("bob", ROOT, foreign=True)
    for probe in (hosted.probe, eve):
        refused = push(hosted, probe, "keyed", {"unit": "word"})
        assert refused == "config.plugins.keyed: this needs plugin:options"
        code, _ = hosted.fails("options", probe, id="keyed", key="unit", value="word")
        assert code == PERMISSION_DENIED
    assert "options" not in hosted.listed[0]
    assert push(hosted, bob, "keyed", {"unit": "word"}) is None
    assert hosted.listed[0]["options"] == {"unit": "word"}


@pytest.mark.parametrize("held", [(), ("plugin:options", "plugin:enable", "plugin:reload")])
def test_nothing_but_its_grant_installs(hosted, held):
    people = Guarded(ada={"plugin:list", "operation:invoke", *held})
    hosted.start(hosted.write("keyed", optionsSchema=KEYED), access=people)
    params = {"source": "x", "id": "keyed", "manifest": {}}
    for command in INSTALLING:
        code, words = hosted.fails(command, **params)
        assert (code, words) == (PERMISSION_DENIED, "ada may not plugin:install here")
    for channel, operation in (("x-ahpd-plugins://", "install"), (ROOT, "plugins/install")):
        with pytest.raises(RpcError):
            hosted.call(
                "x-ahpd/invokeOperation", channel=channel, operationId=operation, input=params
            )
    before = hosted.listed
    for key in ("source", "plugins", "manifest", "dependencies", "grants"):
        push(hosted, hosted.probe, "keyed", {key: ["x"]})
    assert [one["source"] for one in hosted.listed] == [one["source"] for one in before]
    assert all("grants" not in one for one in hosted.listed)


def test_a_refused_push_shows_nobody_what_was_sent(hosted):
    """It goes to everybody who watches the root, and is kept for whoever comes back."""
    hosted.start(hosted.write("keyed", optionsSchema=KEYED))
    bob = hosted.host.connect("bob", ROOT, foreign=True)
    eve = hosted.host.connect("eve", ROOT, foreign=True)
    hosted.host.cut(eve)
    wrong = {"apiKey": KEY, "count": "many"}
    assert "must be a whole number" in push(hosted, hosted.probe, "keyed", wrong)
    assert "no such plugin" in push(hosted, hosted.probe, "nobody", {"apiKey": KEY})
    hosted.host.reconnect(eve)
    action = {"type": "root/configChanged", "config": {"plugins.keyed": wrong}}
    with pytest.raises(ActionRefused):  # on a channel it does not belong on, too
        hosted.host.run(hosted.probe.perform("ahp-session:/none", action))
    for probe in (hosted.probe, bob, eve):
        probe.check()
        said = [one for one in probe.envelopes(ROOT) if one.rejection is not None]
        assert [one.action["config"] for one in said[:2]] == [
            {"plugins.keyed": "<set>"},
            {"plugins.nobody": "<set>"},
        ]
    # A client that says all that it holds loses none of it to a plugin that went meanwhile.
    config = {**hosted.values, "plugins.nobody": {"apiKey": KEY}, "own": 1}
    whole = {"type": "root/configChanged", "config": config, "replace": True}
    hosted.host.run(hosted.probe.perform(ROOT, whole))
    assert hosted.values["own"] == 1
    assert "plugins.nobody" not in hosted.values


# -- what options may name ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"fromEnv": "HOME"}, "a variable of the daemon's environment"),
        ({"$env": "HOME"}, "a variable of the daemon's environment"),
        ({"$secret": "host:connector/mail/key"}, "kept for a record"),
        ({"$secret": "host:agent/a/env.KEY"}, "kept for a record"),
    ],
    ids=str,
)
def test_a_client_has_no_plugin_read_what_is_not_its_to_read(hosted, value, words):
    hosted.start(hosted.write("keyed", optionsSchema=KEYED), environ={"HOME": KEY})
    code, said = hosted.fails("options", id="keyed", key="unit", value=value)
    assert code == INVALID_PARAMS
    assert words in said
    assert words in hosted.push("keyed", {"unit": value})
    assert "options" not in hosted.listed[0]


def test_the_file_names_no_secret_of_a_record_either(hosted):
    entry = hosted.write("keyed", optionsSchema=KEYED)
    entry["options"] = {"unit": {"$secret": "host:connector/mail/key"}}
    hosted.start(entry)
    assert "kept for a record" in hosted.row("keyed")["problem"]


def test_what_the_file_names_may_be_sent_back(hosted):
    entry = hosted.write("keyed", optionsSchema=KEYED)
    entry["options"] = {"apiKey": {"fromEnv": "KEYED"}}
    hosted.start(entry, environ={"KEYED": KEY})
    sent = {**hosted.values["plugins.keyed"], "unit": "word"}
    assert sent["apiKey"] == {"fromEnv": "KEYED"}
    assert hosted.push("keyed", sent) is None
    assert hosted.row("keyed")["loaded"]


# -- expressions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("expression", ["^(a+)+$", "(a|a)*b", "^(?:a?){40}a{40}$"])
def test_an_option_is_held_to_no_expression_for_long(hosted, expression):
    schema = {
        "type": "object",
        "properties": {"unit": {"type": "string", "pattern": expression}},
        "patternProperties": {expression: {"type": "string", "writeOnly": True}},
    }
    hosted.start(hosted.write("slow", optionsSchema=schema))
    text = "a" * 39 + "!"
    began = time.thread_time()
    code, _ = hosted.fails("options", id="slow", key="unit", value=text * 100)
    assert code == INVALID_PARAMS
    hosted.push("slow", {text * 40: "x", "unit": text})
    assert time.thread_time() - began < 3


# -- what is written and read ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "identifier",
    ["..", "a/b", "../x", ".", "", "A", "a\n", "a\0", "-a", "a" * 41, "\uff41", "a.b", 5],
)
def test_an_id_is_a_slug_before_it_is_a_folder(hosted, identifier):
    hosted.start()
    params = {"id": identifier, "source": "def apply(host, options): pass\n"}
    code, _ = hosted.fails("write", **params)
    assert code == INVALID_PARAMS
    code, _ = hosted.fails("source", id=identifier)
    assert code == INVALID_PARAMS
    assert not (hosted.config / "plugin-root" / "plugins").exists()


@pytest.mark.parametrize("main", ["../../x.py", "/etc/x.py", "a/b.py", "..", "x", "./../x.py"])
def test_a_written_manifest_names_no_module_elsewhere(hosted, main):
    hosted.start()
    params = {"id": "w", "source": "def apply(host, options): pass\n", "manifest": {"main": main}}
    code, _ = hosted.fails("write", **params)
    assert code == INVALID_PARAMS


def test_only_what_a_client_wrote_is_read_back(hosted):
    entry = hosted.write("keyed", optionsSchema=KEYED)
    hosted.start(entry)
    for named in ("keyed", entry["source"]):
        code, words = hosted.fails("source", id=named)
        assert code == INVALID_PARAMS
        assert "files are not handed out" in words


def test_links_out_of_a_plugin_are_not_followed(hosted, tmp_path):
    secret = tmp_path / "secret.svg"
    secret.write_text(f"<svg>{KEY}</svg>")
    (tmp_path / "de.json").write_text(json.dumps({"meta": {"title": KEY}}))
    entry = hosted.write(
        "linked",
        icons=[{"src": "icon.svg"}, {"src": "../secret.svg"}],
        i18n="texts",
        title="Linked",
    )
    folder = hosted.folder / "linked"
    (folder / "icon.svg").symlink_to(secret)
    (folder / "texts").symlink_to(tmp_path)
    other = hosted.write("outside")
    (hosted.folder / "outside" / "main.py").unlink()
    (hosted.folder / "outside" / "main.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "elsewhere.py").write_text("def apply(host, options): pass\n")
    hosted.start(entry, other)
    row = hosted.row("linked")
    assert row["loaded"]
    assert "icons" not in row
    assert "outside of the plugin's folder" in hosted.row("outside")["problem"]


def test_a_pipe_in_place_of_texts_or_an_icon_keeps_nobody_waiting(hosted):
    entry = hosted.write("piped", i18n="texts", icons=[{"src": "icon.svg"}])
    folder = hosted.folder / "piped"
    (folder / "texts").mkdir()
    for pipe in (folder / "texts" / "de.json", folder / "icon.svg"):
        os.mkfifo(pipe)
    (folder / "texts" / "fr.json").write_bytes(b"{" + b" " * (2 * 1024 * 1024) + b"}")
    hosted.start(entry)
    texts = [alert["text"] for alert in hosted.row("piped")["alerts"]]
    assert any("de.json" in text and "no file" in text for text in texts)
    assert any("fr.json" in text and "larger" in text for text in texts)


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{','.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(12)
)


def test_a_bomb_of_aliases_in_a_manifest_is_refused_at_once(hosted):
    entry = hosted.write("bomb")
    (hosted.folder / "bomb" / "plugin.yaml").write_text(
        "id: bomb\nmain: main.py\noptionsSchema:\n  default:\n"
        + "".join(f"    {line}\n" for line in BOMB.splitlines())
    )
    began = time.thread_time()
    hosted.start(entry)
    (row,) = hosted.rows().values()
    assert not row["loaded"]
    assert "aliases make more of it" in row["problem"]
    code, _ = hosted.fails(
        "write", id="w", source="def apply(host, options): pass\n", manifest=BOMB
    )
    assert code == INVALID_PARAMS
    assert time.thread_time() - began < 5


def test_a_source_that_holds_a_credential_is_shown_without_it(hosted):
    hosted.start({"source": f"https://me:{KEY}@x/y.whl"})
    (row,) = hosted.rows().values()
    assert (row["id"], row["spec"]) == ("https://<redacted>@x/y.whl",) * 2
