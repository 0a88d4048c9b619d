"""Sign-ins: a code that is pasted, and one that is approved on another device."""

from base64 import urlsafe_b64encode
from hashlib import sha256

import pytest
from twisted.internet.defer import CancelledError, Deferred

from ahpd.connectors.sign_in_code import PendingCode
from ahpd.connectors.sign_in_device import PendingDevice
from ahpd.interfaces import Check, CodeSignIn, DeviceCode, DeviceSignIn, RpcError

from .connectors_host import KEY, ConnectorsHost, Directory, ScriptedAdapter, person

ADA = person("user:ada")
CODE = "the-pasted-code"
HANDLE = "device-handle-0001"


class CodeVendor:
    """Exchanges codes as it is told."""

    def __init__(self):
        self.asked = []
        self.links = []
        self.answer = KEY

    def url(self, challenge, state):
        self.links.append((challenge, state))
        return f"https://vendor.example/{state}"

    async def exchange(self, code, verifier):
        self.asked.append((code, verifier))
        if isinstance(self.answer, Exception):
            raise self.answer
        return await self.answer if isinstance(self.answer, Deferred) else self.answer

    def sign_in(self):
        return CodeSignIn(title="Sign in", field="key", url=self.url, exchange=self.exchange)


class DeviceVendor:
    """Makes device codes, and answers polls with the next of `answers`: waiting when none is left."""

    def __init__(self, *answers, expires=300, interval=5):
        self.answers = list(answers)
        self.polled = []
        self.code = DeviceCode(
            code="ABCD-1234",
            url="https://vendor.example/device",
            expires=expires,
            interval=interval,
            handle=HANDLE,
        )

    async def start(self):
        if isinstance(self.code, Exception):
            raise self.code
        return self.code

    async def poll(self, handle):
        self.polled.append(handle)
        answer = self.answers.pop(0) if self.answers else 5
        if isinstance(answer, Exception):
            raise answer
        return await answer if isinstance(answer, Deferred) else answer

    def sign_in(self, **more):
        return DeviceSignIn(
            title="Sign in", field="key", start=self.start, poll=self.poll, account="bot", **more
        )


def access():
    held = {"connector:put", "connector:remove", "connector:list"}
    return Directory({"user:ada": held, "user:bob": held})


@pytest.fixture
def coded():
    host = ConnectorsHost(access=access()).start()
    host.vendor = CodeVendor()
    host.offer(ScriptedAdapter(sign_in=host.vendor.sign_in()))
    return host


def device_host(vendor, **more):
    host = ConnectorsHost(access=access()).start()
    host.vendor = vendor
    host.scripted = ScriptedAdapter(sign_in=vendor.sign_in(**more))
    host.offer(host.scripted)
    return host


def asking(identifier="hers", owner="user:ada", **config):
    return {"id": identifier, "adapter": "mail", "owner": owner, "config": config}


def begun(host, caller=ADA, **more):
    return host.ask("signin", asking(**more), caller)


# -- a pasted code ---------------------------------------------------------------------------


def test_a_pasted_code_is_exchanged_for_the_key_of_a_connector(coded, logged):
    answer = begun(coded, bot="b")
    state = answer.pop("state")
    assert answer == {"url": f"https://vendor.example/{state}"}
    assert coded.row("hers") is None
    row = coded.ask("signin-finish", {"state": state, "code": f" {CODE} "}, ADA)
    assert (row["state"], row["owner"]) == ("ready", "user:ada")
    assert row["config"] == {"key": {"$secret": "user:ada/connector/hers/key"}, "bot": "b"}
    assert coded.vaulted() == {"user:ada/connector/hers/key": KEY}
    ((code, verifier),) = coded.vendor.asked
    ((challenge, linked),) = coded.vendor.links
    assert code == CODE
    digest = urlsafe_b64encode(sha256(verifier.encode()).digest()).rstrip(b"=").decode()
    assert (challenge, linked) == (digest, state)
    assert 43 <= len(verifier) <= 128
    assert verifier != state
    for secret in (KEY, CODE, verifier, state):
        assert not any(secret in line for line in logged)


def test_the_start_checks_what_a_put_checks_but_for_the_field_it_fills(coded):
    for wrong in (
        asking("Hers"),
        asking(owner="user:bob"),
        asking(bot=7),
        asking(more="x"),
        {**asking(), "adapter": "other"},
    ):
        with pytest.raises(RpcError):
            coded.ask("signin", wrong, ADA)
    assert coded.vendor.links == []
    begun(coded, key="")


