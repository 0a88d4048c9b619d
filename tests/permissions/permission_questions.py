"""Questions as the tests of this folder ask them."""

from pathlib import Path

from ahpd.interfaces.permissions import Question
from ahpd.interfaces.turns import Permission


def lists(allow=(), deny=(), ask=()):
    return {"allow": list(allow), "deny": list(deny), "ask": list(ask)}


def question(permission, tool="Tool", *, session=None, host=None, **known):
    known.setdefault("eligibility", tool)
    known.setdefault("folders", ["/work/project"])
    return Question(
        permission=permission,
        tool=tool,
        session_values=session or {},
        host_values=host or {},
        **known,
    )


def shell(line, *, allow=(), deny=(), ask=(), session=None, language="bash", tool="Bash", **known):
    session = {"permissions": lists(allow, deny, ask), **(session or {})}
    permission = Permission(kind="shell", command=line, language=language)
    return question(permission, tool, session=session, **known)


def file(kind, path, *, allow=(), deny=(), ask=(), session=None, tool="Tool", **known):
    session = {"permissions": lists(allow, deny, ask), **(session or {})}
    return question(Permission(kind=kind, path=str(path)), tool, session=session, **known)


def fetch(url, *, allow=(), deny=(), ask=(), tool="Fetch", **known):
    session = {"permissions": lists(allow, deny, ask)}
    return question(Permission(kind="url", url=url), tool, session=session, **known)


def ids(verdict):
    return [option["id"] for option in verdict.options]


def project(tmp_path: Path) -> Path:
    """A folder with a few files, a link out of it and one that dangles."""
    root = tmp_path / "project"
    (root / "sub").mkdir(parents=True)
    (root / "a.py").write_text("")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("")
    (root / "out").symlink_to(tmp_path / "outside")
    (root / "dangling").symlink_to(tmp_path / "outside" / "not-yet")
    return root
