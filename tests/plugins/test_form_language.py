"""The form of a new session in the language of whoever fills it in."""

import json

from zope.interface import implementer

from ahpd.interfaces import IEngine
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import ScriptedAgent

from .applies import applied

S1 = "ahp-session:/s1"
MOOD = {
    "type": "string",
    "title": "Mood",
    "description": "How it feels.",
    "enum": ["calm", "wild"],
    "enumLabels": ["Calm", "Wild"],
    "default": "calm",
}
PT = {
    "session": {
        "mood": {
            "title": "Humor",
            "description": "Como se sente.",
            "enum": {"calm": "Calmo", "wild": "Selvagem"},
        },
        "voice": {"title": "Voz", "enum": {"plain": "Simples"}},
        "permissions": {"title": "Permissões"},
    }
}
HUMOR = {
    **MOOD,
    "title": "Humor",
    "description": "Como se sente.",
    "enumLabels": ["Calmo", "Selvagem"],
}


class Moody(ScriptedAgent):
    """An agent that declares the key itself."""

    def config_schema(self, working_directory, values):
        return {"type": "object", "properties": {"mood": dict(MOOD)}}


@implementer(IEngine)
class Engine:
    """Makes agents that do."""

    name = "motor"
    title = "Motor"
    description = "An engine."
    host_only = ()
    key_variables = ()

    def schema(self):
        return {"type": "object", "properties": {}}

    def templates(self):
        return ()

    def open(self, record, ports):
        return Moody(record.id)

    async def check(self, record, ports):
        return ()


def register_mood(host, options):
    host.register_session_config("mood", MOOD)


def speaking(hosted, apply, plugin="acme", catalog=PT):
    """A plugin that ships Portuguese; its entry."""
    files = {"i18n/pt.json": json.dumps(catalog)}
    return applied(hosted, plugin, apply, files=files, i18n="i18n")


def reader(hosted, locale):
    """A client that reads in a language, or in none."""
    name = f"reads-{len(hosted.host.clients)}"
    more = {} if locale is None else {"locale": locale}
    return hosted.host.connect(name, ROOT, foreign=True, **more)


def form(hosted, locale, provider="scripted", **params):
    probe = reader(hosted, locale)
    return hosted.call("resolveSessionConfig", probe, provider=provider, **params)


def properties(hosted, locale, provider="scripted"):
    return form(hosted, locale, provider)["schema"]["properties"]


def test_the_form_is_answered_in_the_language_of_each_who_asks(hosted):
    hosted.start(speaking(hosted, register_mood))
    assert properties(hosted, "pt-BR")["mood"] == HUMOR
    assert properties(hosted, "de")["mood"] == MOOD
    assert properties(hosted, None)["mood"] == MOOD
    assert form(hosted, "pt", config={"mood": "wild"})["values"] == {"mood": "wild"}


def test_a_key_of_this_hosts_is_in_no_plugins_words(hosted):
    hosted.start(speaking(hosted, register_mood))
    assert properties(hosted, "pt")["permissions"] == properties(hosted, None)["permissions"]


def test_a_picker_has_its_title_in_the_readers_language_and_its_values_as_they_are(hosted):
    async def answer(query):
        return [{"value": "plain", "label": "Plain"}]

    def apply(host, options):
        host.register_session_config("voice", {"type": "string", "title": "Voice"}, answer)

    hosted.start(speaking(hosted, apply))
    shown = properties(hosted, "pt")["voice"]
    assert (shown["title"], shown["enum"], shown["enumLabels"]) == ("Voz", ["plain"], ["Plain"])


def test_a_key_is_in_the_words_of_the_plugin_that_declares_it(hosted):
    other = speaking(
        hosted, lambda host, options: None, "other", {"session": {"mood": {"title": "Outro"}}}
    )
    hosted.start(other, applied(hosted, "acme", register_mood))
    assert properties(hosted, "pt")["mood"] == MOOD


def test_the_keys_of_a_plugins_agent_are_the_plugins(hosted):
    def apply(host, options):
        host.register_agent(Moody("moody"))

    silent = applied(hosted, "silent", register_mood)
    hosted.start(silent, speaking(hosted, apply))
    assert properties(hosted, "pt", "moody")["mood"] == HUMOR
    assert properties(hosted, "pt")["mood"] == MOOD


def test_an_agent_without_a_plugin_keeps_the_words_of_its_own_keys(hosted):
    hosted.start(speaking(hosted, register_mood), agents={"it": Moody("it")})
    assert properties(hosted, "pt", "it")["mood"] == MOOD


def test_the_keys_of_an_agent_of_a_plugins_engine_are_the_plugins(hosted):
    def apply(host, options):
        host.register_engine(Engine())

    hosted.start(speaking(hosted, apply))
    hosted.call(
        "x-ahpd/agents/put", id="made", engine="motor", name="Made", owner="host", config={}
    )
    assert properties(hosted, "pt", "made")["mood"] == HUMOR
    assert properties(hosted, None, "made")["mood"] == MOOD


def test_what_all_clients_share_is_in_nobodys_language(hosted):
    hosted.start(speaking(hosted, register_mood))
    probe = reader(hosted, "pt")
    hosted.call("createSession", probe, channel=S1, provider="scripted")
    hosted.host.run(probe.subscribe(S1))
    assert probe.state(S1)["config"]["schema"]["properties"]["mood"] == MOOD


def test_the_form_follows_a_plugin_that_goes_and_comes_back(hosted):
    hosted.start(speaking(hosted, register_mood))
    hosted.ask("disable", id="acme")
    assert "mood" not in properties(hosted, "pt")
    hosted.ask("enable", id="acme")
    assert properties(hosted, "pt")["mood"] == HUMOR