def test_an_adapter_without_a_sign_in_is_refused(host, mail):
    asked = {"id": "a", "adapter": "mail", "owner": "host", "config": {"key": KEY}}
    assert host.refused("signin", asked) == "The mail has no sign-in: put its key"


def test_a_state_is_its_starter_s_once_and_for_ten_minutes(coded):
    state = begun(coded)["state"]
    finish = {"state": state, "code": CODE}
    words = "names no sign-in that you started"
    assert words in coded.refused("signin-finish", finish, person("user:bob"))
    assert words in coded.refused("signin-finish", {**finish, "state": "made-up"}, ADA)
    assert words in coded.refused("signin-finish", {**finish, "state": None}, ADA)
    assert "params.code must be" in coded.refused("signin-finish", {**finish, "code": " "}, ADA)
    assert coded.vendor.asked == []
    coded.clock.advance(599.9)
    assert coded.ask("signin-finish", finish, ADA)["id"] == "hers"
    assert words in coded.refused("signin-finish", finish, ADA)
    late = begun(coded)["state"]
    coded.clock.advance(600)
    assert words in coded.refused("signin-finish", {"state": late, "code": CODE}, ADA)


def test_where_nobody_is_signed_in_a_client_is_its_own_starter(host):
    vendor = CodeVendor()
    host.offer(ScriptedAdapter(sign_in=vendor.sign_in()))
    state = begun(host, person(client="one"), owner="host")["state"]
    finish = {"state": state, "code": CODE}
    assert "names no sign-in" in host.refused("signin-finish", finish, person(client="two"))
    assert host.ask("signin-finish", finish, person(client="one"))["state"] == "ready"


def test_a_caller_has_ten_and_the_oldest_goes_first(coded):
    bobs = coded.ask("signin", asking("his", "user:bob"), person("user:bob"))["state"]
    states = [begun(coded)["state"] for _ in range(11)]
    finish = [{"state": state, "code": CODE} for state in states]
    assert "names no sign-in" in coded.refused("signin-finish", finish[0], ADA)
    for one in finish[1:]:
        coded.ask("signin-finish", one, ADA)
    coded.ask("signin-finish", {"state": bobs, "code": CODE}, person("user:bob"))


def test_the_owner_s_rule_is_asked_again_before_the_exchange(coded):
    state = begun(coded)["state"]
    coded.service._rules._access.grants["user:ada"].discard("connector:put")
    with pytest.raises(RpcError) as found:
        coded.ask("signin-finish", {"state": state, "code": CODE}, ADA)
    assert found.value.code == -32009
    assert coded.vendor.asked == []


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError("HTTP 403"), "The mail: HTTP 403"),
        (OSError(f"HTTP 403 for {CODE}"), "The mail: the sign-in failed"),
        (ValueError(CODE), "The mail: the sign-in failed"),
        ("", "The mail: the sign-in failed"),
    ],
)
def test_a_failed_exchange_says_the_title_and_the_status_alone(coded, failure, words, logged):
    coded.vendor.answer = failure
    state = begun(coded)["state"]
    assert coded.refused("signin-finish", {"state": state, "code": CODE}, ADA) == words
    assert coded.row("hers") is None
    assert coded.vaulted() == {}
    assert not any(CODE in line for line in logged)
    # A state is used once, whatever came of it.
    assert "names no sign-in" in coded.refused("signin-finish", {"state": state, "code": "x"}, ADA)


def test_an_exchange_that_never_answers_is_given_up(coded):
    coded.vendor.answer = Deferred()
    state = begun(coded)["state"]
    finish = coded.begin("signin-finish", {"state": state, "code": CODE}, ADA)
    coded.clock.advance(60)
    with pytest.raises(RpcError, match="the sign-in failed"):
        finish.result()


def test_a_sign_in_makes_an_unauthorized_connector_ready(coded):
    scripted = ScriptedAdapter(sign_in=coded.vendor.sign_in())
    coded.offer(scripted)
    scripted.checking = lambda connector: Check(
        result="ok" if connector.config["key"] == KEY else "denied"
    )
    coded.ask("put", asking(key="stale"), ADA)
    assert coded.row("hers")["state"] == "unauthorized"
    state = begun(coded, key="<set>")["state"]
    assert coded.ask("signin-finish", {"state": state, "code": CODE}, ADA)["state"] == "ready"
    assert "alerts" not in coded.row("hers")


