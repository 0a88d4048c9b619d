"""What each kind of word is offered, as completion items."""

import os

import pytest
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ahpd.completions.completer import Completer, Place
from ahpd.completions.files import Folder, files
from ahpd.completions.tokens import length, word_at
from ahpd.interfaces import IWorkspaceFiles
from ahpd.protocol.check import check_strict
from ahpd.protocol.errors import RpcError
from ahpd.protocol.shapes.messages import CompletionItem


@implementer(IWorkspaceFiles)
class Listed:
    """Files by folder."""

    def __init__(self, **folders):
        self.folders = {"/" + name: found for name, found in folders.items()}
        self.asked = []

    async def files(self, directory):
        self.asked.append(directory)
        return self.folders.get(directory, ())


def chat(name, title="", modified="2026-01-01T00:00:00.000Z", **fields):
    return {
        "resource": f"ahp-chat:/{name}",
        "title": title,
        "status": 1,
        "modifiedAt": modified,
        **fields,
    }


def session(*chats, **fields):
    rows = chats or (chat("a"),)
    return {
        "title": "The session",
        "chats": list(rows),
        "defaultChat": rows[0]["resource"],
        "workingDirectories": ["file:///work"],
        **fields,
    }


def finished(*turns):
    return {"turns": [{"id": turn, "state": "complete"} for turn in turns]}


def items(text, state=None, chats=None, typed_in="ahp-chat:/a", workspace=None, agent=(), at=None):
    place = Place(
        session=state or session(),
        chat=typed_in,
        state_of=(chats or {}).get,
        agent_wide=lambda: agent,
    )
    completer = Completer(workspace, lambda work: succeed(work()))
    offset = length(text) if at is None else at
    results = []
    Deferred.fromCoroutine(completer.items(text, offset, place)).addBoth(results.append)
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    for item in results[0]:
        check_strict(item, CompletionItem, "item")
    return results[0]


def labels(found):
    return [item["attachment"]["label"] for item in found]


# -- commands ----------------------------------------------------------------------


def container(*children, **fields):
    return {"type": "directory", "id": "d", "name": "d", "children": list(children), **fields}


def prompt(name, **fields):
    return {"type": "prompt", "id": name, "name": name, "uri": f"x:{name}", **fields}


def skill(name, **fields):
    return {**prompt(name, **fields), "type": "skill"}


def test_a_slash_offers_the_sessions_own_commands():
    hint = {"_meta": {"vscode.skill.argumentHint": "<file>"}}
    own = container(prompt("compact", description="Shorten"), skill("review", **hint))
    other = [container(prompt("elsewhere"))]
    found = items("/", session(customizations=[own]), agent=other)
    assert found[0] == {
        "insertText": "/compact ",
        "rangeStart": 0,
        "rangeEnd": 1,
        "attachment": {
            "type": "simple",
            "label": "/compact",
            "_meta": {"command": "compact", "description": "Shorten"},
        },
    }
    assert found[1]["attachment"]["_meta"] == {
        "command": "review",
        "argumentHint": "<file>",
        "isSkill": True,
    }
    assert len(found) == 2


def test_the_agents_list_serves_while_the_session_has_none():
    agent = [container(prompt("compact"))]
    assert labels(items("/", agent=agent)) == ["/compact"]
    theirs = container(prompt("mine"), clientId="client-1")
    both = items("/", session(customizations=[theirs]), agent=agent)
    assert labels(both) == ["/mine", "/compact"]
    none_left = session(customizations=[container()])
    assert items("/", none_left, agent=agent) == []


def test_a_skill_the_agent_keeps_for_itself_stays_out():
    own = container(
        skill("secret", disableUserInvocation=True),
        skill("shown", disableModelInvocation=True),
        skill("off", enabled=False),
        {"type": "agent", "id": "x", "name": "helper", "uri": "x:y"},
    )
    off = container(prompt("gone"), enabled=False)
    plugin = {
        "type": "plugin",
        "id": "p",
        "children": [prompt("switched")],
        "enablement": [
            {"kind": "global", "enabled": True},
            {"kind": "session", "enabled": False},
        ],
    }
    bare = {"type": "mcpServer", "id": "m", "name": "m"}
    found = items("/", session(customizations=[own, off, plugin, bare]))
    assert labels(found) == ["/shown"]


def test_commands_are_matched_by_their_beginning_first_and_offered_once():
    own = container(prompt("recompile"), prompt("/Compact"), prompt("compact"), prompt("clear"))
    found = items("/COMP now", session(customizations=[own]), at=5)
    assert labels(found) == ["/Compact", "/compact", "/recompile"]
    assert {(item["rangeStart"], item["rangeEnd"]) for item in found} == {(0, 5)}
    twice = session(customizations=[own, container(prompt("clear"))])
    assert labels(items("/cl", twice)) == ["/clear"]


# -- chats -------------------------------------------------------------------------


def test_a_chat_is_offered_pinned_to_its_last_finished_turn():
    state = session(chat("a"), chat("b", "Fix  the\nbuild"), workingDirectories=[])
    found = items("see #chat:fix", state, {"ahp-chat:/b": finished("t1", "t2")})
    assert found == [
        {
            "insertText": "#chat:Fix the build ",
            "rangeStart": 4,
            "rangeEnd": 13,
            "attachment": {
                "type": "chat",
                "label": "Fix the build",
                "resource": "ahp-chat:/b",
                "endTurn": "t2",
            },
        }
    ]


