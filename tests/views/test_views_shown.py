"""A handle keeps what one record shows, and says each change of it once."""

import copy

import pytest
from zope.interface.verify import verifyObject

from ahpd.interfaces.extensions import IViewHandle
from ahpd.views import Views
from ahpd.views.paths import with_value

VIEW = {
    "root": "t",
    "components": {"t": {"id": "t", "component": "Text", "text": {"path": "/a/0"}}},
    "dataModel": {"a": [1, 2], "b": {"c": "d"}},
}
STOP = {
    "root": "b",
    "components": {
        "b": {"id": "b", "component": "Button", "action": {"event": {"name": "x-p/stop"}}}
    },
}


class Shown:
    """A handle, and what it said."""

    def __init__(self, *surfaces):
        self.methods = {"x-p/stop"}
        self.moved = 0
        self.data = []
        self.reported = []
        self.views = Views(
            surfaces,
            lambda: self.methods,
            moved=self._count,
            data=lambda *said: self.data.append(said),
            report=self.reported.append,
        )

    def _count(self):
        self.moved += 1

    def refused(self, call, *arguments, **named):
        before = copy.deepcopy((self.views.shown, self.moved, self.data))
        with pytest.raises(ValueError, match=r".") as raised:
            call(*arguments, **named)
        assert (self.views.shown, self.moved, self.data) == before
        assert self.reported.pop() == str(raised.value)
        return str(raised.value)


@pytest.fixture
def shown():
    return Shown("main")


def test_a_view_is_shown_replaced_and_taken_away(shown):
    assert verifyObject(IViewHandle, shown.views)
    assert shown.views.shown is None
    shown.views.show_view(VIEW)
    assert shown.views.shown == {"main": VIEW}
    shown.views.show_view(STOP)
    assert shown.views.shown == {"main": STOP}, "components and data together"
    assert shown.moved == 2
    shown.views.clear_view()
    assert (shown.views.shown, shown.moved) == (None, 3)
    shown.views.clear_view()
    assert shown.moved == 3


def test_what_is_shown_is_a_copy(shown):
    view = copy.deepcopy(VIEW)
    shown.views.show_view(view)
    view["dataModel"]["a"].append("changed")
    assert shown.views.shown == {"main": VIEW}
    value = ["x"]
    shown.views.set_view_data("/a", value)
    value.append("changed")
    shown.data[0][2].append("changed")
    assert shown.views.shown["main"]["dataModel"]["a"] == ["x"]


def test_a_refused_view_leaves_what_was_shown(shown):
    shown.views.show_view(VIEW)
    unknown = {**STOP, "root": "gone"}
    assert "root must be the id" in shown.refused(shown.views.show_view, unknown)
    assert "a view is an object" in shown.refused(shown.views.show_view, None)
    endless = {}
    endless["a"] = endless
    assert "must be JSON" in shown.refused(shown.views.show_view, endless)


def test_methods_are_those_the_plugin_has_now(shown):
    shown.methods = set()
    words = shown.refused(shown.views.show_view, STOP)
    assert "component b: action names 'x-p/stop', no method the plugin registered" in words
    shown.methods = {"x-p/stop"}
    shown.views.show_view(STOP)
    assert shown.views.shown == {"main": STOP}


def test_a_surface_is_one_that_is_known(shown):
    for call in (
        lambda: shown.views.show_view(VIEW, "side"),
        lambda: shown.views.set_view_data("/a", 1, "side"),
        lambda: shown.views.clear_view("side"),
    ):
        assert "no such surface ('side'); known: main" in shown.refused(call)
    nowhere = Shown()
    assert "no capability names a surface" in nowhere.refused(nowhere.views.show_view, VIEW)
    shown.refused(shown.views.show_view, VIEW, ["main"])


def test_surfaces_are_apart():
    shown = Shown("main", "side")
    shown.views.show_view(VIEW)
    shown.views.show_view(STOP, "side")
    assert shown.views.shown == {"main": VIEW, "side": STOP}
    shown.views.clear_view("main")
    assert shown.views.shown == {"side": STOP}


