"""`x-` commands: who may send one, and what it is answered (PLUGINS.txt, "A command of your own")."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Description, Method, Owned, Reader
from ahpd.protocol.errors import RpcError

NAME = "x-notes/put"


def put(rig, **method):
    method.setdefault("grant", "")
    rig.extensions.contributed_methods({NAME: Owned("notes", Method(**method))})


def test_a_command_is_told_its_params_and_who_sends_it(rig, access):
    told = []

    def handle(params, caller):
        told.append((dict(params), caller))
        return {"kept": True}

    access.give("ada", "notes:put")
    put(rig, grant="notes:put", handle=handle)
    assert rig.client("ada", locale="fr").call(NAME, id=1) == {"kept": True}
    ((params, caller),) = told
    assert params == {"id": 1}
    assert (caller.client, caller.owner, caller.locale) == ("ada", "user:ada", "fr")
    assert caller.reader == Reader(principal="user:ada")


def test_a_command_may_take_its_time(rig):
    answer = Deferred()
    put(rig, handle=lambda params, caller: answer)
    client = rig.client("ada")
    asked = client.ask(NAME)
    assert client.answer(asked) is None
    answer.callback([1])
    assert client.answer(asked)["result"] == [1]


def test_it_is_answered_after_the_handshake_alone(rig):
    put(rig, handle=lambda params, caller: {})
    stranger = rig.stranger("ada")
    assert stranger.refused(NAME)["code"] == -32600
    stranger.hello()
    assert stranger.call(NAME) == {}


def test_who_does_not_hold_the_grant_is_refused_and_nothing_is_done(rig):
    done = []
    put(rig, grant="notes:put", handle=lambda params, caller: done.append(params))
    error = rig.client("ada").refused(NAME)
    assert (error["code"], error["message"]) == (-32009, "ada may not notes:put here")
    assert done == []


@pytest.mark.parametrize("wait", [False, True])
def test_authorize_is_asked_only_about_who_does_not_hold_the_grant(rig, access, wait):
    access.give("eve", "notes:put")
    asked = []

    async def later(answer):
        return answer

    def authorize(params, caller):
        asked.append((dict(params), caller.client))
        mine = caller.client == "ada"
        return later(mine) if wait else mine

    put(rig, grant="notes:put", handle=lambda params, caller: caller.client, authorize=authorize)
    assert rig.client("ada").call(NAME, id="a") == "ada"
    assert rig.client("eve").call(NAME) == "eve"
    assert rig.client("bob").refused(NAME)["code"] == -32009
    assert asked == [({"id": "a"}, "ada"), ({}, "bob")]


@pytest.mark.logs_failures
@pytest.mark.parametrize("wait", [False, True])
def test_an_authorize_that_raises_lets_nobody_in(rig, caught_failures, wait):
    async def later():
        raise LookupError("hidden words")

    def authorize(params, caller):
        if wait:
            return later()
        raise LookupError("hidden words")

    put(rig, grant="notes:put", handle=lambda *_: {}, authorize=authorize)
    error = rig.client("ada").refused(NAME)
    assert (error["code"], "hidden" in error["message"]) == (-32009, False)
    assert len(caught_failures(LookupError)) == 1


@pytest.mark.parametrize("wait", [False, True])
def test_an_error_of_the_protocol_is_told_as_it_was_raised(rig, wait):
    async def later():
        raise RpcError(-32011, "somebody else was first", {"etag": "2"})

    def handle(params, caller):
        if wait:
            return later()
        raise RpcError(-32011, "somebody else was first", {"etag": "2"})

    put(rig, handle=handle)
    assert rig.client("ada").refused(NAME) == {
        "code": -32011,
        "message": "somebody else was first",
        "data": {"etag": "2"},
    }


@pytest.mark.logs_failures
@pytest.mark.parametrize("wait", [False, True])
@pytest.mark.parametrize(
    "failure",
    [
        ValueError("the password is 1234"),
        RpcError(-32603, "password 1234", {"data": object()}),
        RpcError("code", "password 1234"),
    ],
)
def test_anything_else_is_told_in_safe_words_and_logged(rig, caught_failures, failure, wait):
    async def later():
        raise failure

    def handle(params, caller):
        if wait:
            return later()
        raise failure

    put(rig, handle=handle)
    assert rig.client("ada").refused(NAME) == {
        "code": -32603,
        "message": f"{NAME} failed; the host's log says why",
    }
    if isinstance(failure, ValueError):
        assert caught_failures(ValueError) == [failure]


@pytest.mark.logs_failures
@pytest.mark.parametrize("result", [object(), {"a": {1: object()}}])
def test_a_result_that_is_no_json_is_an_error_of_the_command(rig, caught_failures, result):
    put(rig, handle=lambda params, caller: result)
    error = rig.client("ada").refused(NAME)
    assert (error["code"], error["message"]) == (-32603, f"{NAME} failed; the host's log says why")
    assert len(caught_failures(TypeError)) == 1


@pytest.mark.logs_failures
def test_what_in_a_result_cannot_be_said_is_named_in_the_log(rig, caught_failures):
    put(rig, handle=lambda params, caller: {"rows": [{"title": "\ud800"}]})
    assert rig.client("ada").refused(NAME)["code"] == -32603
    [failure] = caught_failures(TypeError)
    assert "result.rows[0].title: expected a text, found half a character" in str(failure)


def test_the_table_is_live_for_connections_that_are_open(rig):
    client = rig.client("ada")
    assert client.refused(NAME)["code"] == -32601
    put(rig, handle=lambda params, caller: 1)
    assert client.call(NAME) == 1
    put(rig, handle=lambda params, caller: 2)
    assert client.call(NAME) == 2
    rig.extensions.contributed_methods({})
    assert client.refused(NAME)["code"] == -32601


def test_the_first_of_a_name_stands_and_the_other_is_reported_once(rig):
    rig.extensions.add_method(NAME, Method(grant="", handle=lambda *_: "the host's"))
    theirs = {
        NAME: Owned("thief", Method(grant="", handle=lambda *_: "stolen")),
        "notes/put": Owned("thief", Method(grant="", handle=lambda *_: "stolen")),
        "initialize": Owned("thief", Method(grant="", handle=lambda *_: "stolen")),
        "x-thief/mine": Owned("thief", Method(grant="", handle=lambda *_: "its own")),
    }
    for _ in range(2):
        rig.extensions.contributed_methods(theirs)
    client = rig.client("ada")
    assert client.call(NAME) == "the host's"
    assert client.call("x-thief/mine") == "its own"
    assert client.refused("notes/put")["code"] == -32601
    assert rig.dropped == [
        ("thief", "the command x-notes/put is left out: this host serves it already"),
        ("thief", "the command notes/put is left out: a command's name begins with x-"),
        ("thief", "the command initialize is left out: a command's name begins with x-"),
    ]


def test_commands_are_described_by_their_words_or_their_name(rig):
    rig.extensions.contributed_methods(
        {
            "x-a/b": Owned(
                "p",
                Method(
                    grant="a:b",
                    handle=dict,
                    describe=lambda: Description(title="Do", description="What it does"),
                ),
            ),
            "x-c": Owned("p", Method(grant="", handle=dict)),
        }
    )
    assert rig.extensions.described()["ahpd.methods"] == [
        {"method": "x-a/b", "title": "Do", "description": "What it does", "grant": "a:b"},
        {"method": "x-c", "title": "x-c", "grant": ""},
    ]
