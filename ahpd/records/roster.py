"""Which agents a host offers now: one mapping that everybody holds, and that moves.

The agents come from several places, each a section of the roster: an agent of an earlier section
stands before those of the later ones, and keeps its provider from them. The first is the default.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs
from twisted.logger import Logger

from ahpd.records.paused import unpaused

log = Logger()

#: The sections, in the order their agents are listed in: records of the configuration, what
#: plugins register, the records that are kept as files, and what a host is built with.
CONFIGURED: Final = "configured"
REGISTERED: Final = "registered"
KEPT: Final = "kept"
OWN: Final = "own"
SECTIONS: Final = (CONFIGURED, REGISTERED, KEPT, OWN)


@attrs.frozen(kw_only=True)
class Moved:
    """How one list of agents differs from the one before it."""

    gone: Mapping[str, Any] = attrs.field(factory=dict)
    """The agents that are offered no more, by provider."""
    came: Mapping[str, Any] = attrs.field(factory=dict)
    replaced: Mapping[str, tuple[Any, Any]] = attrs.field(factory=dict)
    """What was and what is: two agents under one provider."""
    rewrapped: Mapping[str, Any] = attrs.field(factory=dict)
    """The same agent, paused from now on or not any more."""

    @property
    def any(self) -> bool:
        """Whether anything moved."""
        return bool(self.gone or self.came or self.replaced or self.rewrapped)


class AgentsRoster(Mapping[str, Any]):
    """The agents (`IAgent`) of a host by provider, the default first."""

    def __init__(self, **sections: Mapping[str, Any]) -> None:
        self._sections: dict[str, Mapping[str, Any]] = {name: {} for name in SECTIONS}
        self._agents: Mapping[str, Any] = {}
        self._absent: dict[str, str] = {}
        for section, agents in sections.items():
            self.replace(section, agents)

    def __getitem__(self, provider: str) -> Any:
        return self._agents[provider]

    def __iter__(self) -> Iterator[str]:
        # What moves while somebody reads is for the next reader.
        return iter(self._agents)

    def __len__(self) -> int:
        return len(self._agents)

    def section(self, name: str) -> Mapping[str, Any]:
        """What a section holds, those that another section keeps out among it."""
        return self._sections[name]

    def replace(self, section: str, agents: Mapping[str, Any]) -> Moved:
        """Have a section hold `agents` and nothing else; how the whole list moved."""
        assert section in SECTIONS, section
        before: Mapping[str, Any] = self._agents
        after: dict[str, Any] = {}
        self._sections[section] = dict(agents)
        for name in SECTIONS:
            for provider, agent in self._sections[name].items():
                if after.setdefault(provider, agent) is not agent and name == section:
                    log.error(
                        "the agent {provider} is left out: another agent has its name",
                        provider=provider,
                    )
        self._agents = after
        for provider in after:
            self._absent.pop(provider, None)
        return _moved(before, after)

    # -- why one is not here ----------------------------------------------------------

    def absent(self, provider: str) -> str | None:
        """Why an agent somebody knows is not offered, in words; None for one nobody knows."""
        return self._absent.get(provider)

    def explain(self, provider: str, words: str | None) -> None:
        """Say why an agent is not offered; None where there is nothing to say any more."""
        if words is None:
            self._absent.pop(provider, None)
        else:
            self._absent[provider] = words


def _moved(before: Mapping[str, Any], after: Mapping[str, Any]) -> Moved:
    replaced: dict[str, tuple[Any, Any]] = {}
    rewrapped: dict[str, Any] = {}
    for provider, agent in after.items():
        held = before.get(provider, agent)
        if unpaused(held) is not unpaused(agent):
            replaced[provider] = (held, agent)
        elif held is not agent:
            rewrapped[provider] = agent
    return Moved(
        gone={provider: agent for provider, agent in before.items() if provider not in after},
        came={provider: agent for provider, agent in after.items() if provider not in before},
        replaced=replaced,
        rewrapped=rewrapped,
    )
