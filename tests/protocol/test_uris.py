"""What a URI names by its spelling, and the spellings taken as another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol import uris
from ahpd.protocol.uris import ChannelKind, canonical, kind_of


@pytest.mark.parametrize(
    ("uri", "kind"),
    [
        ("ahp-root://", ChannelKind.ROOT),
        ("ahp-root:", ChannelKind.ROOT),
        ("ahp-session:/5f0c", ChannelKind.SESSION),
        ("claude:/5f0c", ChannelKind.SESSION),
        ("my+own.scheme-1://host/x", ChannelKind.SESSION),
        ("ahp-chat:/1", ChannelKind.CHAT),
        ("ahp-chat://default/YQ", ChannelKind.CHAT),
        ("AHP-Chat:/1", ChannelKind.CHAT),
        ("ahp-terminal:/1", ChannelKind.TERMINAL),
        ("ahp-canvas:/YQ/1", ChannelKind.CANVAS),
        ("ahp-automations://", ChannelKind.AUTOMATIONS),
        ("ahp-automations://catalog", ChannelKind.AUTOMATIONS),
        ("ahp-automations://?owner=me", ChannelKind.AUTOMATIONS),
        ("ahp-automation-run:/1", ChannelKind.AUTOMATION_RUN),
        ("ahp-resource-watch://r/YQ", ChannelKind.RESOURCE_WATCH),
        ("claude:/5f0c/changeset/uncommitted", ChannelKind.CHANGESET),
        ("claude:/5f0c/changeset/compare/a/b", ChannelKind.CHANGESET),
        ("claude:/5f0c/annotations", ChannelKind.ANNOTATIONS),
        # Sessions whose own ids are such words hang off nothing.
        ("claude:/annotations", ChannelKind.SESSION),
        ("claude:/changeset/x", ChannelKind.SESSION),
        ("claude:/annotations/annotations", ChannelKind.ANNOTATIONS),
        ("ahp-otlp://traces", None),
        ("", None),
        ("no colon", None),
        (":/1", None),
        ("1a:/x", None),
        ("two words:/x", None),
    ],
)
def test_the_kind_of_a_channel(uri, kind):
    assert kind_of(uri) is kind


@pytest.mark.parametrize(
    ("uri", "held"),
    [
        ("ahp-root:", "ahp-root://"),
        ("ahp-root:/", "ahp-root://"),
        ("ahp-root:///", "ahp-root://"),
        ("ahp-root://", "ahp-root://"),
        ("ahp-automations://catalog", "ahp-automations://"),
        ("ahp-automations:", "ahp-automations://"),
        ("ahp-automations://?owner=me", "ahp-automations://?owner=me"),
        ("ahp-session:/1", "ahp-session:/1"),
    ],
)
def test_the_one_spelling_a_channel_is_held_under(uri, held):
    assert canonical(uri) == held


def test_every_spelling_of_a_session_shares_its_id():
    for spelling in ("claude:/a%20b", "ahp-session:/a b", "ahp-session:///a%20b"):
        assert uris.session_id(spelling) == "a b"


def test_a_default_chat_names_its_session():
    assert uris.default_chat("ahp-session:/1") == "ahp-chat://default/YWhwLXNlc3Npb246LzE"
    assert (
        uris.session_of_default_chat("ahp-chat://default/YWhwLXNlc3Npb246LzE") == "ahp-session:/1"
    )
    assert uris.session_of_default_chat("ahp-chat://default/YQ==") == "a"


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_every_session_has_a_default_chat_that_leads_back_to_it(session):
    chat = uris.default_chat(session)
    assert uris.session_of_default_chat(chat) == session
    assert kind_of(chat) is ChannelKind.CHAT
    assert chat.isascii()


@pytest.mark.parametrize(
    "chat",
    [
        "ahp-chat:/1",
        uris.opaque_chat("5f0c"),
        "ahp-chat://default/",
        "ahp-chat://default/=",
        "ahp-chat://default/A",
        "ahp-chat://default/YQ/YQ",
        "ahp-chat://default/Y+/A",
        "ahp-chat://default/YQ====",
        "ahp-chat://default/_w",
        "ahp-chat://default/é",
        "ahp-chat://default/\ud800",
        "ahp-chat://default/YQ\n",
        "ahp-session:/1",
    ],
)
def test_a_malformed_or_opaque_chat_names_no_session(chat):
    assert uris.session_of_default_chat(chat) is None


@given(st.text(st.characters(codec="utf-8")), st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_chat_made_in_a_session_may_say_which(name, call):
    session = f"ahp-session:/{name}"
    assert uris.session_of_chat(uris.default_chat(session)) == session
    worker = uris.worker_chat(session, call)
    assert uris.session_of_chat(worker) == session
    assert uris.session_of_default_chat(worker) is None
    assert kind_of(worker) is ChannelKind.CHAT
    assert worker.isascii()


@pytest.mark.parametrize(
    "chat", ["ahp-chat:/1", "ahp-chat:/a/YWhwLXNlc3Npb246LzE", "ahp-chat://a", "ahp-chat://a/YQ"]
)
def test_any_other_chat_says_nothing_of_its_session(chat):
    assert uris.session_of_chat(chat) is None


@given(st.text() | st.text().map("ahp-chat://default/".__add__) | st.text().map("ahp-".__add__))
def test_nothing_a_client_may_spell_raises(uri):
    assert kind_of(uri) is None or isinstance(kind_of(uri), ChannelKind)
    assert isinstance(canonical(uri), str)
    assert isinstance(uris.session_id(uri), str)
    assert isinstance(uris.default_chat(uri), str)
    session = uris.session_of_default_chat(uri)
    assert session is None or session
    made_in = uris.session_of_chat(uri)
    assert made_in is None or made_in
