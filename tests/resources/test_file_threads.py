"""A disk that does not answer keeps waiting whoever asked for it, and nobody else."""

import threading
import uuid
from datetime import UTC, datetime

import pytest_twisted

from ahpd.app.domains import make_resources
from ahpd.app.ground import Ground
from ahpd.channels.store import ChannelStore
from ahpd.peers.clients import ClientRegistry
from ahpd.plugins.fold import Fold
from ahpd.resources.files import provider
from ahpd.scheduler import Scheduler
from ahpd.threads import in_thread


@pytest_twisted.ensureDeferred
async def test_files_that_are_waited_for_leave_threads_to_everybody_else(tmp_path, monkeypatch):
    from twisted.internet import reactor

    answers = threading.Event()
    monkeypatch.setattr(provider, "resolve", lambda uri, follow: answers.wait() and {})
    scheduler = Scheduler(reactor)
    ground = Ground(
        settings=None,
        reactor=reactor,
        now=lambda: datetime.now(UTC),
        ids=lambda: str(uuid.uuid4()),
        kept=None,
        scheduler=scheduler,
        store=ChannelStore(),
        supervisor=None,
        clients=ClientRegistry(scheduler),
    )
    parts = make_resources(ground, None, Fold())
    parts.threads.startService()
    try:
        files = parts.resources._providers["file"]
        waiting = [files.resolve(tmp_path.as_uri(), True) for _ in range(20)]
        started = [each.send(None) for each in waiting]  # each now waits in a thread
        assert len(started) > reactor.getThreadPool().max
        assert await in_thread(reactor)(lambda: "done") == "done"
        assert await files.list(tmp_path.as_uri()) == []
    finally:
        answers.set()
        for each in waiting:
            each.close()
        await parts.threads.stopService()
