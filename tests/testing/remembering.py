"""An agent in memory that keeps conversations, and has everything an agent may have beside."""

import attrs
from zope.interface import implementer

from ahpd.interfaces import (
    AgentAbilities,
    AgentFailure,
    Finding,
    IAgent,
    IAgentChat,
    IChangingAgent,
    IClosedAgent,
    IConfigCompletions,
    IConversations,
    IProbedAgent,
    ISignedInChat,
    IUndeclaredConfig,
    ListedConversation,
    ReadConversation,
)
from ahpd.testing.agents import ScriptedAgent, never_ends

MOMENT = "2026-01-01T00:00:00.000Z"


def turn_of(turn_id, asked, said):
    """Schema: Turn."""
    return {
        "id": turn_id,
        "message": {"text": asked, "origin": {"kind": "user"}},
        "responseParts": [{"kind": "markdown", "id": f"{turn_id}:1", "content": said}],
        "state": "complete",
    }


@attrs.define
class Conversation:
    """One that is kept: its turns, each with its id, what was asked and what was said."""

    id: str
    turns: list = attrs.field(factory=list)

    def through(self, point):
        ids = [turn_id for turn_id, _, _ in self.turns]
        return list(self.turns if point is None else self.turns[: ids.index(point) + 1])


@implementer(IAgentChat, ISignedInChat)
class RememberingChat:
    """A chat of it: says how many turns there were, or waits for what it was sent to wait for."""

    def __init__(self, agent, start, chat, conversation):
        self.agent = agent
        self.start = start
        self.conversation = conversation
        self._chat = chat
        self._waiting = None
        self.stop = chat.stop

    async def run(self, turn, output):
        said = f"{len(self.conversation.turns)} so far"
        self._chat.agent.then(self.script(said))
        await self._chat.run(turn, output)
        self.agent.prompts += 1
        self.kept(turn, output, said)

    def kept(self, turn, output, said):
        """It is on disk."""
        self.conversation.turns.append((turn.turn_id, turn.text, said))
        self.agent.conversations[self.conversation.id] = self.conversation
        self.start.host.kept_as(self.conversation.id)
        output.ended_at(turn.turn_id)

    def script(self, said):
        async def script(turn):
            if turn.request.text == "endless":
                await never_ends(turn)
            if turn.request.text == "sign in":
                await self.signs_in(turn)
            turn.markdown(said)

        return script

    async def signs_in(self, turn):
        from ahpd.testing.agents import Gate

        call = turn.running("query")
        resource = {"resource": "https://mcp.example/"}
        auth = {"resource": resource, "reason": "required"}
        self._waiting = Gate()
        turn.say("chat/toolCallAuthRequired", toolCallId=call, auth=auth)
        while self.token() is None:
            waiting = self._waiting = Gate()
            await waiting.passed()
        self.signed(turn, call)
        turn.complete(call, "queried")

    def token(self):
        return self.start.host.credential("https://mcp.example/")

    def signed(self, turn, call):
        turn.say("chat/toolCallAuthResolved", toolCallId=call)

    def signed_in(self, resource, server):
        if self._waiting is not None:
            self._waiting.open()

    async def close(self):
        await self._chat.close()


@implementer(
    IAgent,
    IConversations,
    IProbedAgent,
    IChangingAgent,
    IClosedAgent,
    IUndeclaredConfig,
    IConfigCompletions,
)
class RememberingAgent:
    """See the module. Tests have it err by what they override."""

    provider = "remembering"
    abilities = AgentAbilities(reopens=True)
    chat_class = RememberingChat
    numbers = 0

    def __init__(self, works=True):
        self.works = works
        self.conversations = {}
        self.models = ["one"]
        self.prompts = 0
        self.told = []
        self.closed = 0

    def info(self):
        models = [{"id": each, "provider": self.provider, "name": each} for each in self.models]
        return {
            "provider": self.provider,
            "displayName": "Remembering",
            "description": "Keeps what was said",
            "models": models,
            "capabilities": {"multipleChats": {"fork": True}},
        }

    def config_schema(self, working_directory, values):
        pace = {"type": "string", "title": "Pace", "enumDynamic": True}
        return {"type": "object", "properties": {"pace": pace}}

    # -- chats --------------------------------------------------------------------------

    async def open_chat(self, start):
        self.check_values(start.config)
        scripted = await ScriptedAgent().open_chat(start)
        return self.chat_class(self, start, scripted, self.opened(start))

    def check_values(self, values):
        if not self.works:
            raise AgentFailure("It is not there")
        for key, value in values.items():
            if key == "pace" and not isinstance(value, str):
                raise AgentFailure("pace is a word")

    def opened(self, start):
        if start.resume is not None:
            return self.resumed(start.resume)
        RememberingAgent.numbers += 1
        fresh = Conversation(f"conversation-{RememberingAgent.numbers}")
        if start.fork is not None:
            fresh.turns = self.forked(start.fork)
        return fresh

    def resumed(self, at):
        found = self.found(at.conversation)
        found.turns = found.through(at.point)
        return found

    def forked(self, at):
        return self.found(at.conversation).through(at.point)

    def found(self, name):
        if name not in self.conversations:
            raise AgentFailure(f"There is no {name}", "notFound")
        return self.conversations[name]

    # -- conversations ------------------------------------------------------------------

    async def list_conversations(self):
        return [self.listed(each) for each in self.conversations.values()]

    def listed(self, kept):
        return ListedConversation(id=kept.id, title="A talk", created_at=MOMENT, modified_at=MOMENT)

    async def read_conversation(self, conversation):
        kept = self.found(conversation)
        turns = [turn_of(*turn) for turn in kept.turns]
        return ReadConversation(turns=turns, points={turn["id"]: turn["id"] for turn in turns})

    async def delete_conversation(self, conversation):
        self.conversations.pop(conversation, None)

    # -- the agent ----------------------------------------------------------------------

    async def probe(self):
        if self.works:
            return [Finding(about="program", ok=True, words="It is there")]
        return [Finding(about="program", ok=False, words="It is not there", mend="make it")]

    def on_changed(self, told):
        self.told.append(told)

    def change(self):
        self.models = [*self.models, f"model-{len(self.models)}"]
        for told in self.told:
            told()

    async def close(self):
        self.closed += 1

    def check_config(self, key, value):
        raise AgentFailure("")

    async def complete_config(self, key, query, context):
        if key != "pace":
            raise AgentFailure("no such key")
        return [{"value": "slow", "label": "Slow"}]
