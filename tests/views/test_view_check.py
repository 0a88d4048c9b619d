"""A view is refused with the rule it broke and the component it was broken at."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.views import check_view, translated

METHODS = frozenset({"x-example/stop"})
STOP = {"event": {"name": "x-example/stop"}}

#: What PLUGINS.txt shows of a plugin's page.
PAGE = {
    "root": "card",
    "components": {
        "card": {"id": "card", "component": "Card", "child": "body"},
        "body": {"id": "body", "component": "Column", "children": ["open", "stop"]},
        "open": {
            "id": "open",
            "component": "Link",
            "label": "Open",
            "href": "https://example.test/",
        },
        "stop": {"id": "stop", "component": "Button", "label": "Stop", "action": STOP},
    },
}


def component(at, kind, **said):
    return {at: {"id": at, "component": kind, **said}}


def only(kind, **said):
    """A view of one component, `c`."""
    return {"root": "c", "components": component("c", kind, **said)}


def refusal(view, methods=METHODS):
    with pytest.raises(ValueError, match=r".") as raised:
        check_view(view, methods)
    return str(raised.value)


def test_a_whole_page_is_let_through():
    check_view(PAGE, METHODS)
    usage = {
        "root": "all",
        "components": {
            **component("all", "Column", children={"path": "/limits", "componentId": "limit"}),
            **component("limit", "Card", child="in"),
            **component("in", "Column", children=["bar", "line", "rule", "icon"], align="stretch"),
            **component(
                "bar",
                "Progress",
                value={"path": "used"},
                max=100,
                label={"path": "/name"},
                display="percent",
                child="resets",
            ),
            **component("resets", "DateTime", value={"path": "at"}, format="auto", label="Resets"),
            **component("line", "KeyValue", label="Plan", child="when"),
            **component("when", "DateTime", value="2026-01-02T03:04:05.678Z"),
            **component("rule", "Divider"),
            **component("icon", "Icon", name="check"),
        },
        "dataModel": {"limits": [{"used": 3, "at": "2026-01-02"}]},
    }
    check_view(usage, METHODS)


@pytest.mark.parametrize(
    "view",
    [
        only("Text", text={"path": "/a/b/0"}),
        only("Text", text="", variant="h1", weight=2, accessibility={"label": "x"}),
        only("Link", label="x", href={"path": "/url"}),
        only("Link", href="http://127.0.0.1:8080/a?b=c#d"),
        only("Link", href="https://[::1]/"),
        only("Button", action={"event": {"name": "x-example/stop", "context": {"id": 3}}}),
        only(
            "Button", action={"event": {"name": "x-example/stop", "context": {"a": {"path": "/a"}}}}
        ),
        only("Row", children=[]),
        only("List", children=[], direction="horizontal"),
        only("KeyValue", label="a", value=3),
        only("Text", text="x", later={"path": "/a"}, more=3),
        {**only("Text", text="x"), "dataModel": {}},
    ],
)
def test_what_a_client_can_draw_is_let_through(view):
    check_view(view, METHODS)


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (None, "a view is an object"),
        ({}, "components must be an object"),
        ({"root": "a", "components": {}}, "components must be an object"),
        ({"root": "a", "components": []}, "components must be an object"),
        ({**PAGE, "title": "x"}, "no 'title'"),
        ({**PAGE, "root": "gone"}, "root must be the id of one of its components"),
        ({**PAGE, "root": 3}, "root must be the id of one of its components"),
        ({**PAGE, "dataModel": []}, "dataModel must be an object"),
        ({**PAGE, "dataModel": None}, "dataModel must be an object"),
        ({**PAGE, "dataModel": {"a": float("nan")}}, "must be JSON"),
        ({**PAGE, "dataModel": {"a": {1: 2}}}, "must be JSON"),
        ({**PAGE, "dataModel": {"a": b"x"}}, "must be JSON"),
        ({"root": "c", "components": {"c": {"id": "d", "component": "Text"}}}, "component c must"),
        ({"root": "c", "components": {"c": {"component": "Divider"}}}, "component c must have"),
        ({"root": "c", "components": {"c": "Text"}}, "component c must be an object"),
        (only("Video"), "component c is of an unknown kind; known: Text, Link"),
        ({"root": "c", "components": {"c": {"id": "c"}}}, "component c is of an unknown kind"),
    ],
)
def test_a_view_that_is_none_is_refused(view, words):
    assert words in refusal(view)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (("Text",), "text is missing"),
        (("Text", {"text": ["a"]}), "text must be text or a number or {path}"),
        (("Text", {"text": {"literalString": "a"}}), "text must be a literal or {path}"),
        (("Text", {"text": {"path": "/a", "more": 1}}), "text must be a literal or {path}"),
        (("Text", {"text": {"path": 3}}), "text is bound to a bad path"),
        (("Text", {"text": {"path": ""}}), "text is bound to a bad path"),
        (("Text", {"text": {"path": "name"}}), "text is bound to a bad path"),
        (("Text", {"text": {"path": "/a//b"}}), "text is bound to a bad path"),
        (("Text", {"text": {"path": "/a/"}}), "text is bound to a bad path"),
        (("Text", {"text": "a", "more": [1]}), "more must be a literal or {path}"),
        (("Text", {"text": "a", "child": "b"}), "a Text has no child"),
        (("Text", {"text": "a", "children": []}), "a Text has no children"),
        (("Text", {"text": "a", "action": STOP}), "a Text has no action"),
        (("Link", {"label": "x"}), "href is missing"),
        (("Link", {"href": "/relative"}), "href must be an absolute http(s) URL with a host"),
        (("Link", {"href": "javascript:alert(1)"}), "href must be an absolute"),
        (("Link", {"href": "https:///path"}), "href must be an absolute"),
        (("Link", {"href": "https://"}), "href must be an absolute"),
        (("Link", {"href": "https://a b/"}), "href must be an absolute"),
        (("Link", {"href": "https://a:port/"}), "href must be an absolute"),
        (("Link", {"href": "https://[::1/"}), "href must be an absolute"),
        (("Link", {"href": " https://a/"}), "href must be an absolute"),
        (("Link", {"href": "file:///etc/passwd"}), "href must be an absolute"),
        (("Button", {"label": "x"}), "action must be {event: {name, context?}}"),
        (("Button", {"action": {"event": "x-example/stop"}}), "action must be"),
        (("Button", {"action": {**STOP, "more": 1}}), "action must be"),
        (("Button", {"action": {"event": {"name": "x-other/stop"}}}), "names 'x-other/stop'"),
        (("Button", {"action": {"event": {"name": ["x"]}}}), "names what is no text"),
        (
            ("Button", {"action": {"event": {"name": "x-example/stop", "context": [1]}}}),
            "context of an action must be an object",
        ),
        (
            (
                "Button",
                {
                    "action": {
                        "event": {"name": "x-example/stop", "context": {"a": {"path": "a b//"}}}
                    }
                },
            ),
            "context 'a' is bound to a bad path",
        ),
        (("Row", {"children": "abc"}), "children must be ids or {path, componentId}"),
        (("Row", {"children": [1]}), "children must be ids or {path, componentId}"),
        (("Row", {"children": {"path": "/a"}}), "children must be ids or {path, componentId}"),
        (("Row", {"children": [], "align": "middle"}), "align must be one of start"),
        (("Row", {"children": [], "align": {"path": "/a"}}), "align must be one of start"),
        (("Card", {"child": ["a"]}), "child must be the id of a component"),
        (("Icon", {}), "name is missing"),
        (("Progress", {}), "value is missing"),
        (("Progress", {"value": "3"}), "value must be a number or {path}"),
        (("Progress", {"value": True}), "value must be a number or {path}"),
        (("Progress", {"value": 3, "max": "9"}), "max must be a number or {path}"),
        (("Progress", {"value": 3, "display": "bar"}), "display must be one of percent"),
        (("DateTime", {"value": "soon"}), "value must be an ISO 8601 time or {path}"),
        (("DateTime", {"value": 3}), "value must be an ISO 8601 time or {path}"),
        (("DateTime", {"value": "2026-01-02", "format": "short"}), "format must be one of time"),
        (("KeyValue", {"label": "a"}), "a KeyValue has a value or a child"),
        (("Divider", {"axis": "up"}), "axis must be one of"),
        (("Divider", {"weight": "1"}), "weight must be a number"),
    ],
)
def test_a_component_that_breaks_a_rule_is_named_with_it(said, words):
    kind, *rest = said
    found = refusal(only(kind, **(rest[0] if rest else {})))
    assert found.startswith("component c: ")
    assert words in found


# -- how components stand to each other ------------------------------------------------------


def tree(root, **children):
    """A view of Columns, each with the children named."""
    parts = {
        name: component(name, "Column", children=list(below))[name]
        for name, below in children.items()
    }
    return {"root": root, "components": parts}


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (tree("a", a="b"), "component a names 'b', which is missing"),
        (tree("a", a="bc", b="d", c="d", d=""), "component d is named by b and c"),
        (tree("a", a="bb", b=""), "component b is named by a more than once"),
        (tree("a", a="a"), "component a is below itself"),
        (tree("a", a="b", b="c", c="a"), "is below itself"),
        # Two that only lead to each other are drawn by nobody, and are refused all the same.
        (tree("a", a="", b="c", c="b"), "is below itself"),
        (tree("b", a="b", b=""), "component b is the root, and a names it"),
    ],
)
def test_components_are_a_tree(view, words):
    assert words in refusal(view)


def test_a_template_counts_as_a_parent():
    view = tree("a", a="", b="", c="")
    view["components"]["a"]["children"] = {"path": "/rows", "componentId": "b"}
    check_view(view, ())
    view["components"]["c"]["child"] = "b"
    assert "component b is named by a and c" in refusal(view)
    view["components"]["a"]["children"] = {"path": "/rows", "componentId": "gone"}
    assert "component a names 'gone', which is missing" in refusal(view)
    view["components"]["a"]["children"] = {"path": "rows", "componentId": "b"}
    del view["components"]["c"]["child"]
    assert "component a: children is bound to a bad path" in refusal(view)


def test_a_child_and_children_are_both_below():
    view = tree("a", a="b", b="", c="")
    view["components"]["a"]["child"] = "c"
    check_view(view, ())
    view["components"]["a"]["child"] = "b"
    assert "named by a more than once" in refusal(view)


def test_a_component_nobody_leads_to_is_allowed_and_held_to_the_rules():
    view = {"root": "a", "components": {**component("a", "Divider"), **component("b", "Divider")}}
    check_view(view, ())
    view["components"]["b"]["axis"] = "up"
    assert refusal(view).startswith("component b: axis")


def test_a_rows_own_path_is_allowed_in_the_row_alone():
    view = {
        "root": "a",
        "components": {
            **component("a", "List", children={"path": "/rows", "componentId": "row"}),
            **component("row", "Card", child="text"),
            **component("text", "Text", text={"path": "name"}),
        },
    }
    check_view(view, ())
    view["components"]["a"]["children"] = ["row"]
    assert "component text: text is bound to a bad path" in refusal(view)


# -- bounds ---------------------------------------------------------------------------------


def test_a_view_holds_200_components_and_no_more():
    names = [f"c{n}" for n in range(199)]
    view = tree("a", a=names, **dict.fromkeys(names, ""))
    check_view(view, ())
    view["components"].update(component("more", "Divider"))
    assert "at most 200 components" in refusal(view)


def test_a_view_is_64_kib_with_its_data_and_no_more():
    view = {**only("Divider"), "dataModel": {"a": ""}}
    # As it is sent: without a space, and a letter in its own bytes.
    empty = '{"root":"c","components":{"c":{"id":"c","component":"Divider"}},"dataModel":{"a":""}}'
    room = 64 * 1024 - len(empty)
    view["dataModel"]["a"] = "é" * (room // 2) + "x" * (room % 2)
    check_view(view, ())
    view["dataModel"]["a"] += "x"
    assert "at most 64 KiB" in refusal(view)


def test_a_view_without_an_end_is_refused():
    data = {}
    data["again"] = data
    assert "must be JSON" in refusal({**only("Divider"), "dataModel": data})
    deep = {}
    for _ in range(100_000):
        deep = {"a": deep}
    assert "must be JSON" in refusal({**only("Divider"), "dataModel": deep})


_WORDS = (
    *("root", "components", "dataModel", "id", "component", "child", "children"),
    *("action", "event", "name", "path", "componentId", "text", "href", "c"),
)
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_WORDS),
            inner | st.sampled_from(["c", "Text", "Row", "Button", "Link"]),
            max_size=6,
        )
    ),
    max_leaves=20,
)


@given(_ANYTHING)
def test_whatever_is_given_is_let_through_or_refused_in_words(view):
    for given_view in (view, {"root": "c", "components": view}, only("Button", x=view)):
        try:
            check_view(given_view, METHODS)
        except ValueError as error:
            assert "\n" not in str(error)  # noqa: PT017 (nothing else may be raised)


# -- in a reader's language -------------------------------------------------------------------


def test_literal_texts_and_the_labels_of_links_are_looked_up():
    view = {
        "root": "r",
        "components": {
            **component("r", "Row", children=["t", "b", "l", "k"]),
            **component("t", "Text", text="Open"),
            **component("b", "Text", text={"path": "/Open"}),
            **component("l", "Link", label="Open", href="https://a.test/Open"),
            **component("k", "KeyValue", label="Open", value="Open"),
        },
        "dataModel": {"Open": "Open"},
    }
    asked = []

    def lookup(text):
        asked.append(text)
        return "Abrir"

    shown = translated(view, lookup)
    assert asked == ["Open", "Open"]
    assert shown["components"]["t"]["text"] == "Abrir"
    assert shown["components"]["l"]["label"] == "Abrir"
    assert shown["components"]["l"]["href"] == "https://a.test/Open"
    for name in ("b", "k", "r"):
        assert shown["components"][name] == view["components"][name]
    assert shown["dataModel"] == {"Open": "Open"}
    assert view["components"]["t"]["text"] == "Open", "the view itself stays as it was"
