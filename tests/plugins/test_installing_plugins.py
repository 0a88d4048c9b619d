"""The plugin root, and what is installed into it: real pip, wheels made here, no network."""

import base64
import fcntl
import json
import netrc
import os
import stat
import tarfile
import zipfile
from importlib.metadata import version as version_of
from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.defer import Deferred, gatherResults

import ahpd
from ahpd.plugins.failures import InstallFailure, last_words
from ahpd.plugins.installing import Installed, Installer, Updated
from ahpd.plugins.root import PluginRoot, host_folders
from ahpd.testing.planted import check_silent, kept_leaks, planted
from tests.plugins.wheel_making import Runs, make_wheel, offline

ATTRS = version_of("attrs")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One root for all of this: making it takes a second."""
    folder = tmp_path_factory.mktemp("root")
    runs = Runs()
    wheels = folder / "wheels"
    wheels.mkdir()
    root = PluginRoot.of(folder / "config", runs, offline(wheels, folder))
    return root, wheels, runs


@pytest.fixture
def root(made):
    return made[0]


@pytest.fixture
def wheels(made):
    return made[1]


@pytest.fixture
def runs(made):
    made[2].commands.clear()
    return made[2]


@pytest.fixture
def installer(root):
    return Installer(root, ahpd.__version__)


def names_in(root):
    return {path.name for path in root.site_packages.glob("*.dist-info")}


def ran(runs, command):
    return [argv for argv in runs.commands if command in argv]


@ensureDeferred
async def test_a_name_is_installed_with_what_it_needs(root, wheels, installer, runs, tmp_path):
    make_wheel(wheels, "h2-needed", "2.0")
    make_wheel(
        wheels, "h2-plain", requires=["h2-needed>=1", "attrs", "ahpd>=0.1"], points=["plain"]
    )
    installed = await installer.install("h2-plain", tmp_path)
    assert installed == Installed(distribution="h2-plain", version="1.0", ids=("plain",))
    assert {"h2_plain-1.0.dist-info", "h2_needed-2.0.dist-info"} <= names_in(root)
    # What the host has is used, and not installed again.
    assert not [name for name in names_in(root) if name.startswith(("attrs", "ahpd"))]
    assert installer.distribution("H2_Plain") == installed
    assert stat.S_IMODE(root.folder.stat().st_mode) == 0o700
    for argv in runs.commands:
        if "pip" in argv:
            assert argv[0] == str(root.python)
            assert {"--no-input", "--disable-pip-version-check"} <= set(argv)
            assert "--" in argv
            assert "-r" not in argv
    code = "import attr, h2_plain, ahpd; print(h2_plain.VERSION)"
    said = await runs([root.python, "-P", "-c", code], root.environ, tmp_path)
    assert said == (0, "1.0\n")


@ensureDeferred
async def test_no_second_version_of_what_the_host_has_is_installed(
    root, wheels, installer, tmp_path
):
    make_wheel(wheels, "attrs", "1.0")
    make_wheel(wheels, "h2-old-attrs", requires=["attrs<2"], points=["oldattrs"])
    with pytest.raises(InstallFailure) as caught:
        await installer.install("h2-old-attrs", tmp_path)
    assert "h2-old-attrs 1.0 depends on attrs<2" in str(caught.value)
    assert f"attrs=={ATTRS}" in str(caught.value)
    with pytest.raises(InstallFailure):
        await installer.install(str(wheels / "h2_old_attrs-1.0-py3-none-any.whl"), tmp_path)
    assert not [name for name in names_in(root) if name.startswith(("attrs", "h2_old"))]
    (wheels / "attrs-1.0-py3-none-any.whl").unlink()


@ensureDeferred
async def test_what_is_no_plugin_is_refused_before_anything_is_installed(
    root, wheels, installer, runs, tmp_path
):
    make_wheel(wheels, "h2-no-plugin", requires=["h2-its-need"])
    make_wheel(wheels, "h2-its-need")
    for source in ("h2-no-plugin", str(wheels / "h2_no_plugin-1.0-py3-none-any.whl")):
        runs.commands.clear()
        with pytest.raises(InstallFailure) as caught:
            await installer.install(source, tmp_path)
        assert str(caught.value) == (
            "h2-no-plugin 1.0 is no plugin: it has no entry point in the group ahpd.plugins"
        )
        assert all("--dry-run" in argv for argv in ran(runs, "install"))
    assert not {"h2_no_plugin-1.0.dist-info", "h2_its_need-1.0.dist-info"} & names_in(root)


@ensureDeferred
async def test_the_newest_version_that_admits_this_host_is_taken(root, wheels, installer, tmp_path):
    make_wheel(wheels, "h2-ranged", "1.0", requires=["ahpd<1"], points=["ranged"])
    make_wheel(wheels, "h2-ranged", "1.1", requires=["ahpd<1"], points=["ranged"])
    make_wheel(wheels, "h2-ranged", "2.0", requires=["ahpd>=7"], points=["ranged"])
    assert (await installer.install("h2-ranged", tmp_path)).version == "1.1"
    assert (await installer.install("h2-ranged==1.0", tmp_path)).version == "1.0"
    assert await installer.update("h2-ranged") == Updated(before="1.0", after="1.1", moved=True)
    assert await installer.update("h2-ranged") == Updated(before="1.1", after="1.1", moved=False)
    with pytest.raises(InstallFailure, match="depends on ahpd>=7"):
        await installer.install("h2-ranged==2.0", tmp_path)
    with pytest.raises(InstallFailure) as caught:
        await installer.install(str(wheels / "h2_ranged-2.0-py3-none-any.whl"), tmp_path)
    assert str(caught.value) == (
        f"h2-ranged 2.0 needs ahpd >=7, and this is ahpd {ahpd.__version__}"
    )
    assert installer.distribution("h2-ranged").version == "1.1"


@ensureDeferred
async def test_a_wheel_of_the_same_version_replaces_what_is_installed(root, installer, tmp_path):
    wheel = make_wheel(tmp_path, "h2-again", points=["again"], files={"h2_again/a.py": "A = 1\n"})
    await installer.install(f"./{wheel.name}", tmp_path)
    make_wheel(tmp_path, "h2-again", points=["again", "more"], files={"h2_again/a.py": "A = 2\n"})
    assert (await installer.install(str(wheel), tmp_path)).ids == ("again", "more")
    assert (root.site_packages / "h2_again" / "a.py").read_text() == "A = 2\n"


@ensureDeferred
async def test_an_update_asks_where_it_came_from_and_no_index(root, wheels, installer, tmp_path):
    wheel = make_wheel(tmp_path, "h2-origin", "1.0", points=["origin"])
    await installer.install(str(wheel), tmp_path)
    # Somebody else's, under the same name in the index.
    make_wheel(wheels, "h2-origin", "9.0", points=["origin"])
    assert await installer.update("h2-origin") == Updated(before="1.0", after="1.0", moved=False)
    files = {"h2_origin/more.py": ""}
    make_wheel(tmp_path, "h2-origin", "1.0", points=["origin"], files=files)
    assert await installer.update("h2-origin") == Updated(before="1.0", after="1.0", moved=True)
    assert await installer.remove("h2-origin")
    assert installer.distribution("h2-origin") is None
    assert (await installer.install("h2-origin", tmp_path)).version == "9.0"
    make_wheel(wheels, "h2-origin", "9.1", points=["origin"])
    assert await installer.update("h2-origin") == Updated(before="9.0", after="9.1", moved=True)


@ensureDeferred
async def test_a_folder_is_built_and_installed(root, wheels, tmp_path):
    project = tmp_path / "project"
    (project / "h2_folder").mkdir(parents=True)
    (project / "h2_folder" / "__init__.py").write_text("")
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n'
        '[project]\nname = "h2-folder"\nversion = "3.0"\n'
        '[project.entry-points."ahpd.plugins"]\nfolder = "h2_folder"\n'
    )
    # Without the isolation that would fetch hatchling: this environment has it.
    unisolated = {**root.environ, "PIP_NO_BUILD_ISOLATION": "0"}
    installer = Installer(PluginRoot(root.folder, root.run, unisolated), ahpd.__version__)
    installed = await installer.install("project/", tmp_path)
    assert installed == Installed(distribution="h2-folder", version="3.0", ids=("folder",))
    assert not (project / "build").exists()


@ensureDeferred
async def test_what_came_with_the_host_stays_as_it_is(root, installer, runs, tmp_path):
    with pytest.raises(InstallFailure, match=r"attrs .* is no plugin"):
        await installer.install("attrs", tmp_path)
    make_wheel(tmp_path, "attrs", "1.0", points=["attrs"])
    with pytest.raises(InstallFailure, match=f"attrs {ATTRS} came with this program"):
        await installer.install("./attrs-1.0-py3-none-any.whl", tmp_path)
    with pytest.raises(InstallFailure, match="attrs came with this program, and stays"):
        await installer.update("attrs")
    with pytest.raises(InstallFailure, match="h2-nowhere is not installed in"):
        await installer.update("h2-nowhere")
    assert not await installer.remove("attrs")
    assert not await installer.remove("h2-nowhere")
    assert not ran(runs, "uninstall")


@ensureDeferred
async def test_a_plugin_of_the_hosts_own_environment_is_named_without_pip(made, runs, tmp_path):
    root = made[0]
    theirs = tmp_path / "theirs"
    make_wheel(tmp_path, "h2-comes-along", points=["comes"])
    with zipfile.ZipFile(tmp_path / "h2_comes_along-1.0-py3-none-any.whl") as wheel:
        wheel.extractall(theirs)
    host = [*host_folders(), str(theirs)]
    installer = Installer(PluginRoot(root.folder, runs, root.environ, host=host), "1.0")
    assert (await installer.install("h2-comes-along", tmp_path)).ids == ("comes",)
    assert not [argv for argv in runs.commands if "pip" in argv]


@ensureDeferred
async def test_pips_own_reason_is_said(installer, tmp_path):
    with pytest.raises(InstallFailure) as caught:
        await installer.install("h2-there-is-none", tmp_path)
    assert str(caught.value) == "No matching distribution found for h2-there-is-none"
    (tmp_path / "broken.whl").write_bytes(b"no zip")
    with pytest.raises(InstallFailure, match="broken"):
        await installer.install("./broken.whl", tmp_path)


def test_the_reason_is_the_last_error_with_what_conflicts():
    assert last_words("x\nERROR: one\nERROR: two\nnote\n") == "two"
    assert last_words("a\nb\n") == "b"
    assert last_words("") == "it ended without a word"
    conflict = (
        "ERROR: Cannot install a because of conflicts.\n\nThe conflict is caused by:\n"
        "    a 1 depends on b<2\n    The user requested (constraint) b==3\n\n"
        "To fix this you could try to:\n1. loosen\n\nERROR: ResolutionImpossible: see https://x\n"
    )
    assert last_words(conflict) == (
        "Cannot install a because of conflicts. (a 1 depends on b<2; The user requested "
        "(constraint) b==3)"
    )


def content_of(path):
    """What a file holds, and its mode."""
    return Path(path).read_text(), stat.S_IMODE(Path(path).stat().st_mode)


PASSWORD = planted("the password of an address")


@pytest.mark.parametrize(
    "source",
    [
        f"http://me:{PASSWORD}@x/y.whl",
        f"https://me:{PASSWORD}@x/y.whl",
        f"https://{PASSWORD}@x/y.whl",
        f"https://me:a@b{PASSWORD}@x:8443/y.whl",
        f"git+https://me:{PASSWORD}@x/y",
        f"git+https://me:{PASSWORD}@x:no/y",
        f"git+ssh://me:{PASSWORD}@x/y",
        f"https://x/y.whl?token={PASSWORD}",
        f"https://x/y?api_key={PASSWORD}",
    ],
    ids=range(9),
)
@ensureDeferred
async def test_a_credential_in_an_address_is_not_repeated(root, tmp_path, source):
    async def run(argv, environ, directory):
        return 1, f"ERROR: cannot fetch {argv[-1]}, that is {source}\n"

    installer = Installer(PluginRoot(root.folder, run, root.environ), "1.0")
    with pytest.raises(InstallFailure) as caught:
        await installer.install(source, tmp_path)
    assert "<set>" in str(caught.value)
    check_silent(str(caught.value), "what is said of an address")


@pytest.mark.parametrize(
    ("source", "address", "signs_in"),
    [
        (f"https://me:{PASSWORD}@x/y-1.whl", "https://x/y-1.whl", "netrc"),
        (f"https://me:%22a%5Cb@{PASSWORD}@x:8443/y-1.whl", "https://x:8443/y-1.whl", "netrc"),
        (f"git+https://me:{PASSWORD}@x:8443/a/b@v1", "git+https://x:8443/a/b@v1", "git"),
        (f"https://x/y-1.whl?sig={PASSWORD}${{HOME}}", None, None),
    ],
    ids=["an archive", "odd letters", "a repository", "a signed address"],
)
@ensureDeferred
async def test_what_signs_in_at_an_address_is_handed_on_beside_it(
    root, tmp_path, source, address, signs_in
):
    """Arguments of a program are every user's to read, and what is noted stays for good."""
    address, read = address or source, {}

    async def run(argv, environ, directory):
        if "wheel" not in argv:
            return 0, ""
        read.update(argv=argv, environ=environ)
        read["said"], read["file"] = content_of(argv[-1])
        if "NETRC" in environ:
            read["mode"] = content_of(environ["NETRC"])[1]
            read["netrc"] = netrc.netrc(environ["NETRC"]).authenticators("x")
        make_wheel(Path(argv[argv.index("--wheel-dir") + 1]), "h2-signed-in", "1.0", points=["a"])
        return 0, ""

    await root.make()
    with_git = {**root.environ, "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "user.name"}
    installer = Installer(PluginRoot(root.folder, run, with_git), ahpd.__version__)
    with pytest.raises(InstallFailure, match="pip installed h2-signed-in, and it is not in"):
        await installer.install(source, tmp_path)
    assert (read["argv"][-2], read["file"]) == ("--requirement", 0o600)
    assert read["said"] == f"{address}\n".replace("$", "%24")
    check_silent(" ".join(read["argv"]), "the arguments of pip")
    if signs_in == "netrc":
        assert read["mode"] == 0o600
        assert read["netrc"][0] == "me"
        assert PASSWORD in read["netrc"][2]
    elif signs_in == "git":
        environ = read["environ"]
        assert (environ["GIT_CONFIG_COUNT"], environ["GIT_CONFIG_KEY_0"]) == ("2", "user.name")
        assert environ["GIT_CONFIG_KEY_1"] == "http.https://x:8443/.extraHeader"
        basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
        assert environ["GIT_CONFIG_VALUE_1"] == f"Authorization: Basic {basic}"
    assert kept_leaks(root.folder) == []
    noted = json.loads((root.folder / "origins.json").read_text())["h2-signed-in"]
    assert noted == address.partition("?")[0]


REFUSED = [
    "", "  ", "-r", "--index-url=http://x", " -e", "a\nb", "a\tb\x00", "a\u2028b", "a b", "a; b",
    'a; python_version > "3"', "a @ https://x/y.whl", "http://x/y.tar.gz", "file:///tmp/x.whl",
    "ftp://x/y.whl", "https://x/y", "git+http://x/y", "git+https://-x/y", "git+ssh://h/r@--upload",
    "git+https:", "npm:x", "github:x", "github:-x/y", "./not-there", "/etc", "/etc/passwd",
    "./plugin.py", 3, None,
]  # fmt: skip


@pytest.mark.parametrize("source", REFUSED, ids=repr)
@ensureDeferred
async def test_what_cannot_be_a_source_is_refused_before_pip_runs(root, runs, tmp_path, source):
    (tmp_path / "plugin.py").write_text("")
    installer = Installer(root, "1.0")
    with pytest.raises(InstallFailure) as caught:
        await installer.install(source, tmp_path)
    assert caught.value.asked
    assert "\n" not in str(caught.value)
    assert not runs.commands


@pytest.mark.parametrize(
    ("source", "given"),
    [
        ("git+https://example.org/a/b@v1", "git+https://example.org/a/b@v1"),
        ("git+ssh://git@example.org/a/b.git", "git+ssh://git@example.org/a/b.git"),
        ("github:a/b", "git+https://github.com/a/b"),
        ("github:a/b#v1/x", "git+https://github.com/a/b@v1/x"),
        ("https://example.org/a-1.tar.gz", "https://example.org/a-1.tar.gz"),
    ],
)
@ensureDeferred
async def test_an_address_goes_to_pip_in_a_file_and_as_no_argument(root, tmp_path, source, given):
    asked = []

    async def run(argv, environ, directory):
        asked.append((argv[-2], content_of(argv[-1])[0]))
        return 1, "ERROR: no network\n"

    installer = Installer(PluginRoot(root.folder, run, root.environ), "1.0")
    with pytest.raises(InstallFailure, match="no network"):
        await installer.install(source, tmp_path)
    assert asked == [("--requirement", f"{given}\n")]


@pytest.mark.parametrize("name", ["-y", "", "a==1", "./a", "https://x/y.whl", "a[b]", None])
@ensureDeferred
async def test_only_a_name_is_removed_or_updated(installer, runs, name):
    for change in (installer.remove, installer.update):
        with pytest.raises(InstallFailure) as caught:
            await change(name)
        assert caught.value.asked
    assert not runs.commands


@ensureDeferred
async def test_settings_that_would_install_elsewhere_are_not_passed_on(root, tmp_path):
    seen = []

    async def run(argv, environ, directory):
        seen.append((dict(environ), directory))
        return 1, ""

    environ = {**root.environ, "PIP_TARGET": "/x", "PIP_USER": "1", "PYTHONHOME": "/y", "A": "b"}
    with pytest.raises(InstallFailure):
        await Installer(PluginRoot(root.folder, run, environ), "1.0").install("h2-x", tmp_path)
    ((passed, directory),) = seen
    assert {"PIP_TARGET", "PYTHONHOME"}.isdisjoint(passed)
    assert (passed["PIP_USER"], passed["A"], directory) == ("0", "b", root.folder)


@ensureDeferred
async def test_one_at_a_time(root, tmp_path):
    running, order = [], []

    async def run(argv, environ, directory):
        order.append(argv[-1])
        waits = Deferred()
        running.append(waits)
        await waits
        return 1, "ERROR: no\n"

    installer = Installer(PluginRoot(root.folder, run, root.environ), "1.0")
    asked = [
        Deferred.fromCoroutine(installer.install(name, tmp_path)).addErrback(lambda _: None)
        for name in ("h2-a", "h2-b")
    ]
    assert order == ["h2-a"]
    running[0].callback(None)
    assert order == ["h2-a", "h2-b"]
    running[1].callback(None)
    await gatherResults(asked)


@ensureDeferred
async def test_another_process_that_installs_is_not_waited_for(root, installer, runs, tmp_path):
    descriptor = os.open(root.folder / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        with pytest.raises(InstallFailure, match="another ahpd is installing plugins"):
            await installer.install("h2-plain", tmp_path)
    finally:
        os.close(descriptor)
    assert not runs.commands


@ensureDeferred
async def test_what_was_fetched_is_gone_afterwards(root, installer, tmp_path):
    with pytest.raises(InstallFailure):
        await installer.install("h2-there-is-none", tmp_path)
    assert not list(root.folder.glob(".fetch-*"))


@ensureDeferred
async def test_a_root_that_cannot_be_made_says_why(tmp_path):
    async def run(argv, environ, directory):
        return 1, "Error: no space\n"

    installer = Installer(PluginRoot.of(tmp_path, run, {}), "1.0")
    with pytest.raises(InstallFailure) as caught:
        await installer.install("h2-x", tmp_path)
    assert str(caught.value) == (
        f"the plugin root {tmp_path / 'plugin-root'} cannot be made: Error: no space"
    )


@ensureDeferred
async def test_a_root_of_another_interpreter_is_made_for_this_one(tmp_path, runs):
    root = PluginRoot.of(tmp_path, runs, offline(tmp_path, tmp_path))
    root.folder.mkdir()
    (root.folder / "pyvenv.cfg").write_text("version = 3.1\n")
    (root.folder / "lib" / "python3.1").mkdir(parents=True)
    assert not root.is_made
    await root.make()
    assert root.is_made
    assert len([argv for argv in runs.commands if "venv" in argv]) == 1
    await root.make()
    assert len([argv for argv in runs.commands if "venv" in argv]) == 1


@ensureDeferred
async def test_pip_is_put_into_the_root_where_the_host_has_none_that_will_do(tmp_path):
    asked = []

    async def run(argv, environ, directory):
        asked.append(list(argv))
        return 1, "no more is needed here\n"

    for number, version in enumerate([None, "22.3.1", "23.0"]):
        site = tmp_path / f"site{number}"
        site.mkdir()
        if version is not None:
            (site / f"pip-{version}.dist-info").mkdir()
            (site / f"pip-{version}.dist-info" / "METADATA").write_text(
                f"Metadata-Version: 2.1\nName: pip\nVersion: {version}\n"
            )
        with pytest.raises(InstallFailure):
            await PluginRoot(tmp_path / str(number), run, {}, host=[str(site)]).make()
    assert ["--without-pip" in argv for argv in asked] == [False, False, True]


@ensureDeferred
async def test_pip_is_held_to_every_version_the_host_has(root, tmp_path):
    for name in ("a_b-1.0+local.1.dist-info", "C.D-2.dist-info", "other.egg-info", "x.dist-info"):
        (tmp_path / "one" / name).mkdir(parents=True)
    (tmp_path / "two" / "a.b-3.dist-info").mkdir(parents=True)
    await root.make()
    host = [str(tmp_path / "one"), str(tmp_path / "two")]
    held = PluginRoot(root.folder, root.run, {}, host=host).constraints()
    assert held.read_text() == "a-b==1.0+local.1\nc-d==2\n"
    assert f"attrs=={ATTRS}\n" in root.constraints().read_text()


def test_the_roots_own_packages_are_not_the_hosts(tmp_path):
    (tmp_path / "plugin-root" / "site" / "a-1.dist-info").mkdir(parents=True)
    (tmp_path / "other" / "a-1.dist-info").mkdir(parents=True)
    (tmp_path / "bare").mkdir()
    path = [
        "",
        str(tmp_path / "plugin-root" / "site"),
        str(tmp_path / "other"),
        str(tmp_path / "bare"),
    ]
    assert host_folders(path) == [str(tmp_path / "other")]


# -- host.install -----------------------------------------------------------------------


@ensureDeferred
async def test_a_plugin_installs_packages_into_a_folder_of_its_own(
    root, wheels, installer, tmp_path
):
    make_wheel(wheels, "h2-tool", "1.0")
    make_wheel(wheels, "h2-tool", "1.2")
    folder = tmp_path / "installed"
    assert await installer.install_into(folder, "h2-tool < 1.2") == {"version": "1.0"}
    assert await installer.install_into(folder, "h2-tool") == {"version": "1.2"}
    assert "1.2" in (folder / "h2_tool" / "__init__.py").read_text()
    assert installer.distribution("h2-tool") is None
    answer = await installer.install_into(folder, "h2-no-such-tool")
    assert answer == {"error": "No matching distribution found for h2-no-such-tool"}


@ensureDeferred
async def test_nothing_of_a_package_runs_by_being_installed_for_a_plugin(
    wheels, installer, runs, tmp_path
):
    folder = tmp_path / "installed"
    wheel = make_wheel(wheels, "h2-tool", "1.0")
    assert await installer.install_into(folder, str(wheel)) == {"version": "1.0"}
    ran = tmp_path / "ran"
    tree = tmp_path / "h2-built"
    tree.mkdir()
    (tree / "setup.py").write_text(f"open({str(ran)!r}, 'w')\n")
    with tarfile.open(wheels / "h2-built-1.0.tar.gz", "w:gz") as archive:
        archive.add(tree, "h2-built-1.0")
    before = len(runs.commands)
    for source in (str(tree), "https://x.example/h2-1.0.tar.gz", "git+https://x.example/y"):
        answer = await installer.install_into(folder, source)
        assert "is no wheel" in answer["error"]
    assert len(runs.commands) == before
    answer = await installer.install_into(folder, "h2-built")
    assert answer == {"error": "No matching distribution found for h2-built"}
    assert not ran.exists()


@pytest.mark.parametrize(
    "requirement", ["-t /", "a b", "a 'b'", 'a"', "a%b", "a`b`", "$HOME", "", "a\nb", None]
)
@ensureDeferred
async def test_a_requirement_that_says_more_is_refused(installer, runs, tmp_path, requirement):
    answer = await installer.install_into(tmp_path / "x", requirement)
    assert set(answer) == {"error"}
    assert not runs.commands


@ensureDeferred
async def test_a_report_that_cannot_be_read_is_an_error(root, tmp_path):
    def report(argv):
        Path(argv[argv.index("--report") + 1]).write_text(json.dumps({"install": 3}))

    async def run(argv, environ, directory):
        report(argv)
        return 0, ""

    installer = Installer(PluginRoot(root.folder, run, root.environ), "1.0")
    assert await installer.install_into(tmp_path / "x", "h2-x") == {
        "error": "pip's report cannot be read"
    }
