"""The repository's top level, its dependencies, its commands, and what the wheel installs."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent

TOP_LEVEL = {
    "pyproject.toml", "ahpd", "twisted", "tests", "plugins", "docs", "tox.ini", "README.md",
    "CHANGELOG.md", "LICENSE",
}  # fmt: skip


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))
PLUGINS = [
    tomllib.loads(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "plugins").glob("*/pyproject.toml"))
]


def name_of(requirement):
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower()


def tracked():
    """What of the checkout is, or would be, committed."""
    try:
        done = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [Path(line) for line in done.stdout.splitlines() if (ROOT / line).exists()]


def test_the_top_level_holds_what_it_should_and_nothing_else():
    found = {path.parts[0] for path in tracked()}
    assert {name for name in found if not name.startswith(".")} == TOP_LEVEL
    assert ".ci" in found
    assert [path for path in tracked() if path.parts[0] == "twisted"] == [
        Path("twisted/plugins/ahpd_plugin.py")
    ]


def test_pythons_that_are_supported():
    assert PROJECT["project"]["requires-python"] == ">=3.11,<3.14"
    named = {
        entry.rpartition(" ")[2]
        for entry in PROJECT["project"]["classifiers"]
        if entry.startswith("Programming Language :: Python :: ")
    }
    assert named == {"3.11", "3.12", "3.13"}


# -- dependencies -------------------------------------------------------------------


def sections():
    """By heading of docs/dependencies.md: the packages and the cells of their rows."""
    found, heading = {}, None
    for line in read("docs/dependencies.md").splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
            found[heading] = {}
        elif line.startswith("| `"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            found[heading][cells[0].split("`")[1]] = cells
    return found


def of_plugins():
    """What the plugins need beside what ahpd does."""
    own = {"ahpd", *map(name_of, PROJECT["project"]["dependencies"])}
    needed = [one for plugin in PLUGINS for one in plugin["project"]["dependencies"]]
    return [requirement for requirement in needed if name_of(requirement) not in own]


@pytest.mark.parametrize(
    ("heading", "requirements"),
    [
        ("To run", PROJECT["project"]["dependencies"]),
        ("To run the plugins", of_plugins()),
        ("To test", PROJECT["project"]["optional-dependencies"]["test"]),
        ("To check", PROJECT["project"]["optional-dependencies"]["lint"]),
    ],
)
def test_each_dependency_is_explained_and_nothing_else_is(heading, requirements):
    rows = sections()[heading]
    assert set(rows) == {name_of(requirement) for requirement in requirements}
    for cells in rows.values():
        assert len(cells) == 3
        assert all(len(cell) > 5 for cell in cells)


def test_each_dependency_is_pinned_to_a_range():
    extras = PROJECT["project"]["optional-dependencies"].values()
    for requirement in [
        *PROJECT["project"]["dependencies"],
        *(one for many in extras for one in many),
        *(one for plugin in PLUGINS for one in plugin["project"]["dependencies"]),
    ]:
        assert re.search(r">=[\d.]+,<[\d.]+$", requirement), requirement


def test_tox_has_the_linter_the_package_names():
    (ruff,) = [
        one for one in PROJECT["project"]["optional-dependencies"]["lint"] if name_of(one) == "ruff"
    ]
    assert f"deps = {ruff}\n" in read("tox.ini")


# -- commands -----------------------------------------------------------------------


def shell_commands():
    """The README's shell blocks, one command each."""
    return re.findall(r"```sh\n(.*?)\n```", read("README.md"), re.DOTALL)


def test_the_readme_has_commands_that_set_themselves_up():
    demo, agents, plugin, tests = shell_commands()
    for command in (demo, tests):
        assert "\n" not in command
        assert command.startswith("python3 -m venv ")
    folders = sorted(path.parent.name for path in (ROOT / "plugins").glob("*/pyproject.toml"))
    for name, project in zip(folders, PLUGINS, strict=True):
        if "ahpd.engines" in project["project"].get("entry-points", {}):
            assert f"./plugins/{name} " in agents
    assert re.search(r"ahpd plugin install \./plugins/(\S+) ", plugin)[1] in folders
    assert agents.endswith("ahpd configure")
    assert demo.endswith("ahpd demo")
    assert tests.endswith("/tox")


