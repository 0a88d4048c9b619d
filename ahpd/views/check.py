"""Whether a view is one that clients can draw.

A view is `{root, components, dataModel?}`: the components by their ids, each named by one
other at most, the root by none. Each refusal is a `ValueError` that names the component and the
rule. Source: PLUGINS.txt, "A view is a small A2UI v0.10 surface".
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ahpd.protocol import State
from ahpd.views.json_size import sized
from ahpd.views.kinds import COMMON, KINDS, Kind, Rule
from ahpd.views.paths import is_inner, is_path

MOST_COMPONENTS: Final = 200
#: Bytes of a view's JSON, its data among them.
LARGEST_VIEW: Final = 64 * 1024
_LONGEST_ID: Final = 200
_PARTS: Final = frozenset({"root", "components", "dataModel"})
#: Properties that say how a component stands to others, and are none of the table's.
_STRUCTURE: Final = frozenset({"id", "component", "child", "children", "action", "accessibility"})


def check_view(view: Any, methods: Collection[str]) -> None:
    """Raises `ValueError` naming the rule, and the component it was broken at.

    `methods` are the commands that a Button of it may call. A component that the root does not
    lead to is drawn by nobody, and allowed.
    """
    if not isinstance(view, Mapping):
        raise ValueError("a view is an object: {root, components, dataModel?}")
    unknown = [key for key in view if key not in _PARTS]
    if unknown:
        raise ValueError(
            f"a view holds root, components and dataModel, and no {_named(unknown[0])}"
        )
    components = view.get("components")
    if not isinstance(components, Mapping) or not components:
        raise ValueError("a view's components must be an object of them by their ids")
    if len(components) > MOST_COMPONENTS:
        raise ValueError(f"a view holds at most {MOST_COMPONENTS} components")
    if not isinstance(view.get("dataModel", {}), Mapping):
        raise ValueError("a view's dataModel must be an object")
    check_size(view)
    for name, component in components.items():
        _check_head(name, component)
    root = view.get("root")
    if not isinstance(root, str) or root not in components:
        raise ValueError("a view's root must be the id of one of its components")
    parents = _parents(components)
    _check_cycles(root, components, parents)
    rows = _rows(components)
    for name, component in components.items():
        _Component(name, component, methods, in_row=name in rows).check()


def check_size(view: Mapping[str, Any]) -> None:
    """Raises `ValueError` for a view that is no JSON, or too much of it."""
    if sized(view, "a view") > LARGEST_VIEW:
        most = LARGEST_VIEW // 1024
        raise ValueError(f"a view is at most {most} KiB of JSON with its data model")


def _check_head(name: Any, component: Any) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_ID or not name.isprintable():
        raise ValueError("a component's id must be text of 1 to 200 characters")
    if not isinstance(component, Mapping):
        raise ValueError(f"component {name} must be an object")
    if component.get("id") != name:
        raise ValueError(f"component {name} must have the id it stands under")
    kind = component.get("component")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"component {name} is of an unknown kind; known: {', '.join(KINDS)}")
    _check_structure(name, component, KINDS[kind], kind)


def _check_structure(name: str, component: Mapping[str, Any], kind: Kind, title: str) -> None:
    if "child" in component:
        if not kind.child:
            raise ValueError(f"component {name}: a {title} has no child")
        if not isinstance(component["child"], str):
            raise ValueError(f"component {name}: child must be the id of a component")
    if "children" in component:
        children = component["children"]
        if not kind.children:
            raise ValueError(f"component {name}: a {title} has no children")
        if isinstance(children, Mapping):
            if set(children) != {"path", "componentId"} or not all(
                isinstance(one, str) for one in children.values()
            ):
                raise ValueError(f"component {name}: children must be ids or {{path, componentId}}")
        elif not isinstance(children, list | tuple) or not all(
            isinstance(one, str) for one in children
        ):
            raise ValueError(f"component {name}: children must be ids or {{path, componentId}}")
    if "action" in component and not kind.action:
        raise ValueError(f"component {name}: a {title} has no action")


# -- who names whom -------------------------------------------------------------------------


def _below(component: State) -> Iterator[str]:
    """The ids a component names, each as often as it does."""
    if "child" in component:
        yield component["child"]
    children = component.get("children", ())
    if isinstance(children, Mapping):
        yield children["componentId"]
    else:
        yield from children


def _parents(components: Mapping[str, State]) -> dict[str, str]:
    parents: dict[str, str] = {}
    for name, component in components.items():
        for below in _below(component):
            if below not in components:
                raise ValueError(f"component {name} names {_named(below)}, which is missing")
            if below in parents:
                both = (
                    f"{parents[below]} and {name}"
                    if parents[below] != name
                    else f"{name} more than once"
                )
                raise ValueError(f"component {below} is named by {both}; it has one place")
            parents[below] = name
    return parents


def _check_cycles(root: str, components: Mapping[str, State], parents: Mapping[str, str]) -> None:
    """Each has one parent at most, so whoever leads back to itself is found going up."""
    ends: set[str] = set()
    # From the root first, because that is the cycle a client would run into.
    for name in (root, *components):
        way: list[str] = []
        at: str | None = name
        while at is not None and at not in ends:
            if at in way:
                raise ValueError(f"component {at} is below itself: a view has no cycle")
            way.append(at)
            at = parents.get(at)
        ends.update(way)
    if root in parents:
        raise ValueError(f"component {root} is the root, and {parents[root]} names it")


def _rows(components: Mapping[str, State]) -> set[str]:
    """The components that are drawn once for each item of a list."""
    found: set[str] = set()
    waiting = [
        component["children"]["componentId"]
        for component in components.values()
        if isinstance(component.get("children"), Mapping)
    ]
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting += _below(components[name])
    return found


# -- what one component says ------------------------------------------------------------------


class _Component:
    """One component, held to what its kind may say."""

    def __init__(
        self, name: str, component: State, methods: Collection[str], *, in_row: bool
    ) -> None:
        self._name = name
        self._said = component
        self._kind = KINDS[component["component"]]
        self._methods = methods
        self._in_row = in_row

    def check(self) -> None:
        """Raises `ValueError`."""
        rules = {**COMMON, **self._kind.properties}
        for key in self._kind.required:
            if key not in self._said:
                raise self._wrong(f"{key} is missing")
        for key, value in self._said.items():
            if key not in _STRUCTURE:
                self._property(key, value, rules.get(key))
        children = self._said.get("children")
        if isinstance(children, Mapping):
            self._path("children", children["path"])
        if self._said["component"] == "KeyValue" and not {"value", "child"} & self._said.keys():
            raise self._wrong("a KeyValue has a value or a child")
        if self._kind.action:
            self._action(self._said.get("action"))

    def _property(self, key: str, value: Any, rule: Rule | None) -> None:
        if isinstance(value, Mapping):
            if set(value) != {"path"}:
                raise self._wrong(f"{key} must be a literal or {{path}}")
            if rule is not None and not rule.bound:
                raise self._wrong(f"{key} must be {rule.words}")
            self._path(key, value["path"])
        elif rule is not None:
            if not rule.fits(value):
                more = " or {path}" if rule.bound else ""
                raise self._wrong(f"{key} must be {rule.words}{more}")
        elif isinstance(value, list | tuple):
            raise self._wrong(f"{key} must be a literal or {{path}}")

    def _path(self, key: str, path: Any) -> None:
        if not is_path(path) and not (self._in_row and is_inner(path)):
            raise self._wrong(f"{key} is bound to a bad path: one is / or /a/b/0")

    def _action(self, action: Any) -> None:
        event = action.get("event") if isinstance(action, Mapping) else None
        whole = isinstance(action, Mapping) and set(action) == {"event"}
        if not whole or not isinstance(event, Mapping) or not set(event) <= {"name", "context"}:
            raise self._wrong("action must be {event: {name, context?}}")
        name = event.get("name")
        if not isinstance(name, str) or name not in self._methods:
            raise self._wrong(f"action names {_named(name)}, no method the plugin registered")
        context = event.get("context", {})
        if not isinstance(context, Mapping):
            raise self._wrong("the context of an action must be an object")
        for key, value in context.items():
            if isinstance(value, Mapping) and set(value) == {"path"}:
                self._path(f"context {_named(key)}", value["path"])

    def _wrong(self, words: str) -> ValueError:
        return ValueError(f"component {self._name}: {words}")


def _named(name: Any) -> str:
    """Something a view names, short enough for a line."""
    return repr(name[:80]) if isinstance(name, str) else "what is no text"
