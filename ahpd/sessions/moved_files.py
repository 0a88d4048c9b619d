"""The files of chats that moved here, once a chat of the session is gone."""

from ahpd.chats.owner import Surroundings
from ahpd.sessions.session import Session


def settle_attachments(world: Surroundings, session: Session) -> None:
    """Let go of the files of other sessions that no chat of this one names any more."""
    if world.attachments is not None:
        chats = [chat.state for chat in session.chats.values()]
        world.tasks.spawn(
            f"looking after the attachments of {session.uri}",
            world.attachments.settle(session.uri, chats),
        )
