"""Files of a daemon, asked for by its clients."""

import base64
import stat

from twisted.internet.defer import Deferred, gatherResults

from ahpd.client import RpcError
from ahpd.protocol.file_uris import file_uri
from ahpd.protocol.uris import ROOT

MIB = 1024 * 1024


def together(works):
    return gatherResults([Deferred.fromCoroutine(work) for work in works], consumeErrors=True)


async def ask(client, method, **params):
    return await client.call(method, {"channel": ROOT, **params})


async def refusal(work):
    """The error of what is refused; what is done is none."""
    try:
        await work
    except RpcError as error:
        return error
    return None


def write(client, path, data, **more):
    params = {"uri": file_uri(str(path)), "data": data, "encoding": "utf-8", **more}
    return ask(client, "resourceWrite", **params)


async def read(client, path, **more):
    answer = await ask(client, "resourceRead", uri=file_uri(str(path)), **more)
    if answer["encoding"] == "base64":
        return base64.b64decode(answer["data"])
    return answer["data"].encode()


def look(top):
    """Everything under a folder, as it must stay."""
    found = {}
    for path in [top, *sorted(top.rglob("*"))]:
        info = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(info.st_mode) else None
        found[str(path)] = (info.st_ino, info.st_mode, info.st_mtime_ns, info.st_nlink, content)
    return found
