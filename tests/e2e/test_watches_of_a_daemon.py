"""Watches of real files over the socket: what is said adds up to what is there."""

import os
import shutil
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.client import RpcError
from ahpd.protocol.file_uris import path_of
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE

MIB = 1024 * 1024


async def create(client, path, **params):
    answer = await client.call("createResourceWatch", {"channel": ROOT, "uri": uri(path), **params})
    return answer["channel"]


def uri(path):
    return path if isinstance(path, str) else Path(path).as_uri()


async def watches(client, path, **params):
    channel = await create(client, path, **params)
    await client.subscribe(channel)
    return channel


def batches(client, channel):
    return [
        [(item["type"], path_of(item["uri"])) for item in said.action["changes"]["items"]]
        for said in client.envelopes(channel)
        if said.type == "resourceWatch/changed"
    ]


class Picture:
    """What somebody who watches thinks is there: what was there, and every change said since.

    A path is added when it was not there and updated or deleted when it was; `nonsense` is
    what was said and could not be.
    """

    def __init__(self, client, channel, *there):
        self._client = client
        self._channel = channel
        self._began_with = set(map(str, there))

    def look(self):
        there, nonsense = set(self._began_with), []
        for batch in batches(self._client, self._channel):
            for kind, path in batch:
                if (kind == "added") is (path in there):
                    nonsense.append((kind, path))
                there.discard(path) if kind == "deleted" else there.add(path)
        return there, nonsense

    async def becomes(self, *paths):
        """Wait until it is these."""
        wanted = set(map(str, paths))
        await self._client.wait_for(
            lambda: self.look()[0] == wanted, PATIENCE, f"{len(wanted)} paths"
        )
        assert self.look()[1] == []


async def told(client, channel, *changes):
    """Wait until one batch holds these changes, as (kind, path)."""
    wanted = {(kind, str(path)) for kind, path in changes}
    await client.wait_for(
        lambda: any(wanted <= set(batch) for batch in batches(client, channel)),
        PATIENCE,
        str(wanted),
    )


def inotify_of(daemon):
    """The inotify instances a daemon has, and the watches in each."""
    found = []
    for entry in Path(f"/proc/{daemon.pid}/fd").iterdir():
        try:
            if os.readlink(entry) == "anon_inode:inotify":  # noqa: PTH115
                info = Path(f"/proc/{daemon.pid}/fdinfo/{entry.name}").read_text()
                found.append(info.count("inotify wd:"))
        except OSError:
            continue
    return found


@pytest_twisted.ensureDeferred
async def test_a_burst_of_ten_thousand_changes_comes_in_few_batches_and_whole(serve, tmp_path):
    daemon = await serve()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    root = tmp_path / "root"
    folders = [root / f"d{number}" for number in range(100)]
    for folder in folders:
        folder.mkdir(parents=True)
    channel = await watches(ann, root, recursive=True)
    before = daemon.memory()
    picture = Picture(ann, channel, *folders)
    files = [folder / f"f{number}" for folder in folders for number in range(100)]
    for path in files:
        os.close(os.open(path, os.O_CREAT, 0o600))
    await bob.ping()
    await picture.becomes(*folders, *files)
    made = len(batches(ann, channel))
    assert made < 200
    for path in files:
        path.unlink()
    for folder in folders:
        folder.rmdir()
    await picture.becomes()
    assert daemon.memory("VmHWM") - before < 100 * MIB


