"""The contract of what an agent keeps and of what it is beside its chats, and each error in it."""

import attrs
import pytest
import pytest_twisted
from twisted.internet.task import Clock

from ahpd.interfaces import AgentAbilities, AgentFailure, Finding, ReadConversation
from ahpd.testing.agent_contract import AgentContract, SignIn, check_agent

from .remembering import MOMENT, Conversation, RememberingAgent, RememberingChat, turn_of

SIGN_IN = SignIn(message="sign in", resource="https://mcp.example/", token="lent-1")


def contract(**fields):
    return AgentContract(
        **{
            "reactor": Clock(),
            "answered": "hello",
            "endless": "endless",
            "recalling": "how far?",
            "sign_in": SIGN_IN,
            "config": {"pace": "slow"},
            "unusable": lambda: RememberingAgent(works=False),
            "change": lambda agent: agent.change(),
            **fields,
        }
    )


@pytest_twisted.ensureDeferred
async def test_one_that_keeps_and_tells_all_holds_it():
    made = []

    def make():
        made.append(RememberingAgent())
        return made[-1]

    prompts = []
    await check_agent(make, contract(unchanged=lambda: prompts.append(1) or made[-1].prompts))
    assert prompts
    assert made[-1].closed
    assert not made[-1].conversations.keys() & {f"fork-{each}" for each in ("newest", 2, 1)}


@pytest_twisted.ensureDeferred
async def test_one_that_cuts_nothing_holds_it_where_that_is_said():
    class Whole(RememberingAgent):
        def resumed(self, at):
            return self.found(at.conversation)

        def forked(self, at):
            kept = self.found(at.conversation)
            if at.point not in (None, kept.turns[-1][0]):
                raise AgentFailure("It is copied whole")
            return list(kept.turns)

    await check_agent(Whole, contract(cuts=False))
    with pytest.raises(AssertionError, match="should go on behind 1 turns"):
        await check_agent(Whole, contract())


@pytest_twisted.ensureDeferred
async def test_one_that_keeps_nothing_holds_it_where_that_is_said():
    class Nothing(RememberingAgent):
        abilities = AgentAbilities()

        async def list_conversations(self):
            raise AgentFailure("It lists none")

        async def read_conversation(self, conversation):
            raise AgentFailure("It reads none")

        async def delete_conversation(self, conversation):
            raise AgentFailure("It deletes none")

    await check_agent(Nothing, contract(keeps=False, recalling=None))
    with pytest.raises(AssertionError, match=r"delete_conversation\(\) of one that is not there"):
        await check_agent(Nothing, contract())


# -- conversations ---------------------------------------------------------------------------


class Forgets(RememberingAgent):
    def resumed(self, at):
        return Conversation(at.conversation)


class ForgetsForks(RememberingAgent):
    def forked(self, at):
        return []


class ForksWhole(RememberingAgent):
    def forked(self, at):
        return list(self.found(at.conversation).turns)


class SharesForks(RememberingAgent):
    def opened(self, start):
        return super().opened(start) if start.fork is None else self.found(start.fork.conversation)


class WritesBoth(RememberingAgent):
    def opened(self, start):
        opened = super().opened(start)
        if start.fork is not None:
            opened.turns = self.found(start.fork.conversation).turns
        return opened


class OpensNone(RememberingAgent):
    def found(self, name):
        raise AgentFailure("It is gone")


class FailsToFork(RememberingAgent):
    def forked(self, at):
        raise RuntimeError("fork")


class KeepsCuts(RememberingAgent):
    """What is cut off is not said any more, and still kept."""

    def resumed(self, at):
        found = self.found(at.conversation)
        return Conversation(found.id, found.through(at.point))

    class chat_class(RememberingChat):
        def kept(self, turn, output, said):
            before = self.agent.conversations.get(self.conversation.id)
            super().kept(turn, output, said)
            if before not in (None, self.conversation) and len(before.turns) > 2:
                self.agent.conversations[before.id] = before
                before.turns.append((turn.turn_id, turn.text, said))


