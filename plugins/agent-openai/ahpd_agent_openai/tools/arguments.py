"""Arguments of tools: declared once, for the schema a model is shown and for the check.

A model sends what it likes. What is wrong is told it in words that name each argument, all
of them at once, so that the next call can be right.
"""

from collections.abc import Sequence
from typing import Any, Final

import attrs

from ahpd.protocol import State
from ahpd_agent_openai.tools.values import ToolProblem

#: Characters an argument's text may have, unless it says otherwise.
LONGEST: Final = 32_000
_KINDS: Final = {"string": "a string", "integer": "a whole number", "boolean": "true or false"}
#: How many names of arguments that do not exist are told.
_MOST_NAMED: Final = 5


@attrs.frozen(kw_only=True)
class Argument:
    """One argument. `least` and `most` bound a number, `longest` a text's characters."""

    name: str
    kind: str
    """`string`, `integer` or `boolean`."""
    description: str
    required: bool = False
    least: int | None = None
    most: int | None = None
    longest: int = LONGEST
    empty: bool = False
    """Whether a text may be empty."""

    def schema(self) -> State:
        """Its JSON Schema."""
        schema: State = {"type": self.kind, "description": self.description}
        if self.kind == "integer":
            if self.least is not None:
                schema["minimum"] = self.least
            if self.most is not None:
                schema["maximum"] = self.most
        return schema

    def problem(self, value: Any) -> str | None:
        """What is wrong with a value, to be read behind its name; None where nothing is."""
        match self.kind:
            case "string":
                return self._text_problem(value)
            case "integer":
                return self._number_problem(value)
            case _:
                return None if isinstance(value, bool) else _expected(self.kind, value)

    def _text_problem(self, value: Any) -> str | None:
        if not isinstance(value, str):
            return _expected(self.kind, value)
        if not value and not self.empty:
            return "is empty"
        if len(value) > self.longest:
            return f"has {len(value)} characters; at most {self.longest} are taken"
        try:
            value.encode()
        except UnicodeEncodeError:
            return "holds half of a surrogate pair, which is no text"
        return None

    def _number_problem(self, value: Any) -> str | None:
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        if isinstance(value, bool) or not whole:
            return _expected(self.kind, value)
        if self.least is not None and value < self.least:
            return f"is {int(value)}; the least is {self.least}"
        if self.most is not None and value > self.most:
            return f"is {int(value)}; the most is {self.most}"
        return None

    def taken(self, value: Any) -> Any:
        """A value without a problem, as the tool is handed it."""
        return int(value) if self.kind == "integer" else value


def _expected(kind: str, value: Any) -> str:
    found = {
        bool: "true or false", int: "a number", float: "a number", str: "a string",
        list: "an array", dict: "an object",
    }.get(type(value), "something else")  # fmt: skip
    return f"is {found}; it has to be {_KINDS[kind]}"


def parameters(declared: Sequence[Argument]) -> State:
    """The JSON Schema of a tool's arguments."""
    return {
        "type": "object",
        "properties": {each.name: each.schema() for each in declared},
        "required": [each.name for each in declared if each.required],
        "additionalProperties": False,
    }


def checked(tool: str, declared: Sequence[Argument], given: Any) -> dict[str, Any]:
    """The arguments of a call, those of null left out. Raises `ToolProblem`."""
    if not isinstance(given, dict):
        raise ToolProblem(f"{tool} takes its arguments as one JSON object")
    problems: list[str] = []
    taken: dict[str, Any] = {}
    for each in declared:
        value = given.get(each.name)
        if value is None:
            if each.required:
                problems.append(f"`{each.name}` is missing: {each.description}")
            continue
        problem = each.problem(value)
        if problem is None:
            taken[each.name] = each.taken(value)
        else:
            problems.append(f"`{each.name}` {problem}")
    names = {each.name for each in declared}
    unknown = [str(name)[:60] for name in given if name not in names]
    problems += [f"`{name}` is no argument of it" for name in unknown[:_MOST_NAMED]]
    if problems:
        known = ", ".join(f"`{each.name}`" for each in declared) or "none"
        raise ToolProblem(f"{tool} was not run. {'; '.join(problems)}. It takes: {known}.")
    return taken