# -- one value of the data ----------------------------------------------------------------------


def test_one_value_is_set_and_told_without_the_view(shown):
    shown.views.show_view(VIEW)
    before = shown.views.shown
    shown.views.set_view_data("/a/0", {"x": 1})
    shown.views.set_view_data("/b/c", None)
    assert shown.views.shown["main"]["dataModel"] == {"a": [{"x": 1}, 2], "b": {"c": None}}
    assert shown.data == [("main", "/a/0", {"x": 1}), ("main", "/b/c", None)]
    assert shown.moved == 1
    assert before == {"main": VIEW}, "what was handed out stays as it was"


def test_all_of_the_data_is_replaced_with_an_object(shown):
    shown.views.show_view(STOP)
    shown.views.set_view_data("/new", 1)
    assert shown.views.shown["main"]["dataModel"] == {"new": 1}
    shown.views.set_view_data("/", {"other": 2})
    assert shown.views.shown["main"]["dataModel"] == {"other": 2}
    for value in ([], None, "x", 3):
        assert "dataModel must be an object" in (
            shown.refused(shown.views.set_view_data, "/", value)
        )


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("", "path is none"),
        ("a", "path is none"),
        ("//", "path is none"),
        ("/a/", "path is none"),
        ("/a\n", "path is none"),
        (None, "path is none"),
        ("/" + "/".join("a" * 40), "path is none"),
        ("/a/3", "/a/3 leads to no place of a list that has 2 items"),
        ("/a/-1", "leads to no place"),
        ("/a/-", "leads to no place"),
        ("/a/x", "leads to no place"),
        ("/a/99999999999999999999", "leads to no place"),
        ("/a/0/x", "neither an object nor a list"),
        ("/b/c/d", "neither an object nor a list"),
    ],
)
def test_a_path_that_leads_nowhere_leaves_the_data(shown, path, words):
    shown.views.show_view(VIEW)
    assert words in shown.refused(shown.views.set_view_data, path, 1)


def test_the_bound_of_a_view_holds_for_what_is_set(shown):
    shown.views.show_view(VIEW)
    shown.views.set_view_data("/big", "x" * 60_000)
    assert "at most 64 KiB" in shown.refused(shown.views.set_view_data, "/more", "x" * 6_000)
    assert "must be JSON" in shown.refused(shown.views.set_view_data, "/more", float("inf"))
    assert "must be JSON" in shown.refused(shown.views.set_view_data, "/more", {1, 2})


def test_data_of_a_surface_that_shows_nothing_is_refused(shown):
    assert "shows no view" in shown.refused(shown.views.set_view_data, "/a", 1)
    shown.views.show_view(VIEW)
    shown.views.clear_view()
    assert "shows no view" in shown.refused(shown.views.set_view_data, "/a", 1)


def test_a_handle_kept_past_its_close_writes_nothing(shown):
    shown.views.show_view(VIEW)
    shown.views.close()
    assert shown.views.shown is None
    shown.views.show_view(STOP)
    shown.views.set_view_data("/a", 1)
    shown.views.clear_view()
    shown.views.show_view("no view")
    shown.views.close()
    assert (shown.views.shown, shown.moved, shown.data, shown.reported) == (None, 1, [], [])


@pytest.mark.parametrize(
    ("data", "path", "value", "after"),
    [
        ({}, "/a", 1, {"a": 1}),
        ({}, "/a/b/c", 1, {"a": {"b": {"c": 1}}}),
        ({"a": [1]}, "/a/1", 2, {"a": [1, 2]}),
        ({"a": []}, "/a/0/b", 2, {"a": [{"b": 2}]}),
        ({"a/b": {"~": 1}}, "/a~1b/~0", 2, {"a/b": {"~": 2}}),
        ({"0": 1}, "/0", 2, {"0": 2}),
    ],
)
def test_what_is_missing_on_the_way_is_made(data, path, value, after):
    before = copy.deepcopy(data)
    assert with_value(data, path, value) == after
    assert data == before