@pytest_twisted.ensureDeferred
async def test_a_save_by_rename_is_one_update_of_the_file(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    saved = tmp_path / "root" / "saved"
    saved.parent.mkdir()
    saved.write_text("0")
    channel = await watches(ann, saved.parent, recursive=True)
    alone = await watches(ann, saved)
    for number in range(1, 6):
        draft = saved.with_name(f".saved.{number}")
        draft.write_text(str(number))
        draft.replace(saved)
        await ann.wait_for(
            lambda number=number: len(batches(ann, alone)) == number, PATIENCE, f"save {number}"
        )
    for each in (channel, alone):
        await ann.wait_for(lambda each=each: batches(ann, each), PATIENCE, "the saves")
        about = [change for batch in batches(ann, each) for change in batch]
        assert {kind for kind, path in about if path == str(saved)} == {"updated"}
    # The host's own writes are saves like anybody's.
    await ann.call(
        "resourceWrite",
        {"channel": ROOT, "uri": uri(saved), "data": "by the host", "encoding": "utf-8"},
    )
    await ann.wait_for(lambda: len(batches(ann, alone)) == 6, PATIENCE, "the host's save")


@pytest_twisted.ensureDeferred
async def test_a_folder_that_becomes_a_file_and_a_folder_again(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    root = tmp_path / "root"
    place = root / "place"
    (place / "deep").mkdir(parents=True)
    (place / "deep" / "f").write_text("x")
    whole = (place, place / "deep", place / "deep" / "f")
    channel = await watches(ann, root, recursive=True)

    def there():
        paths = set(map(str, whole))
        for batch in batches(ann, channel):
            for kind, path in batch:
                paths.discard(path) if kind == "deleted" else paths.add(path)
        return paths

    async def comes_to(*paths):
        wanted = set(map(str, paths))
        await ann.wait_for(lambda: there() == wanted, PATIENCE, f"{wanted}")

    for _ in range(3):
        place.rename(tmp_path / "away")
        place.write_text("a file")
        await comes_to(place)
        place.unlink()
        (tmp_path / "away").rename(place)
        await comes_to(*whole)
    (place / "deep" / "later").write_text("heard")
    await told(ann, channel, ("added", place / "deep" / "later"))


@pytest_twisted.ensureDeferred
async def test_a_root_that_goes_and_comes_back_is_watched_on(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    root = tmp_path / "above" / "root"
    root.mkdir(parents=True)
    (root / "f").write_text("x")
    channel = await watches(ann, root, recursive=True)
    for number in range(2):
        shutil.rmtree(root.parent)
        await ann.wait_for(
            lambda number=number: (
                sum(("deleted", str(root)) in b for b in batches(ann, channel)) > number
            ),
            PATIENCE,
            "the end of the root",
        )
        root.mkdir(parents=True)
        (root / f"again-{number}").write_text("x")
        await ann.wait_for(
            lambda number=number: any(
                ("added", str(root / f"again-{number}")) in batch for batch in batches(ann, channel)
            ),
            PATIENCE,
            "what came with the new root",
        )
    (root / "f").write_text("y")
    await told(ann, channel, ("added", root / "f"))


@pytest_twisted.ensureDeferred
async def test_a_storm_of_watches_leaves_nothing_open(serve, tmp_path):
    """One inotify instance serves them all; what is let go of is given back."""
    daemon = await serve()
    clients = [await daemon.connect(f"c{number}", ROOT) for number in range(4)]
    folders = [tmp_path / f"d{number}" for number in range(30)]
    for folder in folders:
        (folder / "inner").mkdir(parents=True)
    descriptors = daemon.descriptors()

    async def storm(client):
        for _ in range(5):
            channels = [await create(client, folder, recursive=True) for folder in folders]
            works = [Deferred.fromCoroutine(client.subscribe(channel)) for channel in channels]
            await gatherResults(works)
            for channel in channels:
                client.unsubscribe(channel)
        await client.ping()

    await gatherResults([Deferred.fromCoroutine(storm(client)) for client in clients])
    # Nobody is subscribed, and for half a minute somebody may come back.
    assert len(inotify_of(daemon)) <= 1
    assert sum(inotify_of(daemon)) <= 2 * len(folders) + 1
    assert daemon.descriptors() <= descriptors + 2
    channel = await watches(clients[0], folders[0], recursive=True)
    (folders[0] / "inner" / "f").write_text("x")
    await told(clients[0], channel, ("added", folders[0] / "inner" / "f"))


@pytest_twisted.ensureDeferred
async def test_too_many_watches_are_refused_in_words_and_the_others_go_on(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    (tmp_path / "f").write_text("x")
    first = await watches(ann, tmp_path, recursive=True)
    refused = 0
    for number in range(600):
        channel = await create(ann, tmp_path, excludes={"items": [f"**/{number}"]})
        try:
            await ann.subscribe(channel)
        except RpcError as error:
            assert error.code == -32603  # noqa: PT017
            assert "512" in error.message  # noqa: PT017
            refused += 1
    assert refused == 600 - 511
    (tmp_path / "f").write_text("y")
    await told(ann, first, ("updated", tmp_path / "f"))


@pytest_twisted.ensureDeferred
async def test_a_client_that_comes_back_at_once_has_missed_nothing(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    root = tmp_path / "root"
    root.mkdir()
    channel = await watches(ann, root, recursive=True)
    picture = Picture(ann, channel)
    for number in range(5):
        ann.abort()
        (root / f"f{number}").write_text("x")
        await daemon.attach(ann)
        assert (await ann.reconnect()).type == "replay"
        assert channel in ann.subscriptions
        await picture.becomes(*(root / f"f{each}" for each in range(number + 1)))


@pytest.mark.parametrize("stop", ["told", "killed"])
@pytest_twisted.ensureDeferred
async def test_a_host_ends_with_watches_that_are_in_the_middle_of_something(serve, tmp_path, stop):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    root = tmp_path / "root"
    for number in range(200):
        (root / f"d{number}").mkdir(parents=True)
    channel = await watches(ann, root, recursive=True)
    beginning = Deferred.fromCoroutine(
        watches(ann, root, recursive=True, includes={"items": ["*"]})
    )
    beginning.addErrback(lambda _: None)
    for number in range(200):
        (root / f"d{number}" / "f").write_text("x")
    if stop == "killed":
        await daemon.kill()
    else:
        daemon.signal()
        assert await daemon.ended() == 0
    await beginning
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    await bob.subscribe(channel)  # its name is all there is to know of it
    (root / "d0" / "f").write_text("y")
    await told(bob, channel, ("updated", root / "d0" / "f"))
