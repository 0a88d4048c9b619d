"""The chain a question about a tool call goes down before a person is asked.

In order: what refuses it; what only a person may answer; Allow All; what asks; what approves.
Source: PLUGINS.txt, "A question about a tool call".
"""

import posixpath
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import CommandParser
from ahpd.interfaces.permissions import IJudge, Question, Verdict
from ahpd.permissions.edits import always_checked, is_hidden_at_home, patterns_approve
from ahpd.permissions.looking import Look, directly
from ahpd.permissions.managed import ManagedPermissions
from ahpd.permissions.options import (
    Offer,
    Wish,
    for_commands,
    for_host,
    for_line,
    for_path,
    for_the_tool,
    leaving_the_sandbox,
    once_alone,
    with_wishes,
)
from ahpd.permissions.paths import Links, PathSubject, glob_of
from ahpd.permissions.patience import OutOfTime, Patience, full_collections
from ahpd.permissions.rules import EDIT, Named, RuleLists, allowed, named, parsed, rules_of
from ahpd.permissions.shell_reading import MOST_BYTES, Reading, ShellReader
from ahpd.permissions.shell_subject import (
    ShellSubject,
    edit_rules,
    rough_reading,
    sensitive_locations,
)
from ahpd.permissions.split_reading import BASH, LANGUAGES, SplitReader
from ahpd.permissions.terminal_rules import TerminalTables
from ahpd.permissions.urls import UrlSubject, host_named, normal_host, read_url
from ahpd.protocol import approval_keys

_log = Logger()


@attrs.frozen
class _Case:
    """A question with what it is about taken apart, and the rules of its session and host."""

    question: Question
    subject: PathSubject | ShellSubject | UrlSubject | None
    rules: RuleLists
    links: Links
    patience: Patience

    @property
    def kind(self) -> str:
        return self.question.permission.kind