def test_a_sign_in_is_over_when_its_adapter_goes(coded):
    state = begun(coded)["state"]
    coded.offer()
    assert "names no sign-in" in coded.refused("signin-finish", {"state": state, "code": CODE}, ADA)


def test_what_is_pending_shows_nothing_of_itself(coded):
    pending = PendingCode(
        state="state-1", starter="s", caller=ADA, owned=None, params={"key": KEY}, verifier="ver-1"
    )
    device = PendingDevice(
        state="state-1", starter="s", caller=ADA, owned=None, params={"key": KEY}, handle=HANDLE
    )
    for shown in (repr(pending), repr(device), repr(DeviceVendor().code)):
        for secret in ("state-1", "ver-1", KEY, HANDLE):
            assert secret not in shown


# -- another device ---------------------------------------------------------------------------


def test_a_device_sign_in_is_polled_until_it_is_approved(logged):
    host = device_host(DeviceVendor(5, 11, {"key": KEY, "bot": "ada@example"}))
    answer = begun(host)
    state = answer.pop("state")
    assert answer == {
        "code": "ABCD-1234",
        "url": "https://vendor.example/device",
        "expires": 300,
    }
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.clock.advance(4.9)
    assert host.vendor.polled == []
    host.clock.advance(0.1)
    host.clock.advance(5)
    assert host.vendor.polled == [HANDLE, HANDLE]
    assert not finish.done
    host.clock.advance(10.9)
    assert len(host.vendor.polled) == 2
    host.clock.advance(0.1)
    row = finish.result()
    assert row["config"] == {
        "key": {"$secret": "user:ada/connector/hers/key"},
        "bot": "ada@example",
    }
    assert (row["id"], row["state"]) == ("hers", "ready")
    # A later one is answered the same, until the code expires.
    assert host.ask("signin-finish", {"state": state}, ADA)["id"] == "hers"
    assert host.scripted.history.count(("open", "hers")) == 1
    host.clock.advance(300)
    assert "names no sign-in" in host.refused("signin-finish", {"state": state}, ADA)
    assert len(host.vendor.polled) == 3
    for secret in (KEY, HANDLE, state):
        assert not any(secret in line for line in logged)


def test_the_connector_is_made_though_nobody_waits_for_it():
    host = device_host(DeviceVendor({"key": KEY}))
    begun(host)
    host.clock.advance(5)
    assert host.row("hers")["state"] == "ready"


def test_two_that_wait_are_both_answered():
    host = device_host(DeviceVendor({"key": KEY}))
    state = begun(host)["state"]
    both = [host.begin("signin-finish", {"state": state}, ADA) for _ in range(2)]
    host.clock.advance(5)
    assert [one.result()["id"] for one in both] == ["hers", "hers"]


def test_a_code_is_no_part_of_a_device_sign_in():
    host = device_host(DeviceVendor())
    state = begun(host)["state"]
    words = host.refused("signin-finish", {"state": state, "code": CODE}, ADA)
    assert words.startswith("params.code")
    stranger = host.refused("signin-finish", {"state": state}, person("user:bob"))
    assert "names no sign-in" in stranger


def test_whoever_waits_is_told_when_the_code_expires_though_the_vendor_never_answers():
    host = device_host(DeviceVendor(Deferred(), expires=20))
    state = begun(host)["state"]
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.clock.advance(5)
    host.clock.advance(14.9)
    assert not finish.done
    host.clock.advance(0.2)
    with pytest.raises(RpcError, match="it has expired"):
        finish.result()
    assert host.row("hers") is None
    assert not host.clock.getDelayedCalls()


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (OSError("HTTP 400"), "The mail: HTTP 400"),
        (OSError(f"refused {HANDLE}"), "The mail: the sign-in failed"),
    ],
)
def test_a_refusal_ends_it_and_is_answered_until_the_code_expires(failure, words, logged):
    host = device_host(DeviceVendor(failure))
    state = begun(host)["state"]
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.clock.advance(5)
    with pytest.raises(RpcError) as found:
        finish.result()
    assert found.value.message == words
    assert host.refused("signin-finish", {"state": state}, ADA) == words
    host.clock.advance(60)
    assert len(host.vendor.polled) == 1
    assert not any(HANDLE in line for line in logged)


