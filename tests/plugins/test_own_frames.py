"""Where in a plugin's own code an exception came from."""

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.found import Found
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.own_frames import raised_in


def found(folder, *, kind="standalone", module="acme.plugin", file="plugin.py"):
    return Found(
        entry=PluginEntry(source=str(folder)),
        id="acme",
        manifest=Manifest(id="acme", place="plugin.yaml"),
        kind=kind,
        module=module,
        file=folder / file,
        folder=folder,
        root=folder.parent,
    )


def raised(*files):
    """An error that the code of each file handed on to the next."""
    calls = [*files, None]
    code = {}
    for file, deeper in zip(files, calls[1:], strict=True):
        body = "raise KeyError('unit')" if deeper is None else "deeper()"
        # The third line of each is what ran.
        code[file] = compile(f"\ndef run(deeper):\n    {body}\n", str(file), "exec")

    def runs(left):
        if not left:
            return None
        space = {}
        exec(code[left[0]], space)
        return lambda: space["run"](runs(left[1:]))

    try:
        runs(files)()
    except KeyError as error:
        return error
    raise AssertionError("it raised")


def test_it_is_the_last_line_of_the_plugin_that_ran(tmp_path):
    plugin = found(tmp_path / "acme")
    error = raised(tmp_path / "acme" / "plugin.py", tmp_path / "acme" / "sub" / "helper.py")
    assert raised_in(error, plugin) == " (sub/helper.py:3)"


def test_what_a_library_raised_is_where_the_plugin_called_it(tmp_path):
    plugin = found(tmp_path / "acme")
    error = raised(tmp_path / "acme" / "plugin.py", tmp_path / "library.py")
    assert raised_in(error, plugin) == " (plugin.py:3)"


def test_nothing_is_said_of_what_came_through_none_of_it(tmp_path):
    plugin = found(tmp_path / "acme")
    assert raised_in(raised(tmp_path / "library.py"), plugin) == ""
    assert raised_in(KeyError("never raised"), plugin) == ""


def test_what_lies_beside_a_module_without_a_package_is_not_its_own(tmp_path):
    plugin = found(tmp_path, kind="distribution", module="plugin")
    assert raised_in(raised(tmp_path / "other.py"), plugin) == ""
    error = raised(tmp_path / "plugin.py", tmp_path / "other.py")
    assert raised_in(error, plugin) == " (plugin.py:3)"
