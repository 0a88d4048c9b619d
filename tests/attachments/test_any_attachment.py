"""Whatever is attached: nothing raises, and nothing is written outside of the folder."""

import base64
import itertools
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ahpd.attachments.contents import SNAPSHOT
from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.service import Attachments
from ahpd.interfaces import AgentFailure, IClientResources, RpcError
from ahpd.protocol.check import check
from ahpd.protocol.shapes.messages import Message

text = st.text(max_size=20)
texts = st.one_of(
    text,
    st.sampled_from(["", "..", "a/b", "\0", "\ud800", "x" * 300, "image/png", "text/plain"]),
)
uris = st.one_of(
    texts,
    st.sampled_from(
        ["file:///etc/passwd", "file:///no/such", "file://x/y", "file:", "file:///%00", "x:/y",
         "ahp-chat:/c1", "ahp-chat:/none", "https://example.org/", "file:///" + "n" * 5000,
         "file:///etc/passwd/x", "file:///root/secret/x"]
    ),
)  # fmt: skip
data = st.one_of(texts, st.binary(max_size=30).map(lambda raw: base64.b64encode(raw).decode()))
tags = st.one_of(
    texts, st.none(), st.fixed_dictionaries({"contentType": st.one_of(texts, st.none())})
)
shared = {
    "label": texts,
    "_meta": st.dictionaries(st.one_of(text, st.just(SNAPSHOT)), tags, max_size=2),
}
attachment = st.one_of(
    st.fixed_dictionaries(
        {**shared, "type": st.just("embeddedResource"), "data": data, "contentType": texts}
    ),
    st.fixed_dictionaries(
        {**shared, "type": st.just("resource"), "uri": uris},
        optional={"contentType": texts, "sizeHint": st.integers(), "displayKind": texts},
    ),
    st.fixed_dictionaries(
        {**shared, "type": st.just("chat"), "resource": uris},
        optional={"endTurn": st.sampled_from(["t1", "t2", "other", ""])},
    ),
    st.fixed_dictionaries({**shared, "type": st.just("simple")}),
    st.fixed_dictionaries({**shared, "type": text.filter(lambda kind: kind not in ("chat",))}),
)
answers = st.one_of(
    st.none(),
    st.dictionaries(text, texts, max_size=2),
    st.fixed_dictionaries(
        {
            "data": st.one_of(data, st.integers()),
            "encoding": st.sampled_from(["base64", "utf-8", 5]),
        },
        optional={"contentType": st.one_of(texts, st.integers(), st.none())},
    ),
)

CHAT = {
    "resource": "ahp-chat:/c1",
    "turns": [
        {"id": "t1", "message": {"text": "x", "origin": {"kind": "user"}}, "responseParts": []}
    ],
    "activeTurn": {"id": "t2"},
}


def wait(work):
    results = []
    Deferred.fromCoroutine(work).addBoth(results.append)
    if hasattr(results[0], "raiseException"):
        results[0].raiseException()
    return results[0]


@given(st.lists(attachment, max_size=4), answers, texts)
@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_nothing_raises_and_nothing_is_written_elsewhere(sent, answer, session):
    @implementer(IClientResources)
    class Client:
        async def read(self, client_id, uri):
            if answer is None:
                raise RpcError(-32008, "no")
            return answer

    numbers = itertools.count()
    message = {"text": "x", "origin": {"kind": "user"}, "attachments": sent}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "kept"
        attachments = Attachments(
            AttachmentFiles(root, lambda: str(next(numbers))),
            lambda work: succeed(None).addCallback(lambda _: work()),
            {"ahp-chat:/c1": CHAT}.get,
            Client(),
        )
        prepared = attachments.prepare("s:/" + session, message, "c")
        if not isinstance(prepared, dict):
            prepared = wait(prepared)
        assert len(prepared["attachments"]) == len(sent)
        check(prepared, Message)
        try:
            taken = wait(attachments.for_backend(prepared))
        except AgentFailure as failure:
            failed = failure.error_type
        else:
            failed = "sendFailed"
            assert len(taken) == len(sent)
            check({**message, "attachments": taken}, Message)
        assert failed == "sendFailed"
        assert {path.name for path in Path(folder).iterdir()} <= {"kept"}
        for path in root.rglob("*"):
            if path.is_file():
                assert len(path.relative_to(root).parts) == 3
                assert path.name != ".part"
        wait(attachments.discard(message, prepared))
        wait(attachments.forget("s:/" + session))
        assert not any(path.is_file() for path in root.rglob("*"))