def test_a_start_that_fails_says_the_status_alone():
    vendor = DeviceVendor()
    host = device_host(vendor)
    vendor.code = OSError("HTTP 429")
    assert host.refused("signin", asking(), ADA) == "The mail: HTTP 429"
    vendor.code = "no code"
    assert host.refused("signin", asking(), ADA) == "The mail: the sign-in failed"


def test_another_account_is_refused_unless_the_adapter_lets_it_switch():
    host = device_host(DeviceVendor({"key": "new", "bot": "bob"}))
    host.ask("put", asking(key=KEY, bot="ada"), ADA)
    state = begun(host, bot="ada")["state"]
    host.clock.advance(5)
    words = host.refused("signin-finish", {"state": state}, ADA)
    assert words == "signed in as bob, this connector is ada"
    assert host.vaulted() == {"user:ada/connector/hers/key": KEY}
    assert host.row("hers")["config"]["bot"] == "ada"


def test_the_same_account_and_one_that_may_switch_keep_the_connector():
    for answer, more in (
        ({"key": "new", "bot": "ada"}, {}),
        ({"key": "new", "bot": "bob"}, {"switch_account": True}),
    ):
        host = device_host(DeviceVendor(answer), **more)
        host.ask("put", asking(key=KEY, bot="ada"), ADA)
        begun(host)
        host.clock.advance(5)
        assert host.row("hers")["config"]["bot"] == answer["bot"]
        assert host.vaulted() == {"user:ada/connector/hers/key": "new"}


def test_the_owner_s_rule_is_asked_again_when_it_is_approved():
    host = device_host(DeviceVendor({"key": KEY}))
    state = begun(host)["state"]
    host.service._rules._access.grants["user:ada"].discard("connector:put")
    host.clock.advance(5)
    assert host.row("hers") is None
    assert host.vaulted() == {}
    with pytest.raises(RpcError) as found:
        host.ask("signin-finish", {"state": state}, ADA)
    assert found.value.code == -32009


@pytest.mark.parametrize(
    "answer", [{"bot": "ada"}, {"key": KEY, "refresh": "r"}, "yes", None, True]
)
def test_an_approval_that_cannot_be_kept_keeps_nothing(answer):
    host = device_host(DeviceVendor(answer))
    state = begun(host)["state"]
    host.clock.advance(5)
    assert host.row("hers") is None
    assert host.vaulted() == {}
    assert host.refused("signin-finish", {"state": state}, ADA).startswith("The mail: the approval")


def test_a_dropped_one_is_polled_no_more():
    host = device_host(DeviceVendor())
    state = begun(host)["state"]
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.offer()
    with pytest.raises(RpcError, match="its adapter is gone"):
        finish.result()
    host.clock.advance(60)
    assert host.vendor.polled == []
    assert not host.clock.getDelayedCalls()


def test_a_stop_ends_what_waits():
    host = device_host(DeviceVendor(Deferred()))
    state = begun(host)["state"]
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.clock.advance(5)
    assert host.stop()
    with pytest.raises(RpcError, match="the host is going"):
        finish.result()
    assert not host.clock.getDelayedCalls()


def test_a_required_field_that_only_the_approval_fills_is_not_asked_for_before():
    schema = {
        "type": "object",
        "properties": {
            "key": {"type": "string", "secret": True},
            "bot": {"type": "string"},
            "region": {"type": "string"},
        },
        "required": ["key", "bot", "region"],
    }
    host = ConnectorsHost(access=access()).start()
    vendor = DeviceVendor({"key": KEY, "bot": "ada", "region": "eu"})
    host.offer(ScriptedAdapter(schema=schema, sign_in=vendor.sign_in()))
    begun(host)
    host.clock.advance(5)
    assert host.row("hers")["config"]["region"] == "eu"


def test_what_an_abandoned_poll_answers_at_last_makes_no_connector():
    late = Deferred()
    vendor = DeviceVendor(expires=20)

    async def stubborn(handle):
        try:
            await Deferred()
        except CancelledError:
            return await late

    vendor.poll = stubborn
    host = device_host(vendor)
    state = begun(host)["state"]
    finish = host.begin("signin-finish", {"state": state}, ADA)
    host.clock.advance(5)
    host.clock.advance(15)
    with pytest.raises(RpcError, match="it has expired"):
        finish.result()
    late.callback({"key": KEY})
    assert host.row("hers") is None
    assert host.vaulted() == {}
