"""What the store asks of whoever keeps a channel."""

from collections.abc import Callable, Mapping
from typing import Protocol

from ahpd.channels.envelope import Envelope
from ahpd.interfaces import StoreFailure

#: Told of an action that could not be saved and was not said, and why it could not; of
#: None where it is streamed text that was said already.
Unsaved = Callable[[Envelope | None, StoreFailure], None]


class Journal(Protocol):
    """Where what is said on a channel is kept before it is said."""

    def record(self, envelope: Envelope) -> None:
        """Keep an accepted action: on disk when it returns, or soon where it may be late.

        Raises `StoreFailure`, and then it is not kept.
        """

    def lost(self, envelope: Envelope, failure: StoreFailure) -> bool:
        """An action could not be kept: whether it is said all the same.

        Where it is not, whoever owns the channel is told.
        """

    def said_unsaved(self) -> None:
        """An action was said that is not kept: the state is to be written whole."""

    def amended(self, fields: Mapping[str, object]) -> None:
        """Fields of the state are about to be moved without an action. Never raises."""

    def closed(self) -> None:
        """The channel is open no more; what is kept of it stays."""