class ListsNothing(RememberingAgent):
    async def list_conversations(self):
        return []


class ListsTwice(RememberingAgent):
    async def list_conversations(self):
        return [self.listed(each) for each in (*self.conversations.values(),) * 2]


def listing(**fields):
    class Lists(RememberingAgent):
        def listed(self, kept):
            return attrs.evolve(super().listed(kept), **fields)

    return Lists


def reading(change):
    class Reads(RememberingAgent):
        async def read_conversation(self, conversation):
            read = await super().read_conversation(conversation)
            return change(read)

    return Reads


def _turns(change):
    return lambda read: attrs.evolve(read, turns=change(list(read.turns)))


class ReadsUnknown(RememberingAgent):
    async def read_conversation(self, conversation):
        if conversation not in self.conversations:
            return ReadConversation(turns=[])
        return await super().read_conversation(conversation)


class RefusesUnknown(RememberingAgent):
    async def delete_conversation(self, conversation):
        self.found(conversation)
        await super().delete_conversation(conversation)


class DeletesNothing(RememberingAgent):
    async def delete_conversation(self, conversation):
        pass


class DeletesFromTheListAlone(RememberingAgent):
    def __init__(self, works=True):
        super().__init__(works)
        self.hidden = set()

    async def delete_conversation(self, conversation):
        self.hidden.add(conversation)

    async def list_conversations(self):
        listed = await super().list_conversations()
        return [each for each in listed if each.id not in self.hidden]


