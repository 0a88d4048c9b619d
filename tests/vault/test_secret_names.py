"""A secret's name says whose it is, and who may read it is decided before the vault is asked."""

import pytest
from twisted.internet.defer import Deferred, fail, succeed
from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from ahpd.interfaces.vault import ISecrets, IVault, SecretFailure
from ahpd.testing.planted import planted
from ahpd.vault import MemoryVault, Secrets
from ahpd.vault.names import SecretName, parse

FORMS = "host:<name>, team:<team>/<name> or user:<id>/<name>"
SECRET = planted("in the vault")


def done(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    result = results[0]
    if hasattr(result, "raiseException"):
        result.raiseException()
    return result


def failure(coroutine):
    with pytest.raises(SecretFailure) as raised:
        done(coroutine)
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("host:stripe", ("host", "", "stripe")),
        ("host:connector/x/api.key", ("host", "", "connector/x/api.key")),
        ("team:backend/orders", ("team", "backend", "orders")),
        ("user:soft/a/b", ("user", "soft", "a/b")),
        ("host:naïve 🔑", ("host", "", "naïve 🔑")),
    ],
)
def test_a_name_has_one_of_three_forms(name, parts):
    assert parse(name) == SecretName(*parts)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "stripe",
        "host:",
        "host",
        ":stripe",
        "team:backend",
        "team:/orders",
        "team:backend/",
        "user:/",
        "plugin:a/b",
        "HOST:stripe",
        "host:a\nb",
        "host:a\x7f",
        "host:a ",
        " host:a",
        "host:\ud800",
        "host:" + "a" * 2000,
        None,
        3,
        SECRET,
    ],
)
def test_anything_else_is_refused_with_the_three_forms_and_not_repeated(name):
    with pytest.raises(SecretFailure) as raised:
        parse(name)
    assert str(raised.value) == f"a secret's name is {FORMS}"


HELD = {"host:stripe": "h", "team:backend/orders": "t", "user:soft/key": "u"}


class Asked(MemoryVault):
    """Says what it was asked for."""

    def __init__(self):
        super().__init__(HELD)
        self.asked = []

    async def get(self, name):
        self.asked.append(name)
        return await super().get(name)


def test_a_name_is_read_for_the_work_it_belongs_to():
    secrets = Secrets(MemoryVault(HELD))
    assert verifyObject(ISecrets, secrets)
    assert done(secrets.read("host:stripe")) == "h"
    assert done(secrets.read("host:stripe", team="other", owner="user:other")) == "h"
    assert done(secrets.read("team:backend/orders", team="backend")) == "t"
    assert done(secrets.read("user:soft/key", owner="user:soft")) == "u"


@pytest.mark.parametrize(
    ("name", "work"),
    [
        # A plugin's load belongs to no team and to no person.
        ("team:backend/orders", {}),
        ("user:soft/key", {}),
        ("team:backend/orders", {"team": "other"}),
        ("team:backend/orders", {"owner": "user:backend"}),
        ("team:backend/orders", {"owner": "team:backend"}),
        ("user:soft/key", {"owner": "user:other"}),
        ("user:soft/key", {"owner": "soft"}),
        ("user:soft/key", {"team": "soft"}),
        ("user:soft/key", {"owner": "plugin:soft"}),
    ],
)
def test_a_name_out_of_scope_never_reaches_the_vault(name, work):
    vault = Asked()
    words = failure(Secrets(vault).read(name, **work))
    assert words.startswith(f"{name} cannot be read here: it is the ")
    assert vault.asked == []


def test_a_name_the_vault_does_not_hold_is_named():
    assert failure(Secrets(MemoryVault()).read("host:stripe")) == "the vault holds no host:stripe"


def test_a_host_without_a_vault_says_so_of_each_name_in_scope():
    secrets = Secrets(None)
    assert failure(secrets.read("host:a")) == "host:a cannot be read: this host has no vault"
    assert failure(secrets.keep("host:a", "b")) == "host:a cannot be kept: this host has no vault"
    assert failure(secrets.forget("host:a")) == (
        "host:a cannot be forgotten: this host has no vault"
    )
    assert FORMS in failure(secrets.read("a"))


def test_secrets_are_kept_and_forgotten_under_names_that_are_some():
    vault = MemoryVault()
    secrets = Secrets(vault)
    done(secrets.keep("team:t/a", "b"))
    assert done(vault.get("team:t/a")) == "b"
    done(secrets.forget("team:t/a"))
    done(secrets.forget("team:t/a"))
    assert done(vault.list()) == []
    assert FORMS in failure(secrets.keep("a", SECRET))
    assert FORMS in failure(secrets.forget("a"))


def test_a_secret_is_text_of_a_bounded_size():
    secrets = Secrets(MemoryVault())
    done(secrets.keep("host:a", "é" * (32 * 1024)))
    assert "at most 64 KiB" in failure(secrets.keep("host:a", "é" * (32 * 1024) + "x"))
    assert "is text" in failure(secrets.keep("host:a", 3))
    assert "half a character" in failure(secrets.keep("host:a", "\ud800"))
    done(secrets.keep("host:empty", ""))
    assert done(secrets.read("host:empty")) == ""


@implementer(IVault)
class Elsewhere:
    """A plugin's vault, which may answer and fail as it likes."""

    def __init__(self, answer):
        self.answer = answer

    def get(self, name):
        return self.answer()

    def set(self, name, value):
        return self.answer()

    def delete(self, name):
        return self.answer()


def broken():
    raise RuntimeError(f"could not decode {SECRET}")


@pytest.mark.parametrize(
    "answer", [broken, lambda: fail(ValueError(SECRET)), lambda: succeed([SECRET]), lambda: 3]
)
def test_what_a_vault_raises_or_answers_wrongly_is_not_repeated(answer):
    secrets = Secrets(Elsewhere(answer))
    words = failure(secrets.read("host:a"))
    assert words.startswith("host:a cannot be read: the vault")
    assert SECRET not in words


def test_a_vault_may_answer_at_once_or_later():
    assert done(Secrets(Elsewhere(lambda: "now")).read("host:a")) == "now"
    assert done(Secrets(Elsewhere(lambda: succeed("later"))).read("host:a")) == "later"


def test_nothing_shows_a_value_by_itself():
    vault = MemoryVault({"host:a": SECRET})
    assert SECRET not in repr(vault) + repr(Secrets(vault))


@pytest.mark.parametrize(
    ("plugin", "whose"), [("", "the vault"), ("safe", "the vault of the plugin safe")]
)
def test_a_vault_that_does_not_answer_is_given_ten_seconds_for_each_question(plugin, whose):
    clock = Clock()
    secrets = Secrets(Elsewhere(Deferred), clock=clock, plugin=plugin)
    for wanted, question in (
        ("read", lambda: secrets.read("host:a")),
        ("kept", lambda: secrets.keep("host:a", SECRET)),
        ("forgotten", lambda: secrets.forget("host:a")),
    ):
        answers = []
        Deferred.fromCoroutine(question()).addBoth(answers.append)
        clock.advance(9.9)
        assert answers == []
        clock.advance(0.1)
        words = f"host:a cannot be {wanted}: {whose} did not answer within 10 s"
        assert answers[0].check(SecretFailure)
        assert answers[0].getErrorMessage() == words
    assert clock.getDelayedCalls() == []
