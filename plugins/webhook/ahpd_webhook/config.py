"""What a webhook is configured with: the schema clients draw the form from, and the values.

One kind of webhook starts a session for each call, one writes to a session that is there, and one
fires a trigger. Each is an alternative of the schema with the fields of its kind alone, so a field
of another kind is refused when the connector is put, and no code has to look for it.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.interfaces import Connector
from ahpd.protocol import State
from ahpd_webhook.templates import Template

#: As short as a secret may be that nobody can try out.
_SHORTEST: Final = 16
_SECRETS: Final[State] = {
    "secret": {
        "type": "string",
        "title": "Secret",
        "description": "The bearer token a caller sends, 16 characters or more.",
        "minLength": _SHORTEST,
        # The host keeps it in the vault; the record holds its name.
        "secret": True,
    },
    **{
        name: {
            "type": "string",
            "title": f"{word} secret",
            "description": "Taken as well: for a caller of its own, or while a secret is replaced.",
            "minLength": _SHORTEST,
            "secret": True,
        }
        for name, word in (("secondSecret", "Second"), ("thirdSecret", "Third"))
    },
}

_PROMPT: Final[State] = {
    "type": "string",
    "title": "Message",
    "description": (
        "What is said, with parts of the call in it: {{body}}, {{json.issue.title}}, "
        "{{header.x-github-event}}, {{query.name}}."
    ),
    "minLength": 1,
    "maxLength": 20_000,
    "default": "{{body}}",
}


def _kind(target: str, title: str, properties: State, required: tuple[str, ...] = ()) -> State:
    return {
        "type": "object",
        "title": title,
        "properties": {
            "target": {"const": target, "title": "What a call does"},
            # Said once for every kind, above; an alternative takes no field it does not name.
            **{name: {"type": "string"} for name in _SECRETS},
            **properties,
        },
        "required": ["target", *required],
        "additionalProperties": False,
    }


SCHEMA: Final[State] = {
    "type": "object",
    "properties": _SECRETS,
    "required": ["secret"],
    "oneOf": [
        _kind(
            "start",
            "Start a session",
            {
                "agent": {
                    "type": "string",
                    "title": "Agent",
                    "description": "The agent of each session; the host's first where it is empty.",
                },
                "workingDirectory": {
                    "type": "string",
                    "title": "Folder",
                    "description": "Where it works: an absolute path or a file: URI.",
                },
                "title": {"type": "string", "title": "Title of each session", "maxLength": 200},
                "prompt": _PROMPT,
            },
        ),
        _kind(
            "message",
            "Write to a session",
            {
                "session": {
                    "type": "string",
                    "title": "Session",
                    "description": "The URI of the session that is written to.",
                    "minLength": 1,
                },
                "prompt": _PROMPT,
            },
            ("session",),
        ),
        _kind("trigger", "Fire automations", {}),
    ],
}


@attrs.frozen(kw_only=True)
class Start:
    """Each call starts a session for `owner` (`user:ada`, `root:<host>`)."""

    owner: str
    prompt: Template
    agent: str | None = None
    working_directory: str | None = None
    title: str | None = None


@attrs.frozen(kw_only=True)
class Message:
    """Each call is a message in one session: of `owner`'s own, or of anybody's where that is the
    host (`root:<host>`)."""

    owner: str
    session: str
    prompt: Template


@attrs.frozen(kw_only=True)
class Trigger:
    """Each call fires the trigger `webhook`, for who may read the connector of `owner`."""

    owner: str


Target = Start | Message | Trigger


@attrs.frozen(kw_only=True)
class Endpoint:
    """One webhook, ready to answer."""

    id: str
    secrets: tuple[bytes, ...] = attrs.field(repr=False)
    target: Target


def endpoint_of(connector: Connector, host_name: str) -> Endpoint:
    """The endpoint of a connector, whose config fits the schema.

    Raises `ValueError` in words for one that cannot answer; the host shows it as invalid then.
    """
    config = connector.config
    given = [config[name] for name in _SECRETS if config.get(name)]
    # One that is read from the environment was never held to the schema.
    if not given or any(len(secret) < _SHORTEST for secret in given):
        raise ValueError(f"a secret has {_SHORTEST} characters or more")
    return Endpoint(
        id=connector.id,
        secrets=tuple(secret.encode() for secret in given),
        target=_target(connector, config, host_name),
    )


def _target(connector: Connector, config: Mapping[str, Any], host_name: str) -> Target:
    kind = config["target"]
    if kind == "trigger":
        return Trigger(owner=connector.owner)
    prompt = Template(config.get("prompt") or _PROMPT["default"])
    owner = _owner_of_sessions(connector, host_name)
    if kind == "message":
        return Message(owner=owner, session=config["session"], prompt=prompt)
    return Start(
        owner=owner,
        prompt=prompt,
        agent=config.get("agent") or None,
        working_directory=config.get("workingDirectory") or None,
        title=config.get("title") or None,
    )


def _owner_of_sessions(connector: Connector, host_name: str) -> str:
    """Whose the sessions of a connector are: a person's their own, the host's the host's."""
    if connector.owner == "host":
        return f"root:{host_name}"
    if connector.owner.startswith("user:"):
        return connector.owner
    raise ValueError("a session is a person's or the host's, and this webhook is a team's")
