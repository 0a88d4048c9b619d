"""What `ahpd configure` asks, and what it says of what it found. All of it on standard error."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import click

from ahpd.cli.found_agents import Offer
from ahpd.cli.output import remark
from ahpd.config.records import is_slug

_KEY_VARIABLE: Final = "OPENAI_API_KEY"
_ANOTHER: Final = "other"
_NONE: Final = "none"
_HERE: Final = "where ahpd is started"


def confirm(words: str, default: bool) -> bool:
    """Yes or no."""
    answer: bool = click.prompt(
        f"{words} {'[Y/n]' if default else '[y/N]'}",
        default="y" if default else "n",
        show_default=False,
        value_proc=_yes_or_no,
        err=True,
    )
    return answer


def choose_agents(offers: Sequence[Offer]) -> list[Offer]:
    """Which of those whose program is here to add; the others are said with how to install them."""
    found = [offer for offer in offers if offer.found]
    chosen = []
    if found:
        remark("\nAgents on this machine")
        chosen = [
            offer
            for offer in found
            if confirm(f"  Add {offer.template.name} ({offer.path})?", default=True)
        ]
    missing = [offer for offer in offers if offer.missing]
    if missing:
        remark("\nNot on this machine, and how to install them")
        _list((offer.template.id, offer.how_to_install) for offer in missing)
    return chosen


def choose_endpoints(
    offers: Sequence[Offer], by_url: bool, missing: Sequence[str]
) -> tuple[list[Offer], bool]:
    """Which of those that need no program to add, and whether one more by its URL.

    `missing` are the ids of those whose program is not here.
    """
    rows = [(offer.template.id, offer.template.description) for offer in offers]
    if by_url:
        rows.append((_ANOTHER, "an OpenAI-compatible endpoint, by its URL"))
    if not rows:
        return [], False
    remark("\nAgents that need no program here")
    _list(rows)
    names = click.prompt(
        "  Add which (names, or none)",
        default=_NONE,
        value_proc=_some_of([name for name, _ in rows], missing),
        err=True,
    )
    return [offer for offer in offers if offer.template.id in names], _ANOTHER in names


def _list(rows: Iterable[tuple[str, str]]) -> None:
    rows = list(rows)
    wide = max(len(name) for name, _ in rows)
    for name, words in rows:
        remark(f"  {name:<{wide}}  {words}")


def say_engines(missing: Iterable[tuple[str, str]]) -> None:
    """Kinds of agents that are a package away: (engine, command)."""
    rows = list(missing)
    if rows:
        remark("\nMore kinds of agents, and how to install them")
        _list(rows)


def ask_endpoint(taken: Iterable[str]) -> dict[str, Any] | None:
    """The record of an OpenAI-compatible endpoint; None for an answer of nothing."""
    url = click.prompt(
        "  Base URL (nothing for none)", default="", show_default=False, value_proc=_url, err=True
    )
    if not url:
        return None
    model = click.prompt("  Model", default="", show_default=False, value_proc=_model, err=True)
    identifier = click.prompt(
        "  Call the agent", default=_fresh(_slug_of(url), taken), value_proc=_id(taken), err=True
    )
    remark("  Where does its key come from?")
    remark("    none      it needs no key")
    remark("    variable  a variable of ahpd's environment")
    remark("    file      the configuration file, which only you can read")
    source = click.prompt(
        "  Key",
        type=click.Choice(["none", "variable", "file"]),
        default="none" if _is_here(url) else "variable",
        err=True,
    )
    config: dict[str, Any] = {"baseUrl": url}
    if source == "variable":
        name = click.prompt("  Variable", default=_KEY_VARIABLE, value_proc=_variable, err=True)
        config["apiKeyEnv"] = name
    elif source == "file":
        config["apiKey"] = click.prompt("  Key (not shown)", hide_input=True, err=True)
    return {
        "id": identifier,
        "engine": "openai",
        "name": identifier,
        "model": model,
        "config": config,
    }


def ask_folder(held: Path | None) -> Path | None:
    """The folder sessions work in that name none; None for the one ahpd is started in."""
    remark("")
    shown = _HERE if held is None else str(held)
    given = click.prompt(
        "Folder sessions work in", default=shown, value_proc=_folder(shown), err=True
    )
    return held if given == shown else Path(given)


def ask_demo(held: bool | None) -> bool:
    """Whether the demo agent is offered beside others."""
    return confirm("Offer the demo agent too?", default=bool(held))


# -- answers --------------------------------------------------------------------------


def _yes_or_no(text: str) -> bool:
    if text.strip().lower() not in ("y", "yes", "n", "no"):
        raise click.BadParameter("y for yes or n for no")
    return text.strip().lower().startswith("y")


def _model(text: str) -> str:
    if not text.strip():
        raise click.BadParameter("the name the endpoint knows it by, such as qwen3")
    return text.strip()


def _some_of(known: Sequence[str], missing: Sequence[str]) -> Any:
    def checked(text: str) -> list[str]:
        names = [name for name in re.split(r"[\s,]+", text.strip()) if name != _NONE]
        unknown = [name for name in names if name not in known]
        if unknown and unknown[0] in missing:
            added = f"ahpd configure --add {unknown[0]}"
            raise click.BadParameter(f"{unknown[0]} is not here; {added} adds it all the same")
        if unknown:
            raise click.BadParameter(f"{unknown[0]} is none of {', '.join(known)}")
        return names

    return checked


def _url(text: str) -> str:
    text = text.strip().rstrip("/")
    if not text:
        return ""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise click.BadParameter("an http: or https: URL, such as http://127.0.0.1:11434/v1")
    if parts.username or parts.password:
        raise click.BadParameter("a URL without a user or a password in it")
    if parts.query or parts.fragment:
        raise click.BadParameter("a URL that ends where /chat/completions begins, with no ? or #")
    return text


def _variable(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text.strip()):
        raise click.BadParameter("the name of a variable, not its value")
    return text.strip()


def _folder(shown: str) -> Any:
    def checked(text: str) -> str:
        if text == shown:
            return text
        path = Path(text.strip()).expanduser()
        if not path.is_absolute() or not path.is_dir():
            raise click.BadParameter(f"{text} is no folder with an absolute path")
        return str(path)

    return checked


def _id(taken: Iterable[str]) -> Any:
    held = set(taken)

    def checked(text: str) -> str:
        text = text.strip()
        if not is_slug(text):
            raise click.BadParameter("small letters, digits and dashes, such as local-model")
        if text in held:
            raise click.BadParameter(f"there is an agent called {text} already")
        return text

    return checked


def _slug_of(url: str) -> str:
    host = (urlsplit(url).hostname or "").removeprefix("api.").removeprefix("www.")
    if _is_here(url) or re.fullmatch(r"[0-9.:]*", host):
        return "local"
    return re.sub(r"[^a-z0-9]+", "-", host.split(".")[0].lower()).strip("-") or "openai"


def _is_here(url: str) -> bool:
    """Whether it is on this machine, where few ask for a key."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def _fresh(name: str, taken: Iterable[str]) -> str:
    held, number, fresh = set(taken), 1, name
    while fresh in held:
        number += 1
        fresh = f"{name}-{number}"
    return fresh