def test_left_out_are_unfinished_ones_a_tools_hidden_ones_and_the_one_typed_in():
    state = session(
        chat("a"),
        chat("fresh", "x"),
        chat("tool", "x", origin={"kind": "tool", "chat": "ahp-chat:/a", "toolCallId": "c"}),
        chat("hidden", "x", interactivity="hidden"),
        chat("watched", "x", interactivity="read-only"),
    )
    done = {row["resource"]: finished("t") for row in state["chats"]}
    done["ahp-chat:/fresh"] = {"turns": [], "activeTurn": {"id": "t"}}
    found = items("#chat:", state, done)
    assert [item["attachment"]["resource"] for item in found] == ["ahp-chat:/watched"]
    found = items("#chat:", state, done, typed_in="ahp-chat:/watched")
    assert [item["attachment"]["resource"] for item in found] == ["ahp-chat:/a"]
    assert labels(found) == ["The session"]


def test_chats_come_newest_first_and_twenty_at_most():
    rows = [
        chat(f"c{n:02}", "same", f"2026-01-01T00:{n % 25:02}:00.000Z", origin={"kind": "user"})
        for n in range(30)
    ]
    done = {row["resource"]: finished("t") for row in rows}
    found = items("#chat:SAME", session(*rows), done, typed_in="ahp-chat:/none")
    assert len(found) == 20
    order = [item["attachment"]["resource"][-2:] for item in found]
    assert order[:3] == ["24", "23", "22"]
    assert order[-1] == "05"


def test_on_its_way_to_a_chat_chats_come_before_files_and_then_alone():
    state = session(chat("a"), chat("b", "Other"))
    done = {"ahp-chat:/b": finished("t")}
    workspace = Listed(work=("chatter.py", "x.py"))
    ask = lambda text: labels(items(text, state, done, workspace=workspace))  # noqa: E731
    assert ask("#") == ["Other", "chatter.py", "x.py"]
    assert ask("#ch") == ["Other", "chatter.py"]
    assert ask("#chat") == ["Other", "chatter.py"]
    assert ask("#chat:") == ["Other"]
    assert ask("#chatt") == ["chatter.py"]
    assert ask("@chat") == ["chatter.py"]


# -- files -------------------------------------------------------------------------


def test_a_file_is_offered_with_the_trigger_and_its_name():
    workspace = Listed(work=("src/main.py", "x.py"))
    for trigger in "@#":
        assert items(f"see {trigger}main", workspace=workspace) == [
            {
                "insertText": f"{trigger}main.py",
                "rangeStart": 4,
                "rangeEnd": 9,
                "attachment": {
                    "type": "resource",
                    "uri": "file:///work/src/main.py",
                    "label": "main.py",
                    "displayKind": "document",
                },
            }
        ]


def test_two_files_of_one_name_are_told_apart_by_their_folders():
    state = session(workingDirectories=["file:///work", "file:///lib%20two/"])
    workspace = Listed(work=("a/x.py", "y.py"))
    workspace.folders["/lib two"] = ("x.py",)
    assert labels(items("@", state, workspace=workspace)) == ["work/a/x.py", "lib two/x.py", "y.py"]
    assert labels(items("@y.", state, workspace=workspace)) == ["y.py"]


def test_fifty_are_offered_at_most_and_shared_while_nothing_is_typed():
    state = session(workingDirectories=["file:///work", "file:///two", "file:///work"])
    workspace = Listed(
        work=tuple(f"w{n:03}" for n in range(100)), two=tuple(f"t{n}" for n in range(5))
    )
    found = labels(items("@", state, workspace=workspace))
    assert len(found) == 50
    assert found[:4] == ["w000", "t0", "w001", "t1"]
    assert sum(label.startswith("t") for label in found) == 5
    assert len(items("@w", state, workspace=workspace)) == 50
    assert workspace.asked == ["/work", "/two"] * 2


def test_a_file_inside_two_folders_counts_for_the_inner_one():
    outer = Folder.of("/work", ["in/x.py", "other.py"])
    inner = Folder.of("/work/in/", ["x.py"])
    found = files(word_at("@", 1), [outer, inner])
    assert [item["attachment"]["uri"] for item in found] == [
        "file:///work/other.py",
        "file:///work/in/x.py",
    ]
    assert len(files(word_at("@x", 2), [outer, inner])) == 1


def test_names_that_are_no_utf8_can_be_offered_and_opened():
    name = os.fsdecode(b"caf\xe9 \xc3\xa9.txt")
    found = items("@caf", workspace=Listed(work=(name,)))
    assert labels(found) == ["caf\N{REPLACEMENT CHARACTER} é.txt"]
    assert found[0]["attachment"]["uri"] == "file:///work/caf%E9%20%C3%A9.txt"


def test_no_listing_and_no_folder_offer_no_file():
    assert items("@") == []
    elsewhere = session(workingDirectories=["vscode-remote://x/work"])
    assert items("@", elsewhere, workspace=Listed(work=("a",))) == []


def test_a_far_folder_is_looked_at_only_for_the_places_that_are_left():
    near = [f"n/util{n:02}.py" for n in range(48)]
    far = [f"utils/f{n:02}" for n in range(20)]
    found = labels(items("@util", workspace=Listed(work=tuple(far + near))))
    assert found[:48] == [path[2:] for path in near]
    assert found[48:] == ["f00", "f01"]


# -- the rest ----------------------------------------------------------------------


@pytest.mark.parametrize("offset", [-1, 4, 0.5])
def test_an_offset_that_is_no_place_in_the_text_is_refused(offset):
    with pytest.raises(RpcError) as refused:
        items("@😀", at=offset)
    assert refused.value.code == -32602
    assert "params.offset" in refused.value.message
    assert "0 to 3" in refused.value.message


def test_a_word_with_no_trigger_is_offered_nothing():
    assert items("hello") == []
    assert items("") == []
