"""A judge that tests write the rules of."""

from typing import Any, Final

from zope.interface import implementer

from ahpd.interfaces import Grant, IJudge, Question, Verdict

ALLOW_SESSION: Final = "allow-session"
ALLOW_ALWAYS: Final = "allow-always"
#: What a person is offered where no verdict says otherwise.
OFFERED: Final = (
    {"id": ALLOW_SESSION, "label": "Allow in this Session", "kind": "approve", "group": 1},
    {"id": ALLOW_ALWAYS, "label": "Always Allow", "kind": "approve", "group": 1},
    {"id": "allow-once", "label": "Allow Once", "kind": "approve"},
    {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
)


@implementer(IJudge)
class ScriptedJudge:
    """Answers with `verdicts` by tool, then by the names of tools in `permissions`, then asks.

    `questions` are all it was asked. It knows tools by name alone, `globalAutoApproveEnabled`,
    and nothing of paths and commands.
    """

    def __init__(self) -> None:
        self.questions: list[Question] = []
        self.verdicts: dict[str, Verdict] = {}

    def judge(self, question: Question) -> Verdict:
        """See `IJudge.judge`."""
        self.questions.append(question)
        scripted = self.verdicts.get(question.tool)
        if scripted is not None:
            return scripted
        if question.host_values.get("globalAutoApproveEnabled") is True:
            return Verdict(decision="approve", because="everything is approved")
        for name, decision in (("deny", "deny"), ("allow", "approve")):
            for values in (question.session_values, question.host_values):
                held: Any = values.get("permissions") or {}
                if question.tool in held.get(name, ()):
                    return Verdict(decision=decision, because=f"{name}: {question.tool}")
        rules = (question.tool,)
        return Verdict(
            decision="ask",
            because="no rule names it",
            options=OFFERED,
            grants={
                ALLOW_SESSION: Grant(scope="session", rules=rules),
                ALLOW_ALWAYS: Grant(scope="host", rules=rules),
            },
        )
