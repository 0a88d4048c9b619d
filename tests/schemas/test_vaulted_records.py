"""A record's secrets are in the vault, and the record holds their names."""

import json

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces.vault import SecretFailure
from ahpd.schemas import Misfit, Unread, Vaulted, check_value, filled, prefix
from ahpd.vault import MemoryVault, Secrets

TEXT = {"type": "string"}
KEY = {"type": "string", "secret": True}
SCHEMA = {
    "type": "object",
    "properties": {
        "url": TEXT,
        "apiKey": {**KEY, "minLength": 3},
        "old": {"type": "string", "writeOnly": True},
        "env": {"type": "object", "additionalProperties": TEXT},
        "logins": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "key": KEY}},
        },
    },
    "required": ["apiKey"],
}
CALLS = {
    "oneOf": [
        {"properties": {"kind": {"const": "a"}, "keyA": KEY}, "additionalProperties": False},
        {"properties": {"kind": {"const": "b"}, "keyB": KEY}, "additionalProperties": False},
    ]
}


def done(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addBoth(results.append)
    assert results, "it waits for something"
    result = results[0]
    if hasattr(result, "raiseException"):
        result.raiseException()
    return result


async def moved(vaulted, *put):
    """The config of a record that is written with its secrets in the vault."""
    async with vaulted.moving(*put) as kept:
        pass
    return kept


class World:
    """A vault in memory, and one record."""

    def __init__(self, owner="host", **environ):
        self.vault = MemoryVault()
        self.vaulted = Vaulted(Secrets(self.vault), environ)
        self.owner = owner

    def moved(self, config, held=None, extra=(), schema=SCHEMA, identifier="x"):
        return done(
            moved(self.vaulted, schema, self.owner, "connector", identifier, config, held, extra)
        )

    def read(self, config):
        return done(self.vaulted.read(config, self.owner))

    def secrets(self):
        return {name: done(self.vault.get(name)) for name in done(self.vault.list())}

    def refused(self, config, **how):
        before = self.secrets()
        with pytest.raises(SecretFailure) as raised:
            self.moved(config, **how)
        assert self.secrets() == before, "a refused put keeps nothing"
        return str(raised.value)


def named(name):
    return {"$secret": name}


@pytest.mark.parametrize(
    ("owner", "begin"),
    [("host", "host:"), ("team:backend", "team:backend/"), ("user:soft", "user:soft/")],
)
def test_secrets_are_kept_under_the_owner_the_record_and_the_field(owner, begin):
    world = World(owner)
    config = {"apiKey": "k1", "old": "k2", "logins": [{"name": "a", "key": "k3"}], "url": "u"}
    kept = world.moved(config)
    assert world.secrets() == {
        f"{begin}connector/x/apiKey": "k1",
        f"{begin}connector/x/old": "k2",
        f"{begin}connector/x/logins.0.key": "k3",
    }
    assert kept["apiKey"] == named(f"{begin}connector/x/apiKey")
    assert "k1" not in json.dumps(kept)
    assert "k3" not in json.dumps(kept)
    assert kept["url"] == "u"
    assert world.read(kept) == config
    assert config["apiKey"] == "k1", "what was given stays as it was"


def test_a_variable_that_is_named_is_a_field_of_its_own():
    world = World()
    config = {"apiKey": "k1", "env": {"ANTHROPIC_API_KEY": "k2", "HOME": "/h"}}
    kept = world.moved(config, extra=["env.ANTHROPIC_API_KEY"])
    assert kept["env"] == {
        "ANTHROPIC_API_KEY": named("host:connector/x/env.ANTHROPIC_API_KEY"),
        "HOME": "/h",
    }
    assert world.read(kept) == config


@pytest.mark.parametrize("empty", ["", "<set>"])
def test_a_field_sent_empty_keeps_what_the_record_has(empty):
    world = World()
    kept = world.moved({"apiKey": "k1", "env": {"K": "k2"}}, extra=["env.K"])
    again = world.moved({"apiKey": empty, "env": {"K": empty}}, kept, extra=["env.K"])
    assert again == kept
    assert world.moved({"apiKey": empty}) == {}


def test_a_field_that_is_not_sent_is_filled_beforehand_and_null_takes_it_out():
    world = World()
    kept = world.moved({"apiKey": "k1", "old": "k2"})
    assert filled(SCHEMA, {"url": "u"}, kept) == {"url": "u", **kept}
    config = filled(SCHEMA, {"apiKey": None}, kept)
    assert config == {"old": kept["old"]}
    assert world.moved(config, kept) == config


def test_a_secret_of_another_alternative_is_not_brought_back():
    world = World()
    kept = world.moved({"kind": "a", "keyA": "k1"}, schema=CALLS)
    config = filled(CALLS, {"kind": "b", "keyB": "k2"}, kept)
    check_value(CALLS, config, "config", references=True)
    assert filled(CALLS, {"kind": "a", "keyA": ""}, kept) == kept


def test_what_is_filled_is_checked_before_anything_is_kept():
    world = World()
    kept = world.moved({"apiKey": "k1"})
    check_value(SCHEMA, filled(SCHEMA, {"apiKey": ""}, kept), "config", references=True)
    with pytest.raises(Misfit, match=r"config\.apiKey is missing"):
        check_value(SCHEMA, filled(SCHEMA, {"apiKey": ""}, None), "config", references=True)
    with pytest.raises(Misfit, match=r"config\.apiKey must have at least 3"):
        check_value(SCHEMA, filled(SCHEMA, {"apiKey": "k"}, kept), "config", references=True)


def test_another_value_takes_the_place_of_the_one_that_was_kept():
    world = World()
    kept = world.moved({"apiKey": "k1"})
    assert world.moved({"apiKey": "k2"}, kept) == kept
    assert world.read(kept) == {"apiKey": "k2"}


def test_an_item_that_moved_keeps_its_secret_and_a_new_one_takes_another_name():
    world = World()
    kept = world.moved({"apiKey": "k", "logins": [{"name": "a", "key": "k1"}]})
    config = {**kept, "logins": [{"name": "b", "key": "k2"}, kept["logins"][0]]}
    again = world.moved(config, kept)
    assert world.read(again)["logins"] == [{"name": "b", "key": "k2"}, {"name": "a", "key": "k1"}]
    blank = {**again, "logins": [{"name": "a", "key": ""}]}
    assert world.read(world.moved(blank, again))["logins"] == [{"name": "a", "key": "k1"}]
    other = {**again, "logins": [{"name": "c", "key": ""}]}
    assert world.moved(other, again)["logins"] == [{"name": "c"}], "never another item's"


def test_a_whole_map_under_a_mark_is_kept_value_by_value():
    world = World()
    schema = {"properties": {"headers": {"type": "object", "secret": True}}}
    kept = world.moved({"headers": {"A": "k1", "B": {"fromEnv": "B"}}}, schema=schema)
    assert kept == {"headers": {"A": named("host:connector/x/headers.A"), "B": {"fromEnv": "B"}}}


@pytest.mark.parametrize("value", [3, True, 1.5])
def test_what_is_no_text_is_no_secret(value):
    assert World().refused({"apiKey": value}) == "apiKey cannot be kept: a secret is text"


def test_a_variable_of_the_environment_is_the_hosts_alone():
    world = World(STRIPE="k1")
    kept = world.moved({"apiKey": {"fromEnv": "STRIPE"}, "url": {"$env": "STRIPE"}})
    assert kept["apiKey"] == {"fromEnv": "STRIPE"}
    assert world.read(kept) == {"apiKey": "k1", "url": "k1"}
    for owner in ("team:backend", "user:soft"):
        other = World(owner, STRIPE="k1")
        # In any field at all: each would be read.
        for config in (kept, {"url": {"fromEnv": "STRIPE"}}, {"logins": [{"$env": "STRIPE"}]}):
            words = other.refused(config)
            assert "the host's own records alone" in words
            assert "k1" not in words
        with pytest.raises(Unread) as raised:
            other.read(kept)
        assert raised.value.missing == [("env", "STRIPE")]


def test_a_record_names_secrets_its_owner_may_read():
    world = World("team:backend")
    kept = world.moved({"apiKey": named("host:stripe"), "old": named("team:backend/k")})
    assert kept["apiKey"] == named("host:stripe")
    assert "team other's" in world.refused({"apiKey": named("team:other/k")})
    assert "person soft's" in world.refused({"apiKey": named("user:soft/k")})


def test_a_record_names_no_other_records_secret():
    """Whoever could would have a secret sent to where they choose."""
    world = World("user:soft")
    for name in (
        "host:connector/y/apiKey",
        "host:agent/build/env.KEY",
        "user:soft/connector/y/apiKey",
        "user:soft/tunnel/x/apiKey",
    ):
        assert "another record" in world.refused({"apiKey": named(name)})
    own = named("user:soft/connector/x/apiKey")
    assert world.moved({"apiKey": own}) == {"apiKey": own}


def test_a_secret_in_a_names_place_is_repeated_nowhere():
    words = World().refused({"apiKey": named("planted-secret-123")})
    assert words.startswith("apiKey names no secret: a secret's name is host:<name>")
    assert "planted-secret" not in words
    with pytest.raises(Unread) as raised:
        World().read(
            {"apiKey": named("planted-secret-123"), "url": {"fromEnv": "planted-secret-123"}}
        )
    assert "planted-secret" not in str(raised.value)
    assert raised.value.missing == [("secret", "apiKey"), ("env", "url")]


@pytest.mark.parametrize(
    ("owner", "subject", "identifier"),
    [
        ("plugin:x", "agent", "x"),
        ("user:", "agent", "x"),
        ("user:a/b", "agent", "x"),
        ("host", "session", "x"),
        ("host", "agent", ""),
        ("host", "agent", "x/y"),
    ],
)
def test_a_record_that_would_have_anothers_names_is_refused(owner, subject, identifier):
    with pytest.raises(SecretFailure):
        prefix(owner, subject, identifier)


def test_all_that_cannot_be_read_is_told_at_once():
    world = World()
    config = {
        "apiKey": named("host:gone"),
        "env": {"A": {"fromEnv": "A"}, "B": {"fromEnv": "A"}},
        "url": named("team:t/k"),
    }
    with pytest.raises(Unread) as raised:
        world.read(config)
    assert raised.value.missing == [("secret", "host:gone"), ("env", "A"), ("secret", "team:t/k")]
    assert raised.value.reasons[:2] == [
        "the vault holds no host:gone",
        "the environment holds no A",
    ]


def test_a_host_without_a_vault_says_so():
    vaulted = Vaulted(Secrets(None), {})
    with pytest.raises(SecretFailure, match="this host has no vault"):
        done(moved(vaulted, SCHEMA, "host", "agent", "x", {"apiKey": "k1"}, None))
    assert done(moved(vaulted, SCHEMA, "host", "agent", "x", {"url": "u"}, None)) == {"url": "u"}


# -- forgetting -----------------------------------------------------------------------------


def test_a_record_that_goes_takes_its_own_secrets_with_it():
    world = World()
    done(world.vault.set("host:stripe", "s"))
    done(world.vault.set("host:prod/db/password", "p"))
    kept = world.moved({"apiKey": "k1", "logins": [{"key": "k2"}], "old": named("host:stripe")})
    kept["url"] = named("host:prod/db/password")
    done(world.vaulted.forget(kept))
    assert world.secrets() == {"host:stripe": "s", "host:prod/db/password": "p"}


def test_under_a_prefix_only_that_records_secrets_go():
    world = World()
    x = world.moved({"apiKey": "k1"})
    y = world.moved({"apiKey": "k2"}, identifier="y")
    both = {"apiKey": x["apiKey"], "old": y["apiKey"]}
    done(world.vaulted.forget(both, under=prefix("host", "connector", "x")))
    assert list(world.secrets()) == ["host:connector/y/apiKey"]


def test_what_a_change_left_behind_is_forgotten_once_the_record_is_written():
    world = World(A="k")
    before = world.moved({"apiKey": "k1", "old": "k2"})
    after = world.moved({"apiKey": {"fromEnv": "A"}, "old": ""}, before)
    assert len(world.secrets()) == 2
    done(world.vaulted.forget_unnamed(before, after))
    assert list(world.secrets()) == ["host:connector/x/old"]


def test_one_that_cannot_be_forgotten_keeps_none_of_the_others():
    class Stuck(MemoryVault):
        async def delete(self, name):
            if name.endswith("apiKey"):
                raise OSError("planted-secret-vault")
            return await super().delete(name)

    vault = Stuck()
    vaulted = Vaulted(Secrets(vault), {})
    kept = done(moved(vaulted, SCHEMA, "host", "agent", "x", {"apiKey": "k1", "old": "k2"}, None))
    with pytest.raises(SecretFailure) as raised:
        done(vaulted.forget(kept))
    assert "planted-secret-vault" not in str(raised.value)
    assert done(vault.list()) == ["host:agent/x/apiKey"]


# -- a record that is not written after all -----------------------------------------------------


def written(world, config, held=None, fails=True):
    """Move a config's secrets and write its record, which fails where it is to."""

    async def write():
        moving = world.vaulted.moving(SCHEMA, world.owner, "connector", "x", config, held)
        async with moving as kept:
            if fails:
                raise OSError("the disk is full")
        return kept

    return done(write())


@pytest.mark.parametrize("owner", ["host", "team:backend", "user:ada"])
def test_a_record_that_is_not_written_has_the_secrets_it_had(owner):
    world = World(owner)
    kept = world.moved({"apiKey": "k1"})
    before = world.secrets()
    with pytest.raises(OSError, match="the disk is full"):
        written(world, {"apiKey": "k2", "old": "k3"}, kept)
    assert world.secrets() == before
    # Nor where the put goes on from nothing of it, as one of another adapter does.
    with pytest.raises(OSError, match="the disk is full"):
        written(world, {"apiKey": "k4"})
    assert world.secrets() == before
    written(world, {"apiKey": "k2", "old": "k3"}, kept, fails=False)
    assert sorted(world.secrets().values()) == ["k2", "k3"]


def test_a_vault_that_fails_half_way_is_put_back_to_what_it_held():
    class Full(MemoryVault):
        async def set(self, name, value):
            if value == "k3":
                raise OSError("planted-secret-vault")
            await super().set(name, value)

    world = World()
    world.vault = Full({"host:connector/x/apiKey": "k1"})
    world.vaulted = Vaulted(Secrets(world.vault), {})
    assert "the vault failed" in world.refused({"apiKey": "k2", "old": "k3"})
    assert world.secrets() == {"host:connector/x/apiKey": "k1"}


def test_nothing_is_replaced_that_could_not_be_put_back():
    class Deaf(MemoryVault):
        async def get(self, name):
            raise OSError("planted-secret-vault")

    vault = Deaf({"host:connector/x/apiKey": "k1"})
    vaulted = Vaulted(Secrets(vault), {})
    with pytest.raises(SecretFailure) as raised:
        done(moved(vaulted, SCHEMA, "host", "connector", "x", {"apiKey": "k2"}, None))
    assert str(raised.value) == (
        "host:connector/x/apiKey cannot be read: the vault failed (OSError)"
    )
    assert done(MemoryVault.get(vault, "host:connector/x/apiKey")) == "k1"


def test_a_vault_that_does_not_answer_takes_its_time_once_for_a_record():
    class Deaf(MemoryVault):
        async def get(self, name):
            await Deferred()

        delete = get

    clock = Clock()
    vaulted = Vaulted(Secrets(Deaf(), clock=clock), {})
    config = {f"key{number}": named(f"host:connector/x/{number}") for number in range(4)}
    unread, unforgotten = [], []
    Deferred.fromCoroutine(vaulted.read(config, "host")).addBoth(unread.append)
    Deferred.fromCoroutine(vaulted.forget(config)).addBoth(unforgotten.append)
    clock.advance(10)
    assert unread[0].value.missing == [
        ("secret", f"host:connector/x/{number}") for number in range(4)
    ]
    assert "host:connector/x/0 cannot be forgotten" in unforgotten[0].getErrorMessage()
