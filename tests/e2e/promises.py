"""What a host told its clients before it was killed, held against what it says afterwards.

What was told has to be there. What is there besides was sent before the kill and not
answered, or follows from what was: no more than that, and nothing twice.
"""

from pathlib import Path

from ahpd.protocol.file_uris import path_of
from ahpd.protocol.status import ACTIVITY_MASK, ERROR, IDLE, IS_ARCHIVED, IS_READ
from ahpd.testing.differences import first_difference

#: What of a state is held to a rule of its own below, or ends with the process.
_OF_A_SESSION = ("activeClients", "activity", "annotations", "chats", "config", "defaultChat")
_OF_A_SESSION += ("inputNeeded", "lifecycle", "status", "title")
_OF_A_CHAT = ("activeTurn", "activity", "backgroundWork", "canvases", "config", "draft")
_OF_A_CHAT += ("modifiedAt", "movable", "queuedMessages", "status", "steeringMessage", "title")
_OF_A_CHAT += ("turns",)
_TEXT = ("markdown", "reasoning")


def text_of(message):
    return message["text"]


class Judge:
    """`told` are the states of a life's clients by channel, `read` a client of the next life.

    `killed` is when the kill was, infinite for a host that went in order: then no text may
    be missing. `drained` is whether it had begun to.
    """

    def __init__(self, ledger, told, read, killed, drained):
        self.ledger = ledger
        self.told = told
        self.read = read
        self.killed = killed
        self.drained = drained
        self.defaults = {state.get("defaultChat") for state in told.values()}

    def judge(self, channel):
        """Raise `AssertionError` for a channel that is not as it was told."""
        told, now = self.told[channel], self.read.plain_state(channel)
        if channel.endswith("/annotations"):
            self._marks(channel, told, now)
        elif channel.startswith("ahp-chat:"):
            self._chat(channel, told, now)
        else:
            self._session(channel, told, now)

    def _same(self, channel, told, now, but):
        self.ledger.checked["states"] += 1
        one, other = ({k: v for k, v in each.items() if k not in but} for each in (told, now))
        difference = first_difference(one, other)
        assert difference is None, f"{channel}: {difference}"

    def _flag(self, channel, told, now, bit, kind, field):
        self.ledger.checked["flags"] += 1
        was, there = bool(told["status"] & bit), bool(now["status"] & bit)
        allowed = self.ledger.values(was, channel, kind, field)
        assert there in allowed, f"{channel}: {field} is {there}, allowed is {allowed}"

    def _settings(self, channel, told, now, kind):
        if not told.get("config") and not now.get("config"):
            return
        self.ledger.checked["settings"] += 1
        was, there = (each.get("config") or {} for each in (told, now))
        if "values" in was:
            assert was["schema"] == there["schema"], f"{channel}: another schema"
        was, there = was.get("values", was), there.get("values", there)
        sent = [sent.fields["config"] for sent in self.ledger.unanswered(channel, kind)]
        for key in {*was, *there}:
            allowed = [was.get(key), *(each[key] for each in sent if key in each)]
            assert there.get(key) in allowed, f"{channel}: {key} is {there.get(key)}"

    # -- sessions ---------------------------------------------------------------------

    def _session(self, uri, told, now):
        self._same(uri, told, now, _OF_A_SESSION)
        self._flag(uri, told, now, IS_ARCHIVED, "session/isArchivedChanged", "isArchived")
        if not self._may_have_moved(told):
            self._flag(uri, told, now, IS_READ, "session/isReadChanged", "isRead")
        self._settings(uri, told, now, "session/configChanged")
        assert now["activeClients"] == [], f"{uri}: who was here is here still"
        assert not now.get("inputNeeded"), f"{uri}: somebody waits for an answer"
        assert now["status"] & ACTIVITY_MASK in (IDLE, ERROR), f"{uri}: something runs"
        assert now["lifecycle"] == told["lifecycle"] or told["lifecycle"] == "creating", uri
        titles = self.ledger.values(told["title"], uri, "session/titleChanged", "title")
        named = uri in self.ledger.named
        assert named or now["title"] in titles or self._began(told), f"{uri}: {now['title']!r}"
        if told["title"].startswith("title "):  # a person's
            assert now["title"] in titles, f"{uri}: the title is {now['title']!r}, not {titles}"
        self._chats_of(uri, told, now)

    def _chats(self, told):
        return [self.told[row["resource"]] for row in told["chats"] if row["resource"] in self.told]

    def _began(self, told):
        """Whether the session was still to be named after its first message."""
        return all(len(chat["turns"]) == 0 for chat in self._chats(told)) or not told["title"]

    def _may_have_moved(self, told):
        """Whether something in the session could go on after the last that was told of it.

        An end, a start and a mark of a chat's move the session's read bit.
        """
        return any(
            "activeTurn" in chat
            or self.ledger.unanswered(chat["resource"])
            or chat.get("queuedMessages")
            for chat in self._chats(told)
        ) or bool(self._moves())

    def _moves(self):
        kinds = ("moveChat", "createChat", "disposeChat", "disposeSession")
        return [sent for sent in self.ledger.open if sent.kind in kinds]

    def _chats_of(self, uri, told, now):
        was = [row["resource"] for row in told["chats"]]
        there = [row["resource"] for row in now["chats"]]
        assert len(there) == len(set(there)), f"{uri}: a chat is listed twice: {there}"
        open_moves = self._moves()
        moving = {sent.channel for sent in open_moves if sent.kind != "createChat"}
        made = {sent.fields["chat"] for sent in open_moves if sent.kind == "createChat"}
        missing = set(was) - set(there) - moving
        missing = {chat for chat in missing if not self._with(chat, moving)}
        assert not missing, f"{uri}: chats are gone: {missing}"
        for row in now["chats"]:
            chat = row["resource"]
            known = chat in was or chat in made or chat in moving or self._with(chat, moving)
            worker = (row.get("origin") or {}).get("kind") == "tool"
            assert known or worker, f"{uri}: {chat} came from nowhere"
        stayed = [chat for chat in was if chat in there and chat not in moving]
        assert [chat for chat in there if chat in stayed] == stayed or open_moves, uri
        if not open_moves:
            assert now.get("defaultChat") == told.get("defaultChat"), f"{uri}: another default chat"
        self.ledger.checked["lists of chats"] += 1

    def _with(self, chat, moving):
        """Whether a chat is the worker of one that may have been moved: it goes with it."""
        state = self.told.get(chat) or {}
        return (state.get("origin") or {}).get("chat") in moving

    def _marks(self, channel, told, now):
        sent = {
            each.fields.get("annotationId") or each.fields["annotation"]["id"]
            for each in self.ledger.unanswered(
                channel,
                *("annotations/set", "annotations/updated", "annotations/removed"),
                "annotations/entrySet",
            )
        }
        was, there = ({mark["id"]: mark for mark in each["annotations"]} for each in (told, now))
        for identifier in {*was, *there} - sent:
            difference = first_difference(was.get(identifier), there.get(identifier))
            assert difference is None, f"{channel}, {identifier}: {difference}"
            self.ledger.checked["marks"] += 1

    # -- chats ------------------------------------------------------------------------

    def _chat(self, uri, told, now):
        self._same(uri, told, now, self._process_bound(uri))
        self._flag(uri, told, now, IS_ARCHIVED, "chat/isArchivedChanged", "isArchived")
        works = "activeTurn" in told or self.ledger.unanswered(uri) or told.get("queuedMessages")
        if not works:
            sessions = {sent.channel for sent in self.ledger.open if "isRead" in sent.fields}
            if not sessions:
                self._flag(uri, told, now, IS_READ, "chat/isReadChanged", "isRead")
        self._settings(uri, told, now, "chat/configChanged")
        self._name(uri, told, now)
        assert now["modifiedAt"] >= told["modifiedAt"], f"{uri}: it moved back in time"
        assert "activeTurn" not in now, f"{uri}: a turn of the last life runs"
        assert now["status"] & ACTIVITY_MASK in (IDLE, ERROR), f"{uri}: something runs"
        drafts = self.ledger.values(told.get("draft"), uri, "chat/draftChanged", "draft")
        assert now.get("draft") in drafts, f"{uri}: the draft is {now.get('draft')}"
        self.ledger.checked["drafts"] += told.get("draft") is not None
        self._turns(uri, told, now)
        self._waiting(uri, told, now)
        self._nothing_twice(uri, now)

    def _name(self, uri, told, now):
        """A chat's title. One the host gives, its session's or a message's, no action tells."""
        if uri in self.defaults:
            return
        titles = self.ledger.values(told["title"], uri, "session/titleChanged", "title")
        assert now["title"] in titles or not told["title"], f"{uri}: the title is {now['title']!r}"
        self.ledger.checked["chat titles"] += told["title"].startswith("name ")

    def _process_bound(self, uri):
        # Where it works is written with a move: an unanswered one may have been made.
        moved = any(sent.channel == uri and sent.kind == "moveChat" for sent in self.ledger.open)
        return (*_OF_A_CHAT, "workingDirectories") if moved else _OF_A_CHAT

    def _turns(self, uri, told, now):
        held = [*told["turns"], *([told["activeTurn"]] if "activeTurn" in told else [])]
        was, there = ([turn["id"] for turn in each] for each in (held, now["turns"]))
        kept = there[: len(was)]
        if kept != was:
            assert kept in self._shortened(uri, was, there), f"{uri}: {was} reads {there}"
        resumed = {s.fields["turnId"] for s in self.ledger.unanswered(uri, "chat/turnResume")}
        for old, new in zip(held, now["turns"], strict=False):
            if old["id"] != new["id"]:
                continue
            where = f"{uri}, turn {old['id']}"
            if old is told.get("activeTurn") or old["id"] in resumed:
                self._grown(uri, where, old, new)
            else:
                difference = first_difference(old, new)
                assert difference is None, f"{where}: {difference}"
                self.ledger.checked["finished turns"] += 1
            self._pictures(where, new)
        texts = {text_of(turn["message"]) for turn in held} | self._may_run(uri, told)
        for turn in now["turns"]:
            assert text_of(turn["message"]) in texts, f"{uri}: nobody sent {turn['message']}"

    def _shortened(self, uri, was, there):
        """How a history may read that was cut, or whose running turn lost its place."""
        allowed = []
        for sent in self.ledger.unanswered(uri, "chat/truncated"):
            turn = sent.fields.get("turnId")
            if turn in was:
                cut = was[: was.index(turn) + 1]
                allowed.append([*cut, *there[len(cut) : len(was)]])
        for sent in self.ledger.unanswered(uri, "chat/turnStarted"):
            if sent.fields["turnId"] in there:
                allowed.append([*was[:-1], *there[len(was) - 1 : len(was)]])
        return allowed

    def _may_run(self, uri, told):
        """The texts of turns that could start after the last that was told."""
        waiting = [*(told.get("queuedMessages") or [])]
        waiting += [told["steeringMessage"]] if told.get("steeringMessage") else []
        texts = {text_of(each["message"]) for each in waiting}
        for sent in self.ledger.unanswered(uri):
            if "message" in sent.fields:
                texts.add(text_of(sent.fields["message"]))
        return texts

    def _grown(self, uri, where, old, new):
        """A turn that ran: what was told of it is there, but for the last of its text."""
        difference = first_difference(old["message"], new["message"])
        assert difference is None, f"{where}: {difference}"
        assert old.get("usage") in (None, new.get("usage")), f"{where}: its usage"
        parts = old["responseParts"]
        assert len(parts) <= len(new["responseParts"]), f"{where}: parts are gone"
        for place, (was, there) in enumerate(zip(parts, new["responseParts"], strict=False)):
            assert was["kind"] == there["kind"], f"{where}: part {place} is another"
            last = place == len(parts) - 1
            if was["kind"] in _TEXT:
                self._text(uri, where, old["id"], was, there, last)
            elif was["kind"] == "toolCall":
                self._call(where, was["toolCall"], there["toolCall"])
            elif was["kind"] == "inputRequest":
                told = {**was, "response": was.get("response", there.get("response"))}
                if "response" in was:
                    assert first_difference(told, there) is None, f"{where}: another answer"
        self.ledger.checked["running turns"] += 1
        self._ended_well(where, old, new)

    def _ended_well(self, where, old, new):
        assert new["state"] in ("complete", "cancelled", "error"), where
        part = new["responseParts"][-1] if new["responseParts"] else {}
        if part.get("kind") != "error":
            return
        if part["error"]["errorType"] == "executionInterrupted":
            # A host that goes in order says so of a turn only that its agent has had.
            assert part.get("resumable") or self.drained, f"{where}: it cannot be resumed"
            self.ledger.checked["interrupted turns"] += 1

    def _text(self, uri, where, turn, was, there, last):
        one, other = was["content"], there["content"]
        assert one.startswith(other) or other.startswith(one), f"{where}: another text"
        if not last:
            # What came behind it was on disk before it was said, and this before that.
            assert len(other) >= len(one), f"{where}: {len(one) - len(other)} characters are gone"
            return
        certain = min(len(one), self.ledger.certain(uri, turn, was["id"], self.killed))
        assert len(other) >= certain, f"{where}: {len(other)} characters of {certain}"

    def _call(self, where, was, there):
        assert was["toolCallId"] == there["toolCallId"], f"{where}: another call"
        assert there["status"] in ("completed", "cancelled"), f"{where}: a call is under way"
        if was["status"] in ("completed", "cancelled"):
            difference = first_difference(was, there)
            assert difference is None, f"{where}: {difference}"
        self.ledger.checked[f"calls that were {was['status']}"] += 1

    def _pictures(self, where, turn):
        data = self.ledger.pictures.get(text_of(turn["message"]))
        if data is None:
            return
        [attached] = turn["message"]["attachments"]
        path = path_of(attached["uri"])
        assert Path(path).read_bytes() == data, f"{where}: another file"
        self.ledger.checked["attachments"] += 1

    # -- what waits -------------------------------------------------------------------

    def _waiting(self, uri, told, now):
        was, there = (
            [each["id"] for each in chat.get("queuedMessages") or []] for chat in (told, now)
        )
        ran = {text_of(turn["message"]) for turn in now["turns"]}
        sent = self.ledger.unanswered(uri, "chat/pendingMessageRemoved")
        withdrawn = {each.fields["id"] for each in sent}
        replaced = bool(self.ledger.unanswered(uri, "chat/turnStarted", "chat/truncated"))
        for message in told.get("queuedMessages") or []:
            kept = message["id"] in there or text_of(message["message"]) in ran
            gone = message["id"] in withdrawn or replaced
            assert kept or gone, f"{uri}: {message['id']} neither waits nor ran"
            self.ledger.checked["queued messages"] += 1
        sent = self.ledger.unanswered(uri, "chat/pendingMessageSet")
        allowed = {*was, *(each.fields["id"] for each in sent), *self._steering(told)}
        assert set(there) <= allowed, f"{uri}: {set(there) - allowed} came from nowhere"
        both = [identifier for identifier in was if identifier in there]
        if not self.ledger.unanswered(uri, "chat/queuedMessagesReordered"):
            assert [each for each in there if each in both] == both, f"{uri}: another order"
        self._steered(uri, told, now, {*there}, ran)

    def _steering(self, told):
        pending = told.get("steeringMessage")
        return [] if pending is None else [pending["id"]]

    def _steered(self, uri, told, now, there, ran):
        pending = told.get("steeringMessage")
        if pending is None:
            return
        kept = pending["id"] in there or text_of(pending["message"]) in ran
        kept = kept or (now.get("steeringMessage") or {}).get("id") == pending["id"]
        another = self.ledger.unanswered(uri, "chat/pendingMessageSet", "chat/turnStarted")
        # The turn that ran may have read it, and the client was not told any more.
        assert kept or "activeTurn" in told or another, f"{uri}: {pending['id']} is gone"
        self.ledger.checked["steering messages"] += 1

    def _nothing_twice(self, uri, now):
        ids = [turn["id"] for turn in now["turns"]]
        assert len(ids) == len(set(ids)), f"{uri}: a turn is there twice: {ids}"
        waiting = [*(now.get("queuedMessages") or [])]
        waiting += [now["steeringMessage"]] if now.get("steeringMessage") else []
        ids = [each["id"] for each in waiting]
        assert len(ids) == len(set(ids)), f"{uri}: it waits twice: {ids}"
        texts = [text_of(each["message"]) for each in [*now["turns"], *waiting]]
        assert len(texts) == len(set(texts)), f"{uri}: a message is there twice: {texts}"
