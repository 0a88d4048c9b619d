"""The commands of `x-ahpd-plugins`: what changes the list, and what reads back a written plugin.

Each that changes the list writes the configuration file first and then has the daemon be what it
says; where a plugin holds what the host is built over, the answer says `restart: true` and the
next start does it. Source: PLUGINS.txt, `x-ahpd-plugins`, "Installing a plugin", "Writing a plugin
in a client".
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import attrs

from ahpd.config.errors import ConfigError
from ahpd.config.plugin_flags import FLAG
from ahpd.config.plugins import PluginEntry
from ahpd.config.plugins_file import PluginsFile
from ahpd.interfaces import PluginError, RpcError
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.installing import Installer
from ahpd.plugins.live import Plugins
from ahpd.plugins.named import Named
from ahpd.plugins.option_references import of_a_record, references_in, refusal
from ahpd.plugins.options import of_keys
from ahpd.plugins.states import row_of
from ahpd.plugins.takers import Outcome
from ahpd.plugins.taking_out import take_out
from ahpd.plugins.written import WrittenPlugins
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error, invalid_params
from ahpd.schemas import Misfit, check_value, hidden, is_reference, restored, sent_back


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PluginCommands:
    """See the module. `entries()` reads the configuration anew, with what flags said of it.

    `mark_restart` is called when a change waits for the next start, `moved` behind every change.
    """

    plugins: Plugins
    named: Callable[[], Mapping[str, Named]]
    file: PluginsFile
    entries: Callable[[], Sequence[PluginEntry]]
    installer: Installer
    base: Path
    """What a path a client names is relative to."""
    written: WrittenPlugins
    mark_restart: Callable[[], None]
    moved: Callable[[], None]

    async def answer(self, name: str, params: Mapping[str, Any]) -> State:
        """The answer to the command `name`; what goes wrong is the error a client is told."""
        handlers: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[State]]] = {
            "install": self._install,
            "remove": self._remove,
            "update": self._update,
            "write": self._write,
            "source": self._source,
            "enable": lambda params: self._switch(params, True),
            "disable": lambda params: self._switch(params, False),
            "options": self._option,
            "apply": self._apply,
            "reload": self._reload,
        }
        with _in_words():
            return await handlers[name](params)

    # -- installing --------------------------------------------------------------------

    async def _install(self, params: Mapping[str, Any]) -> State:
        source = _text(params, "source")
        installed = await self.installer.install(source, self.base)
        # A distribution of several plugins is named by each of them.
        several = len(installed.ids) > 1
        sources = installed.ids if several else (installed.distribution,)
        added = [self.file.add(each) for each in sources]
        outcome = await self._changed()
        theirs = [
            plugin
            for plugin, named in self.named().items()
            if named.entry.source in sources or named.entry.listed_as in sources
        ]
        if not any(added):
            # It was listed already, and what is installed now may be another version.
            outcome = await self._again(theirs)
        answer = self._answer(theirs[0] if theirs else installed.distribution, outcome, theirs)
        return {**answer, **({"ids": theirs} if len(theirs) > 1 else {})}

    async def _remove(self, params: Mapping[str, Any]) -> State:
        plugin, keep = _text(params, "id"), params.get("keep", False)
        if not isinstance(keep, bool):
            raise invalid_params("params.keep: expected true or false")
        named = self._known(plugin)
        self.file.remove(self._own(named))
        outcome = await self._changed()
        stays = None
        if not keep:
            others = map(row_of, (one.result for one in self.named().values()))
            _, stays = await take_out(row_of(named.result), others, self.installer, self.written)
        answer, now = self._answer(plugin, outcome), self.named().get(named.plugin)
        if now is not None and now.entry.place == FLAG:  # it may be listed twice, too
            answer |= self._runs_on(named, outcome)
        return {**answer, **({"kept": stays} if stays else {})}

    def _is_written(self, named: Named) -> bool:
        """Whether an entry names what a client wrote."""
        return self.written.named_by(named.entry.source) is not None

    async def _update(self, params: Mapping[str, Any]) -> State:
        plugin = _text(params, "id")
        distribution = row_of(self._known(plugin).result).distribution
        if distribution is None:
            raise invalid_params(
                f"params.id: {plugin} is not a distribution that is installed here: what it is "
                "named by is what runs"
            )
        update = await self.installer.update(distribution)
        theirs = self._of(distribution)
        # One that was not loaded is tried at any rate, as it is at every change.
        again = theirs if update.moved else [one for one in theirs if self._is_missing(one)]
        outcome = await self._again(again)
        answer = self._answer(plugin, outcome, [*theirs, *self._of(distribution)])
        return {**answer, "from": update.before, "to": update.after} if update.moved else answer

    def _of(self, distribution: str) -> Sequence[str]:
        """The plugins of one distribution."""
        return [
            plugin
            for plugin, named in self.named().items()
            if row_of(named.result).distribution == distribution
        ]

    def _is_missing(self, plugin: str) -> bool:
        """Whether a plugin is to be there, and is not."""
        return self.named()[plugin].entry.enabled and plugin not in self.plugins.running_plugins

    async def _again(self, plugins: Sequence[str]) -> Outcome:
        """Have plugins run the code that is on disk now."""
        outcome = Outcome()
        for plugin in plugins:
            if plugin in self.named():  # a reload may find that it has another id now
                one = await self.plugins.reload(plugin)
                outcome = Outcome(
                    waiting={*outcome.waiting, *one.waiting},
                    problems={**outcome.problems, **one.problems},
                    left_out={**outcome.left_out, **one.left_out},
                )
        self._behind(outcome)
        return outcome

    # -- written in a client -----------------------------------------------------------------

    async def _write(self, params: Mapping[str, Any]) -> State:
        plugin, source = _text(params, "id"), _text(params, "source", empty=True)
        manifest = params.get("manifest")
        if manifest is not None and not isinstance(manifest, str | Mapping):
            raise invalid_params("params.manifest: expected a mapping, or its text")
        named = self.named().get(plugin)
        if named is not None and not self._is_written(named):
            raise invalid_params(
                f"params.id: there is a plugin {plugin}, which was not written by a client"
            )
        folder = await self.written.write(plugin, source, manifest or {})
        listed = not self.file.add(str(folder))
        if listed and plugin in self.plugins.running_plugins:
            outcome = await self._again([plugin])
        else:
            outcome = await self._changed()
        return self._answer(plugin, outcome)

    async def _source(self, params: Mapping[str, Any]) -> State:
        plugin = _text(params, "id")
        if not self._is_written(self._known(plugin)):
            raise invalid_params(
                f"params.id: {plugin} was not written by a client, and its files are not handed out"
            )
        source, manifest = await self.written.source(plugin)
        return {"id": plugin, "source": source, "manifest": manifest}

    # -- switches, options -------------------------------------------------------------------

    async def _switch(self, params: Mapping[str, Any], enabled: bool) -> State:
        plugin = _text(params, "id")
        named = self._known(plugin)
        self.file.switch(self._own(named), enabled)
        outcome = await self._changed()
        answer = self._answer(plugin, outcome, [named.plugin])
        return answer if enabled else {**answer, **self._runs_on(named, outcome)}

    async def _option(self, params: Mapping[str, Any]) -> State:
        plugin, key = _text(params, "id"), _text(params, "key")
        named = self._known(plugin)
        source = self._own(named)
        if params.get("value") is None:
            self.file.unset_option(source, key)
        else:
            self.file.set_option(source, key, sent_option(named, key, params["value"]))
        return self._answer(plugin, await self._changed(), [named.plugin])

    async def pushed(self, plugin: str, values: Mapping[str, Any]) -> None:
        """A client sent the options of a plugin through the root's configuration.

        What it sends is set, a null takes an option out, and what it does not name is left.
        Raises `RpcError`, and then nothing is written.
        """
        with _in_words():
            named = self._known(plugin)
            source = self._own(named)
            held = named.entry.options
            checked = {
                key: None if value is None else sent_option(named, key, value)
                for key, value in values.items()
            }
            moved = {key: value for key, value in checked.items() if held.get(key) != value}
            for key, value in moved.items():
                if value is None:
                    self.file.unset_option(source, key)
                else:
                    self.file.set_option(source, key, value)
            if moved:
                await self._changed()

    # -- the list as it is ----------------------------------------------------------------------

    async def _apply(self, params: Mapping[str, Any]) -> State:
        outcome = await self._changed()
        return {
            **({"restart": True, "waiting": sorted(outcome.waiting)} if outcome.restart else {}),
            **({"problems": list(outcome.lines)} if outcome.problems else {}),
            **_left_out(outcome, *outcome.left_out),
        }

    async def _reload(self, params: Mapping[str, Any]) -> State:
        plugin = _text(params, "id")
        named = self._named(plugin)
        if named is None:
            return await self._of_no_entry(plugin)
        outcome = await self._again([named.plugin])
        now = self._called(named.entry.source, named.plugin)
        return self._answer(plugin if now == named.plugin else now, outcome, [now])

    async def _of_no_entry(self, plugin: str) -> State:
        """Reload what no entry that was read is called: what is on disk by now may be."""
        entries = self.entries()
        if plugin in self.plugins.ids(entries) or plugin in [one.source for one in entries]:
            return self._answer(plugin, await self._changed())
        # A package that a plugin uses has no entry to import again.
        self.mark_restart()
        return {"id": plugin, "restart": True}

    def _called(self, source: str, before: str) -> str:
        """The id of what a source names by now."""
        named = self.named()
        now = [plugin for plugin, one in named.items() if one.entry.source == source]
        return before if before in now or not now else now[0]

    # -- what they have in common ----------------------------------------------------------------

    def _known(self, plugin: str) -> Named:
        named = self._named(plugin)
        if named is None:
            raise invalid_params(f"params.id: there is no plugin {plugin[:100]}")
        return named

    def _named(self, plugin: str) -> Named | None:
        """The plugin with this id, or this source."""
        of_source = (one for one in self.named().values() if one.entry.source == plugin)
        return self.named().get(plugin) or next(of_source, None)

    def _runs_on(self, named: Named, outcome: Outcome) -> State:
        """That a plugin which is off, or off the list, runs all the same."""
        if named.plugin not in self.plugins.running_plugins or named.plugin in outcome.waiting:
            return {}
        line = f"{named.plugin} runs on: this daemon was started with a --plugin that names it"
        return {"runsOn": line}

    def _own(self, named: Named) -> str:
        """The source of an entry that stands in the file."""
        if named.entry.listed_as is not None:
            return named.entry.listed_as
        if not named.entry.place.startswith("plugins"):
            raise invalid_params(
                f"params.id: {named.plugin} is named by {named.entry.place or 'a flag'}, and the "
                "configuration file does not list it"
            )
        return named.entry.source

    async def _changed(self) -> Outcome:
        """Have the daemon be what the file says now."""
        outcome = await self.plugins.apply(self.entries())
        self._behind(outcome)
        return outcome

    def _behind(self, outcome: Outcome) -> None:
        if outcome.restart:
            self.mark_restart()
        self.moved()

    @staticmethod
    def _answer(plugin: str, outcome: Outcome, ids: Iterable[str] = ()) -> State:
        """What a change of one plugin is answered; what went wrong with others is not said.

        `ids` are what it is called where `plugin` is its source, and those that came with it.
        """
        theirs = tuple(dict.fromkeys((plugin, *ids)))
        problems = [outcome.problems[one] for one in theirs if one in outcome.problems]
        return {
            "id": plugin,
            **({"restart": True} if {*theirs} & {*outcome.waiting} else {}),
            **({"problems": problems} if problems else {}),
            **_left_out(outcome, *theirs),
        }


def _left_out(outcome: Outcome, *plugins: str) -> State:
    """What of loaded plugins is not there, as an answer says it."""
    lines = [
        f"plugin {plugin}: {line}"
        for plugin in plugins
        for line in outcome.left_out.get(plugin, ())
    ]
    return {"leftOut": lines} if lines else {}


def sent_option(named: Named, key: str, value: Any) -> Any:
    """`checked_option` of what a client sent, which names no value that is not its to read.

    The environment is the daemon's, and the secrets of records are their owners'; what the file
    names already may be sent back.
    """
    kept = checked_option(named, key, value)
    if kept == named.entry.options.get(key):
        return kept
    for reference in references_in(None, {key: kept}):
        kind, name = next(iter(reference.value.items()))
        at = f"plugins.{named.plugin}.options.{reference.words}"
        if kind != "$secret":
            raise invalid_params(
                f"{at} names a variable of the daemon's environment: that is written in the "
                "configuration file alone"
            )
        if refused := of_a_record(name):
            raise invalid_params(f"{at}{refused}")
    return kept


def checked_option(named: Named, key: str, value: Any) -> Any:
    """The value to keep for one option. Raises `RpcError` -32602 where its schema refuses it.

    `<set>` sent back for what was hidden keeps what there is, and is refused for anything else.
    """
    found = row_of(named.result).found
    schema = None if found is None else found.manifest.options_schema
    held = dict(named.entry.options)
    at = f"plugins.{named.plugin}.options"
    try:
        given = sent_back({key: value}, held, hidden(schema, held), at=at)
    except Misfit as misfit:
        raise invalid_params(str(misfit)) from None
    kept = restored(schema, given, held)
    if key not in kept:
        return None
    changed = {} if kept[key] == held.get(key) else {key: kept[key]}
    for reference in references_in(schema, changed):
        if why := refusal(reference):
            raise invalid_params(f"{at}.{reference.words}{why}")
    if schema is not None and not is_reference(kept[key]):
        try:
            check_value(of_keys(schema), {key: kept[key]}, at, references=True)
        except Misfit as misfit:
            raise invalid_params(str(misfit)) from None
    return kept[key]


def _text(params: Mapping[str, Any], key: str, empty: bool = False) -> str:
    value = params.get(key)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise invalid_params(f"params.{key}: expected a text")
    return value


@contextmanager
def _in_words() -> Iterator[None]:
    """What goes wrong in the block is the error a client is told."""
    try:
        yield
    except RpcError:
        raise
    except KeyError as missing:  # somebody else changed the file meanwhile
        words = f"params.id: the configuration file does not list {missing.args[0]} any more"
        raise invalid_params(words) from None
    except InstallFailure as failure:
        words = " ".join(str(failure).split())
        raise (invalid_params(words) if failure.asked else internal_error(words)) from None
    except (ConfigError, OSError, PluginError) as failure:
        raise internal_error(" ".join(str(failure).split())) from None
