"""What a question about a call is to the host's rules, and what they answer.

The rules are read anew for each question: from the session the chat is in by then, and from
the host. Sources: PLUGINS.txt, "A question about a tool call"; AHP.txt, `root/configChanged`
for how a tool is named to the operator's eligibility.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.chats.asked import Asked, ask_once, ask_people
from ahpd.chats.folders import Working, folders_of
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import IOffers, Question, Verdict
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of

log = Logger()

_DECISIONS: Final = frozenset({"approve", "deny", "ask"})
#: How agents put a server in front of its tools' names.
_OF_A_SERVER: Final = "mcp__"
_HOST: Final = "host"
#: Whose messages (schema: MessageKind) are not a person's, and nothing a person attached to.
_NOT_PEOPLE: Final = frozenset({"agent", "tool"})
#: What agents write `_` for in a server's name.
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]")


class Questioned(Working, Protocol):
    """A chat whose calls ask."""

    uri: str


class Judged:
    """The host's rules, asked about the calls of one chat."""

    __slots__ = ("_chat", "_world")

    def __init__(self, world: Surroundings, chat: Questioned) -> None:
        self._world = world
        self._chat = chat

    def verdict(self, asked: Asked) -> Verdict:
        """What is to be done about a call. Where it cannot be judged a person is asked, once."""
        offers = self._world.offers
        judge = None if offers is None else offers.judge
        if offers is None or judge is None:
            return ask_people(asked)
        try:
            verdict: Verdict = called(judge.judge, self._question(asked, offers))
        except Exception:
            log.failure("a call of {chat} could not be judged", chat=self._chat.uri)
            return ask_once("the rules could not be read")
        if verdict.decision not in _DECISIONS:
            log.error("a judge decided {decision!r}: asked", decision=verdict.decision)
            return ask_once("the rules decided nothing there is")
        log.debug(
            "{tool} of {chat}: {decision}, {because}",
            tool=asked.tool,
            chat=self._chat.uri,
            decision=verdict.decision,
            because=verdict.because,
        )
        return verdict

    def _question(self, asked: Asked, offers: IOffers) -> Question:
        chat, owner = self._chat, self._chat.owner
        attachments = self._world.attachments
        kept = None if attachments is None else attachments.folder
        return Question(
            permission=asked.permission,
            tool=asked.tool,
            eligibility=eligibility(
                asked, owner.mcp_server, (tool["name"] for tool in owner.server_tools)
            ),
            options=asked.options,
            session_values=owner.chat_config(chat.uri),
            host_values=offers.host_values(),
            folders=paths_of(folders_of(chat)),
            snapshots=() if kept is None else (kept,),
            attached=paths_of(attached_to(self._world.store.find, chat.state)),
        )


def eligibility(
    asked: Asked, server_named: Callable[[str], str | None], host_tools: Iterable[str]
) -> str:
    """What a call's tool is called in `eligibleForAutoApproval` (`Question.eligibility`).

    `server_named` answers the name of the session's MCP server of a customization's id.
    """
    contributor = asked.contributor or {}
    kind = contributor.get("kind")
    if kind == "client":
        return asked.tool
    if kind == "mcp":
        server = server_named(contributor["customizationId"])
        if server is not None:
            return f"{server}/{_own_name(asked.tool, server)}"
    # Whatever server an agent names one of the host's own on, its name ends what it calls it.
    found = [name for name in host_tools if asked.tool == name or asked.tool.endswith(f"__{name}")]
    return f"{_HOST}/{max(found, key=len)}" if found else asked.tool


def _own_name(tool: str, server: str) -> str:
    """A tool's name without its server's in front, which agents put there in several ways."""
    spelled = _NOT_IN_NAMES.sub("_", server)
    for prefix in (f"{_OF_A_SERVER}{server}__", f"{_OF_A_SERVER}{spelled}__", f"{server}__"):
        if tool.startswith(prefix):
            return tool.removeprefix(prefix)
    if tool.startswith(_OF_A_SERVER):  # under another spelling of the server's name
        return tool.removeprefix(_OF_A_SERVER).partition("__")[2] or tool
    return tool


def paths_of(uris: Iterable[str]) -> tuple[str, ...]:
    """The paths that `file:` URIs name on this machine, each once; any other URI names none."""
    found = (path_of(uri) for uri in uris)
    return tuple(dict.fromkeys(path for path in found if path is not None))


def attached_to(find: Callable[[str], State | None], state: State) -> Iterator[str]:
    """The URIs people attached to messages of a chat, or of the chat whose call a worker is.

    What an agent sends is no person's: neither its messages count, nor a worker's prompts.
    `find` answers the state of a chat that is open.
    """
    seen: set[str] = set()
    above: State | None = state
    while above is not None and above["resource"] not in seen:
        seen.add(above["resource"])
        origin = above.get("origin") or {}
        if origin.get("kind") == "tool":
            above = find(origin["chat"])
        else:
            yield from _attached(above)
            above = None


def _attached(state: State) -> Iterator[str]:
    active = state.get("activeTurn")
    turns: Sequence[Mapping[str, Any]] = state["turns"]
    for turn in turns if active is None else (*turns, active):
        if turn["message"]["origin"]["kind"] in _NOT_PEOPLE:
            continue
        for attachment in turn["message"].get("attachments") or ():
            if attachment["type"] == "resource":
                yield attachment["uri"]
