"""Connector choices: schema fields that name a connector, and `x-ahpd/completions`.

A field marked `x-ahpd-connector: {adapter}` is sent with the host's connectors of that adapter to
choose from. A schema goes to every reader, so it never lists a person's; those are asked for with
the command. Source: PLUGINS.txt, "Connector choices", "x-ahpd/completions".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.logger import Logger

from ahpd.extensions.callers import Callers
from ahpd.interfaces import Caller, Description, IAccess, Method
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

log = Logger()

NAME: Final = "x-ahpd/completions"
MARK: Final = "x-ahpd-connector"
_STAMP: Final = "x-ahpd-completions"
_REF: Final = "connector:"

#: Where a JSON Schema holds schemas: one, a list of them, and some by name.
_ONE: Final = ("items", "additionalProperties", "if", "then", "else", "not", "contains")
_MANY: Final = ("anyOf", "oneOf", "allOf", "prefixItems")
_NAMED: Final = ("properties", "patternProperties", "$defs", "definitions")


class Choices:
    """The connectors a field may name.

    `connectors` answers the rows there are (`id`, `adapter`, `owner`, `title`), in order; a host
    without connectors has none.
    """

    def __init__(self, access: IAccess) -> None:
        self.connectors: Callable[[], Sequence[State]] = tuple
        self._callers = Callers(access)
        self._told: list[Callable[[], None]] = []
        self._said: list[tuple[Any, ...]] = []
        described = Description(
            title="Choices of a field", description="The connectors a person may name in a form."
        )
        self.method = Method(
            grant="connector:list",
            authorize=lambda params, caller: self._callers.holds(caller, "connector:all"),
            handle=self._answer,
            describe=lambda: described,
        )

    # -- what schemas are sent with --------------------------------------------------------

    def stamped(self, schema: State, *, dynamic: bool) -> State:
        """`schema` with the host's connectors as the choices of each field that names one.

        With `dynamic` such a field says too that there may be more, and how they are asked for.
        What has no marked field is answered as it is.
        """
        stamped: State = self._walked(schema, dynamic)
        return stamped

    def listen(self, changed: Callable[[], None]) -> None:
        """Call `changed` when the choices that schemas are sent with are others than before."""
        self._told.append(changed)

    def moved(self) -> None:
        """A connector was added, renamed or removed."""
        now = [(row["id"], row.get("adapter"), _label(row)) for row in self._of_host()]
        if now == self._said:
            return
        self._said = now
        for told in self._told:
            try:
                told()
            except Exception:
                log.failure("what follows other choices of connectors failed")

    def _walked(self, schema: Any, dynamic: bool) -> Any:
        if not isinstance(schema, Mapping):
            return schema
        moved: State = {}
        for key, value in schema.items():
            after: Any = value
            if key in _ONE:
                after = self._walked(value, dynamic)
            elif key in _MANY and isinstance(value, list | tuple):
                walked = [self._walked(one, dynamic) for one in value]
                after = (
                    walked if any(a is not b for a, b in zip(walked, value, strict=True)) else value
                )
            elif key in _NAMED and isinstance(value, Mapping):
                named = {name: self._walked(one, dynamic) for name, one in value.items()}
                after = named if any(named[name] is not value[name] for name in named) else value
            if after is not value:
                moved[key] = after
        adapter = adapter_of(schema)
        if adapter is not None:
            moved.update(self._stamp(adapter, dynamic))
        return {**schema, **moved} if moved else schema

    def _stamp(self, adapter: str, dynamic: bool) -> State:
        rows = [row for row in self._of_host() if row.get("adapter") == adapter]
        stamp: State = {}
        if rows:
            stamp["enum"] = [row["id"] for row in rows]
            stamp["enumLabels"] = [_label(row) for row in rows]
        if dynamic:
            stamp["enumDynamic"] = True
            stamp[_STAMP] = {"command": NAME, "ref": _REF + adapter}
        return stamp

    def _of_host(self) -> Sequence[State]:
        return [row for row in self.connectors() if row.get("owner") == "host"]

    # -- the command ---------------------------------------------------------------------

    def _answer(self, params: Mapping[str, Any], caller: Caller) -> State:
        ref, query = params.get("ref"), params.get("query")
        if not isinstance(ref, str):
            raise invalid_params("params.ref must be text")
        if query is not None and not isinstance(query, str):
            raise invalid_params("params.query must be text")
        return {
            "items": [
                {"value": row["id"], "label": _label(row)}
                for row in self._usable(ref, caller)
                if query is None or _holds(query, row)
            ]
        }

    def _usable(self, ref: str, caller: Caller) -> Sequence[State]:
        """The connectors behind `ref` that a caller may use: the host's, and its own."""
        if not ref.startswith(_REF):
            return ()
        owners = {"host"} if caller.reader is None else {"host", caller.reader.principal}
        adapter = ref.removeprefix(_REF)
        return [
            row
            for row in self.connectors()
            if row.get("adapter") == adapter and row.get("owner") in owners
        ]


def adapter_of(schema: Mapping[str, Any]) -> str | None:
    """The adapter whose connectors a field names; None for any other field."""
    mark = schema.get(MARK)
    adapter = mark.get("adapter") if isinstance(mark, Mapping) else mark
    return adapter if isinstance(adapter, str) and adapter else None


def _label(row: State) -> str:
    title = row.get("title")
    return title if isinstance(title, str) and title else str(row["id"])


def _holds(query: str, row: State) -> bool:
    wanted = query.casefold()
    return wanted in str(row["id"]).casefold() or wanted in _label(row).casefold()
