"""What one plugin, connector or agent shows."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, NoReturn

from zope.interface import implementer

from ahpd.interfaces.extensions import IViewHandle
from ahpd.protocol import State
from ahpd.views.check import check_size, check_view
from ahpd.views.json_size import sized
from ahpd.views.paths import is_path, with_value


@implementer(IViewHandle)
class Views:
    """The views of one record by surface, in memory alone.

    `surfaces` are the ones it may show a view on, `methods` answers the commands its plugin has
    now. A view that was shown or taken away is told with `moved()`, one value of a view's data
    with `data(surface, path, value)`, a call that was refused with `report(words)`; the call
    raises `ValueError` with the same words then, and what was shown stays. Everything given and
    told is a copy.
    """

    def __init__(
        self,
        surfaces: Collection[str],
        methods: Callable[[], Collection[str]],
        *,
        moved: Callable[[], None],
        data: Callable[[str, str, Any], None],
        report: Callable[[str], None],
    ) -> None:
        self._surfaces = tuple(surfaces)
        self._methods = methods
        self._moved = moved
        self._data = data
        self._report = report
        self._shown: dict[str, State] = {}
        self._closed = False

    @property
    def shown(self) -> Mapping[str, State] | None:
        """The views by surface; None where there are none. They are not changed in place."""
        return dict(self._shown) or None

    def show_view(self, view: State, surface: str = "main") -> None:
        """See `IViewHandle`."""
        if self._closed:
            return
        try:
            self._check_surface(surface)
            kept = _copied(view, "a view")
            check_view(kept, self._methods())
        except ValueError as error:
            self._refuse("the view", error)
        self._shown[surface] = kept
        self._moved()

    def set_view_data(self, path: str, value: Any, surface: str = "main") -> None:
        """See `IViewHandle`."""
        if self._closed:
            return
        try:
            self._check_surface(surface)
            shown = self._shown.get(surface)
            if shown is None:
                raise ValueError(f"the surface {surface} shows no view whose data could be set")
            if not is_path(path):
                raise ValueError("the path is none: one is / or /a/b/0")
            kept = _copied(value, f"the value at {path}")
            sized(kept, f"the value at {path}")
            if path == "/" and not isinstance(kept, dict):
                raise ValueError("a view's dataModel must be an object")
            changed = {**shown, "dataModel": with_value(shown.get("dataModel", {}), path, kept)}
            check_size(changed)
        except ValueError as error:
            self._refuse("a view's data", error)
        self._shown[surface] = changed
        self._data(surface, path, _copied(kept, path))

    def clear_view(self, surface: str = "main") -> None:
        """See `IViewHandle`. One that shows nothing is no error."""
        if self._closed:
            return
        try:
            self._check_surface(surface)
        except ValueError as error:
            self._refuse("clearing a view", error)
        if self._shown.pop(surface, None) is not None:
            self._moved()

    def close(self) -> None:
        """Take every view away and tell nobody; a call that comes later writes nothing."""
        self._closed = True
        self._shown = {}

    def _check_surface(self, surface: Any) -> None:
        if not isinstance(surface, str) or surface not in self._surfaces:
            known = ", ".join(self._surfaces)
            named = repr(surface[:80]) if isinstance(surface, str) else "it is not text"
            raise ValueError(
                f"no such surface ({named}); known: {known}"
                if known
                else "nothing may be shown: no capability names a surface"
            )

    def _refuse(self, what: str, error: ValueError) -> NoReturn:
        words = f"{what} was refused: {error}"
        self._report(words)
        raise ValueError(words) from None


def _copied(value: Any, what: str) -> Any:
    """A copy of dicts and lists alone. Raises `ValueError` for a value without an end."""
    try:
        return _copy(value)
    except RecursionError:
        raise ValueError(f"{what} must be JSON") from None


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_copy(item) for item in value]
    return value