def test_ci_runs_the_readmes_test_command():
    script = ROOT / ".ci" / "run"
    assert script.stat().st_mode & 0o111
    assert shell_commands()[-1] in read(".ci/run").splitlines()


def test_tox_keeps_what_takes_long_out_of_its_default():
    text = read("tox.ini")
    assert re.search(r"^env_list = lint, types, py3$", text, re.MULTILINE)
    for name in ("bench", "long", "agents"):
        assert f"[testenv:{name}]" in text


def test_each_plugin_is_installed_checked_tested_and_listed():
    install = read("tox.ini").partition("\n[plugins]\n")[2].partition("\n[")[0].split()
    plugins = sorted(path.parent for path in (ROOT / "plugins").glob("*/pyproject.toml"))
    assert plugins
    for plugin in plugins:
        where = f"plugins/{plugin.name}"
        (package,) = (path.name for path in plugin.glob("ahpd_*") if path.is_dir())
        assert f"./{where}" in install
        assert where in PROJECT["tool"]["ruff"]["src"]
        assert f"{where}/{package}" in PROJECT["tool"]["mypy"]["files"]
        assert f"{where}/tests" in PROJECT["tool"]["pytest"]["ini_options"]["testpaths"]
        assert f"({plugin.name}/README.md)" in read("plugins/README.md")


def test_the_readmes_first_screen_says_how_to_connect():
    first = read("README.md").partition("## State of it")[0]
    assert len(first.splitlines()) < 110
    for words in (
        "Agent Host",
        "ahpd demo",
        '"chat.remoteAgentHostsEnabled": true',
        '"chat.remoteAgentHosts"',
        '"address"',
        '"name"',
        '"connectionToken"',
        "?tkn=",
        "Authorization: Bearer",
    ):
        assert words in first


def test_links_in_the_documents_lead_somewhere():
    broken = []
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "plugins").rglob("README.md")]
    for path in [ROOT / "README.md", ROOT / "CHANGELOG.md", *pages]:
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", path.read_text(encoding="utf-8")):
            if "://" not in target and not (path.parent / target).exists():
                broken.append(f"{path.relative_to(ROOT)}: {target}")
    assert not broken


def test_news_fragments_are_named_for_an_issue_and_a_kind():
    for path in (ROOT / "docs" / "changes").iterdir():
        if path.name != "README.md":
            assert re.fullmatch(r"\d+\.(feature|fix|change|removal)(\.\d+)?\.md", path.name)
            assert path.read_text(encoding="utf-8").strip()


def test_the_licence_is_mit():
    assert read("LICENSE").startswith("MIT License\n\nCopyright (c) 2026 ahpd contributors\n")
    assert PROJECT["project"]["license"] == "MIT"


# -- what is installed ----------------------------------------------------------------


@pytest.fixture(scope="module")
def installed():
    """The files of the installed wheel; skips where it is a checkout that runs."""
    try:
        found = distribution("ahpd")
    except PackageNotFoundError:
        pytest.skip("ahpd is not installed: its source tree runs")
    files = {str(file) for file in found.files or ()}
    if "ahpd/__init__.py" not in files:
        pytest.skip("ahpd is installed from a checkout, in place")
    return files


def test_the_wheel_puts_the_plugin_where_twistd_finds_it(installed):
    assert "twisted/plugins/ahpd_plugin.py" in installed
    assert "twisted/plugins/__init__.py" not in installed
    assert "twisted/__init__.py" not in installed


def test_the_wheel_holds_the_whole_package_and_no_tests(installed):
    sources = {str(path) for path in tracked() if path.parts[0] == "ahpd"}
    assert sources <= installed
    assert "ahpd/py.typed" in installed
    assert not [name for name in installed if name.startswith(("tests/", "docs/"))]


def test_the_plugin_is_found_once():
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "from twisted.plugin import getPlugins\n"
            "from twisted.application.service import IServiceMaker\n"
            "print([p.module for p in getPlugins(IServiceMaker) if p.tapname == 'ahpd'])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "['ahpd.tap']\n"