@implementer(IJudge)
class Judge:
    """Judges by rules; keeps nothing but what it read of them."""

    def __init__(
        self,
        managed: ManagedPermissions | None = None,
        eligible: Mapping[str, bool] | None = None,
        checked: bool = True,
        home: str = "/",
        default_table: bool = True,
        seconds: Callable[[], float] = time.thread_time,
        look: Look = directly,
        split: CommandParser | None = None,
    ) -> None:
        """`managed` and `eligible` are the operator's (`managedSettingsPermissions`,
        `eligibleForAutoApproval`), `checked` whether this host checks them (`managedRules`),
        `home` the folder `~` means, and `default_table` whether VS Code's table of commands
        holds where no window pushed one (`terminalAutoApproveDefaults`). `seconds` is a clock of
        work this thread did, and `look` looks where paths lead. `split` takes lines apart in
        place of the reader here."""
        self._managed = managed or ManagedPermissions()
        self._eligible = dict(eligible or {})
        self._checked = checked
        self._home = posixpath.normpath(home)
        self._reader = ShellReader()
        self._split = None if split is None else SplitReader(split, self._reader)
        self._tables = TerminalTables(default_table)
        self._seconds = seconds
        self._look = look

    def judge(self, question: Question) -> Verdict:
        try:
            return self._in_time(question)
        except OutOfTime as reason:
            return _asked(str(reason), once_alone())
        except Exception:  # whatever went wrong, a person can still decide
            _log.failure("judging a question about {tool}", tool=question.tool)
            return _asked("it could not be judged", once_alone())

    def _in_time(self, question: Question) -> Verdict:
        """The verdict. Raises `OutOfTime` where that was the question's own doing."""
        collections = full_collections()
        try:
            return self._judged(self._case(question))
        except OutOfTime:
            if full_collections() == collections:
                raise
        return self._judged(self._case(question))

    # -- what is judged ---------------------------------------------------------------

    def _case(self, question: Question) -> _Case:
        if question.permission.kind == "shell":
            self._reader.load()
        patience = Patience(self._seconds)
        session = rules_of(question.session_values, patience)
        rules = session.joined(rules_of(question.host_values, patience))
        links = Links(self._look)
        asked = question.permission
        subject: PathSubject | ShellSubject | UrlSubject | None = None
        if asked.kind == "shell" and asked.command is not None:
            subject = self._shell(question, asked.command, rules, links, patience)
        elif asked.kind in ("read", "write") and asked.path is not None:
            paths = links.all_candidates((asked.path, *asked.more_paths))
            subject = PathSubject(paths, self._home, question.folders, patience)
        elif asked.kind == "url" and asked.url is not None:
            subject = UrlSubject(read_url(asked.url), patience)
        return _Case(question, subject, rules, links, patience)

    def _shell(
        self, question: Question, line: str, rules: RuleLists, links: Links, patience: Patience
    ) -> ShellSubject:
        read = self._read_in(question.permission.language)
        values = question.host_values
        on = read is not rough_reading and values.get(approval_keys.TERMINAL_ENABLED) is not False
        managed = (*self._managed.deny, *self._managed.ask) if self._checked else ()
        table = (
            self._tables.table(values.get(approval_keys.TERMINAL_RULES), patience) if on else None
        )
        return ShellSubject(
            line=line,
            read=read,
            home=self._home,
            folders=question.folders,
            snapshots=question.snapshots,
            sensitive=sensitive_locations(question.session_values),
            edit_patterns=values.get(approval_keys.EDIT_PATTERNS),
            edit_rules=edit_rules((*rules.deny, *rules.ask, *managed)),
            edit_allowed=edit_rules(rules.allow),
            table=table,
            links=links,
            directory=_directory(question),
            patience=patience,
        )

    def _read_in(self, language: str) -> Callable[[str], Reading]:
        """What reads lines of a language; `rough_reading` where nothing does."""
        if self._split is not None and language in LANGUAGES:
            return self._split.reading_in(language)
        return self._reader.read if language == BASH else rough_reading

    # -- the chain ----------------------------------------------------------------------

    def _judged(self, case: _Case) -> Verdict:
        refused, unclear = self._refused(case)
        if refused is not None:
            return Verdict(decision="deny", because=refused)
        if case.question.permission.sandbox_bypass:
            return _asked("it asks to leave its sandbox", leaving_the_sandbox())
        managed = self._managed_ask(case)
        if managed is not None:
            return _asked(managed, once_alone())
        if unclear is not None:
            return self._offered(case, unclear)
        everything = self._everything(case)
        if everything is not None:
            return Verdict(decision="approve", because=everything)
        approved, because = self._approved(case)
        if approved:
            return Verdict(decision="approve", because=because)
        return self._offered(case, because)

    def _refused(self, case: _Case) -> tuple[str | None, str | None]:
        """What refuses it, or else what would if more were known."""
        question = case.question
        found, words = named(case.rules.deny, question.tool, case.kind, case.subject)
        if found is Named.YES:
            return f"the rule {words} refuses it", None
        unclear = f"the rule {words} may be about it" if found is Named.MAYBE else None
        if case.kind == "write" and isinstance(case.subject, PathSubject):
            if case.subject.paths is None:
                unclear = unclear or "it cannot be told where it writes"
            elif case.links.touches(case.subject.paths, question.snapshots):
                return "it writes into what came with a message", None
        if not self._checked:
            return None, unclear
        # A managed rule names no tool: the empty name is nobody's.
        found, words = named(self._managed.deny, "", case.kind, case.subject)
        if found is Named.YES:
            return f"the managed rule {words} refuses it", None
        if self._managed.limit_to is not None and case.kind == "url":
            url = case.subject.url if isinstance(case.subject, UrlSubject) else None
            host = None if url is None else normal_host(url.host)
            if host is None or not any(host_named(host, each) for each in self._managed.limit_to):
                return "its host is none that limitTo names", None
        if found is Named.MAYBE and unclear is None:
            unclear = f"the managed rule {words} may be about it"
        return None, unclear

    def _managed_ask(self, case: _Case) -> str | None:
        """What has a person asked every time, whatever was granted."""
        if case.question.permission.managed:
            return "a managed rule of its backend asks about it"
        if not self._checked:
            return None
        if not self._is_eligible(case.question.eligibility):
            return f"eligibleForAutoApproval has {case.question.eligibility} asked about"
        found, words = named(self._managed.ask, "", case.kind, case.subject)
        return None if found is Named.NO else f"the managed rule {words} asks about it"

    def _is_eligible(self, key: str) -> bool:
        exact = self._eligible.get(key)
        if exact is not None:
            return exact
        # Names of servers and of tools may have slashes themselves.
        servers = (key[:at] for at, character in enumerate(key) if character == "/")
        return all(self._eligible.get(f"{server}/*", True) for server in servers)

    def _everything(self, case: _Case) -> str | None:
        """The setting that has everything run."""
        host, session = case.question.host_values, case.question.session_values
        if self._managed.bypass_disabled or host.get(approval_keys.POLICY_RESTRICTED) is True:
            return None
        if host.get(approval_keys.GLOBAL_AUTO_APPROVE) is True:
            return approval_keys.GLOBAL_AUTO_APPROVE
        everything = session.get(approval_keys.AUTO_APPROVE) == approval_keys.ALLOW_ALL
        return approval_keys.AUTO_APPROVE if everything else None

    def _approved(self, case: _Case) -> tuple[bool, str]:
        """Whether rules and settings approve it, and what decided."""
        question, subject, rules = case.question, case.subject, case.rules
        found, words = named(rules.ask, question.tool, case.kind, subject)
        if found is not Named.NO:
            return False, f"the rule {words} asks about it"
        asks = _always_asks(case)
        if asks is not None:
            return False, asks
        because = allowed(rules.allow, question.tool, case.kind, subject)
        if because is not None:
            return True, f"{because} approves it"
        if isinstance(subject, PathSubject) and subject.paths is not None:
            because = self._by_place(case, subject.paths)
            if because is not None:
                return True, because
        if isinstance(subject, ShellSubject):
            return False, subject.why_asked()
        return False, "nothing approves it"

    def _by_place(self, case: _Case, paths: Sequence[str]) -> str | None:
        """What approves a read or a write for where it is."""
        question = case.question
        if case.kind == "read":
            if case.links.in_one_of(paths, (*question.snapshots, *question.attached)):
                return "it reads what came with a message"
            inside = case.links.in_one_of(paths, question.folders)
            return "it reads in the folders" if inside else None
        if not case.links.in_one_of(paths, question.folders):
            return None
        if is_hidden_at_home(paths, self._home, case.links):
            return None
        patterns = question.host_values.get(approval_keys.EDIT_PATTERNS)
        approved = patterns_approve(paths, patterns, case.patience)
        return "the edit patterns approve it" if approved else None

    # -- what is asked --------------------------------------------------------------------

    def _offered(self, case: _Case, because: str) -> Verdict:
        wishes = _wishes(case)
        if wishes is None:
            given = case.question.options
            return _asked(because, for_the_tool(case.question.tool, given))

        def fulfilled(rules: Sequence[str]) -> bool:
            """A grant that would not have answered this question is not offered."""
            more = RuleLists(allow=tuple(map(parsed, rules)))
            granted = attrs.evolve(case, rules=case.rules.joined(more))
            try:
                return self._refused(granted)[1] is None and self._approved(granted)[0]
            except OutOfTime:
                return False

        return _asked(because, with_wishes(wishes, fulfilled))


