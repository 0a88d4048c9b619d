"""Imports follow the arrows of docs/architecture.md and never come back."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ahpd"

#: A row of the table: the part's folder or module, what lives there, what it may import.
ROW = re.compile(r"\| `ahpd/(\w+)(?:/|\.py)` \| .+ \| ([\w, ]+) \|")
NOTHING = "nothing of ours"


def allowed():
    """What each part may import of the others, by docs/architecture.md; its own modules always."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    _, _, table = page.partition("| Package | What lives there | May import |\n|---|---|---|\n")
    rows = [ROW.fullmatch(line) for line in table.partition("\n\n")[0].splitlines()]
    assert rows, "the page has no table of packages"
    assert None not in rows, "a row of the table names no package, or something else than packages"
    found = {
        part: set() if names == NOTHING else set(names.split(", "))
        for part, names in (row.groups() for row in rows)
    }
    assert len(found) == len(rows), "a package has two rows"
    return found | {"__init__": set()}


ALLOWED = allowed()

#: Every part may know the program's own version.
VERSION = "ahpd.__version__"


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    relative = path.relative_to(PACKAGE)
    return relative.parts[0] if len(relative.parts) > 1 else relative.stem


def imported_parts(path: Path):
    """(line, part) of every import of ours that runs; those for type checking alone are left out."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            pieces = name.split(".")
            if pieces[0] == "ahpd" and name != VERSION and len(pieces) > 1:
                yield node.lineno, pieces[1]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_follow_the_arrows(path):
    part = part_of(path)
    assert part in ALLOWED, f"{part} has no row in docs/architecture.md: say what it may import"
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports ahpd.{imported}"
        for line, imported in imported_parts(path)
        if imported != part and imported not in ALLOWED[part]
    ]
    assert not wrong, "\n".join(wrong)


def test_the_page_names_no_part_and_no_import_that_is_not_there():
    imported = {}
    for path in modules():
        part = part_of(path)
        imported.setdefault(part, set()).update(name for _, name in imported_parts(path))
    assert imported.keys() == ALLOWED.keys()
    unused = {part: names - imported[part] for part, names in ALLOWED.items()}
    assert not {part: names for part, names in unused.items() if names}


def test_the_global_reactor_is_known_to_the_command_line_alone():
    for path in modules():
        if part_of(path) in {"cli", "tap", "__main__", "daemon"}:
            continue
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                assert not (
                    node.module == "twisted.internet"
                    and any(alias.name == "reactor" for alias in node.names)
                ), f"{path.relative_to(ROOT)}:{node.lineno} imports the global reactor"


def test_autobahn_is_imported_by_the_websocket_transports_alone():
    for path in modules():
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            module = getattr(node, "module", None) or ""
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            names = [alias.name for alias in node.names] + [module]
            if any(name.split(".")[0] == "autobahn" for name in names if name):
                assert part_of(path) == "transports", f"{path} imports autobahn"


#: What a plugin may import of the host, and what its tests may beside that.
PLUGINS_MAY = {"interfaces", "agents", "protocol", "wire"}
THEIR_TESTS_MAY = PLUGINS_MAY | {"testing", "processes", "client"}


def plugin_modules():
    return sorted((ROOT / "plugins").rglob("*.py"))


@pytest.mark.parametrize("path", plugin_modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_plugin_imports_what_is_there_for_it(path):
    # A module called `testing` is a plugin's own kit for tests.
    tests = "tests" in path.relative_to(ROOT / "plugins").parts or path.stem == "testing"
    allowed = THEIR_TESTS_MAY if tests else PLUGINS_MAY
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports ahpd.{imported}"
        for line, imported in imported_parts(path)
        if imported not in allowed
    ]
    assert not wrong, "\n".join(wrong)


def test_plugins_know_neither_the_global_reactor_nor_each_other():
    names = {path.name for path in (ROOT / "plugins").glob("*/ahpd_*")}
    for path in plugin_modules():
        itself, *inside = path.relative_to(ROOT / "plugins").parts
        if inside[0] == "tests":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Import | ast.ImportFrom):
                continue
            module = getattr(node, "module", None) or ""
            found = {alias.name for alias in node.names}
            assert not (module == "twisted.internet" and "reactor" in found), path
            others = {name.split(".")[0] for name in (*found, module)} & names
            assert others <= {inside[0]}, f"{path} of {itself} imports {others}"
