"""Plugins written for a test: distributions as pip leaves them, source trees, files and folders."""

import json
import textwrap
from pathlib import Path

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.finding import Finder
from ahpd.plugins.found import Found

APPLY = "def apply(host, options):\n    pass\n"


def write(folder, files):
    """Write `files` (text by relative path) and answer the folder."""
    for name, text in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text), encoding="utf-8")
    return Path(folder)


def manifest(**keys):
    """The text of a manifest; JSON is YAML."""
    return json.dumps(keys)


def install(site, name, points, files, *, version="1.0", requires=(), lists_files=True):
    """Have `site` hold a distribution: its entry points (module by name) and its files."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    wanted = "".join(f"Requires-Dist: {one}\n" for one in requires)
    write(site, files)
    write(
        site,
        {f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wanted}"},
    )
    if points:
        lines = [f"{point} = {module}\n" for point, module in points.items()]
        write(site, {f"{info}/entry_points.txt": "[ahpd.plugins]\n" + "".join(lines)})
    if lists_files:
        listed = [*files, f"{info}/METADATA", f"{info}/entry_points.txt", f"{info}/RECORD"]
        write(site, {f"{info}/RECORD": "".join(f"{one},,\n" for one in listed)})
    return site


def install_editable(site, name, points, project, root, *, version="1.0", pth=True):
    """Have `site` hold an editable installation of `project`, whose packages are in `root`."""
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    files = {f"_editable_impl_{name.replace('-', '_')}.pth": f"{root}\n"} if pth else {}
    install(site, name, points, files, version=version)
    said = {"url": project.as_uri(), "dir_info": {"editable": True}}
    return write(site, {f"{info}/direct_url.json": json.dumps(said)})


def finder(tmp_path, *, site=(), version="0.1.0", **more):
    """A finder whose directories are `here` and `config` in `tmp_path`."""
    return Finder(
        working_directory=tmp_path / "here",
        config_dir=tmp_path / "config",
        version=version,
        site=site,
        **more,
    )


def entry(source, **keys):
    """The entry of a configuration that names `source`."""
    return PluginEntry(source=str(source), **keys)


def found_as(named, said):
    """What an entry was found as, of a plugin that is nowhere."""
    nowhere = Path("/nowhere")
    return Found(
        entry=named,
        id=said.id,
        manifest=said,
        kind="standalone",
        module=said.id,
        file=nowhere / "plugin.py",
        folder=nowhere,
        root=nowhere,
    )