class NamesNothing(RememberingAgent):
    class chat_class(RememberingChat):
        def kept(self, turn, output, said):
            super().kept(turn, output, said)
            output.ended_at("")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (Forgets, "should go on behind 2 turns: it says '0 so far'"),
        (ForgetsForks, "fork-newest should go on behind 2 turns"),
        (ForksWhole, "fork-1 should go on behind 1 turns"),
        (SharesForks, "a fork is kept as the conversation it was copied from"),
        (WritesBoth, "a turn of a fork went into the conversation it was copied from"),
        (OpensNone, "failed: It is gone"),
        (FailsToFork, "open_chat.. of the chat fork-newest raised RuntimeError: fork"),
        (KeepsCuts, "was cut behind its first turn, and had one more, has"),
        (NamesNothing, "'' names no conversation or point"),
        (ListsNothing, "was kept and is not listed"),
        (ListsTwice, "is listed twice"),
        (listing(title=None), "the title of .* is None, no text"),
        (listing(created_at="yesterday"), "created_at of .* is 'yesterday', no ISO 8601"),
        (listing(modified_at="2026-01-01T00:00:00"), "which names no time zone"),
        (listing(working_directories=("/home",)), "works in /home, which is no file: URI"),
        (reading(_turns(lambda turns: turns[1:])), "is read back with the messages"),
        (
            reading(_turns(lambda turns: [{**turn, "state": "error"} for turn in turns])),
            "a complete turn is read back as error",
        ),
        (
            reading(_turns(lambda turns: [{**turn, "responseParts": []} for turn in turns])),
            "the answer .* is read back as ''",
        ),
        (
            reading(_turns(lambda turns: [{**turn, "id": "same"} for turn in turns])),
            "two turns of .* are read back under one id",
        ),
        (reading(_turns(lambda turns: [{"id": "x"} for turn in turns])), "message"),
        (
            reading(lambda read: attrs.evolve(read, points={"nobody's": "here"})),
            "points are read back of turns that are not",
        ),
        (
            reading(lambda read: attrs.evolve(read, points={read.turns[0]["id"]: ""})),
            "names no points",
        ),
        (ReadsUnknown, "read_conversation.. read one that is not there"),
        (RefusesUnknown, "delete_conversation.. of one that is not there failed"),
        (DeletesNothing, "was deleted and is listed"),
        (DeletesFromTheListAlone, "was deleted and can be read"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_kept_wrong_is_found(make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract())


@pytest_twisted.ensureDeferred
async def test_a_message_that_recalls_nothing_is_told_of():
    class Same(RememberingAgent):
        class chat_class(RememberingChat):
            def script(self, said):
                return super().script("always the same")

            def kept(self, turn, output, said):
                super().kept(turn, output, "always the same")

    with pytest.raises(AssertionError, match="says the same however long"):
        await check_agent(Same, contract())


# -- settings --------------------------------------------------------------------------------


class StumblesOverValues(RememberingAgent):
    def check_values(self, values):
        if "pace" in values:
            values["pace"].lower()


class StumblesOverKeys(RememberingAgent):
    def check_values(self, values):
        for key in values:
            {"pace": 1}[key]


class StumblesOverFolders(RememberingAgent):
    def config_schema(self, working_directory, values):
        if working_directory and not working_directory.startswith("file:"):
            raise ValueError(working_directory)
        return super().config_schema(working_directory, values)


class TakesAnyKey(RememberingAgent):
    def check_config(self, key, value):
        pass


class StumblesOverUndeclared(RememberingAgent):
    def check_config(self, key, value):
        raise KeyError(key)


class CompletesUnknown(RememberingAgent):
    async def complete_config(self, key, query, context):
        return {"pace": []}[key]


class CompletesShapeless(RememberingAgent):
    async def complete_config(self, key, query, context):
        return [{"value": "slow"}]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (StumblesOverValues, "a chat opened with the settings .* raised AttributeError"),
        (StumblesOverKeys, "a chat opened with the settings .* raised KeyError"),
        (StumblesOverFolders, "config_schema.. of nonsense:/ raised ValueError"),
        (TakesAnyKey, "check_config.. took the key"),
        (StumblesOverUndeclared, "check_config.. of .* raised KeyError"),
        (CompletesUnknown, "complete_config.. of 'no such key' raised KeyError"),
        (CompletesShapeless, "label"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_settings_taken_wrong_are_found(make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract())


# -- probes ----------------------------------------------------------------------------------


def probing(*found, **fields):
    class Probed(RememberingAgent):
        async def probe(self):
            return [
                each if isinstance(each, Finding | str) else Finding(**{**FOUND, **each})
                for each in found
            ]

    return Probed


FOUND = {"about": "program", "ok": True, "words": "It is there"}


class ProbeRaises(RememberingAgent):
    async def probe(self):
        raise AgentFailure("It is not there")


class ProbeTalks(RememberingAgent):
    async def probe(self):
        self.prompts += 1
        return await super().probe()


class ProbeBegins(RememberingAgent):
    async def probe(self):
        self.conversations["probe"] = Conversation("probe")
        return await super().probe()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (ProbeRaises, "probe.. never raises: probe.. failed: It is not there"),
        (probing(), "probe.. found nothing at all"),
        (probing("all is well"), "expected a Finding"),
        (probing({"words": ""}), "says '' as words, expected one line"),
        (probing({"words": "two\nlines"}), "expected one line"),
        (probing({"about": " "}), "says ' ' as about"),
        (probing({"words": "the key sk-1 is refused"}), "what probe.. found holds a secret"),
        (probing({"mend": "export KEY=sk-1"}), "what probe.. found holds a secret"),
        (ProbeTalks, "probe.. changed what AgentContract.unchanged looks at"),
        (ProbeBegins, "probe.. changed the conversations"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_probe_that_does_what_it_should_not_is_found(make, words):
    made = []

    def making():
        made.append(make())
        return made[-1]

    checked = contract(secrets=["sk-1"], unchanged=lambda: made[-1].prompts)
    with pytest.raises(AssertionError, match=words):
        await check_agent(making, checked)


@pytest_twisted.ensureDeferred
async def test_a_probe_that_is_not_bounded_is_found():
    from twisted.internet import reactor
    from twisted.internet.defer import Deferred

    class Hangs(RememberingAgent):
        async def probe(self):
            await Deferred()

    with pytest.raises(AssertionError, match=r"probe\(\) took more than"):
        await check_agent(Hangs, contract(reactor=reactor, bound=0.3))


class SaysAllIsWell(RememberingAgent):
    async def probe(self):
        return [Finding(**FOUND)]


class WorksNevertheless(RememberingAgent):
    def check_values(self, values):
        pass


class FailsWithoutWords(RememberingAgent):
    def check_values(self, values):
        raise AgentFailure("")


class FailsInItsTurns(RememberingAgent):
    def check_values(self, values):
        pass

    class chat_class(RememberingChat):
        async def run(self, turn, output):
            raise AgentFailure("It is not there")


class Stumbles(RememberingAgent):
    def check_values(self, values):
        raise FileNotFoundError("no program")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (SaysAllIsWell, "found nothing wrong with an agent that cannot work"),
        (WorksNevertheless, "an agent that cannot work completed a turn"),
        (Stumbles, "raised FileNotFoundError"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_agent_that_cannot_work_and_does_not_say_so_is_found(make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(RememberingAgent, contract(unusable=lambda: make(works=False)))


@pytest_twisted.ensureDeferred
async def test_an_agent_that_cannot_work_may_say_so_in_its_turns():
    unusable = contract(unusable=lambda: FailsInItsTurns(works=False))
    await check_agent(RememberingAgent, unusable)


# -- what moves ------------------------------------------------------------------------------


class TellsNobody(RememberingAgent):
    def on_changed(self, told):
        pass


class LearnsInSilence(RememberingAgent):
    class chat_class(RememberingChat):
        async def run(self, turn, output):
            await super().run(turn, output)
            if "learned" not in self.agent.models:
                self.agent.models.append("learned")


class BecomesAble(RememberingAgent):
    @property
    def abilities(self):
        return AgentAbilities(reopens=True, mcp=self.prompts > 2)


class BecomesShapeless(RememberingAgent):
    def info(self):
        info = super().info()
        if len(self.models) > 1:
            del info["displayName"]
        return info


class ClosesOnce(RememberingAgent):
    async def close(self):
        await super().close()
        if self.closed > 1:
            raise RuntimeError("it is closed")


class LacksClose(RememberingAgent):
    close = None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (TellsNobody, "info.. moved at AgentContract.change and nobody was told"),
        (LearnsInSilence, "info.. moved at its first turns and nobody was told"),
        (BecomesAble, "its abilities moved at its first turns"),
        (BecomesShapeless, "displayName"),
        (ClosesOnce, "a second close.. of the agent raised RuntimeError"),
        (LacksClose, "IClosedAgent"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_agent_that_moves_or_ends_badly_is_found(make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract())


@pytest_twisted.ensureDeferred
async def test_a_change_that_changes_nothing_is_told_of():
    with pytest.raises(AssertionError, match=r"AgentContract\.change changed nothing"):
        await check_agent(RememberingAgent, contract(change=lambda agent: None))


# -- sign-ins --------------------------------------------------------------------------------


def signing(**methods):
    chat = type("Chat", (RememberingChat,), methods)
    return type("Agent", (RememberingAgent,), {"chat_class": chat})


async def _says_its_token(self, turn):
    await RememberingChat.signs_in(self, turn)
    turn.markdown(f"signed in with {self.token()}")


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (signing(signed=lambda self, turn, call: None), "auth-required|was not said to be over"),
        (signing(token=lambda self: "any"), "the wait for a sign-in|to something else ended"),
        (signing(signs_in=_says_its_token), "what sign-in said holds a secret"),
        (signing(signed_in=None), "ISignedInChat"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_sign_in_taken_wrong_is_found(make, words):
    from twisted.internet import reactor

    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract(reactor=reactor, bound=0.3))


@pytest_twisted.ensureDeferred
async def test_a_sign_in_that_cannot_be_checked_is_told():
    with pytest.raises(AssertionError, match=r"AgentContract\.sign_in: name one"):
        await check_agent(RememberingAgent, contract(sign_in=None))


def test_a_turn_of_the_remembering_agent_fits():
    from ahpd.testing.agent_contract.said import fits

    fits(turn_of("a", "b", "c"), "turns.Turn", "a turn")
    assert MOMENT
