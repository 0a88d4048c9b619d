"""Files over the socket that are large, that many work on, and that a host leaves when it ends."""

import contextlib
import os
import random
import subprocess

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred, gatherResults

from ahpd.client import ConnectionGone
from ahpd.protocol.uris import ROOT
from ahpd.resources.ranges import RANGE
from ahpd.testing.daemon import PATIENCE

from .file_kit import MIB, ask, look, read, refusal, together, write


@pytest_twisted.ensureDeferred
async def test_a_large_file_is_read_in_ranges_in_little_memory(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    large = tmp_path / "large"
    block = random.Random(5).randbytes(MIB)
    with large.open("wb") as file:
        for number in range(100):
            file.write(number.to_bytes(4, "big") + block[4:])
    await read(ann, large, _meta={RANGE: {"offset": 0, "length": MIB}})
    ann.frames.clear()
    before = daemon.memory()
    for number in range(100):
        part = await read(ann, large, _meta={RANGE: {"offset": number * MIB, "length": MIB}})
        assert part == number.to_bytes(4, "big") + block[4:]
        ann.frames.clear()
    assert daemon.memory("VmHWM") - before < 32 * MIB
    error = await refusal(read(ann, large))
    assert error.code == -32602
    assert RANGE in error.message
    assert await read(ann, large, _meta={RANGE: {"offset": 2**62, "length": 2**62}}) == b""


@pytest.mark.parametrize("reads", [True, False], ids=["who-reads", "who-does-not"])
@pytest_twisted.ensureDeferred
async def test_many_large_files_asked_for_at_once_come_one_after_the_other(serve, tmp_path, reads):
    """Whoever reads gets them all; whoever does not is closed; either way few are in memory."""
    daemon = await serve()
    ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(random.Random(5).randbytes(8 * MIB))
    small.write_text("small")
    before = daemon.memory()
    if not reads:
        ann._link.connection.transport.pauseProducing()
    answers = []

    async def work():
        try:
            answers.append(len(await read(ann, large)))
        except ConnectionGone:
            answers.append(None)
        ann.frames.clear()

    works = together(work() for _ in range(25))
    assert await read(bob, small) == b"small"
    if not reads:
        assert "client ann" in await daemon.logged("is not reading")
        ann.abort()
    await works
    assert answers == [8 * MIB if reads else None] * 25
    assert ("is not reading" in daemon.log) is not reads
    assert daemon.memory("VmHWM") - before < 160 * MIB


@pytest_twisted.ensureDeferred
async def test_of_two_who_write_what_they_read_one_is_told_of_the_other(serve, tmp_path):
    """Each adds one to a number, over and over; with `ifMatch` none is lost."""
    daemon = await serve()
    clients = [await daemon.connect(f"c{number}", ROOT) for number in range(2)]
    counter = tmp_path / "counter"
    counter.write_text("0".zfill(8))
    conflicts = 0

    async def add(client):
        nonlocal conflicts
        uri = counter.as_uri()
        while True:
            etag = (await ask(client, "resourceResolve", uri=uri))["etag"]
            value = int(await read(client, counter))
            error = await refusal(write(client, counter, str(value + 1).zfill(8), ifMatch=etag))
            if error is None:
                return
            assert error.code == -32011
            conflicts += 1

    async def work(client):
        for _ in range(25):
            await add(client)

    await together(map(work, clients))
    assert int(counter.read_text()) == 50
    assert [path.name for path in tmp_path.iterdir() if "ahpd" in path.name] == []


@pytest_twisted.ensureDeferred
async def test_what_ten_clients_append_at_once_is_all_there(serve, tmp_path):
    daemon = await serve()
    clients = [await daemon.connect(f"c{number}", ROOT) for number in range(10)]
    shared = tmp_path / "shared"

    async def work(client):
        await together(
            write(client, shared, f"{client.client_id} {number} {'.' * 500}\n", mode="append")
            for number in range(30)
        )

    await together(map(work, clients))
    lines = shared.read_text().splitlines()
    assert all(line.endswith("." * 500) for line in lines)
    told = {" ".join(line.split()[:2]) for line in lines}
    assert told == {f"c{n} {number}" for n in range(10) for number in range(30)}
    assert len(lines) == 300
    # What one client asked for one after the other is one after the other.
    for n in range(10):
        numbers = [int(line.split()[1]) for line in lines if line.startswith(f"c{n} ")]
        assert numbers == sorted(numbers)


@pytest.mark.parametrize("round_", range(3))
@pytest_twisted.ensureDeferred
async def test_a_host_killed_while_it_writes_leaves_whole_files(serve, tmp_path, round_):
    daemon = await serve()
    folder = tmp_path / "written"
    folder.mkdir()
    size = 200_000
    names = [f"f{number}" for number in range(4)]
    for name in names:
        (folder / name).write_text("0" * size)
    ann = await daemon.connect("ann", ROOT)
    answered = dict.fromkeys(names, 0)

    async def work(name):
        with contextlib.suppress(ConnectionGone):
            while True:
                digit = (answered[name] + 1) % 10
                await write(ann, folder / name, str(digit) * size)
                answered[name] += 1

    works = together(map(work, names))
    await ann.wait_for(lambda: sum(answered.values()) > 10 + 7 * round_, PATIENCE, "some writes")
    await daemon.kill()
    await works
    for name in names:
        text = (folder / name).read_text()
        assert len(text) == size
        assert len(set(text)) == 1, "half of one version and half of another"
        done = answered[name]
        assert int(text[0]) in (done % 10, (done + 1) % 10), "what was answered is gone"
    left = {path.name for path in folder.iterdir()} - set(names)
    assert all(name.startswith(".ahpd-") and name.endswith(".part") for name in left)
    await daemon.start()
    bob = await daemon.connect("bob", ROOT)
    for name in names:
        await write(bob, folder / name, "after")
        assert await read(bob, folder / name) == b"after"


@pytest_twisted.ensureDeferred
async def test_a_stop_waits_for_no_tree_that_is_copied(serve, tmp_path):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    tree, copies = tmp_path / "tree", tmp_path / "copies"
    copies.mkdir()
    for number in range(20_000):
        if number % 1000 == 0:
            (tree / f"d{number}").mkdir(parents=True)
        os.close(os.open(tree / f"d{number // 1000 * 1000}" / f"{number}", os.O_CREAT, 0o600))
    works = [
        Deferred.fromCoroutine(
            ask(
                ann,
                "resourceCopy",
                source=tree.as_uri(),
                destination=f"{copies.as_uri()}/copy-{number}",
            )
        ).addErrback(lambda _: None)
        for number in range(50)
    ]
    await daemon.until(lambda: list(copies.iterdir()), "the first of the copies")
    daemon.signal()
    assert await daemon.ended() == 0
    await gatherResults(works)
    # It is what it was before a copy was begun or after one was made, and only that.
    assert not [path.name for path in copies.iterdir() if not path.name.startswith("copy-")]
    assert len(list(copies.iterdir())) < 50


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 1 MiB; skips the test where nobody may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(place)]
    try:
        mounted = subprocess.run(mount, check=False, capture_output=True)
    except OSError as error:
        pytest.skip(f"there is no mount: {error}")
    if mounted.returncode:
        pytest.skip("a file system may not be mounted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest_twisted.ensureDeferred
async def test_a_full_disk_leaves_what_was_there_and_takes_what_fits(serve, small_disk):
    daemon = await serve()
    ann = await daemon.connect("ann", ROOT)
    await write(ann, small_disk / "old", "old" * 100_000)
    before = look(small_disk)[str(small_disk / "old")][-1]
    for more in ({}, {"mode": "append"}, {"mode": "insert", "position": 5}):
        error = await refusal(write(ann, small_disk / "old", "x" * 900_000, **more))
        assert error is not None
        assert (error.code, "no space left" in error.message) == (-32603, True)
        assert (small_disk / "old").read_bytes() == before
    error = await refusal(write(ann, small_disk / "new", "x" * 900_000))
    assert error.code == -32603
    big = small_disk.parent / "big"
    big.write_bytes(bytes(2 * MIB))
    for method in ("resourceCopy", "resourceMove"):
        ends = {"source": big.as_uri(), "destination": f"{small_disk.as_uri()}/big"}
        assert (await refusal(ask(ann, method, **ends))).code == -32603
        assert big.stat().st_size == 2 * MIB
    assert [path.name for path in small_disk.iterdir()] == ["old"]
    await write(ann, small_disk / "new", "fits")
    assert (small_disk / "new").read_text() == "fits"
