"""A message's files are its session's, also where its chat moved while they were written."""

from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.chats.attached import kept_first
from ahpd.interfaces import IAttachments

SAID = {"type": "chat/turnStarted", "message": {"text": "look", "attachments": ["a picture"]}}


@implementer(IAttachments)
class SlowAttachments:
    """Writes when it is told to, and says where."""

    def __init__(self):
        self.writing = []
        self.discarded = []

    def prepare(self, session, message, client_id):
        done = Deferred()
        self.writing.append((session, done))
        return done

    async def discard(self, before, after):
        self.discarded.append(after["attachments"])

    def write(self):
        session, done = self.writing.pop(0)
        done.callback({**SAID["message"], "attachments": [f"a file of {session}"]})


def begun(attachments, session, said):
    return Deferred.fromCoroutine(kept_first(attachments, session, SAID, "ann", said.append))


def test_it_is_written_anew_for_the_session_its_chat_is_in_by_then():
    attachments, said, chat = SlowAttachments(), [], ["s1"]
    done = begun(attachments, lambda: chat[0], said)
    chat[0] = "s2"
    attachments.write()
    chat[0] = "s3"
    attachments.write()
    assert not done.called
    attachments.write()
    assert done.called
    assert [each["message"]["attachments"] for each in said] == [["a file of s3"]]
    assert attachments.discarded == [["a file of s1"], ["a file of s2"]]


def test_one_whose_chat_stays_is_written_once():
    attachments, said = SlowAttachments(), []
    done = begun(attachments, lambda: "s1", said)
    attachments.write()
    assert done.called
    assert [each["message"]["attachments"] for each in said] == [["a file of s1"]]
    assert (attachments.writing, attachments.discarded) == ([], [])