def _directory(question: Question) -> str | None:
    """Where a shell's relative paths begin; None where that is not known."""
    first = question.folders[0] if question.folders else None
    named = question.permission.directory
    if named is None:
        return first
    if named.startswith("/"):
        return named
    return None if first is None else posixpath.join(first, named)


def _always_asks(case: _Case) -> str | None:
    """What has a write asked about, allow rules for more than one path notwithstanding."""
    subject = case.subject
    if isinstance(subject, ShellSubject):
        return subject.sensitive_write()
    if case.kind != "write" or not isinstance(subject, PathSubject) or subject.paths is None:
        return None
    pattern = always_checked(subject.paths)
    exact = [rule for rule in case.rules.allow if rule.family == EDIT and rule.argument]
    if pattern is None or subject.allowed_exactly(exact) is not None:
        return None
    return f"it is always asked about ({pattern})"


def _wishes(case: _Case) -> list[Wish] | None:
    """The grants a question could offer; None for one that offers its tool's options."""
    subject = case.subject
    if isinstance(subject, ShellSubject):
        if len(subject.reading.line) > MOST_BYTES:
            return []
        if subject.reading.because is None:
            return for_commands(tuple(subject.unapproved), subject.asked_about)
        return for_line(subject.reading.line)
    if isinstance(subject, UrlSubject):
        return [] if subject.url is None else for_host(subject.url.origin, subject.url.host)
    if isinstance(subject, PathSubject):
        if subject.paths is None:
            return []
        others = len(set(case.question.permission.more_paths) - {subject.paths[0]})
        globs = [_as_glob(each, case.links) for each in subject.paths]
        return for_path(case.kind, subject.paths[0], others, globs)
    return None


def _as_glob(path: str, links: Links) -> str:
    """The file, or the folder and what is in it."""
    return glob_of(path.rstrip("/")) + ("/**" if links.is_folder(path) else "")


def _asked(because: str, offer: Offer) -> Verdict:
    grants: Mapping[str, Any] = offer.grants
    return Verdict(
        decision="ask", because=because, options=offer.options, grants=grants, meta=offer.meta
    )
