"""Plugins for the benches, installed in a folder: each a distribution with a manifest of its own.

A module is as the plugins under plugins/ are: it imports attrs, `ahpd.interfaces`, json and
`twisted.web.resource`, declares a few values and a page, and has a helper beside it. Each registers
a tool, a command, a channel, a route and a closer, and its manifest declares them and two options.
"""

import compileall
from pathlib import Path
from string import Template

_MANIFEST = Template(
    """\
title: Bench $number
description: One of the plugins that the benches load.
categories: [example, bench]
links:
  - title: Where more is written
    url: https://example.org/bench/$number
optionsSchema:
  type: object
  properties:
    interval:
      type: number
      title: Interval
      description: Seconds between two looks.
      minimum: 0.1
      maximum: 3600
      default: 30
    token:
      type: string
      title: Token
      description: What it signs in with.
      secret: true
    folders:
      type: array
      title: Folders
      items: {type: string}
      default: []
contracts:
  tools: [bench${number}_look]
  methods: [x-bench-$number/look]
  channels: [x-bench-$number]
  routes: [page]
  closers: [close]
"""
)

_HELPER = Template(
    '''\
"""What plugin $number holds."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

_MOST: Final = 100


@attrs.frozen(kw_only=True)
class Look:
    """One look at something."""

    name: str
    at: float
    fields: Mapping[str, Any] = attrs.field(factory=dict)

    def state(self) -> dict[str, Any]:
        """The look as a row."""
        return {"id": self.name, "at": self.at, **self.fields}


@attrs.define(eq=False)
class Looks:
    """The newest looks."""

    held: list[Look] = attrs.field(factory=list)

    def add(self, look: Look) -> None:
        """One more; the oldest goes."""
        self.held.append(look)
        del self.held[:-_MOST]

    def __iter__(self) -> Iterator[Look]:
        return iter(self.held)

    def text(self) -> bytes:
        """All of them, for a page."""
        return json.dumps([look.state() for look in self.held]).encode()
'''
)

_PLUGIN = Template(
    '''\
"""Plugin $number of the benches: looks at things, and shows what it saw."""

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs
from twisted.web.resource import Resource

from ahpd.interfaces import Caller, Channel, HostTool, IPluginHost, Method, ToolCallContext
from bench_plugin_$number.helper import Look, Looks

_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")


@attrs.frozen(kw_only=True)
class Settings:
    """The options, read."""

    interval: float
    folders: tuple[str, ...] = ()
    token: str = attrs.field(default="", repr=False)


class Page(Resource):
    """The looks, as JSON."""

    isLeaf = True

    def __init__(self, looks: Looks) -> None:
        super().__init__()
        self._looks = looks

    def render_GET(self, request: Any) -> bytes:
        request.setHeader(b"content-type", b"application/json")
        return self._looks.text()


class Watch:
    """What is shown to clients."""

    def __init__(self, settings: Settings, looks: Looks) -> None:
        self.settings = settings
        self._looks = looks
        self.closed = False

    def snapshot(self, uri: str, caller: Caller) -> Mapping[str, Any]:
        return {"rows": [look.state() for look in self._looks]}

    def look(self, params: Mapping[str, Any], caller: Caller) -> Mapping[str, Any]:
        name = str(params.get("name", ""))
        if _NAME.fullmatch(name) is None:
            raise ValueError("params.name: expected a name")
        self._looks.add(Look(name=name, at=0.0))
        return {"looks": len(list(self._looks))}

    async def run(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        return f"{len(list(self._looks))} looks"

    def close(self) -> None:
        self.closed = True


def apply(host: IPluginHost, options: dict[str, Any]) -> None:
    """Register all of it."""
    settings = Settings(
        interval=options["interval"],
        folders=tuple(options["folders"]),
        token=options.get("token", ""),
    )
    looks = Looks()
    watch = Watch(settings, looks)
    host.register_tool(
        HostTool(
            definition={
                "name": "bench${number}_look",
                "title": "Look",
                "description": "Looks at something.",
                "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
            },
            run=watch.run,
        )
    )
    host.register_method("x-bench-$number/look", Method(grant="", handle=watch.look))
    host.register_channel("x-bench-$number", Channel(grant="bench:read", snapshot=watch.snapshot))
    host.register_route(Page(looks))
    host.register_close(watch.close)
'''
)


def modules(count: int) -> list[str]:
    """The modules of so many plugins, by which their distributions name them."""
    return [f"bench_plugin_{number}.plugin" for number in range(count)]


def sources(count: int) -> list[str]:
    """What a configuration names them by."""
    return [f"bench-plugin-{number}" for number in range(count)]


#: Behind `apply`, where a plugin keeps records and follows them.
_KEEPS = Template(
    """\
    records = host.records("bench-$number")
    host.register_close(records.watch(lambda change: None))
"""
)


def install(folder: Path, count: int, collections: bool = False) -> None:
    """Put `count` plugins into `folder`, compiled, as an installer leaves them.

    With `collections` each opens a collection of records and watches it.
    """
    for number in range(count):
        package = folder / f"bench_plugin_{number}"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text(f'"""Plugin {number} of the benches."""\n')
        for name, text in (
            ("helper.py", _HELPER),
            ("plugin.py", _PLUGIN),
            ("plugin.yaml", _MANIFEST),
        ):
            kept = _KEEPS.template if collections and name == "plugin.py" else ""
            (package / name).write_text(Template(text.template + kept).substitute(number=number))
        _describe(folder, number)
    compileall.compile_dir(folder, quiet=2)


def _describe(folder: Path, number: int) -> None:
    """The metadata of a distribution, as a wheel's."""
    info = folder / f"bench_plugin_{number}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.4\nName: bench-plugin-{number}\nVersion: 1.0\n"
        "Summary: One of the plugins that the benches load\n"
        "Requires-Python: >=3.11\nRequires-Dist: ahpd>=0\nRequires-Dist: attrs>=23\n"
        "Requires-Dist: twisted>=25.5\n\nA plugin.\n"
    )
    (info / "entry_points.txt").write_text(
        f"[ahpd.plugins]\nbench-plugin-{number} = bench_plugin_{number}.plugin\n"
    )
    package = f"bench_plugin_{number}"
    files = [f"{package}/{name}" for name in ("__init__.py", "helper.py", "plugin.py")]
    files += [f"{package}/plugin.yaml"]
    files += [f"{info.name}/{name}" for name in ("METADATA", "entry_points.txt", "RECORD")]
    (info / "RECORD").write_text("".join(f"{name},,\n" for name in files))
