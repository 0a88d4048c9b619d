"""What an engine's defaults lay under a record, and what they keep for the endpoint it is for."""

import pytest

from ahpd.records.beneath import laid_under
from ahpd.testing.planted import planted

from .record_desk import Desk, MadeEngine, caller

KEY = planted("the key of the host")
OWN = planted("a key of her own")

GOES_WITH = {
    "type": "object",
    "properties": {
        "site": {"type": "string"},
        "badge": {"type": "string", "x-ahpd-goes-with": "site"},
        "about": {"type": "object", "x-ahpd-goes-with": ["site", "region"]},
        "token": {"type": "string", "secret": True, "x-ahpd-goes-with": []},
        "level": {"type": "string"},
    },
}
SAID = {"site": "a", "badge": "b", "about": {"of": "a"}, "token": "t", "level": "low"}


@pytest.mark.parametrize(
    ("over", "whole"),
    [
        ({}, SAID),
        ({"level": "high"}, {**SAID, "level": "high"}),
        ({"site": "a"}, SAID),
        ({"site": "z"}, {"site": "z", "token": "t", "level": "low"}),
        ({"site": None}, {"site": None, "token": "t", "level": "low"}),
        ({"region": "eu"}, {**{k: v for k, v in SAID.items() if k != "about"}, "region": "eu"}),
        (
            {"site": "z", "about": {"more": 1}},
            {"site": "z", "about": {"more": 1}, "token": "t", "level": "low"},
        ),
    ],
)
def test_a_field_goes_with_the_field_its_schema_names(over, whole):
    assert laid_under(GOES_WITH, SAID, over) == whole


DEFAULTS = {
    "baseUrl": "https://a.example/v1",
    "apiKey": KEY,
    "apiKeyEnv": "HOST_KEY",
    "tokenFile": "/etc/token",
    "headers": {"X-Org": KEY},
    "login": {"password": KEY, "name": "ann"},
    "other": {"url": "https://c.example", "key": KEY},
    "hint": {"$secret": "host:hint"},
    "maxTokens": 5,
    "level": "low",
}


def test_one_that_names_nothing_is_read_by_the_names_of_its_fields():
    over = {"baseUrl": "https://b.example/v1"}
    assert laid_under({}, DEFAULTS, over) == {
        "baseUrl": "https://b.example/v1",
        "login": {"name": "ann"},
        "other": {"url": "https://c.example", "key": KEY},
        "maxTokens": 5,
        "level": "low",
    }
    assert laid_under({}, DEFAULTS, {"level": "high"}) == {**DEFAULTS, "level": "high"}
    assert laid_under({}, DEFAULTS, {"apiKey": OWN}) == {**DEFAULTS, "apiKey": OWN}


@pytest.mark.parametrize(
    "name", ["url", "BASE_URL", "endpoint", "serverUrl", "host", "apiOrigin", "listenPort"]
)
def test_the_defaults_credentials_go_to_no_endpoint_they_were_not_given_for(name):
    under = {"apiKey": KEY, "level": "low"}
    assert laid_under({}, under, {name: "b"}) == {name: "b", "level": "low"}
    assert laid_under({}, {**under, name: "a"}, {name: "b"}) == {name: "b", "level": "low"}
    inside = {"deep": {**under, name: "a"}, "apiKey": KEY}
    assert laid_under({}, inside, {"deep": {name: "b"}}) == {
        "deep": {name: "b", "level": "low"},
        "apiKey": KEY,
    }


def test_an_endpoint_may_be_an_object():
    under = {"apiKey": KEY, "endpoint": {"url": "a", "timeout": 3}}
    moved = laid_under({}, under, {"endpoint": {"url": "b"}})
    assert moved == {"endpoint": {"url": "b", "timeout": 3}}
    assert laid_under({}, under, {"endpoint": {"timeout": 4}})["apiKey"] == KEY


def test_what_a_schema_marks_counts_whatever_its_name():
    schema = {"type": "object", "properties": {"word": {"type": "string", "writeOnly": True}}}
    under = {"url": "a", "word": KEY, "list": [{"url": "c", "key": KEY}, {"key": KEY, "n": 1}]}
    assert laid_under(schema, under, {"url": "b"}) == {
        "url": "b",
        "list": [{"url": "c", "key": KEY}, {"n": 1}],
    }


@pytest.mark.parametrize("owner", ["host", "team:backend", "user:eve"])
def test_a_record_with_an_endpoint_of_its_own_gets_none_of_the_hosts_keys(owner):
    properties = {"baseUrl": {"type": "string"}, "headers": {"type": "object"}}
    desk = Desk(
        MadeEngine(properties=properties),
        defaults={
            "made": {
                "baseUrl": "https://a.example",
                "apiKey": {"$secret": "host:shared"},
                "env": {"MADE_KEY": {"$env": "HERE"}},
                "headers": {"X-Org": KEY},
                "level": "low",
            }
        },
        secrets={"host:shared": KEY},
    )
    who = caller()
    desk.put("theirs", who, owner=owner, config={"baseUrl": "https://b.example"})
    assert desk.record("theirs").config == {"baseUrl": "https://b.example", "level": "low"}
    desk.put("theirs", who, owner=owner, config={"baseUrl": "https://b.example", "apiKey": OWN})
    assert desk.record("theirs").config["apiKey"] == OWN
    assert "headers" not in desk.record("theirs").config
    desk.put("same", who, owner=owner, config={"level": "high"})
    assert desk.record("same").config["apiKey"] == KEY
