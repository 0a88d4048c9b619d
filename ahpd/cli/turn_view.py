"""A turn as it comes in, written to a page."""

from collections.abc import Callable

from ahpd.cli.render import Block, Page
from ahpd.client.envelope import ActionEnvelope


class TurnView:
    """Shows the actions of one turn, and its chat's questions, which name no turn.

    While `hold` is in force they wait until `release`.

    What a reconnect replays is shown under a label of its own, so that it is plain
    what came live and what came after.
    """

    def __init__(self, page: Page, turn_id: str) -> None:
        self._page = page
        self._turn_id = turn_id
        self._waiting: list[ActionEnvelope] | None = None
        self._block: Block | None = None
        self._shown: tuple[str, bool] | None = None
        self._tools: dict[str, str] = {}
        self._kinds: dict[str, str] = {}
        self._by_type: dict[str, Callable[[ActionEnvelope], None]] = {
            "chat/responsePart": self._part,
            "chat/delta": self._text,
            "chat/reasoning": self._text,
            "chat/toolCallStart": self._tool_started,
            "chat/toolCallReady": self._tool_ready,
            "chat/toolCallConfirmed": self._tool_decided,
            "chat/toolCallComplete": self._tool_done,
            "chat/inputRequested": self._question,
            "chat/inputCompleted": self._answered,
            "chat/usage": self._usage,
            "chat/error": self._error,
        }

    def hold(self) -> None:
        """Show nothing for now."""
        self.pause()
        self._waiting = []

    def release(self) -> None:
        """Show what waited, and go on."""
        waiting, self._waiting = self._waiting, None
        for envelope in waiting or ():
            self.show(envelope)

    def pause(self) -> None:
        """Finish the line that is being written."""
        if self._block is not None:
            self._block.end()
        self._block = self._shown = None

    def show(self, envelope: ActionEnvelope) -> None:
        """One envelope, where it is about this turn."""
        if self._waiting is not None:
            self._waiting.append(envelope)
            return
        show = self._by_type.get(envelope.type)
        if (
            show is not None
            and envelope.rejection is None
            and envelope.action.get("turnId", self._turn_id) == self._turn_id
        ):
            show(envelope)

    # -- parts ------------------------------------------------------------------------

    def _part(self, envelope: ActionEnvelope) -> None:
        part = envelope.action["part"]
        if part["kind"] in ("markdown", "reasoning"):
            self.pause()
            self._kinds[part["id"]] = part["kind"]
            self._write(part["id"], str(part["content"]), envelope.replayed)

    def _text(self, envelope: ActionEnvelope) -> None:
        self._write(envelope.action["partId"], envelope.action["content"], envelope.replayed)

    def _write(self, part: str, text: str, replayed: bool) -> None:
        if not text:
            return
        if self._block is None or self._shown != (part, replayed):
            self.pause()
            thinking = self._kinds.get(part) == "reasoning"
            label = "thinking" if thinking else "answer"
            style = "thinking" if thinking else ""
            if replayed:
                label, style = "replayed", "replayed"
            self._block = self._page.block(label, style, style or "quiet")
            self._shown = (part, replayed)
        self._block.write(text)

    # -- tools and the rest -------------------------------------------------------------

    def _tool_started(self, envelope: ActionEnvelope) -> None:
        self._tools[envelope.action["toolCallId"]] = envelope.action["displayName"]

    def _tool_ready(self, envelope: ActionEnvelope) -> None:
        name = self._tools.get(envelope.action["toolCallId"], "a tool")
        if envelope.action.get("confirmed") is None:
            self._said("asks", f"{name}: may it run?", "tool")
        else:
            self._said("tool", name, "tool")

    def _tool_decided(self, envelope: ActionEnvelope) -> None:
        approved = envelope.action["approved"]
        words = "allowed" if approved else envelope.action.get("reason", "denied")
        self._said("", f"→ {words}", "quiet" if approved else "bad")

    def _tool_done(self, envelope: ActionEnvelope) -> None:
        result = envelope.action["result"]
        texts = [
            block["text"] for block in result.get("content") or () if block.get("type") == "text"
        ]
        if result["success"]:
            self._said("", "→ " + " ".join(texts), "quiet")
        else:
            self._said("", "failed: " + (result.get("error") or {}).get("message", ""), "bad")

    def _question(self, envelope: ActionEnvelope) -> None:
        request = envelope.action["request"]
        asked = request.get("questions") or ()
        words = request.get("message") or " ".join(question["message"] for question in asked)
        options = [option["label"] for one in asked for option in one.get("options") or ()]
        self._said("question", words + (f" ({', '.join(options)})" if options else ""), "tool")

    def _answered(self, envelope: ActionEnvelope) -> None:
        words = {"accept": "answered", "decline": "declined", "cancel": "called off"}
        self._said("", "→ " + words[envelope.action["response"]], "quiet")

    def _usage(self, envelope: ActionEnvelope) -> None:
        usage = envelope.action["usage"]
        given, made = usage.get("inputTokens"), usage.get("outputTokens")
        if given is not None and made is not None:
            self._said("usage", f"{given} tokens in, {made} tokens out", "quiet")

    def _error(self, envelope: ActionEnvelope) -> None:
        self._said("error", envelope.action["part"]["error"]["message"], "bad")

    def _said(self, label: str, text: str, style: str) -> None:
        self.pause()
        block = self._page.block(label, style)
        block.write(text)
        block.end()
