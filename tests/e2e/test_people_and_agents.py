"""An agent that asks, waits, delegates and is spoken to meanwhile, with people at real sockets."""

import base64

import pytest
import pytest_twisted

from ahpd.client import ActionRefused
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE, Daemon


def message(text):
    return {"text": text, "origin": {"kind": "user"}}


class Two:
    """Two people in one chat of the demo agent."""

    def __init__(self, daemon, ann, bob):
        self.daemon = daemon
        self.ann = ann
        self.bob = bob
        self.session, self.chat = ann.session, ann.chat

    async def both(self, predicate, what):
        """Wait until it holds for what each of them sees; what Ann's gave."""
        found = []
        for talk in (self.ann, self.bob):
            found.append(
                await talk.probe.wait_for(lambda talk=talk: predicate(talk), PATIENCE, what)
            )
        return found[0]

    def answers(self, kind, since=0):
        """(who, whether it counted) of each answer of one kind, in the order Bob was told."""
        return [
            (said.origin["clientId"], said.rejection is None)
            for said in self.bob.probe.envelopes(self.chat)[since:]
            if said.type == kind and said.origin is not None
        ]


@pytest_twisted.async_yield_fixture(scope="module")
async def daemon(tmp_path_factory):
    """One daemon for all of these; each test has sessions and clients of its own in it."""
    from twisted.internet import reactor

    made = Daemon(reactor, tmp_path_factory.mktemp("people") / "daemon", "--port", "0")
    await made.start()
    yield made
    await made.leave()


@pytest_twisted.async_yield_fixture
async def two(daemon, talk):
    """Puts Ann and Bob in one chat. At the end what each was told is checked, and both go."""
    sessions = []

    async def two():
        ann = await talk(await daemon.connect("ann", ROOT))
        sessions.append(ann.session)
        bob = await ann.with_client(await daemon.connect("bob", ROOT))
        return Two(daemon, ann, bob)

    yield two
    try:
        await daemon.check()
        for session in sessions:
            await daemon.clients[0].request("disposeSession", channel=session)
        await daemon.until(lambda: len(daemon.children()) <= 1, "the end of the agents' processes")
    finally:
        for probe in daemon.clients:
            probe.abort()
        daemon.clients.clear()


def parts(talk, kind):
    """The parts of one kind in the running turn, as this client sees them."""
    turn = talk.probe.plain_state(talk.chat).get("activeTurn") or {"responseParts": []}
    return [part for part in turn["responseParts"] if part["kind"] == kind]


def call_that(status):
    def found(talk):
        calls = [part["toolCall"] for part in parts(talk, "toolCall")]
        return next((call for call in calls if call["status"] == status), None)

    return found


def calls_of(turn):
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


def confirmed(turn_id, call, approved, **fields):
    verdict = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return {
        "type": "chat/toolCallConfirmed",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "approved": approved,
        **verdict,
        **fields,
    }


async def performed(probe, channel, action):
    """The host's word on an action: its echo, or the reason it was refused with."""
    try:
        return await probe.perform(channel, action)
    except ActionRefused as refused:
        return refused


# -- tool calls that ask --------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_call_that_asks_runs_or_does_not_as_a_person_says(two, text_of, approved):
    people = await two()
    turn_id = await people.ann.begin("/confirm rm it all")
    call = await people.both(call_that("pending-confirmation"), "the question")
    await people.bob.probe.wait_for(
        lambda: people.bob.probe.state(people.session).get("inputNeeded"), PATIENCE, "the mirror"
    )
    await people.bob.probe.perform(people.chat, confirmed(turn_id, call, approved))
    turn = await people.ann.finished(turn_id)
    (call,) = calls_of(turn)
    assert call["status"] == ("completed" if approved else "cancelled")
    assert text_of(turn) == ("Rm was allowed." if approved else "Rm was denied.")
    await people.both(
        lambda talk: not talk.probe.state(talk.session).get("inputNeeded"), "the mirror's end"
    )


