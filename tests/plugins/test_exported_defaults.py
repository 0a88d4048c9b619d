"""What a module's exported defaults set, without the module being imported."""

import pytest

from ahpd.plugins.exported_defaults import exported_defaults


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        ("defaults = {'command': 'run', 'retries': 3}\n", {"command", "retries"}),
        ("from typing import Any\ndefaults: dict[str, Any] = {'command': open}\n", {"command"}),
        ("defaults = {'a': 1}\ndefaults = {'b': 1}\n", {"b"}),
        ("def apply(host, options):\n    defaults = {'command': 1}\n", set()),
        ("other = {'command': 1}\n", set()),
        ("", set()),
        ("def apply(:\n", set()),
        ("defaults = made()\n", None),
        ("defaults = {**more, 'a': 1}\n", None),
        ("from .elsewhere import defaults\n", None),
        ("from .elsewhere import *\n", None),
        ("from .elsewhere import base as defaults\n", None),
        ("if True:\n    defaults = {'a': 1}\n", None),
    ],
)
def test_the_source_says_which_or_that_it_cannot_be_told(tmp_path, source, keys):
    file = tmp_path / "plugin.py"
    file.write_text(source)
    assert exported_defaults(file) == (None if keys is None else frozenset(keys))


def test_a_module_that_cannot_be_read_exports_none(tmp_path):
    assert exported_defaults(tmp_path / "gone.py") == frozenset()
    (tmp_path / "plugin.py").write_bytes(b"defaults = {'a': '\xff'}\n\0")
    assert exported_defaults(tmp_path / "plugin.py") == frozenset()