@pytest_twisted.ensureDeferred
async def test_what_a_person_edited_and_said_reaches_the_agent(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/confirm rm it all")
    call = await people.both(call_that("pending-confirmation"), "the question")
    edited = confirmed(turn_id, call, True, editedToolInput='{"text": "a bit"}')
    await people.ann.probe.perform(people.chat, edited)
    (call,) = calls_of(await people.bob.finished(turn_id))
    assert call["content"] == [{"type": "text", "text": "a bit"}]
    turn_id = await people.ann.begin("/confirm rm it all")
    call = await people.both(call_that("pending-confirmation"), "the question")
    refused = confirmed(
        turn_id, call, False, reasonMessage="too much", userSuggestion=message("a bit")
    )
    await people.ann.probe.perform(people.chat, refused)
    turn = await people.bob.finished(turn_id)
    assert text_of(turn) == "Rm was denied: too much (you suggested: a bit)."


@pytest_twisted.ensureDeferred
async def test_of_two_opposite_answers_exactly_one_counts_and_both_are_told_which(two, text_of):
    people = await two()
    for number in range(10):
        turn_id = await people.ann.begin("/confirm rm it all")
        call = await people.both(call_that("pending-confirmation"), "the question")
        since = len(people.bob.probe.envelopes(people.chat))
        first, second = (people.ann, people.bob) if number % 2 else (people.bob, people.ann)
        first.probe.dispatch(people.chat, confirmed(turn_id, call, True))
        second.probe.dispatch(people.chat, confirmed(turn_id, call, False))
        turn = await people.ann.finished(turn_id)
        assert await people.bob.finished(turn_id) == turn
        for talk in (people.ann, people.bob):
            await talk.probe.ping()
        answers = people.answers("chat/toolCallConfirmed", since)
        assert sorted(who for who, _ in answers) == ["ann", "bob"]
        allowed = answers[0][0] == first.probe.client_id
        (call,) = calls_of(turn)
        assert call["status"] == ("completed" if allowed else "cancelled")
        assert text_of(turn) == ("Rm was allowed." if allowed else "Rm was denied.")


@pytest_twisted.ensureDeferred
async def test_a_cancelled_turn_takes_its_question_with_it(two):
    people = await two()
    turn_id = await people.ann.begin("/confirm rm it all\n/say never")
    await people.both(call_that("pending-confirmation"), "the question")
    await people.bob.probe.perform(
        people.chat, {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    )
    turn = await people.ann.finished(turn_id)
    assert turn["state"] == "cancelled"
    assert [call["status"] for call in calls_of(turn)] == ["cancelled"]
    await people.both(
        lambda talk: not talk.probe.state(talk.session).get("inputNeeded"), "the mirror's end"
    )
    assert (await people.ann.say("/say on"))["state"] == "complete"


# -- questions ------------------------------------------------------------------------


def question(talk):
    return next((part for part in parts(talk, "inputRequest") if "response" not in part), None)


@pytest_twisted.ensureDeferred
async def test_a_question_is_answered_by_whoever_comes_first(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/ask Which one? | red | blue")
    request = (await people.both(question, "the question"))["request"]
    value = {"state": "submitted", "value": {"kind": "selected", "value": "blue"}}
    completed = {
        "type": "chat/inputCompleted",
        "requestId": request["id"],
        "response": "accept",
        "answers": {"answer": value},
    }
    await people.bob.probe.perform(people.chat, completed)
    turn = await people.ann.finished(turn_id)
    assert text_of(turn) == "You answered: blue"
    (part,) = [part for part in turn["responseParts"] if part["kind"] == "inputRequest"]
    assert part["response"] == "accept"
    await performed(people.ann.probe, people.chat, {**completed, "response": "decline"})
    assert people.ann.turn(turn_id) == turn, "a second answer changed the first"


@pytest_twisted.ensureDeferred
async def test_what_was_typed_before_is_part_of_the_answer(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/ask Which one? | red | blue")
    request = (await people.both(question, "the question"))["request"]
    typed = {
        "type": "chat/inputAnswerChanged",
        "requestId": request["id"],
        "questionId": "answer",
        "answer": {"state": "submitted", "value": {"kind": "selected", "value": "red"}},
    }
    await people.ann.probe.perform(people.chat, typed)
    completed = {
        "type": "chat/inputCompleted",
        "requestId": request["id"],
        "response": "accept",
    }
    await people.bob.probe.perform(people.chat, completed)
    assert text_of(await people.ann.finished(turn_id)) == "You answered: red"


# -- tools of clients -----------------------------------------------------------------


async def joins_with_a_tool(talk, *names):
    tools = [{"name": name, "title": name.capitalize()} for name in names]
    client = {"clientId": talk.probe.client_id, "tools": tools}
    action = {"type": "session/activeClientSet", "activeClient": client}
    await talk.probe.perform(talk.session, action)


@pytest_twisted.ensureDeferred
async def test_a_clients_tool_is_run_by_that_client_alone(two, text_of):
    people = await two()
    await joins_with_a_tool(people.bob, "look")
    turn_id = await people.ann.begin('/client look {"at": "the sea"}')
    call = await people.both(call_that("running"), "the call")
    assert call["contributor"] == {"kind": "client", "clientId": "bob"}
    assert call["toolInput"] == '{"at": "the sea"}'
    result = {
        "type": "chat/toolCallComplete",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "result": {
            "success": True,
            "pastTenseMessage": "Looked",
            "content": [{"type": "text", "text": "a boat"}],
        },
    }
    assert isinstance(await performed(people.ann.probe, people.chat, result), ActionRefused)
    await people.bob.probe.perform(people.chat, result)
    assert text_of(await people.ann.finished(turn_id)) == "Look answered: a boat"


@pytest_twisted.ensureDeferred
async def test_a_tool_no_client_offers_is_told(two):
    people = await two()
    turn = await people.ann.say("/client look")
    assert turn["state"] == "error"
    assert turn["responseParts"][-1]["error"]["message"] == (
        "/client: no client offers the tool look; offered are: none"
    )


# -- meanwhile ------------------------------------------------------------------------


def pending(kind, identifier, text):
    return {
        "type": "chat/pendingMessageSet",
        "kind": kind,
        "id": identifier,
        "message": message(text),
    }


@pytest_twisted.ensureDeferred
async def test_steering_reaches_the_turn_that_runs(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/say a\n/sleep 1500\n/say b")
    await people.both(lambda talk: parts(talk, "markdown"), "the first word")
    await people.bob.probe.perform(people.chat, pending("steering", "s1", "be quick"))
    turn = await people.ann.finished(turn_id)
    assert text_of(turn) == "aYou said meanwhile: be quickb"
    await people.both(
        lambda talk: "steeringMessage" not in talk.probe.state(talk.chat), "that it was read"
    )
    assert len(people.ann.probe.state(people.chat)["turns"]) == 1


@pytest_twisted.ensureDeferred
async def test_a_stop_takes_the_steering_with_it_and_starts_nothing(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/say a\n/sleep 600000")
    await people.both(lambda talk: parts(talk, "markdown"), "the first word")
    await people.bob.probe.perform(people.chat, pending("steering", "s1", "/say late"))
    stop = {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}
    await people.ann.probe.perform(people.chat, stop)
    await people.both(
        lambda talk: "steeringMessage" not in talk.probe.state(talk.chat), "the steering's end"
    )
    assert text_of(await people.ann.say("/say on")) == "on"
    await people.both(lambda talk: len(talk.probe.state(talk.chat)["turns"]) > 1, "both turns")
    turns = people.bob.probe.plain_state(people.chat)["turns"]
    assert [turn["state"] for turn in turns] == ["cancelled", "complete"]


@pytest_twisted.ensureDeferred
async def test_queued_messages_run_in_their_order(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/say a\n/sleep 2000")
    await people.both(lambda talk: parts(talk, "markdown"), "the first word")
    await people.ann.probe.perform(people.chat, pending("queued", "q1", "/say b"))
    await people.bob.probe.perform(people.chat, pending("queued", "q2", "/say c"))
    await people.bob.probe.perform(people.chat, pending("queued", "q3", "/say d"))
    order = {"type": "chat/queuedMessagesReordered", "order": ["q3", "q1", "q2"]}
    await people.ann.probe.perform(people.chat, order)
    removed = {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": "q2"}
    await people.ann.probe.perform(people.chat, removed)
    await people.both(lambda talk: len(talk.probe.state(talk.chat)["turns"]) == 3, "three turns")
    turns = people.bob.probe.plain_state(people.chat)["turns"]
    assert [text_of(turn) for turn in turns] == ["a", "d", "b"]
    assert turns[0]["id"] == turn_id


@pytest_twisted.ensureDeferred
async def test_a_turn_that_failed_is_resumed_where_it_was(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/say a\n/retry 2\n/say b")
    for number in (1, 2):
        turn = await people.both(failed(turn_id, number), f"failure {number}")
        error = turn["responseParts"][-1]
        assert error["error"]["message"] == f"Try {number} failed; try 3 works"
        assert error["resumable"] is True
        who = people.bob if number == 1 else people.ann
        await who.probe.perform(people.chat, {"type": "chat/turnResume", "turnId": turn_id})
    turn = await people.both(
        lambda talk: (turn := talk.turn(turn_id)) and turn["state"] == "complete" and turn,
        "the turn's end",
    )
    assert text_of(turn) == "aIt worked on try 3.b"
    assert len(people.ann.probe.state(people.chat)["turns"]) == 1


def failed(turn_id, times):
    def found(talk):
        turn = talk.turn(turn_id)
        if turn is None or turn["state"] != "error":
            return None
        return turn if f"Try {times}" in turn["responseParts"][-1]["error"]["message"] else None

    return found


# -- workers and background -----------------------------------------------------------


def worker_of(talk, call):
    for row in talk.probe.plain_state(talk.session)["chats"]:
        origin = row.get("origin") or {}
        if origin.get("kind") == "tool" and origin["toolCallId"] == call["toolCallId"]:
            return row
    return None


@pytest_twisted.ensureDeferred
async def test_a_worker_is_a_chat_of_its_own_linked_both_ways(two, text_of):
    people = await two()
    turn = await people.ann.say("/task reader what is there\n/say after")
    (call,) = calls_of(turn)
    row = await people.both(lambda talk: worker_of(talk, call), "the worker's row")
    links = [block for block in call["content"] if block["type"] == "subagent"]
    assert [block["resource"] for block in links] == [row["resource"]]
    await people.bob.probe.subscribe(row["resource"])
    worker = people.bob.probe.plain_state(row["resource"])
    assert worker["origin"]["chat"] == people.chat
    (worked,) = worker["turns"]
    assert worked["message"]["text"] == "what is there"
    assert (worked["state"], text_of(worked)) == ("complete", "You said: what is there")
    mine = await type(people.bob)(people.bob.probe, people.session, row["resource"]).say("hello")
    assert mine["state"] == "error", "a person's message ran in a worker's chat"
    assert "read-only" in mine["responseParts"][-1]["error"]["message"]
    assert text_of(turn) == "after"


@pytest_twisted.ensureDeferred
async def test_a_stopped_worker_leaves_its_turn_running(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/task reader /sleep 600000\n/say after")
    call = await people.both(call_that("running"), "the call")
    row = await people.both(lambda talk: worker_of(talk, call), "the worker's row")
    await people.bob.probe.subscribe(row["resource"])
    running = people.bob.probe.state(row["resource"])["activeTurn"]["id"]
    await people.bob.probe.perform(
        row["resource"], {"type": "chat/turnCancelled", "turnId": running, "duration": 1}
    )
    turn = await people.ann.finished(turn_id)
    (call,) = calls_of(turn)
    assert call["error"]["message"] == "reader was stopped"
    assert text_of(turn) == "after"
    assert people.bob.probe.state(row["resource"])["turns"][0]["state"] == "cancelled"


@pytest_twisted.ensureDeferred
async def test_a_workers_question_is_answered_in_its_chat(two, text_of):
    people = await two()
    turn_id = await people.ann.begin("/task reader /confirm rm it all")
    call = await people.both(call_that("running"), "the call")
    row = await people.both(lambda talk: worker_of(talk, call), "the worker's row")
    await people.bob.probe.subscribe(row["resource"])
    worker = type(people.bob)(people.bob.probe, people.session, row["resource"])
    asked = await people.bob.probe.wait_for(
        lambda: call_that("pending-confirmation")(worker), PATIENCE, "the worker's question"
    )
    running = people.bob.probe.state(row["resource"])["activeTurn"]["id"]
    await people.bob.probe.perform(row["resource"], confirmed(running, asked, True))
    await people.ann.finished(turn_id)
    assert text_of(await worker.finished(running)) == "Rm was allowed."


@pytest_twisted.ensureDeferred
async def test_background_work_is_listed_while_it_runs_and_is_stopped(two):
    people = await two()
    await people.ann.say("/background build 600\n/background check 1")

    def listed(talk):
        return {
            work["label"]: work for work in talk.probe.state(talk.chat).get("backgroundWork", ())
        }

    work = await people.both(lambda talk: len(listed(talk)) == 2 and listed(talk), "both tasks")
    assert work["build"]["kind"] == "shell"
    assert work["build"]["command"] == "sleep 600"
    await people.both(lambda talk: list(listed(talk)) == ["build"], "the end of one")
    answer = await people.bob.probe.request(
        "vscode/stopBackgroundWork",
        channel=people.session,
        chat=people.chat,
        id=work["build"]["id"],
    )
    assert answer == {"stopped": True}
    await people.both(lambda talk: "backgroundWork" not in talk.probe.state(talk.chat), "the end")


# -- chats made of chats --------------------------------------------------------------


@pytest.fixture
def made_of():
    """Makes a chat of the first turn of the one there is, and joins Ann into it."""

    async def made_of(people, kind, **fields):
        turn = await people.ann.say("/say the sky is blue")
        await people.ann.say("/say and the sea too")
        uri = f"ahp-chat:/{kind}-1"
        source = {"kind": kind, "chat": people.chat, "turnId": turn["id"], **fields}
        await people.ann.probe.request(
            "createChat", channel=people.session, chat=uri, source=source
        )
        await people.ann.probe.subscribe(uri)
        return type(people.ann)(people.ann.probe, people.session, uri)

    return made_of


@pytest_twisted.ensureDeferred
async def test_a_fork_goes_on_from_a_turn_and_leaves_its_source_alone(two, made_of, text_of):
    people = await two()
    fork = await made_of(people, "fork")
    assert [text_of(turn) for turn in fork.probe.plain_state(fork.chat)["turns"]] == [
        "the sky is blue"
    ]
    await fork.say("/say and so is ice")
    turns = fork.probe.plain_state(fork.chat)["turns"]
    assert [text_of(turn) for turn in turns] == ["the sky is blue", "and so is ice"]
    await people.bob.probe.ping()
    turns = people.bob.probe.plain_state(people.chat)["turns"]
    assert [text_of(turn) for turn in turns] == ["the sky is blue", "and the sea too"]


@pytest_twisted.ensureDeferred
async def test_a_side_chat_tells_the_agent_once_what_it_is_about(two, made_of, text_of):
    people = await two()
    side = await made_of(people, "sideChat")
    assert side.probe.state(side.chat)["turns"] == []
    turn = await side.say("/say what about it")
    assert "the sky is blue" in text_of(turn, "reasoning")
    assert text_of(turn) == "what about it"
    assert text_of(await side.say("/say more"), "reasoning") == ""


# -- settings and completions ---------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_the_pace_is_changed_while_an_answer_runs(two, text_of):
    people = await two()
    schema = people.ann.probe.plain_state(people.session)["config"]["schema"]
    assert schema["properties"]["pace"]["enum"] == ["slow", "normal", "instant"]
    slow = {"type": "session/configChanged", "config": {"pace": "slow"}}
    await people.bob.probe.perform(people.session, slow)
    words = " ".join(f"word{number}" for number in range(190))  # half a minute of them
    turn_id = await people.ann.begin(words)
    await people.ann.grown(20)
    instant = {"type": "session/configChanged", "config": {"pace": "instant"}}
    await people.bob.probe.perform(people.session, instant)
    turn = await people.ann.finished(turn_id)
    assert text_of(turn) == f"You said: {words}"
    assert turn["duration"] < 15_000


@pytest_twisted.ensureDeferred
async def test_its_prompt_and_its_skill_are_offered_after_a_slash(two, text_of):
    people = await two()
    found = await people.ann.probe.request(
        "completions", channel=people.chat, kind="userMessage", text="/he", offset=3
    )
    texts = sorted(item["insertText"].strip() for item in found["items"])
    assert texts == ["/hello", "/help"]
    assert text_of(await people.ann.say("/hello Ann")).startswith("Hello, Ann!")


@pytest_twisted.ensureDeferred
async def test_a_picture_that_comes_with_a_message_is_no_trouble(two, text_of):
    people = await two()
    attached = {
        "type": "embeddedResource",
        "label": "dot.png",
        "contentType": "image/png",
        "data": base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(100)).decode(),
    }
    turn = await people.ann.say("/say seen", attachments=[attached])
    assert text_of(turn) == "seen"
